"""What to expect of a run before it is trained."""

from dataclasses import dataclass
from math import erf, log, sqrt

import numpy as np

from firstlight import groups
from firstlight.features import maxima
from firstlight.groups import Group
from firstlight.models import activation as named_activation
from firstlight.theories.li2.reconstruction import nodes_needed

_MEASURED = {11: 1.9, 17: 2.2, 23: 2.4, 31: 2.7, 41: 3.0, 61: 3.3, 101: 3.3, 127: 3.6}
"""c = n/(M ln M) at which half of the maxima of the residualised energy survive, for cyclic groups Z_M."""

SPREAD = 0.3
"""Relative uncertainty of the boundary for the same group: seeds, width, learning rate and the proxy itself.

Trained networks were found at 1.6 (Z11), 1.3 (Z17), 1.1 (Z23) and, by the paper, 1.1 (Z127) times it."""

FAR = 0.2
"""Added where the group is not cyclic, or its order lies outside the measured ones; in quadrature."""


@dataclass(frozen=True)
class Prediction:
    """What Li₂ expects of a run.

    **Attributes:**

    - `boundary`: samples n₅₀ at which half of the runs should generalise, with `low` and `high` (one σ).
    - `margin`: n/n₅₀; `probability`: that n is above the boundary.
    - `stages`: the stages to expect; `features`: the irreps with their E* (σ = x², unit nodes), largest first.
    - `nodes`: hidden nodes that suffice to reconstruct the target from such features, and whether K is enough.
    - `story`: one sentence.
    """

    group: str
    samples: int
    boundary: float
    low: float
    high: float
    margin: float
    probability: float
    stages: tuple[str, ...]
    features: tuple[tuple[str, float], ...]
    nodes: int
    wide_enough: bool
    story: str


def boundary_constant(group: Group) -> tuple[float, float]:
    """c = n₅₀/(M ln M) and its relative standard error, interpolated in ln M between what was measured.

    >>> c, error = boundary_constant(groups.cyclic(71))
    >>> 3.2 < c < 3.4, round(error, 2)
    (True, 0.3)
    """
    orders, values = np.array(list(_MEASURED)), np.array(list(_MEASURED.values()))
    M = group.order
    c = float(np.interp(log(M), np.log(orders), values))
    cyclic = group.is_abelian and len(group.abelian_moduli) == 1
    near = cyclic and orders[0] <= M <= orders[-1]
    return c, SPREAD if near else sqrt(SPREAD**2 + FAR**2)


def predict(group: Group | str, n: int, K: int, eta: float, activation: str = "quadratic") -> Prediction:
    """The stages and features to expect of a two-layer network on n pairs of a group, before training it.

    The boundary is c M ln M with c from ascents of the residualised energy (`boundary_constant`), η the ridge of
    J = ½‖P₁⊥(Y − FV)‖² + (η/2)‖V‖² (`decay_ridge` converts a weight decay).

    **Arguments:** `group` or its name; `n` training pairs; `K` hidden nodes; `eta` ≥ 0; `activation` by name.

    >>> told = predict("Z71", n=2016, K=2048, eta=0.2)
    >>> told.margin > 1.5, told.stages
    (True, ('lazy', 'independent', 'interactive'))
    >>> predict("Z71", n=2016, K=2048, eta=0.0).stages
    ('lazy', 'stalled')
    """
    group = groups.parse(group) if isinstance(group, str) else group
    M = group.order
    if not 0 < n <= M * M or K < 1 or eta < 0:
        raise ValueError(
            f"a run on {group.name} has 1 to {M * M} samples, K ≥ 1 nodes and eta ≥ 0, "
            f"got n = {n}, K = {K}, eta = {eta}"
        )
    sigma = named_activation(activation)
    c, error = boundary_constant(group)
    n50 = min(c * M * log(M), float(M * M))
    margin = n / n50
    probability = 1.0 if n == M * M else 0.5 * (1 + erf(log(margin) / error / sqrt(2)))
    found = tuple(sorted(((m.component.label, m.energy) for m in maxima(group)), key=lambda pair: -pair[1]))
    nodes = nodes_needed(group)
    stages = _stages(eta, n, K)
    story = _story(group, n, n50, error, margin, probability, eta, found)
    if sigma.polynomial is None or len(sigma.polynomial) != 3:
        story += f" Energies are those of x²; {sigma.name} has its own."
    if nodes > K:
        story += f" {K} nodes may not suffice: {nodes} are needed when each is a pure feature."
    return Prediction(
        group.name,
        n,
        n50,
        n50 * np.exp(-error),
        n50 * np.exp(error),
        margin,
        probability,
        stages,
        found,
        nodes,
        nodes <= K,
        story,
    )


def _stages(eta: float, n: int, K: int) -> tuple[str, ...]:
    if eta == 0 and n < K:
        return ("lazy", "stalled")
    return ("lazy", "independent", "interactive")


def _story(group: Group, n: int, n50: float, error: float, margin: float, probability: float, eta: float, found) -> str:
    if eta == 0:
        return (
            f"{group.name}, n = {n}: without weight decay G_F vanishes once V has fitted random features, so "
            "memorising and no grokking are to be expected."
        )
    side = "above" if margin >= 1 else "below"
    end = "grokking through three stages" if probability >= 0.5 else "features that memorise"
    best = ", ".join(f"{label} (E* = {energy:.3g})" for label, energy in found[:3])
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return (
        f"{group.name}, n = {n}: {margin:.2f} times the boundary of {n50:.0f} ± {100 * error:.0f} % samples, {side} it "
        f"with probability {max(probability, 1 - probability):.2f}; expect {end}, with the irreps {best}{more}."
    )
