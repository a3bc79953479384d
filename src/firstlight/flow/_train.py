"""Training of one or many networks: observed, stoppable, resumable, and the same bits every time."""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event
from typing import Any, Literal

import jax

from firstlight import _interrupts as interrupts
from firstlight._suggest import did_you_mean
from firstlight._threads import one_blas_thread
from firstlight.flow._driver import Driver, Settings
from firstlight.flow._lanes import Lane, Method, make_driver, make_plan
from firstlight.flow._observe import Observable, standard
from firstlight.flow._program import Plan, programs
from firstlight.flow._progress import ProgressOption, Reporter
from firstlight.flow._trajectory import LaneResult, Trajectory
from firstlight.models import Model
from firstlight.records import Loss, Optimizer, Recording, Stop
from firstlight.tasks import Split

Precision = Literal["float32", "float64"]
Batching = Literal["auto", "threads", "vmap"]
RowCallback = Callable[[int, dict[str, Any]], None]


class TrainingInterrupted(KeyboardInterrupt):
    """Training was stopped by Ctrl-C; `trajectory` holds the rows so far, and a checkpoint can be resumed."""

    def __init__(self, trajectory: Trajectory) -> None:
        steps = ", ".join(str(lane.step) for lane in trajectory.lanes)
        super().__init__(f"training stopped at step {steps} of {trajectory.steps}; resume=True continues a checkpoint")
        self.trajectory = trajectory


def train(
    model: Model | Callable[[jax.Array], Model],
    data: Split | Callable[[int], Split],
    *,
    loss: Loss | None = None,
    optimizer: Optimizer | None = None,
    steps: int = 500,
    seeds: Sequence[int] = (0,),
    recording: Recording | None = None,
    observables: Sequence[Observable] = (standard,),
    stop: Sequence[Stop] = (),
    snapshots: Sequence[int] = (),
    method: Method = "auto",
    dtype: Precision = "float32",
    batching: Batching = "auto",
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = 30.0,
    resume: bool = False,
    progress: ProgressOption = "auto",
    on_record: RowCallback | None = None,
) -> Trajectory:
    """Train one network per seed and return what was observed.

    **Arguments:**

    - `model`: a model, or a function that makes one from a random key (called with `jax.random.key(seed)`).
    - `data`: a split, or a function that makes one from the seed.
    - `loss`: projection, reduction and factor of the loss.
    - `optimizer`: its name, rates and weight decay.
    - `steps`: number of optimizer steps (epochs when full batch).
    - `seeds`: one run for each.

    **Other arguments:**

    - `recording`: the steps at which observables are taken.
    - `observables`: functions of a `Context` that return the columns of a row.
    - `stop`: rules checked at recorded steps; a run that meets one of them ends there.
    - `snapshots`: recorded steps at which the weights are stored.
    - `method`: `"gram"` takes loss and gradient from K×K Gram matrices (full table, polynomial activation),
      `"dense"` from the samples, `"auto"` whichever is cheaper.
    - `dtype`: precision of weights and data.
    - `batching`: how several runs share the machine. `"threads"` compiles the program of one run and starts
      several at a time: on a CPU it is twice as fast as `"vmap"`, and each run has the same bits as alone.
      `"vmap"` stacks the runs, at least two. `"auto"` is `"threads"` on a CPU and `"vmap"` on an accelerator.
    - `checkpoint`: a folder for resumable state.
    - `checkpoint_seconds`: time between two checkpoints; an interruption also writes one.
    - `resume`: continue from the checkpoint, bit for bit.
    - `progress`: `"auto"` (a bar on a terminal if training takes over two seconds), `"off"`, or a callback.
    - `on_record`: called with (run index, row) after each recorded step.

    >>> import functools
    >>> from firstlight import flow, models, tasks
    >>> task = tasks.group_task("Z7")
    >>> make = functools.partial(models.TwoLayer.for_task, task, width=32)
    >>> run = flow.train(make, lambda s: task.split(fraction=0.8, seed=s), steps=20, seeds=(0, 1))
    >>> run.status, run.frame.shape[0]
    ('finished', 6)
    """
    if not seeds:
        raise ValueError("seeds must name at least one seed, got an empty sequence; use seeds=(0,)")
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds must differ from each other, got {list(seeds)}")
    optimizer = optimizer or Optimizer()
    lanes = []
    with jax.enable_x64(dtype == "float64"):
        for seed in seeds:
            network = model if isinstance(model, Model) else model(jax.random.key(seed))
            lanes.append(Lane(int(seed), network, data if isinstance(data, Split) else data(int(seed)), optimizer))
    return train_lanes(
        lanes,
        loss=loss or Loss(),
        steps=steps,
        recording=recording,
        observables=observables,
        stop=stop,
        snapshots=snapshots,
        method=method,
        dtype=dtype,
        batching=batching,
        checkpoint=checkpoint,
        checkpoint_seconds=checkpoint_seconds,
        resume=resume,
        progress=progress,
        on_record=on_record,
    )


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
    dtype: Precision = "float32",
    batching: Batching = "auto",
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = 30.0,
    resume: bool = False,
    progress: ProgressOption = "auto",
    on_record: RowCallback | None = None,
) -> Trajectory:
    """Train runs that share shapes, loss and optimizer but may differ in weights, data and rates.

    **Arguments:**

    - `lanes`: the runs.
    - `loss`: projection, reduction and factor of the loss, the same for all.
    - `steps`: number of optimizer steps.

    The other arguments are those of `train`.
    """
    _check_options(steps, lanes, method, dtype, batching, progress)
    settings = Settings(
        steps=steps,
        recording=recording or Recording(),
        stop=tuple(stop),
        snapshots=frozenset(snapshots),
        checkpoint_seconds=checkpoint_seconds,
        resume=resume,
        clock=lanes[0].optimizer.clock,
    )
    if missing := [step for step in sorted(settings.snapshots) if step not in settings.record]:
        raise ValueError(f"snapshots must be recorded steps; {missing[:5]} are not among {settings.record}")
    batched = batching == "vmap" or (batching == "auto" and jax.default_backend() != "cpu")
    with jax.enable_x64(dtype == "float64"):
        plan = make_plan(lanes, loss, tuple(observables), method, batched)
        groups = [list(range(len(lanes)))] if batched else [[i] for i in range(len(lanes))]
        reporter = Reporter(progress, steps * len(lanes), f"training {plan.task.name}")
        drivers = [
            make_driver(plan, lanes, members, settings, dtype, checkpoint, reporter, on_record) for members in groups
        ]
    return _run(drivers, plan, settings, dtype, reporter)


