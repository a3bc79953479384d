"""What is measured along a run: pure functions of a context, computed on the device at recorded steps."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from firstlight.flow import _dense
from firstlight.flow._objective import accuracy, objective
from firstlight.groups import Group
from firstlight.models import named_parameters
from firstlight.records._spec import Loss


@dataclass(frozen=True)
class TaskFacts:
    """What an observable may know of a task beside its arrays; equal facts share a compilation."""

    name: str
    outputs: int
    group: Group | None


@dataclass(frozen=True)
class Context:
    """Everything an observable may look at; what it does not touch is not computed.

    `previous` holds the parameters one step earlier (equal to `model` at step 0) and `gradients` the gradient of
    the training loss at `model`, without weight decay. `task` carries the name, the number of outputs and the
    group, never rows.
    """

    step: Array
    model: Any
    previous: Any
    gradients: Any
    train_inputs: Any
    train_targets: Array
    test_inputs: Any
    test_targets: Array
    loss: Loss
    task: TaskFacts

    @cached_property
    def train_outputs(self) -> Array:
        """The outputs on the training rows, evaluated once for all observables that ask."""
        return _dense.outputs(self.model, self.train_inputs)

    @cached_property
    def test_outputs(self) -> Array:
        """The outputs on the test rows, evaluated once for all observables that ask."""
        return _dense.outputs(self.model, self.test_inputs)


Observable = Callable[[Context], Mapping[str, Array]]


def standard(ctx: Context) -> dict[str, Array]:
    """Loss and accuracy on both halves of the split (test columns only where there are test rows)."""
    values: dict[str, Array] = {}
    for half, inputs, targets in (
        ("train", ctx.train_inputs, ctx.train_targets),
        ("test", ctx.test_inputs, ctx.test_targets),
    ):
        if len(inputs) == 0:
            continue
        o = getattr(ctx, f"{half}_outputs")
        values[f"{half}_loss"] = objective(o, targets, ctx.loss)
        if targets.ndim == 1:
            values[f"{half}_accuracy"] = accuracy(o, targets)
    return values


def norms(ctx: Context) -> dict[str, Array]:
    """Frobenius norm of each parameter and of its last step, in columns `norm.<name>` and `step_norm.<name>`."""
    now, before = named_parameters(ctx.model), named_parameters(ctx.previous)
    values = {f"norm.{name}": jnp.linalg.norm(array.ravel()) for name, array in now.items()}
    moved = {f"step_norm.{name}": jnp.linalg.norm((now[name] - before[name]).ravel()) for name in now}
    return values | moved
