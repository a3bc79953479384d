"""Probing during training: `Watch` follows the optimizer and probes every k steps."""

import dataclasses
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Unpack

import numpy as np
import pandas as pd
import torch

from firstlight.probes._decay import decay_from_group, plain_optimizer, step_direction
from firstlight.probes._feature_probe import DECOUPLED, LossFunction, ProbeOptions, unwrapped
from firstlight.probes._path import Path
from firstlight.probes._probe import probe
from firstlight.probes._result import SHOWN, ProbeResult
from firstlight.records import FigureData, figure


class Watch:
    """Probe a model every `every` optimizer steps of any training loop, and judge each layer.

    Call `step()` after `optimizer.step()`. The watch also tracks the budget wd·Σlr/(1 − momentum) spent so far, how far
    the weights have moved since the watch was created, and for AdamW the mean step direction since the last probe. It
    averages the weights over the quarters of the last `every` steps, which separates their drift from the noise of
    minibatches. It holds five copies of the weight matrices.

    **Arguments:**

    - `model`: as in `FeatureProbe`.
    - `loss_fn`: as in `FeatureProbe`.
    - `batches`: data for the probes, iterated again at each probe (a list or a `DataLoader`, usually a fixed part of
      the training data).
    - `optimizer`: the optimizer of the training, from which λ, learning rate and momentum are read.
    - `every`: steps between probes.
    - `on_probe`: callback `on_probe(step, result)` for each result.
    - `options`: other arguments of `FeatureProbe`.

    >>> import torch
    >>> model = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.5, weight_decay=0.5)
    >>> data = [(torch.eye(2), torch.tensor([[1.0], [-2.0]]))]
    >>> watch = Watch(model, torch.nn.MSELoss(), data, optimizer, every=10)
    >>> for _ in range(30):
    ...     optimizer.zero_grad()
    ...     torch.nn.functional.mse_loss(model(data[0][0]), data[0][1]).backward()
    ...     optimizer.step()
    ...     result = watch.step()
    >>> watch.history()["step"].tolist(), watch.last["weight"].verdict.state
    ([10, 20, 30], 'converged')
    """

    def __init__(
        self,
        model: torch.nn.Module,
        loss_fn: LossFunction | None,
        batches: Iterable[Any],
        optimizer: torch.optim.Optimizer,
        *,
        every: int = 100,
        on_probe: Callable[[int, ProbeResult], None] | None = None,
        **options: Unpack[ProbeOptions],
    ) -> None:
        if every < 1:
            raise ValueError(f"every must be at least 1 step, got {every}")
        if isinstance(batches, Iterator):
            raise ValueError(
                "batches must be iterable again at every probe, got an iterator, which ends after the first; give a "
                "list or a DataLoader"
            )
        model, optimizer = unwrapped(model), plain_optimizer(optimizer)
        self.model, self.loss_fn, self.batches, self.optimizer = model, loss_fn, batches, optimizer
        self.every, self.on_probe, self.options = every, on_probe, options
        self.steps = 0
        self.results: dict[int, ProbeResult] = {}
        self._names = {id(p): name for name, p in model.named_parameters() if p.ndim >= 2}
        self._start = {id(p): p.detach().clone() for p in model.parameters() if p.ndim >= 2}
        self._budgets: dict[str, float] = dict.fromkeys(self._names.values(), 0.0)
        self._directions: dict[str, torch.Tensor] = {}
        self._paths: dict[str, Path] = {}
        self._averaged = 0

    def step(self) -> ProbeResult | None:
        """Count an optimizer step; return a result if this step is probed, else None."""
        self.steps += 1
        self._averaged += 1
        for group in self.optimizer.param_groups:
            decay = decay_from_group(self.optimizer, group)
            spent = 0.0 if decay.learning_rate is None else decay.budget(decay.learning_rate)
            for parameter in group["params"]:
                name = self._names.get(id(parameter))
                if name is not None:
                    self._budgets[name] += spent
                    self._follow(name, parameter, spent)
                    if decay.rule == "decoupled":
                        self._average(name, parameter)
        return self.probe() if self.steps % self.every == 0 else None

    def probe(self) -> ProbeResult:
        """Probe the model now."""
        with warnings.catch_warnings():
            # The warning would repeat at every probe, and `Watch` provides the directions it asks for.
            warnings.filterwarnings("ignore", message=DECOUPLED[:40])
            result = probe(
                self.model,
                self.batches,
                self.loss_fn,
                optimizer=self.optimizer,
                known={
                    "budgets": dict(self._budgets),
                    "moved": self.moved(),
                    "directions": dict(self._directions),
                    "paths": self._paths,
                },
                **self.options,
            )
        self.results[self.steps] = result
        self._directions, self._averaged = {}, 0
        if self.on_probe is not None:
            self.on_probe(self.steps, result)
        return result

    @property
    def last(self) -> ProbeResult:
        """The latest result."""
        if not self.results:
            raise ValueError(f"there is no result yet; step() probes every {self.every} steps, probe() at once")
        return self.results[max(self.results)]

    def moved(self) -> dict[str, float]:
        """Return ‖W − W₀‖/‖W₀‖ of every matrix since the watch was created."""
        parameters = {id(p): p for p in self.model.parameters()}
        changes = {}
        for key, start in self._start.items():
            size = float(torch.linalg.vector_norm(start))
            change = float(torch.linalg.vector_norm(parameters[key].detach() - start))
            changes[self._names[key]] = change / size if size > 0 else math.inf
        return changes

    def history(self) -> pd.DataFrame:
        """Return one row per probe and layer: step, layer, alignments, budget, verdict, evidence."""
        frames = [result.table().reset_index().assign(step=step) for step, result in self.results.items()]
        if not frames:
            return pd.DataFrame(columns=["step", "layer", *SHOWN, "budget", "verdict", "evidence"])
        frame = pd.concat(frames, ignore_index=True)
        return frame.reindex(columns=["step", *(column for column in frame.columns if column != "step")])

    def figure_data(self, measure: str = "FACT") -> FigureData:
        """Show a measure of every layer over the steps."""
        steps = list(self.results)
        series = [
            figure.Series(
                layer.name, np.array(steps), np.array([self.results[s][layer.name].alignments[measure] for s in steps])
            )
            for layer in self.last.layers
        ]
        return figure.curves(series, x="step", y=f"alignment with {measure}", title=f"{measure} during training")

    def state_dict(self) -> dict[str, Any]:
        """Return the watch's state: steps, budgets, the start, averages and results, as tensors, numbers and text."""
        results = {}
        for step, result in self.results.items():
            header, arrays = result.packed()
            results[step] = (header, {name: torch.from_numpy(array) for name, array in arrays.items()})
        return {
            "steps": self.steps,
            "averaged": self._averaged,
            "budgets": dict(self._budgets),
            "start": {self._names[key]: tensor for key, tensor in self._start.items()},
            "directions": dict(self._directions),
            "paths": {name: dataclasses.asdict(path) for name, path in self._paths.items()},
            "results": results,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state that `state_dict` returned, for the same model."""
        if set(state["start"]) != set(self._names.values()):
            raise ValueError(
                f"the state is of a model with the matrices {sorted(state['start'])[:3]}…, this model has "
                f"{sorted(self._names.values())[:3]}…; load it into a Watch of the same model"
            )
        self.steps, self._averaged = int(state["steps"]), int(state["averaged"])
        self._budgets, self._directions = dict(state["budgets"]), dict(state["directions"])
        places = {self._names[key]: key for key in self._start}
        for name, tensor in state["start"].items():
            self._start[places[name]] = tensor.to(self._start[places[name]])
        self._paths = {name: Path(**path) for name, path in state["paths"].items()}
        self.results = {
            int(step): ProbeResult.unpacked(header, {name: array.numpy() for name, array in arrays.items()})
            for step, (header, arrays) in state["results"].items()
        }

    def _follow(self, name: str, parameter: torch.Tensor, spent: float) -> None:
        path = self._paths.setdefault(name, Path(self.every))
        path.steps = self.every
        path.add(parameter, spent)

    def _average(self, name: str, parameter: torch.Tensor) -> None:
        direction = step_direction(self.optimizer, parameter)
        if direction is not None:
            old = self._directions.get(name)
            new = direction if old is None else old + (direction - old) / self._averaged
            self._directions[name] = new.detach()
