"""The zero-loss set 𝒵 = {θ : 𝓕(θ) = y} of any model and data, as a system of equations."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from firstlight import flow
from firstlight.tasks import Inputs, Targets
from firstlight.theories.manifold._assumptions import require_parameters

Vector = Float[np.ndarray, " P"]
Times = ArrayLike | Sequence[float]
"""The last time of a flow, or increasing times at which it is returned."""


class Equations(eqx.Module):
    """𝓕(θ) − y as a traceable function of the flat θ; sets of the same kind and size share compiled programs."""

    residual: Callable[[Any], Array]
    static: Any
    structure: Any = eqx.field(static=True)
    shapes: tuple[tuple[int, ...], ...] = eqx.field(static=True)

    def __call__(self, theta: Float[Array, " P"]) -> Float[Array, " m"]:
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])[:-1]
        leaves = [part.reshape(shape) for part, shape in zip(jnp.split(theta, ends), self.shapes, strict=True)]
        tree = jax.tree.unflatten(self.structure, leaves)
        return jnp.ravel(self.residual(eqx.combine(tree, self.static)))


class _Fit(eqx.Module):
    """A model's outputs minus the targets."""

    inputs: Inputs
    targets: Targets

    def __call__(self, model: Any) -> Array:
        o = model.apply(self.inputs.project)
        return o - flow.target_matrix(jnp.asarray(self.targets), o.shape[-1], o.dtype)


