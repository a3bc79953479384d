"""Training for the empirical checks: specs, runs that resume, and bounds over seeds."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from firstlight import runs
from firstlight.claims._check import Setting
from firstlight.records import RunSpec, Store

LEVEL = 0.99
"""Confidence of every one-sided bound over seeds."""

GENERALISED = {"observable": "test_accuracy", "at_least": 0.99}
"""Stop rule: the held-out pairs are learned."""


def spec(
    group: str, fraction: float, width: int, steps: int, optimizer: Mapping[str, Any], seed: int, **fields: Any
) -> RunSpec:
    """Return the spec of a two-layer network on a share of a group's table; `fields` replace the defaults."""
    return RunSpec.model_validate(
        {
            "task": {"group": group, "split": {"fraction": fraction}},
            "model": {"width": width},
            "optimizer": dict(optimizer),
            "steps": steps,
            "recording": {"every": max(steps // 20, 1)},
            "seed": seed,
            **fields,
        }
    )


def described(run: RunSpec) -> dict[str, Any]:
    """Return the loss and the biases of a run, by the names of the claims' `paper_setting`."""
    model: Any = run.model
    factor = {0.5: "½ ", 1.0: ""}.get(run.loss.factor, f"{run.loss.factor:g} ")
    return {
        "loss": f"{factor}{run.loss.reduction} of ‖P⊥(Y − Ŷ)‖², P⊥ over {run.loss.projection}",
        "biases": bool(model.bias),
    }


def train(
    setting: Setting, name: str, specs: Sequence[RunSpec], *, keep_weights: bool = False
) -> list[runs.RunOutcome]:
    """Train all specs; above the quick scale into the store `name` of the working directory, from which they resume.

    **Arguments:**

    - `setting`: scale, progress callback and working directory.
    - `name`: file name of the store, without its ending.
    - `specs`: the runs.
    - `keep_weights`: return the weights as well.
    """
    report = lambda moment: setting.progress(moment.done / max(moment.total, 1), f"training {name}")  # noqa: E731
    if setting.scale == "quick":
        outcomes = runs.compute(specs, progress=report, keep_weights=keep_weights)
    else:
        path = setting.work / f"{name}.sqlite"
        path.parent.mkdir(parents=True, exist_ok=True)
        records = runs.run_many(specs, store=path, progress=report)
        with Store(path) as store:
            names = [record.weights if keep_weights else () for record in records]
            weights = [{key: store.weights(r.id, key) for key in n} for r, n in zip(records, names, strict=True)]
        outcomes = [runs.RunOutcome(r, w) for r, w in zip(records, weights, strict=True)]
    for outcome in outcomes:
        if outcome.record.status == "failed":
            raise RuntimeError(f"run {outcome.record.id[:12]} failed: {outcome.record.message}")
    return outcomes


def lower_bound(differences: Sequence[Any]) -> float:
    """Return the lower 99 % bound on a mean over seeds, by Student's t; NaN for less than two seeds.

    >>> round(lower_bound([1.0, 1.2, 0.8]), 3)
    0.196
    """
    values = np.array([np.nan if value is None else float(value) for value in differences])
    if len(values) < 2:
        return float("nan")
    error = values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - stats.t.ppf(LEVEL, len(values) - 1) * error)


def minus(left: Sequence[Any], right: Sequence[Any]) -> list[float]:
    """Return the differences of paired values; None counts as NaN."""
    number = lambda value: np.nan if value is None else float(value)  # noqa: E731
    return [number(a) - number(b) for a, b in zip(left, right, strict=True)]


def more_often(small: Sequence[Any], large: Sequence[Any]) -> float:
    """Return the p-value of Fisher's exact test that the first outcomes are not more often true than the second.

    >>> round(more_often([1, 1, 1, 1, 1], [0, 0, 0, 0, 0]), 4)
    0.004
    """
    if any(np.isnan(float(x)) for x in (*small, *large)):
        return float("nan")
    table = [[sum(map(bool, rows)), len(rows) - sum(map(bool, rows))] for rows in (small, large)]
    return float(stats.fisher_exact(table, alternative="greater").pvalue)  # type: ignore[union-attr]


REASON = "lower 99 % bound of Student's t over the seeds"
"""Reason of every criterion on a `lower_bound`."""
