"""A user's own arrays and tables, sparse parity, and how a task presents itself."""

import numpy as np
import pandas as pd
import pytest

from firstlight.tasks import DenseInputs, Task, from_arrays, group_task, sparse_parity

X = np.random.default_rng(0).normal(size=(6, 3))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])


@pytest.mark.parametrize(
    ("y", "classes", "names"),
    [
        (["b", "a", "b", "c", "a", "a"], [1, 0, 1, 2, 0, 0], ("a", "b", "c")),
        (np.array([10, 20, 10, 10, 20, 30]), [0, 1, 0, 0, 1, 2], ("10", "20", "30")),
        (np.array([True, False] * 3), [1, 0] * 3, ("False", "True")),
        (pd.Series(["x", "y"] * 3, dtype="category"), [0, 1] * 3, ("x", "y")),
        (pd.Series(["x", "y"] * 3, index=[5, 4, 3, 2, 1, 0]), [0, 1] * 3, ("x", "y")),
        (pd.DataFrame({"label": [1, 0, 1, 0, 1, 0]}), [1, 0] * 3, ("0", "1")),
    ],
)
def test_labels_become_classes_and_keep_their_names(y, classes, names):
    for table in (X, FRAME):
        task = from_arrays(table, y)
        assert task.targets.tolist() == classes
        assert task.class_names == names
        assert task.outputs == len(names)
        assert np.array_equal(task.inputs.dense(), X)


def test_floats_are_regressed_and_the_choice_can_be_forced():
    task = from_arrays(FRAME.astype("Float64"), X[:, 0])
    assert task.targets.shape == (6, 1)
    assert not task.is_classification
    assert np.array_equal(task.inputs.dense(), X)
    assert from_arrays(X, X[:, :2]).outputs == 2
    assert from_arrays(X, np.arange(6), classification=False).targets.ravel().tolist() == list(range(6))
    assert from_arrays(X, np.array([0.0, 1.0] * 3), classification=True).class_names == ("0.0", "1.0")
    assert from_arrays(X.astype(np.float32), X[:, 0]).inputs.values.dtype == np.float32


def _with(value: float, row: int = 2, column: int = 1) -> np.ndarray:
    bad = X.copy()
    bad[row, column] = value
    return bad


Y = np.arange(6.0)


@pytest.mark.parametrize(
    ("table", "y", "message"),
    [
        (_with(np.nan), Y, r"X has 1 NaN or infinite entries, the first in row 2, column 1; drop"),
        (pd.DataFrame(_with(np.inf), columns=["a", "b", "c"]), Y, r"row 2, column 'b'"),
        (FRAME.assign(d=["x"] * 6), Y, r"columns \['d'\] do not; encode them"),
        (pd.DataFrame({"a": pd.array([1, None, 3, 4, 5, 6], dtype="Int64")}), Y, r"row 1, column 'a'"),
        (X[:, 0], Y, r"shape \(n, d\), got float64 of shape \(6,\)"),
        (X + 1j, Y, r"real numbers of shape \(n, d\), got complex128"),
        (X[:0], Y[:0], r"at least one row and one column, got shape \(0, 3\)"),
        (X, Y[:5], r"one row per sample, got 6 and 5 rows"),
        (X, np.where(Y == 3, np.nan, Y), r"y has 1 missing values, the first in row 3"),
        (X, np.where(Y == 3, np.inf, Y), r"y has 1 infinite entries"),
        (X, ["a", None, "a", "b", "b", "b"], r"y has 1 missing values, the first in row 1"),
        (X, ["a"] * 6, r"at least two classes, got only \['a'\]"),
        (X, np.array([1, "a", 2, 3, 4, 5], object), r"mixes types that have no order.*convert the labels"),
        (X, np.zeros((6, 2, 2)), r"y must have shape \(n,\) or \(n, m\)"),
    ],
)
def test_bad_tables_are_refused(table, y, message):
    with pytest.raises(ValueError, match=message):
        from_arrays(table, y)


def test_forced_choices_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"numbers for a regression.*pass classification=True"):
        from_arrays(X, ["a", "b"] * 3, classification=False)
    with pytest.raises(ValueError, match=r"classes must have shape \(n,\), got \(6, 3\)"):
        from_arrays(X, X, classification=True)


def test_parity_is_the_product_of_the_support_and_of_nothing_less():
    task = sparse_parity(dimension=6, degree=3, samples=20_000, seed=1)
    x = task.inputs.dense()
    assert set(np.unique(x)) == {-1.0, 1.0}
    sign = 2.0 * task.targets - 1
    assert np.array_equal(sign, x[:, 0] * x[:, 1] * x[:, 2])
    # Every other monomial of degree ≤ 3 is uncorrelated with the target: four standard errors.
    others = [x[:, list(s)].prod(axis=1) for s in ((), (0,), (5,), (0, 1), (1, 2), (3, 4), (0, 1, 3), (3, 4, 5))]
    assert max(abs(np.mean(sign * other)) for other in others) < 4 / np.sqrt(20_000)
    assert np.array_equal(x, sparse_parity(6, 3, 20_000, seed=1).inputs.dense())
    assert not np.array_equal(x, sparse_parity(6, 3, 20_000, seed=2).inputs.dense())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"degree": 7}, r"degree must be at most dimension = 6, got 7"),
        ({"degree": 0}, r"degree must be an integer > 0, got 0"),
        ({"samples": -1}, r"samples must be an integer > 0, got -1"),
    ],
)
def test_impossible_parities_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        sparse_parity(**{"dimension": 6, "degree": 2, "samples": 4, **arguments})


def test_a_task_presents_itself():
    task = from_arrays(X, ["<b>", "a", "<b>", "c", "a", "a"], name="pets & co")
    assert repr(task) == "Task('pets & co': 6 rows, inputs of dimension 3, 3 classes)"
    assert "targets   3 classes: <b>, a, c" in task.describe()
    html = task._repr_html_()
    assert "pets &amp; co" in html
    assert "&lt;b&gt;" in html
    split = task.split(count=2)
    assert repr(split) == "Split('pets & co': 2 training rows, 4 test rows)"
    assert "2 rows (33.3%)" in split._repr_html_()
    weighted = group_task("S3", 3, sampling=np.arange(6.0), label_noise=0.5)
    assert weighted.name == "S3, 3 factors, label noise 0.5"
    assert "sampling  p from 0 to" in weighted.describe()
    assert "regression of 3 values" in from_arrays(X, X).describe()


@pytest.mark.parametrize(
    ("targets", "outputs", "message"),
    [
        (np.array([0, 1]), 2, r"targets must have one entry per row, 3, got 2"),
        (np.array([0, 1, 2]), 2, r"classes must lie in 0…1, got values from 0 to 2"),
        (np.zeros((3, 2)), 1, r"finite, of shape \(3, 1\), got shape \(3, 2\)"),
    ],
)
def test_inconsistent_tasks_are_refused(targets, outputs, message):
    with pytest.raises(ValueError, match=message):
        Task("bad", DenseInputs(np.eye(3)), targets, outputs)
