"""Limits that are checked before training: runs must fit into memory, on the disk and within fixed bounds."""

import os

from firstlight.records import DeepModel, GroupTask, ParityTask, RunSpec, SpecError
from firstlight.records._room import available_memory, free_disk
from firstlight.runs._estimate import Estimate, estimate

MOST_ROWS = 1_000_000
"""Recorded rows of a run; each is held in memory and takes about a millisecond to record."""

MOST_LAYERS = 1_000
"""Layers of a network; each takes a fraction of a second to compile."""

MOST_SECONDS = 365 * 86400
"""Estimated time of a run. Less is announced, not refused."""

_STEPS = 2**31 - 1  # the compiled program counts steps in 32 bits
_ADDRESSES = 2**47  # bytes a processor can address; XLA aborts the process where a product of sizes overflows

_TRY = "--allow-large (allow_large=True) tries anyway"


def check_sizes(
    spec: RunSpec,
    data: str | os.PathLike[str] | None = None,
    *,
    allow_large: bool = False,
    store: str | os.PathLike[str] | None = None,
) -> Estimate:
    """Return the estimate of a run that fits; else a `SpecError` gives the numbers and the fields to change.

    Numbers that the program or the processor cannot count are refused even with `allow_large`.

    >>> check_sizes(RunSpec(steps=10**12), allow_large=True)
    Traceback (most recent call last):
    firstlight.records._explain.SpecError: steps: must be at most 2,147,483,647, since steps are counted in 32 bits;
      got 1,000,000,000,000
    """
    counted = {"steps": spec.steps, "optimizer.schedule.warmup": spec.optimizer.schedule.warmup}
    problems = [
        f"{field}: must be at most {_STEPS:,}, since steps are counted in 32 bits; got {value:,}"
        for field, value in counted.items()
        if value > _STEPS
    ]
    expected = estimate(spec, data)
    if expected.bytes > _ADDRESSES:
        needed = _memory_needed(spec, expected)
        problems.append(f"{needed}, more than a processor can address. {_smaller(spec, expected)}")
    if not problems and not allow_large:
        problems = too_large(spec, expected, available_memory(), None if store is None else free_disk(store))
    if problems:
        raise SpecError(problems)
    return expected


def too_large(spec: RunSpec, expected: Estimate, memory: int | None, disk: int | None) -> list[str]:
    """Return the reasons why a run does not fit into the given memory and disk; None means unknown and fits."""
    problems = []
    if memory is not None and expected.bytes > memory:
        problems.append(
            f"{_memory_needed(spec, expected)}; {size(memory)} are available. {_smaller(spec, expected)}; {_TRY}"
        )
    if expected.rows > MOST_ROWS:
        problems.append(
            f"recording: the run records {expected.rows:,} rows, and at most {MOST_ROWS:,} are allowed; "
            f"{'lower recording.points' if spec.recording.points else 'raise recording.every, set recording.points'} "
            f"or lower steps; {_TRY}"
        )
    if isinstance(spec.model, DeepModel) and len(spec.model.widths) > MOST_LAYERS:
        problems.append(f"model.widths: {len(spec.model.widths):,} layers, and at most {MOST_LAYERS:,} allowed; {_TRY}")
    if disk is not None and (needed := expected.disk + expected.checkpoint) > disk:
        fields = [*(["snapshots"] if spec.snapshots else []), _width(spec)]
        problems.append(
            f"{fields[0]}: the run writes about {size(needed)}; {size(disk)} are free where the store is. "
            f"Use a smaller {' or '.join(fields)}, or choose another disk with --store; {_TRY}"
        )
    if expected.seconds > MOST_SECONDS:
        problems.append(
            f"steps: the run takes about {expected.seconds / 86400 / 365:,.0f} years; "
            f"lower steps or {_width(spec)}; {_TRY}"
        )
    return problems


def size(count: float) -> str:
    """Return a number of bytes in a readable unit.

    >>> size(500), size(3.21e12), size(2.5e9)
    ('500 B', '3.2 TB', '2.5 GB')
    """
    units = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
    place = 0
    while count >= 999.5 and place + 1 < len(units):
        count, place = count / 1000, place + 1
    if count >= 999.5:
        return f"{count:.1e} {units[place]}"
    return f"{count:.0f} {units[place]}" if place == 0 or count >= 9.95 else f"{count:.1f} {units[place]}"


def _memory_needed(spec: RunSpec, expected: Estimate) -> str:
    parts = sorted(expected.memory.items(), key=lambda part: -part[1])
    shown = [part for part in parts[:3] if part[1] > 0.01 * parts[0][1]]
    largest = ", ".join(f"{name} {size(bytes_)}" for name, bytes_ in shown)
    return f"{_fields(spec)[parts[0][0]][0]}: the run needs about {size(expected.bytes)} of memory ({largest})"


def _smaller(spec: RunSpec, expected: Estimate) -> str:
    """Return the fields that make the largest parts smaller."""
    parts = sorted(expected.memory.items(), key=lambda part: -part[1])
    large = [name for name, bytes_ in parts if bytes_ > 0.2 * parts[0][1]]
    fields = list(dict.fromkeys(field for name in large for field in _fields(spec)[name]))[:3]
    return f"Use a smaller {' or '.join(fields)}"


def _fields(spec: RunSpec) -> dict[str, tuple[str, ...]]:
    task = {"group": "task.group", "parity": "task.samples"}.get(spec.task.kind, "task.path")
    if isinstance(spec.task, GroupTask) and spec.task.table is not None:
        task = "task.table"
    data = ("task.dimension",) if isinstance(spec.task, ParityTask) else ()
    factors = ("task.factors",) if spec.task.kind == "group" and spec.task.factors > 2 else ()
    width = _width(spec)
    return {
        "data": (task, *factors, *data),
        "weights": (width,),
        "outputs": (task, *factors),
        "hidden units": (width, task),
        "recorded rows": ("recording.points",) if spec.recording.points else ("steps",),
        "snapshots": ("snapshots", width),
        "lenses": ("lenses", width),
    }


def _width(spec: RunSpec) -> str:
    return "model.widths" if isinstance(spec.model, DeepModel) else "model.width"
