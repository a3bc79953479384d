"""Tables as they come: gaps, categories, dates, text; encodings computed another way, and what is refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.preprocessing import OneHotEncoder

from firstlight import plots, rfm
from firstlight.rfm import RFMClassifier, RFMRegressor
from firstlight.rfm._encoding import encoding as encodings
from firstlight.rfm._encoding.columns import MOST_LEVELS, Category, Number
from firstlight.rfm._encoding.encoding import Encoding
from tests.tolerances import rounding


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.standard_normal(120),
            "kind": rng.choice(["a", "b", "c"], 120),
            "grade": pd.Categorical(rng.choice(["low", "high"], 120)),
            "day": pd.date_range("2024-01-01", periods=120, freq="12h"),
            "wait": pd.to_timedelta(rng.integers(0, 90, 120), unit="min"),
            "open": rng.random(120) < 0.5,
            "count": pd.array(rng.integers(0, 9, 120), dtype="Int64"),
        }
    )
    frame.loc[::7, "size"] = np.nan
    frame.loc[::9, "kind"] = None
    frame.loc[3, "count"] = pd.NA
    y = frame["size"].fillna(0.0).to_numpy() + 2 * (frame["kind"] == "a").to_numpy() + 0.1 * rng.standard_normal(120)
    return frame, y


@pytest.fixture(scope="module")
def regressor(table):
    return RFMRegressor().fit(*table)


def test_a_table_goes_through_without_preparation(table, regressor):
    frame, y = table
    assert regressor.n_features_in_ == 7
    assert regressor.score(frame, y) > 0.9
    assert regressor.feature_matrix_.shape == (len(regressor.encoded_names_),) * 2
    assert set(frame.columns[regressor.feature_importances_.argsort()[-2:]]) == {"size", "kind"}
    assert regressor.feature_importances_.sum() == pytest.approx(1)
    np.testing.assert_allclose((regressor.feature_directions_**2).sum(axis=1), 1, atol=rounding(1, 20))
    labels = RFMClassifier(iterations=1).fit(frame, np.where(y > 1, "much", "little"))
    assert labels.score(frame, np.where(y > 1, "much", "little")) > 0.9
    for what in ("importances", "matrix", "directions", "history", "calibration"):
        assert plots.svg(labels.figure_data(what)).startswith("<svg")
    with pytest.raises(ValueError, match="a calibration figure needs a classifier"):
        regressor.figure_data("calibration")


def test_the_encoding_is_that_of_scikit_learn_and_of_the_definition(table):
    frame, _ = table
    encoding = Encoding.of_frame(frame, np.ones(120))
    encoded = pd.DataFrame(encoding.apply(frame), columns=encoding.names(list(frame.columns)))
    kinds = frame[["kind"]].astype(object).where(frame[["kind"]].notna(), "gap")
    theirs = OneHotEncoder(sparse_output=False).fit_transform(kinds)
    np.testing.assert_array_equal(encoded[["kind = a", "kind = b", "kind = c", "kind is missing"]], theirs)
    np.testing.assert_array_equal(encoded["grade = low"], frame["grade"] == "low")
    np.testing.assert_allclose(encoded["size"], frame["size"].fillna(frame["size"].mean()), atol=rounding(1, 120))
    np.testing.assert_array_equal(encoded["size is missing"], frame["size"].isna())
    np.testing.assert_array_equal(encoded["wait"], frame["wait"].dt.total_seconds() / 86400)
    np.testing.assert_allclose(encoded["day"], frame["day"].to_numpy().astype("M8[s]").astype(float) / 86400)
    assert [name for name in encoded if name.startswith("day cos")] == [
        "day cos week",
        "day cos 2 week",
        "day cos day",
        "day cos 2 day",
    ]
    # Equal weekdays have equal phases: 1 January 2024 and 8 January 2024 are Mondays.
    np.testing.assert_allclose(encoded.loc[0, "day sin week"], encoded.loc[14, "day sin week"], atol=1e-9)
    assert encoding.owners.tolist() == [
        list(frame.columns).index(name.split(" ")[0]) for name in encoding.names(list(frame.columns))
    ]


def test_scaling_divides_indicators_by_the_power_that_was_measured(table):
    frame, y = table
    model = RFMRegressor(iterations=0).fit(frame, y)
    names = np.array(model.encoded_names_)
    share = (frame["kind"] == "a").mean()
    spread = dict(zip(names, model._scaling.spread, strict=True))
    deviation = np.sqrt(share * (1 - share))
    assert spread["kind = a"] == pytest.approx(deviation**encodings.LEVEL_POWER)
    gaps = frame["size"].isna().mean()
    assert spread["size is missing"] == pytest.approx(np.sqrt(gaps * (1 - gaps)) ** encodings.GAP_POWER)
    low = (frame["grade"] == "low").mean()
    assert spread["grade = low"] == pytest.approx(np.sqrt(low * (1 - low)))


def test_importances_directions_and_matrix_fold_back(regressor):
    M, owners = regressor.feature_matrix_, regressor._encoding.owners
    folded = regressor._encoding.fold_matrix(M)
    for g in range(7):
        for h in range(7):
            block = M[np.ix_(owners == g, owners == h)]
            expected = np.trace(block) if g == h else block.item() if block.size == 1 else np.linalg.norm(block)
            assert folded[g, h] == pytest.approx(expected)
    parts = [(M.diagonal() * regressor._variances)[owners == g].sum() for g in range(7)]
    np.testing.assert_allclose(regressor.feature_importances_, np.array(parts) / sum(parts))
    top = np.linalg.eigh(M)[1][:, -1]
    lengths = [np.linalg.norm(top[owners == g]) for g in range(7)]
    np.testing.assert_allclose(np.abs(regressor.feature_directions_[0]), lengths, atol=1e-9)


def test_what_the_fit_has_not_seen(table, regressor):
    frame, _ = table
    new = frame.iloc[:4].copy()
    new["kind"] = ["zebra", None, "a", "b"]
    new["open"] = [True, False, True, False]
    new["wait"] = pd.to_timedelta([None, "1h", "2h", "3h"])
    assert np.isfinite(regressor.predict(new)).all()
    # A level that was not seen is the mean of the rows, unless rare levels have a column.
    shares = Category.of(np.array([0, 1, 1, 1]), ["x", "y"], np.ones(4))
    np.testing.assert_allclose(shares.encode(np.array([0]), ["z"]), [[0.75]])
    codes = np.concatenate([np.arange(MOST_LEVELS + 5), np.arange(MOST_LEVELS + 5)])
    many = Category.of(codes, [f"{i:03}" for i in range(MOST_LEVELS + 5)], np.ones(len(codes)))
    assert (len(many.levels), many.pooled, many.suffixes[-1]) == (MOST_LEVELS - 1, True, " is rare")
    np.testing.assert_array_equal(many.encode(np.array([0]), ["new"])[0], np.eye(MOST_LEVELS)[-1])
    with pytest.raises(ValueError, match=r"column 'size' held numbers in fit; got other cells .* give numbers or gaps"):
        regressor.predict(frame.assign(size="big"))
    with pytest.raises(ValueError, match=r"column 'day' held dates in fit"):
        regressor.predict(frame.assign(day="monday"))


def test_integers_that_a_gap_turns_into_floats_are_the_same_levels():
    ages = pd.DataFrame({"age": [1, 2, 3, 1, 2, 3] * 5})
    model = RFMRegressor(categorical_features=["age"], iterations=0).fit(ages, np.arange(30) % 3)
    floats = pd.DataFrame({"age": [1.0, 2.0, np.nan]})
    np.testing.assert_array_equal(model.predict(floats)[:2], model.predict(ages[:2]))


@pytest.mark.parametrize("declared", [[True, False], [0], ["a"]])
def test_categories_can_be_declared(declared):
    frame = pd.DataFrame({"a": [0, 1, 2] * 10, "b": np.arange(30.0)})
    model = RFMRegressor(categorical_features=declared, iterations=0).fit(frame, np.arange(30) % 3)
    assert model.encoded_names_ == ["a = 0", "a = 1", "a = 2", "b"]
    if declared != ["a"]:
        array = RFMRegressor(categorical_features=declared, iterations=0).fit(frame.to_numpy(), np.arange(30) % 3)
        np.testing.assert_allclose(array.predict(frame.to_numpy()), model.predict(frame))


@pytest.mark.parametrize(
    ("declared", "said"),
    [(["c"], "must name columns of X; got 'c'"), ([True], "must have 2 booleans"), ([7], "positions from 0 to 1")],
)
def test_declarations_that_fit_no_column(declared, said):
    with pytest.raises(ValueError, match=said):
        RFMRegressor(categorical_features=declared).fit(pd.DataFrame({"a": [1, 2], "b": [1, 2]}), [0, 1])


def test_arrays_lists_and_sparse_matrices(table):
    frame, y = table
    mixed = frame[["size", "kind", "open"]]
    expected = RFMRegressor(iterations=1).fit(mixed, y).predict(mixed)
    objects = mixed.astype(object).where(mixed.notna(), None)
    for X in (objects.to_numpy(), objects.to_numpy().tolist()):
        np.testing.assert_allclose(RFMRegressor(iterations=1).fit(X, y).predict(X), expected)
    numbers = np.where(np.random.default_rng(0).random((60, 4)) < 0.5, 0.0, 1.0) * np.arange(1, 5)
    y = numbers @ [1.0, 2.0, 0.0, 0.0]
    dense = RFMRegressor(iterations=1).fit(numbers, y).predict(numbers)
    for made in (sparse.csr_matrix, sparse.coo_array):
        np.testing.assert_array_equal(RFMRegressor(iterations=1).fit(made(numbers), y).predict(made(numbers)), dense)
    with_gaps = np.where(numbers == 3, np.nan, numbers)
    assert RFMRegressor(iterations=1).fit(with_gaps, y).encoded_names_ == ["x0", "x1", "x2", "x2 is missing", "x3"]


def test_weights_count_as_copies_with_gaps_and_categories(table):
    frame, y = table[0].iloc[:60][["size", "kind", "day"]], table[1][:60]
    weights = np.random.default_rng(1).integers(0, 3, 60)
    weighted = RFMRegressor(iterations=1).fit(frame, y, weights)
    rows = np.repeat(np.arange(60), weights)
    copied = RFMRegressor(iterations=1).fit(frame.iloc[rows], y[rows])
    np.testing.assert_allclose(weighted.predict(frame), copied.predict(frame), rtol=1e-7, atol=1e-9)


def test_files_hold_the_encodings(tmp_path, table, regressor):
    frame, y = table
    both = np.stack([y > 1, frame["kind"] == "a"], axis=1)
    models = [
        regressor,
        RFMClassifier(iterations=1, class_weight={"no": 2.0, "yes": 1.0}).fit(frame, np.where(y > 1, "yes", "no")),
        RFMClassifier(iterations=1, categorical_features=["count"]).fit(frame, both),
    ]
    for model in models:
        for again in (rfm.load(model.save(tmp_path / "m.safetensors")), pickle.loads(pickle.dumps(model))):
            assert (again.predict(frame) == model.predict(frame)).all()
            assert again.encoded_names_ == model.encoded_names_
            assert again.get_params() == model.get_params()
            np.testing.assert_array_equal(again.feature_directions_, model.feature_directions_)
    again = rfm.load(regressor.save(tmp_path / "m.safetensors"))
    np.testing.assert_array_equal(again.predict_interval(frame), regressor.predict_interval(frame))


def test_skops_needs_to_trust_the_estimator_only(table, regressor):
    skops = pytest.importorskip("skops.io")
    packed = skops.dumps(regressor)
    unknown = skops.get_untrusted_types(data=packed)
    assert unknown == ["firstlight.rfm._regressor.RFMRegressor"]
    assert (skops.loads(packed, trusted=unknown).predict(table[0]) == regressor.predict(table[0])).all()


def test_inspection_by_scikit_learn(table, regressor):
    frame, y = table
    found = permutation_importance(regressor, frame, y, n_repeats=2, random_state=0).importances_mean
    assert set(frame.columns[found.argsort()[-2:]]) == {"size", "kind"}
    curve = partial_dependence(regressor, frame.dropna(subset=["size"]), ["size"], grid_resolution=5)["average"][0]
    assert curve[-1] > curve[0] + 1


@pytest.mark.parametrize("seed", [0, 3, 4])
def test_permutations_tell_a_column_of_noise_from_the_others(seed):
    """The share of noise in M may be large in few rows, since M is a root and lifts weak columns."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"area": rng.normal(80, 20, 450), "city": rng.choice(["Ulm", "Bonn", "Kiel", "Rome"], 450)})
    frame["noise"] = rng.standard_normal(450)
    price = frame["area"] / 20 + 2 * (frame["city"] == "Kiel") + 0.3 * rng.standard_normal(450)
    model = RFMRegressor().fit(frame[:150], price[:150])
    found = permutation_importance(model, frame[150:], price[150:], n_repeats=5, random_state=0).importances_mean
    # R² falls by twice the variance of the column's share: 1.1 for the area, 0.75 for the city.
    assert found[2] < 0.1 < 0.5 < min(found[:2])


