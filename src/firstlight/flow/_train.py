"""Training: many runs of one program, observed, stoppable, resumable, and the same bits every time."""

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from firstlight import _interrupts as interrupts
from firstlight._suggest import did_you_mean
from firstlight._threads import one_blas_thread
from firstlight.flow import _optimizer
from firstlight.flow._lane import Driver, Settings
from firstlight.flow._observe import Observable, TaskFacts, standard
from firstlight.flow._program import Data, Plan, State, initial_state, programs
from firstlight.flow._progress import ProgressOption, Reporter
from firstlight.flow._trajectory import LaneResult, Trajectory
from firstlight.flow.population import population_is_cheaper
from firstlight.models import Model
from firstlight.records._spec import Loss, Optimizer, Recording, Stop
from firstlight.tasks import IndexInputs, Split

Method = Literal["auto", "dense", "gram"]
Lanes = Literal["auto", "threads", "vmap"]


class TrainingInterrupted(KeyboardInterrupt):
    """Ctrl-C during training; `trajectory` holds what was done, and a checkpoint, if asked for, can be resumed."""

    def __init__(self, trajectory: Trajectory) -> None:
        steps = ", ".join(str(lane.step) for lane in trajectory.lanes)
        super().__init__(f"training stopped at step {steps} of {trajectory.steps}; resume=True continues a checkpoint")
        self.trajectory = trajectory


@dataclass(frozen=True)
class Lane:
    """One run among many that share shapes: its seed, initial model, split, learning rate and weight decay."""

    seed: int
    model: Model
    split: Split
    optimizer: Optimizer


def train(
    model: Model | Callable[[jax.Array], Model],
    data: Split | Callable[[int], Split],
    *,
    loss: Loss | None = None,
    optimizer: Optimizer | None = None,
    steps: int = 500,
    seeds: Sequence[int] = (0,),
    **options: Any,
) -> Trajectory:
    """Train one network per seed and return what was observed.

    **Arguments:**

    - `model`: a model, or a function of a PRNG key that makes one (called with `jax.random.key(seed)`).
    - `data`: a split, or a function of the seed that makes one.
    - `loss`, `optimizer`: conventions and rates, see `Loss` and `Optimizer`.
    - `steps`: optimizer steps (epochs when full batch).
    - `options`: passed to `train_lanes`: recording, observables, stop rules, snapshots, method, dtype,
      checkpoint and resume, progress.

    >>> import functools
    >>> from firstlight import flow, models, tasks
    >>> task = tasks.group_task("Z7")
    >>> make = functools.partial(models.TwoLayer.init, inputs=14, width=32, outputs=7)
    >>> run = flow.train(make, lambda s: task.split(fraction=0.8, seed=s), steps=20, seeds=(0, 1))
    >>> run.status, run.frame.shape[0]
    ('finished', 6)
    """
    if not seeds:
        raise ValueError("seeds must name at least one seed, got an empty sequence; use seeds=(0,)")
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds must differ from each other, got {list(seeds)}")
    optimizer = optimizer or Optimizer()
    dtype = options.get("dtype", "float32")
    lanes = []
    with jax.enable_x64(dtype == "float64"):
        for seed in seeds:
            network = model if isinstance(model, Model) else model(jax.random.key(seed))
            lanes.append(Lane(int(seed), network, data if isinstance(data, Split) else data(int(seed)), optimizer))
    return train_lanes(lanes, loss=loss or Loss(), steps=steps, **options)


