"""How many maxima span the cross terms, by counting dimensions and by rank; and that this number reconstructs."""

import numpy as np
import pytest

from firstlight import features, groups
from firstlight.theories import li2


@pytest.mark.parametrize("name", ["Z7", "Z8", "S3", "D5", "A4", "Q8", "F21", "SL(2,3)"])
def test_the_count_of_pairs_is_the_dimension_of_the_cross_terms(name):
    group = groups.parse(name)
    M = group.order
    for family in features.maxima(group):
        W = family.random_nodes(li2.lemmas.pairs_needed(family.component) + 20, seed=0)
        cross = (W[:M, None] * W[None, M:]).reshape(M * M, -1)
        assert np.linalg.matrix_rank(cross, rtol=1e-9) == li2.lemmas.pairs_needed(family.component)


@pytest.mark.parametrize(("name", "K"), [("Z5", 16), ("Z7", 24), ("S3", 26), ("Q8", 38), ("A4", 116), ("Z6", 18)])
def test_so_many_true_maxima_reconstruct_and_one_pair_fewer_does_not(name, K):
    group = groups.parse(name)
    assert li2.nodes_needed(group) == K
    assert li2.lemmas.reconstruction_residual(li2.lemmas.reconstructing_nodes(group), group) < 1e-18
    assert li2.lemmas.reconstruction_residual(li2.lemmas.reconstructing_nodes(group, fewer=1), group) > 1e-4


@pytest.mark.parametrize(("name", "left"), [("Z7", 0.5), ("S3", 0.2), ("A4", 4 / 11), ("Q8", 3 / 7)])
def test_printed_nodes_reconstruct_over_the_complex_numbers_with_a_conjugate_only(name, left):
    group = groups.parse(name)
    residual = {
        d: li2.lemmas.reconstruction_residual(li2.lemmas.printed_nodes(group, 0, d), group)
        for d in ("real", "conjugate")
    }
    assert np.isclose(residual["real"], left, atol=1e-9)
    assert residual["conjugate"] < 1e-18
    if group.is_abelian:
        assert np.isclose(li2.lemmas.reconstruction_residual(li2.lemmas.printed_nodes(group, 0, "complex"), group), 1)


def test_the_residual_is_that_of_least_squares():
    group = groups.symmetric(3)
    W = np.random.default_rng(0).standard_normal((12, 9))
    F = features.centred(((W[:6, None] + W[None, 6:]) ** 2).reshape(36, 9))
    Y = features.centred(np.eye(6)[group.table.ravel()])
    rest = Y - F @ np.linalg.lstsq(F, Y, rcond=None)[0]
    assert np.isclose(li2.lemmas.reconstruction_residual(W, group), (rest**2).sum() / (Y**2).sum())
