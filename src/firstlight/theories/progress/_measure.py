"""The progress measures of a network at one moment."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from firstlight import features, flow
from firstlight._suggest import did_you_mean
from firstlight.groups import Group
from firstlight.models import Model
from firstlight.tasks import IndexInputs, Split


@dataclass(frozen=True)
class ProgressMeasures:
    """The progress measures of a network.

    **Attributes:**

    - `keys`: labels of the key irreps.
    - `restricted_loss`: loss on all pairs of the logits with only the constant and the key irreps of the product left.
    - `excluded_loss`: loss on the training pairs of the logits with the key irreps of the product removed.
    - `formula_fit`: share of the logits' variance that Σ_ρ α_ρ χ_ρ(abc⁻¹) over the key irreps explains.
    - `gini_embedding`: Gini coefficient of the irreps' norms in the embedding; near 1 if few irreps hold the weights.
    - `gini_output`: the same for the weights from the hidden units to the outputs.
    - `labels`: labels of all real components, in the order of the arrays.
    - `shares`: (C,) share of each irrep of the product in the variance of the held-out logits.
    - `coefficients`: (C,) α of each irrep; 0 if it is not key.
    - `embedding`: (C,) norm of the embedding on each irrep, per dimension.
    - `orbits`: (C,) how far the embedding on each irrep is an orbit of the group; 1 for a circle.
    """

    keys: tuple[str, ...]
    restricted_loss: float
    excluded_loss: float
    formula_fit: float
    gini_embedding: float
    gini_output: float
    labels: tuple[str, ...]
    shares: Float[np.ndarray, " C"]
    coefficients: Float[np.ndarray, " C"]
    embedding: Float[np.ndarray, " C"]
    orbits: Float[np.ndarray, " C"]

    def __repr__(self) -> str:
        keys = ", ".join(self.keys) or "none"
        return (
            f"ProgressMeasures(keys {keys}; restricted loss {self.restricted_loss:.3g}, "
            f"excluded loss {self.excluded_loss:.3g}, formula fit {self.formula_fit:.3f}, "
            f"Gini {self.gini_embedding:.3f} and {self.gini_output:.3f})"
        )


def measure(
    model: Model, split: Split, loss: flow.Loss | None = None, keys: Sequence[str] | None = None
) -> ProgressMeasures:
    """Measure how far a network computes the product of a group through a few irreps.

    **Arguments:**

    - `model`: a network for the split's task.
    - `split`: training and test rows of a group task of two factors. The key irreps are found on the test rows if
      there are three for each product, else on all rows.
    - `loss`: conventions of the loss; cross-entropy if not given.
    - `keys`: labels of the key irreps; those of this network if not given. Pass the keys of a trained network to
      follow the same irreps through its training, as Nanda et al. do.

    >>> import jax
    >>> from firstlight import flow, models, tasks
    >>> split = tasks.group_task("Z5").split(fraction=0.9)
    >>> run = flow.train(lambda key: models.TwoLayer.for_task(split.task, key, width=128), split, steps=400)
    >>> measure(run.lanes[0].model, split, flow.Loss()).keys
    ('±1', '±2')
    """
    group = _group(split)
    loss = loss or flow.Loss(kind="cross_entropy", projection="none")
    labels = tuple(component.label for component in group.real_components())
    given = None if keys is None else np.isin(labels, _known(keys, labels))
    with jax.enable_x64(True):
        model = jax.tree.map(lambda a: jnp.asarray(a, jnp.float64), model)
        L, held_out = logit_table(model, split)
        values = measures(model, L, held_out, 1 - _table(split.test_inputs, group), group, loss, given)
        values = {name: np.asarray(value) for name, value in values.items()}
    chosen = values.pop("keys")
    numbers: dict[str, Any] = {name: float(value) if value.ndim == 0 else value for name, value in values.items()}
    return ProgressMeasures(
        keys=tuple(label for label, key in zip(labels, chosen, strict=True) if key), labels=labels, **numbers
    )


def logit_table(model: Model, split: Split) -> tuple[Float[Array, "M M M"], Float[Array, "M M"]]:
    """Return the network's outputs for every pair (a, b), and the pairs that are held out (all, if too few are).

    >>> import jax
    >>> from firstlight import models, tasks
    >>> split = tasks.group_task("S3").split(fraction=0.5)
    >>> L, held_out = logit_table(models.TwoLayer.for_task(split.task, jax.random.key(0), width=8), split)
    >>> L.shape, int(held_out.sum())
    ((6, 6, 6), 18)
    """
    group = _group(split)
    halves = [(half, flow.outputs(model, half)) for half in (split.train_inputs, split.test_inputs) if len(half)]
    return fill_table(halves, group), held_out_pairs(split.test_inputs, group)


def held_out_pairs(test_inputs: Any, group: Group) -> Float[Array, "M M"]:
    """Return 1 for each test pair and 0 for others; 1 everywhere if there are fewer than three test pairs per product.

    The mean over very few pairs of a product is mostly noise.
    """
    few = len(test_inputs) < 3 * group.order
    return jnp.ones((group.order, group.order)) if few else _table(test_inputs, group)


def fill_table(halves: Sequence[tuple[Any, Array]], group: Group) -> Float[Array, "M M M"]:
    """Return the table of outputs (a, b, c) from the outputs on sets of rows that together hold every pair."""
    M = group.order
    L = jnp.zeros((M, M, halves[0][1].shape[1]), halves[0][1].dtype)
    for inputs, outputs in halves:
        a, b = elements(inputs, M)
        L = L.at[a, b].set(outputs)
        if inputs.dim == M:  # summed inputs list each unordered pair once
            L = L.at[b, a].set(outputs)
    return L


def elements(inputs: Any, order: int) -> tuple[Array, Array]:
    """Return the two elements of each row."""
    rows = jnp.asarray(inputs.rows)
    return rows[:, 0], rows[:, 1] % order


def _table(inputs: Any, group: Group) -> Float[Array, "M M"]:
    a, b = elements(inputs, group.order)
    table = jnp.zeros((group.order, group.order)).at[a, b].set(1.0)
    return jnp.maximum(table, table.T) if inputs.dim == group.order else table


def measures(
    model: Model,
    L: Float[Array, "M M M"],
    held_out: Float[Array, "M M"],
    trained: Float[Array, "M M"],
    group: Group,
    loss: flow.Loss,
    keys: np.ndarray | None = None,
) -> dict[str, Array]:
    """Compute every measure; the names are those of `ProgressMeasures`, and `keys` is (C,) booleans.

    **Arguments:**

    - `model`: the network.
    - `L`: its table of logits.
    - `held_out`: pairs on which the key irreps are found.
    - `trained`: pairs on which the excluded loss is taken.
    - `group`: the group.
    - `loss`: conventions of the loss.
    - `keys`: (C,) the key components; those of the table if not given.
    """
    M = group.order
    shares = features.product_shares(L, group, held_out)
    chosen = features.key_components(shares, group) if keys is None else jnp.asarray(keys)
    restricted = features.restricted_logits(L, group, chosen).reshape(M * M, M)
    excluded = features.excluded_logits(L, group, chosen).reshape(M * M, M)
    targets = jnp.asarray(group.table.ravel())
    formula = features.logit_formula(L, group, chosen)
    return {
        "keys": chosen,
        "restricted_loss": flow.objective(restricted, targets, loss),
        "excluded_loss": _loss_on(excluded, targets, trained.ravel(), loss),
        "formula_fit": formula.fit,
        "gini_embedding": features.irrep_gini(model.embedding, group),
        "gini_output": features.irrep_gini(model.readout.T, group),
        "shares": shares,
        "coefficients": formula.coefficients,
        "embedding": features.component_norms(model.embedding, group),
        "orbits": features.orbit_shares(model.embedding, group),
    }


def _loss_on(outputs: Array, targets: Array, weights: Array, loss: flow.Loss) -> Array:
    """Return the loss on the rows of weight 1, whose number a compiled program does not know."""
    plain = loss.model_copy(update={"reduction": "sum"})
    if loss.projection == "samples" and loss.kind == "mse":
        residual = outputs - flow.target_matrix(targets, outputs.shape[1], outputs.dtype)
        mean = weights @ residual / jnp.maximum(weights.sum(), 1.0)
        squares = jnp.sum((residual - mean) ** 2, axis=1) * loss.factor
    else:
        squares = jax.vmap(lambda o, y: flow.objective(o[None], y[None], plain))(outputs, targets)
    total = weights @ squares
    return total / jnp.maximum(weights.sum(), 1.0) if loss.reduction == "mean" else total


def _group(split: Split) -> Group:
    task = split.task
    if task.group is None or not isinstance(task.inputs, IndexInputs) or task.inputs.rows.shape[1] != 2:
        raise ValueError(f"progress measures need a group task of two factors, got {task.name!r}")
    if not task.is_classification:
        raise ValueError(
            f"progress measures need classes as targets, got the {task.encoding} encoding of {task.name!r}"
        )
    if task.encoding == "summed" and not task.group.is_abelian:
        raise ValueError(f"summed inputs do not determine the product in {task.group.name}; use encoding='onehot'")
    return task.group


def _known(keys: Sequence[str], labels: Sequence[str]) -> list[str]:
    for key in keys:
        if key not in labels[1:]:
            hint = did_you_mean(str(key), labels[1:])
            raise ValueError(f"unknown irrep {key!r}; {hint}The nontrivial irreps are {', '.join(labels[1:])}")
    return list(keys)