def train_lanes(
    lanes: Sequence[Lane],
    *,
    loss: Loss,
    steps: int,
    recording: Recording | None = None,
    observables: Sequence[Observable] = (standard,),
    stop: Sequence[Stop] = (),
    snapshots: Sequence[int] = (),
    method: Method = "auto",
    dtype: Literal["float32", "float64"] = "float32",
    batching: Lanes = "auto",
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = 30.0,
    resume: bool = False,
    progress: ProgressOption = "auto",
    on_record: Callable[[int, dict[str, Any]], None] | None = None,
) -> Trajectory:
    """Train runs that share shapes, loss and optimizer but may differ in weights, data and rates.

    **Arguments:**

    - `recording`: at which steps observables are taken; `observables`: functions of a `Context`.
    - `stop`: rules checked at recorded steps; the run that meets one ends there.
    - `snapshots`: recorded steps at which the weights are kept.
    - `method`: `"gram"` takes loss and gradient from K×K Gram matrices (full table, polynomial activation),
      `"dense"` from the samples, `"auto"` whichever is cheaper.
    - `batching`: `"threads"` runs each lane in one compiled program, several at a time (the choice on CPU:
      twice as fast as `vmap` there, and a lane alone is bit for bit the lane among others); `"vmap"` stacks them,
      padded to at least two (the choice on an accelerator).
    - `checkpoint`: a folder for resumable state, written every `checkpoint_seconds` and when interrupted;
      `resume=True` continues from it, bit for bit.
    - `progress`: `"auto"` (a bar on a terminal when it takes over two seconds), `"off"`, or a callback.
    - `on_record`: called with (lane index, row) after each recorded step.
    """
    if steps <= 0:
        raise ValueError(f"steps must be positive, got {steps}")
    if not lanes:
        raise ValueError("train_lanes needs at least one lane, got none")
    _one_of("method", method, ("auto", "dense", "gram"))
    _one_of("dtype", dtype, ("float32", "float64"))
    _one_of("batching", batching, ("auto", "threads", "vmap"))
    if not callable(progress):
        _one_of("progress", progress, ("auto", "off"))
    recording = recording or Recording()
    batched = batching == "vmap" or (batching == "auto" and jax.default_backend() != "cpu")
    settings = Settings(
        steps=steps,
        recording=recording,
        stop=tuple(stop),
        snapshots=frozenset(snapshots),
        checkpoint_seconds=checkpoint_seconds,
        resume=resume,
    )
    if missing := [step for step in sorted(settings.snapshots) if step not in settings.record]:
        raise ValueError(f"snapshots must be recorded steps; {missing[:5]} are not among {settings.record}")
    with jax.enable_x64(dtype == "float64"):
        plan = _plan(lanes, loss, tuple(observables), method, batched)
        groups = [list(range(len(lanes)))] if batched else [[i] for i in range(len(lanes))]
        reporter = Reporter(progress, steps * len(lanes), f"training {plan.task.name}")
        drivers = [
            _driver(plan, lanes, members, settings, dtype, checkpoint, reporter, on_record) for members in groups
        ]
    return _run(drivers, plan, settings, dtype, reporter)


def _one_of(name: str, given: str, allowed: tuple[str, ...]) -> None:
    if given not in allowed:
        hint = did_you_mean(given, allowed)
        raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {given!r}. {hint}".rstrip())


def _plan(
    lanes: Sequence[Lane],
    loss: Loss,
    observables: tuple[Observable, ...],
    method: Method,
    batched: bool,
) -> Plan:
    first = lanes[0]
    task = first.split.task
    shared = [_compiled_part(lane.optimizer) for lane in lanes]
    if len(set(shared)) > 1:
        raise ValueError(f"lanes may differ in learning_rate and weight_decay only, got {sorted(set(shared))}")
    _check_sizes(lanes)
    possible, reason = _population_possible(first, loss)
    if method == "gram" and not possible:
        raise ValueError(f"method='gram' needs {reason}; use method='dense' or 'auto'")
    width = first.model.last.shape[0]
    cheaper = possible and population_is_cheaper(task.outputs, width, len(first.split.train_targets))
    population = method == "gram" or (method == "auto" and cheaper)
    return Plan(
        static=eqx.filter(first.model, eqx.is_inexact_array, inverse=True),
        loss=loss,
        optimizer_json=shared[0],
        observables=observables,
        task=TaskFacts(task.name, task.outputs, task.group),
        population=population,
        batched=batched,
    )


