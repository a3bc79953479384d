"""`Staircase`: the jumps and levels that AGF predicts, and how far a measured loss is from them."""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float

from firstlight.records import FigureData, figure

StaircaseStatus = Literal[
    "all active", "converged", "stalled", "max_time", "max_jumps", "max_steps", "cycling", "finished"
]

_MEANING = {
    "all active": "every neuron is active",
    "converged": "nothing is left to learn",
    "stalled": "no dormant neuron can grow: the rest cannot be learned from here",
    "max_time": "the time limit is reached",
    "max_jumps": "the limit on jumps is reached",
    "max_steps": "the solver took too many steps in one phase",
    "cycling": "a neuron woke and became dormant again without effect",
    "finished": "the closed form ends here",
}


@dataclass(frozen=True, eq=False)
class Event:
    """A jump of the loss.

    **Attributes:**

    - `time`: in the clock of the staircase.
    - `neurons`: the m neurons that woke.
    - `before`, `after`: the loss before and after the jump.
    - `directions`: unit directions of the neurons that woke (m, P).
    - `fallen`: the neurons that became dormant again.
    """

    time: float
    neurons: tuple[int, ...]
    before: float
    after: float
    directions: Float[np.ndarray, "m P"]
    fallen: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Staircase:
    """A predicted loss curve: constant levels, separated by jumps.

    **Attributes:**

    - `events`: the J jumps.
    - `levels`: losses of the plateaus (J + 1,).
    - `eta`: the clock of the times.
    - `kappa`: κ, the degree of the utility.
    - `status`: why the prediction ended.
    - `parameters`: the active neurons after each jump (J + 1, K, P).
    - `name`: a title.

    >>> steps = Staircase((), np.array([0.5]), 1.0, 2.0, "stalled", np.zeros((1, 1, 2)))
    >>> steps
    Staircase(0 jumps, loss 0.5; no dormant neuron can grow: the rest cannot be learned from here)
    """

    events: tuple[Event, ...]
    levels: Float[np.ndarray, " J1"]
    eta: float
    kappa: float
    status: StaircaseStatus
    parameters: Float[np.ndarray, "J1 K P"]
    name: str = ""

    @property
    def jump_times(self) -> Float[np.ndarray, " J"]:
        """Jump times τ^(k) (J,), in the clock of `eta`."""
        return np.array([event.time for event in self.events])

    @property
    def flow_times(self) -> Float[np.ndarray, " J"]:
        """Jump times η·τ of the flow θ′ = −∇L; divide by a learning rate for steps of gradient descent."""
        return self.eta * self.jump_times

    def loss_at(self, times: Any) -> Any:
        """Return the predicted loss at times in the clock of `eta`."""
        return self.levels[np.searchsorted(self.jump_times, np.asarray(times, float), side="right")]

    def visible(self, drop: float = 0.01, gap: float = 0.3) -> "Staircase":
        """Return the staircase as a plot shows it: cascades merge into one jump, and tiny jumps disappear.

        A plateau shorter than the share `gap` of the time at which it began joins the jumps on both sides. The merged
        jump happens where the loss crosses the middle between its first and its last level, as in `compare`. Jumps
        smaller than the share `drop` of the first level are left out.
        """
        cascades: list[list[Event]] = []
        for event in self.events:
            if cascades and event.time - cascades[-1][-1].time <= gap * cascades[-1][-1].time:
                cascades[-1].append(event)
            else:
                cascades.append([event])
        large = [c for c in cascades if c[0].before - c[-1].after > drop * self.levels[0]]
        ends = [cascade[0].before for cascade in large[1:]] + [float(self.levels[-1])] * bool(large)
        events = tuple(_merged(cascade, end) for cascade, end in zip(large, ends, strict=True))
        levels = np.array([large[0][0].before if large else self.levels[0], *ends])
        last = [self.events.index(cascade[-1]) + 1 for cascade in large]
        return Staircase(events, levels, self.eta, self.kappa, self.status, self.parameters[[0, *last]], self.name)

    def compare(self, times: Any, loss: Any | None = None) -> "StaircaseComparison":
        """Compare with a measured loss: a `flow.Flow`, or times in the clock of `eta` and the loss at each."""
        t, measured = _curve(times, loss)
        return compare(self, t, measured)

    def distance(self, times: Any, loss: Any | None = None) -> float:
        r"""Return the mean of |L − L_AGF| over time, relative to the predicted drop of the loss.

        $$\frac{1}{T}\int_0^T \frac{|L(t) - L_{AGF}(t)|}{\ell^{(0)} - \min \ell}\, dt$$

        0 is perfect agreement; a run that never moves, or jumps at once, is near 1.
        """
        t, measured = _curve(times, loss)
        gap = np.abs(measured - self.loss_at(t))
        return float(np.trapezoid(gap, t) / (t[-1] - t[0]) / max(self.levels[0] - self.levels.min(), 1e-300))

    @property
    def frame(self) -> pd.DataFrame:
        """One row per jump."""
        rows = [
            {
                "time": event.time,
                "flow_time": self.eta * event.time,
                "neurons": " ".join(map(str, event.neurons)),
                "before": event.before,
                "after": event.after,
                "fallen": " ".join(map(str, event.fallen)),
            }
            for event in self.events
        ]
        return pd.DataFrame(rows, columns=["time", "flow_time", "neurons", "before", "after", "fallen"])

    def figure_data(
        self,
        times: Any,
        loss: Any | None = None,
        *,
        x: figure.Axis | str = "time",
        y: figure.Axis | str = "loss",
        title: str = "",
        caption: str = "",
    ) -> FigureData:
        """Return a figure of the staircase over a measured loss."""
        t, measured = _curve(times, loss)
        inside = self.jump_times <= t[-1]
        return figure.staircase(
            t,
            measured,
            levels=self.levels[: 1 + int(inside.sum())],
            jumps=self.jump_times[inside],
            x=x,
            y=y,
            title=title or f"AGF and gradient flow: {self.name}".rstrip(": "),
            caption=caption,
            measured="gradient flow",
            predicted="AGF",
        )

    def __repr__(self) -> str:
        loss = f"loss {self.levels[0]:.4g}" + (f" → {self.levels[-1]:.4g}" if self.events else "")
        return f"Staircase({len(self.events)} jumps, {loss}; {_MEANING[self.status]})"

    def _repr_html_(self) -> str:
        return f"<p><b>{html.escape(repr(self))}</b></p>{self.frame.to_html(index=False, float_format='{:.5g}'.format)}"


