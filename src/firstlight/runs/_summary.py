"""What a run came to: when it memorised, when it generalised, in numbers and in words."""

from collections.abc import Mapping
from typing import Any

from firstlight.flow import Lens
from firstlight.records import FigureData, GroupTask, RunRecord, figure
from firstlight.records._learned import LEARNED, first_row
from firstlight.runs._lenses import lenses

_MARKS = (("memorised", "train"), ("generalised", "test"))


def first_step(record: RunRecord, column: str, at_least: float = LEARNED) -> int | None:
    """The first recorded step at which a column reaches a level, or None.

    >>> from firstlight.records import RunSpec, Table
    >>> table = Table([0, 10, 20], {"train_accuracy": [0.2, 0.99, 1.0]})
    >>> first_step(RunRecord(spec=RunSpec(), status="finished", table=table), "train_accuracy")
    10
    """
    row = first_row(record.table, column, at_least)
    return None if row is None else int(record.table.step[row])


def summarise(record: RunRecord) -> dict[str, Any]:
    """When it memorised and generalised, the last values, one sentence, and what each lens of its spec says.

    >>> from firstlight.records import RunSpec, Table
    >>> table = Table([0, 10], {"train_accuracy": [0.1, 1.0], "test_accuracy": [0.1, 0.3]})
    >>> summarise(RunRecord(spec=RunSpec(), status="finished", steps=10, table=table))["story"]
    'Z71: memorised at step 10 but did not generalise (test accuracy 0.300 after 10 steps).'
    """
    table = record.table
    values: dict[str, Any] = {
        "memorised_at": first_step(record, "train_accuracy"),
        "generalised_at": first_step(record, "test_accuracy"),
        "final": {name: float(column[-1]) for name, column in table.scalars().items() if len(column)},
    }
    values["story"] = _story(record, values)
    for lens in _chosen(record):
        values[lens.name] = _through(lens, record)
    return values


def _chosen(record: RunRecord) -> list[Lens]:
    """The lenses of a record's spec that this version knows."""
    known = lenses() if record.spec.lenses else {}
    return [known[name] for name in record.spec.lenses if name in known]


def _through(lens: Lens, record: RunRecord) -> Mapping[str, Any]:
    # The numbers of a long run must survive a mistake in what is said about them.
    try:
        return dict(lens.summarise(record))
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def _story(record: RunRecord, values: Mapping[str, Any]) -> str:
    return f"{_subject(record)}: {_happened(record, values)}."


def _subject(record: RunRecord) -> str:
    task = record.spec.task
    return task.group if isinstance(task, GroupTask) else task.kind


def _happened(record: RunRecord, values: Mapping[str, Any]) -> str:
    ended = record.message.splitlines()[0].rstrip(".") if record.message else ""
    if record.status == "failed":
        return f"failed after {_steps(record.steps)}: {ended}"
    told = _learned(record, values)
    if record.status == "diverged":
        return f"diverged at step {record.steps} ({ended}); until then it {told}"
    if record.status == "interrupted":
        return f"interrupted at step {record.steps} of {record.spec.steps}; until then it {told}"
    return told


def _steps(count: int) -> str:
    return f"{count} step{'s' * (count != 1)}"


def _learned(record: RunRecord, values: Mapping[str, Any]) -> str:
    # The values are those of the last row, which an end between two recorded steps leaves behind.
    seen = int(record.table.step[-1]) if len(record.table) else record.steps
    final, after = values["final"], f"after {_steps(seen)}"
    if "train_accuracy" not in final:
        losses = {half: final.get(f"{half}_loss") for half in ("train", "test")}
        shown = [f"{half} loss {loss:.3g}" for half, loss in losses.items() if loss is not None]
        return f"reached {' and '.join(shown)} {after}" if shown else f"recorded nothing {after}"
    memorised, generalised = values["memorised_at"], values["generalised_at"]
    train = f"memorised at step {memorised}"
    if memorised is None:
        train = f"did not memorise (train accuracy {final['train_accuracy']:.3f} {after})"
    if "test_accuracy" not in final:
        return f"{train}; there are no test rows"
    test = f"test accuracy {final['test_accuracy']:.3f} {after}"
    if generalised is not None:
        wait = generalised - (generalised if memorised is None else memorised)
        later = f", {_steps(wait)} later" if wait > 0 else ""
        return f"{train}, generalised at step {generalised}{later} ({test})"
    return f"{train} {'but' if memorised is not None else 'and'} did not generalise ({test})"


def learning_curves(record: RunRecord) -> tuple[FigureData, ...]:
    """Accuracy (if targets are classes) and loss over the run; the steps at which it learned are marked."""
    table, spec = record.table, record.spec
    marks = {word: first_step(record, f"{half}_accuracy") for word, half in _MARKS}
    shown = []
    for y in (figure.Axis("accuracy"), figure.Axis("loss", scale="log")):
        halves = [half for half in ("train", "test") if f"{half}_{y.label}" in table]
        if halves:
            shown.append(
                figure.curves(
                    [figure.Series(half, table.step, table[f"{half}_{y.label}"]) for half in halves],
                    x=figure.time_axis(spec),
                    y=y,
                    title=f"{y.label.capitalize()}, {_subject(record)}",
                    vertical={word: step for word, step in marks.items() if step is not None},
                )
            )
    return tuple(shown)


def figure_data(record: RunRecord) -> tuple[FigureData, ...]:
    """What there is to see of a run: its learning curves, then the figures of each lens of its spec."""
    return learning_curves(record) + tuple(shown for lens in _chosen(record) for shown in lens.figure_data(record))
