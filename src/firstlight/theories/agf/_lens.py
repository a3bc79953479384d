"""A training run seen by AGF: is its loss a staircase, which neurons are awake, and when will the next one wake?"""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from firstlight.flow import Context, Lens
from firstlight.models import activation
from firstlight.records import FigureData, RunRecord, RunSpec, figure

AWAKE = 1.0
"""The norm from which a neuron counts as active, as in Algorithm 1."""


def waits(norm: Float[Array, " K"], rate: Float[Array, " K"], kappa: float) -> Float[Array, " K"]:
    r"""How long each dormant neuron still takes to norm one at its present utility, infinite where it does not grow.

    $$-\log\lVert\theta\rVert / \dot\rho \;(\kappa = 2), \qquad
      (1 - \lVert\theta\rVert^{\kappa-2}) / ((\kappa-2)\,\dot\rho) \;(\kappa > 2), \qquad
      \dot\rho = d\log\lVert\theta\rVert/dt$$

    (AGF, eq. 3, with the utility held constant.)
    """
    left = -jnp.log(norm) if kappa == 2 else (1 - norm ** (kappa - 2)) / (kappa - 2)
    return jnp.where((norm < AWAKE) & (rate > 0), left / jnp.maximum(rate, jnp.finfo(rate.dtype).tiny), jnp.inf)


def observe(ctx: Context) -> dict[str, Array]:
    """How many neurons are active, the largest dormant norm, and the time of flow until the next one wakes."""
    W, V = ctx.model.W, ctx.model.V
    norm2 = jnp.sum(W**2, axis=0) + jnp.sum(V**2, axis=1)
    tiny = jnp.finfo(norm2.dtype).tiny
    norm2 = jnp.maximum(norm2, tiny)
    down = jnp.sum(W * ctx.gradients.W, axis=0) + jnp.sum(V * ctx.gradients.V, axis=1)
    norm = jnp.sqrt(norm2)
    dormant = norm < AWAKE
    return {
        "agf.active": jnp.sum(~dormant).astype(norm.dtype),
        "agf.largest_dormant": jnp.max(jnp.where(dormant, norm, 0.0)),
        "agf.wait": jnp.min(waits(norm, -down / norm2, 1.0 + ctx.model.activation.homogeneity_at_zero)),
    }


def reason_not_applicable(spec: RunSpec) -> str:
    """Why the lens does not apply."""
    if spec.loss.kind != "mse":
        return "AGF is about the squared error; train with loss.kind = 'mse'"
    if spec.model.kind != "two_layer" or spec.model.bias:
        return "it needs a two_layer model without bias"
    if float(activation(spec.model.activation)(0.0)) != 0.0:
        return f"it needs an activation with σ(0) = 0, and {spec.model.activation} is not one"
    return ""


def falls(steps: Any, loss: Any, share: float = 0.05) -> tuple[list[float], float]:
    """Where the loss falls, as the steps of its separate falls, and the share of the time in which it does.

    A fall is a stretch in which the loss goes down faster than on average and that takes at least a `share` of the
    whole way.

    >>> t = np.arange(100.0)
    >>> falls(t, np.where(t < 50, 1.0, 0.0))
    ([50.0], 0.01...)
    """
    t, L = np.asarray(steps, float), np.asarray(loss, float)
    if len(t) < 3 or not np.isfinite(L).all() or L[0] <= L.min():
        return [], 1.0
    rate = -np.diff(L) / np.diff(t)
    moving = rate > (L[0] - L.min()) / (t[-1] - t[0])
    edges = np.flatnonzero(np.diff(np.concatenate([[0], moving.astype(int), [0]])))
    found = []
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        if L[start] - L[end] >= share * (L[0] - L.min()):
            middle = (L[start] + L[end]) / 2
            found.append(float(t[start:][np.argmax(L[start:] <= middle)]))
    return found, float(np.diff(t)[moving].sum() / (t[-1] - t[0]))


def summarise(record: RunRecord) -> Mapping[str, Any]:
    """Jumps of the loss, the share of time in motion, active neurons, and the step at which the next should wake."""
    table = record.table
    if "agf.wait" not in table or not len(table):
        return {"story": "nothing was recorded"}
    steps = np.asarray(table.step)
    jumps, motion = falls(steps, table["train_loss"])
    wait, optimizer = float(table["agf.wait"][-1]), record.spec.optimizer
    following = optimizer.name == "sgd" and optimizer.batch_size is None
    # Momentum μ makes plain gradient descent faster by 1/(1 − μ).
    rate = optimizer.learning_rate / (1 - (getattr(optimizer, "momentum", 0.0) or 0.0))
    due = int(steps[-1] + wait / rate) if following and np.isfinite(wait) else None
    values = {
        "jumps": jumps,
        "in_motion": motion,
        "is_staircase": bool(jumps) and motion < 0.25,
        "active_first": int(table["agf.active"][0]),
        "active_last": int(table["agf.active"][-1]),
        "wait": wait,
        "next_step": due,
    }
    return {**values, "story": _story(values, following)}


def _story(values: Mapping[str, Any], following: bool) -> str:
    if values["active_first"]:
        start = f"{values['active_first']} neurons start with a norm above 1, so this is no small initialisation"
    else:
        start = "all neurons start dormant"
    shape = "a staircase" if values["is_staircase"] else "no staircase"
    told = f"{start}; the loss is {shape} ({len(values['jumps'])} falls, moving {values['in_motion']:.0%} of the time)"
    told += f"; {values['active_last']} neurons are active at the end"
    if values["next_step"] is not None:
        return f"{told}, and at its present utility the next wakes at about step {values['next_step']}."
    if not following:
        return f"{told}. AGF times full-batch gradient descent; other optimizers keep its order at best."
    return f"{told}, and no dormant one is growing."


def figure_data(record: RunRecord) -> tuple[FigureData, ...]:
    """The loss with its falls, and the number of active neurons."""
    if "agf.wait" not in record.table or not len(record.table):
        return ()
    steps, loss = np.asarray(record.table.step), record.table["train_loss"]
    jumps, _ = falls(steps, loss)
    marks = {f"fall {i + 1}": at for i, at in enumerate(jumps[:8])}
    panels = [
        figure.curves([figure.Series("training loss", steps, loss)], x="step", y="loss", title="Loss", vertical=marks),
        figure.curves(
            [figure.Series("active", steps, record.table["agf.active"])], x="step", y="neurons", title="Active neurons"
        ),
    ]
    return (figure.panels(panels, title="Seen by alternating gradient flows"),)


LENSES: tuple[Lens, ...] = (
    Lens(
        name="agf",
        title="Staircases and the next neuron to wake",
        observables=(observe,),
        reason_not_applicable=reason_not_applicable,
        summarise=summarise,
        figure_data=figure_data,
    ),
)
"""What `runs` collects."""
