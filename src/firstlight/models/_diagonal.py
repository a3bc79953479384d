"""Diagonal linear networks (AGF, Section 3)."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Num, PRNGKeyArray

from firstlight.models._model import Model, TaskSizes
from firstlight.models._projection import Matrix, Projection, preactivations


class Diagonal(Model):
    """ŷ = X(u ∘ v), the simplest network whose gradient flow has sparse limits.

    **Attributes:**

    - `u`: (d,) input weights.
    - `v`: (d,) output weights.

    >>> import jax.numpy as jnp
    >>> Diagonal(jnp.array([2.0, 1.0]), jnp.array([3.0, 0.0]))(jnp.eye(2)).ravel().tolist()
    [6.0, 0.0]
    """

    u: Float[Array, " d"] = eqx.field(converter=jnp.asarray)
    v: Float[Array, " d"] = eqx.field(converter=jnp.asarray)

    def __check_init__(self) -> None:
        if self.u.ndim != 1 or self.u.shape != self.v.shape:
            raise ValueError(f"u and v must both be (d,), got {self.u.shape} and {self.v.shape}")

    @classmethod
    def init(cls, inputs: int, alpha: float) -> "Diagonal":
        """Return u = √2·α and v = 0, the start of Pesme and Flammarion and of AGF.

        >>> Diagonal.init(2, 0.5).beta.tolist()
        [0.0, 0.0]
        """
        return cls(jnp.full(inputs, jnp.sqrt(2.0) * alpha), jnp.zeros(inputs))

    @classmethod
    def for_task(cls, task: TaskSizes, key: PRNGKeyArray | None = None, *, alpha: float) -> "Diagonal":
        """Build a network with the inputs of a task that has one output.

        **Arguments:**

        - `task`: a `firstlight.tasks.Task`, or any object with its `inputs.dim` and `outputs`.
        - `key`: accepted as in the other models and not used, since the start is not random.
        - `alpha`: scale of the start, as in `init`.
        """
        if task.outputs != 1:
            raise ValueError(f"a diagonal network has 1 output, the task {task.outputs}; use TwoLayer.for_task")
        return cls.init(task.inputs.dim, alpha)

    @property
    def first(self) -> Float[Array, "d d"]:
        """diag(u) (d, d)."""
        return jnp.diag(self.u)

    @property
    def last(self) -> Any:
        """v as a column (d, 1)."""
        return self.v[:, None]

    def features(self, inputs: Projection | Matrix) -> Num[Array, "*n d"]:
        """Return X diag(u) (n, d) from X (n, d) or from the map W ↦ XW."""
        return preactivations(inputs, self.first)

    @property
    def beta(self) -> Float[Array, " d"]:
        """β = u ∘ v, the coefficients of the linear map."""
        return self.u * self.v

    def apply(self, project: Projection) -> Num[Array, "n 1"]:
        """Return Ŷ from the map W ↦ XW."""
        return project(self.beta[:, None])

    def __call__(self, X: Matrix) -> Num[Array, "n 1"]:
        """Return Ŷ = Xβ for X (n, d)."""
        return self.apply(lambda W: preactivations(X, W))

    def shifted(self, shifts: Sequence[Any]) -> "Diagonal":
        """Raise ValueError, since a diagonal network has no biases."""
        raise ValueError("a diagonal network has no biases to shift; use TwoLayer with activation='linear'")
