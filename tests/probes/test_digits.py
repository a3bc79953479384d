"""Digits at the paper's recipe, long enough for FACT to hold; a minute of training."""

import pytest

from firstlight.probes._experiments import perceptrons
from firstlight.probes._experiments.images import digits
from firstlight.probes._experiments.perceptrons import Recipe, train_and_probe


@pytest.mark.soak
def test_fact_holds_on_digits_and_the_ansaetze_come_out_lower():
    recipe = Recipe(hidden=2, width=256, epochs=600, weight_decay=1e-3)
    trained = train_and_probe(digits(), recipe)
    first = trained.last()[0]
    assert trained.budget > 8
    # Gradient noise of the last batches is left in FACT; its symmetrised form is nearer to 1.
    assert first["√FACT·FACTᵀ"] >= 0.995
    assert first["FACT"] > max(first["√AGOP"], first["√eNFA"])


class Stopped(Exception):
    """An interruption."""


def test_an_interrupted_training_resumes_bit_for_bit(tmp_path, monkeypatch):
    monkeypatch.setattr(perceptrons, "EVERY", 0.0)
    images, recipe = digits().first(200), Recipe(hidden=2, width=16, epochs=6, weight_decay=1e-3)
    whole = train_and_probe(images, recipe, probe_at=(0, 3), backward=True)

    def stop(fraction, note):
        if fraction >= 0.5:
            raise Stopped

    with pytest.raises(Stopped):
        train_and_probe(images, recipe, probe_at=(0, 3), backward=True, work=tmp_path, progress=stop)
    assert [path.suffix for path in tmp_path.iterdir()] == [".safetensors"]
    for _ in range(2):  # the second time from the finished result
        assert train_and_probe(images, recipe, probe_at=(0, 3), backward=True, work=tmp_path) == whole
        assert [path.suffix for path in tmp_path.iterdir()] == [".json"]


def test_the_learning_rates_add_up_to_the_budget():
    recipe = Recipe(epochs=3, batch=10)
    rates = [recipe.rate_at(step, 25) for step in range(9)]
    assert recipe.budget(25) == pytest.approx(1e-4 * sum(rates) / 0.1)
