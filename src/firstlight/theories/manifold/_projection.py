"""The nearest point of the zero-loss set, by Newton–Lagrange steps, and damped Gauss–Newton steps from far away."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from firstlight.theories.manifold._assumptions import AssumptionFails
from firstlight.theories.manifold._normal import Method, Tangent
from firstlight.theories.manifold._zero_loss import Vector, ZeroLossSet

_ARMIJO = 1e-4
_SHORTEST = 2.0**-30
_HIDDEN = 1e4
_INNER = 1e-4
"""Relative accuracy of the equations of a Newton step; each step squares the error anyway."""


@dataclass(frozen=True)
class NearestPoint:
    """A local minimum φ of the distance from θ to 𝒵.

    **Attributes:**

    - `params`: φ as a PyTree.
    - `theta`: (P,) φ as a flat vector.
    - `distance`: ‖θ − φ‖.
    - `residual`: ‖𝓕(φ) − y‖.
    - `tangential`: ‖(I − J⁺J)(θ − φ)‖, zero at the nearest point (Proposition B.4).
    - `iterations`: number of steps.
    """

    params: Any
    theta: Vector
    distance: float
    residual: float
    tangential: float
    iterations: int

    def __repr__(self) -> str:
        return (
            f"NearestPoint(distance {self.distance:.6g}, residual {self.residual:.1e}, tangential part "
            f"{self.tangential:.1e}, {self.iterations} steps)"
        )


def project(
    zero_set: ZeroLossSet,
    params: Any,
    *,
    start: Any = None,
    method: Method = "auto",
    tolerance: float = 1e-11,
    max_steps: int = 500,
) -> NearestPoint:
    r"""Project parameters onto the zero-loss set (Definition 4.12).

    $$\min_\varphi \tfrac12\|\varphi - \theta\|^2 \ \text{ with } \mathcal F(\varphi) = y: \qquad
      \varphi \leftarrow \varphi - J^+(\mathcal F(\varphi) - y) + t, \quad
      t \in \operatorname{null} J, \quad B = I + \sum_i \nu_i \nabla^2\mathcal F_i(\varphi)$$

    t minimises the quadratic model with the Hessian B of the Lagrangian, whose multipliers are ν. The step is accepted
    if it halves the error of the two conditions. Otherwise, and if B is not positive along 𝒵, the step uses B = I
    (Gauss–Newton) and is halved until ½‖φ − θ‖² + μ‖𝓕(φ) − y‖ falls. The result is a local minimum: from far away
    another part of 𝒵 may be nearer.

    **Arguments:**

    - `zero_set`: the equations 𝓕(θ) = y.
    - `params`: θ, a PyTree like `zero_set.like`, or flat.
    - `start`: the first φ, θ itself by default.
    - `method`: "dense" forms J, "matrix_free" only multiplies by it, "auto" decides by size.
    - `tolerance`: on the residual and on the tangential part of θ − φ, relative to 1 + ‖θ‖.
    - `max_steps`: number of steps after which `AssumptionFails` is raised.

    >>> import jax.numpy as jnp
    >>> hyperbola = ZeroLossSet(lambda w: w[0] * w[1] - 1.0, np.zeros(2))
    >>> project(hyperbola, np.array([2.0, 2.0])).theta.round(9)
    array([1., 1.])
    """
    theta = zero_set.vector(params)
    point = _Point(zero_set, theta, theta if start is None else zero_set.vector(start), method)
    enough, mu = tolerance * (1 + float(np.linalg.norm(theta))), 0.0
    for iteration in range(max_steps + 1):
        if point.error <= enough:
            return NearestPoint(
                params=zero_set.tree(point.phi),
                theta=point.phi,
                distance=float(np.linalg.norm(point.away)),
                residual=point.violation,
                tangential=float(np.linalg.norm(point.along)),
                iterations=iteration,
            )
        newton = point.newton_step()
        after = None if newton is None else point.moved(newton)
        if after is None or not after.error <= 0.5 * point.error:
            step = point.along + point.back
            mu = max(mu, 2 * float(-point.away @ step) / point.violation if point.violation > 0 else 0.0)
            after = point.moved(_length(point, step, mu) * step)
        point = after
    raise AssumptionFails(
        f"perfect memorisation (Assumption 4.4): no point of zero loss was found from here in {max_steps} steps "
        f"(residual {point.violation:.3g}, tangential part {np.linalg.norm(point.along):.3g}); train closer to zero "
        "loss first, or raise max_steps"
    )


def distance(
    zero_set: ZeroLossSet,
    params: Any,
    *,
    start: Any = None,
    method: Method = "auto",
    tolerance: float = 1e-11,
    max_steps: int = 500,
) -> float:
    """Return dist_𝒵(θ) = inf_{φ ∈ 𝒵} ‖θ − φ‖ (Definition 4.8), with the arguments of `project`.

    >>> import jax.numpy as jnp
    >>> line = ZeroLossSet(lambda w: jnp.sum(w) - 2.0, np.zeros(2))
    >>> round(distance(line, np.zeros(2)), 12) == round(2**0.5, 12)
    True
    """
    return project(zero_set, params, start=start, method=method, tolerance=tolerance, max_steps=max_steps).distance


@dataclass(frozen=True, eq=False)
class _Point:
    """A candidate φ for the projection of θ, and the errors of its two conditions."""

    zero_set: ZeroLossSet
    theta: Vector
    phi: Vector
    method: Method

    def moved(self, step: Vector) -> "_Point":
        return _Point(self.zero_set, self.theta, self.phi + step, self.method)

    @cached_property
    def tangent(self) -> Tangent:
        return Tangent(self.zero_set, self.phi, self.method)

    @cached_property
    def away(self) -> Vector:
        """θ − φ."""
        return self.theta - self.phi

    @cached_property
    def lacking(self) -> Float[np.ndarray, " m"]:
        """𝓕(φ) − y."""
        return self.zero_set.evaluate(self.phi)

    @cached_property
    def violation(self) -> float:
        return float(np.linalg.norm(self.lacking))

    @cached_property
    def along(self) -> Vector:
        """The tangential part of θ − φ, the Gauss–Newton step along 𝒵."""
        return self.tangent.tangential(self.away)

    @cached_property
    def back(self) -> Vector:
        """The normal step to 𝒵."""
        return -self.tangent.jacobian_inverse(self.lacking)

    @cached_property
    def error(self) -> float:
        """The error of the conditions for a nearest point: zero loss, and θ − φ normal to 𝒵."""
        return max(self.violation, float(np.linalg.norm(self.along)))

    def newton_step(self) -> Vector | None:
        """Return the Newton–Lagrange step, or None if the quadratic model has no minimum along 𝒵.

        Conjugate gradients solve TBTt = T(θ − φ − B·back), T the projector on the tangent space; B is I near 𝒵.
        """
        multipliers = self.tangent.multipliers(self.away)

        def model(v: Vector) -> Vector:
            # The multipliers of φ − θ + Jᵀν = 0 are those of θ − φ.
            return v + self.zero_set.bend(self.phi, multipliers, v)

        t = np.zeros_like(self.phi)
        left = self.tangent.tangential(self.away - model(self.back))
        direction, size = left, float(left @ left)
        goal = _INNER**2 * size
        for _ in range(len(t)):
            if size <= goal:
                break
            pushed = self.tangent.tangential(model(direction))
            curvature = float(direction @ pushed)
            if not curvature > 0:
                return None
            t = t + size / curvature * direction
            left = left - size / curvature * pushed
            direction, size = left + float(left @ left) / size * direction, float(left @ left)
        return self.back + t


def _length(point: _Point, step: Vector, mu: float) -> float:
    """Return the longest of 1, ½, ¼, … that lowers the merit function enough."""

    def merit(at: _Point) -> float:
        return 0.5 * float(at.away @ at.away) + mu * at.violation

    here, slope, length = merit(point), float(-point.away @ step) - mu * point.violation, 1.0
    if abs(slope) <= _HIDDEN * np.finfo(np.float64).eps * (1 + abs(here)):
        return length
    while length > _SHORTEST and not merit(point.moved(length * step)) <= here + _ARMIJO * length * slope:
        length /= 2
    return length
