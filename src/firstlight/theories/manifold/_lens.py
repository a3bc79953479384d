"""A training run seen from the zero-loss set: how far from it, and how much of each step runs along it.

Where the last layer alone can fit the training rows (at least as many hidden units as rows), distance and tangent are
those of its weights V, in closed form from one n×n factorisation; else those of all weights, by conjugate gradients.
Either costs as much as some ten training steps, so a few recorded steps are measured and the others left out (NaN).
"""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int

from firstlight import flow
from firstlight.models import Model
from firstlight.records import FigureData, RunRecord, RunSpec, figure

Pairs = Callable[[Array, Array], Array]

MEASURED = ("manifold.distance", "manifold.tangential", "manifold.descent")

JITTER = 1e-6
"""Added to the Gram matrix, in units of its mean diagonal: directions weaker than that count as free."""

ITERATIONS = 25
"""Of conjugate gradients, where all weights are needed."""


def is_measured(step: Int[Array, ""] | int) -> Bool[Array, ""]:
    """Whether a step is one of the few: 0, those written 1, 2 or 5 and zeros, and one in 32 of all, evenly scattered.

    An observable does not know which steps are recorded; round numbers are, in most runs, and the rest make sure
    that any other spacing is met too.

    >>> [s for s in range(0, 101, 10) if bool(is_measured(s))]
    [0, 10, 20, 50, 100]
    """
    step = jnp.asarray(step, jnp.int32)
    tens = 10 ** jnp.arange(9, dtype=jnp.int32)
    is_round = jnp.any(step == jnp.concatenate([tens, 2 * tens, 5 * tens[:-1]]))
    # Multiples of the golden ratio are evenly spread over the unit interval.
    scattered = (step.astype(jnp.uint32) * jnp.uint32(2654435769)) < jnp.uint32(2**27)
    return (step == 0) | is_round | scattered


def _from_products(far: Array, step: Array, along: Array, both: Array, radius: Array) -> dict[str, Array]:
    tiny = jnp.finfo(far.dtype).tiny
    return {
        "manifold.distance": jnp.sqrt(jnp.maximum(far, 0.0)),
        "manifold.tangential": jnp.clip(along / jnp.maximum(step, tiny), 0.0, 1.0),
        "manifold.descent": -both / jnp.sqrt(jnp.maximum(along * radius, tiny)),
    }


def by_last_layer(
    H: Float[Array, "n K"],
    V: Float[Array, "K M"],
    before: Float[Array, "K M"],
    residual: Float[Array, "n M"],
    projection: str,
) -> dict[str, Array]:
    """Distance, tangential share and descent of V, in closed form.

    With G = HHᵀ the normal part of a change U of V is Hᵀ G⁻¹ HU, so every product needed is one of the columns of
    L⁻¹[Y − HV, HΔ, HV] with G = LLᵀ.
    """
    n = H.shape[0]
    if projection == "samples":
        H = H - H.mean(0)
    delta = V - before
    G = H @ H.T
    scale = jnp.trace(G) / n
    # The mean over samples is no constraint where the loss projects it out; a constant keeps G invertible there.
    G = G + JITTER * scale * jnp.eye(n, dtype=H.dtype) + (scale / n if projection == "samples" else 0.0)
    columns = [residual, flow.projected(H @ delta, projection), flow.projected(H @ V, projection)]
    L = jax.lax.linalg.cholesky(G)
    solved = jax.lax.linalg.triangular_solve(L, jnp.concatenate(columns, axis=1), left_side=True, lower=True)
    r, d, v = jnp.split(solved, 3, axis=1)
    step = jnp.sum(delta**2)
    along, radius = step - jnp.sum(d**2), jnp.sum(V**2) - jnp.sum(v**2)
    return _from_products(jnp.sum(r**2), step, along, jnp.sum(delta * V) - jnp.sum(d * v), radius)


def by_all_weights(model: Model, previous: Model, outputs: Callable[[Any], Array], residual: Array) -> dict[str, Array]:
    """The same for all weights at once, by conjugate gradients on JJᵀ."""
    params, static = eqx.partition(model, eqx.is_inexact_array)
    theta, tree = ravel_pytree(params)
    before, _ = ravel_pytree(eqx.filter(previous, eqx.is_inexact_array))
    _, push = jax.linearize(lambda flat: outputs(eqx.combine(tree(flat), static)), theta)
    pull = jax.linear_transpose(push, theta)

    def normal(b: Array) -> Array:
        """J⁺b."""
        u, _ = jax.scipy.sparse.linalg.cg(lambda u: push(pull(u)[0]), b, maxiter=ITERATIONS, tol=1e-4)
        return pull(u)[0]

    delta = theta - before
    along, radius = delta - normal(push(delta)), theta - normal(push(theta))
    far = normal(residual)
    return _from_products(far @ far, delta @ delta, along @ along, along @ radius, radius @ radius)


