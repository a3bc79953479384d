"""CoGO's view of a run: how the monomial potentials moved, and how many nodes each frequency took."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.flow import Lens
from firstlight.groups import parse
from firstlight.records import FigureData, GroupTask, RunRecord, RunSpec, figure
from firstlight.theories.cogo._frequencies import frequencies
from firstlight.theories.cogo._observe import observe_potentials


def _reason_not_applicable(spec: RunSpec) -> str:
    task, model = spec.task, spec.model
    if not isinstance(task, GroupTask) or task.encoding != "onehot" or task.factors != 2:
        return "it needs a group task of two factors in onehot encoding"
    if not parse(task.group).is_abelian:
        return f"it needs an Abelian group, and {task.group} is not one"
    if model.kind != "two_layer" or model.activation != "quadratic" or model.bias:
        return "it needs a two_layer model with quadratic activation and without bias"
    return ""


def _summarise(record: RunRecord) -> Mapping[str, Any]:
    if "cogo.orders" not in record.table:
        return {}
    d = parse(_group(record)).order
    orders = [int(n) for n in record.table["cogo.orders"][-1]]
    counts = {f"order_{n}": orders.count(n) for n in (0, 4, 6)}
    other = len(orders) - sum(counts.values())
    total, limit = float(record.table["cogo.sum_diagonal"][-1]), (d - 1) / (2 * d)
    story = (
        f"{counts['order_4']} frequencies have 4 nodes, {counts['order_6']} have 6, {other} another number and "
        f"{counts['order_0']} none; Σ r_kkk is {total:.3f}, and {limit:.3f} at an optimum"
    )
    return {**counts, "order_other": other, "orders": orders, "sum_diagonal": total, "limit": limit, "story": story}


def _group(record: RunRecord) -> str:
    return record.spec.task.group if isinstance(record.spec.task, GroupTask) else ""


def _figures(record: RunRecord) -> tuple[FigureData, ...]:
    table = record.table
    if "cogo.orders" not in table:
        return ()
    f, step = frequencies(parse(_group(record))), table.step
    orders = table["cogo.orders"][-1]
    names = [f.label(k) for k in f.halves]
    main = figure.curves(
        [
            figure.Series("Σ r_kkk", step, table["cogo.sum_diagonal"]),
            figure.Series("other r, root mean square", step, table["cogo.off_diagonal"]),
        ],
        x="step",
        y="monomial potential",
        title="The diagonal grows, the rest fades",
        horizontal={"(d − 1)/2d": (f.d - 1) / (2 * f.d)},
    )
    nodes = figure.bars(names, {"nodes": orders}, x="frequency", y="nodes", title="Nodes per frequency at the end")
    series = [figure.Series(f"order {n}", step, _mean(table["cogo.a0kk"], orders == n)) for n in (4, 6) if n in orders]
    if not series:
        return main, nodes
    tell = figure.curves(series, x="step", y="mean |r_a0kk|", title="What tells order 4 from order 6")
    return main, nodes, tell


def _mean(column: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    return column[:, chosen].mean(axis=1)


LENSES: tuple[Lens, ...] = (
    Lens(
        name="cogo",
        title="Monomial potentials and nodes per frequency",
        observables=(observe_potentials,),
        reason_not_applicable=_reason_not_applicable,
        summarise=_summarise,
        figure_data=_figures,
    ),
)
"""What `runs` collects."""
