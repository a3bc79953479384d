"""Projection, tangent space and flows on the zero-loss set of real networks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

from firstlight import models, tasks
from firstlight.claims.manifold.checks._networks import tanh_network
from firstlight.theories import manifold


@pytest.fixture(scope="module")
def network():
    return tanh_network(3)


def test_dense_and_matrix_free_projections_agree_and_end_on_the_set(network):
    zero_set, model = network
    dense = manifold.project(zero_set, model, method="dense")
    free = manifold.project(zero_set, model, method="matrix_free", tolerance=1e-9)
    np.testing.assert_allclose(free.theta, dense.theta, atol=1e-7)
    assert dense.residual < 1e-9
    assert dense.tangential < 1e-9
    assert dense.iterations < 20
    again = zero_set.vector(dense.params)
    np.testing.assert_array_equal(again, dense.theta)


def test_the_jacobian_is_that_of_finite_differences(network):
    zero_set, model = network
    theta = zero_set.vector(model)
    v = np.random.default_rng(0).standard_normal(theta.size)
    difference = (zero_set.evaluate(theta + 1e-6 * v) - zero_set.evaluate(theta - 1e-6 * v)) / 2e-6
    np.testing.assert_allclose(zero_set.jacobian(theta) @ v, difference, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(zero_set.push(theta, v), difference, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("method", ["dense", "matrix_free"])
def test_parts_and_inverses_are_those_of_the_pseudo_inverse(network, method):
    zero_set, model = network
    theta = zero_set.vector(model)
    at, J = manifold.Tangent(zero_set, theta, method), zero_set.jacobian(theta)
    plus = np.linalg.pinv(J)
    np.testing.assert_allclose(at.normal(theta), plus @ J @ theta, atol=1e-8)
    np.testing.assert_allclose(at.tangential(theta), theta - plus @ J @ theta, atol=1e-8)
    np.testing.assert_allclose(at.hessian_inverse(theta), np.linalg.pinv(J.T @ J) @ theta, rtol=1e-5, atol=1e-7)
    assert not at.is_singular


def test_the_lagrangian_bends_as_finite_differences_of_pulled_vectors_say(network):
    zero_set, model = network
    theta = zero_set.vector(model)
    u, v = (np.random.default_rng(i).standard_normal(n) for i, n in enumerate((zero_set.constraints, theta.size)))
    difference = (zero_set.pull(theta + 1e-6 * v, u) - zero_set.pull(theta - 1e-6 * v, u)) / 2e-6
    np.testing.assert_allclose(zero_set.bend(theta, u, v), difference, rtol=1e-6, atol=1e-8)


def test_far_starts_find_the_nearest_point_where_plain_steps_diverge():
    hyperbola = manifold.lemmas.TOYS["hyperbola"].zero_set
    half = np.geomspace(0.1, 10, 20001)
    branch = np.stack([half, 1 / half], axis=1)
    for start in np.random.default_rng(0).uniform(-6, 6, (20, 2)):
        nearest_point = manifold.project(hyperbola, start)
        assert max(nearest_point.residual, nearest_point.tangential) < 1e-9
        nearest = np.linalg.norm(np.concatenate([branch, -branch]) - start, axis=1).min()
        assert nearest_point.distance == pytest.approx(nearest, rel=1e-5)


def test_the_constrained_flow_stays_on_the_set_and_loses_norm_only_along_it(network):
    zero_set, model = network
    path = manifold.constrained_flow(zero_set, model, np.linspace(0, 1, 5), rtol=1e-8, atol=1e-10)
    assert max(np.abs(zero_set.evaluate(theta)).max() for theta in path.params) < 1e-7
    assert (np.diff(path.loss) < 0).all()
    theta = path.params[2]
    step = manifold.Tangent(zero_set, theta).tangential(-2 * theta)
    assert manifold.lemmas.tangential_fraction(zero_set, theta, step) == pytest.approx(1.0)


def test_the_constrained_flow_on_the_hyperbola_is_its_closed_form():
    start, tau = np.array([3.0, 1 / 3]), np.linspace(0.0, 2.0, 21)
    path = manifold.constrained_flow(manifold.lemmas.TOYS["hyperbola"].zero_set, start, tau)
    # The solver's relative tolerance is 1e-9 or less a step, over hundreds of steps.
    np.testing.assert_allclose(path.params, manifold.lemmas.hyperbola(start, tau), rtol=0, atol=1e-8)


def test_cross_entropy_at_a_level_of_least_norm_has_the_direction_of_maximal_margin():
    from sklearn.svm import SVC

    rng = np.random.default_rng(1)
    labels = np.repeat([-1.0, 1.0], 8)
    X = rng.standard_normal((16, 2)) + 4.0 * labels[:, None] * np.array([1.0, 0.4])

    def loss(w):
        return jnp.sum(jnp.logaddexp(0.0, -jnp.asarray(labels) * (X @ w)))

    level_set = manifold.ZeroLossSet.level(loss, 1e-9, np.zeros(2))
    u = np.array([1.0, 0.0])
    start = u * brentq(lambda s: float(level_set.evaluate(s * u)[0]), 0.1, 1e3)
    # The nearest point to the origin is that of least norm, where the constrained flow ends.
    w = manifold.project(level_set, np.zeros(2), start=start).theta
    # The machine fits a bias, we do not; on data made symmetric its bias is zero.
    both = SVC(kernel="linear", C=1e6).fit(np.r_[X, -X], np.r_[labels, -labels]).coef_[0]
    assert w @ both / np.linalg.norm(w) / np.linalg.norm(both) == pytest.approx(1.0, abs=5e-3)


def test_errors_name_the_assumption_that_fails():
    task = tasks.group_task("Z5")
    model = models.TwoLayer.init(jax.random.key(0), inputs=10, width=2, outputs=5)
    with pytest.raises(
        manifold.AssumptionFails, match=r"over-parametrisation \(Assumption 4.3\): 125 constraints.*got 30"
    ):
        manifold.ZeroLossSet.of(model, task.inputs, task.targets)
    cross = manifold.lemmas.TOYS["cross"].zero_set
    with pytest.raises(
        manifold.AssumptionFails, match=r"no singular points \(Assumption 4.7\): the Jacobian has rank 0"
    ):
        manifold.project(cross, np.zeros(2))
    twice = manifold.ZeroLossSet(lambda w: jnp.stack([w.sum() - 1, w.sum() - 1]), np.zeros(3))
    with pytest.raises(manifold.AssumptionFails, match="has rank 1 for 2 constraints"):
        manifold.project(twice, np.ones(3))
    for broken, point in ((cross, np.zeros(2)), (twice, np.ones(3))):
        assert manifold.Tangent(broken, point, "matrix_free").is_singular
        with pytest.raises(manifold.AssumptionFails, match=r"Assumption 4.7\): the Jacobian has lost rank"):
            manifold.project(broken, point, method="matrix_free")
        with pytest.raises(manifold.AssumptionFails, match=r"Assumption 4.7\): the Jacobian has lost rank"):
            manifold.lemmas.predicted_distance(broken, point, 0.1, method="matrix_free")
    with pytest.raises(ValueError, match="must be finite"):
        manifold.project(cross, np.array([np.nan, 1.0]))
    nowhere = manifold.ZeroLossSet(lambda w: w[:1] ** 2 + 1.0, np.zeros(2))
    with pytest.raises(manifold.AssumptionFails, match="Assumption 4"):
        manifold.project(nowhere, np.ones(2), max_steps=50)
    for lam in (0.0, -1.0, float("nan")):
        with pytest.raises(manifold.AssumptionFails, match="λ must be a finite number > 0"):
            manifold.lemmas.predicted_distance(cross, np.ones(2), lam)
        with pytest.raises(manifold.AssumptionFails, match="λ must be a finite number > 0"):
            manifold.decay_flow(cross, np.ones(2), lam, 1.0)


def test_a_tree_of_another_shape_or_structure_is_refused():
    W, V = np.zeros((3, 8)), np.zeros((8, 1))
    zero_set = manifold.ZeroLossSet(lambda w: jnp.sum(w["W"] @ w["V"]) - 1.0, {"W": W, "V": V})
    assert zero_set.vector({"W": W, "V": V}).shape == (32,)
    with pytest.raises(ValueError, match=r"the shapes of `like`, \(8, 1\), \(3, 8\), got \(1, 8\), \(8, 3\)"):
        zero_set.vector({"W": W.T, "V": V.T})
    with pytest.raises(ValueError, match="params must have the structure of `like`"):
        zero_set.vector([V, W])
    with pytest.raises(ValueError, match="got no arrays of floats"):
        zero_set.vector({})


def test_the_gradient_turns_to_the_normal_where_projections_leave_the_set_too():
    # The ellipse x²/4 + y² = 1 and a disc that touches it from outside: no point of the disc projects into it.
    ellipse = manifold.ZeroLossSet(lambda w: w[0] ** 2 / 4 + w[1] ** 2 - 1.0, np.zeros(2))
    touch = np.array([2 * np.cos(0.7), np.sin(0.7)])
    normal = np.array([touch[0] / 4, touch[1]]) / np.hypot(touch[0] / 4, touch[1])
    ratios = []
    for height in (1e-3, 1e-4, 1e-5):
        theta = touch + height * normal + 0.9 * np.sqrt(0.2 * height) * np.array([-normal[1], normal[0]])
        cosine, far = manifold.lemmas.gradient_angle(ellipse, theta)
        # The nearest point is where θ − φ is normal to the tangent (−2 sin t, cos t).
        t = brentq(
            lambda t, x, y: 2 * np.sin(t) * (2 * np.cos(t) - x) - np.cos(t) * (np.sin(t) - y), 0.5, 0.9, (*theta,)
        )
        nearest, tangent = np.array([2 * np.cos(t), np.sin(t)]), np.array([-2 * np.sin(t), np.cos(t)])
        gradient = np.array([theta[0] / 2, 2 * theta[1]])
        exact = abs(tangent @ gradient) / np.linalg.norm(tangent) / np.linalg.norm(gradient)
        assert cosine == pytest.approx(exact, rel=1e-6)
        assert far == pytest.approx(np.linalg.norm(theta - nearest), rel=1e-6)
        assert np.linalg.norm(nearest - (touch + 0.1 * normal)) > 0.1
        ratios.append(cosine / far)
    np.testing.assert_allclose(ratios, ratios[-1], rtol=0.1)