def test_bad_tables_get_a_clear_error_or_a_stated_treatment(monkeypatch):
    X = pd.DataFrame({"a": np.arange(20.0), "b": ["x", "y"] * 10})
    y = np.arange(20.0)
    with pytest.raises(ValueError, match=r"infinity(.|\n)*column 'a'"):
        RFMRegressor().fit(X.assign(a=np.inf), y)
    with pytest.raises(ValueError, match=r"infinity(.|\n)*It is in column 1"):
        RFMRegressor().fit(np.array([[0.0, np.inf], [1.0, 2.0]]), [0, 1])
    with pytest.warns(UserWarning, match="no row has a value in b; these columns are ignored"):
        empty = RFMRegressor(iterations=1).fit(X.assign(b=None), y)
    assert empty.feature_importances_[1] == 0
    np.testing.assert_array_equal(empty.predict(X), empty.predict(X.assign(b=3.5)))
    with pytest.raises(ValueError, match="X must have a column with a value; got only missing values"):
        RFMRegressor().fit(np.full((4, 2), np.nan), y[:4])
    with pytest.raises(TypeError, match="column 'b' holds dict"):
        RFMRegressor().fit(X.assign(b=[{"x": 1}] * 20), y)
    with pytest.raises(ValueError, match="Complex data not supported"):
        RFMRegressor().fit(X.assign(a=1j), y)
    with pytest.warns(UserWarning, match="y has one class only"):
        RFMClassifier().fit(X, ["same"] * 20)
    from firstlight.rfm._solvers import memory

    monkeypatch.setattr(memory, "available", lambda: 400)
    with pytest.raises(ValueError, match=r"20 rows and 2 encoded columns takes .* drop columns with many levels"):
        RFMRegressor().fit(X, y)
    with pytest.raises(ValueError, match=r"a sparse X is made dense.*TruncatedSVD"):
        RFMRegressor().fit(sparse.csr_array(np.eye(20)), y)


