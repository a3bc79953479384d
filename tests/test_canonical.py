"""Bases, signs and orders that are the same whatever LAPACK returns."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from firstlight import _canonical as canonical
from firstlight import groups, rfm
from firstlight.rfm._solvers.leave_one_out import RUNGS
from firstlight.theories import agf, cogo, manifold
from firstlight.theories.cogo._path import unit_at
from tests.canonical_samples import samples
from tests.tolerances import rounding

KERNELS = ("Haswell", "Sandybridge", "Prescott")
LARGEST_ORDER = 24


def unitary(rng, size, like):
    A = rng.standard_normal((size, size))
    return np.linalg.qr(A + 1j * rng.standard_normal((size, size)) if np.iscomplexobj(like) else A)[0]


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize(("n", "r"), [(6, 1), (7, 3), (40, 39), (5, 5), (4, 0)])
def test_a_basis_depends_on_the_space_alone(n, r, complex_):
    rng = np.random.default_rng(n)
    Q = unitary(rng, n, np.empty(0, complex if complex_ else float))[:, :r]
    B = canonical.basis(Q)
    tolerance = rounding(1, n)
    np.testing.assert_allclose(canonical.basis(Q @ unitary(rng, r, Q)), B, rtol=0, atol=tolerance)
    np.testing.assert_allclose(B @ B.conj().T, Q @ Q.conj().T, rtol=0, atol=tolerance)
    np.testing.assert_allclose(B.conj().T @ B, np.eye(r), rtol=0, atol=tolerance)


def test_equal_columns_of_a_projector_are_taken_in_their_order():
    # The mean-free vectors: every column of the projector has the same length, and the first two are taken.
    Q = np.linalg.svd(np.eye(3) - 1 / 3)[0][:, :2]
    expected = np.array([[2, 0], [-1, np.sqrt(3)], [-1, -np.sqrt(3)]]) / np.sqrt(6)
    np.testing.assert_allclose(canonical.basis(Q), expected, rtol=0, atol=rounding(1, 3))


def test_a_singular_value_decomposition_is_still_one():
    A = np.random.default_rng(0).standard_normal((6, 4))
    A = A @ np.diag([1.0, 1.0, 0.0, 1.0])
    U, s, Vt = canonical.svd(A)
    np.testing.assert_allclose(U * s @ Vt, A, rtol=0, atol=rounding(s[0], 4))
    equal = np.linalg.qr(A)[0]
    U, s, Vt = canonical.svd(equal)
    np.testing.assert_allclose(Vt, np.eye(4), rtol=0, atol=rounding(1, 6))
    np.testing.assert_allclose(U, equal, rtol=0, atol=rounding(1, 6))


def test_orders_keep_places_where_values_are_equal_up_to_rounding():
    values = np.array([1.0, 3.0, np.nextafter(1.0, 2.0), -np.inf, 3.0 - 1e-15, 2.0])
    assert canonical.descending(values).tolist() == [1, 4, 5, 0, 2, 3]
    assert canonical.descending(np.array([])).tolist() == []
    assert canonical.argmin(np.array([np.inf, 1e-17, 0.0])) == 2
    assert canonical.argmin(np.array([np.inf, 1e-17, 0.0]), size=1.0) == 1


def test_an_orthogonal_draw_is_gram_schmidt():
    Q = canonical.orthogonal(np.random.default_rng(3), 5, 3)
    A = np.random.default_rng(3).standard_normal((5, 3))
    first = A[:, 0] / np.linalg.norm(A[:, 0])
    second = A[:, 1] - first * (first @ A[:, 1])
    np.testing.assert_allclose(Q[:, 0], first, rtol=0, atol=rounding(1, 5))
    np.testing.assert_allclose(Q[:, 1], second / np.linalg.norm(second), rtol=0, atol=rounding(1, 5))
    assert ((Q.T @ A).diagonal() > 0).all()


def test_equal_frequencies_are_learned_and_drawn_in_their_order():
    for p in (11, 13, 17):
        moved = np.eye(p)[1]  # |x̂| = 1 everywhere, up to rounding
        wanted = range(1, (p + 1) // 2)
        assert agf.lemmas.fourier_levels(moved).frequencies == tuple(wanted)
        assert [part.label for part in agf.Template(f"Z{p}", moved).order] == [f"±{k}" for k in wanted]
    angles = 2 * np.pi * np.outer(np.arange(17), range(1, 9)) / 17 + 0.7 * np.arange(1, 9)
    circles = manifold.embedding_circles(np.hstack([np.cos(angles), np.sin(angles)]))
    assert [panel["title"] for panel in circles.meta["panels"]] == [f"frequency {k}" for k in range(1, 7)]


def test_of_neurons_that_jump_together_the_first_is_named():
    for angle in (0.3, 0.7, 1.1):
        X = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        assert agf.predict_diagonal(X, X @ np.ones(2), 1e-8).events[0].neurons == (0,)


def test_a_path_shrinks_all_nodes_but_the_first_of_equals():
    d, rng = 11, np.random.default_rng(0)
    z = np.zeros((3, d, 3), complex)
    for k in range(1, 6):
        angles = rng.uniform(0, 2 * np.pi, (3, 3))
        angles[2] = -angles[0] - angles[1]
        z[:, k] = 3 ** (-1 / 3) * np.exp(1j * angles)
        z[:, d - k] = z[:, k].conj()
    shrunk = unit_at(cogo.Solution(groups.cyclic(d), z), 1 / 4).z[0, 1:]
    assert (np.abs(shrunk).argmax(1) == 0).all()
    assert not shrunk[:, 1:].any()


def test_of_ridges_with_equal_errors_the_least_is_taken():
    # Points so far apart that the kernel is the identity: leaving a row out predicts zero, whatever the ridge.
    X, Y = 1e6 * np.eye(5), np.random.default_rng(0).standard_normal((5, 2))
    solver = rfm.ExactSolver(X, Y, np.ones(5), rfm.Gaussian(1.0))
    solver.load(np.eye(5))
    assert rfm.best_ridge(solver).ridge == RUNGS[0]


def scrambled(monkeypatch):
    """Make LAPACK return another basis of each degenerate space, and other signs."""
    rng, eigh, svd, qr = np.random.default_rng(0), np.linalg.eigh, np.linalg.svd, np.linalg.qr

    def other_eigh(A):
        values, V = eigh(A)
        for space in spaces(values):
            V[:, space] = V[:, space] @ turn(space, V)
        return values, V

    def other_svd(A, full_matrices=True, compute_uv=True):
        if not compute_uv:
            return svd(A, compute_uv=False)
        U, s, Vh = svd(A, full_matrices=full_matrices)
        for space in spaces(s):
            W = turn(space, U)
            U[:, space], Vh[space] = U[:, space] @ W, W.conj().T @ Vh[space]
        return U, s, Vh

    def other_qr(A):
        Q, R = qr(A)
        signs = rng.choice([-1.0, 1.0], len(R))
        return Q * signs, signs[:, None] * R

    def turn(space, like):
        A = rng.standard_normal((len(space), len(space)))
        return qr(A + 1j * rng.standard_normal(A.shape) if np.iscomplexobj(like) else A)[0]

    def spaces(values):
        breaks = np.flatnonzero(np.abs(np.diff(values)) > 1e-8 * np.abs(values).max()) + 1
        return np.split(np.arange(len(values)), breaks)

    monkeypatch.setattr(np.linalg, "eigh", other_eigh)
    monkeypatch.setattr(np.linalg, "svd", other_svd)
    monkeypatch.setattr(np.linalg, "qr", other_qr)


def assert_same(ours, theirs):
    """Compare what `samples` returns on two machines.

    An eigenspace turns by rounding over the gap to the next; the gaps of these groups are above a third of the norm.
    The matrices are sums over the group of products of two entries.
    """
    assert set(ours) == set(theirs)
    for name in ours:
        if ours[name].dtype.kind in "iU":
            assert ours[name].tolist() == theirs[name].tolist(), name
        else:
            size = max(1.0, float(np.abs(ours[name]).max()))
            tolerance = rounding(3 * size, LARGEST_ORDER)
            np.testing.assert_allclose(theirs[name], ours[name], rtol=0, atol=tolerance, err_msg=name)


def test_no_basis_or_sign_of_lapack_reaches_a_draw_a_name_or_a_direction(monkeypatch):
    ours = samples()
    scrambled(monkeypatch)
    assert_same(ours, samples())


@pytest.fixture(scope="module")
def by_kernel(tmp_path_factory):
    """What one process per kernel of OpenBLAS computed, and which kernel it really used."""
    folder, program = tmp_path_factory.mktemp("kernels"), Path(__file__).with_name("canonical_samples.py")
    started = {
        kernel: subprocess.Popen(
            [sys.executable, program, folder / f"{kernel}.npz"],
            env=os.environ | {"OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for kernel in KERNELS
    }
    used = {kernel: json.loads(process.communicate(timeout=300)[0]) for kernel, process in started.items()}
    return used, {kernel: dict(np.load(folder / f"{kernel}.npz")) for kernel in KERNELS}


@pytest.mark.parametrize("kernel", KERNELS[1:])
def test_a_seed_means_the_same_network_under_every_kernel_of_blas(by_kernel, kernel):
    used, results = by_kernel
    if not used[kernel] or used[kernel] == used[KERNELS[0]]:
        pytest.skip(f"OPENBLAS_CORETYPE={kernel} changes nothing here: BLAS uses {used[kernel] or 'no OpenBLAS'}")
    assert_same(results[KERNELS[0]], results[kernel])
