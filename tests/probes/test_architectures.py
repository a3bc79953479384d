"""The architectures of an audit, small, against sums written out per sample over all rows and outputs.

`test_audit.py` has perceptrons, convolutions, residual networks, attention, recurrence and experts; `test_libraries.py`
has the same architectures as torchvision, timm and transformers write them.
"""

import pytest
import torch
from torch import nn
from torch.nn import functional

from firstlight import probes
from tests.probes.brute import WITHIN, matrices, worst

LAMBDA = 0.1


class Block(nn.Module):
    """Attention in heads with the fused product of torch, and a perceptron, both with skip connections."""

    def __init__(self, d=8, causal=False):
        super().__init__()
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)
        self.norm1, self.norm2, self.causal = nn.LayerNorm(d), nn.LayerNorm(d), causal

    def forward(self, h):
        q, k, v = (part.unflatten(-1, (2, -1)).transpose(1, 2) for part in self.qkv(self.norm1(h)).chunk(3, -1))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        h = h + self.out(mixed.transpose(1, 2).flatten(2))
        return h + self.down(functional.gelu(self.up(self.norm2(h))))


class VisionTransformer(nn.Module):
    """Patches by a convolution, a class token and positions that all samples share."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(2, 8, 3, stride=3)
        self.token, self.places = nn.Parameter(torch.randn(1, 1, 8)), nn.Parameter(torch.randn(1, 5, 8))
        self.blocks, self.head = nn.Sequential(Block(), Block()), nn.Linear(8, 3)

    def forward(self, x):
        h = self.patches(x).flatten(2).transpose(1, 2)
        h = torch.cat([self.token.expand(len(h), -1, -1), h], 1) + self.places
        return self.head(self.blocks(h)[:, 0])


class Bert(nn.Module):
    """Three embeddings summed, attention both ways, and an output layer tied to the embedding."""

    def __init__(self):
        super().__init__()
        self.words, self.places, self.kinds = nn.Embedding(7, 8), nn.Embedding(5, 8), nn.Embedding(2, 8)
        self.norm, self.blocks, self.turn = nn.LayerNorm(8), nn.Sequential(Block(), Block()), nn.Linear(8, 8)
        self.head = nn.Linear(8, 7)
        self.head.weight = self.words.weight

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1])[None]
        h = self.words(tokens) + self.kinds((tokens > 3).long()) + self.places(places)
        return self.head(torch.tanh(self.turn(self.blocks(self.norm(h)))))


class Gpt2(nn.Module):
    """Tied embedding, positions, causal blocks."""

    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(7, 8), nn.Embedding(5, 8)
        self.blocks, self.norm = nn.Sequential(Block(causal=True), Block(causal=True)), nn.LayerNorm(8)
        self.head = nn.Linear(8, 7, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, tokens):
        h = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        return self.head(self.norm(self.blocks(h)))


class Separable(nn.Module):
    """Depthwise and pointwise convolutions, gates over channels, as mobile networks have them."""

    def __init__(self):
        super().__init__()
        self.depth, self.point = nn.Conv2d(4, 4, 3, padding=1, groups=4), nn.Conv2d(4, 6, 1)
        self.enter, self.gate, self.head = nn.Conv2d(2, 4, 3), nn.Linear(6, 6), nn.Linear(6, 3)
        self.norm = nn.GroupNorm(2, 6)

    def forward(self, x):
        h = self.norm(self.point(functional.relu6(self.depth(self.enter(x)))))
        h = h * torch.sigmoid(self.gate(h.mean((2, 3))))[:, :, None, None]
        return self.head(h.amax((2, 3)))


class UNet(nn.Module):
    """Down, up by interpolation, and a skip connection by concatenation; an output for every pixel."""

    def __init__(self):
        super().__init__()
        self.down, self.deep = nn.Conv2d(2, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.up, self.head = nn.Conv2d(8, 4, 3, padding=1), nn.Conv2d(4, 1, 1)

    def forward(self, x):
        top = functional.relu(self.down(x))
        low = functional.relu(self.deep(functional.max_pool2d(top, 2)))
        both = torch.cat([top, functional.interpolate(low, scale_factor=2)], 1)
        return self.head(functional.relu(self.up(both)))


class Autoencoder(nn.Module):
    """A decoder that is the encoder transposed."""

    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(5, 3)

    def forward(self, x):
        return torch.tanh(self.encode(x)) @ self.encode.weight


class Siamese(nn.Module):
    """One network for both halves of an input."""

    def __init__(self):
        super().__init__()
        self.net, self.head = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 4)), nn.Linear(8, 2)

    def forward(self, x):
        a, b = self.net(x[:, :3]), self.net(x[:, 3:])
        return self.head(torch.cat([a * b, (a - b).abs()], 1))


class Gated(nn.Module):
    """A gated recurrence written out, samples first, that returns its last state."""

    def __init__(self):
        super().__init__()
        self.gates, self.new, self.head = nn.Linear(8, 10), nn.Linear(8, 5), nn.Linear(5, 2)

    def forward(self, x):
        h = x.new_zeros(len(x), 5)
        for t in range(x.shape[1]):
            z, r = torch.sigmoid(self.gates(torch.cat([x[:, t], h], 1))).chunk(2, 1)
            h = (1 - z) * h + z * torch.tanh(self.new(torch.cat([x[:, t], r * h], 1)))
        return self.head(h)


class TextConvolution(nn.Module):
    """Embeddings, convolutions of several widths, pooling over time."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(7, 4)
        self.convolutions = nn.ModuleList(nn.Conv1d(4, 3, width) for width in (2, 3))
        self.head = nn.Linear(6, 2)

    def forward(self, tokens):
        h = self.embed(tokens).transpose(1, 2)
        return self.head(torch.cat([functional.relu(c(h)).amax(2) for c in self.convolutions], 1))


