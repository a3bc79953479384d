"""The view of a duel: optimizers side by side at equal compute."""

from dataclasses import dataclass

from firstlight.records import DuelEntry, DuelRecord, DuelWidth, FigureData, Optimizer, run_title
from firstlight.report._format import machine_text


@dataclass(frozen=True)
class DuelRow:
    """One optimizer as shown."""

    optimizer: str
    rate: str
    decay: str
    steps: str
    generalised: str
    median: str
    interval: str
    operations: str
    width: str
    theory: str


@dataclass(frozen=True)
class TuningRow:
    """One tuning point as shown."""

    optimizer: str
    rate: str
    decay: str
    generalised: str
    steps: str
    accuracy: str


@dataclass(frozen=True)
class DuelView:
    """A duel as shown: its rows in the order of the optimizers, its tuning points below."""

    id: str
    title: str
    story: str
    budget: str
    rows: tuple[DuelRow, ...]
    tuning: tuple[TuningRow, ...]
    has_widths: bool
    figures: tuple[FigureData, ...] = ()
    seconds: float = 0.0
    created: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    machine: str = ""
    anchor: str = ""


def duel_view(record: DuelRecord) -> DuelView:
    """Return the view of a duel.

    >>> from firstlight.records import RunSpec
    >>> entry = DuelEntry(optimizer="adam", learning_rate=1e-3, weight_decay=0.0, steps=10, step_flops=1e9,
    ...                   generalised_at=(4, None), median=None, low=4)
    >>> row = duel_view(DuelRecord(spec=RunSpec(), entries=(entry,))).rows[0]
    >>> row.generalised, row.median, row.interval
    ('1 of 2', 'over 10', '4 to over 10')
    """
    clock, entries = record.spec.clock, record.entries
    seeds, points = len(record.seeds), max((len(entry.tuning) for entry in entries), default=0)
    confidence = max((entry.confidence for entry in entries), default=0.0)
    budget = (
        f"Each optimizer trained {points} tuning points on seeds of their own and {seeds} seeds of the comparison, "
        f"with the same number of operations in every run. Times are in {clock}s; an interval holds the median with "
        f"{100 * confidence:.0f} % confidence."
    )
    return DuelView(
        id=record.digest,
        title=f"{', '.join(_title(entry) for entry in entries)}: {run_title(record.spec)}",
        story=record.story,
        budget=budget,
        rows=tuple(_row(entry) for entry in entries),
        tuning=tuple(
            TuningRow(
                _title(entry),
                f"{rate.learning_rate:.3g}",
                f"{rate.weight_decay:g}",
                f"{rate.generalised} of {rate.seeds}",
                f"{rate.steps:.0f}",
                f"{rate.accuracy:.3f}",
            )
            for entry in entries
            for rate in entry.tuning
        ),
        has_widths=any(entry.width for entry in entries),
        figures=tuple(record.figures),
        seconds=record.seconds,
        created=record.created,
        versions=tuple(record.versions.items()),
        machine=machine_text(record.machine),
    )


def duel_rows(record: DuelRecord) -> tuple[DuelRow, ...]:
    """Return the rows of a duel, for a terminal."""
    return duel_view(record).rows


def _title(entry: DuelEntry) -> str:
    return Optimizer(name=entry.optimizer).title  # type: ignore[arg-type]


def _row(entry: DuelEntry) -> DuelRow:
    over = f"over {entry.steps}"

    def shown(steps: float | None) -> str:
        return over if steps is None else f"{steps:g}"

    low, high = shown(entry.low), shown(entry.high)
    reached = sum(time is not None for time in entry.generalised_at)
    spent = (entry.steps if entry.median is None else entry.median) * entry.step_flops
    return DuelRow(
        optimizer=_title(entry),
        rate=f"{entry.learning_rate:.3g}{' (largest or smallest tried)' if entry.at_edge else ''}",
        decay=f"{entry.weight_decay:g}",
        steps=str(entry.steps),
        generalised=f"{reached} of {len(entry.generalised_at)}",
        median=shown(entry.median),
        interval=low if low == high else f"{low} to {high}",
        operations=f"{'over ' * (entry.median is None)}{spent:.2e}",
        width=_width(entry.width),
        theory="" if entry.width is None or entry.width.theory is None else f"{entry.width.theory:.0f}",
    )


def _width(width: DuelWidth | None) -> str:
    if width is None:
        return ""
    if width.succeeds is None:
        return f"over {width.fails}"
    return f"at most {width.succeeds}" if width.fails is None else f"{width.fails} to {width.succeeds}"
