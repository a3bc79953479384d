"""The view of a staircase: the jumps that AGF predicts beside those of gradient flow."""

from dataclasses import dataclass

from firstlight.plots import short_number
from firstlight.records import FigureData, FitRecord
from firstlight.report._format import machine_text, text_of


@dataclass(frozen=True)
class JumpRow:
    """One jump as shown: its predicted and measured time, and the level after it."""

    number: int
    predicted_time: str
    measured_time: str
    time_error: str
    predicted_level: str
    measured_level: str
    level_error: str


@dataclass(frozen=True)
class StaircaseView:
    """A staircase as shown; `facts` are (name, value) of its setting."""

    id: str
    title: str
    story: str
    rows: tuple[JumpRow, ...]
    facts: tuple[tuple[str, str], ...] = ()
    figures: tuple[FigureData, ...] = ()
    created: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    machine: str = ""
    anchor: str = ""


def staircase_view(record: FitRecord) -> StaircaseView:
    """Return the view of a record whose estimator is `STAIRCASE`.

    >>> scores = {"predicted_time": [1.0], "measured_time": [1.1], "predicted_level": [0.5], "measured_level": [0.5],
    ...           "time_error": [-0.0909], "level_error": [0.0]}
    >>> record = FitRecord(estimator="AGF staircase", params={"title": "diagonal"}, data="0" * 64, scores=scores)
    >>> staircase_view(record).rows[0].time_error
    '−9.1 %'
    """
    columns = (record.scores.get(name, []) for name in _COLUMNS)
    small = _NOTHING * _number(record.scores.get("first_level", 0.0))
    rows = tuple(
        JumpRow(number, *(_text(name, value, small) for name, value in zip(_COLUMNS, row, strict=True)))
        for number, row in enumerate(zip(*columns, strict=True), start=1)
    )
    shown = {name: value for name, value in record.params.items() if name not in ("title", "form") and value != ""}
    return StaircaseView(
        id=record.id,
        title=str(record.params.get("title", "Staircase")),
        story=record.message,
        rows=rows,
        facts=tuple((name, text_of(value)) for name, value in shown.items()),
        figures=record.figures,
        created=record.created,
        versions=tuple(record.versions.items()),
        machine=machine_text(record.machine),
    )


_COLUMNS = ("predicted_time", "measured_time", "time_error", "predicted_level", "measured_level", "level_error")


_NOTHING = 1e-9
"""A level below this share of the first is shown as 0."""


def _text(name: str, value: object, small: float) -> str:
    if name.endswith("error"):
        return _percent(value)
    number = _number(value)
    return "0" if name.endswith("level") and number < small else short_number(number)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")


def _percent(value: object) -> str:
    number = _number(value)
    return "–" if number != number else f"{round(100 * number, 1) + 0.0:.1f} %".replace("-", "−")
