"""Find phase boundaries with few training steps."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from firstlight.records import RunRecord, RunSpec, Stop, Store
from firstlight.runs import writing
from firstlight.sweeps._boundary._plan import GENERALISED, Axis, Bounds, Guess, make_plan
from firstlight.sweeps._boundary._result import BoundaryResult
from firstlight.sweeps._boundary._rounds import Executor, Rounds, in_process, run_rounds
from firstlight.sweeps._progress import ProgressOption, SweepReporter
from firstlight.sweeps._sweep import SweepInterrupted

Path = str | os.PathLike[str]


def boundary(
    base: RunSpec | Mapping[str, Any],
    field: str,
    bounds: Bounds,
    *,
    seeds: int | Sequence[int] = 5,
    groups: Sequence[str] = (),
    points: Sequence[Mapping[str, Any]] = (),
    precision: float = 0.02,
    axis: Axis = "linear",
    rising: bool = True,
    start: Guess = None,
    success: Stop = GENERALISED,
    stall: Stop | Literal["auto"] | None = "auto",
    store: Store | Path | None = None,
    run: bool = True,
    executor: Executor | None = None,
    progress: ProgressOption = "auto",
    data: Path | None = None,
    allow_large: bool = False,
) -> BoundaryResult:
    """Find the value of a field at which half of the seeds succeed.

    Each seed is searched by bisection among values that are `precision` apart. A run ends as soon as it succeeds or
    has stalled. The first seed of a point searches the whole range. The other seeds start at its boundary. Seeds
    that test the same value share a compiled program.

    With a store, an interrupted search continues when it is called again. Ctrl-C raises `SweepInterrupted`.

    **Arguments:**

    - `base`: the run to vary, a `RunSpec` or a mapping. Its seed is ignored, its stop rules are kept.
    - `field`: a numeric field by its dotted name, such as `task.split.fraction` or `optimizer.weight_decay`.
    - `bounds`: the two ends (low, high) of the search, or a function that returns them for the spec of a point.
    - `seeds`: a list of seeds, or a number n for the seeds 0 … n − 1.
    - `groups`: names of groups, each a point of its own; short for points that set `task.group`.
    - `points`: variants of the base, each a mapping of dotted fields; combined with every group.
    - `precision`: the largest width of a bracket; on a log axis relative to its lower end.

    **Other arguments:**

    - `axis`: `"linear"` or `"log"`, the spacing of the values.
    - `rising`: whether large values succeed; False for a field such as a weight decay that must not be too large.
    - `start`: a guess of the boundary, or a function that returns one for the spec of a point.
    - `success`: the success rule, a level that an observable reaches; by default a test accuracy of 0.99.
    - `stall`: the rule that ends a run without success; `"auto"` for `default_stall`, None to train to the end.
    - `store`: an open store, the path of a store, or None to store nothing. Weights are not stored.
    - `run`: False only reads the store, also while another process is searching.
    - `executor`: function that runs specs and yields their records, such as `PoolExecutor` (local processes or Dask) or
      `SlurmExecutor`; by default they run in this process.
    - `progress`: `"auto"` (a bar on a terminal), `"off"`, or a callback that receives a `SweepProgress`. The number of
      runs is an estimate that changes during the search.
    - `data`: the folder of the arrays that specs name.
    - `allow_large`: run points that do not fit into memory.

    >>> base = {"model": {"width": 32}, "optimizer": {"learning_rate": 0.02, "weight_decay": 1e-3}, "steps": 200}
    >>> result = boundary(base, "task.split.fraction", (0.2, 0.9), groups=["Z5"], seeds=2, precision=0.1)
    >>> list(result.boundaries.columns[:5])
    ['task.group', 'p50', 'error', 'low', 'high']
    """
    plan = make_plan(
        base,
        field,
        bounds,
        seeds=seeds,
        groups=groups,
        points=points,
        precision=precision,
        axis=axis,
        rising=rising,
        start=start,
        success=success,
        stall=stall,
        data=data,
        allow_large=allow_large,
    )
    rounds = Rounds(plan)
    with contextlib.ExitStack() as stack:
        opened = opened_store(stack, store, run)
        if not run:
            executor = None
        elif executor is None:
            executor = in_process(opened, data, allow_large)
        reporter = SweepReporter(progress if run else "off", rounds.left, 0)

        def report(record: RunRecord, is_new: bool) -> None:
            reporter.expect(len(rounds.records) + rounds.left)
            if is_new:
                reporter.add(record)
            else:
                reporter.skip()

        try:
            run_rounds(rounds, executor, opened, report)
        except KeyboardInterrupt:
            raise SweepInterrupted(reporter.done, reporter.done + rounds.left, opened is not None) from None
        finally:
            reporter.close()
    return BoundaryResult(plan, dict(rounds.searches), dict(rounds.records))


def opened_store(stack: contextlib.ExitStack, store: Store | Path | None, run: bool) -> Store | None:
    """Return the open store: for writing if runs are to be trained, else for reading."""
    if store is None:
        if not run:
            raise ValueError("run=False reads the store, but store is None; give the store of the search")
        return None
    if isinstance(store, Store):
        return store
    return stack.enter_context(writing(store) if run else Store(store))
