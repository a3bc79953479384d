"""Results of training: rows of observables, models and how each run ended."""

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from firstlight.records import RunStatus

_WORST_LAST: tuple[RunStatus, ...] = ("finished", "interrupted", "diverged", "failed")


@dataclass(frozen=True)
class LaneResult:
    """Result of one run.

    **Attributes:**

    - `seed`: seed of the run.
    - `status`: how it ended.
    - `step`: last step.
    - `message`: why it ended, in words; '' after the full number of steps.
    - `rows`: observables at each recorded step.
    - `model`: the model at the end, with NumPy arrays.
    - `snapshots`: step → model.
    """

    seed: int
    status: RunStatus
    step: int
    message: str
    rows: tuple[Mapping[str, Any], ...]
    model: Any
    snapshots: Mapping[int, Any] = field(default_factory=dict)

    @property
    def frame(self) -> pd.DataFrame:
        """One row per recorded step, one column per scalar observable."""
        scalars = [{k: v for k, v in row.items() if np.ndim(v) == 0} for row in self.rows]
        frame = pd.DataFrame(scalars, columns=list(scalars[0]) if scalars else ["step"])
        return frame.astype({"step": int}) if len(frame) else frame

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Array-valued observables, stacked over recorded steps."""
        first = self.rows[0] if self.rows else {}
        return {k: np.stack([row[k] for row in self.rows]) for k, v in first.items() if np.ndim(v) > 0}


@dataclass(frozen=True)
class Trajectory:
    """Results of several runs; models and snapshots hold NumPy arrays.

    >>> Trajectory((), steps=0, seconds=0.0, compile_seconds=0.0).status
    'finished'
    """

    lanes: tuple[LaneResult, ...]
    steps: int
    seconds: float
    compile_seconds: float

    @property
    def frame(self) -> pd.DataFrame:
        """One row per (lane, recorded step), one column per scalar observable."""
        keys = ["lane", "seed", "step"]
        parts = [lane.frame.assign(lane=i, seed=lane.seed) for i, lane in enumerate(self.lanes)]
        frame = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=keys)
        return frame.reindex(columns=[*keys, *(c for c in frame.columns if c not in keys)])

    @property
    def status(self) -> RunStatus:
        """The worst status of any lane, in the order finished, interrupted, diverged, failed."""
        worst: RunStatus = "finished"
        for status in _WORST_LAST:
            worst = status if any(lane.status == status for lane in self.lanes) else worst
        return worst

    @property
    def models(self) -> tuple[Any, ...]:
        """The final model of each lane; of a diverged lane, the last model with finite loss."""
        return tuple(lane.model for lane in self.lanes)

    def first(self, observable: str, at_least: float) -> pd.Series:
        """Return per seed the first recorded step at which an observable reaches a level; NaN if it never does.

        If several lanes share a seed, the index is the lane.
        """
        known = [name for name in self.frame.columns if name not in ("lane", "seed", "step")]
        if observable not in known:
            raise ValueError(f"no observable {observable!r}; this trajectory has {known}")
        steps = []
        for frame in (lane.frame for lane in self.lanes):
            # A run that failed at once has no rows and no columns.
            reached = frame[observable] >= at_least if observable in frame.columns else []
            steps.append(frame.loc[reached, "step"].min())
        seeds = [lane.seed for lane in self.lanes]
        index = seeds if len(set(seeds)) == len(seeds) else list(range(len(seeds)))
        return pd.Series(steps, index=index, name=observable)

    def __repr__(self) -> str:
        seeds = len(self.lanes)
        return f"Trajectory({seeds} run{'s' * (seeds != 1)}, {self.steps} steps, {self.status}, {self.seconds:.1f} s)"

    def _repr_html_(self) -> str:
        rows = [
            {
                "seed": lane.seed,
                "status": lane.status,
                "note": lane.message,
                **(lane.rows[-1] if lane.rows else {}),
            }
            for lane in self.lanes
        ]
        scalars = [{k: v for k, v in row.items() if np.ndim(v) == 0} for row in rows]
        table = pd.DataFrame(scalars).to_html(index=False, float_format=lambda x: f"{x:.4g}")
        return f"<p><b>{html.escape(repr(self))}</b>; last recorded step of each run:</p>{table}"