@dataclass(frozen=True, eq=False)
class StaircaseComparison:
    """Predicted and measured jumps and levels side by side.

    A jump is measured where the loss crosses the middle between two predicted levels; a level is measured where the
    loss is flattest between two jumps.

    **Attributes:**

    - `frame`: a table with one row per jump.
    - `distance`: the score of `Staircase.distance`.
    """

    frame: pd.DataFrame
    distance: float

    @property
    def time_error(self) -> float:
        """Largest relative error of a jump time, over the jumps that were measured."""
        return _largest(self.frame["time_error"].to_numpy())

    @property
    def level_error(self) -> float:
        """Largest error of a level, relative to the level before the jump."""
        return _largest(self.frame["level_error"].to_numpy())

    def __repr__(self) -> str:
        seen = int(np.isfinite(self.frame["measured_time"].to_numpy()).sum())
        return (
            f"StaircaseComparison({seen} of {len(self.frame)} jumps seen, times within {self.time_error:.2%}, "
            f"levels within {self.level_error:.2%}, distance {self.distance:.4f})"
        )

    def _repr_html_(self) -> str:
        return f"<p><b>{html.escape(repr(self))}</b></p>{self.frame.to_html(index=False, float_format='{:.5g}'.format)}"


def _largest(errors: np.ndarray) -> float:
    seen = errors[np.isfinite(errors)]
    return float(np.abs(seen).max(initial=0.0))


def crossing(times: Float[np.ndarray, " n"], loss: Float[np.ndarray, " n"], level: float) -> float:
    """Return when a curve first falls to a level, by linear interpolation; NaN if it never does.

    >>> crossing(np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.8, 0.2]), 0.5)
    1.5
    """
    below = np.flatnonzero(loss <= level)
    if not len(below):
        return float("nan")
    i = int(below[0])
    if i == 0:
        return float(times[0])
    share = (loss[i - 1] - level) / (loss[i - 1] - loss[i])
    return float(times[i - 1] + share * (times[i] - times[i - 1]))


