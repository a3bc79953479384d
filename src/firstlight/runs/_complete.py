"""The end of a run: its record gets a summary, figures, and a verdict of each theory."""

from typing import Any

from firstlight.flow import Lens
from firstlight.records import FigureData, RunRecord, TheoryVerdict, figure
from firstlight.runs._curves import learning_curves
from firstlight.runs._lenses import lenses
from firstlight.runs._summary import summarise


def complete(record: RunRecord) -> RunRecord:
    """Return the record with its summary, figures and verdicts, drawn from its table and the lenses of its spec.

    `runs` calls this function when a run ends. Call it for a record without figures: one that an earlier version
    wrote, or one whose process was killed.

    >>> from firstlight.records import RunSpec, Table
    >>> table = Table([0, 10], {"train_accuracy": [0.1, 1.0], "train_loss": [1.0, 0.2]})
    >>> [shown.title for shown in complete(RunRecord(spec=RunSpec(), status="finished", table=table)).figures]
    ['Learning curves']
    """
    summary, figures, verdicts = summarise(record), list(_learning_figure(record)), []
    for lens in _selected(record):
        summary[lens.name], lens_figures, verdict = _through(lens, record)
        figures += lens_figures
        verdicts += [verdict] if verdict else []
    values = {"summary": summary, "figures": tuple(figures), "verdicts": tuple(verdicts)}
    return RunRecord.model_validate({**dict(record), **values})


def _learning_figure(record: RunRecord) -> tuple[FigureData, ...]:
    curves = learning_curves(record)
    caption = (
        "Training pairs are those that the network sees; test pairs are held out, and the network never sees them."
    )
    return (figure.panels(curves, columns=2, title="Learning curves", caption=caption),) if len(curves) > 1 else curves


def _selected(record: RunRecord) -> list[Lens]:
    """Return the lenses of a record's spec that this version knows."""
    known = lenses() if record.spec.lenses else {}
    return [known[name] for name in dict.fromkeys(record.spec.lenses) if name in known]


def _through(lens: Lens, record: RunRecord) -> tuple[dict[str, Any], tuple[FigureData, ...], TheoryVerdict | None]:
    """Return a lens's summary, figures and verdict; an exception becomes an entry of the summary."""
    # The numbers of a long run must survive a mistake in the code that describes them.
    summary: dict[str, Any] = {}
    figures: tuple[FigureData, ...] = ()
    verdict = None
    try:
        summary = dict(lens.summarise(record))
        if len(record.table):
            figures = lens.figure_data(record)
            verdict = _of_a_whole_run(lens.verdict(record), record)
    except Exception as error:
        summary["error"] = f"{type(error).__name__}: {error}"
    return summary, tuple(figures), verdict


def _of_a_whole_run(verdict: TheoryVerdict | None, record: RunRecord) -> TheoryVerdict | None:
    """Return the verdict, or one that does not apply if training diverged or failed: the theories describe neither."""
    if verdict is None or record.status not in ("diverged", "failed"):
        return verdict
    sentence = f"The training {record.status}, so the theory says nothing about this run."
    return verdict.model_copy(
        update={"predicted": "", "measured": "", "agrees": "does not apply", "sentence": sentence}
    )
