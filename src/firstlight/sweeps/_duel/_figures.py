"""The figures of a duel, and its outcome in a sentence."""

import math
from collections.abc import Sequence

import numpy as np

from firstlight.records import DuelEntry, DuelRecord, FigureData, figure

TITLES = {"adam": "Adam", "adamw": "AdamW", "sgd": "SGD", "muon": "Muon"}


def story(entries: Sequence[DuelEntry], clock: str) -> str:
    """Return the outcome in a sentence or two, for a reader who sees no figure.

    >>> fields = {"learning_rate": 1e-3, "weight_decay": 0.0, "steps": 100, "step_flops": 1.0, "confidence": 0.9}
    >>> adam = DuelEntry(optimizer="adam", median=20, low=10, high=30, **fields)
    >>> story([adam, DuelEntry(optimizer="sgd", **fields)], "epoch")
    'Adam generalised first, at epoch 20 (median). SGD did not generalise within the budget in half of the seeds.'
    """
    ranked = sorted((e for e in entries if e.median is not None), key=lambda e: e.median * e.step_flops)  # type: ignore[operator]
    never = [TITLES[e.optimizer] for e in entries if e.median is None]
    sentences = []
    if ranked:
        first = ranked[0]
        sentences.append(f"{TITLES[first.optimizer]} generalised first, at {clock} {first.median:g} (median)")
        if len(ranked) > 1:
            second = ranked[1]
            apart = first.high is not None and first.high * first.step_flops < (second.low or 0) * second.step_flops
            relation = "do not overlap" if apart else "overlap, so the seeds do not separate them"
            sentences[0] += (
                f", {TITLES[second.optimizer]} next, at {clock} {second.median:g}; "
                f"in compute the two intervals {relation}"
            )
        sentences[0] += "."
    if never:
        sentences.append(f"{_joined(never)} did not generalise within the budget in half of the seeds.")
    edges = [TITLES[e.optimizer] for e in entries if e.at_edge and e.median is not None]
    if edges:
        sentences.append(
            f"The best rate of {_joined(edges)} is the smallest or largest that was tried; more rates may do better."
        )
    return " ".join(sentences)


def _joined(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def duel_figures(record: DuelRecord) -> tuple[FigureData, ...]:
    """Return the times to generalise with intervals, the tuning curves and, if searched, the critical widths."""
    names = [TITLES[entry.optimizer] for entry in record.entries]
    panels = [_times(record, names), _tuning(record)]
    if any(entry.width for entry in record.entries):
        panels.append(_widths(record, names))
    caption = (
        "Time to generalise: compute until half of the seeds generalised, and the interval that holds this median; a "
        "bar at the full budget means that it was not reached. Critical width: no bar if no tested width succeeded."
    )
    return (figure.panels(panels, columns=3, title="Optimizers at equal compute", caption=caption),)


def _compute(entry: DuelEntry, steps: float | None) -> float:
    """Return the compute of some steps in units of 1e9 operations; the whole budget for None."""
    return (entry.steps if steps is None else steps) * entry.step_flops / 1e9


def _times(record: DuelRecord, names: Sequence[str]) -> FigureData:
    # Three bars, because the interval is not symmetric about the median.
    ends = {
        "lower end": [_compute(entry, entry.low) for entry in record.entries],
        "median": [_compute(entry, entry.median) for entry in record.entries],
        "upper end": [_compute(entry, entry.high) for entry in record.entries],
    }
    return figure.bars(names, ends, x="optimizer", y="1e9 operations to generalise", title="Time to generalise")


def _tuning(record: DuelRecord) -> FigureData:
    series = []
    for entry in record.entries:
        rates = sorted({rate.learning_rate for rate in entry.tuning})
        best = [
            min(r.steps for r in entry.tuning if r.learning_rate == rate) * entry.step_flops / 1e9 for rate in rates
        ]
        series.append(figure.Series(TITLES[entry.optimizer], np.array(rates), np.array(best)))
    return figure.curves(
        series,
        x=figure.Axis("learning rate", scale="log"),
        y="1e9 operations to generalise",
        title="Tuning",
    )


def _widths(record: DuelRecord, names: Sequence[str]) -> FigureData:
    searched = [entry.width for entry in record.entries]
    measured = [math.nan if w is None or w.succeeds is None else float(w.succeeds) for w in searched]
    theory = [math.nan if w is None or w.theory is None else w.theory for w in searched]
    values = {"measured": np.nan_to_num(measured)}
    if not np.isnan(theory).all():
        values["Theorem 8 of Li₂"] = np.nan_to_num(theory)
    return figure.bars(names, values, x="optimizer", y="hidden units", title="Critical width")
