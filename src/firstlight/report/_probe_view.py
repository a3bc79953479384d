"""The view of a feature probe: one row per layer of the model, and its course over checkpoints."""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from firstlight.records import FigureData, LayerCourse, ProbedLayer, ProbeRecord
from firstlight.report._format import machine_text, text_of

MEANINGS = {
    "Kind": "how the weight is used; ×n if it is used n times",
    "Sizes": "inputs → outputs",
    "FACT": "alignment of FACT with the layer's feature matrix WᵀW: 1 if weight decay and loss are in balance. At a "
    "single point of minibatch training it includes the noise of minibatches; the evidence gives it averaged, if known",
    "√FACT·FACTᵀ": "the same for the symmetrised FACT",
    "√AGOP": "alignment of WᵀW with the root of the outputs' average gradient outer product",
    "√eNFA": "alignment of WᵀW with the root of the loss's average gradient outer product",
    "Size": "size of FACT relative to WᵀW: 1 if they are in balance",
    "Budget": "weight decay × sum of learning rates / (1 − momentum) so far; FACT needs several units",
    "Effective rank": "number of directions that the weights use: (Σσ²)²/Σσ⁴ over their singular values σ",
    "Moved": "distance of the weights from the start, relative to their size there",
    "Verdict": "converged: in balance; learning: not in balance, and moving in one direction; lazy: hardly moved since "
    "the start; undecided: the evidence does not decide, with the reason",
}
"""Column → what its numbers mean."""

UNDEFINED = "–"


@dataclass(frozen=True)
class LayerRow:
    """One layer: its sizes, the alignments as text in the order of `ProbeView.measures`, and the verdict."""

    name: str
    kind: str
    sizes: str
    alignments: tuple[str, ...]
    size: str
    budget: str
    state: str
    evidence: str


@dataclass(frozen=True)
class CourseRow:
    """One layer over the checkpoints: the verdicts with the steps at which they held, and first → last numbers."""

    name: str
    states: tuple[tuple[str, str], ...]
    fact: str
    agop: str
    rank: str
    moved: str


@dataclass(frozen=True)
class ProbeView:
    """A feature probe as shown."""

    id: str
    title: str
    story: tuple[str, ...]
    measures: tuple[str, ...]
    rows: tuple[LayerRow, ...]
    untreated: tuple[tuple[str, str], ...] = ()
    courses: tuple[CourseRow, ...] = ()
    updates: tuple[tuple[str, str, str, str], ...] = ()
    checkpoints: tuple[tuple[str, str, str, str], ...] = ()
    clock: str = ""
    meanings: tuple[tuple[str, str], ...] = ()
    figures: tuple[FigureData, ...] = ()
    created: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    machine: str = ""
    anchor: str = ""


def probe_view(record: ProbeRecord) -> ProbeView:
    """Return the view of a probe's record.

    >>> layer = ProbedLayer(name="0.weight", kind="Linear", inputs=3, outputs=8, state="learning")
    >>> probe_view(ProbeRecord(layers=(layer,), samples=64)).story
    ('1 layer, 64 samples: 1 learning. Alignments are measured by pearson.',)
    """
    measures = tuple(dict.fromkeys(measure for layer in record.layers for measure in layer.alignments))
    columns = ["Kind", "Sizes", *measures, "Size", "Budget", "Verdict"]
    columns += ["Effective rank", "Moved"] if record.courses else []
    return ProbeView(
        id=record.id,
        title=record.name or "Feature probe",
        story=record.story or (_sentence(record),),
        measures=measures,
        rows=tuple(_row(layer, measures) for layer in record.layers),
        untreated=_grouped(record.untreated),
        courses=tuple(_course(record, course) for course in record.courses),
        updates=tuple(
            (update.name, str(update.rank), _ends(update.size), _ends(update.effective_rank))
            for update in record.updates
        ),
        checkpoints=tuple((str(c.step), c.name, c.digest[:12], c.same_as) for c in record.checkpoints),
        clock=record.checkpoints[-1].clock if record.checkpoints else "",
        meanings=tuple((column, MEANINGS[column]) for column in columns if column in MEANINGS),
        figures=record.figures,
        created=record.created,
        versions=tuple(record.versions.items()),
        machine=machine_text(record.machine),
    )


def _sentence(record: ProbeRecord) -> str:
    states = Counter(layer.state for layer in record.layers)
    counted = ", ".join(f"{count} {state}" for state, count in states.items()) or "none could be treated"
    layers = f"{len(record.layers)} layer{'s' * (len(record.layers) != 1)}"
    return f"{layers}, {record.samples} samples: {counted}. Alignments are measured by {record.alignment}."


def _row(layer: ProbedLayer, measures: tuple[str, ...]) -> LayerRow:
    return LayerRow(
        name=layer.name,
        kind=layer.kind,
        sizes=f"{layer.inputs} → {layer.outputs}",
        alignments=tuple(_number(layer.alignments.get(measure), ".3f") for measure in measures),
        size=_number(layer.size),
        budget=_number(layer.budget),
        state=layer.state,
        evidence=layer.evidence,
    )


def _grouped(untreated: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Return (names, reason), with the parameters of one reason together."""
    groups: dict[str, list[str]] = {}
    for name, reason in untreated.items():
        groups.setdefault(reason, []).append(name)
    rows = []
    for reason, names in groups.items():
        more = f" and {len(names) - 3} more" if len(names) > 4 else ""
        rows.append((", ".join(names if not more else names[:3]) + more, reason))
    return tuple(rows)


def _course(record: ProbeRecord, course: LayerCourse) -> CourseRow:
    runs: list[tuple[str, int, int]] = []
    for checkpoint, state in zip(record.checkpoints, course.states, strict=True):
        if runs and runs[-1][0] == state:
            runs[-1] = (state, runs[-1][1], checkpoint.step)
        else:
            runs.append((state, checkpoint.step, checkpoint.step))
    return CourseRow(
        name=course.name,
        states=tuple((state, str(a) if a == b else f"{a}–{b}") for state, a, b in runs),
        fact=_ends(_averaged(course), ".3f"),
        agop=_ends(course.alignments.get("√AGOP", ()), ".3f"),
        rank=_ends(course.effective_rank),
        moved=_number(course.moved[-1]) if course.moved else UNDEFINED,
    )


def _averaged(course: LayerCourse) -> list[Any]:
    """Return FACT averaged along checkpoints, or of the checkpoint alone where that is unknown."""
    alone = list(course.alignments.get("FACT", ()))
    averaged = list(course.averaged) or [None] * len(alone)
    return [mean if _known(mean) else value for mean, value in zip(averaged, alone, strict=True)]


def _known(value: Any) -> bool:
    return value is not None and math.isfinite(value)


def _ends(values: Any, form: str = ".3g") -> str:
    """Return the first and the last known value."""
    known = [value for value in values if _known(value)]
    if not known:
        return UNDEFINED
    return " → ".join(_number(value, form) for value in (known if len(known) == 1 else (known[0], known[-1])))


def _number(value: Any, form: str = ".3g") -> str:
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:{form}}".replace("-", "−")
    return UNDEFINED if value is None or (isinstance(value, float) and math.isnan(value)) else text_of(value)
