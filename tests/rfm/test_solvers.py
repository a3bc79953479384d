"""Solvers against dense linear algebra, rows really left out, and gradients really taken."""

import inspect
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from firstlight import features
from firstlight.rfm import (
    KERNELS,
    CentreSolver,
    ExactSolver,
    Gaussian,
    Kernel,
    KernelSolution,
    Laplace,
    NotPositiveDefinite,
    best_ridge,
    loo_errors,
    median_bandwidth,
)
from firstlight.rfm._solvers import held_out, lapack, pairs, threads
from firstlight.rfm._solvers.held_out import FLAT, HeldOut, best_held_out_ridge
from firstlight.rfm._solvers.leave_one_out import RUNGS, _descend
from firstlight.rfm._solvers.matrices import pair_products
from firstlight.rfm._solvers.pairs import values
from firstlight.rfm._solvers.threads import cores, in_parallel
from tests.tolerances import rounding

ALL = sorted(KERNELS)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X, A = rng.standard_normal((40, 4)), rng.standard_normal((4, 4))
    return X - X.mean(axis=0), rng.standard_normal((40, 3)), A @ A.T / 4, rng.uniform(0.5, 3.0, 40)


def loaded(problem, name, weighted=True):
    X, Y, M, w = problem
    solver = ExactSolver(X, Y, w if weighted else np.ones(len(X)), KERNELS[name](2.0))
    solver.load(M)
    return solver


def is_estimate(condition, system):
    """LAPACK estimates a condition number from below, in practice within a factor of 3 (Higham 2002, chapter 15)."""
    exact = np.linalg.cond(system, 1)
    return exact / 3 < condition < exact * (1 + rounding(exact))


@pytest.mark.parametrize("name", ALL)
def test_leaving_a_row_out_is_leaving_it_out(problem, name):
    X, Y, _, w = problem
    solver = loaded(problem, name)
    K = solver.kernel_matrix()
    solution = solver.solve(0.1, loo=True)
    system = K + np.diag(0.1 / w)
    np.testing.assert_allclose(solution.alpha, np.linalg.solve(system, Y), rtol=1e-9, atol=1e-10)
    for i in (0, 17):
        others = np.arange(len(X)) != i
        alpha = np.linalg.solve(system[np.ix_(others, others)], Y[others])
        np.testing.assert_allclose(solution.loo[i], K[i, others] @ alpha, rtol=1e-8, atol=1e-9)
    errors = loo_errors(K, Y, w, [0.1])
    np.testing.assert_allclose(errors, np.average(((Y - solution.loo) ** 2).sum(1), weights=w), rtol=1e-8)
    assert is_estimate(solution.condition, system)


