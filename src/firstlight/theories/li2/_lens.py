"""The lens of Li₂: when it applies, the summary of a run, its figures, and the verdict on the forecast."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight import flow, groups
from firstlight.features import chance_dominance, chance_purity
from firstlight.records import DeepModel, FigureData, GroupTask, RunRecord, RunSpec, figure
from firstlight.theories.li2._coverage import training_pairs
from firstlight.theories.li2._observe import observe
from firstlight.theories.li2._stages import Stages, decay_ridge, stages
from firstlight.theories.li2._verdict import FIGURE, verdict

_TITLES = {"lazy": "I lazy", "independent": "II independent", "interactive": "III interactive", "stalled": "stalled"}


def reason_not_applicable(spec: RunSpec) -> str:
    """Return '' if the lens applies to a spec, else the reason."""
    if not isinstance(spec.task, GroupTask):
        return f"Li₂ reads features by the irreps of a finite group, and the task is {spec.task.kind}"
    if spec.task.encoding == "template":
        return "its stages are defined by accuracies, and template targets are not classes"
    if spec.model.kind not in ("two_layer", "deep"):
        return "its hidden units see the one-hot inputs through weights of their own, and this model embeds them first"
    if spec.loss.kind != "mse":
        return f"its G_F is that of the squared error, and the loss is {spec.loss.kind}"
    return ""


def summarise(record: RunRecord) -> Mapping[str, Any]:
    """Return when each stage begins and ends, whether the run grokked, and `story`, the same in a sentence."""
    table = record.table
    if len(table) < 2:
        return {"story": ""}
    marked = stages(record)
    last = {name.removeprefix("li2."): float(column[-1]) for name, column in table.scalars().items() if "li2." in name}
    bounds = {f"{stage.name}_until": stage.end for stage in marked.stages}
    reasons = {stage.name: {"evidence": stage.evidence, "confidence": stage.confidence} for stage in marked.stages}
    values: dict[str, Any] = {"grokked": marked.grokked, "confidence": marked.confidence, "verdict": marked.verdict}
    values |= bounds | {"stages": reasons, "last": last, "learned_irreps": _learned(record)}
    if (eta := _decay(record)) is not None:
        values["decay_ridge"] = eta
    if (group := _group(record)) is not None:
        values["chance_purity"] = chance_purity(group, _halves(record))
    return values | {"story": _story(marked, values, record.spec.clock), "evidence": _evidence(marked)}


def _evidence(marked: Stages) -> dict[str, str]:
    """Return why each stage ends where it does."""
    return {
        f"{_TITLES[stage.name]}, {stage.start}–{stage.end}": f"{stage.evidence} (confidence {stage.confidence:.2f})"
        for stage in marked.stages
    }


def _decay(record: RunRecord) -> float | None:
    """Return the η of the weight decay, or None if decay does not enter the gradient."""
    spec = record.spec
    if not isinstance(spec.task, GroupTask) or not flow.is_coupled(spec.optimizer):
        return None
    return decay_ridge(training_pairs(spec.task), spec.optimizer.weight_decay, spec.loss)


def _group(record: RunRecord) -> groups.Group | None:
    return groups.of_task(record.spec.task) if isinstance(record.spec.task, GroupTask) else None


def _halves(record: RunRecord) -> int:
    """Return the number of factors for which a hidden unit has weights."""
    return record.spec.task.factors if isinstance(record.spec.task, GroupTask) else 0


def _labels(record: RunRecord) -> list[str]:
    group = _group(record)
    return [] if group is None else [part.label for part in group.real_components()]


def _learned(record: RunRecord) -> int:
    """Count the nontrivial components that dominate more hidden units than chance, by three standard errors.

    If chance is close to zero, its error is taken as that of one hidden unit, so that three stray units do not count.
    """
    group = _group(record)
    if "li2.nodes" not in record.table or group is None:
        return 0
    model = record.spec.model
    K, chance = (
        model.widths[0] if isinstance(model, DeepModel) else model.width,
        chance_dominance(group, _halves(record)),
    )
    level = chance + 3 * np.sqrt(chance * (1 - chance) / K + 1 / K**2)
    return int(np.sum((record.table["li2.nodes"][-1] > level)[1:]))


def _story(marked: Stages, values: Mapping[str, Any], clock: str) -> str:
    spans = ", ".join(f"{_TITLES[stage.name]} {stage.start}–{stage.end}" for stage in marked.stages)
    features = ""
    if "purity" in values["last"] and "chance_purity" in values:
        n = values["learned_irreps"]
        dominate = "no irrep dominates" if n == 0 else "1 irrep dominates" if n == 1 else f"{n} irreps dominate"
        features = (
            f" The strongest irrep of a hidden unit holds {values['last']['purity']:.0%} of its weights "
            f"({values['chance_purity']:.0%} by chance); {dominate} more hidden units than chance would give."
        )
    return f"Li₂: {marked.verdict}. Stages by {clock}: {spans}.{features}"


def figure_data(record: RunRecord) -> tuple[FigureData, ...]:
    """Return learning curves with stage bands, gradient size and alignment, and features."""
    if len(record.table) < 2:
        return ()
    marked = stages(record)
    bands = [(_TITLES[stage.name], stage.start, stage.end) for stage in marked.stages]
    curves = (_accuracy(record, bands), _gradient(record, bands))
    caption = (
        f"{marked.verdict[:1].upper()}{marked.verdict[1:]}. In stage I the output weights fit random features; in "
        "stage II each hidden unit climbs towards one feature, driven by the gradient that reaches it; in stage III "
        "the units divide the rest of the work. Purity is the share of a unit's strongest irrep. Second: how large the "
        "gradient is, how far it points to the labels, and how much units push each other away."
    )
    figures = [figure.panels(curves, columns=2, title=FIGURE, caption=caption)]
    if "li2.irreps" in record.table:
        growth = (
            "First: how many hidden units belong to each irrep, over time. Second: the irreps of a few hidden units at "
            "the end; a bright cell means that the unit is almost a pure wave."
        )
        features = (_growth(record), _content(record))
        figures.append(figure.panels(features, columns=2, title="Li₂: the features", caption=growth))
    return tuple(figures)


def _curves(record: RunRecord, names: Mapping[str, str], y: figure.Axis | str, title: str, bands: list) -> FigureData:
    table = record.table
    columns = {label: column for label, column in names.items() if column in table}
    series = [figure.Series(label, table.step, table[column]) for label, column in columns.items()]
    return figure.curves(series, x=figure.time_axis(record.spec), y=y, title=title, stages=bands)


def _accuracy(record: RunRecord, bands: list) -> FigureData:
    names = {"train": "train_accuracy", "test": "test_accuracy", "purity of hidden units": "li2.purity"}
    return _curves(record, names, "accuracy, purity", "Accuracy", bands)


def _gradient(record: RunRecord, bands: list) -> FigureData:
    table = record.table
    norm = table["li2.G_F"]
    peak = float(np.max(norm, where=np.isfinite(norm), initial=0.0)) or 1.0
    series = [
        figure.Series(f"size of the gradient / {peak:.3g}", table.step, norm / peak),
        figure.Series("alignment with the labels", table.step, table["li2.alignment"]),
        figure.Series("repulsion of hidden units", table.step, table["li2.repulsion"]),
    ]
    x = figure.time_axis(record.spec)
    return figure.curves(series, x=x, y="share, cosine", title="Backpropagated gradient", stages=bands)


def _growth(record: RunRecord) -> FigureData:
    table = record.table
    return figure.heatmap(
        table["li2.nodes"].T,
        x=record.spec.clock,
        y="irrep",
        value="share of hidden units",
        title="Hidden units dominated by one irrep",
        caption="An irrep dominates a hidden unit if its share is more than half-way from chance to all.",
        columns=[str(s) for s in table.step],
        rows=_labels(record),
    )


def _content(record: RunRecord) -> FigureData:
    content = record.table["li2.content"][-1]
    order = np.lexsort((-content.max(1), np.argmax(content, axis=1)))
    return figure.heatmap(
        content[order],
        x="irrep",
        y="hidden unit",
        value="share",
        title="Irreps of single hidden units, at the end",
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
        verdict=verdict,
    ),
)
