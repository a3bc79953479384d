"""Stage III: hidden units repel each other, and the gradient turns to missing irreps (Theorems 6 and 7)."""

from collections.abc import Collection

import numpy as np
from jaxtyping import Complex, Float

from firstlight.features import GroupEnergy, ascend, centred, irrep_content, random_starts
from firstlight.groups import Group, convolve


def repulsion_matrix(F: Float[np.ndarray, "n K"], eta: float) -> Float[np.ndarray, "K K"]:
    r"""Return B = (F̃ᵀF̃ + ηI)⁻¹; b_jl weighs hidden unit l in the gradient of hidden unit j.

    $$[\tilde F B]_j = b_{jj}\tilde f_j + \sum_{l \neq j} b_{jl}\tilde f_l$$

    Reference: Li₂, eq. 10, where the sum must leave out l = j.

    **Arguments:**

    - `F`: (n, K) activations; the function centres them.
    - `eta`: ridge η > 0.

    >>> B = repulsion_matrix(np.array([[1.0, 1.0], [0.0, 0.1], [0.0, 0.0]]), eta=0.1)
    >>> bool(B[0, 1] < 0)
    True
    """
    _require_ridge(eta)
    F_tilde = centred(F)
    return np.linalg.inv(F_tilde.T @ F_tilde + eta * np.eye(F.shape[1]))


def repulsion_coefficient(F: Float[np.ndarray, "n K"], eta: float, j: int, l: int) -> float:
    r"""Compute b_jl from two hidden units and their ridge residuals on all others.

    $$b_{jl} = -\frac{\beta}{(\eta + \alpha)(\eta + \gamma) - \beta^2}$$

    with α = f̃_jᵀPf̃_j, β = f̃_jᵀPf̃_l, γ = f̃_lᵀPf̃_l and P = P_{η,−jl} the ridge residual of all other units. The sign
    is opposite to that of β: two units with similar residuals repel. Reference: Li₂, Theorem 6.

    **Arguments:**

    - `F`: (n, K) activations; the function centres them.
    - `eta`: ridge η > 0.
    - `j`, `l`: two different hidden units.

    >>> F = np.random.default_rng(0).normal(size=(9, 4))
    >>> bool(np.isclose(repulsion_coefficient(F, 0.3, 1, 3), repulsion_matrix(F, 0.3)[1, 3]))
    True
    """
    _require_ridge(eta)
    if j == l:
        raise ValueError(f"repulsion is between two different hidden units, got j = l = {j}")
    F_tilde = centred(F)
    others, pair = np.delete(F_tilde, [j, l], axis=1), F_tilde[:, [j, l]]
    gram = others.T @ others + eta * np.eye(others.shape[1])
    left = pair - others @ np.linalg.solve(gram, others.T @ pair)
    S = pair.T @ left + eta * np.eye(2)
    return float(-S[0, 1] / np.linalg.det(S))


def _require_ridge(eta: float) -> None:
    if not eta > 0:
        raise ValueError(f"eta must be positive, got {eta}; without a ridge F̃ᵀF̃ need not be invertible")


def modulation(group: Group, learned: Collection[int]) -> Complex[np.ndarray, "M w"]:
    r"""Return Φ_S, whose columns span all irreps outside S; the residual of the target is Φ_SΦ_S* of the product.

    $$\Phi_S = \left[\sqrt{d_k/M}\,[C_k(h)]_{ij}\right]_{k \notin S,\ k \neq 0,\ i, j \le d_k}$$

    The width is Σ_{k∉S} d_k². The printed matrix, with one column χ_k per irrep, is correct only for Abelian groups,
    where the width is κ − |S|. Reference: Li₂, Theorem 7.

    **Arguments:**

    - `group`: of order M.
    - `learned`: S, indices into `group.irreps()`. Real hidden units learn an irrep with its conjugate, so the function
      closes S under conjugation; it always leaves out the trivial irrep.

    >>> from firstlight.groups import symmetric
    >>> modulation(symmetric(3), learned=[1]).shape
    (6, 4)
    """
    known = group.irreps()
    _require_known(group, learned)
    closed = set(learned) | {known[k].conjugate for k in learned}
    missing = [rho for rho in known if not rho.is_trivial and rho.index not in closed]
    columns = [np.sqrt(rho.dim / group.order) * rho.matrices.reshape(group.order, -1) for rho in missing]
    return np.concatenate([*columns, np.zeros((group.order, 0), complex)], axis=1)


