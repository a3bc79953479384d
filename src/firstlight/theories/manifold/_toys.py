"""The toy models of Figures 1 to 3, and their closed-form solutions.

A start is a row; all rows, each with its own λ, are integrated as one flow.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from firstlight import flow
from firstlight.theories.manifold._assumptions import require_decay
from firstlight.theories.manifold._zero_loss import ZeroLossSet

Starts = Float[np.ndarray, "r k"]
ToyPath = Float[np.ndarray, "t k"]

LEAK = 0.1
"""Slope of the leaky ReLU for negative arguments (Figure 3, right)."""


@dataclass(frozen=True)
class Toy:
    """One sample and a few weights: residual(w) = f(w) − y, and the starts of the figure.

    >>> sorted(TOYS)
    ['addition', 'cross', 'hyperbola', 'leaky addition', 'three numbers']
    """

    name: str
    residual: Callable[[Array], Array]
    starts: tuple[tuple[float, ...], ...]

    @property
    def zero_set(self) -> ZeroLossSet:
        """The set on which the residual vanishes."""
        return ZeroLossSet(self.residual, np.zeros(len(self.starts[0])))


def _leaky_sum(w: Array) -> Array:
    s = jnp.sum(w)
    return jnp.where(s > 0, s, LEAK * s) - 2.0


TOYS: dict[str, Toy] = {
    toy.name: toy
    for toy in (
        Toy("addition", lambda w: jnp.sum(w) - 2.0, ((-1.0, 1.0),)),
        Toy(
            "three numbers",
            lambda w: jnp.sum(w) - 3.0,
            ((3.0, -1.0, 0.0), (-1.5, 1.0, 2.5), (0.0, 3.0, 2.0), (2.5, 2.0, -2.0)),
        ),
        Toy("hyperbola", lambda w: w[0] * w[1] - 1.0, ((3.0, 0.1), (0.2, 2.5), (2.0, 1.8), (-2.5, -0.2), (-0.3, 0.8))),
        Toy("cross", lambda w: w[0] * w[1], ((2.0, 1.0), (-1.5, 2.0), (-2.0, -0.7), (0.8, -2.0))),
        Toy("leaky addition", _leaky_sum, ((-2.0, 0.5), (-1.0, -1.0), (0.5, -2.5), (3.0, 1.0))),
    )
}
"""Figure 1; Figure 2; Figure 3 left, centre and right."""


class _Rows(eqx.Module):
    """The sum of the losses of all rows; all weights are one vector, which compiles faster than several arrays."""

    residuals: tuple[Callable[[Array], Array], ...] = eqx.field(static=True)
    shapes: tuple[tuple[int, int], ...] = eqx.field(static=True)
    lam: Float[Array | np.ndarray, " P"]

    def parts(self, w: Array | np.ndarray) -> list:
        ends = np.cumsum([0, *(r * k for r, k in self.shapes)])
        spans = zip(ends[:-1], ends[1:], self.shapes, strict=True)
        return [w[..., a:b].reshape(*w.shape[:-1], *shape) for a, b, shape in spans]

    def __call__(self, w: Float[Array, " P"]) -> Float[Array, ""]:
        fits = [jnp.ravel(jax.vmap(f)(part)) for f, part in zip(self.residuals, self.parts(w), strict=True)]
        return jnp.sum(jnp.concatenate(fits) ** 2) + jnp.sum(self.lam * w**2)


def toy_flow(
    toy: Toy, lam: Float[np.ndarray, " r"], times: Float[np.ndarray, " t"], starts: Starts | None = None
) -> Float[np.ndarray, "t r k"]:
    """Integrate each start's trajectory under 𝓛 + λ‖w‖², with λ per start, by the adaptive solver."""
    return toy_flows([(toy, lam, np.asarray(toy.starts if starts is None else starts, np.float64))], times)[0]


