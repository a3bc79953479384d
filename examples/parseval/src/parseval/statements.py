"""Statements of the paper, in its order."""

from firstlight.claims import Claim

CLAIMS = (
    Claim(
        id="parseval.lemma-1",
        title="The Fourier transform keeps the norm",
        locator="Lemma 1",
        statement="For u in C^M, the sum of |û(k)|² over k is M times the sum of |u(g)|² over g.",
        check="parseval.checks:parseval",
        uses=("cogo.lemma-3",),
    ),
)
