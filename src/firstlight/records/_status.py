"""The words with which a run and a claim end; one vocabulary for flow, runs, claims, store and report."""

from typing import Literal

RunStatus = Literal["finished", "interrupted", "diverged", "failed"]
"""How a run ended."""

ClaimVerdict = Literal["holds", "holds-as-corrected", "fails", "inconclusive"]
"""How a claim ended."""