@pytest.mark.parametrize("name", ALL)
def test_feature_matrices_are_those_of_whole_matrices(problem, name):
    X, _, M, _ = problem
    solver, radial = loaded(problem, name, weighted=False), KERNELS[name].radial
    solution = solver.solve(0.1)
    found = solver.matrices(solution)
    D = solver._square
    np.testing.assert_allclose(found.fact, features.kernel_fact(X, M, D, solution.alpha, radial=radial), atol=1e-8)
    for centred in (False, True):
        whole = features.kernel_agop(X, M, D, solution.alpha, radial=radial, centred=centred, form="outputs")
        solver.load(M)
        np.testing.assert_allclose(solver.matrices(solution, centred=centred).agop, whole, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", ALL)
def test_half_a_matrix_of_several_blocks_is_the_whole_one(name):
    rng = np.random.default_rng(2)
    X, M, kernel = rng.standard_normal((700, 3)), np.diag([1.0, 0.5, 2.0]), KERNELS[name](3.0)
    assert len(list(pairs.blocks(700, 700))) > 1
    X -= X.mean(axis=0)
    K, whole = np.empty((700, 700)), pairs.values(kernel, X, X, M)
    pairs.own_values(kernel, X, M, K)
    np.testing.assert_allclose(K, whole, rtol=1e-12, atol=1e-12)
    K[np.triu_indices(700, 1)] = -1.0
    pairs.own_slopes(kernel, X, M, K)
    np.testing.assert_allclose(K, pairs.slopes(kernel, X, X, M), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_values_and_slopes_of_one_pass_are_those_of_two(name):
    rng = np.random.default_rng(2)
    X, M, kernel = rng.standard_normal((700, 3)), np.diag([1.0, 0.5, 2.0]), KERNELS[name](3.0)
    X -= X.mean(axis=0)
    X[5] = X[600]
    out = np.empty((700, 700))
    norm, diagonal = pairs.own_values_and_slopes(kernel, X, M, out)
    K, D = pairs.values(kernel, X, X, M), pairs.slopes(kernel, X, X, M)
    np.testing.assert_allclose(np.triu(out), np.triu(K), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.tril(out, -1), np.tril(D, -1), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(diagonal, D.diagonal(), rtol=1e-6, atol=1e-12)
    assert norm == pytest.approx(np.linalg.norm(K, 1), rel=1e-12)
    pairs.own_values(kernel, X, M, out)
    assert pairs.norm(out) == pytest.approx(norm, rel=1e-12)


class Linear(Kernel):
    """xᵀMz/L², which has entries of both signs."""

    radial = False

    def values(self, u):
        u *= self.bandwidth**-2

    def slopes(self, block):
        block[...] = self.bandwidth**-2


class SquareRoot(Laplace):
    """exp(−√‖x − z‖/L): another formula than its parent's."""

    def values(self, u):
        np.exp(-(u**0.25) / self.bandwidth, out=u)

    def slopes(self, block):
        logarithm = np.log(block)
        logarithm[logarithm == 0] = -np.inf
        block /= 2 * self.bandwidth**4 * logarithm**3


def test_the_condition_of_a_kernel_of_both_signs_is_told(problem):
    X, Y, M, w = problem
    solver = ExactSolver(X, Y, w, Linear(2.0))
    for once in (False, True):
        solver.load(M, once=once)
        condition = solver.solve(1e-6).condition
        assert is_estimate(condition, X @ M @ X.T / 4 + np.diag(1e-6 / w))


def test_a_kernel_made_of_another_has_formulas_of_its_own():
    X = np.random.default_rng(0).standard_normal((20, 3))
    out, kernel = np.empty((20, 20)), SquareRoot(1.5)
    pairs.own_values_and_slopes(kernel, X, np.eye(3), out)
    distance = np.linalg.norm(X[3] - X[9])
    K = np.exp(-(distance**0.5) / 1.5)
    assert out[3, 9] == pytest.approx(K, rel=1e-9)
    # 2 dk/du with u = distance².
    assert out[9, 3] == pytest.approx(-K * distance**-1.5 / (2 * 1.5), rel=1e-6)


@pytest.mark.parametrize("name", ALL)
def test_a_metric_to_be_solved_once_gives_the_same_machine(problem, name):
    _, _, M, _ = problem
    once, often = loaded(problem, name), loaded(problem, name)
    once.load(M, once=True)
    solutions = [solver.solve(0.1, loo=True) for solver in (once, often)]
    np.testing.assert_allclose(solutions[0].loo, solutions[1].loo, rtol=1e-12)
    # The 1-norms are sums of the same entries in different orders.
    assert solutions[0].condition == pytest.approx(solutions[1].condition, rel=rounding(1.0, terms=len(once.X)))
    with pytest.raises(ValueError, match=r"call load\(M\)"):
        once.solve(0.2)
    with pytest.raises(ValueError, match=r"call load\(M\)"):
        once.kernel_matrix()
    found = [solver.matrices(solution) for solver, solution in zip((once, often), solutions, strict=True)]
    np.testing.assert_allclose(found[0].fact, found[1].fact, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[0].agop, found[1].agop, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_fact_is_the_same_with_agop_and_without(problem, name):
    found = []
    for agop in (True, False):
        solver = loaded(problem, name)
        found.append(solver.matrices(solver.solve(0.1), agop=agop).fact)
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-10)


def test_rows_that_a_singular_metric_does_not_see_have_no_distance():
    rng = np.random.default_rng(0)
    for _ in range(50):
        v = rng.standard_normal(3)
        x = np.cross(v, rng.standard_normal(3))
        u = pairs.arguments(Laplace(), *2 * [np.array([x, -x, v])], np.outer(v, v))
        assert (u >= 0).all()


def test_after_an_error_no_block_is_worked_on_any_more():
    done = []

    def call(block):
        if block.start == 0:
            raise KeyError
        time.sleep(0.05)
        done.append(block.start)

    with pytest.raises(KeyError):
        in_parallel(call, pairs.blocks(6, 1, 1))
    before = len(done)
    time.sleep(0.2)
    assert len(done) == before


@pytest.mark.skipif(cores() < 2, reason="needs a second thread to wait for")
def test_an_interrupt_while_others_work_waits_for_them():
    begun, written, caller = threading.Event(), [], threading.get_ident()

    def call(block):
        if threading.get_ident() == caller:
            assert begun.wait(10)
            threading.Timer(0.2, signal.pthread_kill, [caller, signal.SIGINT]).start()
        else:
            begun.set()
            time.sleep(0.6)
            written.append(block.start)

    with pytest.raises(KeyboardInterrupt):
        in_parallel(call, [slice(0, 1), slice(1, 2)])
    assert len(written) == 1


@pytest.mark.parametrize("count", [1, 3, 5, 64])
def test_any_number_of_cores_gives_the_same_machine(problem, monkeypatch, count):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((900, 3)), rng.standard_normal((900, 2))
    found = []
    for cores_here in (2, count):
        for module in (lapack, threads):
            monkeypatch.setattr(module, "cores", lambda cores_here=cores_here: cores_here)
        solver = ExactSolver(X - X.mean(axis=0), Y, np.ones(900), Laplace(2.0))
        solver.load(np.eye(3), once=True)
        solution = solver.solve(0.1, loo=True)
        found.append((solution.loo, solver.matrices(solution).agop))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-9, atol=1e-12)


def test_an_index_error_in_a_block_is_not_taken_for_the_end():
    with pytest.raises(IndexError):
        in_parallel(lambda block: [][block.start], pairs.blocks(6, 1, 1))


def test_blocks_within_blocks_do_not_wait_for_each_other():
    inner = lambda part: in_parallel(lambda block: block.stop, pairs.blocks(part.stop, 1, 1))  # noqa: E731
    assert in_parallel(inner, pairs.blocks(12, 1, 1)) == [list(range(1, n + 1)) for n in range(1, 13)]


@pytest.mark.parametrize("name", ["gaussian", "quadratic"])
@pytest.mark.parametrize("centred", [False, True])
def test_pairs_and_outputs_give_one_weighted_agop(problem, name, centred):
    X, _, M, w = problem
    solver = loaded(problem, name)
    solution = solver.solve(0.1)
    by_outputs = solver.matrices(solution, centred=centred).agop
    by_pairs = pair_products(solver._square, X, M, solution.alpha, w, KERNELS[name].radial, centred)
    np.testing.assert_allclose(by_pairs, by_outputs, rtol=1e-9, atol=1e-10)
    step = 1e-5
    slopes = [(solver.predict(solution, X + step * e) - solver.predict(solution, X - step * e)) for e in np.eye(4)]
    G = np.stack(slopes, axis=1) / (2 * step)
    G -= np.average(G, axis=0, weights=w) if centred else 0
    np.testing.assert_allclose(by_outputs, np.einsum("i,iac,ibc->ab", w, G, G) / w.sum(), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ALL)
def test_all_rows_as_centres_are_the_exact_machine(problem, name):
    X, Y, M, w = problem
    exact, centres = loaded(problem, name), CentreSolver(X, Y, w, KERNELS[name](2.0), np.arange(40))
    centres.load(M)
    one, other = exact.solve(0.5, loo=True), centres.solve(0.5, loo=True)
    # The centres' matrix is shifted by 1e-6 of its diagonal.
    np.testing.assert_allclose(other.loo, one.loo, atol=2e-4)
    np.testing.assert_allclose(other.alpha, one.alpha, atol=2e-4)
    assert other.captured == pytest.approx(1, abs=1e-5)
    ours, theirs = centres.matrices(other), exact.matrices(one)
    np.testing.assert_allclose(ours.fact, theirs.fact, atol=1e-3 * np.abs(theirs.fact).max())
    np.testing.assert_allclose(ours.agop, theirs.agop, atol=1e-3 * np.abs(theirs.agop).max())


def test_few_centres_state_what_they_miss():
    X = np.random.default_rng(1).standard_normal((300, 3))
    captured = []
    for m in (10, 100, 300):
        solver = CentreSolver(X, X[:, :1] ** 2, np.ones(300), Gaussian(1.0), np.arange(m))
        solver.load(np.eye(3))
        captured.append(solver.solve(1e-3).captured)
    assert captured[0] < captured[1] < captured[2] <= 1


@pytest.mark.parametrize("name", ALL)
def test_what_centres_miss_and_rows_left_out_agree_with_dense_algebra(problem, name):
    X, Y, M, w = problem
    kernel, rows = KERNELS[name](2.0), np.arange(0, 40, 3)
    solver = CentreSolver(X, Y, w, kernel, rows)
    solver.load(M)
    found = solver.solve(0.5, loo=True)
    K = loaded(problem, name).kernel_matrix()
    among = K[np.ix_(rows, rows)] + 1e-6 * K.diagonal()[rows].mean() * np.eye(len(rows))
    missed = K - K[:, rows] @ np.linalg.solve(among, K[rows])
    assert 1 - found.captured == pytest.approx(np.trace(missed) / np.trace(K), abs=1e-8)
    for i in (1, 3):
        others = np.arange(40) != i
        A = K[np.ix_(others, rows)]
        beta = np.linalg.solve(A.T @ (w[others, None] * A) + 0.5 * among, A.T @ (w[others, None] * Y[others]))
        np.testing.assert_allclose(found.loo[i], K[i, rows] @ beta, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("rows", [150, 600])
def test_the_best_ridge_is_the_one_of_least_error(rows):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((rows, 3))
    X -= X.mean(axis=0)
    Y = np.sin(X[:, :1]) + 0.3 * rng.standard_normal((rows, 1))
    solver = ExactSolver(X, Y, np.ones(rows), Laplace(2.0))
    solver.load(np.eye(3))
    errors = loo_errors(solver.kernel_matrix(), Y, np.ones(rows), RUNGS)
    assert best_ridge(solver).ridge == RUNGS[int(np.argmin(errors))]
    solver.load(np.eye(3))
    assert best_ridge(solver, start=RUNGS[-1]).ridge == RUNGS[int(np.argmin(errors))]


def test_single_precision_agrees_and_errors_name_the_way_out():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 3))
    Y = X[:, :1] * X[:, 1:2]
    double, single = (ExactSolver(X.astype(t), Y, np.ones(200), Laplace(2.0)) for t in (np.float64, np.float32))
    for solver in (double, single):
        solver.load(np.eye(3))
    np.testing.assert_allclose(single.solve(0.1).alpha, double.solve(0.1).alpha, atol=1e-3)
    twice = ExactSolver(
        np.repeat(X, 2, axis=0).astype(np.float32), np.repeat(Y, 2, axis=0), np.ones(400), Gaussian(9.0)
    )
    twice.load(np.eye(3))
    with pytest.raises(NotPositiveDefinite, match=r"400 rows plus ridge 0 .* larger ridge, or precision='double'"):
        twice.solve(0.0)
    with pytest.raises(ValueError, match="call load"):
        twice.kernel_matrix()


def test_the_median_counts_weights_as_copies():
    rng = np.random.default_rng(4)
    X, w = rng.standard_normal((30, 2)), rng.integers(1, 4, 30)
    copies = np.repeat(X, w, axis=0)
    assert median_bandwidth(X, w.astype(float)) == median_bandwidth(copies, np.ones(len(copies)))


@pytest.mark.parametrize("first", [0, 1, 3, 4])
def test_the_ladder_is_descended_past_ridges_that_do_not_factor(first):
    """Rungs below `first` are not positive definite; the error then falls towards the last rung but one."""
    errors = [9.0, 4.0, 3.0, 1.0, 2.0]

    class Steps:
        Y, weights = np.zeros((1, 1)), np.ones(1)

        def solve(self, rung, loo):
            if rung < first:
                raise NotPositiveDefinite("too small")
            return SimpleNamespace(loo=np.full((1, 1), np.sqrt(errors[rung])), ridge=rung)

    climb = inspect.unwrap(_descend)
    for start in range(5):
        assert climb(Steps(), range(5), start).ridge == max(3, first)


def test_where_no_ridge_factors_the_last_one_says_so():
    class Never:
        Y, weights = np.zeros((1, 1)), np.ones(1)

        def solve(self, rung, loo):
            raise NotPositiveDefinite(f"rung {rung}")

    for start in range(3):
        with pytest.raises(NotPositiveDefinite, match="rung 2"):
            inspect.unwrap(_descend)(Never(), range(3), start)


def test_a_call_inside_a_parallel_call_stays_on_its_thread(monkeypatch):
    """The outer call has all cores already; the thread that made it is no exception."""
    monkeypatch.setattr(threads, "cores", lambda: 2)

    def outer(_):
        return threading.get_ident(), in_parallel(lambda _: time.sleep(0.002) or threading.get_ident(), range(6))

    for thread, inner in in_parallel(outer, range(4)):
        assert set(inner) == {thread}


def _held_out(rows, noise, kernel, dtype=np.float64, seed=5):
    """Return a loaded solver on `rows` rows and its held-out rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows + 300, 3)).astype(dtype)
    Y = np.sin(2 * X[:, :1]) + noise * rng.standard_normal((len(X), 1))
    weights = rng.integers(1, 4, len(X)).astype(float)
    solver = ExactSolver(X[:rows], Y[:rows], weights[:rows], kernel)
    solver.load(np.eye(3))
    return solver, HeldOut(values(kernel, X[rows:], X[:rows], np.eye(3, dtype=dtype)), Y[rows:], weights[rows:])


@pytest.mark.parametrize("ridge", [1e-3, 0.3, 20.0])
def test_the_slope_of_the_held_out_error_is_its_derivative_by_the_ridge(ridge):
    solver, held = _held_out(120, 0.5, Laplace(2.0))
    # The error of central differences is h²/6 times the third derivative in log(ridge), which is of the size of E.
    h = 1e-4
    above, below = (held.error(solver.solve(ridge * np.exp(step))) for step in (h, -h))
    solution = solver.solve(ridge)
    assert held.slope(solver, solution) == pytest.approx((above - below) / (2 * h), abs=100 * h**2)


@pytest.mark.parametrize("kernel", [Laplace(2.0), Gaussian(1.5)])
@pytest.mark.parametrize("noise", [0.05, 1.0])
def test_slopes_lead_to_a_ridge_whose_error_is_near_the_least(kernel, noise):
    solver, held = _held_out(200, noise, kernel)
    errors = {rung: held.error(solver.solve(rung)) for rung in RUNGS}
    found = best_held_out_ridge(solver, held).ridge
    # A walk may stop where a rung promises less than FLAT; it has at most eight rungs to go.
    assert errors[found] <= min(errors.values()) * (1 + FLAT) ** len(RUNGS)
    for start in (0.1 * found, found, 10 * found):
        again = best_held_out_ridge(solver, held, start).ridge
        # From a similar machine, gains below 1/q of the error are not followed; ten rungs at most.
        assert errors[again] <= min(errors.values()) * (1 + 1 / len(held.Y)) ** len(RUNGS)


def test_a_ridge_is_left_only_for_a_gain_that_the_held_out_rows_resolve():
    """The error has slope s in log(ridge), so that a decade promises the share 2.3 s of the error."""
    tried = []

    class Steps:
        def solve(self, ridge, condition):
            tried.append(ridge)
            return KernelSolution(np.zeros((1, 1)), np.zeros((1, 1)), ridge)

    def walk(slope, flat):
        tried.clear()
        held = SimpleNamespace(
            error=lambda solution: 1 + slope * np.log(solution.ridge) / 100, slope=lambda solver, solution: slope
        )
        return inspect.unwrap(held_out._descend)(Steps(), RUNGS, 4, held, flat).ridge

    assert walk(0.001, 0.01) == RUNGS[4]
    assert len(tried) == 1
    assert walk(0.01, 0.01) == RUNGS[0]
    assert walk(-0.01, 0.01) == RUNGS[-1]


@pytest.mark.parametrize("first", [0, 2, 5])
def test_a_ridge_limited_by_the_precision_has_an_infinite_condition(first):
    """The error falls towards small ridges, and rungs below `first` have no factor."""

    class Steps:
        def solve(self, ridge, condition):
            if ridge < RUNGS[first]:
                raise NotPositiveDefinite("too small")
            return KernelSolution(np.zeros((1, 1)), np.zeros((1, 1)), ridge)

    class Falling:
        def error(self, solution):
            return 2.0 + np.log10(solution.ridge) / 10

        def slope(self, solver, solution):
            return 1.0

    for start in range(len(RUNGS)):
        found = inspect.unwrap(held_out._descend)(Steps(), RUNGS, start, Falling(), 0.0)
        assert found.ridge == RUNGS[first]
        assert (found.condition == np.inf) == (first > 0)
