"""The lens of the progress measures: when it applies, the summary of a run, its figures, and the verdict."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from firstlight import flow, groups
from firstlight.features import KEY_SHARE
from firstlight.records import LEARNED, FigureData, GroupTask, RunRecord, RunSpec, TheoryVerdict, figure, first_row
from firstlight.theories.progress._measure import elements, fill_table, held_out_pairs, measures

FIGURE = "Progress measures"
"""Title of the figure that shows the measures over the run."""

LARGEST = 256
"""Largest order of a group: the table of logits has its cube of entries."""

FITTED = 0.5
"""Share of the logits' variance that the formula explains, from which a network counts as computing by irreps.

By chance the share is near 1/M². More than half means that no other description explains as much. Transformers of the
preset `nanda` reach 0.93 on Z113, and 0.40 to 0.46 on A5, where the formula does not describe most of the logits.
"""

_SCALARS = ("restricted_loss", "excluded_loss", "formula_fit", "gini_embedding", "gini_output")
_VECTORS = ("shares", "embedding", "orbits")


def reason_not_applicable(spec: RunSpec) -> str:
    """Return '' if the lens applies to a spec, else the reason."""
    task = spec.task
    if not isinstance(task, GroupTask) or task.factors != 2:
        return "it reads the table of products of two elements of a finite group"
    if task.encoding == "template":
        return "it reads logits of classes, and template targets are not classes"
    group = groups.of_task(task)
    if task.encoding == "summed" and not group.is_abelian:
        return f"summed inputs do not determine the product in {task.group}"
    if not 2 <= group.order <= LARGEST:
        return f"it needs a group of 2 to {LARGEST} elements, and {task.group} has {group.order}"
    return ""


def observe(ctx: flow.Context) -> dict[str, Array]:
    """Measure the network on the table of all pairs, from the outputs that the run evaluates anyway."""
    group = ctx.task.group
    if group is None:
        raise ValueError("progress measures need the task of a finite group")
    halves = [(ctx.train_inputs, ctx.train_outputs)]
    if len(ctx.test_inputs):
        halves.append((ctx.test_inputs, ctx.test_outputs))
    L = fill_table(halves, group)
    a, b = elements(ctx.train_inputs, group.order)
    trained = jnp.zeros((group.order, group.order), L.dtype).at[a, b].set(1.0)
    held_out = held_out_pairs(ctx.test_inputs, group).astype(L.dtype)
    values = measures(ctx.model, L, held_out, trained, group, ctx.loss)
    return {f"progress.{name}": values[name] for name in (*_SCALARS, *_VECTORS)}


def _has_rows(record: RunRecord) -> bool:
    return "progress.shares" in record.table and len(record.table) > 0


def _group(record: RunRecord) -> groups.Group:
    task = record.spec.task
    return groups.of_task(task if isinstance(task, GroupTask) else GroupTask(group=""))


def _keys(record: RunRecord) -> list[str]:
    """Return the key irreps at the end, largest share first."""
    group, shares = _group(record), np.asarray(record.table["progress.shares"][-1], float)
    sizes = np.array([c.size for c in group.real_components()])
    level = KEY_SHARE * sizes / (group.order - 1)
    order = [i for i in np.argsort(-shares, kind="stable") if i and shares[i] >= level[i]]
    return [group.real_components()[i].label for i in order]


def _named(keys: list[str]) -> str:
    shown = [key.replace("±", "") for key in keys[:8]]
    more = f" and {len(keys) - 8} more" if len(keys) > 8 else ""
    return ", ".join(shown) + more


def summarise(record: RunRecord) -> Mapping[str, Any]:
    """Return the key irreps, the last measures, and `story`, the same in a sentence."""
    if not _has_rows(record):
        return {"story": "nothing was recorded"}
    last = {name: float(record.table[f"progress.{name}"][-1]) for name in _SCALARS}
    finite = {name: value if np.isfinite(value) else None for name, value in last.items()}
    keys, orbits = _keys(record), np.asarray(record.table["progress.orbits"][-1], float)
    labels = [component.label for component in _group(record).real_components()]
    on_orbit = {key: float(orbits[labels.index(key)]) for key in keys}
    story = (
        f"The held-out logits depend on the product through {len(keys)} irreps: {_named(keys)}. Their characters "
        f"explain {last['formula_fit']:.2f} of the variance of all logits."
        if keys
        else "No irrep of the product explains a notable part of the held-out logits."
    )
    return {"keys": keys, "orbits": on_orbit, **finite, "story": story}


def figure_data(record: RunRecord) -> tuple[FigureData, ...]:
    """Return the losses, the sparsities with the fit of the formula, and the share of every irrep at the end."""
    if not _has_rows(record):
        return ()
    table, x = record.table, figure.time_axis(record.spec)

    def series(names: Mapping[str, str]) -> list[figure.Series]:
        return [figure.Series(shown, table.step, table[name]) for shown, name in names.items() if name in table]

    losses = {
        "train": "train_loss",
        "test": "test_loss",
        "restricted to key irreps, all pairs": "progress.restricted_loss",
        "key irreps excluded, training pairs": "progress.excluded_loss",
    }
    shares = {
        "Gini of the embedding": "progress.gini_embedding",
        "Gini of the output weights": "progress.gini_output",
        "fit of the logit formula": "progress.formula_fit",
    }
    components = _group(record).real_components()[1:]
    panels = [
        figure.curves(series(losses), x=x, y=figure.Axis("loss", scale="log"), title="Losses"),
        figure.curves(series(shares), x=x, y="share", title="Sparsity and fit"),
        figure.bars(
            [component.label for component in components],
            {"last row": np.asarray(table["progress.shares"][-1], float)[1:]},
            x="irrep",
            y="share of the held-out logits' variance",
            title="Irreps of the product",
        ),
    ]
    caption = (
        "Restricted loss keeps only the key irreps of the product, excluded loss removes them. The key irreps are "
        "those of each row."
    )
    return (figure.panels(panels, columns=3, title=FIGURE, caption=caption),)


def verdict(record: RunRecord) -> TheoryVerdict | None:
    """Compare the fit of the logit formula with `FITTED`, in a run that has generalised."""
    if not _has_rows(record):
        return None
    fit, keys = float(record.table["progress.formula_fit"][-1]), _keys(record)
    measured = f"fit {fit:.2f} with {len(keys)} irreps" if np.isfinite(fit) else ""
    learned = first_row(record.table, "test_accuracy", LEARNED) if "test_accuracy" in record.table else None
    if learned is None or not np.isfinite(fit):
        sentence = "The network has not generalised, so there is no circuit to compare with."
        return TheoryVerdict(
            theory="progress", measured=measured, agrees="does not apply", sentence=sentence, look_at=FIGURE
        )
    agrees = fit >= FITTED
    sentence = (
        "The network has generalised, and characters of its key irreps explain most of its logits."
        if agrees
        else "The network has generalised, but characters of its key irreps do not explain most of its logits."
    )
    return TheoryVerdict(
        theory="progress",
        predicted=f"characters of the key irreps explain at least {FITTED:g} of the logits",
        measured=measured,
        agrees="yes" if agrees else "no",
        sentence=sentence,
        look_at=FIGURE,
    )


LENSES: tuple[flow.Lens, ...] = (
    flow.Lens(
        name="progress",
        title="The circuit of irreps",
        observables=(observe,),
        reason_not_applicable=reason_not_applicable,
        summarise=summarise,
        figure_data=figure_data,
        verdict=verdict,
    ),
)
"""The lens that `runs` collects."""
