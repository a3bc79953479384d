"""Observables: pure functions of a context, computed on the device at recorded steps."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from firstlight.flow import _dense
from firstlight.flow._objective import accuracy, objective, target_matrix
from firstlight.groups import Group
from firstlight.models import named_parameters
from firstlight.records import Loss


@dataclass(frozen=True)
class TaskFacts:
    """The facts of a task that are compiled into an observable; equal facts share a compilation.

    **Attributes:**

    - `name`: name of the task.
    - `outputs`: number of outputs M.
    - `group`: the group of the task, or None.
    """

    name: str
    outputs: int
    group: Group | None


@dataclass(frozen=True)
class Context:
    """The arguments of an observable; XLA computes only the parts that an observable reads.

    **Attributes:**

    - `step`: the recorded step.
    - `model`: the network at this step.
    - `previous`: the network one step earlier; equal to `model` at step 0.
    - `gradients`: the gradient of the training loss at `model`, without weight decay.
    - `train_inputs`: inputs of the training rows.
    - `train_targets`: targets of the training rows.
    - `test_inputs`: inputs of the test rows, possibly none.
    - `test_targets`: targets of the test rows.
    - `loss`: conventions of the loss.
    - `task`: name, number of outputs and group of the task.
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
        """Outputs on the training rows, evaluated once for all observables."""
        return _dense.outputs(self.model, self.train_inputs)

    @cached_property
    def test_outputs(self) -> Array:
        """Outputs on the test rows, evaluated once for all observables."""
        return _dense.outputs(self.model, self.test_inputs)


Observable = Callable[[Context], Mapping[str, Array]]


def standard(ctx: Context) -> dict[str, Array]:
    """Return loss and accuracy on the training rows and, if there are any, on the test rows.

    A loss that removes the mean over samples leaves a constant per output free. The accuracy takes the constant that
    fits the training rows best, their mean of target less output.
    """
    values: dict[str, Array] = {}
    constant = jnp.zeros(())
    if ctx.loss.projection == "samples" and ctx.train_targets.ndim == 1 and len(ctx.train_inputs):
        o = ctx.train_outputs
        constant = jnp.mean(target_matrix(ctx.train_targets, o.shape[1], o.dtype) - o, axis=0)
    for half, inputs, targets in (
        ("train", ctx.train_inputs, ctx.train_targets),
        ("test", ctx.test_inputs, ctx.test_targets),
    ):
        if len(inputs) == 0:
            continue
        o = getattr(ctx, f"{half}_outputs")
        values[f"{half}_loss"] = objective(o, targets, ctx.loss)
        if targets.ndim == 1:
            values[f"{half}_accuracy"] = accuracy(o + constant.astype(o.dtype), targets)
    return values


def norms(ctx: Context) -> dict[str, Array]:
    """Return the norm of each parameter, `norm.<name>`, and of its last step, `step_norm.<name>`."""
    now, before = named_parameters(ctx.model), named_parameters(ctx.previous)
    values = {f"norm.{name}": jnp.linalg.norm(array.ravel()) for name, array in now.items()}
    moved = {f"step_norm.{name}": jnp.linalg.norm((now[name] - before[name]).ravel()) for name in now}
    return values | moved
