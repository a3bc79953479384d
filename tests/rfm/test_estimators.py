"""The estimators in the hands of a person: frames, pipelines, odd tables, files and pictures."""

import itertools
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from firstlight import plots, rfm
from firstlight.rfm import IllConditionedWarning, Laplace, RFMClassifier, RFMRegressor
from firstlight.rfm._fitting import systematic_folds
from firstlight.rfm._tables.table import Scaling, distinct
from tests.tolerances import rounding


def interaction(n=200, d=6, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, X[:, 1] * X[:, 4]


@pytest.fixture(scope="module")
def regressor():
    return RFMRegressor().fit(*interaction())


@pytest.fixture(scope="module")
def iris():
    frame, y = load_iris(return_X_y=True, as_frame=True)
    return frame, np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="module")
def classifier(iris):
    return RFMClassifier().fit(*iris)


def test_features_are_found_and_beat_the_plain_kernel(regressor):
    X, y = interaction(500, seed=1)
    assert set(regressor.feature_importances_.argsort()[-2:]) == {1, 4}
    plain = RFMRegressor(update=None, kernel="laplace", bandwidth="median").fit(*interaction())
    assert regressor.score(X, y) > 0.85 > plain.score(X, y) + 0.05
    assert regressor.n_iter_ >= 1 > plain.n_iter_
    np.testing.assert_allclose(regressor.feature_directions_ @ regressor.feature_directions_.T, np.eye(6), atol=1e-9)
    history = regressor.history_
    assert set(history["update"].dropna()) == {"fact", "fact_geometric", "nfa"}
    assert history["chosen"].sum() == 1
    assert history["alignment"].dropna().between(-1, 1).all()
    judged = history[history["judged"] == len(interaction()[0])]  # dropped rules are judged in the first fold only
    assert history.loc[history["chosen"], "score"].item() == judged["score"].max()


def test_frames_labels_and_probabilities(iris, classifier):
    X, y = iris
    assert list(classifier.feature_names_in_) == list(X.columns)
    assert set(classifier.predict(X)) == set(y)
    probabilities = classifier.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert (classifier.classes_[probabilities.argmax(axis=1)] == classifier.predict(X)).all()
    assert classifier.score(X, y) > 0.95


def test_the_temperature_calibrates_on_rows_it_has_not_seen():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 3))
    truth = 1 / (1 + np.exp(-2 * X[:, 0]))
    y = rng.random(900) < truth
    model = RFMClassifier(update="nfa", iterations=2).fit(X[:400], y[:400])
    scores = model.decision_function(X[400:])
    losses = [log_loss(y[400:], 1 / (1 + np.exp(-t * scores))) for t in model.temperature_ * np.array([0.3, 1.0, 3.0])]
    assert losses[1] == min(losses)
    assert losses[1] < log_loss(y[400:], truth[400:]) + 0.05


def test_in_pipelines_and_searches(iris):
    X, y = iris
    X = X.assign(colour=np.where(np.arange(150) % 2, "red", "blue"))
    X.iloc[3, 0] = np.nan
    columns = make_column_transformer((OneHotEncoder(), ["colour"]), remainder=SimpleImputer())
    pipeline = make_pipeline(columns, RFMClassifier(update="fact", iterations=1))
    assert cross_val_score(pipeline, X, y, cv=2).mean() > 0.9
    search = GridSearchCV(pipeline, {"rfmclassifier__ridge": [1e-2, 1.0]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.9
    with pytest.raises(ValueError, match="Leave categorical_features='from_dtype', so that text is read as categories"):
        RFMClassifier(categorical_features=None).fit(X[["colour"]], y)


def test_weights_count_as_copies_and_zero_as_absence():
    X, y = interaction(60)
    weights = np.random.default_rng(0).integers(0, 3, 60)
    weighted = RFMRegressor().fit(X, y, weights)
    copied = RFMRegressor().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), rtol=1e-7, atol=1e-9)
    with pytest.raises(ValueError, match="at least one non-zero"):
        RFMRegressor().fit(X, y, np.zeros(60))
    plain = RFMRegressor(iterations=2).fit(X, y)
    for factor in (1e-300, 1e300):
        scaled = RFMRegressor(iterations=2).fit(X, y, np.full(60, factor))
        # Rounding of the weights is amplified by the condition number of the system.
        tolerance = rounding(plain.condition_)
        np.testing.assert_allclose(scaled.predict(X), plain.predict(X), rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(scaled.history_["ridge"], factor * plain.history_["ridge"], rtol=1e-9)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-3, 3), st.integers(0, 3)), min_size=1, max_size=12))