def observe(ctx: flow.Context) -> dict[str, Array]:
    """‖θ‖² at every recorded step, and at the few measured ones the distance and the two shares of the last step."""
    H, V = ctx.model.features(ctx.train_inputs.project), ctx.model.last
    n, K = H.shape
    projection = ctx.loss.projection

    def outputs(model: Model) -> Array:
        return flow.projected(model.apply(ctx.train_inputs.project), projection)

    def measured() -> dict[str, Array]:
        Y = flow.target_matrix(ctx.train_targets, V.shape[1], V.dtype)
        residual = flow.projected(Y, projection) - outputs(ctx.model)
        if n <= K:
            return by_last_layer(H, V, ctx.previous.last, residual, projection)
        return by_all_weights(ctx.model, ctx.previous, outputs, residual)

    def left_out() -> dict[str, Array]:
        return dict.fromkeys(MEASURED, jnp.asarray(jnp.nan, V.dtype))

    squares = [jnp.sum(leaf**2) for leaf in jax.tree.leaves(eqx.filter(ctx.model, eqx.is_inexact_array))]
    values = jax.lax.cond(is_measured(ctx.step), measured, left_out)
    return {"manifold.norm": jnp.sum(jnp.stack(squares)), "manifold.by_V": jnp.asarray(n <= K, V.dtype), **values}


def reason_not_applicable(spec: RunSpec) -> str:
    """Why the lens does not apply: cross-entropy is zero nowhere."""
    if spec.loss.kind == "cross_entropy":
        return "cross-entropy has no zero-loss set; train with loss.kind = 'mse'"
    return ""


def _measured(record: RunRecord) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    rows = np.flatnonzero(np.isfinite(record.table["manifold.distance"]))
    return np.asarray(record.table.step)[rows], {name: record.table[name][rows] for name in MEASURED}


def summarise(record: RunRecord) -> Mapping[str, Any]:
    """When memorisation ended, what the norm did after, how near the zero-loss set the run stayed, and in words."""
    if "manifold.norm" not in record.table or not len(record.table):
        return {"story": "nothing was recorded"}
    steps, norm = np.asarray(record.table.step), record.table["manifold.norm"]
    learned = record.table["train_accuracy"] >= 0.99 if "train_accuracy" in record.table else np.zeros(len(steps), bool)
    start = int(np.argmax(learned)) if learned.any() else None
    at, columns = _measured(record)
    values: dict[str, Any] = {
        "memorised_at": None if start is None else int(steps[start]),
        "norm_first": float(norm[0]),
        "norm_at_memorisation": None if start is None else float(norm[start]),
        "norm_last": float(norm[-1]),
        "weights": "V" if record.table["manifold.by_V"][0] else "all weights",
    }
    if len(at):
        values["measured_at"] = int(at[-1])
        values |= {name.removeprefix("manifold."): float(column[-1]) for name, column in columns.items()}
    return {**values, "story": _story(record, values)}


def _story(record: RunRecord, values: Mapping[str, Any]) -> str:
    if values["memorised_at"] is None:
        told = f"‖θ‖² went from {values['norm_first']:.3g} to {values['norm_last']:.3g}; it never memorised"
    else:
        told = (
            f"memorised at step {values['memorised_at']}, after which ‖θ‖² went from "
            f"{values['norm_at_memorisation']:.3g} to {values['norm_last']:.3g}"
        )
    if "distance" in values:
        told += (
            f"; at step {values['measured_at']} {values['weights']} lay {values['distance']:.3g} from fitting every "
            f"training row exactly"
        )
    if values.get("measured_at", 0) > 0:
        told += (
            f", {values['tangential']:.0%} of the last step ran along the zero-loss set, at cosine "
            f"{values['descent']:.2f} with the way down the norm"
        )
    return f"{told}. {_theory(record.spec)}"


def _theory(spec: RunSpec) -> str:
    optimizer = spec.optimizer
    if optimizer.weight_decay == 0:
        return "Without weight decay nothing drives a run along the zero-loss set."
    if not flow.is_coupled(optimizer):
        return (
            f"The decoupled decay of {optimizer.name} does not minimise the norm, so the theory does not describe "
            "this run."
        )
    if optimizer.name == "sgd":
        return "This is gradient descent with L2 decay, the case of the theory: as λ → 0 share and cosine tend to 1."
    return f"{optimizer.name} rescales each gradient: its minima are those of the theory, its way there is not."


def figure_data(record: RunRecord) -> tuple[FigureData, ...]:
    """The norm at every recorded step; distance and shares at the measured ones."""
    if "manifold.norm" not in record.table or not len(record.table):
        return ()
    steps = np.asarray(record.table.step)
    at, columns = _measured(record)
    whose = "V" if record.table["manifold.by_V"][0] else "all weights"
    panels = [
        figure.curves([figure.Series("‖θ‖²", steps, record.table["manifold.norm"])], x="step", y="‖θ‖²", title="Norm")
    ]
    if len(at):
        far = figure.Series("distance", at, np.maximum(columns["manifold.distance"], 1e-12))
        panels.append(
            figure.curves(
                [far], x="step", y=figure.Axis("distance", scale="log"), title=f"From the zero-loss set ({whose})"
            )
        )
    if len(at) > 1:
        shares = [
            figure.Series("share of the step along it", at[1:], columns["manifold.tangential"][1:]),
            figure.Series("cosine with the way down the norm", at[1:], columns["manifold.descent"][1:]),
        ]
        panels.append(figure.curves(shares, x="step", y="share, cosine", title="Along the zero-loss set"))
    caption = "In the limit of the theory, gradient descent with L2 decay, share and cosine are 1 after memorisation."
    return (figure.panels(panels, columns=3, title="Seen from the zero-loss set", caption=caption),)


LENSES: tuple[flow.Lens, ...] = (
    flow.Lens(
        name="manifold",
        title="Norm minimisation on the zero-loss set",
        observables=(observe,),
        reason_not_applicable=reason_not_applicable,
        summarise=summarise,
        figure_data=figure_data,
    ),
)
