"""Digits at the paper's recipe, long enough for FACT to hold; a minute of training."""

import pytest

from firstlight.probes._experiments.perceptrons import Recipe, digits, train_and_probe


@pytest.mark.soak
def test_fact_holds_on_digits_and_the_ansaetze_come_out_lower():
    recipe = Recipe(hidden=2, width=256, epochs=600, weight_decay=1e-3)
    first = train_and_probe(digits(), recipe).last.layers[0]
    assert first.budget > 8
    assert first.alignments["FACT"] >= 0.995
    assert first.alignments["√AGOP"] < 0.985
    assert first.alignments["√eNFA"] < 0.985
    assert first.verdict.state == "converged"