def test_joining_rows_keeps_the_squared_loss(rows):
    X, Y, w = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    if not w.any():
        return
    joined = distinct(X[:, None], Y[:, None], w)
    f = np.sin(joined[0]), np.sin(X[:, None])
    before = np.sum(w * ((Y[:, None] - f[1]) ** 2).ravel()) - np.sum(w * Y**2)
    after = np.sum(joined[2] * ((joined[1] - f[0]) ** 2).ravel()) - np.sum(joined[2] * joined[1].ravel() ** 2)
    assert before == pytest.approx(after, abs=1e-9)
    assert len(np.unique(joined[0])) == len(joined[0])


@pytest.mark.parametrize("factor", [1e-200, 1e-9, 1e9, 1e200])
def test_units_do_not_matter(factor):
    X, y = interaction(80)
    one = RFMRegressor(iterations=1).fit(X, y).predict(X)
    other = RFMRegressor(iterations=1).fit(factor * X, factor * y).predict(factor * X)
    np.testing.assert_allclose(other / factor, one, rtol=1e-5, atol=1e-6)
    scaling = Scaling.of(factor * X, np.ones(80))
    np.testing.assert_allclose(scaling.apply(factor * X).std(axis=0), 1, rtol=1e-9)
    if factor in (1e200, 1e-200):
        with pytest.raises(ValueError, match="squares of X overflow or underflow"):
            RFMRegressor(scale=False).fit(factor * X, y)


@pytest.mark.parametrize("factor", [1e-30, 1e30])
def test_columns_left_unscaled_may_be_of_any_size(monkeypatch, factor):
    from firstlight.rfm import _fitting as fitting

    monkeypatch.setattr(fitting, "SINGLE_ROWS", 50)
    X, y = interaction(80)
    # The Laplace kernel is well conditioned even at the smallest ridge, so single precision resolves it.
    laplace = {"kernel": "laplace", "bandwidth": "median"}
    one = RFMRegressor(update="nfa", iterations=1, scale=False, **laplace).fit(X, y)
    other = RFMRegressor(update="nfa", iterations=1, scale=False, **laplace).fit(factor * X, y)
    assert (one.precision_, other.precision_) == ("float32", "float64")
    np.testing.assert_allclose(other.predict(factor * X), one.predict(X), atol=1e-3)
    with pytest.raises(ValueError, match="out of the range of single precision"):
        RFMRegressor(scale=False, precision="single").fit(factor * X, y)


def test_rows_far_off_get_what_the_kernel_says_there(regressor):
    X, y = interaction()
    far = regressor.predict(1e200 * X[:2])
    np.testing.assert_allclose(far, y.mean(), atol=1e-9)
    with pytest.raises(ValueError, match="Exponential kernel overflows on rows this far"):
        RFMRegressor(kernel="exponential", iterations=1).fit(X[:60], y[:60]).predict(1e3 * X[:2])


@pytest.mark.parametrize(
    ("X", "y", "expected"),
    [
        (np.ones((5, 2)), np.arange(5.0), 2.0),
        (np.arange(6.0)[:, None], np.full(6, 7.0), 7.0),
        (np.array([[1.0]]), np.array([3.0]), 3.0),
        (np.repeat([[0.0, 1.0]], 4, axis=0), np.array([1.0, 1.0, 3.0, 3.0]), 2.0),
    ],
    ids=["constant columns", "constant target", "one row", "equal rows"],
)
def test_tables_with_nothing_to_learn_give_the_mean(X, y, expected):
    np.testing.assert_allclose(RFMRegressor().fit(X, y).predict(X), expected, atol=1e-6)


