"""Run a duel: tune every optimizer, compare them on new seeds, and search for their critical widths."""

import math
import os
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal

import numpy as np

from firstlight import flow, runs
from firstlight.records import DuelEntry, DuelRate, DuelRecord, DuelWidth, RunRecord, RunSpec, Store
from firstlight.runs import writing
from firstlight.sweeps._duel._figures import duel_figures, story
from firstlight.sweeps._duel._interval import median_interval
from firstlight.sweeps._duel._plan import Duel
from firstlight.sweeps._duel._tuning import next_place, score
from firstlight.sweeps._duel._width import bisect_width, theorem_8

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class DuelProgress:
    """The state of a duel.

    **Attributes:**

    - `done`: training steps done, counting the whole budget of a run that ended early.
    - `total`: training steps of all runs at most.
    - `remaining`: expected seconds to the end, or None if unknown.
    - `label`: what is being trained.
    """

    done: float
    total: float
    remaining: float | None
    label: str


class DuelInterrupted(KeyboardInterrupt):
    """Raised by Ctrl-C during a duel; with a store, the same call continues."""


def run_duel(
    duel: Duel,
    store: Store | Path | None = None,
    *,
    force: bool = False,
    progress: Callable[[DuelProgress], None] | Literal["off"] = "off",
    data: Path | None = None,
    allow_large: bool = False,
) -> DuelRecord:
    """Compare optimizers at equal compute and return the record of the comparison.

    Every optimizer gets the same number of floating-point operations per run, the same number of tuning points and
    the same seeds. The best tuning point generalises on most tuning seeds, then soonest, then has the best test
    accuracy. With a store, runs that are there are not trained again, and an interrupted run continues from its
    checkpoint.

    **Arguments:**

    - `duel`: what is compared.
    - `store`: an open store, the path of a store, or None to store nothing.
    - `force`: train again even if the store holds the runs.
    - `progress`: a callback, or `"off"`.
    - `data`: the folder of the arrays that the spec names.
    - `allow_large`: run also what does not fit into memory.

    >>> base = RunSpec.model_validate({"task": {"group": "Z5", "split": {"fraction": 0.8}}, "model": {"width": 32},
    ...                                "optimizer": {"weight_decay": 1e-3}, "steps": 200})
    >>> record = run_duel(Duel(base, ("adam", "sgd"), rates=2, seeds=2))
    >>> [entry.optimizer for entry in record.entries], len(record.entries[0].generalised_at)
    (['adam', 'sgd'], 2)
    """
    with nullcontext() if store is None else writing(store) as opened:
        session = _Session(duel, opened, force, progress, data, allow_large)
        try:
            entries = tuple(session.entry(name) for name in duel.optimizers)
        except flow.TrainingInterrupted as stopped:
            raise DuelInterrupted(str(stopped)) from None
    record = DuelRecord(
        spec=duel.base,
        entries=entries,
        seeds=tuple(range(duel.seeds)),
        seconds=session.seconds,
        story=story(entries, duel.base.clock),
    )
    return DuelRecord.model_validate({**dict(record), "figures": duel_figures(record)})


