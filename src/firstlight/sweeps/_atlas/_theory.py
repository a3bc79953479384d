"""What Li₂'s forecast expects at the points of a phase diagram, and the line where half of the networks grok."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from firstlight import groups
from firstlight.records import GroupTask, PhaseAxis, RunSpec
from firstlight.records.figure import Series
from firstlight.sweeps._atlas._axis import places_of
from firstlight.theories.li2._coverage import predict_spec, reason_without_forecast
from firstlight.theories.li2._own_boundary import is_cached

LABEL = "Li₂ expects half of the networks to grok here"

MOST_FORECASTS = 4000
"""Points of a diagram at most; a forecast takes about a millisecond."""


@dataclass(frozen=True)
class Expectation:
    """Chances at points, and a sentence on where they come from or why there are none.

    **Attributes:**

    - `chances`: for each point, the share of networks that are expected to generalise, or None.
    - `sentence`: what the forecast covers.
    - `waiting`: names of groups whose boundary has to be computed first.
    """

    chances: tuple[float | None, ...]
    sentence: str
    waiting: tuple[str, ...] = ()


def expect(specs: Sequence[RunSpec], *, compute: bool = True) -> Expectation:
    """Return the forecast of each spec.

    **Arguments:**

    - `specs`: the points.
    - `compute`: compute the boundaries of groups that are not in the cache, which takes seconds each; if not, their
      names are in `waiting`, and no chance is returned.
    """
    nothing = (None,) * len(specs)
    if len(specs) > MOST_FORECASTS:
        return Expectation(nothing, f"The forecast is not computed for more than {MOST_FORECASTS} points.")
    reasons = [reason_without_forecast(spec) for spec in specs]
    if all(reasons):
        return Expectation(nothing, f"No forecast: {reasons[0]}." if reasons else "")
    if not compute and (waiting := not_cached(specs)):
        return Expectation(nothing, f"The boundary of {', '.join(waiting)} is computed once …", waiting)
    chances = tuple(
        None if reason else _plain(predict_spec(spec).probability) for spec, reason in zip(specs, reasons, strict=True)
    )
    return Expectation(chances, "The line is Li₂'s forecast: half of the networks are expected to grok there.")


def half_line(chances: Float[np.ndarray, "rows columns"], x: PhaseAxis, y: PhaseAxis) -> tuple[Series, ...]:
    """Return the line along which the expected share is ½, interpolated between neighbouring cells; () if none is.

    Each column, or each row if more of them are crossed, gives the first crossing along it.

    >>> axis = PhaseAxis(field="a", label="a", spacing="linear", values=(0, 1), names=("0", "1"))
    >>> line = half_line(np.array([[0.2, 0.2], [0.8, 0.6]]), axis, axis)[0]
    >>> line.y.round(3).tolist()
    [0.5, 0.774]
    """
    places = tuple(np.log(places_of(axis)) if axis.spacing == "log" else places_of(axis) for axis in (x, y))
    upwards = [_crossing(places[1], chances[:, column]) for column in range(chances.shape[1])]
    across = [_crossing(places[0], row) for row in chances]
    if np.isfinite(upwards).sum() >= np.isfinite(across).sum():
        points = (list(places[0]), upwards)
    else:
        points = (across, list(places[1]))
    if not np.isfinite(points).all(axis=0).any():
        return ()
    along, up = (
        np.exp(values) if axis.spacing == "log" else np.array(values)
        for values, axis in zip(points, (x, y), strict=True)
    )
    return (Series(LABEL, along, up),)


def _crossing(places: np.ndarray, chances: np.ndarray) -> float:
    """Return where the logit of the chance is 0 between the first two neighbours on its two sides, or NaN."""
    with np.errstate(invalid="ignore"):
        clipped = np.clip(chances, 1e-9, 1 - 1e-9)
        logits = np.log(clipped / (1 - clipped))
    for k in range(len(places) - 1):
        low, high = logits[k], logits[k + 1]
        if np.isfinite(low) and np.isfinite(high) and (low < 0) != (high < 0):
            return float(places[k] + (places[k + 1] - places[k]) * low / (low - high))
    return math.nan


def not_cached(specs: Sequence[RunSpec]) -> tuple[str, ...]:
    """Return the groups that the forecast covers, and whose boundary is not in the cache."""
    covered = [spec for spec in specs if not reason_without_forecast(spec)]
    wanted = {spec.task.group: spec.task for spec in covered if isinstance(spec.task, GroupTask)}
    return tuple(name for name, task in wanted.items() if not is_cached(groups.of_task(task)))


def _plain(chance: float) -> float | None:
    return None if math.isnan(chance) else float(chance)
