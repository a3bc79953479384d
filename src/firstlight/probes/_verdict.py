"""The verdict on a layer: lazy, learning or converged, with the evidence."""

import math
from dataclasses import dataclass
from typing import Literal

State = Literal["converged", "learning", "lazy", "undecided"]

CONVERGED = 0.99
"""Alignment of FACT from which a layer counts as converged, if its size is also near 1."""

SIZE = 0.1
"""Largest |⟨FACT, NFM⟩/⟨NFM, NFM⟩ − 1| of a converged layer; also the largest ‖NFM − FACT‖/‖NFM‖."""

MOVED = 0.1
"""Relative change of the weights below which a layer is lazy."""

UNALIGNED = 0.5
"""Alignment of both √(FACT·FACTᵀ) and √AGOP below which a layer is lazy, if its initial weights are unknown."""


@dataclass(frozen=True)
class Verdict:
    """The state of a layer with the evidence for it.

    >>> judge(0.999, size=1.01, budget=9.4)
    Verdict(state='converged', evidence='FACT 0.999 with size 1.01; budget 9.4')
    """

    state: State
    evidence: str


def judge(
    fact: float,
    *,
    size: float,
    residual: float = math.nan,
    symmetrised: float = math.nan,
    agop: float = math.nan,
    budget: float = math.nan,
    moved: float = math.nan,
    reason: str = "",
) -> Verdict:
    """Decide whether a layer is converged, learning or lazy. Unknown arguments are NaN.

    **Arguments:**

    - `fact`: alignment of FACT with the layer's feature matrix.
    - `size`: ⟨FACT, NFM⟩/⟨NFM, NFM⟩, 1 at convergence.
    - `residual`: ‖NFM − FACT‖/‖NFM‖; it decides if all entries are equal and Pearson's correlation is undefined.
    - `symmetrised`: alignment of √(FACT·FACTᵀ).
    - `agop`: alignment of √AGOP.
    - `budget`: wd·Σlr/(1 − momentum).
    - `moved`: relative change of the weights since initialisation.
    - `reason`: why FACT does not apply (no weight decay, …); the verdict is then undecided.

    >>> judge(0.2, size=3.0, moved=0.02, budget=0.01).evidence
    'weights moved by 2 %; FACT 0.200 with size 3; budget 0.01, below 1: too short for FACT'
    >>> judge(float("nan"), size=float("nan"), reason="no weight decay").state
    'undecided'
    """
    if reason:
        return Verdict("undecided", reason)
    parts = [f"FACT {fact:.3f} with size {size:.3g}"]
    if not math.isnan(moved):
        parts.insert(0, f"weights moved by {moved:.0%}".replace("%", " %"))
    if not math.isnan(budget):
        parts.append(f"budget {budget:.3g}" + (", below 1: too short for FACT" if budget < 1 else ""))
    if (fact >= CONVERGED and abs(size - 1) <= SIZE) or residual <= SIZE:
        return Verdict("converged", "; ".join(parts))
    if moved < MOVED or (math.isnan(moved) and symmetrised < UNALIGNED and agop < UNALIGNED):
        return Verdict("lazy", "; ".join(parts))
    return Verdict("learning", "; ".join(parts))
