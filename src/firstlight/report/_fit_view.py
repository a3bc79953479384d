"""The view of fits to one table: the methods side by side, the best first."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from firstlight.records import FigureData, FitRecord
from firstlight.report._format import duration, machine_text, text_of


@dataclass(frozen=True)
class FitRow:
    """One method: its name, its score, the time of one fit, and for labels its log loss."""

    method: str
    score: str
    seconds: str
    log_loss: str = ""


@dataclass(frozen=True)
class FitView:
    """Fits to the same table and target as shown, the best score first."""

    id: str
    title: str
    message: str
    metric: str
    rows: tuple[FitRow, ...]
    figures: tuple[FigureData, ...] = ()
    created: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    machine: str = ""
    anchor: str = ""


def fit_views(records: Sequence[FitRecord]) -> list[FitView]:
    """Return one view for each table, target and setting among the records; of equal fits the latest is shown."""
    latest = {record.id: record for record in sorted(records, key=lambda record: record.created)}
    groups: dict[tuple[str, ...], list[FitRecord]] = {}
    for record in latest.values():
        setting = (str(record.params.get(name, "")) for name in ("target", "task", "folds", "seed"))
        groups.setdefault((record.data, *setting), []).append(record)
    return [fit_view(group) for group in groups.values()]


def fit_view(records: Sequence[FitRecord]) -> FitView:
    """Return the view of fits to one table.

    >>> ridge = FitRecord(estimator="Ridge", data="0" * 64, scores={"mean": 0.5, "deviation": 0.1, "metric": "R²"})
    >>> fit_view([ridge]).rows
    (FitRow(method='Ridge', score='0.5000 ± 0.1000', seconds='0 s', log_loss=''),)
    """
    first, last = records[0], max(records, key=lambda record: record.created)
    task, target = first.params.get("task"), first.params.get("target")
    ordered = sorted(records, key=_score, reverse=True)
    return FitView(
        id=first.id,
        title=f"{str(task or 'fit').capitalize()} of {target}" if target else f"Table {first.data[:12]}",
        message=next((record.message for record in records if record.message), ""),
        metric=str(first.scores.get("metric", "score")),
        rows=tuple(
            FitRow(_method(record), _score_text(record), duration(record.seconds), _loss_text(record))
            for record in ordered
        ),
        figures=tuple(figure for record in records for figure in record.figures),
        created=last.created,
        versions=tuple(last.versions.items()),
        machine=machine_text(last.machine),
    )


def _method(record: FitRecord) -> str:
    update = record.params.get("update")
    return f"{record.params.get('method') or record.estimator}{f', {update}' if update else ''}"


def _score(record: FitRecord) -> float:
    mean = record.scores.get("mean")
    return -math.inf if mean is None or math.isnan(mean) else mean


def _loss_text(record: FitRecord) -> str:
    loss = record.scores.get("log_loss")
    return "" if loss is None else f"{loss:.4f}"


def _score_text(record: FitRecord) -> str:
    scores = record.scores
    if "mean" not in scores:
        return text_of(scores)
    return f"{scores['mean']:.4f} ± {scores['deviation']:.4f}" if "deviation" in scores else f"{scores['mean']:.4f}"
