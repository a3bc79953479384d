"""Small networks with every kind of layer that a probe supports, each with data and loss."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional


class Skipping(nn.Module):
    """Linear layers with biases and a skip connection."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.inner, self.leave = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute the outputs from h + tanh(hW)."""
        h = torch.tanh(self.enter(x))
        return self.leave(h + torch.tanh(self.inner(h)))


class Convolutions(nn.Module):
    """Conv2d with groups, stride and padding, then Conv1d and a linear head."""

    def __init__(self) -> None:
        super().__init__()
        self.plane = nn.Conv2d(2, 4, 3, stride=2, padding=1, groups=2)
        self.line = nn.Conv1d(4, 3, 2, dilation=2)
        self.head = nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply two convolutions and average over positions."""
        h = torch.tanh(self.plane(x)).flatten(2)
        return self.head(torch.tanh(self.line(h)).mean(-1))


class Tied(nn.Module):
    """An embedding whose transpose is the output layer."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(5, 3)
        self.mix = nn.Linear(3, 3, bias=False)
        self.head = nn.Linear(3, 5, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Compute next-token logits from the mean of the tokens so far."""
        h = self.embed(tokens)
        mean = h.cumsum(1) / torch.arange(1, h.shape[1] + 1, dtype=h.dtype)[:, None]
        return self.head(h + torch.tanh(self.mix(mean)))


class Block(nn.Module):
    """A transformer block built from `torch.nn`, between an embedding and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(4, 3)
        # Smooth, for Newton's method. Weights in front of a norm have no critical point: their scale changes no
        # output, so decay shrinks them for ever. The norm therefore comes first, with an ε that is not small.
        options = {"activation": "gelu", "batch_first": True, "norm_first": True, "layer_norm_eps": 0.1}
        self.block = nn.TransformerEncoderLayer(3, 1, 3, dropout=0.0, **options)
        self.head = nn.Linear(3, 4)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Compute logits at every position."""
        return self.head(self.block(self.embed(tokens)))


class HandWritten(nn.Module):
    """Cross-attention without modules: bare parameters, `@`, einsum, fused k and v."""

    def __init__(self) -> None:
        super().__init__()
        self.q = nn.Parameter(torch.randn(3, 3) / 2)
        self.kv = nn.Parameter(torch.randn(6, 3) / 2)
        self.o = nn.Parameter(torch.randn(2, 3) / 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute the mean over positions of softmax(QKᵀ)V O."""
        query = torch.einsum("btd,dk->btk", x, self.q)
        w_k, w_v = self.kv.chunk(2)
        key, value = functional.linear(x.flip(1), w_k), x.flip(1) @ w_v.T
        mixed = torch.softmax(query @ key.transpose(1, 2), -1) @ value
        return (self.o @ torch.tanh(mixed).transpose(1, 2)).mean(-1)


@dataclass(frozen=True, eq=False)
class Case:
    """A network in float64, with data on which its loss is smooth."""

    model: nn.Module
    inputs: torch.Tensor
    targets: torch.Tensor
    loss_fn: Callable[[Any, Any], torch.Tensor]
    weight_decay: float
    reduction: str = "mean"


def _tokens_loss(logits: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())


def _regression(model: Callable[[], nn.Module], shape: tuple[int, ...], loss: nn.Module, decay: float) -> Case:
    x = torch.randn(12, *shape, dtype=torch.float64)
    flat = x.flatten(1)
    y = torch.stack([flat[:, 0] * flat[:, 1], flat[:, 2] + flat[:, 3]], dim=1) if flat.shape[1] > 3 else flat[:, :2]
    return Case(model().double(), x, y, loss, decay, "sum" if getattr(loss, "reduction", "") == "sum" else "mean")


def _tokens(model: Callable[[], nn.Module]) -> Case:
    tokens = torch.randint(0, 5, (10, 4))
    return Case(model().double(), tokens, (2 * tokens.cumsum(1) + 1) % 5, _tokens_loss, 1e-2)


def _taught(model: Callable[[], nn.Module]) -> Case:
    """Use the network's own initial outputs as targets, so that weight decay alone decides which layers survive."""
    student = model().double()
    with torch.no_grad():
        for parameter in student.parameters():
            parameter.mul_(1.5 if parameter.ndim > 1 else 1.0)
    tokens = torch.randint(0, 4, (12, 3))
    return Case(student, tokens, student(tokens).detach(), nn.MSELoss(), 3e-3)


CASES: dict[str, Callable[[], Case]] = {
    "linear, bias, skip; mean MSE": lambda: _regression(Skipping, (3,), nn.MSELoss(), 1e-2),
    "linear, bias, skip; sum MSE": lambda: _regression(Skipping, (3,), nn.MSELoss(reduction="sum"), 1e-1),
    "convolutions; mean MSE": lambda: _regression(Convolutions, (2, 6, 6), nn.MSELoss(), 3e-3),
    "tied embedding; cross-entropy": lambda: _tokens(Tied),
    "transformer block; mean MSE": lambda: _taught(Block),
    "hand-written attention; mean MSE": lambda: _regression(HandWritten, (4, 3), nn.MSELoss(), 3e-3),
}
"""Name → function that builds a case; it draws from torch's global generator, which the caller seeds."""