def _check_options(
    steps: int, lanes: Sequence[Lane], method: Method, dtype: Precision, batching: Batching, progress: ProgressOption
) -> None:
    if steps <= 0:
        raise ValueError(f"steps must be positive, got {steps}")
    if not lanes:
        raise ValueError("train_lanes needs at least one lane, got none")
    _check_choice("method", method, ("auto", "dense", "gram"))
    _check_choice("dtype", dtype, ("float32", "float64"))
    _check_choice("batching", batching, ("auto", "threads", "vmap"))
    if not callable(progress):
        _check_choice("progress", progress, ("auto", "off"))


def _check_choice(name: str, given: str, allowed: tuple[str, ...]) -> None:
    if given not in allowed:
        hint = did_you_mean(given, allowed)
        raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {given!r}. {hint}".rstrip())


def _settled(futures: Sequence[Future]) -> bool:
    """Return whether all have ended, or one has failed."""
    return all(f.done() for f in futures) or any(f.done() and f.exception() is not None for f in futures)


def _run(drivers: list[Driver], plan: Plan, settings: Settings, dtype: str, reporter: Reporter) -> Trajectory:
    """Run all drivers, as many at a time as there are cores; turn an interruption into a resumable end."""
    start, halt = time.perf_counter(), Event()
    program = programs(plan)

    def drive(driver: Driver) -> tuple[list[LaneResult], float]:
        with jax.enable_x64(dtype == "float64"):  # JAX holds this setting per thread
            return driver.run(program, halt)

    interrupted, futures = False, []
    with one_blas_thread(), ThreadPoolExecutor(min(len(drivers), os.cpu_count() or 1)) as pool:
        try:
            futures.extend(pool.submit(drive, driver) for driver in drivers)
            # A signal may reach another thread; waking every 0.1 s lets this thread notice it.
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
