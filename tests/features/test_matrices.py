"""Feature matrices against sums written out sample by sample, and the same numbers from NumPy, JAX and torch."""

import inspect
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import torch

from firstlight import features
from firstlight.features._matrices import kernel_matrices

rng = np.random.default_rng(0)
n, d, K, c = 7, 4, 3, 2
LAMBDA = 0.3
H, DELTA, W = rng.standard_normal((n, d)), rng.standard_normal((n, K)), rng.standard_normal((d, K))
JACOBIAN = rng.standard_normal((n, c, K))


def test_matrices_are_the_sums_of_the_paper():
    paper_W = W.T  # (out, in), as printed
    grads = [paper_W.T @ delta for delta in DELTA]
    G = features.weight_gradient(H, DELTA)
    printed = -sum(np.outer(g, h) for g, h in zip(grads, H, strict=True)) / (n * LAMBDA)
    np.testing.assert_allclose(features.fact(W, G, LAMBDA), printed, atol=1e-13)
    printed = -sum(np.outer(paper_W @ h, delta) for h, delta in zip(H, DELTA, strict=True)) / (n * LAMBDA)
    np.testing.assert_allclose(features.bfact(W, G, LAMBDA), printed, atol=1e-13)
    np.testing.assert_allclose(features.nfm(W), paper_W.T @ paper_W)
    np.testing.assert_allclose(features.bnfm(W), paper_W @ paper_W.T)
    np.testing.assert_allclose(features.enfa(W, DELTA), sum(np.outer(g, g) for g in grads) / n, atol=1e-13)
    at_inputs = np.einsum("ncK,dK->ncd", JACOBIAN, W)
    np.testing.assert_allclose(
        features.agop(W, JACOBIAN), np.einsum("ncd,nce->de", at_inputs, at_inputs) / n, atol=1e-12
    )
    np.testing.assert_allclose(features.average_outer_product(at_inputs), features.agop(W, JACOBIAN), atol=1e-12)


def test_positions_are_summed_not_averaged():
    h, delta = rng.standard_normal((n, 5, d)), rng.standard_normal((n, 5, K))
    expected = np.einsum("ntd,ntk->dk", h, delta) / n
    np.testing.assert_allclose(features.weight_gradient(h, delta), expected, atol=1e-13)
    np.testing.assert_allclose(features.weight_gradient(h, delta, "sum"), n * expected, atol=1e-12)


def test_the_identity_holds_at_any_weights():
    """FACT = WWᵀ − W(∂L_λ/∂W)ᵀ/λ for a network with a skip connection, whose total gradient at h is another."""
    rng = np.random.default_rng(1)
    with jax.enable_x64(True):
        X, Y = jnp.asarray(rng.standard_normal((n, d))), jnp.asarray(rng.standard_normal((n, d)))
        W, V = jnp.asarray(rng.standard_normal((d, K))), jnp.asarray(rng.standard_normal((K, d)))

        def loss(W, h, shift, skip):
            return jnp.mean(jnp.sum((jnp.tanh(h @ W + shift) @ V + skip - Y) ** 2, axis=1))

        deltas = n * jax.grad(loss, argnums=2)(W, X, jnp.zeros((n, K)), X)
        decayed = jax.grad(lambda W: loss(W, X, jnp.zeros((n, K)), X) + LAMBDA / 2 * jnp.sum(W**2))(W)
        found = features.fact(W, features.weight_gradient(X, deltas), LAMBDA)
        np.testing.assert_allclose(found, features.nfm(W) - W @ decayed.T / LAMBDA, atol=1e-12)
        total = jax.grad(lambda h: loss(W, h, jnp.zeros((n, K)), h))(X)
        wrong = -(total.T @ X) / LAMBDA
    assert float(features.cosine(np.asarray(wrong), np.asarray(found))) < 0.99


@pytest.mark.parametrize("array", [jnp.asarray, torch.from_numpy], ids=["jax", "torch"])
def test_one_definition_for_all_libraries(array):
    def all_of(W, H, DELTA, JACOBIAN, X, alpha):
        G = features.weight_gradient(H, DELTA)
        F = features.fact(W, G, LAMBDA)
        pairs = X @ X.T
        return [
            F,
            features.bfact(W, G, LAMBDA),
            features.agop(W, JACOBIAN),
            features.enfa(W, DELTA),
            features.symmetrised(F),
            features.matrix_power(features.agop(W, JACOBIAN), 0.5),
            features.pearson(F, features.nfm(W)),
            features.cosine(F, features.nfm(W)),
            features.kernel_fact(X, X.T @ X, pairs, alpha, radial=True),
            features.kernel_agop(X, X.T @ X, pairs, alpha, radial=True, centred=True, form="pairs"),
            features.kernel_agop(X, X.T @ X, pairs, alpha, radial=True, centred=True, form="outputs"),
        ]

    arguments = (W, H, DELTA, JACOBIAN, rng.standard_normal((n, d)), rng.standard_normal((n, c)))
    with jax.enable_x64(True):
        others = [np.asarray(a) for a in all_of(*map(array, arguments))]
    for mine, other in zip(all_of(*arguments), others, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-9)


