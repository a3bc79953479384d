"""Optax transformations from an `Optimizer` record.

Learning rate and weight decay are arguments of the compiled step, not constants in it. Runs that differ only in these
two numbers share one compilation.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float
from optax.contrib import muon

from firstlight.models import named_parameters
from firstlight.records import Optimizer, Schedule


class Rates(NamedTuple):
    """Learning rate and weight decay, which may differ between runs of one compiled program."""

    learning_rate: Array
    weight_decay: Array


def rates(optimizer: Optimizer, dtype: Any) -> Rates:
    """Return learning rate and weight decay as arrays."""
    return Rates(jnp.asarray(optimizer.learning_rate, dtype), jnp.asarray(optimizer.weight_decay, dtype))


def is_coupled(optimizer: Optimizer) -> bool:
    """Return whether weight decay enters the gradient (L2) rather than the update.

    >>> is_coupled(Optimizer(name="adam")), is_coupled(Optimizer(name="adamw"))
    (True, False)
    """
    if optimizer.decay == "auto":
        return optimizer.name in ("sgd", "adam")
    return optimizer.decay == "coupled"


def schedule(shape: Schedule, step: Array | int, steps: Array | int) -> Float[Array, ""]:
    """Return the multiplier of the learning rate at `step` of `steps`: warm-up, then the schedule's shape.

    >>> [round(float(schedule(Schedule(shape="linear"), s, 4)), 2) for s in range(4)]
    [1.0, 0.75, 0.5, 0.25]
    """
    progress = jnp.clip((step - shape.warmup) / jnp.maximum(steps - shape.warmup, 1), 0.0, 1.0)
    decayed = {
        "constant": jnp.ones_like(progress),
        "linear": 1 - (1 - shape.final) * progress,
        "cosine": shape.final + (1 - shape.final) * 0.5 * (1 + jnp.cos(jnp.pi * progress)),
    }[shape.shape]
    return decayed * jnp.minimum(1.0, (step + 1) / (shape.warmup + 1))


def _direction(optimizer: Optimizer) -> optax.GradientTransformation:
    """Return the optimizer without learning rate and decay; its updates are subtracted from the parameters."""
    b1, b2, eps = optimizer.beta1, optimizer.beta2, optimizer.epsilon
    if optimizer.name == "sgd":
        return optax.trace(optimizer.momentum) if optimizer.momentum else optax.identity()
    if optimizer.name == "muon":
        beta = 0.95 if optimizer.momentum is None else optimizer.momentum
        return optax.chain(muon(1.0, beta=beta, eps=eps, adam_b1=b1, adam_b2=b2), optax.scale(-1.0))
    return optax.scale_by_adam(b1, b2, eps)


def _layer_rates(params: Any, optimizer: Optimizer) -> Any:
    """Return the multiplier of each parameter's learning rate, in the structure of `params`."""
    names = list(named_parameters(params))
    unknown = set(optimizer.layer_rates) - set(names)
    if unknown:
        raise ValueError(f"layer_rates names {sorted(unknown)}, but this model has {names}")
    values = [optimizer.layer_rates.get(name, 1.0) for name in names]
    return jax.tree.unflatten(jax.tree.structure(params), values)


def init(optimizer: Optimizer, params: Any) -> Any:
    """Return the optimizer's state before the first step."""
    _layer_rates(params, optimizer)
    return _direction(optimizer).init(params)


def update(
    optimizer: Optimizer,
    rates: Rates,
    params: Any,
    grads: Any,
    state: Any,
    step: Array | int,
    steps: Array | int,
) -> tuple[Any, Any]:
    """Return parameters and optimizer state after one step."""

    def decay(tree: Any) -> Any:
        return jax.tree.map(lambda g, p: g + rates.weight_decay * p, tree, params)

    coupled = is_coupled(optimizer)
    direction, state = _direction(optimizer).update(decay(grads) if coupled else grads, state, params)
    direction = direction if coupled else decay(direction)
    rate = rates.learning_rate * schedule(optimizer.schedule, step, steps).astype(rates.learning_rate.dtype)
    multipliers = _layer_rates(params, optimizer)
    return jax.tree.map(lambda p, d, m: p - rate * m * d, params, direction, multipliers), state
