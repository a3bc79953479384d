"""A claim says what it is about, or it cannot be made."""

import dataclasses

import numpy as np
import pytest

from firstlight.claims import Check, Claim, Measurement, Setting, at_most


def measure(setting: Setting) -> Measurement:
    return Measurement({"error": 0.0}, seeds=setting.seeds_or((0,)))


HELD = Check(measure, lambda data: [at_most("0 = 0", "error", data["error"], 1e-9)])


def make(**changes) -> Claim:
    words = {"id": "li2.lemma-0", "title": "Zero", "locator": "Lemma 0", "statement": "0 = 0.", "check": HELD}
    return Claim(**(words | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": "Li2.Lemma 0"}, "an id is <paper>.<kind>-<number>"),
        ({"id": "lemma-0"}, "an id is <paper>.<kind>-<number>"),
        ({"check": "energy.gradient"}, "check is 'module:name', such as 'energy:gradient_of_energy'; got"),
        ({"scales": ()}, "scales is a selection of quick, reduced, paper"),
        ({"scales": ("quick", "reduced")}, "say in reduced_because why not the paper's sizes"),
        ({"uses": ("Theorem 2",)}, r"uses holds ids of other claims; got \['Theorem 2'\]"),
        ({"uses": ("li2.lemma-0",)}, r"uses holds ids of other claims; got \['li2.lemma-0'\]"),
    ],
)
def test_incomplete_claims_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        make(**changes)


def test_a_reduced_scale_with_its_reason_is_accepted():
    claim = make(scales=("quick", "reduced"), reduced_because="above six hours of two cores")
    assert claim.scales == ("quick", "reduced")


def test_claims_settings_checks_and_measurements_are_frozen():
    for value, name in ((make(), "id"), (Setting(), "scale"), (HELD, "judge"), (measure(Setting()), "data")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, "other")


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ("energies:gradient_of_energy", "li2.lemma-0: there is no module firstlight.claims.li2.checks.energies"),
        ("energy:gradient_of_energ", "has no check 'gradient_of_energ'; did you mean 'gradient_of_energy'"),
        ("energy:np", "has no check 'np'"),
    ],
)
def test_a_wrong_name_of_a_check_is_an_error_that_names_it(check, message):
    with pytest.raises(ValueError, match=message):
        make(check=check).load_check()


def test_a_check_outside_the_registry_is_used_as_it_is():
    assert make().load_check() is HELD
    assert make().check_module == ""
    assert make(check="pack.checks:zero").check_module == "pack.checks"
    assert make(check="energy:zero").check_module == "firstlight.claims.li2.checks.energy"


def test_data_and_setting_of_a_measurement_become_plain():
    measured = Measurement({"a": np.float32(0.5), "b": np.arange(2)}, {"width": np.int64(3)}, (1,))
    assert measured.data == {"a": 0.5, "b": [0, 1]}
    assert type(measured.setting["width"]) is int
    assert measured.seeds == (1,)


def test_a_setting_offers_sizes_and_seeds():
    assert Setting("quick").choose(quick=1, paper=2) == 1
    assert Setting("paper").choose(quick=1, paper=2) == 2
    assert Setting("reduced").choose(quick=1, paper=2) == 2
    assert Setting("reduced").choose(quick=1, paper=2, reduced=3) == 3
    assert Setting().seeds_or(range(2)) == (0, 1)
    assert Setting(seeds=(5,)).seeds_or(range(2)) == (5,)
