"""The view of a feature probe: one row per layer of the model."""

from collections import Counter
from dataclasses import dataclass

from firstlight.records import FigureData, ProbedLayer, ProbeRecord
from firstlight.report._format import machine_text, text_of


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
class ProbeView:
    """A feature probe as shown."""

    id: str
    title: str
    story: str
    measures: tuple[str, ...]
    rows: tuple[LayerRow, ...]
    figures: tuple[FigureData, ...] = ()
    created: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    machine: str = ""
    anchor: str = ""


def probe_view(record: ProbeRecord) -> ProbeView:
    """Return the view of a probe's record.

    >>> layer = ProbedLayer(name="0.weight", kind="Linear", inputs=3, outputs=8, state="learning")
    >>> probe_view(ProbeRecord(layers=(layer,), samples=64)).story
    '1 layer, 64 samples: 1 learning. Alignments are measured by pearson.'
    """
    measures = tuple(dict.fromkeys(measure for layer in record.layers for measure in layer.alignments))
    states = Counter(layer.state for layer in record.layers)
    counted = ", ".join(f"{count} {state}" for state, count in states.items()) or "none could be treated"
    layers = f"{len(record.layers)} layer{'s' * (len(record.layers) != 1)}"
    blank = ("",) * len(measures)
    untreated = (
        LayerRow(name, "untreated", "", blank, "", "", "undecided", reason) for name, reason in record.untreated.items()
    )
    return ProbeView(
        id=record.id,
        title=record.name or "Feature probe",
        story=f"{layers}, {record.samples} samples: {counted}. Alignments are measured by {record.alignment}.",
        measures=measures,
        rows=(*(_row(layer, measures) for layer in record.layers), *untreated),
        figures=record.figures,
        created=record.created,
        versions=tuple(record.versions.items()),
        machine=machine_text(record.machine),
    )


def _row(layer: ProbedLayer, measures: tuple[str, ...]) -> LayerRow:
    return LayerRow(
        name=layer.name,
        kind=layer.kind,
        sizes=f"{layer.inputs} → {layer.outputs}",
        alignments=tuple(text_of(layer.alignments.get(measure)) for measure in measures),
        size=text_of(layer.size),
        budget=text_of(layer.budget),
        state=layer.state,
        evidence=layer.evidence,
    )
