"""`Problem`: the cost of the active neurons and the utility of a dormant neuron, which is all that AGF needs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Float

from firstlight.models import Activation, activation
from firstlight.theories.agf._growth import check_kappa

Theta = Float[np.ndarray, "K P"]
Cost = Callable[[Any], tuple[Any, Any]]
Utility = Callable[[Any, Any], tuple[Any, Any]]


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    r"""A sum of neurons f(x) = Σ_i f_i(x; θ_i) under L = E ½‖y − f‖², as NumPy functions of θ (K, P).

    **Attributes:**

    - `cost`: θ ↦ (L, ∇L (K, P)); neurons whose row is zero do not count.
    - `residual`: θ ↦ r, the residual that the active neurons leave, in any form that `utility` accepts.
    - `utility`: (θ, r) ↦ (U_i = E⟨f_i, r⟩ (K,), ∇U (K, P)) of each neuron alone (AGF, eq. 1).
    - `kappa`: κ, the degree of U in θ near the origin.
    - `parameters`: P, the number of parameters of a neuron.
    - `spread`: (P,) standard deviations of an initialisation with α = 1.
    - `width`: K if it is fixed, else None.
    - `smooth`: False for kinks such as ReLU's, on which a tight solver would never finish.
    - `hessian`: θ ↦ ∇²L (K, P, K, P) if it is cheap; stiff flows use it.
    - `name`: a title.
    """

    cost: Cost
    residual: Callable[[Any], Any]
    utility: Utility
    kappa: float
    parameters: int
    spread: Float[np.ndarray, " P"]
    width: int | None = None
    smooth: bool = True
    hessian: Callable[[Any], Any] | None = None
    name: str = "problem"

    def __post_init__(self) -> None:
        object.__setattr__(self, "kappa", check_kappa(self.kappa))

    def initial(self, width: int | None = None, alpha: float = 1e-3, seed: int = 0) -> Theta:
        """Draw θ (K, P) with independent normal entries of standard deviation α·spread.

        >>> network(np.eye(3), np.ones(3)).initial(width=5, alpha=1e-4).shape
        (5, 4)
        """
        K = self.width if width is None else width
        if K is None or K < 1 or (self.width is not None and self.width != K):
            wanted = "a positive number of neurons" if self.width is None else f"{self.width}, one per input"
            raise ValueError(f"width must be {wanted}, got {width}")
        check_alpha(alpha)
        return alpha * self.spread * np.random.default_rng(seed).standard_normal((K, self.parameters))

    def __repr__(self) -> str:
        return f"Problem({self.name!r}, κ = {self.kappa:g}, {self.parameters} parameters per neuron)"


def check_alpha(alpha: float) -> None:
    """Raise `ValueError` for a scale from which no neuron can grow.

    >>> check_alpha(0.0)
    Traceback (most recent call last):
    ...
    ValueError: alpha must be a finite number > 0, got 0.0; at the origin every gradient vanishes and nothing is learned
    """
    if not (np.isfinite(alpha) and alpha > 0):
        raise ValueError(
            f"alpha must be a finite number > 0, got {alpha}; at the origin every gradient vanishes and nothing is "
            "learned"
        )


def check_times(times: Any) -> Float[np.ndarray, " n"]:
    """Return the times at which a flow is saved: the given times, or 401 times up to the last.

    >>> check_times([0.0, 2.0, 1.0])
    Traceback (most recent call last):
    ...
    ValueError: times must be one number > 0, or finite numbers that increase from 0, got [0. 2. 1.]
    """
    ts = np.linspace(0.0, float(times), 401) if np.ndim(times) == 0 else np.asarray(times, float)
    if ts.ndim != 1 or len(ts) < 2 or ts[0] != 0 or not (np.isfinite(ts).all() and (np.diff(ts) > 0).all()):
        raise ValueError(
            f"times must be one number > 0, or finite numbers that increase from 0, got {np.asarray(times)}"
        )
    return ts


def network(
    X: ArrayLike | Sequence,
    y: ArrayLike | Sequence,
    activation: Any = "tanh",
    kappa: float | None = None,
    single: bool = False,
    name: str = "network",
) -> Problem:
    r"""Return the problem of a two-layer network Σ_i σ(w_iᵀx) a_i on arrays; a neuron is θ_i = (w_i, a_i).

    α² is the expected squared norm of a neuron (AGF, Section 2).

    **Arguments:**

    - `X`: inputs (n, d).
    - `y`: targets (n,) or (n, M).
    - `activation`: σ by name or as a function, with σ(0) = 0.
    - `kappa`: κ; by default it is found by scaling.
    - `single`: as in `neurons`.
    - `name`: a title.

    >>> network(np.eye(3), np.ones(3), "quadratic")
    Problem('network', κ = 3, 4 parameters per neuron)
    """
    X, Y = _data(X, y, "(n, d)", 2)
    d, M = X.shape[1], Y.shape[1]
    sigma = _activation(activation)

    def neuron(theta: jax.Array, X: jax.Array) -> jax.Array:
        return sigma(X @ theta[:d])[:, None] * theta[d:]

    spread = np.r_[np.full(d, 1 / np.sqrt(2 * d)), np.full(M, 1 / np.sqrt(2 * M))]
    return neurons(neuron, X, Y, d + M, kappa=kappa, spread=spread, smooth=_is_smooth(sigma), single=single, name=name)


def neurons(
    function: Callable[[Any, Any], Any],
    X: ArrayLike | Sequence,
    y: ArrayLike | Sequence,
    parameters: int,
    *,
    kappa: float | None = None,
    specific: bool = False,
    spread: ArrayLike | Sequence | None = None,
    smooth: bool = True,
    single: bool = False,
    name: str = "neurons",
) -> Problem:
    """Return the problem of any sum of neurons on data.

    **Arguments:**

    - `function`: (θ, X) ↦ outputs (n,) or (n, M) of one neuron, written with `jax.numpy` and zero at θ = 0.
    - `X`: inputs (n, …), or (K, n, …) with `specific`.
    - `y`: targets (n,) or (n, M).
    - `parameters`: P, the length of θ.
    - `kappa`: κ; by default it is found by scaling.
    - `specific`: whether neuron i sees its own inputs X[i].
    - `spread`, `smooth`, `name`: as in `Problem`.
    - `single`: compute in float32, which is twice as fast on much data with kinks.

    >>> cubic = neurons(lambda t, X: t[2] * (X @ t[:2]) ** 3, np.eye(2), np.ones(2), parameters=3)
    >>> cubic.kappa
    4.0
    """
    X, Y = _data(X, y, *(("(K, n, …)", 2) if specific else ("(n, …)", 1)))
    K = X.shape[0] if specific else None
    outputs = _outputs(function, parameters, X[0] if specific else X, Y.shape)
    each = jax.vmap(outputs, in_axes=(0, 0 if specific else None))

    cost, left, slope = _compiled(each)
    dtype = np.float32 if single else np.float64
    with jax.enable_x64(True):
        on_device = jnp.asarray(X, dtype), jnp.asarray(Y, dtype)

    def evaluate(call: Callable[..., Any], theta: Theta, *args: Any) -> Any:
        with jax.enable_x64(True):
            out = jax.device_get(call(np.asarray(theta, dtype), *args))
        return jax.tree.map(lambda a: np.asarray(a, float), out) if single else out

    def utility(theta: Theta, r: Any) -> tuple[Any, Any]:
        gradient, U = evaluate(slope, theta, on_device[0], np.asarray(r, dtype))
        return U, gradient

    problem = Problem(
        cost=lambda theta: evaluate(cost, theta, *on_device),
        residual=lambda theta: evaluate(left, theta, *on_device),
        utility=utility,
        kappa=2.0 if kappa is None else kappa,
        parameters=parameters,
        spread=np.full(parameters, 1 / np.sqrt(parameters)) if spread is None else np.asarray(spread, float),
        width=K,
        smooth=smooth,
        name=name,
    )
    return problem if kappa is not None else replace(problem, kappa=detect_kappa(problem))


def _compiled(each: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
    """Compile (θ, X, Y) ↦ (L, ∇L), (θ, X, Y) ↦ residual and (θ, X, r) ↦ (∇U, U) from the outputs of each neuron."""

    def total(theta: jax.Array, X: jax.Array, Y: jax.Array) -> jax.Array:
        r = Y - each(theta, X).sum(0)
        return jnp.sum(r * r) / (2 * len(Y))

    def summed_utility(theta: jax.Array, X: jax.Array, r: jax.Array) -> tuple[jax.Array, jax.Array]:
        U = jnp.einsum("knm,nm->k", each(theta, X), r) / len(r)
        return U.sum(), U

    left = jax.jit(lambda theta, X, Y: Y - each(theta, X).sum(0))
    return jax.jit(jax.value_and_grad(total)), left, jax.jit(jax.grad(summed_utility, has_aux=True))


def closed_form(
    cost: Callable[[Any], Any],
    utility: Callable[[Any, Any], Any],
    parameters: int,
    kappa: float,
    *,
    residual: Callable[[Any], Any] | None = None,
    spread: ArrayLike | Sequence | None = None,
    name: str = "closed form",
) -> Problem:
    """Return a problem given by formulas, such as population averages, which JAX differentiates.

    All functions are written with `jax.numpy`.

    **Arguments:**

    - `cost`: θ (K, P) ↦ loss, to which zero rows do not contribute.
    - `utility`: (θ_i, r) ↦ utility of one neuron.
    - `parameters`, `kappa`, `spread`, `name`: as in `Problem`.
    - `residual`: θ ↦ r; by default r is θ itself.

    >>> import jax.numpy as jnp
    >>> scalar = closed_form(
    ...     cost=lambda t: (1.0 - jnp.sum(t[:, 0] * t[:, 1])) ** 2 / 2,
    ...     utility=lambda t, r: t[0] * t[1] * r,
    ...     residual=lambda t: 1.0 - jnp.sum(t[:, 0] * t[:, 1]), parameters=2, kappa=2)
    >>> U, gradient = scalar.utility(np.array([[0.6, 0.8]]), scalar.residual(np.zeros((1, 2))))
    >>> round(float(U[0]), 9)
    0.48
    """
    rest = residual if residual is not None else lambda theta: theta
    both, left = jax.jit(jax.value_and_grad(cost)), jax.jit(rest)
    slope = jax.jit(jax.vmap(jax.value_and_grad(utility), in_axes=(0, None)))

    def in_float64(call: Callable[..., Any]) -> Callable[..., Any]:
        def evaluate(*args: Any) -> Any:
            with jax.enable_x64(True):
                return jax.device_get(call(*jax.tree.map(lambda a: np.asarray(a, np.float64), args)))

        return evaluate

    return Problem(
        cost=in_float64(both),
        residual=in_float64(left),
        utility=in_float64(slope),
        kappa=kappa,
        parameters=parameters,
        spread=np.full(parameters, 1 / np.sqrt(parameters)) if spread is None else np.asarray(spread, float),
        name=name,
    )


def detect_kappa(problem: Problem, seed: int = 0, draws: int = 32) -> float:
    r"""Estimate κ from the scaling of the utility's gradient at the origin: ‖∇U(εθ)‖ ∝ ε^{κ−1}.

    The estimate is the median slope over random directions between ε = 10⁻⁴ and 10⁻³. A slope within 0.01 of an
    integer is rounded.

    >>> detect_kappa(network(np.eye(3), np.ones(3), "power3"))
    4.0
    """
    K = problem.width or draws
    theta = np.random.default_rng(seed).standard_normal((K, problem.parameters))
    theta /= np.linalg.norm(theta, axis=1, keepdims=True)
    r = problem.residual(np.zeros_like(theta))
    small, large = (np.linalg.norm(problem.utility(eps * theta, r)[1], axis=1) for eps in (1e-4, 1e-3))
    alive = (small > 0) & (large > 0)
    if not alive.any():
        raise ValueError(
            "kappa could not be found: the utility vanishes near the origin for every direction tried; check that the "
            "targets are not all zero, or give kappa"
        )
    kappa = 1 + float(np.median(np.log10(large[alive] / small[alive])))
    whole = round(kappa)
    return check_kappa(float(whole) if abs(kappa - whole) < 0.01 else kappa)


def _activation(given: Any) -> Activation:
    sigma = activation(given)
    at_zero = float(sigma(0.0))
    if at_zero != 0.0:
        raise ValueError(
            "the activation must pass through the origin, σ(0) = 0, so that dormant neurons output zero; "
            f"{sigma!r} has σ(0) = {at_zero:.3g}; subtract it, or use tanh, relu, linear or a power"
        )
    return sigma


def _is_smooth(sigma: Activation) -> bool:
    """Check whether σ′ is the same on both sides of zero."""
    left, right = float(sigma.derivative(-1e-4)), float(sigma.derivative(1e-4))
    return abs(left - right) < 1e-2


def _data(X: Any, y: Any, shape: str, least: int) -> tuple[np.ndarray, np.ndarray]:
    X, Y = np.asarray(X, float), np.asarray(y, float)
    Y = Y[:, None] if Y.ndim == 1 else Y
    if X.ndim < least or (shape == "(n, d)" and X.ndim > 2) or Y.ndim != 2:
        raise ValueError(f"X must have shape {shape} and y (n,) or (n, M), got {X.shape} and {np.shape(y)}")
    rows = X.shape[1] if shape.startswith("(K") else X.shape[0]
    if X.size == 0 or Y.size == 0:
        raise ValueError(f"X and y must hold at least one sample, got shapes {X.shape} and {Y.shape}")
    if rows != len(Y):
        raise ValueError(f"X and y must have one row per sample, got {rows} and {len(Y)} rows")
    if not (np.isfinite(X).all() and np.isfinite(Y).all()):
        raise ValueError("X and y must be finite, got NaN or infinite entries; drop or impute them")
    return X, Y


def _outputs(function: Callable[[Any, Any], Any], P: int, X: np.ndarray, shape: tuple[int, ...]) -> Callable[..., Any]:
    """Return `function` with outputs (n, M), after checking their shape and that they vanish at θ = 0."""

    def outputs(theta: jax.Array, X: jax.Array) -> jax.Array:
        out = function(theta, X)
        return out[:, None] if out.ndim == 1 else out

    with jax.enable_x64(True):
        silent = np.asarray(outputs(jnp.zeros(P), jnp.asarray(X)))
    if silent.shape != shape:
        raise ValueError(f"a neuron must give outputs of the shape of y, {shape}, got {silent.shape}")
    if np.abs(silent).max() > 0:
        raise ValueError(
            f"a neuron with all parameters zero must give zero, got outputs up to {np.abs(silent).max():.3g}; an "
            "activation with σ(0) = 0 and no bias outside the parameters does"
        )
    return outputs
