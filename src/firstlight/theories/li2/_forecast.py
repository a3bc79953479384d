"""A forecast as a value: chances, epochs, irreps and the reason, for people, programs and figures."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from math import exp, inf, isfinite, isnan, nan
from typing import Any, Literal

import numpy as np

from firstlight.records import FigureData, RunRecord, figure, first_row, html_facts

Outcome = Literal["grokking", "memorising", "stalling", "nothing", "not covered"]


@dataclass(frozen=True)
class Epochs:
    """A time with its 80 % interval, in epochs; `median` is infinite for an event that should not happen.

    >>> Epochs(90.0, 140.0, 220.0)
    Epochs(90 … 140 … 220)
    """

    low: float
    median: float
    high: float

    def __repr__(self) -> str:
        return f"Epochs({_number(self.low)} … {_number(self.median)} … {_number(self.high)})"

    @property
    def words(self) -> str:
        """The interval in words.

        >>> Epochs(90.0, 140.0, 220.0).words
        'about 140 (90 to 220)'
        >>> Epochs(float("inf"), float("inf"), float("inf")).words
        'not expected'
        """
        if isnan(self.median):
            return "unknown"
        if not isfinite(self.median):
            return "not expected"
        return f"about {_number(self.median)} ({_number(self.low)} to {_number(self.high)})"


UNKNOWN, NEVER = Epochs(nan, nan, nan), Epochs(inf, inf, inf)


@dataclass(frozen=True)
class IrrepForecast:
    """A component of the group in a forecast.

    **Attributes:**

    - `label`, `dim`, `kind`: the component.
    - `energy`: E* of its maxima (σ = x², hidden units of norm 1).
    - `survives`: share of its maxima that survive on n random pairs.
    - `rank`: place in the order in which irreps should be learned, from 1, by E*; equal energies share a rank.
    """

    label: str
    dim: int
    kind: str
    energy: float
    survives: float
    rank: int


@dataclass(frozen=True)
class Forecast:
    """Whether a run will generalise, when, and into what: before training, or from the rows recorded so far.

    **Attributes:**

    - `group`: name of the group; '' if it is not known.
    - `samples`, `pairs`: n, the number of training pairs, and M², the number of all pairs; 0 if not known.
    - `outcome`: "grokking", "memorising", "stalling", "nothing" (the training set is not learned), or "not covered".
    - `probability`: that the run generalises by epoch `horizon`; NaN without test rows or if not covered.
    - `horizon`: epochs within which the outcome is forecast.
    - `boundary`, `low`, `high`: n₅₀, at which half of such runs generalise, minus and plus one standard error.
    - `margin`: n/n₅₀.
    - `chances`: probability of each condition: "samples" above the boundary, decay not too "strong" and not too
      "weak", enough "width", an "activation" with a cross term, "test rows" to generalise to.
    - `memorises`, `generalises`: epochs with their 80 % intervals; `generalises` is infinite if it should not happen.
    - `irreps`: the components of the group, first learned first.
    - `nodes`, `wide_enough`: hidden units that suffice to reconstruct the target, and whether K is at least that.
    - `stages`: the stages to expect.
    - `why`: what decides against generalising: a key of `chances`, or what the rows show; '' if nothing does.
    - `seen`: last epoch of the rows that entered the forecast; None before training.
    - `outside`: what lies outside the measured range, where the uncertainty is wider.
    - `fitted`: whether the constants were fitted to a run of this setting, so that the run is no test of them.
    - `story`: the forecast in words.
    - `curves`: recorded accuracies by name ("step", "train_accuracy", "test_accuracy"), for the figure.
    """

    group: str
    samples: int
    pairs: int
    outcome: Outcome
    probability: float
    horizon: float
    boundary: float = nan
    low: float = nan
    high: float = nan
    margin: float = nan
    chances: Mapping[str, float] = field(default_factory=dict)
    memorises: Epochs = UNKNOWN
    generalises: Epochs = UNKNOWN
    irreps: tuple[IrrepForecast, ...] = ()
    nodes: int = 0
    wide_enough: bool = True
    stages: tuple[str, ...] = ()
    why: str = ""
    seen: int | None = None
    outside: tuple[str, ...] = ()
    fitted: bool = False
    story: str = ""
    curves: Mapping[str, tuple[float, ...]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def covered(self) -> bool:
        """Whether the forecast covers the run; otherwise `why` says what it does not cover."""
        return self.outcome != "not covered"

    @property
    def epochs(self) -> float:
        """Median of the epochs to generalise; infinite if it should not happen."""
        return self.generalises.median

    @property
    def features(self) -> tuple[tuple[str, float], ...]:
        """The irreps with their E*, largest first."""
        return tuple((irrep.label, irrep.energy) for irrep in self.irreps)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: NaN becomes None, infinity the word "never"."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self) if f.name != "curves"}

    def to_json(self) -> str:
        """Return the forecast as JSON.

        >>> import json
        >>> json.loads(Forecast("Z5", 10, 25, "memorising", 0.1, 1000.0).to_json())["probability"]
        0.1
        """
        return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False)

    @property
    def chance(self) -> str:
        """The probability of generalising with two digits; nothing that is forecast is certain."""
        return "no test rows" if isnan(self.probability) else two_digits(self.probability)

    def __repr__(self) -> str:
        subject = f"{self.group or 'run'}, n = {self.samples}" if self.samples else self.group or "run"
        if not self.covered:
            return f"<Forecast {subject}: not covered, {self.why}>"
        chance = "no test rows" if isnan(self.probability) else f"chance {self.chance}"
        seen = "" if self.seen is None else f" at epoch {self.seen}"
        return f"<Forecast {subject}{seen}: {self.outcome}, {chance}, generalises {self.generalises.words}>"

    def _repr_html_(self) -> str:
        rows = {
            "outcome": self.outcome,
            "chance of generalising": "" if isnan(self.probability) else self.chance,
            "boundary": "" if isnan(self.boundary) else f"{self.boundary:.0f} of {self.pairs} pairs",
            "training pairs": f"{self.samples}" if self.samples else "",
            "epochs to memorise": self.memorises.words,
            "epochs to generalise": self.generalises.words,
            "learned first": ", ".join(irrep.label for irrep in self.irreps[:4]),
            "outside the measured range": ", ".join(self.outside),
        }
        drawn = self.figure_data()._repr_html_() if self.covered else ""
        return html_facts(rows, "" if drawn else self.story) + drawn

    def expected(self, epochs: Any) -> dict[str, np.ndarray]:
        """Return the median forecast of the accuracies "train" and "test" at some epochs; without unknown ones.

        >>> forecast = Forecast("Z5", 10, 25, "grokking", 0.9, 1000.0, generalises=Epochs(90.0, 140.0, 220.0))
        >>> forecast.expected([1, 140, 1000])["test"].round(2).tolist()
        [0.0, 0.99, 1.0]
        """
        at = np.maximum(np.asarray(epochs, float), 1.0)
        times = {"train": self.memorises, "test": self.generalises}
        return {name: _rise(at, when.median) for name, when in times.items() if not isnan(when.median)}

    def over(self, record: RunRecord) -> FigureData:
        """Return the figure of a forecast made before training, with the accuracies that the run recorded."""
        columns = ("step", "train_accuracy", "test_accuracy")
        curves = {name: tuple(map(float, record.table[name])) for name in columns if name in record.table}
        drawn = replace(self, curves=curves).figure_data()
        caption = "Dashed: the forecast, made before training; its band should hold four runs of five. Solid: the run."
        for word, when, name in (("memorised", self.memorises, "train"), ("generalised", self.generalises, "test")):
            row = first_row(record.table, f"{name}_accuracy") if f"{name}_accuracy" in curves else None
            if row is not None and isfinite(when.median):
                inside = when.low <= curves["step"][row] <= when.high
                caption += (
                    f" It {word} at {record.spec.clock} {curves['step'][row]:.0f}, {'within' if inside else 'outside'} "
                    f"the band of {when.low:.0f} to {when.high:.0f}."
                )
        return replace(drawn, title="The forecast and the run", caption=caption)

    def figure_data(self) -> FigureData:
        """Return the accuracies ahead: median and 80 % band of each curve, with the recorded rows if there are any."""
        last = max((self.curves.get("step") or (1.0,))[-1], self.horizon if isfinite(self.horizon) else 1.0)
        times = [t for t in (self.memorises.high, 1.5 * self.generalises.high) if isfinite(t)]
        end = min(max([*times, 10.0]), max(last, 10.0))
        grid = np.unique(np.round(np.geomspace(1, end, 160)))
        series, measured = [], {name for name in ("train", "test") if self.curves.get(f"{name}_accuracy")}
        for name, when in (("train", self.memorises), ("test", self.generalises)):
            if isfinite(when.median) or when is NEVER:
                label = f"{name}, forecast"
                middle, lower, upper = (_rise(grid, t) for t in (when.median, when.high, when.low))
                forecast = figure.Series(label, grid, middle, lower, upper)
                series.append(replace(forecast, style="dashed", like=name) if name in measured else forecast)
        if step := self.curves.get("step"):
            at = np.maximum(np.array(step), 1.0)
            recorded = [(name, self.curves[f"{name}_accuracy"]) for name in ("train", "test") if name in measured]
            series += [figure.Series(name, at, np.array(values)) for name, values in recorded]
        marks = {} if self.seen is None else {"now": float(max(self.seen, 1))}
        return figure.curves(
            series,
            x=figure.Axis("epoch", scale="log"),
            y=figure.Axis("accuracy"),
            title=f"Forecast for {self.group or 'the run'}",
            caption=self.story,
            vertical=marks,
        )


def _rise(t: np.ndarray, when: float) -> np.ndarray:
    """Return an accuracy that reaches 0.99 at `when`, rising over a third of that time."""
    if not isfinite(when):
        return np.zeros_like(t)
    accuracy = 1 / (1 + np.exp(-np.clip((np.log(t) - np.log(when)) / 0.08 + 4.6, -50, 50)))
    return np.where(accuracy < 1e-6, 0.0, accuracy)


def odds(p: float) -> str:
    """Return the larger of p and 1 − p in words; nothing that is forecast is certain.

    >>> odds(0.13), odds(0.9991)
    ('0.87', 'over 0.99')
    """
    return two_digits(max(p, 1 - p))


def two_digits(p: float) -> str:
    """Return a probability with two digits, and as a bound where these would be 1.00 or 0.00.

    >>> two_digits(0.131), two_digits(0.9991), two_digits(1e-4)
    ('0.13', 'over 0.99', 'under 0.01')
    """
    return "over 0.99" if p > 0.995 else "under 0.01" if p < 0.005 else f"{p:.2f}"


def _number(x: float) -> str:
    if isnan(x) or not isfinite(x):
        return "unknown" if isnan(x) else "never"
    return f"{x:.0f}" if x < 1000 else f"{round(x, -int(np.floor(np.log10(x))) + 2):.0f}"


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return None if isnan(value) else value if isfinite(value) else "never"
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Epochs | IrrepForecast):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    return value


def interval(log_mean: float, deviation: float, rate: float) -> Epochs:
    """Return the epochs of a log-normal time, given in units of 1/rate, with its 80 % interval.

    >>> interval(0.0, 0.5, 1e-3)
    Epochs(527 … 1000 … 1900)
    """
    return Epochs(*(exp(log_mean + z * deviation) / rate for z in (-1.2816, 0.0, 1.2816)))
