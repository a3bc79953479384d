"""JJ*, ripples, and training on part of the loss."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from firstlight.groups import cyclic
from firstlight.theories.cogo import Solution
from firstlight.theories.cogo._dynamics import _cubic_matrix, _with_quadratic, adjoint, forward
from firstlight.theories.cogo._reduced import loss_without_convolution
from firstlight.theories.cogo.lemmas import (
    Potentials,
    decoupled_diagonal,
    gaussian_solution,
    jj_star,
    loss_terms,
    potentials,
    ripple,
    ripple_energy,
)
from tests.tolerances import rounding


def random_vector(d, seed):
    rng = np.random.default_rng(seed)
    shapes = (d, d, d), (2, d, d, d)
    return Potentials(*(rng.standard_normal(s) + 1j * rng.standard_normal(s) for s in shapes))


def test_jj_star_is_j_times_its_adjoint_and_hermitian():
    solution = gaussian_solution(cyclic(5), 4, 1)
    u, v = random_vector(5, 0), random_vector(5, 1)
    dz = gaussian_solution(cyclic(5), 4, 2).z
    inner = lambda x, y: sum(np.vdot(a, b) for a, b in zip(x, y, strict=True))  # noqa: E731
    assert np.isclose(inner(u, forward(solution, dz)), 5 * np.vdot(adjoint(solution, u), dz))
    assert np.isclose(inner(u, jj_star(solution, v)), np.conj(inner(v, jj_star(solution, u))))
    assert inner(u, jj_star(solution, u)).real > 0


def test_the_matrix_of_jj_star_is_the_matrix_free_one():
    solution = gaussian_solution(cyclic(4), 5, 0)
    z = solution.z.copy()
    z[:, 0] = 0
    solution = Solution(cyclic(4), z)
    H = _cubic_matrix(solution)
    u = np.zeros((4, 4, 4), complex)
    u[1, 2, 3] = 1
    column = jj_star(solution, Potentials(u, np.zeros((2, 4, 4, 4), complex))).cubic[1:, 1:, 1:].ravel()
    np.testing.assert_allclose(H[:, np.ravel_multi_index((0, 1, 2), (3, 3, 3))], column, atol=1e-15)
    assert potentials(solution).cubic.shape == (4, 4, 4)


def test_ripples_conserve_their_energy_and_need_their_conditions():
    path = ripple(0.5, -0.1, alpha=0.9, c0=0.2, time=np.linspace(0, 100, 50))
    H = ripple_energy(path.r, path.kappa, alpha=0.9, c0=0.2)
    assert np.ptp(H) < 1e-9
    assert path.r.min() > 0
    with pytest.raises(ValueError, match=r"α > ½ and c₀ > 0; got r = 0\.5, α = 0\.4"):
        ripple(0.5, 0.0, alpha=0.4, c0=0.2, time=np.linspace(0, 1, 3))
    with pytest.raises(ValueError, match=r"c₀ > 0; got r = 0\.5, α = 0\.9, c₀ = 0\.0"):
        ripple(0.5, 0.0, alpha=0.9, c0=0.0, time=np.linspace(0, 1, 3))
    with pytest.raises(ValueError, match="time must be at least two increasing numbers"):
        ripple(0.5, 0.0, alpha=0.9, c0=0.2, time=np.array([0.0, 2.0, 1.0]))
    assert np.isclose(decoupled_diagonal(np.array([100.0]), 23)[0], 1 / 46)


def test_the_loss_without_its_last_term():
    group = cyclic(5)
    solution = gaussian_solution(group, 3, 4)
    terms = loss_terms(solution)
    with jax.enable_x64(True):
        W, V = (jnp.asarray(part) for part in solution.weights)
        reduced = float(loss_without_convolution(W, V, group))
    assert np.isclose(reduced, terms.total - terms.convolution.sum(), rtol=1e-12)


def test_the_matrix_with_quadratic_potentials_is_that_of_differences():
    """A potential is at most quadratic in one entry of z, where central differences have no error but rounding."""
    d, q = 4, 3
    solution = gaussian_solution(cyclic(d), q, 3)
    pairs = [(x, y) for x in range(1, d) for y in range(x, d)]

    def values(z):
        a, b, c = z[:, 1:]
        cubic = np.einsum("xj,yj,kj->xyk", a, b, c).ravel()
        quadratic = [z[p, x] * z[p, y] @ z[2, k] for p in (0, 1) for x, y in pairs for k in range(1, d)]
        return np.concatenate([cubic, quadratic])

    columns = []
    for place in np.ndindex(solution.z.shape):
        step = np.zeros_like(solution.z)
        step[place] = 0.5
        columns.append(values(solution.z + step) - values(solution.z - step))
    J = np.stack(columns, axis=1)
    H = _with_quadratic(solution)
    assert H.shape == (27 + 36, 27 + 36)
    # Products of three numbers of up to |z| + ½, then sums over the 3dq entries of z.
    largest = (np.abs(solution.z).max() + 0.5) ** 3
    expected = np.diagonal(J @ J.conj().T / d)
    order = np.argsort(expected.real)
    same_order = np.argsort(np.diagonal(H).real)
    allowed = rounding(largest * np.abs(J).max(), J.shape[1])
    np.testing.assert_allclose(np.diagonal(H)[same_order], expected[order], rtol=0, atol=allowed)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(H), np.linalg.eigvalsh(J @ J.conj().T / d), rtol=0, atol=allowed * len(H)
    )
