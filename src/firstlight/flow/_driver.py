"""Driver: advances a compiled group of lanes from recorded step to recorded step."""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from firstlight._suggest import did_you_mean
from firstlight.flow._checkpoint import load_checkpoint, save_checkpoint
from firstlight.flow._program import Compiled, Data, Plan, Programs, State
from firstlight.flow._progress import Reporter
from firstlight.flow._trajectory import LaneResult
from firstlight.records import Recording, RunStatus, Stop
from firstlight.records._steps import RecordedSteps

_CHUNK_SECONDS = 0.5  # longest time between two checks for Ctrl-C and updates of the progress bar


@dataclass(frozen=True)
class Settings:
    """Length of a run, and when it records, stops and saves.

    **Attributes:**

    - `steps`: number of optimizer steps.
    - `recording`: rule for the recorded steps.
    - `stop`: rules that end a run early.
    - `snapshots`: recorded steps at which the weights are stored.
    - `checkpoint_seconds`: time between two checkpoints.
    - `resume`: whether to continue from a checkpoint.
    - `clock`: the word for a step in messages.
    """

    steps: int
    recording: Recording
    stop: tuple[Stop, ...]
    snapshots: frozenset[int]
    checkpoint_seconds: float
    resume: bool
    clock: Literal["epoch", "step"]

    @property
    def record(self) -> RecordedSteps:
        """The recorded steps."""
        return self.recording.steps(self.steps)


@dataclass
class _Log:
    """Rows and snapshots of one lane; `outcome` is (status, step, message) after its end."""

    seed: int
    index: int
    rows: list[Mapping[str, Any]] = field(default_factory=list)
    snapshots: dict[int, Any] = field(default_factory=dict)
    final: Any = None
    outcome: tuple[RunStatus, int, str] | None = None

    def end(self, status: RunStatus, step: int, message: str, model: Any) -> None:
        self.outcome, self.final = (status, step, message), model


