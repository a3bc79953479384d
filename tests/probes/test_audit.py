"""Architectures as people write them, against sums written out per sample; what is not per sample is withheld."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from firstlight import probes
from tests.probes.brute import WITHIN, matrices, worst

LAMBDA = 0.1


class Residual(nn.Module):
    """Convolutions with batch normalisation around a skip connection."""

    def __init__(self):
        super().__init__()
        self.enter, self.a, self.b = nn.Conv2d(2, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 1)
        self.norms = nn.ModuleList(nn.BatchNorm2d(4) for _ in range(3))
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        h = functional.relu(self.norms[0](self.enter(x)))
        h = functional.relu(h + self.norms[2](self.b(functional.relu(self.norms[1](self.a(h))))))
        return self.head(h.mean((2, 3)))


class Written(nn.Module):
    """Attention over positions with a learned class token and positions, in the order (samples, positions)."""

    def __init__(self, batch_first=True, cut=False):
        super().__init__()
        self.embed, self.q, self.k, self.v = (nn.Linear(5, 6), nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 6))
        self.up, self.down, self.head = nn.Linear(6, 12), nn.Linear(12, 6), nn.Linear(6, 2)
        self.norm = nn.LayerNorm(6)
        self.batch_first, self.cut = batch_first, cut

    def block(self, h):
        z = self.norm(h)
        mixed = torch.softmax(self.q(z) @ self.k(z).transpose(1, 2), -1) @ self.v(z)
        h = h + mixed
        return h + self.down(functional.gelu(self.up(h)))

    def forward(self, x):
        h = self.embed(x if self.batch_first else x.transpose(0, 1))
        h = checkpoint(self.block, h, use_reentrant=False) if self.cut else self.block(h)
        made = self.head(h)
        return made if self.batch_first else made.transpose(0, 1)


class Recurrent(nn.Module):
    """A recurrence written out, time first."""

    def __init__(self):
        super().__init__()
        self.enter, self.again, self.head = nn.Linear(4, 5), nn.Linear(5, 5), nn.Linear(5, 2)

    def forward(self, x):
        h, made = torch.zeros(x.shape[1], 5, dtype=x.dtype), []
        for step in x:
            h = torch.tanh(self.enter(step) + self.again(h))
            made.append(self.head(h))
        return torch.stack(made)


class Language(nn.Module):
    """Tied embedding, learned positions shared by the batch, causal attention: GPT-2 in small."""

    def __init__(self, positions_per_sample=False):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(7, 6), nn.Embedding(5, 6)
        self.qkv, self.out, self.head = nn.Linear(6, 18), nn.Linear(6, 6), nn.Linear(6, 7, bias=False)
        self.head.weight = self.wte.weight
        self.positions_per_sample = positions_per_sample

    def forward(self, tokens):
        n, t = tokens.shape
        places = torch.arange(t)[None]
        h = self.wte(tokens) + self.wpe(places.expand(n, t) if self.positions_per_sample else places)
        q, k, v = self.qkv(h).chunk(3, -1)
        h = h + self.out(functional.scaled_dot_product_attention(q, k, v, is_causal=True))
        return self.head(h)


class Experts(nn.Module):
    """Tokens sent to one of two experts, so that rows change their order."""

    def __init__(self):
        super().__init__()
        self.gate, self.experts = nn.Linear(4, 2), nn.ModuleList(nn.Linear(4, 3) for _ in range(2))

    def forward(self, x):
        rows = x.flatten(0, 1)
        score = torch.softmax(self.gate(rows), -1)
        choice = score.argmax(-1)
        made = torch.zeros(len(rows), 3, dtype=x.dtype)
        for i, expert in enumerate(self.experts):
            own = (choice == i).nonzero()[:, 0]
            made = made.index_add(0, own, expert(rows[own]) * score[own, i : i + 1])
        return made.unflatten(0, x.shape[:2]).sum(1)


def images(n=5):
    return torch.randn(n, 2, 6, 6), torch.randn(n, 3)


CASES = {
    "perceptron": (
        lambda: nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)),
        lambda: (torch.randn(6, 4), torch.randn(6, 3)),
        0,
    ),
    "convolutions": (
        lambda: nn.Sequential(nn.Conv2d(2, 4, 3, stride=2, groups=2), nn.ReLU(), nn.Flatten(), nn.Linear(16, 3)),
        images,
        0,
    ),
    "residual": (Residual, images, 0),
    "attention": (Written, lambda: (torch.randn(5, 4, 5), torch.randn(5, 4, 2)), 0),
    "attention, time first": (lambda: Written(False), lambda: (torch.randn(4, 5, 5), torch.randn(4, 5, 2)), 1),
    "attention, as many positions as samples": (Written, lambda: (torch.randn(4, 4, 5), torch.randn(4, 4, 2)), 0),
    "checkpointing": (lambda: Written(cut=True), lambda: (torch.randn(5, 4, 5), torch.randn(5, 4, 2)), 0),
    "recurrence, time first": (Recurrent, lambda: (torch.randn(6, 4, 4), torch.randn(6, 4, 2)), 1),
    "experts": (Experts, lambda: (torch.randn(5, 3, 4), torch.randn(5, 3)), 0),
}


@pytest.mark.parametrize("name", CASES)
def test_matrices_are_those_of_single_samples(name):
    build, data, axis = CASES[name]
    model, (x, y) = build(), data()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_var, 0.5, 2)
    result = probes.probe(model, [(x, y)], nn.MSELoss(), LAMBDA, keep_matrices=True, outputs="exact")
    n, X, Y = x.shape[axis], x.double(), y.double()
    cut = (lambda t, i: t[:, i : i + 1]) if axis else (lambda t, i: t[i : i + 1])
    expected = matrices(
        model, lambda i: (cut(X, i),), n, lambda i, made: nn.functional.mse_loss(made, cut(Y, i)), lambda t: t, LAMBDA
    )
    assert {layer.name for layer in result.layers} == set(expected)
    assert not any(layer.withheld for layer in result.layers)
    assert worst(result, expected)[0] < WITHIN, worst(result, expected)


def tokens_loss(logits, targets):
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


@pytest.mark.parametrize("positions_per_sample", [False, True])
def test_positions_added_to_every_sample_have_a_gradient_per_sample(positions_per_sample):
    """The table of positions is read once for the batch; its AGOP grew with the batch."""
    model, tokens = Language(positions_per_sample), torch.randint(0, 7, (6, 5))
    result = probes.probe(model, [(tokens, tokens)], tokens_loss, LAMBDA, keep_matrices=True, outputs="exact")
    expected = matrices(
        model,
        lambda i: (tokens[i : i + 1],),
        6,
        lambda i, made: tokens_loss(made, tokens[i : i + 1]),
        lambda t: t,
        LAMBDA,
    )
    assert not any(layer.withheld for layer in result.layers)
    assert worst(result, expected)[0] < WITHIN, worst(result, expected)


class Product(nn.Module):
    def __init__(self):
        super().__init__()
        self.A, self.B = nn.Parameter(torch.randn(4, 2)), nn.Parameter(torch.randn(2, 3))
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        return self.head(torch.tanh(x @ (self.A @ self.B)))


class SharedInput(nn.Module):
    """An input that all samples share, through a nonlinearity, so that no sum shows its gradient per sample."""

    def __init__(self):
        super().__init__()
        self.pm, self.head = nn.Linear(3, 4), nn.Linear(4, 2)
        self.register_buffer("p", torch.randn(4))
        self.p_in = torch.randn(1, 3, requires_grad=True)

    def forward(self, x):
        return self.head(torch.tanh(x + self.p * torch.tanh(self.pm(self.p_in))))


@pytest.mark.parametrize(("build", "shared"), [(Product, {"A", "B"}), (SharedInput, {"pm.weight"})])
def test_what_is_not_per_sample_is_withheld_with_the_reason_and_nothing_else(build, shared):
    model, x, y = build(), torch.randn(7, 4), torch.randn(7, 2)
    result = probes.probe(model, [(x, y)], nn.MSELoss(), LAMBDA, keep_matrices=True)
    # Neither the buffer nor the input that is no parameter is a layer.
    assert {layer.name for layer in result.layers} == shared | {"head.weight"}
    assert not result.untreated
    for layer in result.layers:
        known = layer.name not in shared
        assert math.isnan(layer.alignments["AGOP"]) != known
        assert math.isnan(layer.alignments["√eNFA"]) != known
        assert ("not computed per sample" in layer.verdict.evidence) != known
        W = dict(model.named_parameters())[layer.name]
        G = torch.autograd.grad(nn.functional.mse_loss(model(x), y), W)[0].double()
        W = W.detach().double()
        # In `A @ B` each factor is the input of the other: A's features are its columns, and B's are its rows.
        fact = -(W @ G.T if layer.name == "B" else W.T @ G) / LAMBDA
        assert abs(layer.matrices["FACT"] - fact.numpy()).max() < WITHIN * abs(fact).max()
    alone = probes.probe(model, [(x[:1], y[:1])], nn.MSELoss(), LAMBDA)
    assert not any(layer.withheld for layer in alone.layers), "a single sample shares nothing"


def test_batch_statistics_mix_samples_and_are_withheld():
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 3))
    batch = (torch.randn(8, 4), torch.randn(8, 3))
    mixed = probes.probe(model, [batch], nn.MSELoss(), LAMBDA, training=True)
    assert [bool(layer.withheld) for layer in mixed.layers] == [True, False]
    assert not any(layer.withheld for layer in probes.probe(model, [batch], nn.MSELoss(), LAMBDA).layers)


def test_the_axis_of_samples_is_inferred_checked_or_asked_for():
    pointwise, x, y = nn.Linear(4, 2), torch.randn(3, 5, 4), torch.randn(3, 5, 2)
    with pytest.raises(ValueError, match=r"whose shape is \(3, 5, 2\), could both count samples.*give batch_dim=0"):
        probes.probe(pointwise, [(x, y)], nn.MSELoss(), LAMBDA)
    for axis, n in ((0, 3), (1, 5)):
        assert probes.probe(pointwise, [(x, y)], nn.MSELoss(), LAMBDA, batch_dim=axis).samples == n
    with pytest.raises(ValueError, match=r"batch_dim=2 means 2 samples .* no input has an axis of this length"):
        probes.probe(pointwise, [(x, y)], nn.MSELoss(), LAMBDA, batch_dim=2)
    with pytest.raises(ValueError, match="batch_dim=7 is no axis"):
        probes.probe(pointwise, [(x, y)], nn.MSELoss(), LAMBDA, batch_dim=7)
    model = Written()
    model.forward = lambda x: Written.forward(model, x).flatten(0, 1)
    with pytest.raises(ValueError, match="counts the samples of the inputs; return one row per sample"):
        probes.probe(model, [(torch.randn(5, 4, 5), torch.randn(20, 2))], nn.MSELoss(), LAMBDA)


def test_autocast_gives_the_same_matrices_up_to_its_precision():
    model, (x, y) = Residual().eval(), images()
    exact = probes.probe(model, [(x, y)], nn.MSELoss(), LAMBDA, keep_matrices=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = probes.probe(model, [(x, y)], nn.MSELoss(), LAMBDA, keep_matrices=True)
    for layer in half.layers:
        for name in ("FACT", "AGOP", "eNFA"):
            expected = exact[layer.name].matrices[name]
            # bfloat16 has 8 bits; a few of them are lost along the network.
            assert abs(layer.matrices[name] - expected).max() < 0.1 * abs(expected).max()