class _Session:
    """Trains the runs of a duel and reports how far it is."""

    def __init__(
        self,
        duel: Duel,
        store: Store | None,
        force: bool,
        progress: Callable[[DuelProgress], None] | Literal["off"],
        data: Path | None,
        allow_large: bool,
    ) -> None:
        self._duel, self._store = duel, store
        self._callback = progress if callable(progress) else None
        self._options = {"force": force, "data": data, "allow_large": allow_large}
        self._start, self._trained, self._done, self.seconds = time.perf_counter(), 0.0, 0.0, 0.0
        widths = len(duel.width_lattice())
        searched = 1 + math.ceil(math.log2(widths)) if widths else 0
        runs_each = duel.rates * len(duel.weight_decays) * duel.tuning_seeds + duel.seeds * (1 + searched)
        self._total = float(sum(runs_each * duel.steps(name) for name in duel.optimizers))

    def entry(self, name: str) -> DuelEntry:
        """Tune and compare one optimizer."""
        duel = self._duel
        tuning = self._tune(name)
        best = min(tuning, key=score)
        setting = (best.learning_rate, best.weight_decay)
        specs = [duel.spec(name, *setting, seed) for seed in range(duel.seeds)]
        reached = tuple(_time(record) for record in self._train(specs, f"comparing {name}"))
        interval = median_interval(reached)
        rates = [rate.learning_rate for rate in tuning]
        return DuelEntry(
            optimizer=name,
            learning_rate=best.learning_rate,
            weight_decay=best.weight_decay,
            at_edge=len(set(rates)) > 1 and best.learning_rate in (min(rates), max(rates)),
            steps=duel.steps(name),
            step_flops=duel.flops(name),
            tuning=tuning,
            generalised_at=reached,
            median=_finite(interval.median),
            low=_finite(interval.low),
            high=_finite(interval.high),
            confidence=interval.confidence,
            width=self._width(name, setting),
        )

    def _tune(self, name: str) -> tuple[DuelRate, ...]:
        """Train every tuning point of an optimizer; the next learning rate depends on those before it."""
        duel, scores, tuning = self._duel, {}, []
        for _ in range(duel.rates):
            place = next_place(scores)
            rate = duel.rate(name, place)
            records = self._train(duel.tuning_specs(name, rate), f"tuning {name}")
            each = [records[i : i + duel.tuning_seeds] for i in range(0, len(records), duel.tuning_seeds)]
            rated = [
                _rated((rate, decay), seeds, duel.steps(name))
                for decay, seeds in zip(duel.weight_decays, each, strict=True)
            ]
            scores[place] = min(map(score, rated))
            tuning += rated
        return tuple(sorted(tuning, key=lambda point: (point.learning_rate, point.weight_decay)))

    def _width(self, name: str, setting: tuple[float, float]) -> DuelWidth | None:
        duel = self._duel
        if duel.widths is None:
            return None

        def succeeds(width: int) -> float:
            specs = [duel.spec(name, *setting, seed, width) for seed in range(duel.seeds)]
            return float(np.mean([_time(r) is not None for r in self._train(specs, f"{name}, width {width}")]))

        critical = bisect_width(duel.width_lattice(), succeeds)
        return critical.model_copy(update={"theory": theorem_8(duel.base, name)})

    def _train(self, specs: Sequence[RunSpec], label: str) -> list[RunRecord]:
        budget = float(sum(spec.steps for spec in specs))
        start, before = time.perf_counter(), self._done
        self._report(label)

        def moved(moment: flow.Progress) -> None:
            self._done = before + budget * min(1.0, moment.done / max(moment.total, 1))
            self._report(label)

        records = runs.run_many(
            specs,
            store=self._store,
            progress=moved if self._callback else "off",
            keep_weights=False,
            **self._options,  # type: ignore[arg-type]
        )
        if failed := [record for record in records if record.status == "failed"]:
            raise RuntimeError(f"{label}: {failed[0].message}")
        self.seconds += sum(record.seconds for record in records)
        self._done = before + budget
        self._trained += budget if time.perf_counter() - start > 0.5 else 0.0
        self._report(label)
        return records

    def _report(self, label: str) -> None:
        if self._callback is None:
            return
        elapsed = time.perf_counter() - self._start
        share = self._done / max(self._total, 1.0)
        remaining = elapsed * (1 / share - 1) if share > 0.02 and elapsed > 1 else None
        self._callback(DuelProgress(self._done, max(self._total, self._done), remaining, label))


def _time(record: RunRecord) -> int | None:
    """Return the step at which a run generalised, or None."""
    return record.summary.get("generalised_at")


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _rated(point: tuple[float, float], records: Sequence[RunRecord], steps: int) -> DuelRate:
    times = [_time(record) for record in records]
    accuracies = [record.summary.get("final", {}).get("test_accuracy", 0.0) for record in records]
    return DuelRate(
        learning_rate=point[0],
        weight_decay=point[1],
        generalised=sum(time is not None for time in times),
        seeds=len(records),
        steps=float(np.mean([steps if time is None else time for time in times])),
        accuracy=float(np.nan_to_num(np.mean(accuracies))),
    )
