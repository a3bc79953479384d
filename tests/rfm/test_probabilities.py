"""Probabilities, intervals, class weights and folds by groups, against their definitions."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.datasets import load_iris
from sklearn.model_selection import GroupKFold, KFold

from firstlight.rfm import RFMClassifier, RFMRegressor
from firstlight.rfm._calibration import reliability, temperature
from firstlight.rfm._intervals import Residuals
from firstlight.rfm._solvers import lapack


def test_the_temperature_minimises_the_smoothed_log_loss():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 60)
    scores = np.eye(3)[labels] + 0.5 * rng.standard_normal((60, 3))
    added = np.vstack([np.eye(3)[labels] * (60 / 61), np.full((60, 3), 1 / 61 / 3)])
    twice = np.vstack([scores, scores])

    def loss(log_factor):
        return -(added * log_softmax(np.exp(log_factor[0]) * twice, axis=1)).sum()

    best = np.exp(minimize(loss, [0.0]).x[0])
    assert temperature(scores, np.eye(3)[labels], np.ones(60)) == pytest.approx(best, rel=1e-4)


def test_separable_rows_have_a_finite_temperature_that_grows_with_their_number():
    found = []
    for count in (20, 200, 2000):
        shares = np.eye(2)[np.arange(count) % 2]
        found.append(temperature(shares, shares, np.ones(count)))
        # p = softmax(T) of the right class is the smoothed share, 1 − ε/2.
        assert 1 / (1 + np.exp(-found[-1])) == pytest.approx(1 - 0.5 / (count + 1), rel=1e-5)
    assert found == sorted(found)


def test_between_two_classes_of_iris_nothing_is_certain():
    X, y = load_iris(return_X_y=True)
    X, y = X[y < 2], y[y < 2]
    model = RFMClassifier().fit(X, y)
    middle = (X[y == 0].mean(axis=0) + X[y == 1].mean(axis=0)) / 2
    assert 0.1 < model.predict_proba([middle])[0, 0] < 0.9
    assert model.predict_proba(X).max(axis=1).min() > 0.5


def test_reliability_is_the_observed_share_of_each_group():
    rng = np.random.default_rng(0)
    p = rng.random(4000)
    y = (rng.random(4000) < p).astype(int)
    table = pd.DataFrame(reliability(np.stack([1 - p, p], axis=1), np.eye(2)[y], np.ones(4000)))
    assert len(table) == 10
    assert table["rows"].sum() == 8000
    error = np.sqrt(table["predicted"] * (1 - table["predicted"]) / table["rows"])
    assert (np.abs(table["observed"] - table["predicted"]) < 5 * error).all()


def test_class_weights_are_sample_weights():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2))
    y = np.where(X[:, 0] + rng.standard_normal(80) > 1.2, "rare", "usual")
    named = RFMClassifier(iterations=1, class_weight={"rare": 3.0, "usual": 1.0}).fit(X, y)
    weighted = RFMClassifier(iterations=1).fit(X, y, np.where(y == "rare", 3.0, 1.0))
    np.testing.assert_allclose(named.predict_proba(X), weighted.predict_proba(X))
    balanced = RFMClassifier(iterations=1, class_weight="balanced").fit(X, y)
    assert (balanced.predict(X) == "rare").sum() > (RFMClassifier(iterations=1).fit(X, y).predict(X) == "rare").sum()


def test_several_columns_of_labels_share_a_metric():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4))
    y = np.stack([np.where(X[:, 0] > 0, "up", "down"), np.digitize(X[:, 1], [-0.5, 0.5]).astype(str)], axis=1)
    model = RFMClassifier(iterations=1).fit(X, y)
    assert [classes.tolist() for classes in model.classes_] == [["down", "up"], ["0", "1", "2"]]
    assert [part.shape for part in model.predict_proba(X)] == [(120, 2), (120, 3)]
    assert model.predict(X).shape == (120, 2)
    assert model.score(X, y) == np.mean((model.predict(X) == y).all(axis=1)) > 0.8
    assert not hasattr(model, "decision_function")


def noisy(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, X[:, 0] * X[:, 1] + rng.standard_normal(n)


def test_intervals_cover_what_they_promise():
    covered = []
    for seed in range(8):
        X, y = noisy(500, seed)
        low, high = RFMRegressor(update="nfa", iterations=2).fit(X[:100], y[:100]).predict_interval(X[100:], 0.8).T
        covered.append(np.mean((low <= y[100:]) & (y[100:] <= high)))
    # The coverage of one fit varies by √(0.8·0.2/100) = 0.04, that of the mean of eight by 0.014.
    assert abs(np.mean(covered) - 0.8) < 4 * 0.014


def test_the_half_width_is_the_conformal_quantile():
    rng = np.random.default_rng(0)
    sizes = rng.random((99, 2))
    found = Residuals.sorted(sizes, np.ones(99)).half_width(0.9)
    np.testing.assert_array_equal(found, np.sort(sizes, axis=0)[89])  # the ⌈0.9·100⌉-th smallest
    twice = Residuals.sorted(sizes, np.full(99, 2.5)).half_width(0.9)
    np.testing.assert_array_equal(twice, found)
    with pytest.raises(ValueError, match=r"99 rows allow a coverage of at most 0\.99; got 0\.999"):
        Residuals.sorted(sizes, np.ones(99)).half_width(0.999)
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
        Residuals.sorted(sizes, np.ones(99)).half_width(1.0)
    X, y = noisy(40, 0)
    fixed = RFMRegressor(ridge=1.0, early_stopping=None, update=None).fit(X, y)
    with pytest.raises(ValueError, match="intervals need; fit with early_stopping='folds'"):
        fixed.predict_interval(X)


def test_one_large_residual_does_not_hide_that_rows_left_out_are_predicted_too_well():
    ones = np.ones(99)
    # The mean square of these rows left out is above that of the held-out rows, their quantile is not.
    left_out = Residuals.sorted(np.append(np.full(98, 0.1), 100.0)[:, None], ones)
    held_out = Residuals.sorted(np.linspace(0, 2, 99)[:, None], ones)
    wider = left_out.raised(left_out, held_out)
    for coverage in (0.1, 0.5, 0.9):
        expected = max(left_out.half_width(coverage)[0], held_out.half_width(coverage)[0])
        assert wider.half_width(coverage)[0] == pytest.approx(expected, rel=4 * np.finfo(float).eps)
    assert (np.diff(wider.sizes, axis=0) >= 0).all()
    np.testing.assert_array_equal(left_out.raised(left_out, left_out).sizes, left_out.sizes)
    perfect = Residuals.sorted(np.zeros((99, 1)), ones)
    np.testing.assert_array_equal(perfect.raised(perfect, held_out).sizes, held_out.sizes)


def test_without_updates_the_residuals_are_those_of_fits_without_the_row():
    X, y = noisy(30, 1)
    model = RFMRegressor(update=None, precision="double", bandwidth=2.0).fit(X, y)
    ridge = model.ridge_
    sizes = []
    Z = model._scaling.apply(X)
    K = np.exp(-np.linalg.norm(Z[:, None] - Z[None], axis=2) / 2.0)
    target = (y - y.mean()) / y.std()
    for i in range(30):
        rest = np.delete(np.arange(30), i)
        alpha = np.linalg.solve(K[np.ix_(rest, rest)] + ridge * np.eye(29), target[rest])
        sizes.append(abs(target[i] - K[i, rest] @ alpha))
    np.testing.assert_allclose(model._residuals.sizes.ravel(), np.sort(sizes), rtol=1e-6, atol=1e-9)


def test_several_targets_have_an_interval_each():
    X, y = noisy(60, 0)
    model = RFMRegressor(iterations=1).fit(X, np.stack([y, 10 * y], axis=1))
    width = np.diff(model.predict_interval(X), axis=2)
    assert width.shape == (60, 2, 1)
    np.testing.assert_allclose(width[:, 1], 10 * width[:, 0])


def test_groups_are_held_out_together():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(12), 10)
    level = rng.standard_normal(12)[groups]
    X = np.stack([groups + 0.01 * rng.standard_normal(120), rng.standard_normal(120)], axis=1)
    y = level + 0.3 * X[:, 1]
    model = RFMRegressor(iterations=1).fit(X, y, groups=groups)
    by_groups = model.history_["score"].iloc[0]
    by_rows = RFMRegressor(iterations=1).fit(X, y).history_["score"].iloc[0]
    # A new group says nothing about its level, which rows of known groups give away.
    assert by_groups < by_rows - 0.3
    splits = list(GroupKFold(4).split(X, y, groups))
    for cv in (splits, GroupKFold(4)):
        again = RFMRegressor(iterations=1, cv=cv).fit(X, y, groups=groups)
        np.testing.assert_allclose(again.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="groups must name at least two groups"):
        RFMRegressor().fit(X, y, groups=np.zeros(120))


def test_cv_chooses_the_folds():
    X, y = noisy(60, 0)
    model = RFMRegressor(update="nfa", iterations=1, cv=KFold(3)).fit(X, y)
    errors = []
    for train, held in KFold(3).split(X):
        part = RFMRegressor(update=None, bandwidth=model.bandwidth_, scale=False)
        Z, t = model._scaling.apply(X), (y - y.mean()) / y.std()
        fitted = part.fit(Z[train], t[train])
        errors.append((fitted.predict(Z[held]) - t[held]) ** 2)
    # The folds centre the targets by their own mean, which the estimator does once; that changes little.
    assert model.history_["error"].iloc[0] == pytest.approx(np.concatenate(errors).mean(), rel=0.05)


def test_residuals_wait_until_they_are_needed_and_survive_a_pickle(monkeypatch):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((80, 2))
    y = X[:, 0] + 0.1 * rng.standard_normal(80)
    inverses, invert = [], lapack.invert
    monkeypatch.setattr(lapack, "invert", lambda L: (inverses.append(len(L)), invert(L))[1])
    models = [RFMRegressor(iterations=1).fit(X, y) for _ in range(2)]
    assert 80 not in inverses
    copy = pickle.loads(pickle.dumps(models[0]))
    assert inverses.count(80) == 1
    for model in (models[0], copy, models[1]):
        np.testing.assert_array_equal(model.predict_interval(X), copy.predict_interval(X))
    assert inverses.count(80) == 2
    width = np.ptp(copy.predict_interval(X)[0])
    # A second fit forgets the residuals of the first.
    assert np.ptp(models[0].fit(X, 10 * y).predict_interval(X)[0]) == pytest.approx(10 * width, rel=1e-6)
