"""The drift of weights along training steps, with the noise of minibatches averaged out.

SGD with step size η takes W ← W − η(G + λW) with minibatch gradients G. Summed over a window the noise telescopes:
(W_start − W_end)/Ση is the mean of G + λW. The difference of the means of two windows is the same average with
triangular weights, smoother at its ends. Decoupled decay (AdamW) has the step direction in place of G.
"""

import math
from dataclasses import dataclass, field

import torch

from firstlight.probes._verdict import Drift

QUARTERS = 4

SHORTEST = 20
"""Steps in a quarter below which noise looks steady: twice the 10 steps over which a momentum of 0.9 averages."""


@dataclass(eq=False)
class Path:
    """Means of a weight over the quarters of a window of steps, and the budget at their centres.

    **Attributes:**

    - `steps`: steps in a window; a shorter one has fewer quarters.
    """

    steps: int
    means: list[torch.Tensor] = field(default_factory=list)
    centres: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    budget: float = 0.0

    def add(self, weight: torch.Tensor, spent: float) -> None:
        """Add the weight after a step that spent a budget."""
        size = max(self.steps // QUARTERS, 1)
        self.budget += spent
        if not self.means or self.counts[-1] >= size:
            self.means.append(weight.detach().clone().float() if _is_half(weight) else weight.detach().clone())
            self.centres.append(self.budget)
            self.counts.append(1)
            if len(self.means) > QUARTERS:
                del self.means[0], self.centres[0], self.counts[0]
            return
        self.counts[-1] += 1
        share = 1 / self.counts[-1]
        self.means[-1].lerp_(weight.detach().to(self.means[-1].dtype), share)
        self.centres[-1] += (self.budget - self.centres[-1]) * share

    def halves(self) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Return the mean weight of the window and the mean of (G + λW)/λ; None without two filled halves."""
        if len(self.means) < QUARTERS or not self.centres[3] + self.centres[2] > self.centres[0] + self.centres[1]:
            return None
        first, last = self.means[0] + self.means[1], self.means[2] + self.means[3]
        between = (self.centres[2] + self.centres[3] - self.centres[0] - self.centres[1]) / 2
        return (first + last) / 4, (first - last) / 2 / between

    def drifts(self) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Return the drift per unit of budget within the first half of the window and within the second."""
        if len(self.means) < QUARTERS:
            return None
        pairs = [(self.means[i] - self.means[i + 1], self.centres[i + 1] - self.centres[i]) for i in (0, 2)]
        if not all(spent > 0 for _, spent in pairs):
            return None
        return pairs[0][0] / pairs[0][1], pairs[1][0] / pairs[1][1]


def drift(path: Path, matrix) -> Drift | None:
    """Return the drift of a layer, or None if the window is too short or its budget unknown.

    **Arguments:**

    - `path`: the means of the layer's weight.
    - `matrix`: function that turns a tensor of the weight's shape into the layer's (g, in, out).
    """
    halves, drifts = path.halves(), path.drifts()
    if halves is None or drifts is None:
        return None
    W, D = matrix(halves[0]), matrix(halves[1])
    first, second = matrix(drifts[0]), matrix(drifts[1])
    # NFM − FACT = W·Dᵀ with D = ⟨G + λW⟩/λ; its norms need no matrix larger than out×out.
    inner, square, cross, between, sizes = 0.0, 0.0, 0.0, 0.0, [0.0, 0.0]
    for w, d, a, b in zip(W, D, first, second, strict=True):
        H = (w.T @ w).double()
        inner += float((H * H).sum())
        square += float((H * (d.T @ d)).sum())
        cross += float(((d.T @ w) * H).sum())
        between += float((H * (a.T @ b)).sum())
        sizes[0] += float((H * (a.T @ a)).sum())
        sizes[1] += float((H * (b.T @ b)).sum())
    if inner == 0:
        return None
    fact = inner - 2 * cross + square
    angle = (inner - cross) / math.sqrt(inner * fact) if fact > 0 else math.nan
    steadiness = between / math.sqrt(sizes[0] * sizes[1]) if sizes[0] * sizes[1] > 0 else 0.0
    if min(path.counts[:-1]) < SHORTEST:
        steadiness = 0.0
    return Drift(
        fact=angle,
        size=(inner - cross) / inner,
        residual=math.sqrt(square / inner),
        steadiness=steadiness,
        budget=path.centres[3] - path.centres[0],
        turn=_turn(W, D),
    )


def _turn(W: torch.Tensor, D: torch.Tensor) -> float:
    """Return the part of the drift across W, relative to W."""
    size = float(torch.linalg.vector_norm(W))
    along = float((W * D).sum()) / size**2
    return float(torch.linalg.vector_norm(D - along * W)) / size


def _is_half(weight: torch.Tensor) -> bool:
    return weight.dtype in (torch.float16, torch.bfloat16)
