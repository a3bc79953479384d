"""The result of a boundary search: a row per run, per seed and per point."""

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from firstlight.records import FigureData, RunRecord, figure, run_id
from firstlight.sweeps._boundary._plan import Axis, Plan
from firstlight.sweeps._boundary._search import Search

MEDIAN = math.sqrt(math.pi / 2)
"""Standard error of the median of a large normal sample, in units of that of its mean."""


def half_point(low: np.ndarray, high: np.ndarray, axis: Axis = "linear") -> dict[str, float]:
    """Estimate the value at which half of the seeds succeed, from the bracket of each seed.

    p₅₀ is the median of the brackets' middles. Its standard error adds two parts in squares: √(π/2)·s/√n for the
    spread s over n seeds, and w/√12 for the width w of a bracket. The interval [low, high] holds p₅₀ with a
    confidence of about 95 %: Student's quantile of n − 1 degrees times the first part, and w/2, again in squares. For
    a single seed it is the bracket. On a log axis all this is done in logarithms, and `error` is relative.

    A censored seed has an infinite end. It counts in the median. If the median itself is censored, p₅₀ is NaN and
    [low, high] reaches to infinity. For the spread a censored seed counts at its finite end, so the spread is then a
    lower limit.

    **Arguments:**

    - `low`: (n,) the lower end of each seed's bracket.
    - `high`: (n,) the upper end.
    - `axis`: linear or log.

    >>> estimate = half_point(np.array([0.3, 0.3, 0.32]), np.array([0.31, 0.31, 0.33]))
    >>> round(estimate["p50"], 3), round(estimate["error"], 4)
    (0.305, 0.0088)
    """
    empty = {"p50": math.nan, "error": math.nan, "low": math.nan, "high": math.nan, "spread": math.nan}
    n = len(low)
    if not n:
        return empty
    with np.errstate(divide="ignore"):
        low, high = (np.log(ends) if axis == "log" else np.asarray(ends, float) for ends in (low, high))
    back = np.exp if axis == "log" else lambda value: value
    middle = np.sort((low + high) / 2)
    lower, upper = middle[(n - 1) // 2], middle[n // 2]
    censored = ~(np.isfinite(low) & np.isfinite(high))
    at_end = np.where(np.isfinite(low), np.where(np.isfinite(high), (low + high) / 2, low), high)
    spread = float(at_end.std(ddof=1)) if n > 1 else 0.0
    width = float(np.max((high - low)[~censored])) if not censored.all() else 0.0
    if np.isposinf(upper):
        reached = lower if np.isfinite(lower) else np.max(low)
        return empty | {"low": float(back(reached)), "high": math.inf, "spread": spread}
    if np.isneginf(lower):
        reached = upper if np.isfinite(upper) else np.min(high)
        return empty | {"low": float(back(-np.inf)), "high": float(back(reached)), "spread": spread}
    p50, sampling = (lower + upper) / 2, MEDIAN * spread / math.sqrt(n)
    quantile = float(stdtrit(n - 1, 0.975)) if n > 1 else 0.0
    reach = math.hypot(quantile * sampling, width / 2)
    return {
        "p50": float(back(p50)),
        "error": math.hypot(sampling, width / math.sqrt(12)),
        "low": float(back(p50 - reach)),
        "high": float(back(p50 + reach)),
        "spread": spread,
    }


@dataclass(frozen=True)
class BoundaryResult:
    """The boundary of each point, with the runs that found it.

    **Attributes:**

    - `plan`: the field, the points with their values, the seeds and the success rule.
    - `searches`: the search of each (number of the point, seed).
    - `records`: the record of each run by its id.
    """

    plan: Plan
    searches: Mapping[tuple[int, int], Search]
    records: Mapping[str, RunRecord]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per run: point, value of the field, seed, whether it succeeded, why it ended, steps, seconds, id.

        `outcome` is `success`, `stalled` (by a stop rule), `steps` (all steps done without success) or `diverged`.
        """
        rows = []
        for (number, seed), search in self.searches.items():
            point = self.plan.points[number]
            for place, success in search.outcomes.items():
                record = self.records[self._ids[number, place, seed]]
                last = {f"final.{name}": column[-1] for name, column in record.table.scalars().items()}
                rows.append(
                    {
                        **point.fields,
                        self.plan.field: point.values[place],
                        "seed": seed,
                        "success": success,
                        "outcome": self._outcome(record, success),
                        "steps": record.steps,
                        "seconds": record.seconds,
                        "memorised_at": record.summary.get("memorised_at"),
                        "generalised_at": record.summary.get("generalised_at"),
                        **last,
                        "id": record.id,
                    }
                )
        frame = pd.DataFrame(rows)
        if len(frame):
            when = ["memorised_at", "generalised_at"]
            frame[when] = frame[when].astype(float)
        return frame

    @cached_property
    def brackets(self) -> pd.DataFrame:
        """One row per point and seed: the ends of the bracket, whether it is done or censored, runs and steps.

        `censored` is `above` or `below` if the boundary lies beyond that end of the search, else empty. The bracket of
        a censored seed has an infinite end.
        """
        return pd.DataFrame([{**self.plan.points[key[0]].fields, **self._bracket(key)} for key in self.searches])

    @cached_property
    def boundaries(self) -> pd.DataFrame:
        """One row per point: p₅₀ with its standard error and 95 % interval, and the cost.

        `seeds` counts the seeds that are done, and only these enter p₅₀; `censored` counts those without a boundary
        between the ends. `error` is relative on a log axis.
        """
        rows = []
        for number, point in enumerate(self.plan.points):
            seeds = [self._bracket(key) for key in self.searches if key[0] == number]
            done = [row for row in seeds if row["done"]]
            low, high = (np.array([row[end] for row in done], float) for end in ("low", "high"))
            rows.append(
                {
                    **point.fields,
                    **half_point(low, high, self.plan.axis),
                    "seeds": len(done),
                    "censored": sum(row["censored"] != "" for row in done),
                    **{name: sum(row[name] for row in seeds) for name in ("runs", "steps", "seconds")},
                }
            )
        return pd.DataFrame(rows)

    @property
    def steps(self) -> int:
        """Training steps of all runs together."""
        return sum(record.steps for record in self.records.values())

    def figure_data(self) -> FigureData:
        """Return the share of seeds that succeed against the field, one curve per point."""
        series = []
        for number, point in enumerate(self.plan.points):
            searches = [s for key, s in self.searches.items() if key[0] == number and s.done]
            first = max(min((s.low for s in searches), default=0), 0)
            last = min(max((s.high for s in searches), default=0), len(point.values) - 1)
            places = range(first, last + 1)
            share = [float(np.mean([s.high <= place for s in searches])) if searches else math.nan for place in places]
            label = ", ".join(str(value) for value in point.fields.values()) or self.plan.field
            series.append(figure.Series(label, [point.values[place] for place in places], share))
        return figure.curves(
            series,
            x=figure.Axis(self.plan.field, scale=self.plan.axis),
            y="share of seeds that succeed",
            title=f"Boundary of {self.plan.success.words}",
            caption=f"{len(self.plan.seeds)} seeds; each is searched by bisection.",
            horizontal={"half": 0.5},
        )

    def __repr__(self) -> str:
        done = sum(search.done for search in self.searches.values())
        runs = sum(len(search.outcomes) for search in self.searches.values())
        return f"BoundaryResult({self.plan.field}: {done} of {len(self.searches)} boundaries, {runs} runs)"

    def _repr_html_(self) -> str:
        table = self.boundaries.to_html(index=False, float_format=lambda value: f"{value:.4g}")
        return f"<p><b>{html.escape(repr(self))}</b></p>{table}"

    @cached_property
    def _ids(self) -> dict[tuple[int, int, int], str]:
        """The id of each run by point, place and seed."""
        return {
            (number, place, seed): run_id(self.plan.spec(number, place, seed))
            for (number, seed), search in self.searches.items()
            for place in search.outcomes
        }

    def _bracket(self, key: tuple[int, int]) -> dict[str, Any]:
        """Return the row of a point and seed in `brackets`."""
        (number, seed), search = key, self.searches[key]
        values = self.plan.points[number].values
        records = [self.records[self._ids[number, place, seed]] for place in search.outcomes]
        fails = values[search.low] if search.low >= 0 else None
        succeeds = values[search.high] if search.high < search.size else None
        low, high = (fails, succeeds) if self.plan.rising else (succeeds, fails)
        beyond = "below" if low is None else "above" if high is None else ""
        smallest = 0.0 if self.plan.axis == "log" else -math.inf
        return {
            "seed": seed,
            "low": smallest if low is None else low,
            "high": math.inf if high is None else high,
            "done": search.done,
            "censored": beyond if search.done else "",
            "runs": len(records),
            "steps": sum(record.steps for record in records),
            "seconds": sum(record.seconds for record in records),
        }

    def _outcome(self, record: RunRecord, success: bool) -> str:
        if success:
            return "success"
        if record.status == "diverged":
            return "diverged"
        return "steps" if record.steps >= record.spec.steps else "stalled"
