"""The verdict on a layer: a test of stationarity under weight decay, with the evidence.

FACT = WᵀW holds where W is stationary: WᵀW − FACT = Wᵀ∇(L + (λ/2)‖W‖²)/λ. A layer that is not stationary is *learning*
or *lazy* only if its start is known; otherwise nothing tells training from initialisation.
"""

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

STEADY = 0.5
"""Cosine of the drifts in two halves of a window above which the weights move in one direction, not by noise."""

TO_AND_FRO = 0.0
"""Cosine of two successive moves between checkpoints below which weights go to and fro, as noise about a point does.

Independent noise about a fixed point gives −1/2, a random walk 0, and a steady drift 1.
"""

NO_START = (
    "not stationary, and the start is unknown, so this may be its initialisation: give start= the initial "
    "weights, or use Watch"
)
INVARIANT = "scale-invariant: FACT's fixed point is W = 0, so only the direction of the weights is judged"


@dataclass(frozen=True)
class Verdict:
    """The state of a layer with the evidence for it.

    >>> judge(0.999, size=1.01, budget=9.4)
    Verdict(state='converged', evidence='FACT 0.999 with size 1.01; budget 9.4')
    """

    state: State
    evidence: str


@dataclass(frozen=True)
class Drift:
    """How weights moved along a window of training steps, with the noise of minibatches averaged out.

    **Attributes:**

    - `fact`: alignment of FACT, averaged along the window, with the averaged feature matrix.
    - `size`: ⟨FACT, NFM⟩/⟨NFM, NFM⟩ of these averages.
    - `residual`: ‖NFM − FACT‖/‖NFM‖ of these averages, the relative drift per unit of budget.
    - `steadiness`: cosine of the drifts of the window's two halves; near 0 if they are noise.
    - `budget`: the budget of the window.
    - `turn`: relative change of the direction W/‖W‖ per unit of budget.
    """

    fact: float
    size: float
    residual: float
    steadiness: float
    budget: float
    turn: float = math.nan


def judge(
    fact: float,
    *,
    size: float,
    residual: float = math.nan,
    budget: float = math.nan,
    moved: float = math.nan,
    drift: Drift | None = None,
    invariant: bool = False,
    reason: str = "",
    since: str = "",
    steadiness: float = math.nan,
) -> Verdict:
    """Decide whether a layer is converged, learning, lazy or undecided. Unknown arguments are NaN or None.

    **Arguments:**

    - `fact`: alignment of FACT with the layer's feature matrix.
    - `size`: ⟨FACT, NFM⟩/⟨NFM, NFM⟩, 1 at convergence.
    - `residual`: ‖NFM − FACT‖/‖NFM‖; it decides if all entries are equal and Pearson's correlation is undefined.
    - `budget`: wd·Σlr/(1 − momentum).
    - `moved`: relative change of the weights since initialisation.
    - `drift`: averages along the last steps, if a `Watch` followed them.
    - `invariant`: whether the scale of the weights changes no output.
    - `reason`: why FACT does not apply (no weight decay, …); the verdict is then undecided.
    - `since`: the checkpoint from which `moved` counts if the initialisation is unknown, such as "step 100".
    - `steadiness`: cosine of the last two moves between checkpoints.

    >>> judge(0.2, size=3.0, moved=0.02, budget=0.01).evidence
    'weights moved by 2 %; FACT 0.200 with size 3; budget 0.01, below 1: too short for FACT'
    >>> judge(float("nan"), size=float("nan"), reason="no weight decay").state
    'undecided'
    >>> judge(0.7, size=0.6).state  # an untrained layer may look like this
    'undecided'
    """
    if reason:
        return Verdict("undecided", reason)
    moves = _Moves(moved, since, steadiness, drift)
    parts = _evidence(fact, size, budget, moves)
    if invariant:
        return _direction(parts, moves)
    here = (fact >= CONVERGED and abs(size - 1) <= SIZE) or residual <= SIZE
    along = drift is not None and ((drift.fact >= CONVERGED and abs(drift.size - 1) <= SIZE) or drift.residual <= SIZE)
    if here or along:
        return Verdict("converged", "; ".join(parts))
    return _unsettled(parts, moves)


@dataclass(frozen=True)
class _Moves:
    """How the weights moved: since the start, between the last checkpoints, and along the last steps."""

    moved: float
    since: str
    steadiness: float
    drift: Drift | None


def _unsettled(parts: list[str], moves: _Moves) -> Verdict:
    drift = moves.drift
    if math.isnan(moves.moved) or (moves.since and moves.moved < MOVED):
        return Verdict("undecided", "; ".join([*parts, NO_START]))
    if moves.moved < MOVED:
        return Verdict("lazy", "; ".join(parts))
    if drift is None and moves.steadiness < TO_AND_FRO:
        turned = f"the last two moves between checkpoints go to and fro (cosine {moves.steadiness:.2f}), as noise does"
        return Verdict("undecided", "; ".join([*parts, turned]))
    if drift is not None and drift.steadiness < STEADY:
        noisy = "the drift between probes is not larger than the noise of minibatches: compare points further apart"
        return Verdict("undecided", "; ".join([*parts, noisy]))
    return Verdict("learning", "; ".join(parts))


def _direction(parts: list[str], moves: _Moves) -> Verdict:
    parts, drift = [INVARIANT, *parts], moves.drift
    if drift is not None and not math.isnan(drift.turn):
        parts.append(f"direction turns by {drift.turn:.2g} per unit of budget")
        if drift.turn <= SIZE:
            return Verdict("converged", "; ".join(parts))
        return _unsettled(parts, moves)
    return Verdict("undecided", "; ".join(parts))


def _evidence(fact: float, size: float, budget: float, moves: _Moves) -> list[str]:
    parts, drift = [f"FACT {fact:.3f} with size {size:.3g}"], moves.drift
    if not math.isnan(moves.moved):
        since = f" since {moves.since}" if moves.since else ""
        parts.insert(0, f"weights moved by {moves.moved:.0%}".replace("%", " %") + since)
    if drift is not None:
        parts.append(
            f"averaged over the last {drift.budget:.2g} of budget FACT {drift.fact:.3f} with size {drift.size:.3g}, "
            f"drift {drift.residual:.2g} per unit"
        )
    if not math.isnan(budget):
        parts.append(f"budget {budget:.3g}" + (", below 1: too short for FACT" if budget < 1 else ""))
    return parts
