"""Digits at the paper's recipe, long enough for FACT to hold; a minute of training."""

import pytest
import torch
from torch import nn

from firstlight import probes
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


def minibatch(seed, steps, every):
    """Return the states of all layers after some steps of minibatch SGD on digits, probed every few steps."""
    torch.manual_seed(seed)
    images = digits()
    x, y = torch.from_numpy(images.X), nn.functional.one_hot(torch.from_numpy(images.labels)).float()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=3e-3)
    watch = probes.Watch(model, nn.MSELoss(), [(x, y)], optimizer, every=every)
    rows = (part for _ in range(steps) for part in torch.randperm(len(x)).split(32))
    for _, part in zip(range(steps), rows, strict=False):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x[part]), y[part]).backward()
        optimizer.step()
        watch.step()
    return watch.last


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_each_verdict_is_reached_by_a_run_that_deserves_it(seed):
    """FACT at one point of minibatch SGD is noise; along 500 steps it holds. Momentum makes 8 steps look steady."""
    late = minibatch(seed, 4000, 500)
    assert {layer.verdict.state for layer in late.layers} == {"converged"}
    assert min(layer.alignments["FACT"] for layer in late.layers) < 0.9
    assert minibatch(seed, 1000, 500)["0.weight"].verdict.state == "learning"
    noisy = minibatch(seed, 1000, 8)
    assert {layer.verdict.state for layer in noisy.layers} == {"undecided"}
    assert "not larger than the noise" in noisy.layers[0].verdict.evidence
