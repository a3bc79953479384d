"""The lens of Li₂: what it records, what it says of a run in one sentence, what it draws."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight import flow, groups
from firstlight.features import chance_dominance, chance_purity
from firstlight.records import FigureData, GroupTask, RunRecord, RunSpec, figure
from firstlight.tasks._splitting import train_count
from firstlight.theories.li2._observe import observe
from firstlight.theories.li2._stages import Stages, decay_ridge, stages

_TITLES = {"lazy": "I lazy", "independent": "II independent", "interactive": "III interactive", "stalled": "stalled"}


def reason_not_applicable(spec: RunSpec) -> str:
    """Empty where the lens applies; else why it does not."""
    if not isinstance(spec.task, GroupTask):
        return f"Li₂ reads features by the irreps of a finite group, and the task is {spec.task.kind}"
    if spec.task.encoding == "template":
        return "its stages are told by accuracies, and template targets are not classes"
    if spec.loss.kind != "mse":
        return f"its G_F is that of the squared error, and the loss is {spec.loss.kind}"
    return ""


def summarise(record: RunRecord) -> Mapping[str, Any]:
    """When each stage begins and ends, whether the run grokked, and `story`, which says it in a sentence."""
    table = record.table
    if len(table) < 2:
        return {"story": ""}
    found = stages(record)
    last = {name.removeprefix("li2."): float(column[-1]) for name, column in table.scalars().items() if "li2." in name}
    bounds = {f"{stage.name}_until": stage.end for stage in found.stages}
    told = {stage.name: {"evidence": stage.evidence, "confidence": stage.confidence} for stage in found.stages}
    values: dict[str, Any] = {"grokked": found.grokked, "confidence": found.confidence, "verdict": found.verdict}
    values |= bounds | {"stages": told, "last": last, "learned_irreps": _learned(record)}
    if (eta := _decay(record)) is not None:
        values["decay_ridge"] = eta
    if (group := _group(record)) is not None:
        values["chance_purity"] = chance_purity(group, _halves(record))
    return values | {"story": _story(found, values), "evidence": _evidence(found)}


def _evidence(found: Stages) -> dict[str, str]:
    """Why each stage ends where it does, for a reader who doubts it."""
    return {
        f"{_TITLES[stage.name]}, {stage.start}–{stage.end}": f"{stage.evidence} (confidence {stage.confidence:.2f})"
        for stage in found.stages
    }


def _decay(record: RunRecord) -> float | None:
    """The η of the weight decay, where it enters the gradient."""
    spec, group = record.spec, _group(record)
    if group is None or not isinstance(spec.task, GroupTask) or not flow.is_coupled(spec.optimizer):
        return None
    split = spec.task.split
    samples = train_count(group.order**spec.task.factors, split.fraction, split.count)
    return decay_ridge(samples, spec.optimizer.weight_decay, spec.loss)


def _group(record: RunRecord) -> groups.Group | None:
    return groups.parse(record.spec.task.group) if isinstance(record.spec.task, GroupTask) else None


def _halves(record: RunRecord) -> int:
    """How many factors a node has weights for."""
    return record.spec.task.factors if isinstance(record.spec.task, GroupTask) else 0


def _labels(record: RunRecord) -> list[str]:
    group = _group(record)
    return [] if group is None else [part.label for part in group.real_components()]


def _learned(record: RunRecord) -> int:
    """How many nontrivial components rule more nodes than of as many random ones, by three standard errors.

    Where chance is next to nothing its error is taken for that of one node, so that three stray nodes are no rule.
    """
    group = _group(record)
    if "li2.nodes" not in record.table or group is None:
        return 0
    model = record.spec.model
    K, chance = model.width if model.kind == "two_layer" else model.widths[0], chance_dominance(group, _halves(record))
    level = chance + 3 * np.sqrt(chance * (1 - chance) / K + 1 / K**2)
    return int(np.sum((record.table["li2.nodes"][-1] > level)[1:]))


def _story(found: Stages, values: Mapping[str, Any]) -> str:
    spans = ", ".join(f"{_TITLES[stage.name]} {stage.start}–{stage.end}" for stage in found.stages)
    pure = ""
    if "purity" in values["last"] and "chance_purity" in values:
        n = values["learned_irreps"]
        rule = "no irrep rules" if n == 0 else "1 irrep rules" if n == 1 else f"{n} irreps rule"
        pure = f"; a node is {values['last']['purity']:.0%} one irrep ({values['chance_purity']:.0%} by chance), and "
        pure += f"{rule} more nodes than by chance"
    return f"Li₂: {found.verdict}. Stages by step: {spans}{pure}."


def figure_data(record: RunRecord) -> tuple[FigureData, ...]:
    """Learning curves with stage bands, |G_F| with its alignment, cosine distances, diagonality, features."""
    if len(record.table) < 2:
        return ()
    found = stages(record)
    bands = [(_TITLES[s.name], s.start, s.end) for s in found.stages]
    curves = (_accuracy(record, bands), _gradient(record, bands), _updates(record, bands), _pairs(record))
    title = "Li₂: the stages of the run"
    shown = [figure.panels(curves, columns=2, title=title, caption=f"{found.verdict}.")]
    if "li2.irreps" in record.table:
        shown.append(figure.panels((_growth(record), _content(record)), columns=2, title="Li₂: the features"))
    return tuple(shown)


def _x(record: RunRecord) -> figure.Axis:
    spec = record.spec
    linear = spec.recording.points is None
    return figure.Axis("step" if spec.optimizer.batch_size else "epoch", scale="linear" if linear else "symlog")


def _curves(
    record: RunRecord, names: Mapping[str, str], y: figure.Axis | str, title: str, bands: list, skip: int = 0
) -> FigureData:
    table = record.table
    known = {label: column for label, column in names.items() if column in table}
    step = np.asarray(table.step)[skip:]
    series = [figure.Series(label, step, table[column][skip:]) for label, column in known.items()]
    return figure.curves(series, x=_x(record), y=y, title=title, stages=bands)


def _accuracy(record: RunRecord, bands: list) -> FigureData:
    names = {"train": "train_accuracy", "test": "test_accuracy", "purity of nodes": "li2.purity"}
    return _curves(record, names, "accuracy, purity", "Accuracy", bands)


def _gradient(record: RunRecord, bands: list) -> FigureData:
    table = record.table
    norm = table["li2.G_F"]
    peak = norm.max() or 1.0
    series = [
        figure.Series(f"|G_F| / {peak:.3g}", table.step, norm / peak),
        figure.Series("cosine with ỸỸᵀF", table.step, table["li2.alignment"]),
        figure.Series("repulsion", table.step, table["li2.repulsion"]),
    ]
    return figure.curves(series, x=_x(record), y="share", title="Backpropagated gradient", stages=bands)


def _updates(record: RunRecord, bands: list) -> FigureData:
    names = {"ΔV": "li2.step_V", "ΔW": "li2.step_W"}
    y = figure.Axis("cosine distance", scale="log")
    return _curves(record, names, y, "Updates", bands, skip=1)


def _pairs(record: RunRecord) -> FigureData:
    names = {
        "F̃ᵀF̃, mean |off| / mean diagonal": "li2.off_nodes",
        "F̃ᵀF̃, ‖off‖ / ‖all‖": "li2.off_nodes_norm",
        "P₁⊥FFᵀ, mean |off| / mean diagonal": "li2.off_samples",
        "P₁⊥FFᵀ, ‖off‖ / ‖all‖": "li2.off_samples_norm",
    }
    return _curves(record, names, figure.Axis("off the diagonal", scale="log"), "Diagonality", [])


def _growth(record: RunRecord) -> FigureData:
    table = record.table
    return figure.heatmap(
        table["li2.nodes"].T,
        x=_x(record).label,
        y="irrep",
        value="share of nodes",
        title="Nodes ruled by one irrep",
        caption="The irrep's share of a ruled node is more than half-way from chance to all.",
        columns=[str(s) for s in table.step],
        rows=_labels(record),
    )


def _content(record: RunRecord) -> FigureData:
    content = record.table["li2.content"][-1]
    order = np.lexsort((-content.max(1), np.argmax(content, axis=1)))
    return figure.heatmap(
        content[order],
        x="irrep",
        y="hidden node",
        value="share",
        title="Irreps of single nodes, at the end",
        columns=_labels(record),
        limits=(0.0, 1.0),
    )


LENSES: tuple[flow.Lens, ...] = (
    flow.Lens(
        name="li2",
        title="Li₂: the three stages of grokking",
        observables=(observe,),
        reason_not_applicable=reason_not_applicable,
        summarise=summarise,
        figure_data=figure_data,
    ),
)
