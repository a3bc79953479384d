"""Diagonal linear networks β = u ∘ v, solved in closed form (AGF, Section 3 and Appendix C)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.integrate import Radau
from scipy.optimize import nnls

from firstlight import _canonical as canonical
from firstlight.flow import Flow
from firstlight.theories.agf._problem import check_alpha, check_times
from firstlight.theories.agf._staircase import Staircase, from_levels
from firstlight.theories.agf._stepping import Watch, step_through

Vector = Float[np.ndarray, " d"]
_SNAP = 1e-9
"""|S| within this distance of one counts as one; a coefficient below this share counts as zero."""


def acosh_exp(x: Any) -> Any:
    """Compute acosh(eˣ) = x + log(1 + √(1 − e^{−2x})) without overflow.

    >>> float(np.round(acosh_exp(1000.0), 6))
    1000.693147
    """
    x = np.asarray(x, float)
    return x + np.log1p(np.sqrt(-np.expm1(-2 * np.maximum(x, 0.0))))


def log_cosh(x: Any) -> Any:
    """Compute log cosh x without overflow.

    >>> float(np.round(log_cosh(1000.0), 6))
    999.306853
    """
    x = np.abs(np.asarray(x, float))
    return x + np.log1p(np.exp(-2 * x)) - np.log(2.0)


def accumulated(S: Any, slope: Any, rho: Any, t: Any, eta: float) -> tuple[Any, Any]:
    r"""Return S_i and ρ_i = sgn(u_i v_i) at time t after a jump.

    $$S(\tau + t) = \tfrac{1}{2\eta}\log\cosh\big(2\eta z\big), \quad \rho = \mathrm{sgn}\, z, \quad
      z = \tfrac{\rho}{2\eta}\cosh^{-1} e^{2\eta S(\tau)} - \nabla_{\beta_i} L\, t$$

    (Theorem C.4, eq. 31 and 32, in one line: z is the signed integral of Pesme and Flammarion.)

    **Arguments:**

    - `S`, `rho`: values at the jump (d,).
    - `slope`: ∇_β L after the jump (d,).
    - `t`: time since the jump.
    - `eta`: −log(√2 α).

    >>> S, rho = accumulated(0.0, -1.0, 0.0, 1.0, eta=500.0)
    >>> round(float(S), 3), float(rho)
    (0.999, 1.0)
    """
    z = np.asarray(rho) * acosh_exp(2 * eta * np.asarray(S)) / (2 * eta) - np.asarray(slope) * t
    return log_cosh(2 * eta * z) / (2 * eta), np.sign(z)


def time_to_jump(S: Any, slope: Any, rho: Any, eta: float) -> Any:
    r"""Return the time Δτ_i until S_i = 1 (Corollary C.5, eq. 37); infinite if the slope is zero.

    $$\Delta\tau_i = \frac{\cosh^{-1} e^{2\eta} - \zeta_i \cosh^{-1} e^{2\eta S_i}}{2\eta\,|\nabla_{\beta_i} L|},
      \qquad \zeta_i = -\mathrm{sgn}(\nabla_{\beta_i} L)\,\rho_i$$
    """
    slope = np.asarray(slope, float)
    zeta = -np.sign(slope) * np.asarray(rho)
    with np.errstate(divide="ignore", invalid="ignore"):
        wait = (acosh_exp(2 * eta) - zeta * acosh_exp(2 * eta * np.asarray(S))) / (2 * eta * np.abs(slope))
    return np.where(slope == 0, np.inf, wait)


def cost_step(X: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], signs: Vector) -> Vector:
    """Return the least-squares β with the given signs, and β_i = 0 where the sign is 0 (eq. 5), by NNLS.

    >>> cost_step(np.eye(2), np.array([1.0, 2.0]), np.array([1.0, -1.0]))
    array([1., 0.])
    """
    beta = np.zeros(X.shape[1])
    chosen = np.flatnonzero(signs)
    if len(chosen):
        scale = np.linalg.norm(X[:, chosen], axis=0)
        beta[chosen] = signs[chosen] * nnls(X[:, chosen] * (signs[chosen] / scale), y)[0] / scale
    return beta + 0.0


def predict_diagonal(X: Any, y: Any, alpha: float | None = None, *, eta: float | None = None) -> Staircase:
    """Predict the staircase of a diagonal network exactly, from u = √2·α, v = 0 (Theorem C.4, Corollary C.5, eq. 5).

    Times are in units of η = −log(√2 α), which is also the clock of the result. A coefficient may return to zero and
    grow again with the other sign.

    **Arguments:**

    - `X`: inputs (n, d).
    - `y`: targets (n,).
    - `alpha`: scale of the initialisation, below 1/√2.
    - `eta`: the clock, in place of an α that would underflow.

    >>> steps = predict_diagonal(np.eye(2), np.array([2.0, -1.0]), 1e-8)
    >>> [event.neurons for event in steps.events], steps.levels.round(6) + 0.0
    ([(0,), (1,)], array([1.25, 0.25, 0.  ]))
    """
    X, y = _checked(X, y)
    eta = _clock(alpha, eta)
    d = X.shape[1]
    S, rho = np.zeros(d), np.zeros(d)

    def wait(slope: Vector) -> Vector:
        return time_to_jump(S, slope, rho, eta)

    def move(slope: Vector, t: float, frozen: Bool[np.ndarray, " d"]) -> Vector:
        later, signs = accumulated(S, slope, rho, t, eta)
        S[~frozen], rho[~frozen] = later[~frozen], signs[~frozen]
        S[np.abs(S - 1) < _SNAP] = 1.0
        return np.where(S == 1.0, rho, 0.0)

    return _alternate(X, y, wait, move, eta, "diagonal network")


def pesme_flammarion(X: Any, y: Any) -> Staircase:
    """Return the limit α → 0 of gradient flow, in units of −log α (Pesme and Flammarion; AGF, Algorithm 2).

    >>> pesme_flammarion(np.eye(2), np.array([2.0, -1.0])).jump_times  # 1/|∂L/∂β_i|, with L = ‖y − Xβ‖²/2n
    array([1., 2.])
    """
    X, y = _checked(X, y)
    s = np.zeros(X.shape[1])

    def wait(slope: Vector) -> Vector:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(slope == 0, np.inf, (1 + np.sign(slope) * s) / np.abs(slope))

    def move(slope: Vector, t: float, frozen: Bool[np.ndarray, " d"]) -> Vector:
        s[~frozen] -= t * slope[~frozen]
        s[np.abs(np.abs(s) - 1) < _SNAP] = np.sign(s[np.abs(np.abs(s) - 1) < _SNAP])
        return np.where(np.abs(s) == 1.0, s, 0.0)

    return _alternate(X, y, wait, move, np.inf, "Pesme and Flammarion")


def _alternate(
    X: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    wait: Callable[[Vector], Vector],
    move: Callable[..., Vector],
    eta: float,
    name: str,
) -> Staircase:
    """Alternate between waiting for a coefficient to reach its boundary and constrained least squares."""
    n, d = X.shape
    beta, time = np.zeros(d), 0.0
    size = float(np.abs(X.T @ y).max()) / n
    times, levels, neurons, fallen, path = [], [_loss(X, y, beta)], [], [], [beta]
    for _ in range(20 * d):
        active = beta != 0
        slope = np.where(active, 0.0, X.T @ (X @ beta - y) / n)
        slope[np.abs(slope) < _SNAP * size] = 0.0
        if not slope.any():
            break
        waits = wait(slope)
        first = canonical.argmin(waits)
        signs = move(slope, float(waits[first]), active)
        time += float(waits[first])
        new = cost_step(X, y, signs)
        new[np.abs(new) < _SNAP * np.abs(new).max(initial=0.0)] = 0.0
        times.append(time)
        neurons.append(first)
        fallen.append(tuple(np.flatnonzero(active & (new == 0)).tolist()))
        levels.append(_loss(X, y, new))
        path.append(new)
        beta = new
    return from_levels(
        times, levels, neurons, eta=eta, kappa=2, parameters=np.stack(path)[:, :, None], fallen=fallen, name=name
    )


def diagonal_flow(
    X: Any,
    y: Any,
    alpha: float | None = None,
    times: Any = 2.0,
    *,
    eta: float | None = None,
    watch: Watch | None = None,
) -> Flow:
    r"""Solve gradient flow of a diagonal network from u = √2·α, v = 0, for α of 10⁻¹⁰⁰ and below.

    $$\beta_i = \alpha^2 \sinh(2\eta S_i), \qquad \dot S = -\nabla_\beta L(\beta), \qquad \eta = -\log\alpha$$

    in accelerated time, solved implicitly with the exact Jacobian. The `params` of the result are β (n_times, d).

    **Arguments:**

    - `X`, `y`: inputs (n, d) and targets (n,).
    - `alpha`: scale of the initialisation, below 1.
    - `times`: the last time in units of η, or increasing times from 0.
    - `eta`: −log α, in place of an α that would underflow.
    - `watch`: called with each saved time and its loss while the flow is solved.

    >>> run = diagonal_flow(np.eye(2), np.array([2.0, -1.0]), 1e-100, 3.0)
    >>> run.final.round(6)
    array([ 2., -1.])
    """
    X, y = _checked(X, y)
    if eta is None:
        check_alpha(0.0 if alpha is None else alpha)
        eta = -float(np.log(alpha))  # type: ignore[arg-type]
    if not eta > 0:
        raise ValueError(f"alpha must lie in (0, 1), so that −log alpha is a clock, got {alpha}; use a smaller alpha")
    n = len(y)
    H, b = X.T @ X / n, X.T @ y / n

    def beta(S: np.ndarray) -> np.ndarray:
        # Trial steps may go far beyond the solution; the bound keeps exponents from overflowing.
        up, down = (np.exp(np.minimum(2 * eta * (sign * S - 1), 150.0)) for sign in (1, -1))
        return (up - down) / 2

    def jacobian(t: float, S: np.ndarray) -> np.ndarray:
        return -H * (2 * eta * np.sqrt(beta(S) ** 2 + np.exp(-4 * eta)))

    def report(t: float, S: np.ndarray) -> bool:
        if watch is not None:
            watch(t, _loss(X, y, beta(S)))
        return False

    ts, d = check_times(times), X.shape[1]
    solver = Radau(
        lambda t, S: b - H @ beta(S),
        ts[0],
        np.zeros(d),
        ts[-1],
        jac=jacobian,
        rtol=1e-8,
        atol=1e-10,  # type: ignore[arg-type]
    )
    states, status, _ = step_through(solver, ts, done=report)
    path = np.stack([beta(S) for S in states])
    loss = np.array([_loss(X, y, coefficients) for coefficients in path])
    return Flow(ts[: len(path)], path, loss, status, None, len(path))


def _loss(X: np.ndarray, y: np.ndarray, beta: np.ndarray) -> float:
    return float(np.sum((y - X @ beta) ** 2) / (2 * len(y)))


def _clock(alpha: float | None, eta: float | None) -> float:
    if eta is None:
        check_alpha(0.0 if alpha is None else alpha)
        eta = -float(np.log(np.sqrt(2) * alpha))  # type: ignore[operator]
    if not eta > 0:
        raise ValueError(
            f"alpha must be below 1/√2, so that neurons start with a norm below 1, got {alpha}; AGF describes small "
            "initialisations"
        )
    return eta


def _checked(X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    X, y = np.asarray(X, float), np.asarray(y, float)
    if X.ndim != 2 or y.ndim != 1 or len(X) != len(y) or X.size == 0:
        raise ValueError(f"X must be (n, d) and y (n,), with at least one sample, got {X.shape} and {y.shape}")
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise ValueError("X and y must be finite, got NaN or infinite entries; drop or impute them")
    return X, y
