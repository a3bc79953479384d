"""Every activation against finite differences, its own name and its polynomial."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.models import Activation, activation, leaky_relu, poly, power
from tests.tolerances import rounding

NAMES = (
    "linear",
    "quadratic",
    "power3",
    "power4",
    "poly(1.5,-0.5)",
    "relu",
    "leaky_relu",
    "leaky_relu(0.1)",
    "silu",
    "tanh",
    "sigmoid",
)
# Away from the kink at 0 of the piecewise linear ones.
POINTS = np.array([-3.0, -1.2, -0.4, -1e-2, 2e-2, 0.7, 1.9, 3.5])


@pytest.mark.parametrize("sigma", [*map(activation, NAMES), activation(jnp.sin)], ids=[*NAMES, "jnp.sin"])
def test_derivative_is_the_limit_of_differences(sigma: Activation):
    with jax.enable_x64(True):
        h = 1e-5
        # Central difference: error h² σ‴/6 ≤ 1e-10·84/6 (power4), and the rounding of σ over h.
        expected = (sigma(POINTS + h) - sigma(POINTS - h)) / (2 * h)
        error = 1.4e-9 + rounding(np.abs(sigma(POINTS)).max(), factor=8) / h
        np.testing.assert_allclose(sigma.derivative(POINTS), expected, rtol=0, atol=error)


@pytest.mark.parametrize("name", NAMES)
def test_derivative_equals_automatic_differentiation_also_at_zero(name: str):
    sigma = activation(name)
    with jax.enable_x64(True):
        x = jnp.asarray([0.0, *POINTS])
        automatic = jax.vmap(jax.grad(sigma))(x)
        np.testing.assert_allclose(sigma.derivative(x), automatic, rtol=0, atol=rounding(np.abs(automatic).max()))


@pytest.mark.parametrize("name", NAMES)
def test_polynomial_coefficients_are_those_of_the_function(name: str):
    sigma = activation(name)
    assert (sigma.polynomial is not None) == (name.startswith(("linear", "quadratic", "power", "poly")))
    if sigma.polynomial is not None:
        with jax.enable_x64(True):
            values = np.polynomial.Polynomial(sigma.polynomial)(POINTS)
            np.testing.assert_allclose(sigma(POINTS), values, rtol=0, atol=rounding(np.abs(values).max()))


@pytest.mark.parametrize("name", NAMES)
def test_name_gives_the_same_value_back(name: str):
    sigma = activation(name)
    again = activation(sigma.name)
    assert again == sigma
    assert hash(again) == hash(sigma)
    assert activation(sigma) is sigma
    assert eval(repr(sigma)) == sigma


@given(st.floats(-5, 5), st.floats(-5, 5), st.integers(1, 9), st.floats(0, 1))
def test_families_round_trip_through_their_names(a: float, b: float, q: int, slope: float):
    for sigma in (poly(a, b), power(q), leaky_relu(slope)):
        assert activation(sigma.name) == sigma
    assert power(q) != power(q + 1)


def test_named_activations_share_a_compilation_and_wrapped_ones_do_not():
    traces = []

    def apply(sigma: Activation, x: jax.Array) -> jax.Array:
        traces.append(sigma)
        return sigma(x)

    jitted = jax.jit(apply, static_argnums=0)
    for sigma in (
        activation("power3"),
        power(3),
        activation(jnp.sin),
        activation(jnp.sin),
        activation(jnp.cos),
    ):
        np.testing.assert_allclose(jitted(sigma, jnp.ones(2)), sigma(jnp.ones(2)), rtol=1e-6)
    assert len(traces) == 3


def test_dtype_is_kept():
    x = jax.ShapeDtypeStruct((3,), jnp.bfloat16)
    for name in NAMES:
        for function in (activation(name), activation(name).derivative):
            assert jax.eval_shape(function, x) == x


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("quadratc", ValueError, r"unknown activation 'quadratc'; did you mean 'quadratic'\?"),
        ("leaky_rel", ValueError, r"did you mean 'leaky_relu'\?"),
        ("zzz", ValueError, r"Known: linear, quadratic, relu, .*power<q>, poly\(a,b\)"),
        ("power10000000000000", ValueError, r"power<q> goes up to q = 100, got 10000000000000"),
        ("power0", ValueError, r"exponent q of at least 1, got 0"),
        ("poly(1)", ValueError, r"poly\(a,b\) takes 2 finite number.*'poly\(1\)'.*'poly\(1,0.5\)'"),
        ("poly", ValueError, r"takes 2 finite number"),
        ("poly(nan,1)", ValueError, r"finite"),
        ("leaky_relu(a)", ValueError, r"leaky_relu\(slope\) takes 1 finite number"),
        (np.tanh, TypeError, r"'tanh' cannot be traced by JAX .*jax.numpy"),
        (jnp.sum, ValueError, r"must act elementwise"),
    ],
)
def test_bad_specifications_are_refused_with_the_fix(spec, error, message):
    with pytest.raises(error, match=message):
        activation(spec)
