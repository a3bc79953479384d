"""Repulsion and top-down modulation, against inverses, brute force over the table and finite differences."""

import numpy as np
import pytest

from firstlight import features, groups
from firstlight.theories import li2

GROUPS = ("S3", "Q8", "A4", "Z7", "Z2xZ2xZ3")


def table_of(group, W):
    """z_h = Σ_{gg'=h} (a(g) + b(g'))², pair by pair."""
    M = group.order
    z = np.zeros((M, W.shape[1]))
    for g in range(M):
        for h in range(M):
            z[group.table[g, h]] += (W[g] + W[M + h]) ** 2
    return z


@pytest.mark.parametrize("shape", [(40, 7), (6, 9)], ids=["n > K", "K > n"])
def test_every_repulsion_coefficient_is_an_entry_of_the_inverse(shape):
    F = np.random.default_rng(1).normal(size=shape)
    B = li2.lemmas.repulsion_matrix(F, eta=0.2)
    centred = F - F.mean(0)
    K = shape[1]
    formula = np.diag(np.diagonal(B))
    for j, k in np.argwhere(~np.eye(K, dtype=bool)):
        formula[j, k] = li2.lemmas.repulsion_coefficient(F, 0.2, int(j), int(k))
    np.testing.assert_allclose(formula, B, rtol=0, atol=1e-11)
    np.testing.assert_allclose(B @ (centred.T @ centred + 0.2 * np.eye(K)), np.eye(K), atol=1e-11)


def test_copies_repel_and_opposites_attract():
    f, rest = np.random.default_rng(0).normal(size=(2, 30))
    B = li2.lemmas.repulsion_matrix(np.stack([f, f + 0.1 * rest, -f + 0.2 * rest], axis=1), eta=1e-2)
    assert B[0, 1] < 0 < B[0, 2]


def test_what_repulsion_needs_is_named():
    F = np.ones((3, 2))
    with pytest.raises(ValueError, match="eta must be positive, got 0"):
        li2.lemmas.repulsion_matrix(F, 0.0)
    with pytest.raises(ValueError, match="two different hidden units, got j = l = 1"):
        li2.lemmas.repulsion_coefficient(F, 1.0, 1, 1)
    with pytest.raises(ValueError, match=r"learned names irreps \[9\]; S3 has irreps 0 to 2"):
        li2.lemmas.modulation(groups.parse("S3"), [9])


@pytest.mark.parametrize("name", GROUPS)
def test_modulation_is_what_the_learned_irreps_leave_of_the_target(name):
    group = groups.parse(name)
    learned = [1]
    Phi = li2.lemmas.modulation(group, learned)
    known = group.irreps()
    closed = {1, known[1].conjugate}
    assert Phi.shape[1] == sum(rho.dim**2 for rho in known if not rho.is_trivial and rho.index not in closed)
    # Projectors onto the learned components, from their real bases, and the mean make up the rest of the identity.
    parts = [part for part in group.real_components() if part.is_trivial or set(part.irreps) & closed]
    rest = sum(part.projector for part in parts)
    np.testing.assert_allclose(Phi @ Phi.conj().T, np.eye(group.order) - rest, atol=1e-12)


@pytest.mark.parametrize("name", GROUPS)
def test_modulated_energy_and_gradient_agree_with_the_table(name):
    group = groups.parse(name)
    W = np.random.default_rng(2).normal(size=(2 * group.order, 3))
    for learned in ([], [1]):
        Phi = li2.lemmas.modulation(group, learned)
        E = 0.5 * np.sum(np.abs(Phi.conj().T @ table_of(group, W)) ** 2, axis=0)
        np.testing.assert_allclose(li2.lemmas.modulated_energy(group, learned, W), E, rtol=1e-12)
        gradient, h = li2.lemmas.modulated_gradient(group, learned, W), 1e-6
        for i in (0, group.order - 1, group.order + 1):
            e = np.zeros_like(W)
            e[i] = h
            up, down = (li2.lemmas.modulated_energy(group, learned, W + s * e) for s in (1, -1))
            np.testing.assert_allclose(gradient[i], (up - down) / (2 * h), rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(li2.lemmas.modulated_energy(group, [], W), features.energy(W, group), rtol=1e-12)


@pytest.mark.parametrize("name", ["S3", "A4", "Q8", "Z12"])
def test_ascents_reach_missing_irreps_at_their_energy_and_no_others(name):
    group = groups.parse(name)
    energies = {frozenset(m.component.irreps): m.energy for m in features.maxima(group)}
    learned = set(next(iter(energies)))
    W = li2.lemmas.ascend_modulated(group, sorted(learned), starts=24, seed=3)
    reached = li2.lemmas.reached_irreps(group, W)
    assert set(reached) <= set(energies) - {frozenset(learned)}
    E = li2.lemmas.modulated_energy(group, sorted(learned), W)
    np.testing.assert_allclose(E, [energies[irreps] for irreps in reached], atol=1e-6)


def test_an_ascent_that_does_not_rest_is_an_error():
    with pytest.raises(ValueError, match="of 8 ascents did not converge within 3 steps; allow more"):
        li2.lemmas.ascend_modulated(groups.parse("A4"), [1], starts=8, steps=3)
    with pytest.raises(ValueError, match="every irrep of Z5 is fitted"):
        li2.lemmas.ascend_modulated(groups.parse("Z5"), [1, 2])


@pytest.mark.parametrize("name", ["S3", "Z5"])
def test_the_gradient_of_a_new_node_is_modulated(name):
    """A node beside others that fit S exactly is driven by Φ_SΦ_S* z, not by the whole target."""
    group = groups.parse(name)
    M = group.order
    first = features.maxima(group)[-1]
    old = first.random_nodes(60, seed=0)
    new = 1e-4 * features.random_starts(group, 4, seed=1)
    g, h = np.divmod(np.arange(M * M), M)
    F = (np.hstack([old, new])[g] + np.hstack([old, new])[M + h]) ** 2
    Y = np.eye(M)[group.table.reshape(-1)]
    V = features.ridge(F, Y, 1e-10)
    G = features.feature_gradient(F, Y, V)[:, 60:]
    Phi = li2.lemmas.modulation(group, first.component.irreps)
    drive = np.real(Phi @ (Phi.conj().T @ table_of(group, new)))[group.table.reshape(-1)]
    cosines = np.sum(G * drive, 0) / np.linalg.norm(G, axis=0) / np.linalg.norm(drive, axis=0)
    assert cosines.min() > 1 - 1e-6
