"""Learning curves as figures: of one run, or of several in one picture."""

from collections.abc import Sequence

from firstlight.records import FigureData, RunRecord, figure, task_title
from firstlight.runs._summary import first_step

_MARKS = (("memorised", "train"), ("generalised", "test"))


def learning_curves(record: RunRecord) -> tuple[FigureData, ...]:
    """Return accuracy (if targets are classes) and loss over the run, with the steps at which it learned marked."""
    table, spec = record.table, record.spec
    marks = {word: first_step(record, f"{half}_accuracy") for word, half in _MARKS}
    curves = []
    for y in (figure.Axis("accuracy"), figure.Axis("loss", scale="log")):
        halves = [half for half in ("train", "test") if f"{half}_{y.label}" in table]
        if halves:
            curves.append(
                figure.curves(
                    [figure.Series(half, table.step, table[f"{half}_{y.label}"]) for half in halves],
                    x=figure.time_axis(spec),
                    y=y,
                    title=f"{y.label.capitalize()}, {task_title(spec.task)}",
                    vertical={word: step for word, step in marks.items() if step is not None},
                )
            )
    return tuple(curves)


def overlaid_curves(records: Sequence[RunRecord], names: Sequence[str]) -> tuple[FigureData, ...]:
    """Return accuracy and loss of several runs; training is dashed, held-out solid, a colour per run.

    **Arguments:**

    - `records`: the runs; a quantity is drawn for the runs that recorded it.
    - `names`: a label for each run; equal ones get a number.

    >>> from firstlight.records import RunSpec, Table
    >>> table = Table([0, 10], {"train_accuracy": [0.1, 1.0], "test_accuracy": [0.1, 0.2]})
    >>> runs = [RunRecord(spec=RunSpec(seed=seed), status="finished", table=table) for seed in (0, 1)]
    >>> [shown.title for shown in overlaid_curves(runs, ["seed 0", "seed 1"])]
    ['Accuracy']
    """
    labels = [name if list(names).count(name) == 1 else f"{name} ({i + 1})" for i, name in enumerate(names)]
    clocks = {record.spec.clock for record in records}
    x = figure.time_axis(records[0].spec) if len(clocks) == 1 else figure.Axis("optimizer steps")
    curves = []
    for y in (figure.Axis("accuracy"), figure.Axis("loss", scale="log")):
        series = []
        for record, label in zip(records, labels, strict=True):
            table = record.table
            if f"test_{y.label}" in table:
                series.append(figure.Series(label, table.step, table[f"test_{y.label}"]))
            if f"train_{y.label}" in table:
                like = label if f"test_{y.label}" in table else ""
                values = table[f"train_{y.label}"]
                series.append(figure.Series(f"{label}, train", table.step, values, style="dashed", like=like))
        if series:
            curves.append(figure.curves(series, x=x, y=y, title=y.label.capitalize()))
    return tuple(curves)
