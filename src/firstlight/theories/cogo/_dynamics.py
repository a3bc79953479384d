"""Dynamics of monomial potentials, r′ = −JJ* conj ∇_r ℓ: decoupling with width, and ripples (CoGO, Appendix B)."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Complex, Float
from scipy.integrate import solve_ivp

from firstlight.groups import Group
from firstlight.theories.cogo._frequencies import frequencies
from firstlight.theories.cogo._loss import residual_coefficients
from firstlight.theories.cogo._potentials import cubic, quadratic
from firstlight.theories.cogo._solution import Solution


class Potentials(NamedTuple):
    """A vector over all monomial potentials of the loss: r_{k₁k₂k} and r_{pmk′k} by [p, m, k′, k]."""

    cubic: Complex[np.ndarray, "d d d"]
    quadratic: Complex[np.ndarray, "2 d d d"]


def potentials(solution: Solution) -> Potentials:
    """Compute all monomial potentials r(z) of the loss."""
    return Potentials(cubic(solution), quadratic(solution))


def loss_gradient(solution: Solution) -> Potentials:
    """Return conj ∇_r ℓ, with r and its conjugate as independent variables, means included.

    ∂ℓ/∂r_{k₁k₂k} is 4d conj E_{k₁k₂k} and ∂ℓ/∂r_{amk′k} is 2d conj E_{m0k}, with E the `residual_coefficients`.
    """
    E, d = residual_coefficients(solution), solution.group.order
    spread = np.broadcast_to(np.stack([E[:, 0], E[0]])[:, :, None, :], (2, d, d, d))
    return Potentials(4 * d * E, 2 * d * spread)


def adjoint(solution: Solution, u: Potentials) -> Complex[np.ndarray, "3 d q"]:
    """Return J* u, the coefficients (3, d, q) of a direction in weight space: Σ conj(∂r/∂z) u, times 1/d from z = FW/d.

    J_W J_W* = J_z J_z*/d exactly, because the Fourier transform over d is 1/√d times a unitary matrix.
    """
    a, b, c = solution.z.conj()
    g_a = np.einsum("xyk,yj,kj->xj", u.cubic, b, c, optimize=True)
    g_b = np.einsum("xyk,xj,kj->yj", u.cubic, a, c, optimize=True)
    g_c = np.einsum("xyk,xj,yj->kj", u.cubic, a, b, optimize=True)
    minus, d = solution.frequencies.minus, solution.group.order
    places = np.arange(d)
    for own, z, q in ((g_a, a, u.quadratic[0]), (g_b, b, u.quadratic[1])):
        with_c = np.einsum("mlk,kj->mlj", q, c, optimize=True)
        own += np.einsum("mlj,mlj->lj", with_c, z[minus])
        # The other factor, z_{m−k′}, is the same entry with n = m − k′.
        back = np.empty_like(with_c)
        back[places[:, None], minus] = with_c * z[None]
        own += back.sum(axis=0)
        g_c += np.einsum("mlk,lj,mlj->kj", q, z, z[minus], optimize=True)
    return np.stack([g_a, g_b, g_c]) / d


def forward(solution: Solution, dz: Complex[np.ndarray, "3 d q"]) -> Potentials:
    """Return J dz, the change of r in the direction dz (3, d, q)."""
    a, b, c = solution.z
    da, db, dc = dz
    triple = lambda x, y, w: np.einsum("xj,yj,kj->xyk", x, y, w, optimize=True)  # noqa: E731
    minus = solution.frequencies.minus
    rows = []
    for z, move in ((a, da), (b, db)):
        changed = move[None] * z[minus] + z[None] * move[minus]
        rows.append(
            np.einsum("mlj,kj->mlk", changed, c, optimize=True)
            + np.einsum("mlj,kj->mlk", z[None] * z[minus], dc, optimize=True)
        )
    return Potentials(triple(da, b, c) + triple(a, db, c) + triple(a, b, dc), np.stack(rows))


def jj_star(solution: Solution, u: Potentials) -> Potentials:
    """Compute JJ* u in O(d³q), without the matrix of side 3d³ (CoGO, Theorem 4).

    >>> import numpy as np
    >>> from firstlight.groups import cyclic
    >>> from firstlight.theories.cogo import craft
    >>> optimum = craft(cyclic(5))
    >>> bool(abs(jj_star(optimum, loss_gradient(optimum)).cubic).max() < 1e-14)
    True
    """
    return forward(solution, adjoint(solution, u))


def potential_velocity(solution: Solution) -> Potentials:
    """Return r′ = −JJ* conj ∇_r ℓ under gradient flow of the weights, W′ = −∇_W ℓ."""
    ascent = jj_star(solution, loss_gradient(solution))
    return Potentials(-ascent.cubic, -ascent.quadratic)


def gaussian_solution(group: Group, order: int, seed: int) -> Solution:
    """Draw a solution with independent Gaussian weights of unit variance."""
    f, rng = frequencies(group), np.random.default_rng(seed)
    return Solution(group, np.stack([f.transform(rng.standard_normal((f.d, order))) for _ in range(3)]))


def coupling(solution: Solution, *, quadratic_too: bool = False) -> tuple[float, float]:
    """Measure how far JJ* is from diagonal: its largest and rms off-diagonal entry over the mean on the diagonal.

    The matrix is over r_{k₁k₂k}, k₁, k₂, k ≠ 0, conjugate pairs included; its side is (d − 1)³, so d must be small. The
    two numbers are about 2/√q and 0.5/√q for Gaussian weights of order q (Theorem 6). With `quadratic_too` the matrix
    includes the r_{pmk′k}, and JJ* does not become diagonal.
    """
    H = _with_quadratic(solution) if quadratic_too else _cubic_matrix(solution)
    on = float(np.abs(np.diagonal(H)).mean())
    off = np.abs(H - np.diag(np.diagonal(H)))
    n = len(H)
    return float(off.max() / on), float(np.sqrt(np.sum(off**2) / (n * (n - 1))) / on)


def _cubic_matrix(solution: Solution) -> Complex[np.ndarray, "n n"]:
    """Compute JJ* over r_{k₁k₂k}, k₁, k₂, k ≠ 0, from products of two parts of z (CoGO, eqs. 91 to 94)."""
    d = solution.group.order
    n, (a, b, c) = d - 1, solution.z[:, 1:]
    identity = np.eye(n)

    def gram(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        rows = (x[:, None] * y[None]).reshape(n * n, -1)
        return (rows @ rows.conj().T).reshape(n, n, n, n)

    H = np.einsum("xX,ykYK->xykXYK", identity, gram(b, c))
    H = H + np.einsum("yY,xkXK->xykXYK", identity, gram(a, c)) + np.einsum("kK,xyXY->xykXYK", identity, gram(a, b))
    return H.reshape(n**3, n**3) / d


def _with_quadratic(solution: Solution) -> Complex[np.ndarray, "n n"]:
    """Compute JJ* over r_{k₁k₂k} and r_{pmk′k}, without frequency 0, from the Jacobian with respect to z."""
    d, q = solution.group.order, solution.order
    a, b, c = solution.z
    ks = np.arange(1, d)
    x, y, k = (index.ravel() for index in np.meshgrid(ks, ks, ks, indexing="ij"))
    rows = np.arange(len(x))
    J = np.zeros((len(x), 3, d, q), complex)
    J[rows, 0, x], J[rows, 1, y], J[rows, 2, k] = b[y] * c[k], a[x] * c[k], a[x] * b[y]
    blocks = [J]
    # z_x z_y and z_y z_x are the same potential.
    x, y, k = (index[x <= y] for index in (x, y, k))
    rows = np.arange(len(x))
    for p, z in enumerate((a, b)):
        J = np.zeros((len(x), 3, d, q), complex)
        J[rows, p, x] += z[y] * c[k]
        J[rows, p, y] += z[x] * c[k]
        J[rows, 2, k] = z[x] * z[y]
        blocks.append(J)
    J = np.concatenate(blocks).reshape(-1, 3 * d * q)
    return J @ J.conj().T / d


class Ripple(NamedTuple):
    """A solution of eq. (12): times (n,), r (n,) and κ (n,)."""

    time: Float[np.ndarray, " n"]
    r: Float[np.ndarray, " n"]
    kappa: Float[np.ndarray, " n"]


def ripple(r: float, kappa: float, *, alpha: float, c0: float, time: Float[np.ndarray, " n"]) -> Ripple:
    r"""Solve the ripples of r_kkk about its limit (CoGO, eq. 12).

    $$\dot r = -\kappa r, \qquad \dot\kappa = (2\alpha - 1) r - c_0$$

    For α > ½ and c₀ > 0 the solution circles r = c₀/(2α − 1), κ = 0, with period 2π/√c₀ if it stays near. It does not
    settle, because `ripple_energy` is conserved.

    **Arguments:**

    - `r`, `kappa`: the start, with r > 0.
    - `alpha`, `c0`: α > ½ and c₀ > 0.
    - `time`: increasing times (n,), the first of them the start.

    >>> import numpy as np
    >>> path = ripple(0.2, 0.0, alpha=1.0, c0=0.1, time=np.linspace(0, 50, 9))
    >>> bool(np.ptp(ripple_energy(path.r, path.kappa, alpha=1.0, c0=0.1)) < 1e-9)
    True
    """
    if not (alpha > 0.5 and c0 > 0 and r > 0):
        raise ValueError(f"ripples need r > 0, α > ½ and c₀ > 0; got r = {r}, α = {alpha}, c₀ = {c0}")
    if time.size < 2 or not (np.diff(time) > 0).all():
        raise ValueError(f"time must be at least two increasing numbers, the first of them the start; got {time}")

    def move(_: float, state: np.ndarray) -> list[float]:
        # ln r keeps r positive and makes its equation linear in κ.
        return [-state[1], (2 * alpha - 1) * np.exp(state[0]) - c0]

    span = (float(time[0]), float(time[-1]))
    solved = solve_ivp(move, span, [np.log(r), kappa], t_eval=time, method="DOP853", rtol=1e-12, atol=1e-13)
    return Ripple(np.asarray(time, float), np.exp(solved.y[0]), solved.y[1])


def ripple_energy(
    r: Float[np.ndarray, " n"], kappa: Float[np.ndarray, " n"], *, alpha: float, c0: float
) -> Float[np.ndarray, " n"]:
    """Return H = κ²/2 + (2α − 1)r − c₀ ln r, which eq. (12) conserves."""
    return kappa**2 / 2 + (2 * alpha - 1) * r - c0 * np.log(r)


def decoupled_diagonal(time: Float[np.ndarray, " n"], d: int) -> Float[np.ndarray, " n"]:
    """Return r_kkk(t) = (1 − e^{−2dt})/2d, which solves r′ = 1 − 2dr from 0; the paper prints e^{−t}."""
    return -np.expm1(-2 * d * time) / (2 * d)
