"""The critical width of an optimizer, and the hidden units that Theorem 8 of Li₂ asks for."""

from collections.abc import Callable, Sequence

from firstlight import features, groups
from firstlight.records import DuelWidth, GroupTask, RunSpec, TwoLayerModel
from firstlight.theories import li2

EXPONENT = 1.0
"""The exponent a of Theorem 8, which the theorem leaves open.

Without Muon it matters only for groups whose irreps have unequal energies.
"""


def bisect_width(widths: Sequence[int], succeeds: Callable[[int], float]) -> DuelWidth:
    """Return the neighbouring widths between which an optimizer begins to succeed.

    **Arguments:**

    - `widths`: the widths to choose from, in order.
    - `succeeds`: trains some seeds at a width and returns the share of them that generalised; half is enough.

    >>> bisect_width([8, 16, 32, 64], lambda width: float(width >= 20)).succeeds
    32
    """
    tested: dict[str, float] = {}

    def holds(place: int) -> bool:
        tested[str(widths[place])] = succeeds(widths[place])
        return tested[str(widths[place])] >= 0.5

    if not holds(len(widths) - 1):
        return DuelWidth(fails=widths[-1], tested=tested)
    low, high = -1, len(widths) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return DuelWidth(fails=widths[low] if low >= 0 else None, succeeds=widths[high], tested=tested)


def theorem_8(spec: RunSpec, optimizer: str) -> float | None:
    """Return T₀, the hidden units that find every irrep when trained independently, or T_a with Muon.

    The modes are the maxima of the energy, one family per real irrep, with rates μ proportional to their energies.
    None if the theorem does not describe the run: it is about two layers that learn a group.

    >>> [round(theorem_8(RunSpec(task=GroupTask(group="Z23")), name), 1) for name in ("adam", "muon")]
    [33.2, 22.1]
    """
    if not isinstance(spec.task, GroupTask) or not isinstance(spec.model, TwoLayerModel):
        return None
    import numpy as np

    energies = np.array([maximum.energy for maximum in features.maxima(groups.of_task(spec.task))])
    p = li2.lemmas.selection(energies, EXPONENT)
    return li2.lemmas.guided_coupons(p, EXPONENT) if optimizer == "muon" else li2.lemmas.coupons(p)