def test_more_odd_tables(regressor):
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((10, 40))
    assert RFMClassifier().fit(wide, np.arange(10) % 2).predict(wide).shape == (10,)
    with pytest.warns(UserWarning, match="y has one class only, 'a'"):
        only = RFMClassifier().fit(wide, np.array(["a"] * 10, dtype=object))
    assert (only.predict(wide) == "a").all()
    assert only.predict_proba(wide).shape == (10, 1)
    thin = np.linspace(-1, 1, 60)[:, None]
    assert RFMRegressor().fit(thin, thin.ravel() ** 2).score(thin, thin.ravel() ** 2) > 0.99
    Y = np.stack([wide[:, 0], wide[:, 1]], axis=1)
    assert RFMRegressor(iterations=1).fit(wide, Y).predict(wide).shape == (10, 2)
    for table, words in (
        (np.full((4, 2), np.inf), "infinity"),
        (np.empty((0, 2)), "minimum of 1 is required"),
    ):
        with pytest.raises(ValueError, match=words):
            RFMRegressor().fit(table, np.zeros(len(table)))
    with pytest.raises(ValueError, match=r"y must be numbers: .* RFMClassifier takes labels"):
        RFMRegressor().fit(wide, ["a"] * 10)
    with pytest.raises(ValueError, match=r"Input y contains NaN: "):
        RFMRegressor().fit(wide, np.full(10, np.nan))
    with pytest.raises(ValueError, match="bandwidth must be a number above 0, from 1e-70"):
        RFMRegressor(bandwidth=1e200).fit(wide, wide[:, 0])
    with pytest.raises(ValueError, match="what must be one of importances"):
        regressor.figure_data("all")
    with pytest.raises(ValueError, match=r"'update' parameter of RFMRegressor must be"):
        RFMRegressor(update="agop").fit(wide, wide[:, 0])


def test_kernels_rules_and_precision_can_be_said():
    X, y = interaction(80)
    for kernel in (*rfm.KERNELS, Laplace(3.0)):
        model = RFMRegressor(kernel=kernel, update="nfa", center=True, normalize="max", ridge=1e-2, iterations=2)
        assert np.isfinite(model.fit(X, y).predict(X)).all()
    fixed = RFMRegressor(update="fact", early_stopping=None, ridge=1e-2, precision="single", iterations=3).fit(X, y)
    assert (fixed.n_iter_, fixed.ridge_, fixed.precision_) == (3, 1e-2, "float32")
    with pytest.warns(IllConditionedWarning, match="condition number"):
        RFMRegressor(update=None, kernel="gaussian", bandwidth=50.0, ridge=1e-5, precision="single").fit(X, y)
    parallel = RFMRegressor(n_jobs=2).fit(X, y)
    np.testing.assert_allclose(parallel.predict(X), RFMRegressor().fit(X, y).predict(X), rtol=1e-9)


def test_leave_one_out_is_too_kind_to_a_metric_that_has_seen_the_row():
    X, y = load_diabetes(return_X_y=True)
    rows = np.random.default_rng(3).permutation(len(y))
    kept, new = rows[:160], rows[160:]
    folds, loo = (RFMRegressor(early_stopping=how).fit(X[kept], y[kept]) for how in ("folds", "loo"))
    told = [model.history_.loc[model.history_["chosen"], "score"].item() for model in (folds, loo)]
    real = [model.score(X[new], y[new]) for model in (folds, loo)]
    assert folds.n_iter_ < loo.n_iter_
    assert real[0] > real[1]
    assert abs(told[0] - real[0]) < abs(told[1] - real[1])


@given(st.permutations(range(12)))
def test_folds_do_not_depend_on_the_order_of_rows_and_share_out_targets(order):
    X, y = interaction(12)
    Y = (y > 0)[:, None].astype(float)
    fold = systematic_folds(X, Y, 3)
    assert (systematic_folds(X[order], Y[order], 3) == fold[order]).all()
    shares = [Y[fold == k].sum() for k in range(3)]
    assert max(shares) - min(shares) <= 1


def test_rows_held_out_decide_and_all_rows_are_fitted():
    X, y = interaction(150)
    model = RFMRegressor(early_stopping=0.3, random_state=3).fit(X, y)
    assert model.n_iter_ >= 1
    assert len(model._centres) == 150
    again = RFMRegressor(early_stopping=0.3, random_state=np.random.RandomState(3)).fit(X, y)
    assert again.score(X, y) > 0.9


def test_more_rows_than_may_be_solved_exactly(monkeypatch):
    from firstlight.rfm import _fitting as fitting

    monkeypatch.setattr(fitting, "SELECTION_ROWS", 200)
    X, y = interaction(600)
    model = RFMRegressor(exact_rows=300, n_centers=150).fit(X, y)
    assert (model.solver_, len(model._centres)) == ("centers", 150)
    assert 0.5 < model.captured_ < 1
    assert model.score(*interaction(300, seed=5)) > 0.85
    labels = RFMClassifier(update="nfa", ridge=0.1, early_stopping=None, iterations=2, exact_rows=300, n_centers=150)
    labels.fit(X, y > 0)
    assert labels.score(X, y > 0) > 0.85
    assert labels.temperature_ > 1


