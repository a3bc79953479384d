"""Digits at the paper's recipe, long enough for FACT to hold; a minute of training."""

import pytest
import torch
from torch import nn

from firstlight import probes
from firstlight._files import data_directory
from firstlight.probes._experiments import perceptrons
from firstlight.probes._experiments.images import Images, digits, mnist
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


def minibatch(seed, steps, every, images=None, batch=32):
    """Return the states of all layers after some steps of minibatch SGD on digits, probed every few steps."""
    torch.manual_seed(seed)
    images = images or digits()
    x, y = torch.from_numpy(images.X), nn.functional.one_hot(torch.from_numpy(images.labels)).float()
    width = 64 if x.shape[1] == 64 else 128
    sizes = ((x.shape[1], width), (width, width), (width, 10))
    first, second, last = (nn.Linear(*size) for size in sizes)
    model = nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=3e-3)
    watch = probes.Watch(model, nn.MSELoss(), [(x, y)], optimizer, every=every)
    rows = (part for _ in range(steps) for part in torch.randperm(len(x)).split(batch))
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


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(3))
def test_each_verdict_is_reached_on_mnist(seed):
    """10,000 images; docs/probes.md has the numbers. Needs FIRSTLIGHT_DATA."""
    folder = data_directory()
    if folder is None or not (folder / "mnist").is_dir():
        pytest.skip("FIRSTLIGHT_DATA names no folder with mnist")
    images = mnist(folder)
    images = Images(images.name, images.X[:10000], images.labels[:10000])
    late = minibatch(seed, 5000, 1000, images, 64)
    assert {layer.verdict.state for layer in late.layers} == {"converged"}
    assert min(layer.averaged for layer in late.layers) > 0.995
    assert max(layer.alignments["FACT"] for layer in late.layers) < 0.95
    assert {layer.verdict.state for layer in minibatch(seed, 1000, 1000, images, 64).layers} == {"learning"}
    start = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    x, y = torch.from_numpy(images.X[:1000]), nn.functional.one_hot(torch.from_numpy(images.labels[:1000])).float()
    untrained = probes.probe(start, [(x, y)], nn.MSELoss(), 3e-3)
    assert {layer.verdict.state for layer in untrained.layers} == {"undecided"}
