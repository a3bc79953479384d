"""Every public function of arrays, on NumPy, JAX and torch: the same numbers, library and precision."""

import functools
import inspect
import typing

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jaxtyping import AbstractArray

from firstlight import features, groups
from tests.tolerances import rounding

n, d, K, c, M = 9, 5, 4, 2, 6
GROUP, ETA, LAMBDA = groups.symmetric(3), 2.0, 0.3


def draw(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def positive(size, seed=0):
    """A positive definite matrix with eigenvalues between 1 and 2."""
    Q = np.linalg.qr(draw(size, size, seed=seed))[0]
    return Q @ np.diag(np.linspace(1, 2, size)) @ Q.T


F, Y, V = draw(n, K), draw(n, 3, seed=1), draw(K, 3, seed=2)
W, G, H, DELTA, JACOBIAN = draw(d, K), draw(d, K, seed=1), draw(n, d, seed=2), draw(n, K, seed=3), draw(n, c, K)
X, METRIC, ALPHA = draw(n, d), positive(d), draw(n, c, seed=1)
D = features.symmetric_part(draw(n, n))
UNITS = draw(2 * M, K)
CONTENT = features.irrep_content(UNITS, GROUP)
LOGITS, KEYS = draw(M, M, M), np.array([False, True, True])
SHARES = features.product_shares(LOGITS, GROUP)
FACTS, TIMES = draw(3, d, d), np.array([0.0, 0.5, 2.0])

# The arrays, the call with every other argument fixed, and how many entries are multiplied in one term of a sum. An
# inverse or a power counts as one more: the matrices here are well conditioned.
CASES = {
    "agop": ((W, JACOBIAN), features.agop, 2),
    "average_outer_product": ((JACOBIAN,), features.average_outer_product, 2),
    "averaged_nfm": ((METRIC, FACTS, TIMES), functools.partial(features.averaged_nfm, weight_decay=LAMBDA), 1),
    "bagop": ((JACOBIAN,), features.bagop, 2),
    "benfa": ((DELTA,), features.benfa, 2),
    "bfact": ((W, G), functools.partial(features.bfact, weight_decay=LAMBDA), 2),
    "bnfm": ((W,), features.bnfm, 2),
    "budget_to_align": ((METRIC, FACTS[0]), features.budget_to_align, 2),
    "centred": ((F,), features.centred, 1),
    "cosine": ((W, G), features.cosine, 1),
    "dominates": ((CONTENT,), functools.partial(features.dominates, group=GROUP), 0),
    "enfa": ((W, DELTA), features.enfa, 4),
    "fact": ((W, G), functools.partial(features.fact, weight_decay=LAMBDA), 2),
    "feature_gradient": ((F, Y, V), features.feature_gradient, 3),
    "irrep_content": ((UNITS,), functools.partial(features.irrep_content, group=GROUP), 0),
    "kernel_agop": ((X, METRIC, D, ALPHA), functools.partial(features.kernel_agop, radial=True, centred=True), 8),
    "kernel_fact": ((X, METRIC, D, ALPHA), functools.partial(features.kernel_fact, radial=True), 6),
    "matrix_power": ((METRIC,), functools.partial(features.matrix_power, power=0.3), 2),
    "nfm": ((W,), features.nfm, 2),
    "node_shares": ((UNITS,), features.node_shares, 0),
    "pearson": ((W, G), features.pearson, 1),
    "pulled_back": ((W, DELTA[:K]), features.pulled_back, 3),
    "pulled_back_power": ((W, positive(K)), functools.partial(features.pulled_back_power, power=0.5), 2),
    "purity": ((CONTENT,), features.purity, 0),
    "ridge": ((F, Y), functools.partial(features.ridge, eta=ETA), 3),
    "ridge_gradient": ((F, Y), functools.partial(features.ridge_gradient, eta=ETA), 4),
    "ridge_residual": ((F,), functools.partial(features.ridge_residual, eta=ETA), 2),
    "symmetric_part": ((FACTS[0],), features.symmetric_part, 1),
    "symmetrised": ((FACTS[0],), features.symmetrised, 2),
    "symmetrised_product": ((W, G), features.symmetrised_product, 3),
    "weight_gradient": ((H, DELTA), features.weight_gradient, 2),
}
# The measures of circuits, on the group S3 with three real components.
CASES |= {
    "component_norms": ((UNITS,), functools.partial(features.component_norms, group=GROUP), 2),
    "component_part": ((LOGITS[0],), functools.partial(features.component_part, group=GROUP, components=KEYS), 2),
    "excluded_logits": ((LOGITS,), functools.partial(features.excluded_logits, group=GROUP, keys=KEYS), 2),
    "irrep_gini": ((UNITS,), functools.partial(features.irrep_gini, group=GROUP), 2),
    "key_components": ((SHARES,), functools.partial(features.key_components, group=GROUP), 0),
    "logit_formula": ((LOGITS,), lambda logits: features.logit_formula(logits, GROUP, KEYS).coefficients, 3),
    "orbit_shares": ((UNITS,), functools.partial(features.orbit_shares, group=GROUP), 4),
    "product_mean": ((LOGITS,), functools.partial(features.product_mean, group=GROUP), 1),
    "product_shares": ((LOGITS,), functools.partial(features.product_shares, group=GROUP), 4),
    "restricted_logits": ((LOGITS,), functools.partial(features.restricted_logits, group=GROUP, keys=KEYS), 2),
}
# Other branches of the same functions.
CASES |= {
    "kernel_agop of inner products by outputs": (
        (X, METRIC, D, ALPHA),
        functools.partial(features.kernel_agop, radial=False, form="outputs"),
        8,
    ),
    "ridge in the samples": ((draw(K, n), Y[:K]), functools.partial(features.ridge, eta=ETA), 3),
    "ridge of least norm": ((draw(K, n), Y[:K]), functools.partial(features.ridge, eta=0.0), 3),
    "ridge without centring": ((F, Y), functools.partial(features.ridge, eta=ETA, centre=False), 3),
    "ridge_gradient in the samples": ((F, Y), functools.partial(features.ridge_gradient, eta=ETA, form="samples"), 4),
    "ridge_residual without a ridge": ((F,), functools.partial(features.ridge_residual, eta=0.0), 2),
    "symmetrised of a wide matrix": ((W.T,), features.symmetrised, 2),
}
LIBRARIES = {"numpy": np.asarray, "jax": jnp.asarray, "torch": torch.asarray}
TYPES = {"numpy": np.ndarray | np.generic, "jax": jax.Array, "torch": torch.Tensor}
NOT_TRACED = {"averaged_nfm", "budget_to_align"}


def allowed(name, arrays, dtype):
    """Rounding of a sum of n² terms, each a product of `factors` entries."""
    factors = CASES[name][2]
    largest = max(1.0, *(float(np.abs(a).max()) for a in arrays))
    return rounding(largest**factors, n * n, dtype, factor=64)


def arrays_in(annotation):
    """The array types in an annotation: `Any` for every library, `np.ndarray` for NumPy, none without arrays."""
    if isinstance(annotation, type) and issubclass(annotation, AbstractArray):
        return {annotation.array_type}
    return set().union(*(arrays_in(part) for part in typing.get_args(annotation)))


def array_types(function):
    parameters = inspect.signature(inspect.unwrap(function)).parameters.values()
    return set().union(*(arrays_in(p.annotation) for p in parameters))


FUNCTIONS = {name: getattr(features, name) for name in features.__all__ if inspect.isroutine(getattr(features, name))}


def test_every_function_takes_arrays_of_all_libraries_or_of_numpy_or_none():
    kinds = {name: array_types(function) for name, function in FUNCTIONS.items()}
    assert all(len(kind) <= 1 for kind in kinds.values())
    assert {name for name, kind in kinds.items() if kind == {typing.Any}} == {name for name in CASES if " " not in name}
    numpy_only = {name for name, kind in kinds.items() if kind == {np.ndarray}}
    energy = {"ascend", "curvature", "energy", "energy_gradient", "energy_hessian", "signature"}
    assert numpy_only == energy | {"component_points", "widest_plane"}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", CASES)
def test_the_numbers_are_those_of_numpy(name, library, dtype):
    arrays, call, _ = CASES[name]
    arrays = [a.astype(dtype) for a in arrays]
    expected = call(*arrays)
    with jax.enable_x64(True):
        result = call(*map(LIBRARIES[library], arrays))
        if name not in NOT_TRACED and library == "jax":
            np.testing.assert_allclose(jax.jit(call)(*arrays), result, rtol=0, atol=allowed(name, arrays, dtype))
    if name != "budget_to_align":
        assert isinstance(result, TYPES[library])
        assert np.asarray(result).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(np.asarray(result), expected, rtol=0, atol=allowed(name, arrays, dtype))


@pytest.mark.parametrize("library", LIBRARIES)
def test_integers_become_floating(library):
    W = np.arange(2 * M * 3).reshape(2 * M, 3) % 5
    with jax.enable_x64(True):
        content = features.irrep_content(LIBRARIES[library](W), GROUP)
    np.testing.assert_allclose(np.asarray(content), features.irrep_content(W.astype(float), GROUP), atol=rounding(1, M))


@pytest.mark.parametrize("library", LIBRARIES)
def test_complex_weights_are_refused(library):
    with pytest.raises(ValueError, match="weights must be real, got complex numbers"):
        inspect.unwrap(features.irrep_content)(LIBRARIES[library](UNITS + 1j), GROUP)
