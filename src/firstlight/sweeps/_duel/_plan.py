"""The runs of a duel: budgets of equal compute, tuning points, and specs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import get_args

from firstlight import runs
from firstlight._suggest import did_you_mean
from firstlight.records import DeepModel, Optimizer, RunSpec, SpecError, TransformerModel
from firstlight.sweeps._boundary import GENERALISED

OPTIMIZERS: tuple[str, ...] = get_args(Optimizer.model_fields["name"].annotation)
"""The optimizers that can take part."""

CENTRES = {"sgd": 0.1, "adam": 1e-3, "adamw": 1e-3, "muon": 1e-2}
"""The first learning rate that is tried, unless the spec has a rate for this optimizer."""

RATIO = math.sqrt(10)
"""Ratio of the first rate and its neighbours."""

TUNING_SEED = 1000
"""First seed of the tuning runs, which the comparison does not use."""


@dataclass(frozen=True)
class Duel:
    """What is compared: the run, the optimizers and the budget of each.

    **Attributes:**

    - `base`: the run; the optimizer, rate and steps of the entries replace its own.
    - `optimizers`: names of optimizers, at least two.
    - `rates`: learning rates tried for each optimizer.
    - `decays`: weight decays tried with each rate; that of the base if empty.
    - `tuning_seeds`: runs for each tuning point.
    - `seeds`: runs for the comparison.
    - `widths`: (low, high) ends of the search for the critical width, or None to leave it out.

    >>> duel = Duel(RunSpec(), ("adam", "muon"), rates=3)
    >>> round(duel.rate("adam", 1.0), 5), duel.steps("muon") < duel.steps("adam")
    (0.00316, True)
    """

    base: RunSpec
    optimizers: tuple[str, ...] = OPTIMIZERS
    rates: int = 5
    decays: tuple[float, ...] = ()
    tuning_seeds: int = 1
    seeds: int = 5
    widths: tuple[int, int] | None = None
    _flops: dict[str, float] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        problems = [
            f"optimizers: unknown optimizer {name!r}; {did_you_mean(name, OPTIMIZERS)}"
            f"it is one of {', '.join(OPTIMIZERS)}"
            for name in self.optimizers
            if name not in OPTIMIZERS
        ]
        if len(self.optimizers) < 2 or len(set(self.optimizers)) < len(self.optimizers):
            problems.append(
                f"optimizers: give at least two different names; got {', '.join(self.optimizers) or 'none'}"
            )
        counts = {"rates": self.rates, "tuning_seeds": self.tuning_seeds, "seeds": self.seeds}
        problems += [f"{name}: must be at least 1; got {count}" for name, count in counts.items() if count < 1]
        problems += [f"decays: must be at least 0; got {decay:g}" for decay in self.decays if not decay >= 0]
        if self.base.task.split.fraction == 1:
            problems.append("task.split.fraction: a duel needs held-out rows to generalise to; got 1")
        if self.widths is not None and not 1 <= self.widths[0] < self.widths[1]:
            problems.append(f"widths: give two ends 1 ≤ low < high; got {self.widths[0]},{self.widths[1]}")
        if self.widths is not None and isinstance(self.base.model, DeepModel):
            problems.append("widths: a deep model has several widths; leave out the search for the critical width")
        if problems:
            raise SpecError(problems)

    @property
    def width_field(self) -> str:
        """The field of the model that counts hidden units."""
        return "mlp" if isinstance(self.base.model, TransformerModel) else "width"

    def flops(self, name: str) -> float:
        """Return the floating-point operations of one step of an optimizer."""
        if name not in self._flops:
            self._flops[name] = runs.step_flops(self._with(name, CENTRES[name], self.weight_decays[0], self.base.steps))
        return self._flops[name]

    def steps(self, name: str) -> int:
        """Return the steps of an optimizer's budget: those of the base for the cheapest, fewer for the others."""
        cheapest = min(self.flops(other) for other in self.optimizers)
        return max(1, math.floor(self.base.steps * cheapest / self.flops(name)))

    def rate(self, name: str, place: float) -> float:
        """Return the learning rate at a place of the tuning axis: a factor √10 for each 1, around the first rate."""
        same = self.base.optimizer.name == name
        centre = self.base.optimizer.learning_rate if same else CENTRES[name]
        return centre * RATIO**place

    def tuning_specs(self, name: str, rate: float) -> list[RunSpec]:
        """Return the tuning runs of an optimizer at a learning rate, seeds within weight decays."""
        seeds = range(TUNING_SEED, TUNING_SEED + self.tuning_seeds)
        return [self.spec(name, rate, decay, seed) for decay in self.weight_decays for seed in seeds]

    def spec(self, name: str, rate: float, decay: float, seed: int, width: int | None = None) -> RunSpec:
        """Return one run, which ends when it has generalised."""
        spec = self._with(name, rate, decay, self.steps(name))
        model = spec.model if width is None else spec.model.model_copy(update={self.width_field: width})
        return spec.model_copy(update={"seed": seed, "model": model})

    def width_lattice(self) -> list[int]:
        """Return the widths of the search, a factor √2 apart."""
        if self.widths is None:
            return []
        low, high = self.widths
        count = max(1, round(2 * math.log2(high / low)))
        return sorted({round(low * (high / low) ** (i / count)) for i in range(count + 1)})

    @property
    def weight_decays(self) -> Sequence[float]:
        """The weight decays tried with each rate."""
        return self.decays or (self.base.optimizer.weight_decay,)

    def _with(self, name: str, rate: float, decay: float, steps: int) -> RunSpec:
        own = self.base.optimizer
        shared = {"schedule": own.schedule, "layer_rates": own.layer_rates, "batch_size": own.batch_size}
        if name != "sgd":
            shared |= {"beta1": own.beta1, "beta2": own.beta2, "epsilon": own.epsilon}
        if own.name == name:
            shared["momentum"] = own.momentum
            shared["decay"] = own.decay
        optimizer = Optimizer(name=name, learning_rate=rate, weight_decay=decay, **shared)  # type: ignore[arg-type]
        stop = (*(rule for rule in self.base.stop if rule != GENERALISED), GENERALISED)
        changes = {"optimizer": optimizer, "steps": steps, "stop": stop, "lenses": (), "snapshots": 0, "name": ""}
        return self.base.model_copy(update=changes)
