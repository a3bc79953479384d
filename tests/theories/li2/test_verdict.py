"""The verdict compares the forecast of a spec with the recorded accuracies."""

import numpy as np
import pytest

from firstlight.records import RunRecord, RunSpec, Table
from firstlight.theories import li2
from firstlight.theories.li2._coverage import epochs_to_test_spec

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


def test_the_time_of_generalising_is_held_against_the_interval_of_the_forecast():
    forecast = li2.predict("Z23", n=317, K=256, eta=317 * 1e-3 / 2, learning_rate=2e-3)
    low, high = round(forecast.generalises.low), round(forecast.generalises.high)
    late, early = [0, *[0.1] * (high // 10 + 1), 1.0, 1.0], [0, 0.1, 1.0, 1.0]
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
        assert verdict.predicted == f"generalises at epochs {low} to {high} (probability over 0.99)"


def test_rows_too_far_apart_decide_nothing():
    forecast = li2.predict("Z23", n=317, K=256, eta=317 * 1e-3 / 2, learning_rate=2e-3)
    verdict = _verdict([0.1, 0.1, 1.0, 1.0], every=round(1.2 * forecast.epochs))
    assert verdict.agrees == "does not apply"
    assert "Record more often" in verdict.sentence


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"task": {"split": {"fraction": 0.2}}}, "too few training pairs"),
        ({"model": {"width": 8}}, "too few hidden units"),
    ],
)
def test_a_network_that_should_not_generalise(changes, cause):
    stays = _verdict([0.1] * 30, every=200, **changes)
    assert stays.agrees == "yes"
    assert cause in stays.sentence
    for every in (10, 1000):
        assert _verdict([0.1, 0.1, 1.0, 1.0], every=every, **changes).agrees == "no"
    assert _verdict([0.1] * 30, train=0.5, every=200, **changes).agrees == "does not apply"


def test_a_weak_decay_may_generalise_very_late():
    weak = {"optimizer": {"weight_decay": 0.0}}
    latest = 8 / 2e-3
    stays = _verdict([0.1] * 5, every=1000, **weak)
    assert stays.agrees == "yes"
    assert "too weak" in stays.sentence
    assert stays.predicted.startswith(f"memorises, then stalls, or generalises only after epoch {latest:.0f} (")
    early, late = (_verdict([0.1, 0.1, 1.0, 1.0], every=every, **weak) for every in (1000, 2500))
    assert early.agrees == "no"
    assert f"or only after epoch {latest:.0f}" in early.sentence
    assert late.agrees == "yes"
    assert "only at epoch 5000, very late as forecast" in late.sentence
    # A decay just below the limit is tested by the same time, not by the infinite time of no decay.
    slight = {"optimizer": {"weight_decay": 3e-6}}
    assert _verdict([0.1] * 5, every=1000, **slight).agrees == "yes"


@pytest.mark.parametrize(
    ("train", "changes"),
    [
        (1.0, {"task": {"split": {"fraction": 0.2}}}),
        (1.0, {"optimizer": {"weight_decay": 0.0}}),
        (1.0, {"model": {"width": 8}}),
        (0.5, {"optimizer": {"weight_decay": 0.1}}),
        (0.5, {"model": {"activation": "linear"}}),
    ],
)
@pytest.mark.parametrize("every", [1, 10])
def test_a_run_shorter_than_a_success_would_need_tests_nothing(train, changes, every):
    verdict = _verdict([0.1] * 4, train=train, every=every, **changes)
    assert verdict.agrees == "does not apply"
    assert f"The run ended at epoch {3 * every}, too early to test the forecast" in verdict.sentence


def test_the_epochs_to_test_are_the_latest_forecast_of_success():
    """The limit is where `_compare_time` would say no, if the same run were forecast to generalise."""
    spec = RunSpec.model_validate(SPEC)
    assert epochs_to_test_spec(spec) == pytest.approx(li2.predict(spec).generalises.high, abs=1)
    undecayed = RunSpec.model_validate({**SPEC, "optimizer": {"learning_rate": 2e-3}})
    assert epochs_to_test_spec(undecayed) == 4000


def test_a_success_without_decay_has_its_time_too():
    narrow = {
        "task": {"split": {"fraction": 0.95}},
        "model": {"width": 100},
        "optimizer": {"weight_decay": 0.0},
    }
    short, long = (_verdict([0.1] * 11, every=every, **narrow) for every in (1, 400))
    assert short.predicted.startswith("generalises (")
    assert short.agrees == "does not apply"
    assert "too early to test" in short.sentence
    assert long.agrees == "no"
    assert "did not generalise within 4000 epochs" in long.sentence
    assert _verdict([0.1, 0.1, 1.0, 1.0], **narrow).agrees == "yes"


def test_one_epoch_is_singular():
    fast = {"optimizer": {"weight_decay": 0.1, "learning_rate": 10.0}}
    verdict = _verdict([0.1, 0.1], train=0.3, every=1, **fast)
    assert verdict.agrees == "yes"
    assert "within 1 epoch, as forecast" in verdict.sentence


def test_a_decay_that_removes_all_features_leaves_the_training_pairs_unlearned():
    strong = {"optimizer": {"weight_decay": 0.1}}
    assert _verdict([0.1] * 30, train=0.3, **strong).agrees == "yes"
    assert _verdict([0.1] * 30, **strong).agrees == "no"


@pytest.mark.parametrize(
    "changes",
    [
        {"optimizer": {"name": "sgd"}},
        {"optimizer": {"name": "muon"}},
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