def _merged(cascade: list[Event], end: float) -> Event:
    """Merge several events into one, at the first that brings the loss below the middle."""
    middle = (cascade[0].before + end) / 2
    crossing_at = next((event.time for event in cascade if event.after <= middle), cascade[-1].time)
    return Event(
        crossing_at,
        tuple(neuron for event in cascade for neuron in event.neurons),
        cascade[0].before,
        end,
        np.concatenate([event.directions for event in cascade]),
        tuple(neuron for event in cascade for neuron in event.fallen),
    )


def compare(staircase: Staircase, t: Float[np.ndarray, " n"], loss: Float[np.ndarray, " n"]) -> StaircaseComparison:
    """Compare a staircase with a measured loss on arrays; see `Staircase.compare`."""
    levels, rows = staircase.levels, []
    middles = (levels[1:] + levels[:-1]) / 2
    measured = [crossing(t, loss, middle) for middle in middles]
    ends = [*measured[1:], float(t[-1])]
    for k, event in enumerate(staircase.events):
        level = _flattest(t, loss, measured[k], ends[k])
        rows.append(
            {
                "predicted_time": event.time,
                "measured_time": measured[k],
                "time_error": event.time / measured[k] - 1 if measured[k] else np.nan,
                "predicted_level": event.after,
                "measured_level": level,
                "level_error": (event.after - level) / max(event.before, 1e-300),
            }
        )
    columns = ["predicted_time", "measured_time", "time_error", "predicted_level", "measured_level", "level_error"]
    return StaircaseComparison(pd.DataFrame(rows, columns=columns), staircase.distance(t, loss))


def _flattest(t: np.ndarray, loss: np.ndarray, start: float, end: float) -> float:
    """Return the loss where it changes least between two times."""
    end = t[-1] if np.isnan(end) else end
    inside = np.flatnonzero((t > start) & (t <= end))
    if np.isnan(start) or len(inside) < 2:
        return float("nan") if np.isnan(start) else float(loss[min(int(np.searchsorted(t, start)), len(t) - 1)])
    slope = np.abs(np.diff(loss[inside]) / np.diff(t[inside]))
    i = inside[int(slope.argmin())]
    return float((loss[i] + loss[i + 1]) / 2)


def _curve(times: Any, loss: Any | None) -> tuple[np.ndarray, np.ndarray]:
    if loss is None and not (hasattr(times, "times") and hasattr(times, "loss")):
        raise ValueError(f"give a flow.Flow, or times and the loss at each; got {type(times).__name__} alone")
    t, measured = (times.times, times.loss) if loss is None else (times, loss)
    t, measured = np.asarray(t, float), np.asarray(measured, float)
    if t.ndim != 1 or t.shape != measured.shape or len(t) < 2:
        raise ValueError(f"times and loss must be curves of the same length ≥ 2, got {t.shape} and {measured.shape}")
    if not (np.isfinite(t).all() and np.isfinite(measured).all() and (np.diff(t) > 0).all()):
        raise ValueError("times must increase and the loss be finite; cut off the rows after a run has diverged")
    return t, measured


def from_levels(
    times: Sequence | np.ndarray,
    levels: Sequence | np.ndarray,
    neurons: Sequence[int],
    *,
    eta: float,
    kappa: float,
    parameters: Float[np.ndarray, "J1 K P"] | None = None,
    fallen: Sequence[tuple[int, ...]] | None = None,
    name: str = "",
) -> Staircase:
    """Build a staircase from a closed form.

    **Arguments:**

    - `times`: jump times (J,).
    - `levels`: losses of the plateaus (J + 1,).
    - `neurons`: the neuron of each jump.
    - `eta`, `kappa`, `parameters`, `name`: as in `Staircase`.
    - `fallen`: the neurons that become dormant again at each jump.
    """
    J = len(times)
    fallen = [()] * J if fallen is None else fallen
    parameters = np.zeros((J + 1, 1, 1)) if parameters is None else parameters
    events = tuple(
        Event(float(times[k]), (int(neurons[k]),), float(levels[k]), float(levels[k + 1]), np.zeros((1, 0)), fallen[k])
        for k in range(J)
    )
    return Staircase(events, np.asarray(levels, float), float(eta), float(kappa), "finished", parameters, name)