@dataclass(frozen=True, eq=False)
class ZeroLossSet:
    r"""The parameters at which every residual vanishes.

    $$\mathcal Z = \{\theta : \mathcal F(\theta) = y\}, \qquad J = \nabla\mathcal F(\theta) \in \mathbb R^{m \times P}$$

    (Definition 4.1). Everything is evaluated in float64 on the flat vector θ (P,); `vector` and `tree` convert from and
    to the PyTree.

    **Attributes:**

    - `residual`: 𝓕(θ) − y as a function of the PyTree, of any shape.
    - `like`: a PyTree with the structure and shapes of the parameters.

    >>> import jax.numpy as jnp
    >>> sums = ZeroLossSet(lambda w: jnp.sum(w) - 2.0, np.zeros(2))
    >>> sums.constraints, sums.parameters, sums.jacobian(np.array([0.0, 2.0]))
    (1, 2, array([[1., 1.]]))
    """

    residual: Callable[[Any], Array]
    like: Any

    def __post_init__(self) -> None:
        require_parameters(self.constraints, self.parameters)

    @classmethod
    def of(cls, model: Any, inputs: Inputs, targets: Targets) -> "ZeroLossSet":
        """Return the set on which a `firstlight.models` network fits `targets`, classes (n,) or values (n, M), exactly.

        >>> import jax
        >>> from firstlight import models, tasks
        >>> task = tasks.group_task("Z3")
        >>> model = models.TwoLayer.init(jax.random.key(0), inputs=6, width=12, outputs=3)
        >>> ZeroLossSet.of(model, task.inputs, task.targets)
        ZeroLossSet(27 constraints, 108 parameters)
        """
        return cls(_Fit(inputs, targets), model)

    @classmethod
    def level(cls, loss: Callable[[Any], Array], level: float, like: Any) -> "ZeroLossSet":
        """Return the set {θ : ℓ(θ) = level} of a loss that is never zero, as cross-entropy: one constraint, in log ℓ.

        >>> import jax.numpy as jnp
        >>> round_set = ZeroLossSet.level(lambda w: jnp.sum(w**2), 4.0, np.ones(3))
        >>> float(abs(round_set.evaluate(np.array([2.0, 0.0, 0.0]))[0])) < 1e-15
        True
        """
        if not level > 0:
            raise ValueError(f"level must be positive, got {level}; a loss that reaches zero needs no level")
        return cls(lambda theta: jnp.log(loss(theta)) - jnp.log(level), like)

    @property
    def parameters(self) -> int:
        """P, the number of parameters."""
        return sum(np.size(leaf) for leaf in jax.tree.leaves(self._parts[0]))

    @cached_property
    def constraints(self) -> int:
        """m, the number of samples times outputs."""
        with jax.enable_x64(True):
            flat = jax.ShapeDtypeStruct((self.parameters,), jnp.float64)
            return int(eqx.filter_eval_shape(self.equations, flat).shape[0])

    def vector(self, params: Any) -> Vector:
        """Return θ (P,) from a PyTree with the structure and shapes of `like`, or from θ itself.

        >>> zero_set = ZeroLossSet(lambda w: w["a"].sum() + w["b"].sum(), {"a": np.zeros((2, 3)), "b": np.zeros(1)})
        >>> zero_set.vector({"a": np.zeros((3, 2)), "b": np.zeros(1)})
        Traceback (most recent call last):
        ...
        ValueError: params must have the shapes of `like`, (2, 3), (1,), got (3, 2), (1,)
        """
        if isinstance(params, np.ndarray | jax.Array) and params.shape == (self.parameters,):
            return np.asarray(params, np.float64)
        leaves, structure = jax.tree.flatten(eqx.filter(params, eqx.is_inexact_array_like))
        expected = self.equations
        if [np.shape(leaf) for leaf in leaves] != list(expected.shapes):
            wanted, got = (", ".join(map(str, shapes)) for shapes in (expected.shapes, map(np.shape, leaves)))
            raise ValueError(f"params must have the shapes of `like`, {wanted}, got {got or 'no arrays of floats'}")
        if structure != expected.structure:
            raise ValueError(f"params must have the structure of `like`, {expected.structure}, got {structure}")
        return np.concatenate([np.ravel(np.asarray(leaf, np.float64)) for leaf in leaves])

    def tree(self, theta: Float[np.ndarray, " P"]) -> Any:
        """Return the PyTree of θ, with NumPy leaves in float64."""
        arrays, static = self._parts
        leaves, structure = jax.tree.flatten(arrays)
        ends = np.cumsum([np.size(leaf) for leaf in leaves])[:-1]
        shaped = [part.reshape(np.shape(leaf)) for part, leaf in zip(np.split(theta, ends), leaves, strict=True)]
        return eqx.combine(jax.tree.unflatten(structure, shaped), static)

    @cached_property
    def equations(self) -> Equations:
        """𝓕(θ) − y as a traceable function of the flat θ."""
        arrays, static = self._parts
        leaves, structure = jax.tree.flatten(arrays)
        return Equations(self.residual, static, structure, tuple(np.shape(leaf) for leaf in leaves))

    def evaluate(self, theta: Vector) -> Float[np.ndarray, " m"]:
        """Return 𝓕(θ) − y."""
        return self._run("value", theta)

    def jacobian(self, theta: Vector) -> Float[np.ndarray, "m P"]:
        """Return J(θ), as a matrix."""
        return self._run("jacobian", theta)

    def push(self, theta: Vector, v: Vector) -> Float[np.ndarray, " m"]:
        """Return Jv without forming J."""
        return self._run("push", theta, v)

    def pull(self, theta: Vector, u: Float[np.ndarray, " m"]) -> Vector:
        """Return Jᵀu without forming J."""
        return self._run("pull", theta, u)

    def bend(self, theta: Vector, u: Float[np.ndarray, " m"], v: Vector) -> Vector:
        """Return (Σᵢ uᵢ ∇²𝓕ᵢ)v, the derivative of Jᵀu along v."""
        return self._run("bend", theta, u, v)

    def gradient(self, theta: Vector) -> Vector:
        """Return ∇𝓛 = 2Jᵀ(𝓕 − y) of the sum of squares."""
        return 2 * self.pull(theta, self.evaluate(theta))

    def __repr__(self) -> str:
        return f"ZeroLossSet({self.constraints} constraints, {self.parameters} parameters)"

    @cached_property
    def _parts(self) -> tuple[Any, Any]:
        return eqx.partition(self.like, eqx.is_inexact_array_like)

    def _run(self, what: str, *arguments: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(_PROGRAMS[what](self.equations, *(jnp.asarray(a, jnp.float64) for a in arguments)))


def _pull(F: Equations, x: Array, u: Array) -> Array:
    return jax.vjp(F, x)[1](u)[0]


_PROGRAMS: dict[str, Callable[..., Array]] = {
    "value": eqx.filter_jit(lambda F, x: F(x)),
    "jacobian": eqx.filter_jit(lambda F, x: jax.jacrev(F)(x)),
    "push": eqx.filter_jit(lambda F, x, v: jax.jvp(F, (x,), (v,))[1]),
    "pull": eqx.filter_jit(_pull),
    "bend": eqx.filter_jit(lambda F, x, u, v: jax.jvp(lambda at: _pull(F, at, u), (x,), (v,))[1]),
}