@dataclass
class Driver:
    """A group of lanes that advance together: a single lane, or several stacked by vmap."""

    plan: Plan
    settings: Settings
    members: tuple[int, ...]
    seeds: tuple[int, ...]
    state: State
    data: Data
    path: Path | None
    identity: Mapping[str, Any]
    reporter: Reporter
    on_record: Callable[[int, dict[str, Any]], None] | None

    def run(self, program: Programs, halt: Event) -> tuple[list[LaneResult], float]:
        """Advance until every lane has ended or `halt` is set; return the results and the compile time."""
        compiled = program.compiled(self.state, self.data)
        self._check_stop_rules(compiled.columns)
        self.identity = {**self.identity, "observables": list(compiled.columns)}
        self._logs = [_Log(seed, index) for seed, index in zip(self.seeds, self.members, strict=True)]
        self._saved, self._pace = time.perf_counter(), 0.0
        if self.settings.resume and self.path is not None and self.path.exists():
            self._restore(compiled.columns)
        self._recorded_state, previous = self.state, self.state.params
        for target in self.settings.record:
            if target < self._step or (target == self._step and self._recorded(target)) or self._over:
                continue
            self._advance(compiled, target - 1, halt)
            if not halt.is_set() and not self._over:
                previous = self.state.params if self._step < target else previous
                self._advance(compiled, target, halt)
            if self._step == target and not self._over:
                self._record(compiled, previous, target)
            if halt.is_set():
                break
            if self.path is not None and time.perf_counter() - self._saved > self.settings.checkpoint_seconds:
                self._save()
        for i, log in enumerate(self._logs):
            if log.outcome is None and not halt.is_set():
                log.end("finished", self._step, "", self._model(i))
        if self.path is not None:
            self._save()
        return [self._result(i) for i in range(len(self._logs))], compiled.seconds

    @property
    def _step(self) -> int:
        """The step reached by the running lanes (a diverged lane stays behind)."""
        return int(np.max(np.asarray(self.state.step)))

    @property
    def _over(self) -> bool:
        return all(log.outcome is not None for log in self._logs)

    def _recorded(self, step: int) -> bool:
        return all(log.outcome is not None or (log.rows and int(log.rows[-1]["step"]) == step) for log in self._logs)

    def _advance(self, compiled: Compiled, target: int, halt: Event) -> None:
        """Advance to step `target` in pieces short enough to notice an interruption."""
        while (step := self._step) < target and not halt.is_set() and not self._over:
            piece = max(int(_CHUNK_SECONDS / self._pace), 1) if self._pace else 1
            start = time.perf_counter()
            self.state = compiled.advance(self.state, self.data, jnp.int32(min(step + piece, target)))
            bad = np.atleast_1d(np.asarray(self.state.bad))
            advanced = self._step - step
            if advanced:
                self._pace = (time.perf_counter() - start) / advanced
            for i, log in enumerate(self._logs):
                if bad[i] >= 0 and log.outcome is None:
                    self._diverged(compiled, log, i, int(bad[i]))
                self.reporter.update(log.index, log.seed, self._step, log.rows[-1] if log.rows else {})

    def _record(self, compiled: Compiled, previous: Any, step: int) -> None:
        values = jax.device_get(compiled.observe(self.state, previous, self.data))
        for i, log in enumerate(self._logs):
            if log.outcome is not None:
                continue
            row = {"step": step, **{k: (v[i] if self.plan.batched else v) for k, v in values.items()}}
            row = {k: v.item() if isinstance(v, np.ndarray | np.generic) and v.ndim == 0 else v for k, v in row.items()}
            if not np.isfinite(row.get("train_loss", 0.0)):
                self._diverged(compiled, log, i, step)
                continue
            log.rows.append(row)
            if step in self.settings.snapshots:
                log.snapshots[step] = self._params(i)
            if self.on_record is not None:
                self.on_record(log.index, row)
            self.reporter.update(log.index, log.seed, step, row)
            for rule in self.settings.stop:
                self._apply(rule, log, step, i)
        self._recorded_state = self.state

    def _diverged(self, compiled: Compiled, log: _Log, i: int, step: int) -> None:
        """End a lane with its last weights of finite loss, recomputed from the last recorded step."""
        if step > 0:
            self.state, reached = self._recorded_state, self.state
            self.state = compiled.advance(self.state, self.data, jnp.int32(step - 1))
            model = self._model(i)
            self.state = reached
        else:
            model = self._model(i)
        log.end(
            "diverged", step, f"the loss was not finite at {self.settings.clock} {step}; lower the learning rate", model
        )

    def _check_stop_rules(self, columns: Collection[str]) -> None:
        for rule in self.settings.stop:
            if rule.observable not in columns:
                hint = did_you_mean(rule.observable, columns) or "name one of them"
                raise ValueError(f"stop rule on {rule.observable!r}, but this run observes {list(columns)}; {hint}")

    def _apply(self, rule: Stop, log: _Log, step: int, i: int) -> None:
        if log.outcome is None and rule.met(log.rows):
            log.end("finished", step, f"{rule.words} at {self.settings.clock} {step}", self._model(i))

    def _params(self, i: int) -> Any:
        return jax.tree.map(lambda a: np.asarray(a[i] if self.plan.batched else a), self.state.params)

    def _model(self, i: int) -> Any:
        return eqx.combine(self._params(i), self.plan.static)

    def _result(self, i: int) -> LaneResult:
        log = self._logs[i]
        status, step, message = log.outcome or (
            "interrupted",
            self._step,
            f"stopped at {self.settings.clock} {self._step}",
        )
        snapshots = {at: eqx.combine(params, self.plan.static) for at, params in log.snapshots.items()}
        model = log.final if log.final is not None else self._model(i)
        return LaneResult(log.seed, status, step, message, tuple(log.rows), model, snapshots)

    def _save(self) -> None:
        lanes = [
            {
                "rows": log.rows,
                "snapshots": log.snapshots,
                "final": None if log.final is None else eqx.filter(log.final, eqx.is_inexact_array),
                "outcome": log.outcome,
            }
            for log in self._logs
        ]
        save_checkpoint(self.path, self.state, lanes, self.identity)  # type: ignore[arg-type]
        self._saved = time.perf_counter()

    def _restore(self, columns: Mapping[str, tuple[int, ...]]) -> None:
        params = jax.tree.map(lambda a: a[0] if self.plan.batched else a, self.state.params)
        self.state, lanes = load_checkpoint(self.path, self.state, params, self.identity, columns, len(self._logs))  # type: ignore[arg-type]
        recorded_steps = self.settings.record
        for log, stored in zip(self._logs, lanes, strict=True):
            # A shorter run recorded its last step; the longer run that resumes it may not record that step.
            rows = [row for row in stored["rows"] if int(row["step"]) in recorded_steps]
            log.rows = [{k: v.item() if np.ndim(v) == 0 else v for k, v in row.items()} for row in rows]
            log.snapshots = stored["snapshots"]
            ended = stored["outcome"]
            if ended is not None and (ended[0] != "finished" or ended[2] or ended[1] >= self.settings.steps):
                log.outcome = tuple(ended)
                log.final = eqx.combine(stored["final"], self.plan.static)
            self.reporter.resumed(log.index, self._step)
