"""What a user may pass by mistake is refused in one line; what a probe reads does not advance."""

import random

import numpy as np
import pytest
import torch
from torch import nn

from firstlight import probes
from firstlight.probes._guards import reading, require_loss
from tests.tolerances import rounding


def network():
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))


def batch(n=8):
    return torch.randn(n, 4), torch.randn(n, 3)


def test_losses_that_sum_classes_strings_and_other_models_are_refused():
    model, data = network(), [batch()]
    total = lambda made, y: ((made - y) ** 2).sum()  # noqa: E731
    for loss in (nn.MSELoss(reduction="sum"), total):
        with pytest.raises(ValueError, match="requires a loss that averages its samples, got a loss that adds up"):
            probes.probe(model, data, loss, 0.1)
        assert probes.probe(model, data, loss, 0.1, reduction="sum").samples == 8
    with pytest.raises(ValueError, match="give reduction='mean'"):
        probes.probe(model, data, nn.MSELoss(), 0.1, reduction="sum")
    with pytest.raises(TypeError, match=r"got the class MSELoss; add \(\)"):
        probes.probe(model, data, nn.MSELoss, 0.1)
    with pytest.raises(TypeError, match="must be a function"):
        require_loss("mse")
    other = torch.optim.SGD(network().parameters(), lr=0.1, weight_decay=0.1)
    with pytest.raises(ValueError, match="got the optimizer of another model"):
        probes.probe(model, data, nn.MSELoss(), optimizer=other)
    own = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.1)
    with pytest.raises(ValueError, match="got an iterator"):
        probes.Watch(model, nn.MSELoss(), iter(data), own)
    with pytest.raises(ValueError, match="Module defines no forward"):
        probes.probe(nn.Module(), data, nn.MSELoss(), 0.1)


def test_no_generator_of_a_data_set_or_sampler_advances():
    class Noisy(torch.utils.data.Dataset):
        def __init__(self):
            self.own = np.random.default_rng(0)

        def __len__(self):
            return 8

        def __getitem__(self, i):
            noise = np.random.rand() + random.random() + self.own.random()  # noqa: NPY002
            return torch.randn(4) + noise, torch.randn(3)

    data, generator = Noisy(), torch.Generator().manual_seed(1)
    sampler = torch.utils.data.RandomSampler(data, generator=generator)
    loader = torch.utils.data.DataLoader(data, batch_size=4, sampler=sampler)
    before = np.random.get_state()[1].copy(), None, data.own.bit_generator.state, generator.get_state()  # noqa: NPY002
    probes.probe(network(), loader, nn.MSELoss(), 0.1)
    assert (np.random.get_state()[1] == before[0]).all()  # noqa: NPY002
    assert data.own.bit_generator.state == before[2]
    assert torch.equal(generator.get_state(), before[3])
    # The type checker of the tests draws from `random` itself, so Python's state is compared around the loader alone.
    python = random.getstate()
    with reading(loader):
        assert len(list(loader)) == 2
    assert random.getstate() == python


