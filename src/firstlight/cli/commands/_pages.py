"""From records to what `firstlight.report` lays out: each run with its story and figures."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any


def run_pages(records: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """A view of each run, and all their figures by digest."""
    from firstlight import report

    views, figures = [], {}
    for record in records:
        shown = _figures(record)
        figures |= {figure.digest: figure for figure in shown}
        digests = [figure.digest for figure in shown]
        view = report.run_view(record, story=stories(record), figures=digests)
        facts = tuple((name, report.text_of(value)) for name, value in _facts(record).items())
        views.append(replace(view, facts=facts))
    return views, figures


def _figures(record: Any) -> tuple[Any, ...]:
    """The figures of the record; of a record without any, those that its table gives."""
    if record.figures:
        return record.figures
    from firstlight import runs

    return runs.complete(record).figures


def _facts(record: Any) -> dict[str, Any]:
    """The single numbers of a run's summary under readable names; its sentences are shown elsewhere."""
    summary = record.summary
    facts = {"memorised at": summary.get("memorised_at"), "generalised at": summary.get("generalised_at")}
    final = summary.get("final") or {}
    columns = [f"{half}_{quantity}" for quantity in ("accuracy", "loss") for half in ("train", "test")]
    facts |= {f"{name.replace('_', ' ')} at the end": final[name] for name in columns if name in final}
    for lens in record.spec.lenses:
        numbers = {k: v for k, v in (summary.get(lens) or {}).items() if isinstance(v, int | float)}
        facts |= {f"{lens}: {name.replace('_', ' ')}": value for name, value in numbers.items()}
    return facts


def stories(record: Any) -> list[str]:
    """What the run, and each lens it was looked at through, says happened, one sentence each."""
    parts = [record.summary, *(record.summary.get(name) or {} for name in record.spec.lenses)]
    return [part["story"] for part in parts if part.get("story")]


def claim_figures(store: Any, records: Sequence[Any]) -> dict[str, Any]:
    """The figures that claims name, by digest."""
    return {digest: store.get_figure(digest) for record in records for digest in record.figures}
