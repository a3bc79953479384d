"""One function derives every verdict, from criteria alone."""

import itertools
import math

import pytest

from firstlight.claims import at_most, differences, untested, verdict, within
from firstlight.records import Criterion


def row(passed: bool | None, form: str = "statement") -> Criterion:
    return Criterion(clause="a clause", quantity="a number", measured=1.0, required="≤ 1", passed=passed, form=form)


NAN = at_most("a clause", "a number", math.nan, 1.0)


@pytest.mark.parametrize(
    ("criteria", "status"),
    [
        ([], "inconclusive"),
        ([row(True)], "holds"),
        ([row(True, "printed")], "holds"),
        ([row(False)], "fails"),
        ([row(False, "printed")], "fails"),
        ([row(True), row(False)], "fails"),
        ([row(False, "printed"), row(True, "corrected")], "holds-as-corrected"),
        ([row(False, "printed"), row(True)], "fails"),
        ([row(False, "printed"), untested("a clause", "no data", form="corrected")], "fails"),
        ([row(False, "printed"), row(True, "corrected"), row(True)], "holds-as-corrected"),
        ([row(False, "printed"), row(False, "corrected")], "fails"),
        ([row(False, "printed"), row(True, "corrected"), row(False)], "fails"),
        ([row(True, "printed"), row(False, "corrected")], "holds"),
        ([row(True, "precondition")], "inconclusive"),
        ([row(True), row(True, "precondition")], "holds"),
        ([row(True), row(False, "precondition")], "inconclusive"),
        ([row(False), row(False, "precondition")], "inconclusive"),
        ([row(True), NAN], "inconclusive"),
        ([row(False), NAN], "inconclusive"),
        ([row(True), at_most("a clause", "a ratio", -math.inf, 1.0)], "inconclusive"),
        ([row(True), at_most("a clause", "a number", 1.0, math.inf)], "inconclusive"),
        ([row(True), within("a clause", "a number", 1.0, 1.0, math.inf)], "inconclusive"),
        ([untested("a clause", "no data")], "inconclusive"),
        ([row(True), untested("a clause", "no data")], "partial"),
        ([row(False), untested("a clause", "no data")], "fails"),
        ([row(False, "printed"), row(True, "corrected"), untested("a clause", "no data")], "partial"),
    ],
)
def test_each_case_has_its_verdict(criteria, status):
    assert verdict(criteria) == status
    assert verdict(criteria[::-1]) == status


def test_a_measured_none_is_as_nan():
    assert verdict([row(True).model_copy(update={"measured": None})]) == "inconclusive"


@pytest.mark.parametrize(
    ("criteria", "status"),
    [
        ([row(True)], "partial"),
        ([row(False, "printed"), row(True, "corrected")], "partial"),
        ([row(False)], "fails"),
        ([NAN], "inconclusive"),
    ],
)
def test_a_size_that_was_not_tested_allows_at_most_partial(criteria, status):
    assert verdict(criteria, missing=["width: 64; in the paper 1024"]) == status


def test_a_corrected_criterion_needs_the_printed_one_that_it_replaces():
    with pytest.raises(ValueError, match="needs that of the printed one, which it replaces"):
        verdict([row(True), row(True, "corrected")])


def test_no_set_of_criteria_holds_with_a_failed_statement():
    rows = [row(passed, form) for passed in (True, False) for form in ("statement", "printed", "corrected")]
    for size in range(1, 5):
        for criteria in itertools.combinations_with_replacement(rows, size):
            forms = {criterion.form for criterion in criteria}
            if "corrected" in forms and "printed" not in forms:
                continue
            status = verdict(criteria)
            assert (status == "holds") == all(r.passed for r in criteria if r.form != "corrected")
            if status == "holds-as-corrected":
                assert all(r.passed for r in criteria if r.form != "printed")


@pytest.mark.parametrize(
    ("used", "printed", "lines"),
    [
        ({"width": 1024}, {"width": 1024}, ()),
        ({"width": 64}, {"width": 1024}, ("width: 64; in the paper 1024",)),
        ({}, {"width": 1024}, ("width: not stated; in the paper 1024",)),
        ({"learning rate": 0.1}, {"learning rate": None}, ()),
        ({}, {"learning rate": None}, ()),
        ({"more": 1}, {}, ()),
        ({"λ": [0.1, 0.2]}, {"λ": (0.1, 0.2)}, ()),
        ({"λ": [0.1]}, {"λ": (0.1, 0.2)}, ("λ: 0.1; in the paper 0.1, 0.2",)),
        ({"data": "5 Gaussian clusters"}, {"data": "CIFAR-10"}, ("data: 5 Gaussian clusters; in the paper CIFAR-10",)),
        ({"seeds": 15}, {"seeds": 15.0}, ()),
    ],
)
def test_every_printed_field_that_was_not_used_is_a_line(used, printed, lines):
    assert differences(used, printed) == lines