def test_an_empty_buffer_and_a_frozen_norm_stay_as_they_were():
    class Filling(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.norm = network(), nn.BatchNorm1d(4)
            self.register_buffer("cache", None)
            self.modes = []

        def forward(self, x):
            self.cache = x.detach()
            self.modes.append(self.norm.training)
            return self.net(self.norm(x))

    model = Filling().train()
    model.norm.eval()
    probes.probe(model, [batch()], nn.MSELoss(), 0.1, training=True)
    assert model.cache is None
    assert not any(model.modes)
    model.eval()
    model.norm.requires_grad_(False)
    probes.probe(model, [batch()], nn.MSELoss(), 0.1, training=True)
    assert not any(model.modes)


def test_batches_of_a_language_model_count_by_their_labels():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(5, 4), nn.Linear(4, 5)

        def forward(self, tokens, labels):
            logits = self.head(self.embed(tokens).cumsum(1).tanh())
            loss = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
            return type("Output", (), {"loss": loss, "logits": logits})()

    model, tokens = Model().double(), torch.randint(0, 5, (6, 5))
    labels = tokens.clone()
    labels[:3, 2:] = -100
    parts = [{"tokens": tokens[i : i + 3], "labels": labels[i : i + 3]} for i in (0, 3)]
    options = {"weight_decay": 0.1, "outputs": "exact", "keep_matrices": True}
    whole = probes.probe(model, [{"tokens": tokens, "labels": labels}], **options)
    split = probes.probe(model, parts, **options)
    for layer in whole.layers:
        for name in ("FACT", "eNFA", "AGOP"):
            np.testing.assert_allclose(split[layer.name].matrices[name], layer.matrices[name], atol=1e-12)


@pytest.mark.parametrize("weights", [None, torch.tensor([1.0, 3.0, 0.5])], ids=["plain", "weighted"])
def test_ignored_and_weighted_targets_count_as_the_loss_counts_them(weights):
    torch.manual_seed(3)
    model = network().double()
    loss = nn.CrossEntropyLoss(weight=None if weights is None else weights.double(), ignore_index=-7)
    x, y = torch.randn(12, 4, dtype=torch.float64), torch.randint(3, (12,))
    y[torch.tensor([0, 1, 2, 9])] = -7
    parts = [(x[:4], y[:4]), (x[4:], y[4:]), (x[:3], y[:3])]  # no target of the last part counts
    whole, split = (probes.probe(model, data, loss, 0.1, keep_matrices=True) for data in ([(x, y)], parts))
    for layer in whole.layers:
        for name in ("FACT", "eNFA"):
            wanted = layer.matrices[name]
            atol = rounding(np.abs(wanted).max(), terms=12)
            np.testing.assert_allclose(split[layer.name].matrices[name], wanted, atol=atol)


def test_untrained_networks_are_undecided_and_a_known_start_decides():
    for seed in range(5):
        torch.manual_seed(seed)
        model = network()
        states = [layer.verdict.state for layer in probes.probe(model, [batch(64)], nn.MSELoss(), 0.1).layers]
        assert set(states) == {"undecided"}
    start = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    assert {x.verdict.state for x in probes.probe(model, [batch()], nn.MSELoss(), 0.1, start=start).layers} == {"lazy"}
    with torch.no_grad():
        model[0].weight.add_(torch.randn(6, 4))
    result = probes.probe(model, [batch()], nn.MSELoss(), 0.1, start=start)
    assert result["0.weight"].verdict.state == "learning"
    assert result["0.weight"].at_start.keys() == result["0.weight"].alignments.keys()


@pytest.mark.parametrize("norm", [nn.BatchNorm1d(6), nn.LayerNorm(6, eps=1e-9)])
def test_layers_without_a_scale_say_so(norm):
    model = nn.Sequential(nn.Linear(4, 6, bias=False), norm, nn.ReLU(), nn.Linear(6, 3))
    result = probes.probe(model, [batch(32)], nn.MSELoss(), 0.1)
    assert "FACT's fixed point is W = 0" in result["0.weight"].verdict.evidence
    assert "fixed point" not in result["3.weight"].verdict.evidence


def test_the_default_agop_of_many_outputs_states_an_error_of_five_percent_and_keeps_it():
    model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 300)).double()
    data = [(torch.randn(256, 6).double(), torch.randn(256, 300).double()) for _ in range(4)]
    options = {"loss_fn": nn.MSELoss(), "weight_decay": 0.1, "keep_matrices": True}
    exact = probes.probe(model, data, outputs="exact", **options)
    errors = []
    for seed in range(6):
        for layer in probes.probe(model, data, seed=seed, **options).layers:
            A = exact[layer.name].matrices["AGOP"]
            errors.append(np.linalg.norm(layer.matrices["AGOP"] - A) / np.linalg.norm(A))
            assert 0 < layer.agop_error <= 0.05
    # The stated error is a standard deviation; the root mean square over draws is compared with its bound.
    assert np.sqrt(np.mean(np.square(errors))) < 0.05


@pytest.mark.parametrize("time_first", [False, True])
def test_all_outputs_in_one_pass_are_those_one_by_one(time_first, monkeypatch):
    """A few samples are copied once per output; sums, samples used and the stated error stay the same."""
    from firstlight.probes import _accumulate
    from tests.probes.test_audit import Written

    model = Written(not time_first).double()
    x, y = torch.randn(48, 4, 5).double(), torch.randn(48, 4, 2).double()
    if time_first:
        # Samples taken from another memory layout run other kernels; the whole batch is then used.
        other = [(x.transpose(0, 1), y.transpose(0, 1))]
        whole = probes.probe(model, other, nn.MSELoss(), 0.1, expected=400, batch_dim=1)
        assert {layer.agop_error for layer in whole.layers} == {0.0}
        x, y = x.transpose(0, 1).contiguous(), y.transpose(0, 1).contiguous()
    results = []
    for together in (True, False):
        monkeypatch.setattr(_accumulate, "TOGETHER", together)
        options = {"expected": 400, "keep_matrices": True, "batch_dim": int(time_first)}
        results.append(probes.probe(model, [(x, y)] * 3, nn.MSELoss(), 0.1, **options))
    for layer, other in zip(results[0].layers, results[1].layers, strict=True):
        size = np.abs(other.matrices["AGOP"]).max()
        # Sums of 48 samples × 4 positions × 8 outputs.
        np.testing.assert_allclose(layer.matrices["AGOP"], other.matrices["AGOP"], atol=rounding(size, 48 * 32))
        assert 0 < layer.agop_error == pytest.approx(other.agop_error, rel=1e-6)


def test_error_bars_agree_with_the_spread_over_data_sets():
    """The jackknife's standard error against the standard deviation of 60 independent probes; 8 groups give ±27 %."""
    model = network().double()
    runs = [
        probes.probe(model, [(x.double(), y.double()) for x, y in (batch(16) for _ in range(8))], nn.MSELoss(), 0.1)[
            "0.weight"
        ]
        for _ in range(60)
    ]
    for name in ("FACT", "AGOP", "√AGOP", "eNFA", "√eNFA"):
        spread = np.std([layer.alignments[name] for layer in runs])
        stated = np.sqrt(np.mean([layer.errors[name] ** 2 for layer in runs]))
        assert 0.5 < stated / spread < 2, name


def test_a_watch_resumes_from_its_state():
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.1)
    data = [batch()]
    watch = probes.Watch(model, nn.MSELoss(), data, optimizer, every=4)
    for _ in range(6):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(data[0][0]), data[0][1]).backward()
        optimizer.step()
        watch.step()
    again = probes.Watch(model, nn.MSELoss(), data, optimizer, every=4)
    again.load_state_dict(watch.state_dict())
    assert again.history().equals(watch.history())
    assert again.moved() == watch.moved()
    assert again.probe().table().equals(watch.probe().table())
