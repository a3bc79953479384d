"""Points of an embedding on an irrep: the distances of the embedding, whatever the basis."""

import numpy as np
import pytest

from firstlight import features, groups
from tests.tolerances import rounding


@pytest.mark.parametrize("name", ["Z7", "Z6", "S3", "D5", "A4", "Q8"])
def test_points_have_the_inner_products_of_the_projected_rows(name):
    group = groups.parse(name)
    W = np.random.default_rng(0).standard_normal((2 * group.order, 9))
    rows = np.hstack([W[: group.order], W[group.order :]])
    for place, component in enumerate(group.real_components()):
        projected = component.projector @ rows
        points = features.component_points(W, group, place)
        assert points.shape == (group.order, component.size)
        expected = projected @ projected.T
        np.testing.assert_allclose(
            points @ points.T, expected, atol=rounding(np.abs(expected).max(), terms=group.order)
        )


@pytest.mark.parametrize("name", ["Z7", "D5"])
def test_points_do_not_depend_on_a_turn_of_the_hidden_units(name):
    group = groups.parse(name)
    rng = np.random.default_rng(1)
    W = rng.standard_normal((group.order, 6))
    turn, _ = np.linalg.qr(rng.standard_normal((6, 6)))
    last = len(group.real_components()) - 1
    once, again = (features.component_points(weights, group, last) for weights in (W, W @ turn))
    np.testing.assert_allclose(once, again, atol=rounding(np.abs(once).max(), terms=group.order, factor=64))


def test_the_plane_holds_the_most_spread_of_all_planes():
    rng = np.random.default_rng(2)
    points = rng.standard_normal((30, 5)) * np.array([1.0, 4.0, 0.5, 3.0, 2.0])
    plane = features.widest_plane(points)
    np.testing.assert_allclose(plane.T @ plane, np.eye(2), atol=rounding(1.0, terms=5))
    spread = np.sum((points @ plane) ** 2)
    for _ in range(200):
        other, _ = np.linalg.qr(rng.standard_normal((5, 2)))
        assert np.sum((points @ other) ** 2) <= spread * (1 + rounding(1.0, terms=30))


def test_small_components_keep_their_axes():
    assert features.widest_plane(np.ones((4, 2))).tolist() == [[1, 0], [0, 1]]
    assert features.widest_plane(np.ones((4, 1))).tolist() == [[1]]


def test_the_shape_of_an_embedding_is_checked():
    with pytest.raises(ValueError, match="multiple of 7 rows"):
        features.component_points(np.ones((5, 2)), groups.parse("Z7"), 0)
