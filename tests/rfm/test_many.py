"""Many rows: sums over blocks against dense algebra, leaves, Ctrl-C, blocks of rows, files."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from firstlight import rfm
from firstlight.rfm import Gaussian, InterruptedFitWarning, Laplace, RFMClassifier, RFMRegressor, _fitting
from firstlight.rfm import _blocks as blocks
from firstlight.rfm import _many as many
from firstlight.rfm._solvers import memory
from firstlight.rfm._solvers.leaves import Tree, correct
from firstlight.rfm._solvers.normal import NormalEquations
from firstlight.rfm._solvers.pairs import values


@pytest.fixture(scope="module")
def friedman():
    X, y = make_friedman1(3000, 8, noise=0.5, random_state=0)
    return X[:2000], y[:2000], X[2000:], y[2000:]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(many, "LEAF_ROWS", 200)
    monkeypatch.setattr(many, "LEARN_ROWS", 400)
    monkeypatch.setattr(blocks, "SAMPLE_ROWS", 700)


def test_sums_over_blocks_solve_the_normal_equations():
    rng = np.random.default_rng(0)
    X, Y, w = rng.standard_normal((300, 3)), rng.standard_normal((300, 2)), rng.uniform(0.5, 2, 300)
    M = np.diag([1.0, 2.0, 0.5])
    system = NormalEquations(X[:40], Gaussian(1.5), M, 2)
    for part in (slice(0, 100), slice(100, 300)):
        system.add(X[part], Y[part], w[part])
    K, C = values(Gaussian(1.5), X, X[:40], M), values(Gaussian(1.5), X[:40], X[:40], M)
    C += 1e-6 * np.eye(40)  # the shift that keeps equal centres apart
    expected = np.linalg.solve(K.T @ (w[:, None] * K) + 0.1 * C, K.T @ (w[:, None] * Y))
    np.testing.assert_allclose(K @ system.solve(0.1), K @ expected, atol=1e-7)
    B = K @ np.linalg.inv(np.linalg.cholesky(C)).T
    np.testing.assert_allclose(system.gram, B.T @ (w[:, None] * B), atol=1e-9 * 300)
    assert system.captured == pytest.approx(np.sum(B**2) / 300, rel=1e-9)
    largest = np.linalg.eigvalsh(system.gram)[-1]
    assert system.condition(0.1) == pytest.approx((largest + 0.1) / 0.1, rel=0.05)


def test_every_row_finds_its_leaf_and_leaves_are_halves():
    U = np.random.default_rng(0).standard_normal((1000, 3)) * [5, 1, 1]
    tree, leaf = Tree.grown(U, 130)
    assert (tree.leaf(U) == leaf).all()
    assert set(np.bincount(leaf)) == {125}
    assert abs(tree.directions[0, 0]) > 0.9  # the first cut goes across the widest direction


def test_leaves_fit_the_detail_that_is_left_and_nothing_else():
    rng = np.random.default_rng(0)
    Z, weights, M = rng.uniform(-1, 1, (1600, 2)), np.ones(1600), np.eye(2)
    detail = np.sin(12 * Z[:, :1])
    *_, collected = correct(Z, detail, weights, M, 200, 8)
    leaves, new = collected(), rng.uniform(-0.9, 0.9, (500, 2))
    assert np.mean((leaves.predict(new) - np.sin(12 * new[:, :1])) ** 2) < 0.1 * np.var(detail)
    noise = rng.standard_normal((1600, 1))
    *_, collected = correct(Z, noise, weights, M, 200, 8)
    left = collected()
    assert left is None or len(left.rows) <= 400


def test_many_rows_beat_the_sample_they_learn_from(friedman, small):
    X, y, X_test, y_test = friedman
    model = RFMRegressor(exact_rows=500, n_centers=200, verbose=False).fit(X, y)
    sample = RFMRegressor(exact_rows=500).fit(X[:400], y[:400])
    assert model.solver_ == "centers"
    assert len(model._centres) == 200
    assert model.score(X_test, y_test) > sample.score(X_test, y_test)


@pytest.mark.parametrize("stage", ["_on_centres", "_with_leaves"])
def test_ctrl_c_returns_the_best_machine_so_far(friedman, small, monkeypatch, stage):
    X, y, X_test, y_test = friedman

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(many, stage, stop)
    model = RFMRegressor(exact_rows=500, n_centers=200, iterations=2, verbose=False)
    with pytest.warns(InterruptedFitWarning, match="the estimator holds the best machine so far"):
        model.fit(X, y)
    assert model.score(X_test, y_test) > 0.7


def test_ctrl_c_in_the_last_fit_returns_the_machine_of_the_selection(friedman, monkeypatch):
    X, y, X_test, y_test = friedman

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_fitting, "_followed", stop)
    with pytest.raises(KeyboardInterrupt):
        RFMRegressor(iterations=2).fit(X, y)
    monkeypatch.setattr(_fitting, "LONG_ROWS", len(X))
    with pytest.warns(InterruptedFitWarning, match=r"fitted to the 1,400 of 2,000 rows that chose it"):
        model = RFMRegressor(iterations=2).fit(X, y)
    held_out = model.history_.loc[model.history_["chosen"], "score"].item()
    assert len(model._centres) == 1400
    # The machine is the one that was judged, so new rows see its score, up to the noise of 500 held-out rows.
    assert model.score(X_test, y_test) == pytest.approx(held_out, abs=0.05)


def test_ctrl_c_among_the_leaves_returns_those_that_are_done(friedman, small, monkeypatch):
    X, _, X_test, _ = friedman
    wiggle = lambda X: np.sin(25 * X[:, 0])  # noqa: E731

    def stopped(*arguments):
        steps = correct(*arguments)
        yield next(steps)
        raise KeyboardInterrupt

    monkeypatch.setattr(many, "correct", stopped)
    model = RFMRegressor(exact_rows=300, n_centers=20, iterations=1, kernel="gaussian", bandwidth=3.0, verbose=False)
    with pytest.warns(InterruptedFitWarning):
        model.fit(X, wiggle(X))
    assert np.isfinite(model.predict(X_test)).all()


def test_too_little_memory_is_an_error_before_the_work(friedman, monkeypatch):
    X, y, *_ = friedman
    monkeypatch.setattr(memory, "available", lambda: 10_000_000)
    with pytest.raises(ValueError, match=r"2,000 rows and 200 centres need about .* GB .* smaller n_centers"):
        RFMRegressor(exact_rows=500, n_centers=200, update=None).fit(X, y)


def test_the_expected_cost_is_announced_before_the_work(friedman, small, capsys):
    X, y, *_ = friedman
    RFMRegressor(exact_rows=500, n_centers=100, update=None, verbose=True).fit(X, y)
    assert "2,000 rows, 100 centres: about" in capsys.readouterr().err
    RFMRegressor(exact_rows=500, n_centers=100, update=None, verbose=False).fit(X, y)
    assert capsys.readouterr().err == ""


def test_blocks_of_rows_give_about_the_machine_of_all_rows(friedman, small):
    X, y, X_test, y_test = friedman

    def made():
        return ((X[start : start + 300], y[start : start + 300]) for start in range(0, len(X), 300))

    model = RFMRegressor(n_centers=200, verbose=False).fit_blocks(made)
    again = RFMRegressor(n_centers=200, verbose=False).fit_blocks(made)
    sample = RFMRegressor().fit(X[:700], y[:700])
    assert model.solver_ == "centers"
    assert (model.predict(X_test) == again.predict(X_test)).all()
    assert model.score(X_test, y_test) > sample.score(X_test, y_test) - 0.01


def test_no_class_is_missed_in_blocks(small):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 3))
    y = np.where(X[:, 0] > 0, "yes", "no").astype(object)
    y[1234] = "rare"

    def made():
        return ((X[start : start + 500], y[start : start + 500]) for start in range(0, 2000, 500))

    model = RFMClassifier(update=None, n_centers=100, verbose=False).fit_blocks(made)
    assert list(model.classes_) == ["no", "rare", "yes"]
    assert model.score(X, y) > 0.9
    with pytest.raises(ValueError, match=r"make_blocks\(\) must return at least one block"):
        RFMRegressor().fit_blocks(lambda: iter(()))


def test_ctrl_c_between_blocks_returns_the_machine_of_the_sample(friedman, small):
    X, y, X_test, y_test = friedman
    passes = []

    def made():
        passes.append(1)
        yield X[:1000], y[:1000]
        if len(passes) == 2:
            raise KeyboardInterrupt
        yield X[1000:], y[1000:]

    with pytest.warns(InterruptedFitWarning, match="of 2,000 rows"):
        model = RFMRegressor(iterations=1, verbose=False).fit_blocks(made)
    assert model.score(X_test, y_test) > 0.7


def test_leaves_are_written_and_read(friedman, small, tmp_path):
    X, _, X_test, _ = friedman
    y = np.sin(25 * X[:, 0])
    model = RFMRegressor(exact_rows=300, n_centers=20, update=None, kernel=Laplace(5.0), verbose=False).fit(X, y)
    assert model._leaves is not None
    again = rfm.load(model.save(tmp_path / "model.safetensors"))
    assert (again.predict(X_test) == model.predict(X_test)).all()
