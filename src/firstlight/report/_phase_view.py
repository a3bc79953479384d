"""The view of a phase diagram: the figure, and a table with a row for each cell."""

from dataclasses import dataclass

from firstlight.records import FigureData, PhaseCell, PhaseRecord
from firstlight.report._format import machine_text


@dataclass(frozen=True)
class PhaseRow:
    """One cell as shown."""

    x: str
    y: str
    ended: str
    share: str
    interval: str
    chance: str


@dataclass(frozen=True)
class PhaseView:
    """A phase diagram as shown: the rows of its table go through the values of x for each value of y."""

    id: str
    title: str
    story: str
    remark: str
    x: str
    y: str
    rows: tuple[PhaseRow, ...]
    has_chances: bool
    figures: tuple[FigureData, ...] = ()
    seconds: float = 0.0
    created: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    machine: str = ""
    anchor: str = ""


def phase_view(record: PhaseRecord) -> PhaseView:
    """Return the view of a phase diagram.

    >>> from firstlight.records import PhaseAxis
    >>> axis = PhaseAxis(field="model.width", label="hidden units", spacing="linear", values=(8,), names=("8",))
    >>> cell = PhaseCell(column=0, row=0, ended=3, generalised=2, low=0.21, high=0.94)
    >>> phase_view(PhaseRecord(title="Z5", x=axis, y=axis, cells=(cell,))).rows[0]
    PhaseRow(x='8', y='8', ended='2 of 3', share='0.67', interval='0.21 to 0.94', chance='–')
    """
    fixed = [f"{label} = {value}" for label, value in record.fixed.items()]
    remarks = [
        record.theory,
        f"Held fixed: {', '.join(fixed)}." if fixed else "",
        f"Each cell is averaged over seeds and over {', '.join(record.averaged)}." if record.averaged else "",
    ]
    return PhaseView(
        id=record.digest,
        title=record.title,
        story=record.story,
        remark=" ".join(filter(None, remarks)),
        x=record.x.label,
        y=record.y.label,
        rows=tuple(_row(record, cell) for cell in record.cells),
        has_chances=any(cell.chance is not None for cell in record.cells),
        figures=tuple(record.figures),
        seconds=record.seconds,
        created=record.created,
        versions=tuple(record.versions.items()),
        machine=machine_text(record.machine),
    )


def _row(record: PhaseRecord, cell: PhaseCell) -> PhaseRow:
    waiting = f", {cell.missing} left" if cell.missing else ""
    return PhaseRow(
        x=record.x.names[cell.column],
        y=record.y.names[cell.row],
        ended=f"{cell.generalised} of {cell.ended}{waiting}",
        share="–" if cell.share is None else f"{cell.share:.2f}",
        interval="–" if cell.low is None or cell.high is None else f"{cell.low:.2f} to {cell.high:.2f}",
        chance="–" if cell.chance is None else f"{cell.chance:.2f}",
    )
