"""The verdict compares the forecast of a spec with the recorded accuracies."""

import numpy as np
import pytest

from firstlight.records import RunRecord, RunSpec, Table
from firstlight.theories import li2

SPEC = {
    "task": {"group": "Z23", "split": {"fraction": 0.6}},
    "model": {"width": 256},
    "optimizer": {"learning_rate": 2e-3, "weight_decay": 1e-3},
}


def _verdict(test, *, train=1.0, every=10, **changes):
    fields = {name: {**SPEC.get(name, {}), **changes.get(name, {})} for name in {*SPEC, *changes}}
    n = len(test)
    columns = {"train_accuracy": np.array([0.1, *[train] * (n - 1)]), "test_accuracy": np.array(test, float)}
    record = RunRecord(
        spec=RunSpec.model_validate(fields), status="finished", table=Table(every * np.arange(n), columns)
    )
    return li2.LENSES[0].verdict(record)


def test_the_time_of_generalising_is_held_against_a_factor_of_two():
    forecast = li2.predict("Z23", n=317, K=256, eta=317 * 1e-3 / 2, learning_rate=2e-3)
    low, high = round(forecast.epochs / 2), round(2 * forecast.epochs)
    late, early = [0, *[0.1] * (high // 10), 1.0, 1.0], [0, 0.1, 1.0, 1.0]
    middle = [0, *[0.1] * (round(forecast.epochs) // 10 - 1), 1.0, 1.0]
    never = [0.1] * (high // 10 + 2)
    assert low > 20
    for test, agrees, words in [
        (middle, "yes", "within the forecast range"),
        (late, "no", "later than the range"),
        (early, "no", "earlier than the range"),
        (never, "no", "did not generalise within"),
        (never[:4], "does not apply", "before the end of the forecast range"),
    ]:
        verdict = _verdict(test)
        assert verdict.agrees == agrees
        assert words in verdict.sentence
        assert verdict.predicted == f"generalises at epochs {low} to {high} (probability {forecast.probability:.2f})"


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"task": {"split": {"fraction": 0.2}}}, "too few training pairs"),
        ({"optimizer": {"weight_decay": 0.0}}, "too weak"),
        ({"model": {"width": 8}}, "too few hidden units"),
    ],
)
def test_a_network_that_should_not_generalise(changes, cause):
    stays = _verdict([0.1] * 30, **changes)
    assert stays.agrees == "yes"
    assert cause in stays.sentence
    assert _verdict([0.1, 0.1, 1.0, 1.0], **changes).agrees == "no"
    assert _verdict([0.1] * 30, train=0.5, **changes).agrees == "does not apply"


def test_a_decay_that_removes_all_features_leaves_the_training_pairs_unlearned():
    strong = {"optimizer": {"weight_decay": 0.1}}
    assert _verdict([0.1] * 30, train=0.3, **strong).agrees == "yes"
    assert _verdict([0.1] * 30, **strong).agrees == "no"


@pytest.mark.parametrize(
    "changes",
    [
        {"optimizer": {"name": "sgd"}},
        {"optimizer": {"name": "adamw"}},
        {"optimizer": {"batch_size": 16}},
        {"optimizer": {"schedule": {"warmup": 5}}},
        {"model": {"bias": True}},
        {"task": {"factors": 3}},
        {"task": {"split": {"fraction": 1.0}}},
    ],
)
def test_settings_that_the_constants_were_not_measured_in_have_no_forecast(changes):
    verdict = _verdict([0.1, 0.1, 1.0, 1.0], **changes)
    assert verdict.agrees == "does not apply"
    assert verdict.predicted == ""
    assert "The forecast does not cover this run" in verdict.sentence