def test_files_and_pickles_predict_the_same(tmp_path, regressor, classifier, iris):
    X = interaction()[0]
    for model, table in ((regressor, X), (classifier, iris[0])):
        again = rfm.load(model.save(tmp_path / "model.safetensors"))
        assert (again.predict(table) == model.predict(table)).all()
        assert again.get_params() == model.get_params()
        pd.testing.assert_frame_equal(again.history_, model.history_, check_dtype=False)
        assert (pickle.loads(pickle.dumps(model)).predict(table) == model.predict(table)).all()
    assert (rfm.load(tmp_path / "model.safetensors").predict_proba(iris[0]) == classifier.predict_proba(iris[0])).all()
    days = np.array(["2020-01-01", "2021-01-01", "2022-01-01"], "M8[D]")[np.arange(150) % 3]
    dated = RFMClassifier(update=None, ridge=np.float32(0.5), random_state=np.int64(3)).fit(iris[0], days)
    again = rfm.load(dated.save(tmp_path / "dated.safetensors"))
    assert (again.predict(iris[0]) == dated.predict(iris[0])).all()
    assert again.get_params() == dated.get_params()
    (tmp_path / "other").write_bytes(b"x")
    with pytest.raises(ValueError, match="is not an RFM estimator file: a whole safetensors file is required"):
        rfm.load(tmp_path / "other")


def test_pictures(regressor, classifier):
    for what in ("importances", "matrix", "directions", "history"):
        assert plots.svg(classifier.figure_data(what)).startswith("<svg")
    assert regressor.plot("importances").axes
    page = regressor._repr_mimebundle_()["text/html"]
    assert "<svg" in page
    assert f"{type(regressor.kernel_).__name__.lower()} kernel" in page
    assert "<svg" not in clone(regressor)._repr_html_()


def test_import_needs_neither_jax_nor_torch():
    code = "import sys, firstlight.rfm; print({'jax', 'torch'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_updates_end_where_m_hardly_changes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 5))
    y = X[:, 0] * X[:, 1]
    settled = {"update": "nfa", "ridge": 1e-2, "early_stopping": None}
    metrics = [RFMRegressor(iterations=t, **settled).fit(X, y).feature_matrix_ for t in range(7)]
    changes = [np.linalg.norm(M - before) / np.linalg.norm(M) for before, M in itertools.pairwise(metrics)]
    tol = 1.01 * changes[3]
    assert min(changes[:3]) > tol
    model = RFMRegressor(iterations=6, tol=tol, **settled).fit(X, y)
    assert model.n_iter_ == 4
    np.testing.assert_allclose(model.feature_matrix_, metrics[4], rtol=1e-9, atol=1e-12)
    assert np.isfinite(model.condition_)
    assert len(model.history_) == 5
    chosen = RFMRegressor(update="nfa", iterations=6, tol=tol).fit(X, y)
    assert chosen.history_["iteration"].max() < 6
    probable = RFMClassifier(tol=tol, iterations=6, **settled).fit(X, y > 0)
    assert probable.n_iter_ < 6
    assert probable.temperature_ != 1.0


def test_without_early_stopping_the_last_iteration_stands():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = X[:, 0] + 0.5 * rng.standard_normal(60)
    model = RFMRegressor(update="nfa", early_stopping=None, iterations=12).fit(X, y)
    assert model.n_iter_ == 12
    # A metric of one column never changes, and by default that ends nothing.
    assert RFMRegressor(update="nfa", early_stopping=None, ridge=1.0).fit(X[:, :1], y).n_iter_ == 5


def test_leave_one_out_keeps_to_the_centres_asked_for():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    model = RFMRegressor(update="nfa", early_stopping="loo", exact_rows=100, n_centers=50).fit(X, X[:, 0] * X[:, 1])
    assert model.solver_ == "centers"


def test_a_metric_whose_scale_runs_away_is_no_reason_for_a_warning():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    settings = {"kernel": "quadratic", "update": "fact", "normalize": None, "ridge": 100.0, "early_stopping": None}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = RFMRegressor(iterations=15, **settings).fit(X, X[:, 0] * X[:, 1])
    assert model.n_iter_ > 3


@pytest.mark.parametrize("update", [None, "nfa"])
def test_without_a_ridge_the_machine_interpolates(update):
    """A Laplace kernel matrix of distinct rows is positive definite, so a ridge of 0 fits every row."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    machine = RFMRegressor(update=update, ridge=0.0, early_stopping=None, iterations=2, precision="double").fit(X, y)
    error = rounding(np.abs(y).max(), terms=len(y)) * machine.condition_
    np.testing.assert_allclose(machine.predict(X), y, rtol=0, atol=error)