class SwiGlu(nn.Module):
    """A gated perceptron with a root-mean-square norm and rotations, as recent language models have them."""

    def __init__(self):
        super().__init__()
        self.gate, self.up, self.down = (nn.Linear(*size, bias=False) for size in ((4, 6), (4, 6), (6, 4)))
        self.norm, self.head = nn.RMSNorm(4), nn.Linear(4, 2, bias=False)

    def forward(self, x):
        h = self.norm(x)
        turned = torch.cat([-h[..., 2:], h[..., :2]], -1) * 0.6 + h * 0.8
        h = x + self.down(functional.silu(self.gate(turned)) * self.up(turned))
        return self.head(h).mean(1)


def numbers(*shape):
    return lambda: torch.randn(*shape)


def words():
    return torch.randint(0, 7, (5, 5))


CASES = {
    "vision transformer": (VisionTransformer, numbers(4, 2, 6, 6), numbers(4, 3)),
    "BERT": (Bert, words, words),
    "GPT-2, tied": (Gpt2, words, words),
    "mobile network": (Separable, numbers(4, 2, 6, 6), numbers(4, 3)),
    "U-Net": (UNet, numbers(4, 2, 4, 4), numbers(4, 1, 4, 4)),
    "siamese": (Siamese, numbers(6, 6), numbers(6, 2)),
    "gated recurrence": (Gated, numbers(6, 4, 3), numbers(6, 2)),
    "text convolution": (TextConvolution, words, numbers(5, 2)),
    "gated perceptron": (SwiGlu, numbers(6, 3, 4), numbers(6, 2)),
    "convolutions in time": (
        lambda: nn.Sequential(nn.Conv1d(3, 4, 3, dilation=2), nn.ELU(), nn.Flatten(), nn.Linear(8, 2)),
        numbers(5, 3, 6),
        numbers(5, 2),
    ),
    "convolutions in space": (
        lambda: nn.Sequential(nn.Conv3d(2, 3, 2, stride=2), nn.Softplus(), nn.Flatten(), nn.Linear(24, 2)),
        numbers(4, 2, 4, 4, 4),
        numbers(4, 2),
    ),
}


def token_loss(made, targets):
    return functional.cross_entropy(made.flatten(0, 1), targets.flatten())


@pytest.mark.parametrize("name", CASES)
def test_matrices_are_those_of_single_samples(name):
    build, inputs, targets = CASES[name]
    model, x, y = build(), inputs(), targets()
    loss = nn.functional.mse_loss if y.is_floating_point() else token_loss
    result = probes.probe(model, [(x, y)], loss, LAMBDA, keep_matrices=True, outputs="exact", batch_dim=0)
    X, Y = (t.double() if t.is_floating_point() else t for t in (x, y))
    expected = matrices(
        model, lambda i: (X[i : i + 1],), len(x), lambda i, made: loss(made, Y[i : i + 1]), lambda made: made, LAMBDA
    )
    assert {layer.name for layer in result.layers} == set(expected)
    assert not any(layer.withheld for layer in result.layers)
    assert worst(result, expected)[0] < WITHIN, worst(result, expected)


def test_a_decoder_that_is_the_encoder_transposed():
    """Gradients at the encoder's inputs come through W from its outputs, and directly from the decoder's outputs."""
    model, x = Autoencoder(), torch.randn(6, 5)
    (layer,) = probes.probe(model, [(x, x)], nn.MSELoss(), LAMBDA, keep_matrices=True, outputs="exact").layers
    assert (layer.inputs, layer.outputs) == (5, 3)
    W, b = (p.detach().double() for p in model.encode.parameters())
    sums = {"AGOP": 0, "eNFA": 0}
    for row in x.double():
        first, second = torch.zeros(3).double().requires_grad_(), torch.zeros(5).double().requires_grad_()
        made = torch.tanh(W @ row + b + first) @ W + second
        loss = nn.functional.mse_loss(made, row)
        for name, outputs in (("eNFA", [loss]), ("AGOP", list(made))):
            for output in outputs:
                inner, outer = torch.autograd.grad(output, [first, second], retain_graph=True)
                sums[name] = sums[name] + torch.outer(inner @ W, inner @ W) + torch.outer(outer, outer)
    G = torch.autograd.grad(nn.functional.mse_loss(model(x), x), model.encode.weight)[0].double()
    expected = {name: total / 6 for name, total in sums.items()} | {"FACT": -(W.T @ G) / LAMBDA}
    for name, matrix in expected.items():
        assert abs(layer.matrices[name] - matrix.numpy()).max() < WITHIN * abs(matrix).max()
