"""Columns, targets and groups as pandas and users give them; each failed or was read wrongly once."""

import datetime

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from firstlight.rfm import RFMClassifier, RFMRegressor, compare

ROWS = 60
NUMBERS = np.random.default_rng(0).standard_normal((ROWS, 3))
FRAME = pd.DataFrame(NUMBERS[:, :2], columns=["a", "b"])
TARGET = NUMBERS[:, 0]
LABELS = np.where(TARGET > 0, "much", "little")


def regressor():
    return RFMRegressor(iterations=1)


def classifier():
    return RFMClassifier(iterations=1)


@pytest.mark.parametrize("beside", [{}, {"kind": ["x", "y"] * (ROWS // 2)}])
def test_durations_are_read_at_predict_time_too(beside):
    waits = pd.Series(pd.to_timedelta(np.arange(ROWS) % 7, unit="h"))
    waits[3] = pd.NaT
    X = FRAME.assign(wait=waits, **beside)
    model = regressor().fit(X, TARGET)
    assert model.score(X, TARGET) > 0.9
    hours = X.assign(wait=waits / np.timedelta64(1, "D"))
    np.testing.assert_array_equal(model.predict(X), model.predict(hours))


@pytest.mark.parametrize(
    "dates",
    [
        pd.Series(pd.date_range("2024-01-01", periods=ROWS).strftime("%Y-%m-%d")),
        pd.Series(pd.date_range("2024-01-01", periods=ROWS).strftime("%Y/%m/%d"), dtype="string"),
        pd.Series(pd.date_range("2024-01-01", periods=ROWS, tz="UTC").strftime("%Y-%m-%dT%H:%M:%SZ")),
        pd.Series(pd.period_range("2024-01-01", periods=ROWS, freq="D")),
        pd.Series(pd.period_range("2024-01-01", periods=ROWS, freq="D")).astype(object),
        pd.Series([datetime.date(2024, 1, 1) + datetime.timedelta(k) for k in range(ROWS)]),
        pd.Series(pd.date_range("2024-01-01", periods=ROWS, tz="UTC")),
    ],
)
def test_dates_of_every_kind_are_the_same_dates(dates):
    stamps = FRAME.assign(day=pd.date_range("2024-01-01", periods=ROWS))
    model = regressor().fit(stamps, TARGET)
    again = regressor().fit(FRAME.assign(day=dates), TARGET)
    assert again.encoded_names_ == model.encoded_names_
    np.testing.assert_array_equal(again.predict(stamps), model.predict(stamps))
    np.testing.assert_array_equal(model.predict(FRAME.assign(day=dates)), model.predict(stamps))


def test_text_that_looks_like_a_date_but_is_none_stays_text():
    X = FRAME.assign(day=["2024-02-30", "2024-02-28"] * (ROWS // 2))
    assert regressor().fit(X, TARGET).encoded_names_ == ["a", "b", "day = 2024-02-30"]
    # A declared category of dates remains one.
    X = FRAME.assign(day=["2024-02-29", "2024-02-28"] * (ROWS // 2))
    assert RFMRegressor(iterations=1, categorical_features=["day"]).fit(X, TARGET).encoded_names_[2:] == [
        "day = 2024-02-29"
    ]


@pytest.mark.parametrize(
    ("labels", "classes", "kind"),
    [
        (pd.Series(TARGET > 0).astype(int).astype("Int64"), [0, 1], "i"),
        (pd.Series(TARGET > 0).astype("boolean"), [False, True], "b"),
        (pd.Series(TARGET > 0).astype(object), [False, True], "b"),
        (TARGET > 0, [False, True], "b"),
        (pd.Series(LABELS, dtype="string"), ["little", "much"], "O"),
        (pd.Series(pd.Categorical(LABELS, ["much", "never", "little"])), ["little", "much"], "O"),
    ],
)
def test_labels_keep_their_type(labels, classes, kind):
    model = classifier().fit(FRAME, labels)
    assert (model.classes_.tolist(), model.classes_.dtype.kind) == (classes, kind)
    assert model.predict(FRAME).dtype.kind == kind
    assert model.score(FRAME, labels) > 0.9


def test_columns_of_labels_of_different_types():
    y = pd.DataFrame({"text": LABELS, "number": (NUMBERS[:, 1] > 0).astype(int)})
    model = classifier().fit(FRAME, y)
    assert [classes.tolist() for classes in model.classes_] == [["little", "much"], [0, 1]]
    assert model.predict(FRAME).shape == (ROWS, 2)
    assert {type(cell) for cell in model.predict(FRAME)[:, 1]} == {int}
    assert model.score(FRAME, y) > 0.8
    balanced = RFMClassifier(iterations=1, class_weight="balanced").fit(FRAME, y)
    assert balanced.score(FRAME, y) > 0.8


@pytest.mark.parametrize(
    "gap_in",
    [
        pd.Series(LABELS, dtype=object),
        pd.Series(LABELS, dtype="string"),
        pd.Series(LABELS, dtype="category"),
        pd.Series(TARGET > 0).astype("boolean"),
        pd.Series(TARGET),
        pd.DataFrame({"text": LABELS, "number": 1.0}),
    ],
)
@pytest.mark.parametrize("X", [FRAME, FRAME.assign(kind=["x", "y"] * (ROWS // 2))])
def test_gaps_in_targets_are_counted(gap_in, X):
    y = gap_in.copy()
    y.iloc[:2] = None
    with pytest.raises(ValueError, match=r"Input y contains NaN: 2 of 60 rows have no target; drop these rows"):
        classifier().fit(X, y)


@pytest.mark.parametrize(
    ("make", "y", "said"),
    [
        (classifier, np.array([1, "a"] * (ROWS // 2), dtype=object), "labels must be of one type; got str and int"),
        (classifier, sparse.csr_array(np.eye(ROWS, 2, dtype=int)), r"y must be dense; .* y\.toarray\(\)"),
        (regressor, pd.Series(pd.date_range("2024", periods=ROWS)), "y holds dates or durations; give numbers"),
        (regressor, pd.to_timedelta(np.arange(ROWS), unit="h"), "y holds dates or durations; give numbers"),
    ],
)
def test_targets_that_cannot_be_learned(make, y, said):
    with pytest.raises(ValueError, match=said):
        make().fit(FRAME, y)


def test_the_only_class_is_named_as_it_is():
    with pytest.warns(UserWarning, match=r"y has one class only, 'same', which"):
        classifier().fit(FRAME, np.array(["same"] * ROWS))


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (pd.DataFrame(NUMBERS, columns=["a", "a", "b"]), "must have different names; 'a' occurs 2 times"),
        (
            pd.DataFrame(NUMBERS, columns=["a", "a", "b"]).assign(kind="x"),
            "must have different names; 'a' occurs 2 times",
        ),
        (pd.DataFrame(index=range(ROWS)), r"0 feature\(s\) \(shape=\(60, 0\)\) while a minimum of 1 is required"),
        (pd.Series(LABELS), r"X must have rows and columns; .* X\[\['name'\]\], one row as X\.iloc\[\[0\]\]"),
    ],
)
def test_tables_without_proper_columns(X, said):
    with pytest.raises(ValueError, match=said):
        regressor().fit(X, TARGET)


def test_groups_with_gaps_are_counted():
    with pytest.raises(ValueError, match="groups must name a group for each row; 20 of 60 rows have none"):
        regressor().fit(FRAME, TARGET, groups=[None, "p", "q"] * (ROWS // 3))


@pytest.mark.parametrize("stopping", ["loo", 0.2, None])
def test_groups_are_not_ignored_silently(stopping):
    with pytest.raises(ValueError, match=r"cv and groups choose the folds of early_stopping='folds'; got early_stopp"):
        RFMRegressor(early_stopping=stopping).fit(FRAME, TARGET, groups=np.arange(ROWS) // 5)
    with pytest.raises(ValueError, match=r"cv and groups choose the folds of early_stopping='folds'; got early_stopp"):
        RFMRegressor(early_stopping=stopping, cv=3).fit(FRAME, TARGET)


def test_blocks_that_differ_the_second_time_are_refused():
    blocks = iter([(FRAME[:30], TARGET[:30]), (FRAME[30:], TARGET[30:])])
    with pytest.raises(ValueError, match="it had 60 rows at first and 0 then; open the source inside the function"):
        regressor().fit_blocks(lambda: blocks)
    with pytest.raises(TypeError, match=r"make_blocks must be a function .* got list"):
        regressor().fit_blocks([(FRAME, TARGET)])
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[60, 30\]"):
        regressor().fit_blocks(lambda: [(FRAME, TARGET[:30])])


def test_blocks_without_rows_are_skipped():
    whole = regressor().fit_blocks(lambda: [(FRAME, TARGET)])
    model = regressor().fit_blocks(lambda: [(FRAME[:0], TARGET[:0]), (FRAME, TARGET)])
    np.testing.assert_array_equal(model.predict(FRAME), whole.predict(FRAME))


def test_a_comparison_shows_each_warning_once(recwarn):
    X = FRAME.assign(name=[f"row {k}" for k in range(ROWS)], sold="yes", empty=None, y=TARGET)
    comparison = compare(X, "y", folds=2, update="fact")
    assert not recwarn.list
    empty, rare = comparison.notes
    assert empty == "no row has a value in empty; these columns are ignored"
    assert rare.startswith("more than half of the rows of name have rare levels")
    assert all(f"Note: {note}." in comparison.records["RFM"].message for note in comparison.notes)


def test_rows_without_a_target_are_counted_in_a_note():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((30, 2)), columns=["a", "y"])
    frame.loc[[3, 5], "y"] = np.nan
    comparison = compare(frame, "y", folds=2)
    assert comparison.notes == ("2 of 30 rows have no target and are left out",)