def _compiled_part(optimizer: Optimizer) -> str:
    return optimizer.model_copy(update={"learning_rate": 1.0, "weight_decay": 0.0}).model_dump_json()


def _check_sizes(lanes: Sequence[Lane]) -> None:
    """The models fit their tasks, and all lanes have one structure."""
    structures = [
        jax.tree.map(lambda a: (a.shape, str(a.dtype)), eqx.filter(lane.model, eqx.is_array)) for lane in lanes
    ]
    for lane, structure in zip(lanes, structures, strict=True):
        model, task = lane.model, lane.split.task
        sizes = {
            "inputs": (model.first.shape[0], lane.split.train_inputs.dim),
            "outputs": (model.last.shape[1], task.outputs),
        }
        for what, (has, needs) in sizes.items():
            if has != needs:
                raise ValueError(
                    f"the model has {what} of dimension {has}, the task {task.name} {needs}; "
                    f"build the model with {what}={needs}"
                )
        if structure != structures[0]:
            raise ValueError(f"lanes must share one model structure, got {structures[0]} and {structure}")


def _population_possible(lane: Lane, loss: Loss) -> tuple[bool, str]:
    """Whether loss and gradient have a Gram form, and what is missing if not."""
    task, units = lane.split.task, lane.model.hidden_units
    inputs = task.inputs
    onehot_pairs = isinstance(inputs, IndexInputs) and inputs.table is None and inputs.rows.shape[1] == 2
    checks = {
        "a group task": task.group is not None,
        "concatenated one-hot inputs of two factors": task.group is not None
        and onehot_pairs
        and inputs.dim == 2 * task.group.order,
        "the full table as training set (fraction=1), without label noise": lane.split.is_full and _is_clean(task),
        "a two-layer model without biases": units is not None and units.b is None and units.c is None,
        "a polynomial activation of degree at most 2": units is not None
        and units.activation.polynomial is not None
        and len(units.activation.polynomial) <= 3,
        "the mse loss": loss.kind == "mse",
        "full-batch training": lane.optimizer.batch_size is None,
    }
    missing = [what for what, holds in checks.items() if not holds]
    return not missing, ", ".join(missing)


def _is_clean(task: Any) -> bool:
    """Whether every pair's target is its product."""
    if task.group is None or not isinstance(task.inputs, IndexInputs):
        return False
    M = task.group.order
    rows = np.asarray(task.inputs.rows)
    return len(rows) == M * M and bool(
        np.array_equal(task.group.table[rows[:, 0] % M, rows[:, 1] % M], np.asarray(task.targets))
    )


def _data(lane: Lane, steps: int, dtype: str) -> Data:
    def device(tree: Any) -> Any:
        floating = lambda a: jnp.issubdtype(jnp.asarray(a).dtype, jnp.floating)  # noqa: E731
        return jax.tree.map(lambda a: jnp.asarray(a, dtype) if floating(a) else jnp.asarray(a, jnp.int32), tree)

    split = lane.split
    return Data(
        device(split.train_inputs),
        device(split.train_targets),
        device(split.test_inputs),
        device(split.test_targets),
        _optimizer.rates(lane.optimizer, dtype),
        jax.random.fold_in(jax.random.key(lane.seed), 1),
        jnp.int32(steps),
    )


def _identity(plan: Plan, lanes: Sequence[Lane], members: Sequence[int], settings: Settings, dtype: str) -> dict:
    """What a checkpoint must agree with to be continued; the length may grow unless a schedule depends on it."""
    digest, start = hashlib.sha256(), hashlib.sha256()
    for i in members:
        split = lanes[i].split
        for leaf in jax.tree.leaves(eqx.filter(lanes[i].model, eqx.is_array)):
            start.update(np.ascontiguousarray(leaf).tobytes())
        for leaf in jax.tree.leaves((split.train_inputs, split.train_targets, split.test_inputs, split.test_targets)):
            digest.update(np.ascontiguousarray(leaf).tobytes())
    fixed = plan.optimizer.schedule.shape == "constant" and settings.recording.points is None
    return {
        "task": plan.task.name,
        "data": digest.hexdigest()[:16],
        "model": str(jax.tree.map(lambda a: a.shape, eqx.filter(lanes[members[0]].model, eqx.is_inexact_array))),
        "initial weights": start.hexdigest()[:16],
        "activation": str(getattr(lanes[members[0]].model, "activation", "")),
        "loss": plan.loss.model_dump(mode="json"),
        "optimizer": [lanes[i].optimizer.model_dump(mode="json") for i in members],
        "seeds": [lanes[i].seed for i in members],
        "recording": settings.recording.model_dump(mode="json"),
        "steps": "any" if fixed else settings.steps,
        "gram": plan.population,
        "batched": plan.batched,
        "dtype": dtype,
    }


