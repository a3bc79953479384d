"""Factors by blocks and threads against those of NumPy and SciPy."""

import importlib

import numpy as np
import pytest
from scipy.linalg import solve_triangular

from firstlight.rfm._solvers import lapack
from firstlight.rfm._solvers.threads import cores


@pytest.fixture(params=["addresses", "no addresses"], autouse=True)
def export(request, monkeypatch):
    """SciPy as it is, and one that does not export the addresses of its routines."""
    if request.param == "no addresses":
        for kind in ("blas", "lapack"):
            monkeypatch.delattr(importlib.import_module(f"scipy.linalg.cython_{kind}"), "__pyx_capi__")
        lapack._routine.cache_clear()
    lapack._has_addresses.cache_clear()
    assert lapack._has_addresses() == (request.param == "addresses")
    yield
    lapack._has_addresses.cache_clear()


@pytest.fixture(params=[np.float32, np.float64])
def problem(request):
    rng = np.random.default_rng(0)
    B = rng.standard_normal((900, 900))
    A = B @ B.T / 900 + 2 * np.eye(900)
    assert len(A) > 2 * lapack.LEAF
    return np.asfortranarray(A, request.param), rng.standard_normal((900, 3)), 50 * np.finfo(request.param).eps


def test_the_factor_is_cholesky_s_and_nothing_above_the_diagonal_is_touched(problem):
    A, _, error = problem
    whole, above = np.linalg.cholesky(A.astype(float)), np.triu_indices(len(A), 1)
    A[above] = np.nan
    assert lapack.cholesky(A)
    assert np.isnan(A[above]).all()
    np.testing.assert_allclose(np.tril(A), whole, atol=error * np.abs(whole).max())


def test_solutions_and_inverses(problem):
    A, Y, error = problem
    whole = A.astype(float)
    assert lapack.cholesky(A)
    np.testing.assert_allclose(lapack.solve(A, Y), np.linalg.solve(whole, Y), atol=10 * error)
    inverse = solve_triangular(np.tril(A).astype(float), np.eye(len(A)), lower=True)
    A[np.triu_indices(len(A), 1)] = np.nan
    lapack.invert(A)
    assert np.isnan(A[np.triu_indices(len(A), 1)]).all()
    np.testing.assert_allclose(np.tril(A), inverse, atol=10 * error)


@pytest.mark.parametrize("place", [0, 600, 899])
def test_what_is_not_positive_has_no_factor(problem, place):
    A, *_ = problem
    A[place, place] = -1
    assert not lapack.cholesky(A)


@pytest.mark.parametrize("count", [1, 2, 3, 10, 899])
def test_slices_cover_all_rows_once(count):
    for slices in (lapack._even(count), lapack._even_below_diagonal(count)):
        parts = list(slices)
        assert np.concatenate([np.arange(count)[part] for part in parts]).tolist() == list(range(count))
        assert len(parts) <= max(cores(), 1)


def test_rows_in_the_wrong_order_are_refused(problem):
    A, Y, _ = problem
    C = np.ascontiguousarray(A)
    with pytest.raises(ValueError, match="Fortran"):
        lapack.cholesky(C)
    with pytest.raises(ValueError, match="Fortran"):
        lapack.invert(C)
    with pytest.raises(ValueError, match="Fortran"):
        lapack.solve(C, Y)
