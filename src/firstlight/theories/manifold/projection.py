"""The nearest point of the zero-loss set, by damped Gauss–Newton."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from firstlight.theories.manifold.assumptions import AssumptionFails
from firstlight.theories.manifold.normal import Method, Tangent
from firstlight.theories.manifold.zero_loss import Vector, ZeroLossSet

_ARMIJO = 1e-4
_SHORTEST = 2.0**-30
_HIDDEN = 1e4
# The distance is stationary along 𝒵: its error is the square of what is left there.
_STATIONARY = 1e3


@dataclass(frozen=True)
class Projection:
    """A stationary point φ of the distance from θ to 𝒵.

    Attributes:
        params: φ as a PyTree; `theta` (P,) the same flat.
        distance: ‖θ − φ‖.
        residual: ‖𝓕(φ) − y‖.
        tangential: ‖(I − J⁺J)(θ − φ)‖, which is zero at the nearest point (Proposition B.4).
        iterations: Gauss–Newton steps.
    """

    params: Any
    theta: Vector
    distance: float
    residual: float
    tangential: float
    iterations: int

    def __repr__(self) -> str:
        return (
            f"Projection(distance {self.distance:.6g}, residual {self.residual:.1e}, tangential part "
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
) -> Projection:
    r"""Project parameters onto the zero-loss set.

    $$\varphi \leftarrow \theta - J^+\big(\mathcal F(\varphi) - y + J(\theta - \varphi)\big), \qquad J = J(\varphi)$$

    (Definition 4.12). Undamped, the step diverges from far away. It is a descent direction of
    ½‖φ − θ‖² + μ‖𝓕(φ) − y‖ for large μ, so it is halved until that falls. What is found is a local minimum: from
    far away another part of 𝒵 may be nearer.

    **Arguments:**

    - `params`: θ, a PyTree like `zero_set.like`, or flat.
    - `start`: where to begin, θ itself by default.
    - `method`: "dense" forms J, "matrix_free" only multiplies by it, "auto" decides by size.
    - `tolerance`: on the residual, relative to 1 + ‖θ‖; a thousand times that on the tangential part.

    >>> import jax.numpy as jnp
    >>> hyperbola = ZeroLossSet(lambda w: w[0] * w[1] - 1.0, np.zeros(2))
    >>> project(hyperbola, np.array([2.0, 2.0])).theta.round(9)
    array([1., 1.])
    """
    theta = zero_set.vector(params)
    phi = theta if start is None else zero_set.vector(start)
    scale, mu, length = tolerance * (1 + float(np.linalg.norm(theta))), 0.0, 1.0
    for iteration in range(max_steps + 1):
        tangent = Tangent(zero_set, phi, method)
        c, away = zero_set.evaluate(phi), theta - phi
        violation = float(np.linalg.norm(c))
        tangential = tangent.tangential(away)
        if violation <= scale and np.linalg.norm(tangential) <= _STATIONARY * scale:
            found = zero_set.tree(phi), phi, float(np.linalg.norm(away))
            return Projection(*found, violation, float(np.linalg.norm(tangential)), iteration)
        step = tangential - tangent.jacobian_inverse(c)
        mu = max(mu, 2 * float(-away @ step) / violation if violation > 0 else 0.0)
        length = _length(zero_set, theta, phi, step, mu, length)
        phi = phi + length * step
    raise AssumptionFails(
        f"perfect memorisation (Assumption 4.4): no point of zero loss was found from here in {max_steps} steps "
        f"(residual {violation:.3g}, tangential part {np.linalg.norm(tangential):.3g}); train closer to zero loss "
        "first, or raise max_steps"
    )


def distance(zero_set: ZeroLossSet, params: Any, **options: Any) -> float:
    """dist_𝒵(θ) = inf_{φ ∈ 𝒵} ‖θ − φ‖ (Definition 4.8), with the options of `project`.

    >>> import jax.numpy as jnp
    >>> line = ZeroLossSet(lambda w: jnp.sum(w) - 2.0, np.zeros(2))
    >>> round(distance(line, np.zeros(2)), 12) == round(2**0.5, 12)
    True
    """
    return project(zero_set, params, **options).distance


def _length(zero_set: ZeroLossSet, theta: Vector, phi: Vector, step: Vector, mu: float, before: float) -> float:
    """The longest of 1, ½, ¼, … that lowers the merit function enough.

    Once rounding hides the decrease, the length that served `before` serves on: where 𝒵 bends more than its distance
    allows, full steps would overshoot for ever.
    """

    def merit(point: Float[np.ndarray, " P"]) -> float:
        return 0.5 * float(np.sum((point - theta) ** 2)) + mu * float(np.linalg.norm(zero_set.evaluate(point)))

    here = merit(phi)
    slope = float((phi - theta) @ step) - mu * float(np.linalg.norm(zero_set.evaluate(phi)))
    if abs(slope) <= _HIDDEN * np.finfo(np.float64).eps * (1 + abs(here)):
        return before
    length = 1.0
    while length > _SHORTEST and not merit(phi + length * step) <= here + _ARMIJO * length * slope:
        length /= 2
    return length
