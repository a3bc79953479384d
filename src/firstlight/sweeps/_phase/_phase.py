"""Find a phase diagram of two fields with few runs."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from firstlight import runs
from firstlight.records import RunRecord, RunSpec, Stop, Store, pin_arrays, run_id, spec_from_mapping
from firstlight.records._specfile import replace_fields
from firstlight.runs import OVER, RunOutcome, keep
from firstlight.sweeps._boundary._boundary import opened_store
from firstlight.sweeps._boundary._plan import GENERALISED, Axis, lattice, list_seeds, with_rules
from firstlight.sweeps._boundary._rounds import BoundaryError, Executor, in_process, met
from firstlight.sweeps._phase._cells import Place, Refinement
from firstlight.sweeps._phase._result import PhaseDiagram
from firstlight.sweeps._progress import ProgressOption, SweepReporter
from firstlight.sweeps._sweep import SweepInterrupted

Path = str | os.PathLike[str]


def phase_diagram(
    base: RunSpec | Mapping[str, Any],
    fields: tuple[str, str],
    bounds: tuple[tuple[float, float], tuple[float, float]],
    *,
    precision: tuple[float, float],
    axes: tuple[Axis, Axis] = ("linear", "linear"),
    seeds: int | Sequence[int] = 3,
    coarse: int = 4,
    success: Stop = GENERALISED,
    stall: Stop | Literal["auto"] | None = "auto",
    store: Store | Path | None = None,
    executor: Executor | None = None,
    progress: ProgressOption = "auto",
    data: Path | None = None,
    allow_large: bool = False,
) -> PhaseDiagram:
    """Find where half of the seeds succeed, in the plane of two fields.

    A coarse grid is tested first. A cell with both outcomes at its corners is uncertain and is split; a cell with one
    outcome is not tested further. The search stops when the border between success and failure runs between
    neighbouring values, which are `precision` apart. A region smaller than a coarse cell can be missed.

    With a store, an interrupted search continues when it is called again. Ctrl-C raises `SweepInterrupted`.

    **Arguments:**

    - `base`: the run to vary, a `RunSpec` or a mapping.
    - `fields`: two numeric fields by their dotted names, horizontal first.
    - `bounds`: the two ends (low, high) of each field.
    - `precision`: the largest distance of two values of each field; on a log axis relative.
    - `axes`: `"linear"` or `"log"` for each field.
    - `seeds`: a list of seeds, or a number n for the seeds 0 … n − 1. All are run at every tested point.
    - `coarse`: number of cells along each field at the start.

    **Other arguments:**

    - `success`, `stall`: the rules that decide and end a run, see `boundary`.
    - `store`: an open store, the path of a store, or None to store nothing. Weights are not stored.
    - `executor`: function that runs specs and yields their records, such as `PoolExecutor` or `SlurmExecutor`; by
      default they run in this process.
    - `progress`: `"auto"` (a bar on a terminal), `"off"`, or a callback that receives a `SweepProgress`.
    - `data`: the folder of the arrays that specs name.
    - `allow_large`: run points that do not fit into memory.

    >>> base = {"task": {"group": "Z5"}, "model": {"width": 16}, "steps": 20}
    >>> fields = ("task.split.fraction", "optimizer.learning_rate")
    >>> bounds, precision = ((0.4, 0.8), (0.001, 0.1)), (0.2, 9.0)
    >>> diagram = phase_diagram(base, fields, bounds, precision=precision, axes=("linear", "log"), seeds=1)
    >>> list(diagram.shares.columns)
    ['task.split.fraction', 'optimizer.learning_rate', 'seeds', 'share', 'low', 'high']
    """
    spec = with_rules(base if isinstance(base, RunSpec) else spec_from_mapping(base), success, stall)
    spec = pin_arrays(spec, data)
    if len(set(fields)) != 2:
        raise ValueError(f"a phase diagram needs two different fields, got {fields[0]!r} and {fields[1]!r}")
    ends = zip(fields, bounds, precision, axes, strict=True)
    values = tuple(lattice(spec, field, *limits, width, axis) for field, limits, width, axis in ends)
    for place in ((0, 0), (-1, -1)):
        corner = {field: values[k][place[k]] for k, field in enumerate(fields)}
        runs.resolve(replace_fields(spec, corner), data, allow_large=allow_large)
    listed = list_seeds(seeds)
    refinement = Refinement(len(values[0]), len(values[1]), coarse)

    def point(place: Place, seed: int) -> RunSpec:
        chosen = {field: values[k][place[k]] for k, field in enumerate(fields)}
        return replace_fields(spec, chosen | {"seed": seed})

    records: dict[tuple[Place, int], RunRecord] = {}
    with contextlib.ExitStack() as stack:
        opened = opened_store(stack, store, run=True)
        executor = executor or in_process(opened, data, allow_large)
        reporter = SweepReporter(progress, len(refinement.wanted) * len(listed), 0)
        try:
            while wanted := refinement.wanted:
                reporter.expect(len(records) + len(wanted) * len(listed))
                specs = {(place, seed): point(place, seed) for place in wanted for seed in listed}
                records |= _round(specs, executor, opened, reporter)
                shares = {p: sum(met(success, records[p, s]) for s in listed) / len(listed) for p in wanted}
                refinement.record({place: share >= 0.5 for place, share in shares.items()})
        except KeyboardInterrupt:
            raise SweepInterrupted(reporter.done, reporter.done, opened is not None) from None
        finally:
            reporter.close()
    return PhaseDiagram(fields, axes, values, listed, success, records, tuple(refinement.border))


def _round(
    specs: Mapping[tuple[Place, int], RunSpec], executor: Executor, store: Store | None, reporter: SweepReporter
) -> dict[tuple[Place, int], RunRecord]:
    """Return the records of a round: from the store, or run now."""
    records: dict[tuple[Place, int], RunRecord] = {}
    keys = {run_id(spec): key for key, spec in specs.items()}
    left = dict(keys)
    for id, key in keys.items():
        if store is not None and store.run_status(id) in OVER:
            records[key] = store.get_run(id)
            del left[id]
            reporter.skip()
    for record in executor([specs[key] for key in left.values()]) if left else ():
        if record.status not in OVER:
            raise BoundaryError(
                f"the run of seed {record.spec.seed} {record.status}: {record.message}. "
                "A phase diagram needs the outcome of every run; mend the cause and run it again"
            )
        if store is not None and store.run_status(record.id) not in OVER:
            keep(store, RunOutcome(record))
        records[left.pop(record.id)] = record
        reporter.add(record)
    if left:
        raise BoundaryError(f"the executor returned no record for {len(left)} of {len(keys)} runs")
    return records
