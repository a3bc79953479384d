"""The possible ends of a run and of a claim; one vocabulary for flow, runs, claims, store and report."""

from typing import Literal

RunStatus = Literal["finished", "interrupted", "diverged", "failed"]
"""How a run ended."""

ClaimVerdict = Literal["holds", "holds-as-corrected", "partial", "fails", "inconclusive"]
"""The result of checking a claim."""