def toy_flows(
    cases: Sequence[tuple[Toy, Float[np.ndarray, " _"], Float[np.ndarray, "_ _"]]], times: Float[np.ndarray, " t"]
) -> list[Float[np.ndarray, "t _ _"]]:
    """Integrate several toys, each (toy, λ per start, starts), as one flow, which compiles one program."""
    for value in np.concatenate([lam for _, lam, _ in cases]):
        require_decay(float(value))
    decay = np.concatenate([np.repeat(lam, w.shape[1]) for _, lam, w in cases])
    rows = _Rows(tuple(toy.residual for toy, _, _ in cases), tuple(w.shape for _, _, w in cases), decay)
    start = np.concatenate([w.ravel() for _, _, w in cases])
    return rows.parts(flow.gradient_flow(rows, start, times, rtol=1e-11, atol=1e-13).params)


def addition(w: Float[np.ndarray, " k"], lam: float, times: Float[np.ndarray, " t"]) -> ToyPath:
    r"""Solve Figures 1 and 2 in closed form: f = Σwᵢxᵢ fits the one sample 1 + … + 1 = k.

    $$\sum_i w_i = s_\infty + (s_0 - s_\infty)e^{-2(k+\lambda)t}, \quad s_\infty = \frac{k^2}{k+\lambda}, \qquad
      w_i - \bar w = (w_i(0) - \bar w(0))\,e^{-2\lambda t}$$

    >>> addition(np.array([-1.0, 1.0]), 0.1, np.array([1e9])).round(6)
    array([[0.952381, 0.952381]])
    """
    k = len(w)
    settled = k**2 / (k + lam)
    total = settled + (w.sum() - settled) * np.exp(-2 * (k + lam) * times)
    return _with_differences(total, w, lam, times)


def _with_differences(total: Float[np.ndarray, " t"], w: np.ndarray, lam: float, times: np.ndarray) -> ToyPath:
    """Return the path with a given sum, on which wᵢ − w̄ decays as e^{−2λt}."""
    return total[:, None] / len(w) + (w - w.mean()) * np.exp(-2 * lam * times)[:, None]


def train_floor(k: int, lam: float) -> float:
    """Return the final training loss of the addition of k numbers: (k − s∞)² = (kλ/(k + λ))².

    >>> round(train_floor(2, 0.2), 6) == round(4 * (0.2 / 2.2) ** 2, 6)
    True
    """
    return (k * lam / (k + lam)) ** 2


def leaky_addition(w: Float[np.ndarray, " k"], lam: float, times: Float[np.ndarray, " t"]) -> ToyPath:
    """Solve Figure 3 (right) in closed form: Σw moves slower while Σw < 0, where f has slope LEAK.

    The target is 2 for every k, so that this is `addition` only for k = 2 and Σw ≥ 0.
    """
    k, s0 = len(w), float(w.sum())
    # Below the kink ds/dt = −2k·LEAK(LEAK·s − 2) − 2λs.
    rate, target = 2 * (k * LEAK**2 + lam), 2 * k * LEAK / (k * LEAK**2 + lam)
    crossing = np.log((target - s0) / target) / rate if s0 < 0 else 0.0
    settled = 2 * k / (k + lam)
    below = target + (s0 - target) * np.exp(-rate * times)
    above = settled + (max(s0, 0.0) - settled) * np.exp(-2 * (k + lam) * np.maximum(times - crossing, 0.0))
    total = np.where(times < crossing, below, above)
    return _with_differences(total, w, lam, times)


def hyperbola(w: Float[np.ndarray, " 2"], tau: Float[np.ndarray, " t"]) -> Float[np.ndarray, "t 2"]:
    """Solve the norm-minimising flow on w₁w₂ = 1 in closed form: w₁² − w₂² decays as e^{−4τ}, τ = λt.

    >>> hyperbola(np.array([2.0, 0.5]), np.array([0.0, 9.0])).round(6)
    array([[2. , 0.5],
           [1. , 1. ]])
    """
    if not np.isclose(w[0] * w[1], 1.0, rtol=1e-9, atol=0.0):
        raise ValueError(f"the closed form is for starts on w₁w₂ = 1, got w₁w₂ = {w[0] * w[1]:.6g}; project it first")
    u = (w[0] ** 2 - w[1] ** 2) * np.exp(-4 * tau)
    # The smaller square is the inverse of the larger one, which preserves all digits.
    larger = np.sqrt((np.abs(u) + np.sqrt(u**2 + 4)) / 2)
    ordered = np.stack([larger, 1 / larger], axis=1) * np.sign(w[0])
    return ordered if w[0] ** 2 >= w[1] ** 2 else ordered[:, ::-1]
