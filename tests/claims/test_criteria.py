"""A criterion passes exactly when the number it shows satisfies the bound it shows."""

import math

import numpy as np
import pytest

from firstlight.claims import above, at_least, at_most, below, equals, untested, within

BOUNDS = {
    "at_most": (at_most, (2.0,), 2.0, 2.1, "≤ 2"),
    "below": (below, (2.0,), 1.9, 2.0, "< 2"),
    "at_least": (at_least, (2.0,), 2.0, 1.9, "≥ 2"),
    "above": (above, (2.0,), 2.1, 2.0, "> 2"),
    "within": (within, (2.0, 0.5), 2.5, 2.6, "2 ± 0.5"),
}
EACH = pytest.mark.parametrize(("make", "bound", "right", "wrong", "required"), BOUNDS.values(), ids=BOUNDS)


@EACH
def test_a_number_at_the_bound_passes_and_one_beyond_it_does_not(make, bound, right, wrong, required):
    row = make("a clause", "a number", right, *bound, reason="rounding", form="printed", seeds=range(2))
    assert (row.clause, row.quantity, row.measured, row.required) == ("a clause", "a number", right, required)
    assert (row.passed, row.reason, row.form, row.seeds, row.spread) == (True, "rounding", "printed", (0, 1), None)
    assert make("a clause", "a number", wrong, *bound).passed is False


@EACH
@pytest.mark.parametrize(
    "value",
    [math.nan, [None], [], {}, [2.0, math.nan], {"a": [2.0, None]}, np.array([np.nan])],
    ids=["NaN", "a None", "empty list", "empty table", "one NaN", "one None", "array"],
)
def test_a_missing_number_never_passes(make, bound, right, wrong, required, value):
    row = make("a clause", "a number", value, *bound)
    assert row.passed is False
    assert math.isnan(row.measured)
    assert row.spread is None


@EACH
def test_a_bound_that_is_nan_never_passes(make, bound, right, wrong, required):
    assert make("a clause", "a number", right, math.nan, *bound[1:]).passed is False


@EACH
def test_the_worst_of_nested_numbers_decides_and_the_spread_shows_all(make, bound, right, wrong, required):
    values = {"first": [right, right], "second": {"third": np.array([[wrong]])}}
    row = make("a clause", "a number", values, *bound)
    assert (row.measured, row.passed) == (wrong, False)
    assert row.spread == sorted([right, wrong])
    assert make("a clause", "a number", {"first": [right, right]}, *bound).passed is True


@EACH
def test_passed_is_a_plain_boolean_for_numbers_of_numpy(make, bound, right, wrong, required):
    row = make("a clause", "a number", np.float32([right, right]), *(np.float64(number) for number in bound))
    assert type(row.passed) is bool
    assert type(row.measured) is float


def test_infinity_is_a_number_and_the_farthest_value_decides_within():
    assert at_most("a clause", "a number", math.inf, 1.0).passed is False
    assert at_least("a clause", "a number", math.inf, 1.0).passed is True
    assert within("a clause", "a number", [2.1, -math.inf], 2.0, 0.5).measured == -math.inf
    assert within("a clause", "a number", [2.1, 1.8, 2.0], 2.0, 0.5).measured == 1.8


@pytest.mark.parametrize(
    ("value", "expected", "passed"),
    [
        (3, 3, True),
        (3, 4, False),
        ([1, 2], (1, 2), True),
        ([1, 2], [2, 1], False),
        ("Z7", "Z7", True),
        ({"a": 1}, {"a": 1}, True),
        (np.arange(3), [0, 1, 2], True),
        (True, True, True),
        ([], [], True),
        (None, None, False),
        (math.nan, math.nan, False),
        ([1.0, math.nan], [1.0, math.nan], False),
        ({"a": [math.nan]}, {"a": [math.nan]}, False),
    ],
)
def test_equality_is_exact_and_nan_equals_nothing(value, expected, passed):
    row = equals("a clause", "a value", value, expected)
    assert row.passed is passed
    if not passed and row.required in ("= None", "= nan"):
        assert math.isnan(row.measured)


def test_an_order_is_shown_as_text():
    assert equals("the order", "names", ["b", "a"], ["a", "b"]).required == "= a, b"


def test_an_untested_clause_neither_passes_nor_fails():
    row = untested("no other maxima exist", "a search cannot show it", form="printed")
    assert (row.passed, row.required, row.form) == (None, "not tested: a search cannot show it", "printed")
