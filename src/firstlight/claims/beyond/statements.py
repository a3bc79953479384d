"""Statements beyond the papers: each says what is proved, what is measured, and what would refute it."""

from firstlight.claims._claim import Claim

CLAIMS: tuple[Claim, ...] = ()
