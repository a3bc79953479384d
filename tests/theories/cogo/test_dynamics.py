"""JJ*, ripples, and training on part of the loss."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from firstlight.groups import cyclic
from firstlight.theories.cogo import (
    Potentials,
    Solution,
    decoupled_diagonal,
    gaussian_solution,
    jj_star,
    loss_terms,
    potentials,
    ripple,
    ripple_energy,
)
from firstlight.theories.cogo.dynamics import _cubic_matrix, adjoint, forward
from firstlight.theories.cogo.reduced import loss_without_convolution


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