def _driver(
    plan: Plan,
    lanes: Sequence[Lane],
    members: list[int],
    settings: Settings,
    dtype: str,
    checkpoint: str | Path | None,
    reporter: Reporter,
    on_record: Callable[[int, dict[str, Any]], None] | None,
) -> Driver:
    states, data = [], []
    for i in members:
        params = jax.tree.map(lambda a: jnp.asarray(a, dtype), eqx.filter(lanes[i].model, eqx.is_inexact_array))
        states.append(initial_state(lanes[i].optimizer, params))
        data.append(_data(lanes[i], settings.steps, dtype))
    if plan.batched:
        pad = max(2 - len(members), 0)  # a batch of one would be compiled to other arithmetic
        state: State = jax.tree.map(lambda *a: jnp.stack(a), *states, *states[:1] * pad)
        stacked: Data = jax.tree.map(lambda *a: jnp.stack(a), *data, *data[:1] * pad)
    else:
        state, stacked = states[0], data[0]
    names = "-".join(str(lanes[i].seed) for i in members[:4]) + ("-etc" if len(members) > 4 else "")
    path = None if checkpoint is None else Path(checkpoint) / f"lane-{members[0]}-seed-{names}.safetensors"
    return Driver(
        plan=plan,
        settings=settings,
        members=tuple(members),
        seeds=tuple(lanes[i].seed for i in members),
        state=state,
        data=stacked,
        path=path,
        identity=_identity(plan, lanes, members, settings, dtype) if path else {},
        reporter=reporter,
        on_record=on_record,
    )


def _settled(futures: Sequence[Future]) -> bool:
    """Whether all are done, or one has failed and the rest need not go on."""
    return all(f.done() for f in futures) or any(f.done() and f.exception() is not None for f in futures)


def _run(drivers: list[Driver], plan: Plan, settings: Settings, dtype: str, reporter: Reporter) -> Trajectory:
    """Drive all groups of lanes, as many at a time as there are cores; turn an interruption into a resumable end."""
    start, halt = time.perf_counter(), Event()
    program = programs(plan)

    def drive(driver: Driver) -> tuple[list[LaneResult], float]:
        with jax.enable_x64(dtype == "float64"):  # the setting belongs to a thread
            return driver.run(program, halt)

    interrupted, futures = False, []
    with one_blas_thread(), ThreadPoolExecutor(min(len(drivers), os.cpu_count() or 1)) as pool:
        try:
            futures.extend(pool.submit(drive, driver) for driver in drivers)
            # A signal may reach another thread; waking now and then lets this one notice it.
            while not _settled(futures):
                interrupts.check()
                wait(futures, timeout=0.1, return_when="FIRST_EXCEPTION")
        except KeyboardInterrupt:
            interrupted = True
        finally:
            halt.set()
            wait(futures)
            reporter.close()
    if len(futures) < len(drivers):
        raise KeyboardInterrupt("training stopped before it began")
    results = [future.result() for future in futures]
    lanes = tuple(lane for group, _ in results for lane in group)
    compile_seconds = sum(seconds for _, seconds in results)
    trajectory = Trajectory(lanes, settings.steps, time.perf_counter() - start, compile_seconds)
    if interrupted:
        raise TrainingInterrupted(trajectory)
    return trajectory
