"""Linear algebra at a point of the zero-loss set: J⁺, tangent and normal parts, with or without forming J."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from jaxtyping import Float

from firstlight.theories.manifold._assumptions import RANK_TOLERANCE, AssumptionFails, require_regular
from firstlight.theories.manifold._zero_loss import Vector, ZeroLossSet

Method = Literal["auto", "dense", "matrix_free"]

DENSE_ENTRIES = 4_000_000
"""Largest number of entries of J (32 MB) for which "auto" forms and factorises J."""

_TIGHT = 1e-13
_UNREACHED = 1e-8
"""Unreached share of a generic vector above which J has lost rank: a lost dimension of m leaves 1/√m."""


@dataclass(frozen=True, eq=False)
class Tangent:
    """The tangent space null J(θ) of the zero-loss set at θ, and the normal space beside it (Lemma B.1).

    **Attributes:**

    - `zero_set`: the equations 𝓕(θ) = y.
    - `theta`: (P,) the point.
    - `method`: "dense" (a QR factorisation Jᵀ = QR), "matrix_free" (LSMR on products with J) or "auto", by size.

    >>> import jax.numpy as jnp
    >>> at = Tangent(ZeroLossSet(lambda w: jnp.sum(w) - 2.0, np.zeros(2)), np.array([0.0, 2.0]))
    >>> at.tangential(np.array([0.0, 2.0])), at.normal(np.array([0.0, 2.0]))
    (array([-1.,  1.]), array([1., 1.]))
    """

    zero_set: ZeroLossSet
    theta: Vector
    method: Method = "auto"

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            raise ValueError(f"method is one of {', '.join(get_args(Method))}; got {self.method!r}")
        if not np.isfinite(self.theta).all():
            raise ValueError("θ must be finite; it holds NaN or infinities")

    @property
    def is_dense(self) -> bool:
        """Return whether J is formed."""
        small = self.zero_set.constraints * self.zero_set.parameters <= DENSE_ENTRIES
        return self.method == "dense" or (self.method == "auto" and small)

    @cached_property
    def singular_values(self) -> Float[np.ndarray, " m"]:
        """Return the singular values of J, from the largest; without forming J, two estimates."""
        if self.is_dense:
            return np.linalg.svd(self._factors[1], compute_uv=False)
        # LSMR reaches a generic right-hand side exactly unless J has lost rank; its own estimates of the Frobenius norm
        # and of the condition number do not show a lost dimension.
        generic = np.random.default_rng(0).standard_normal(self.zero_set.constraints)
        _, _, _, rest, _, norm, condition, _ = scipy.sparse.linalg.lsmr(self._operator, generic, **self._accuracy)
        reached = rest <= _UNREACHED * np.linalg.norm(generic)
        return np.array([norm, norm / max(condition, 1.0) if reached else 0.0])

    @property
    def is_singular(self) -> bool:
        """Return whether J loses rank at θ, so that 𝒵 may be no manifold (Definition 4.2)."""
        values = self.singular_values
        return not values.min() > RANK_TOLERANCE * values.max()

    def require_regular(self) -> "Tangent":
        """Return this space; raise `AssumptionFails` if J is singular."""
        if self.is_dense:
            require_regular(self.singular_values)
        elif self.is_singular:
            raise AssumptionFails(
                f"no singular points (Assumption 4.7): the Jacobian has lost rank for {self.zero_set.constraints} "
                "constraints, so the zero-loss set may be no manifold here. Remove repeated samples, or start "
                "elsewhere; method='dense' gives its rank"
            )
        return self

    def jacobian_inverse(self, b: Float[np.ndarray, " m"]) -> Vector:
        """Return J⁺b, the smallest change of θ that changes 𝓕 by b to first order."""
        if self.is_dense:
            Q, R = self._regular_factors
            return Q @ scipy.linalg.solve_triangular(R, b, trans=1)
        return self._solve(self._operator, b)

    def multipliers(self, v: Vector) -> Float[np.ndarray, " m"]:
        """Return (Jᵀ)⁺v, the u for which Jᵀu is the normal part of v."""
        if self.is_dense:
            Q, R = self._regular_factors
            return scipy.linalg.solve_triangular(R, Q.T @ v)
        return self._solve(self._operator.T, v)

    def normal(self, v: Vector) -> Vector:
        """Return the part of v in the row space of J: J⁺Jv."""
        if self.is_dense:
            Q, _ = self._regular_factors
            return Q @ (Q.T @ v)
        return self.jacobian_inverse(self.zero_set.push(self.theta, v))

    def tangential(self, v: Vector) -> Vector:
        """Return the part of v in the null space of J: (I − J⁺J)v."""
        return v - self.normal(v)

    def hessian_inverse(self, v: Vector) -> Vector:
        """Return (JᵀJ)⁺v = J⁺(J⁺)ᵀv; half the Hessian of the loss on 𝒵 is JᵀJ."""
        return self.jacobian_inverse(self.multipliers(v))

    @cached_property
    def _factors(self) -> tuple[np.ndarray, np.ndarray]:
        return np.linalg.qr(self.zero_set.jacobian(self.theta).T)

    @cached_property
    def _regular_factors(self) -> tuple[np.ndarray, np.ndarray]:
        size = np.abs(np.diagonal(self._factors[1]))
        if not size.min() > RANK_TOLERANCE * size.max():
            require_regular(self.singular_values)
        return self._factors

    @cached_property
    def _operator(self) -> Any:
        zero_set, theta = self.zero_set, self.theta
        make: Any = scipy.sparse.linalg.LinearOperator
        return make(
            (zero_set.constraints, zero_set.parameters),
            matvec=lambda v: zero_set.push(theta, np.ravel(v)),
            rmatvec=lambda u: zero_set.pull(theta, np.ravel(u)),
            dtype=np.float64,
        )

    @property
    def _accuracy(self) -> dict[str, Any]:
        return {"atol": _TIGHT, "btol": _TIGHT, "conlim": 0.0, "maxiter": 20 * self.zero_set.constraints}

    def _solve(self, operator: Any, b: np.ndarray) -> np.ndarray:
        self.require_regular()
        x, stopped, *_ = scipy.sparse.linalg.lsmr(operator, b, **self._accuracy)
        if stopped == 7:
            raise AssumptionFails(
                "no singular points (Assumption 4.7): the equations of the tangent space did not converge, so the "
                "Jacobian is singular or nearly so at this point; start elsewhere, or see its rank with method='dense'"
            )
        return x
