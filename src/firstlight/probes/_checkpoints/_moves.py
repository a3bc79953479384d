"""How far weights move between checkpoints, in which direction, and what that says about a known learning rate."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import torch

from firstlight.probes._decay import Decay
from firstlight.probes._path import QUARTERS, Path

LearningRate = float | Callable[[int], float]


@dataclass(eq=False)
class Moves:
    """The weight matrices of the start and of the last checkpoints, by parameter name.

    **Attributes:**

    - `start`: the weights from which distances count.
    - `learning_rate`: learning rate of every step, a number or a function of the step; None if unknown.
    """

    learning_rate: LearningRate | None = None
    start: dict[str, torch.Tensor] = field(default_factory=dict)
    _recent: list[tuple[int, dict[str, torch.Tensor]]] = field(default_factory=list)
    _rates: list[float] = field(default_factory=lambda: [0.0])

    def add(self, step: int, model: torch.nn.Module) -> None:
        """Add the weights of the next checkpoint; the first ones are the start unless a start was given."""
        weights = {name: p.detach().clone() for name, p in model.named_parameters() if p.ndim >= 2 and p.requires_grad}
        if not self.start:
            self.start = weights
        self._recent = [*self._recent[1 - QUARTERS :], (step, weights)]

    def forget_last(self) -> None:
        """Leave the last checkpoint out of the moves that follow."""
        self._recent = self._recent[:-1]

    def since_start(self) -> dict[str, float]:
        """Return ‖W − W₀‖/‖W₀‖ of every matrix."""
        return {name: _distance(w, self.start[name]) for name, w in self._last().items() if name in self.start}

    def since_previous(self) -> dict[str, float]:
        """Return ‖W − W'‖/‖W'‖ of every matrix, with W' of the checkpoint before; empty for the first checkpoint."""
        if len(self._recent) < 2:
            return {}
        before = self._recent[-2][1]
        return {name: _distance(w, before[name]) for name, w in self._last().items()}

    def steadiness(self) -> dict[str, float]:
        """Return the cosine of the last two moves of every matrix; empty before the third checkpoint."""
        if len(self._recent) < 3:
            return {}
        (_, first), (_, second), (_, third) = self._recent[-3:]
        return {name: _cosine(second[name] - first[name], w - second[name]) for name, w in third.items()}

    def budgets(self, decays: Mapping[str, Decay]) -> dict[str, float]:
        """Return wd·Σlr/(1 − momentum) up to the last checkpoint; empty if the learning rate is unknown."""
        if self.learning_rate is None:
            return {}
        total = self._rate_sum(self._recent[-1][0])
        return {name: decays[name].budget(total) for name in self._last()}

    def paths(self, decays: Mapping[str, Decay]) -> dict[str, Path]:
        """Return the last four checkpoints as paths, from which the mean gradient along them follows."""
        if self.learning_rate is None or len(self._recent) < QUARTERS:
            return {}
        steps = [step for step, _ in self._recent]
        counts = [b - a for a, b in pairwise(steps)]
        made = {}
        for name in self._last():
            spent = [decays[name].budget(self._rate_sum(step)) for step in steps]
            if not any(math.isnan(budget) for budget in spent):
                means = [weights[name] for _, weights in self._recent]
                made[name] = Path(QUARTERS * max(counts), means, spent, [*counts, counts[-1]], spent[-1])
        return made

    def directions(self, decays: Mapping[str, Decay]) -> dict[str, torch.Tensor]:
        """Return the mean step direction of a decoupled optimizer along the last four checkpoints."""
        made = {}
        for name, path in self.paths(decays).items():
            halves = path.halves() if decays[name].rule == "decoupled" else None
            if halves is not None:
                # The mean of (direction + λW)/λ is the drift per unit of budget.
                made[name] = decays[name].value * (halves[1] - halves[0])
        return made

    def _last(self) -> dict[str, torch.Tensor]:
        return self._recent[-1][1]

    def _rate_sum(self, step: int) -> float:
        rate = self.learning_rate
        if rate is None or not callable(rate):
            return step * float(rate or 0.0)
        while len(self._rates) <= step:
            self._rates.append(self._rates[-1] + float(rate(len(self._rates) - 1)))
        return self._rates[step]


def _distance(weight: torch.Tensor, start: torch.Tensor) -> float:
    size = float(torch.linalg.vector_norm(start.double()))
    change = float(torch.linalg.vector_norm(weight.double() - start.double()))
    return change / size if size > 0 else math.inf if change > 0 else 0.0


def _cosine(a: torch.Tensor, b: torch.Tensor) -> float:
    sizes = float(torch.linalg.vector_norm(a.double())) * float(torch.linalg.vector_norm(b.double()))
    return float((a.double() * b.double()).sum()) / sizes if sizes > 0 else math.nan