def test_powers_and_symmetrisation():
    A = features.nfm(rng.standard_normal((d, d)))
    np.testing.assert_allclose(features.matrix_power(A, 0.3), scipy.linalg.fractional_matrix_power(A, 0.3), atol=1e-9)
    F = rng.standard_normal((d, d))
    np.testing.assert_allclose(features.symmetrised(F), np.real(scipy.linalg.sqrtm(F @ F.T)), atol=1e-9)
    np.testing.assert_allclose(features.symmetrised(F, 0.5) @ features.symmetrised(F, 0.5), features.symmetrised(F))
    low = np.outer(H[0], H[0])
    assert np.linalg.matrix_rank(features.matrix_power(low, 0.25), tol=1e-10) == 1
    with pytest.raises(ValueError, match="power must be above 0, got -1"):
        features.matrix_power(A, -1)


def test_alignments():
    A, B = rng.standard_normal((d, d)), rng.standard_normal((d, d))
    np.testing.assert_allclose(features.pearson(A, B), np.corrcoef(A.ravel(), B.ravel())[0, 1])
    tiny = (1e-30 * A).astype(np.float32)
    np.testing.assert_allclose(features.cosine(tiny, A.astype(np.float32)), 1.0, rtol=1e-6)
    assert np.isnan(features.cosine(np.zeros((d, d)), A))
    assert features.decay_budget([0.1, 0.2], 0.5, momentum=0.5) == pytest.approx(0.3)
    with pytest.raises(ValueError, match=r"momentum must be in \[0, 1\), got 1"):
        features.decay_budget([0.1], 0.5, momentum=1.0)
    with pytest.raises(ValueError, match="weight decay above 0, got 0"):
        features.fact(W, W, 0.0)


@pytest.mark.parametrize("kind", ["gaussian", "exponential"])
def test_kernel_matrices_against_automatic_derivatives(kind):
    """FACT from its definition −(1/nλ)Σ∇ℓ xᵀ and AGOP from gradients of the fitted predictor."""
    rng = np.random.default_rng(3)
    with jax.enable_x64(True):
        X, Y = jnp.asarray(rng.standard_normal((n, d)) + 5 * (kind == "gaussian")), jnp.asarray(rng.random((n, c)))
        M = jnp.asarray(features.nfm(rng.standard_normal((d, d)))) / 9
        gaussian = kind == "gaussian"

        def kernel(x, z):
            return jnp.exp(-(x - z) @ M @ (x - z) / 2) if gaussian else jnp.exp(x @ M @ z)

        gram = jax.vmap(jax.vmap(kernel, (None, 0)), (0, None))(X, X)
        alpha = jnp.linalg.solve(gram + n * LAMBDA * jnp.eye(n), Y)
        D = -gram if gaussian else gram
        J = jax.vmap(jax.jacobian(lambda x: jax.vmap(kernel, (None, 0))(x, X) @ alpha))(X)
        slopes = jnp.einsum("ncd,nc->nd", J, gram @ alpha - Y)
        fact = features.kernel_fact(X, M, D, alpha, radial=gaussian)
        np.testing.assert_allclose(fact, -slopes.T @ X / (n * LAMBDA), atol=1e-10)
        for centred in (False, True):
            expected = features.average_outer_product(np.asarray(J - J.mean(0) if centred else J))
            for form in ("outputs", "pairs"):
                found = features.kernel_agop(X, M, D, alpha, radial=gaussian, centred=centred, form=form)
                np.testing.assert_allclose(found, expected, atol=1e-10)


def test_features_do_not_import_jax():
    code = "import sys, firstlight.features; print([m for m in ('jax', 'torch') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_budget_to_align_is_where_the_moving_average_gets_there():
    rng = np.random.default_rng(5)
    for size in (1e-3, 1.0, 30.0):
        root = rng.standard_normal((4, 4))
        nfm, fact = root @ root.T, size * rng.standard_normal((4, 4))
        F = features.symmetric_part(fact)
        budget = features.budget_to_align(nfm, fact, alignment=0.95)
        there = F + np.exp(-2 * budget) * (nfm - F)
        assert features.cosine(there, F) == pytest.approx(0.95, abs=1e-12)
    assert features.budget_to_align(nfm, nfm) == 0
    assert features.budget_to_align(nfm, 0 * nfm) == np.inf


def test_kernel_agop_takes_the_form_that_is_asked_for_and_else_the_cheaper(monkeypatch):
    """n³ operations against n²cd: pairs where c·d > n."""
    forms = {"pairs": "_agop_pairs", "outputs": "_agop_outputs"}
    for form, name in forms.items():
        monkeypatch.setattr(kernel_matrices, name, lambda X, M, D, alpha, radial, centred, form=form: form)

    def used(n, c, d, form=None):
        X, alpha = np.ones((n, d)), np.ones((n, c))
        return inspect.unwrap(features.kernel_agop)(X, np.eye(d), np.ones((n, n)), alpha, radial=True, form=form)

    assert used(5, 2, 3) == "pairs"
    assert used(7, 2, 3) == "outputs"
    for form in forms:
        assert used(5, 2, 3, form) == used(7, 2, 3, form) == form


def test_purity_without_another_component_is_zero():
    np.testing.assert_array_equal(features.purity(np.ones((3, 1))), np.zeros(3))
