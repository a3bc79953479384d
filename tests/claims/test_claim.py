"""A claim says what it is about, or it cannot be made."""

import dataclasses

import numpy as np
import pytest

from firstlight.claims import Claim, Outcome, Setting


def held(setting: Setting) -> Outcome:
    return Outcome("holds", measured=1.0, expected=1.0)


def make(**changes) -> Claim:
    words = {"id": "li2.lemma-0", "title": "Zero", "locator": "Lemma 0", "statement": "0 = 0.", "check": held}
    return Claim(**(words | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": "Li2.Lemma 0"}, "an id is <paper>.<kind>-<number>"),
        ({"id": "lemma-0"}, "an id is <paper>.<kind>-<number>"),
        ({"check": "energy.gradient"}, "check is 'module:function', such as 'energy:gradient_of_energy'; got"),
        ({"scales": ()}, "scales is a selection of quick, paper"),
        ({"expected_verdict": "holds-as-corrected"}, "give the corrected statement"),
        ({"expected_verdict": {"quick": "holds"}}, "names no verdict for scale 'paper'"),
        ({"corrected": "0 = 0 + 0."}, "give the counterexample with its numbers"),
        ({"tolerance": 1e-3}, "give its tolerance_reason"),
    ],
)
def test_incomplete_claims_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        make(**changes)


def test_a_verdict_may_depend_on_the_scale():
    claim = make(expected_verdict={"quick": "inconclusive", "paper": "fails"})
    assert (claim.expects("quick"), claim.expects("paper")) == ("inconclusive", "fails")
    assert make(scales=("quick",), expected_verdict={"quick": "fails"}).expects("quick") == "fails"


def test_claims_settings_and_outcomes_are_frozen():
    for value, name in ((make(), "id"), (Setting(), "scale"), (held(Setting()), "status")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, "other")


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ("energies:gradient_of_energy", "li2.lemma-0: there is no module firstlight.claims.li2.checks.energies"),
        ("energy:gradient_of_energ", "has no function 'gradient_of_energ'; did you mean 'gradient_of_energy'"),
    ],
)
def test_a_wrong_name_of_a_check_is_an_error_that_names_it(check, message):
    with pytest.raises(ValueError, match=message):
        make(check=check).run_check(Setting())


def test_a_check_may_be_a_function():
    assert make().run_check(Setting()).status == "holds"


@pytest.mark.parametrize("status", ["holds-as-corrected", "inconclusive"])
def test_some_verdicts_need_evidence(status):
    with pytest.raises(ValueError, match=f"{status} needs evidence"):
        Outcome(status, measured=None, expected=None, evidence=" ")
    assert Outcome(status, measured=None, expected=None, evidence="24.86, not 2.71").status == status


def test_numbers_of_an_outcome_become_plain():
    outcome = Outcome("holds", measured={"a": np.float32(0.5), "b": np.arange(2)}, expected=np.int64(3))
    assert outcome.measured == {"a": 0.5, "b": [0, 1]}
    assert type(outcome.expected) is int


def test_a_setting_offers_sizes_and_seeds():
    assert Setting("quick").choose(quick=1, paper=2) == 1
    assert Setting("paper").choose(quick=1, paper=2) == 2
    assert Setting().seeds_or(range(2)) == (0, 1)
    assert Setting(seeds=(5,)).seeds_or(range(2)) == (5,)
