"""The numbers of a run that theory gives before training, and the inputs of the forecasts."""

from dataclasses import dataclass
from math import log

from firstlight.features import maxima
from firstlight.groups import Group
from firstlight.theories.li2._own_boundary import ProgressCallback, own_boundary
from firstlight.theories.li2._reconstruction import nodes_needed


@dataclass(frozen=True)
class Situation:
    """The numbers of a run that enter the forecast.

    **Attributes:**

    - `order`: M.
    - `energy_pairs`: pairs at which half of the maxima of the residualised energy survive.
    - `nodes`: number of hidden units that suffice.
    - `weakest`: ln(M/4E) of the lowest maximum: 0 for a cyclic group, more for irreps of dimension d ≥ 2.
    - `quaternionic`, `signs`: share of the weights in quaternionic irreps, and in real irreps of dimension 1.
    - `n`, `width`: training pairs and hidden units.
    - `activation`: name of σ.
    - `eta`: η of a decay in the gradient, or None.
    - `decoupled`: coefficient of a decoupled decay (AdamW), or None.
    """

    order: int
    energy_pairs: float
    nodes: int
    weakest: float
    quaternionic: float
    signs: float
    n: float
    width: int
    activation: str
    eta: float | None
    decoupled: float | None


def situation_of(
    group: Group,
    n: int,
    width: int,
    activation: str,
    eta: float | None,
    decoupled: float | None,
    progress: ProgressCallback | None = None,
) -> Situation:
    """Return the numbers of a run on a group; the group's boundary comes from the cache, or takes seconds.

    >>> from firstlight.groups import parse
    >>> s = situation_of(parse("Q8"), 40, 64, "relu", 0.1, None)
    >>> s.nodes, round(s.weakest, 3), s.quaternionic, s.signs
    (38, 0.693, 0.5, 0.375)
    """
    M, families = group.order, maxima(group)
    blocks = [m.component.dim**2 for m in families if m.component.kind == "quaternionic"]
    signs = [m for m in families if m.component.kind == "real" and m.component.dim == 1]
    return Situation(
        order=M,
        energy_pairs=own_boundary(group, progress).pairs,
        nodes=nodes_needed(group),
        weakest=log(M / (4 * min(m.energy for m in families))),
        quaternionic=sum(blocks) / M,
        signs=len(signs) / M,
        n=n,
        width=width,
        activation=activation,
        eta=eta,
        decoupled=decoupled,
    )


def inputs(s: Situation) -> dict[str, float]:
    """Return the inputs of the models: theory's numbers, as logarithms.

    >>> values = inputs(Situation(23, 180.0, 88, 0.0, 0.0, 0.0, 300, 256, "relu", 0.1, None))
    >>> round(values["margin"], 3), values["relu"], values["narrow"]
    (0.511, 1.0, 0.0)
    """
    decay = 0.0 if s.eta is None else _within(log(max(s.eta * s.width, 0.02) / 15), -7.0, 7.0)
    own = 0.0 if s.decoupled is None else _within(log(max(s.decoupled, 0.002) / 0.6), -7.0, 7.0)
    # Without decay, features grow only if V cannot fit the pairs: about 2.5 pairs per hidden unit.
    idle = min(max(-decay / 5, -own / 3, 0.0), 1.0)
    strength = log(max(s.eta or 0.0, 1e-3) / 0.1) if s.decoupled is None else own
    return {
        "one": 1.0,
        "margin": log(s.n / s.energy_pairs),
        "size": log(s.order / 20),
        "boundary": log(s.energy_pairs / (s.order * log(s.order))),
        "nodes": log(s.nodes / s.order),
        "share": log(s.n / s.order**2),
        "weakest": s.weakest,
        "quaternionic": s.quaternionic,
        "signs": s.signs,
        "relu": float(s.activation == "relu"),
        "silu": float(s.activation == "silu"),
        "decoupled": float(s.decoupled is not None),
        "width": log(s.width / 100),
        "crowding": log(s.n / s.width),
        "repeats": log(s.n / s.order),
        "room": _within(log(s.width / s.nodes), -2.0, 2.0),
        "narrow": min(log(s.width / s.nodes), 0.0),
        "decay": decay,
        "own decay": own,
        "strength": _within(strength, -3.0, 2.0),
        "idle": idle,
        "fitted": idle * _within(log(s.n / (2.5 * s.width)), -2.0, 2.0),
    }


def _within(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)