def _require_known(group: Group, learned: Collection[int]) -> None:
    last = len(group.irreps()) - 1
    if unknown := sorted(set(learned) - set(range(last + 1))):
        raise ValueError(f"learned names irreps {unknown}; {group.name} has irreps 0 to {last}")


def modulated_energy(
    group: Group, learned: Collection[int], W: Float[np.ndarray, "two_M K"]
) -> Float[np.ndarray, " K"]:
    r"""Compute the energy E_S(w) that is left once the irreps of S are fitted (σ = x²).

    E_S(w) = ½‖Φ_S* z‖² with z_h = Σ_{g₁g₂=h} σ(a(g₁) + b(g₂)). On the full table z = 2(a ∗ b) up to a constant, which
    every k ≠ 0 ignores. Reference: Li₂, Theorem 7.

    **Arguments:**

    - `group`: of order M.
    - `learned`: S, as in `modulation`.
    - `W`: (2M, K), a hidden unit w = [a; b] in each column.

    >>> from firstlight.groups import cyclic
    >>> w = np.cos(2 * np.pi * np.arange(5) / 5)
    >>> E = modulated_energy(cyclic(5), [], np.concatenate([w, w])[:, None])
    >>> bool(np.isclose(E[0] / 5**2, 5 / 4))
    True
    """
    return 0.5 * np.sum(np.abs(_coefficients(group, learned, W)) ** 2, axis=1)


def modulated_gradient(
    group: Group, learned: Collection[int], W: Float[np.ndarray, "two_M K"]
) -> Float[np.ndarray, "two_M K"]:
    """Compute ∇E_S of each hidden unit, by group convolution; arguments as in `modulated_energy`.

    With z̃ = Re Φ_SΦ_S* z, ∂E_S/∂a(g) = 2 Σ_h z̃(h) b(g⁻¹h) and ∂E_S/∂b(g) = 2 Σ_h z̃(h) a(hg⁻¹).
    """
    a, b = _halves(group, W)
    Phi = modulation(group, learned)
    z = np.real(_coefficients(group, learned, W) @ Phi.T)
    inverse = group.inverse
    return 2 * np.concatenate([convolve(group, z, b[:, inverse]), convolve(group, a[:, inverse], z)], axis=1).T


def ascend_modulated(
    group: Group,
    learned: Collection[int] = (),
    *,
    starts: int = 32,
    seed: int = 0,
    steps: int = 3000,
    tolerance: float = 1e-9,
) -> Float[np.ndarray, "two_M starts"]:
    """Ascend E_S on the unit sphere from random starts; return the maximum of each start as a column.

    Calls `features.ascend` without the irreps of S. Raises an error if an ascent does not converge.

    **Arguments:**

    - `group`: of order M.
    - `learned`: S, as in `modulation`.
    - `starts`, `seed`: number and seed of the random starts.
    - `steps`, `tolerance`: as in `features.ascend`.

    >>> from firstlight.groups import cyclic
    >>> W = ascend_modulated(cyclic(5), learned=(1, 4), starts=4)
    >>> bool(np.allclose(modulated_energy(cyclic(5), (), W), 5 / 4))
    True
    """
    _require_known(group, learned)
    end = ascend(
        GroupEnergy(group), random_starts(group, starts, seed), steps=steps, tolerance=tolerance, fitted=learned
    )
    if not end.converged.all():
        raise ValueError(
            f"{np.sum(~end.converged)} of {starts} ascents did not converge within {steps} steps; allow more"
        )
    return end.W


def reached_irreps(group: Group, W: Float[np.ndarray, "two_M K"], level: float = 0.99) -> list[frozenset[int]]:
    """Return the irrep, or conjugate pair, that holds `level` of each hidden unit's norm; empty if none does."""
    content, parts = irrep_content(W, group), group.real_components()
    return [frozenset(parts[int(np.argmax(c))].irreps if c.max() >= level else ()) for c in content]


def _coefficients(group: Group, learned: Collection[int], W: np.ndarray) -> np.ndarray:
    a, b = _halves(group, W)
    return 2 * convolve(group, a, b) @ modulation(group, learned).conj()


def _halves(group: Group, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if W.ndim != 2 or W.shape[0] != 2 * group.order:
        raise ValueError(
            f"hidden units on {group.name} are columns of length {2 * group.order}, first factor then second; "
            f"got shape {W.shape}"
        )
    return W[: group.order].T, W[group.order :].T