def test_a_category_of_a_hundred_thousand_levels_shares_an_indicator():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": [f"id {i}" for i in range(100_000)], "x": rng.integers(0, 9, 100_000)})
    model = RFMRegressor(update=None, exact_rows=100, n_centers=50, ridge=1.0, early_stopping=None)
    with pytest.warns(UserWarning, match=r"more than half of the rows of id have rare levels"):
        model.fit(frame, frame["x"])
    assert model.encoded_names_ == ["id is rare", "x"]


def test_no_feature_learning_is_said():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    model = RFMRegressor(iterations=0).fit(X, rng.standard_normal(40))
    np.testing.assert_allclose(model.feature_importances_, 1 / 3)
    assert model.figure_data("importances").title.startswith("No feature learning helped")
    assert "no feature learning" in model._html_repr()


def test_a_gap_at_predict_time_is_the_mean():
    numbers = Number.of(np.array([1.0, 3.0]), np.array([3.0, 1.0]))
    np.testing.assert_array_equal(numbers.encode(np.array([np.nan])), [[1.5]])
    X, y = np.random.default_rng(0).standard_normal((40, 2)), np.arange(40.0)
    model = RFMRegressor(iterations=1).fit(X, y)
    assert np.isfinite(model.predict([[np.nan, 0.0]])).all()
