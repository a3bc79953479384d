"""The forecast of a run as plain values for the page; the only place that knows the interface of `theories.li2`."""

import math
import os
import threading
from typing import Any

import numpy as np

from firstlight import groups
from firstlight.groups import Group
from firstlight.records import GroupTask, RunSpec
from firstlight.theories import li2
from firstlight.theories.li2._coverage import reason_without_forecast
from firstlight.theories.li2._own_boundary import is_cached
from firstlight.theories.li2._predict import MEASURED_CONSTANTS

_COMPUTING: set[str] = set()
"""Digests of the groups whose boundary a thread computes."""


def forecast(spec: RunSpec, data: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Return the forecast of Li₂ for a spec.

    `covered` is False, with the reason, where none was measured. `computing` is True while the boundary of the group
    is not in the cache: a thread computes it, and the page asks again.

    >>> values = forecast(RunSpec.model_validate({"task": {"group": "Z23", "split": {"fraction": 0.6}}}))
    >>> values["covered"], values["point"], values["computing"]
    (True, [23, 0.6], False)
    """
    task = spec.task
    if not isinstance(task, GroupTask):
        return {"covered": False, "computing": False, "reason": "the task is no finite group"}
    group = groups.of_task(task, data)
    shown: dict[str, Any] = {"computing": False, "point": [group.order, task.split.fraction]}
    if reason := reason_without_forecast(spec):
        return {"covered": False, "reason": reason, **shown}
    if not is_cached(group):
        _compute(group)
        return {"covered": True, **shown, "computing": True}
    guess = li2.predict(spec)
    return shown | {
        "covered": True,
        "chance": None if math.isnan(guess.probability) else guess.probability,
        "outcome": guess.outcome,
        "story": guess.story,
        "samples": guess.samples,
        "boundary": [guess.low, guess.boundary, guess.high],
        "generalise": _interval(guess.generalises),
        "memorise": _interval(guess.memorises),
        "irreps": [[irrep.label, irrep.energy, irrep.survives] for irrep in guess.irreps],
        "outside": list(guess.outside),
        "curve": _curve(group.order, guess.low, guess.boundary, guess.high),
    }


def _interval(epochs: li2.Epochs) -> list[float] | None:
    times = [epochs.low, epochs.median, epochs.high]
    return times if all(math.isfinite(time) for time in times) else None


def _compute(group: Group) -> None:
    """Compute the boundary of a group in a thread, once."""
    if group.digest in _COMPUTING:
        return
    _COMPUTING.add(group.digest)

    def work() -> None:
        try:
            li2.own_boundary(group, lambda fraction, note: None)
        finally:
            _COMPUTING.discard(group.digest)

    threading.Thread(target=work, daemon=True).start()


def _curve(order: int, low: float, middle: float, high: float) -> dict[str, list[float]]:
    """Return the boundary over the order of the group in fractions of all pairs, through the boundary of this group."""
    known = np.log(list(MEASURED_CONSTANTS)), list(MEASURED_CONSTANTS.values())
    orders = np.unique(np.append(np.geomspace(5, max(127.0, 1.15 * order), 40).round(), order))
    shape = np.interp(np.log(orders), *known) * np.log(orders) / orders  # of cyclic groups: c ln M / M
    own = np.interp(math.log(order), *known) * math.log(order) / order
    scale = {"fraction": middle, "low": low, "high": high}
    heights = {name: np.minimum(shape / own * pairs / order**2, 1).tolist() for name, pairs in scale.items()}
    return {"order": orders.tolist(), **heights}
