"""ReLU perceptrons trained as in the paper (Appendix B) and probed along the way: Tables 1, 2, Figures 3, 8 to 10.

A training writes a checkpoint at the end of an epoch and resumes from it bit for bit on the same machine.
"""

import functools
import hashlib
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load, save
from torch import nn

from firstlight import _interrupts as interrupts
from firstlight._elapsed import credit
from firstlight._files import write_atomically
from firstlight.flow._perceptron import Layer, Network, Sgd, placed, train_epoch
from firstlight.probes._experiments.images import Images
from firstlight.probes._probe import probe

EVERY = 60.0
"""Seconds between checkpoints."""

Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Recipe:
    """Appendix B: SGD with momentum, cosine learning rate, mean-squared error on one-hot labels.

    `reduction` is how the squared error combines the outputs of a sample: PyTorch's mean, or the sum.
    """

    hidden: int = 2
    width: int = 1024
    epochs: int = 200
    rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 1e-4
    batch: int = 64
    reduction: str = "mean"

    def steps(self, n: int) -> int:
        """Return the number of steps in an epoch of n rows."""
        return math.ceil(n / self.batch)

    def rate_at(self, step: int, n: int) -> float:
        """Return the learning rate of a step."""
        return self.rate * (1 + math.cos(math.pi * step / (self.epochs * self.steps(n)))) / 2

    def budget(self, n: int, epochs: int | None = None) -> float:
        """Return wd·Σlr/(1 − momentum) after some epochs of n rows; all epochs by default."""
        total = self.epochs * self.steps(n)
        done = total if epochs is None else epochs * self.steps(n)
        rates = self.rate * (1 + np.cos(np.pi * np.arange(done) / total)) / 2
        return self.weight_decay * float(rates.sum()) / (1 - self.momentum)

    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the mean over samples of the squared error."""
        error = nn.functional.mse_loss(outputs, targets)
        return error if self.reduction == "mean" else error * targets.shape[1]


@dataclass(frozen=True)
class Trained:
    """Alignments of every layer by epoch, with the training loss and accuracy at the end.

    **Arguments:**

    - `recipe`: architecture and optimizer.
    - `n`: number of training rows.
    - `forward`, `backward`: epoch → for each layer, measure → alignment with WᵀW or WWᵀ.
    - `residuals`: ‖WᵀW − FACT‖/‖WᵀW‖ of each layer at the end; 0 at a critical point.
    - `loss`, `accuracy`: over all training rows, in the recipe's reduction.
    """

    recipe: Recipe
    n: int
    forward: dict[int, list[dict[str, float]]]
    backward: dict[int, list[dict[str, float]]]
    residuals: list[float]
    loss: float
    accuracy: float

    @property
    def budget(self) -> float:
        """wd·Σlr/(1 − momentum) of the whole training."""
        return self.recipe.budget(self.n)

    def last(self, *, backward: bool = False) -> list[dict[str, float]]:
        """Return the alignments of every layer at the end."""
        return (self.backward if backward else self.forward)[self.recipe.epochs]


def perceptron(d: int, c: int, recipe: Recipe) -> nn.Sequential:
    """Build linear layers with biases and ReLU between them, in PyTorch's default initialisation."""
    sizes = [d, *[recipe.width] * recipe.hidden, c]
    layers: list[nn.Module] = []
    for m, k in zip(sizes[:-1], sizes[1:], strict=True):  # noqa: RUF007
        layers += [nn.Linear(m, k), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def train_and_probe(
    images: Images,
    recipe: Recipe,
    *,
    seed: int = 0,
    probe_at: Sequence[int] = (),
    backward: bool = False,
    work: Path | None = None,
    progress: Progress = lambda fraction, note: None,
) -> Trained:
    """Train a perceptron and probe it on all training rows after given epochs and at the end.

    **Arguments:**

    - `images`: training data.
    - `recipe`: architecture and optimizer.
    - `seed`: seed of weights and batches.
    - `probe_at`: epochs at which to probe.
    - `backward`: whether to compute the backward matrices too.
    - `work`: folder of checkpoints and results, from which an interrupted training resumes.
    - `progress`: callback that receives the fraction done and the remaining time.
    """
    plan = {
        "data": [images.name, len(images.X), hashlib.sha256(images.X.tobytes()).hexdigest()[:16]],
        "recipe": asdict(recipe),
        "seed": seed,
        "probe_at": sorted({*probe_at, recipe.epochs}),
        "backward": backward,
    }
    done = None if work is None else work / f"{_name(plan)}.json"
    if done is not None and done.exists():
        saved = json.loads(done.read_text(encoding="utf-8"))
        credit(saved["seconds"])
        return _trained(recipe, saved)
    training = _Training(images, recipe, seed, plan, None if work is None else work / f"{_name(plan)}.safetensors")
    training.run(progress)
    result = training.result()
    if done is not None:
        write_atomically(done, json.dumps(result, indent=1).encode())
        training.discard()
    return _trained(recipe, result)


class _Training:
    """A model, its optimizer and the order of its rows; everything that a checkpoint holds."""

    def __init__(self, images: Images, recipe: Recipe, seed: int, plan: dict[str, Any], path: Path | None) -> None:
        self.recipe, self.plan, self.path = recipe, plan, path
        self.X, self.labels = torch.from_numpy(images.X), torch.from_numpy(images.labels)
        self.Y = nn.functional.one_hot(self.labels).float()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.model = perceptron(self.X.shape[1], self.Y.shape[1], recipe)
        self.order = torch.Generator().manual_seed(seed)
        self.linear = [layer for layer in self.model if isinstance(layer, nn.Linear)]
        self.sgd = Sgd(recipe.momentum, recipe.weight_decay, recipe.batch, recipe.reduction)
        self.inputs, self.targets = placed((images.X, self.Y.numpy()))
        parameters = [(layer.weight, layer.bias) for layer in self.linear]
        self.network = _layers(parameters)
        self.momenta = _layers([(torch.zeros_like(W), torch.zeros_like(b)) for W, b in parameters])
        self.epoch, self.seconds = 0, 0.0
        self.probes: dict[str, Any] = {"forward": {}, "backward": {}}
        if path is not None and path.exists():
            self._restore(path)

    def run(self, progress: Progress) -> None:
        """Train to the last epoch."""
        epochs, started, first = self.recipe.epochs, time.monotonic(), self.epoch
        saved, before = started, self.seconds
        while True:
            if self.epoch in self.plan["probe_at"] and str(self.epoch) not in self.probes["forward"]:
                self._probe()
                self.seconds = before + time.monotonic() - started
                self._checkpoint()
            if self.epoch == epochs:
                return
            self._train_epoch()
            now = time.monotonic()
            self.seconds = before + now - started
            if now - saved > EVERY:
                self._checkpoint()
                saved = now
            left = (now - started) / (self.epoch - first) * (epochs - self.epoch)
            progress(self.epoch / epochs, f"epoch {self.epoch} of {epochs}, {left / 60:.0f} min left")

    def result(self) -> dict[str, Any]:
        """Return the alignments and the training error as plain data."""
        self._load_model()
        with torch.no_grad():
            outputs = torch.cat([self.model(part) for part in self.X.split(4096)])
            loss = float(self.recipe.loss(outputs, self.Y))
            accuracy = float((outputs.argmax(1) == self.labels).float().mean())
        return {"plan": self.plan, **self.probes, "loss": loss, "accuracy": accuracy, "seconds": self.seconds}

    def discard(self) -> None:
        """Delete the checkpoint of a finished training."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _train_epoch(self) -> None:
        """Train an epoch; XLA flushes subnormal numbers, to which the weights of idle units decay, to zero."""
        n, steps = len(self.X), self.recipe.steps(len(self.X))
        rates = [self.recipe.rate_at(step, n) for step in range(self.epoch * steps, (self.epoch + 1) * steps)]
        order = torch.randperm(n, generator=self.order).to(torch.int32).numpy()
        rows = (self.inputs, self.targets, order, np.array(rates, np.float32))
        self.network, self.momenta = train_epoch(self.sgd, self.network, self.momenta, *rows)
        self.epoch += 1

    def _load_model(self) -> None:
        """Copy the network into the PyTorch model, which the probe reads."""
        with torch.no_grad():
            for layer, (W, b) in zip(self.linear, self.network, strict=True):
                layer.weight.copy_(_tensor(W))
                layer.bias.copy_(_tensor(b))

    def _probe(self) -> None:
        self._load_model()
        backward = self.plan["backward"]
        batches = zip(self.X.split(512), self.Y.split(512), strict=True)
        result = probe(self.model, batches, self.recipe.loss, self.recipe.weight_decay, backward=backward)
        self.probes["forward"][str(self.epoch)] = [layer.alignments for layer in result.layers]
        self.probes["backward"][str(self.epoch)] = [layer.backward for layer in result.layers]
        self.probes["residuals"] = [layer.residual for layer in result.layers]

    def _checkpoint(self) -> None:
        if self.path is None:
            return
        tensors = {f"parameter {i}": _tensor(array) for i, array in enumerate(_flat(self.network))}
        tensors |= {f"momentum {i}": _tensor(array) for i, array in enumerate(_flat(self.momenta))}
        tensors["order"] = self.order.get_state()
        state = {"plan": self.plan, "epoch": self.epoch, "probes": self.probes, "seconds": self.seconds}
        with interrupts.deferred():
            write_atomically(self.path, save(tensors, {"state": json.dumps(state)}))

    def _restore(self, path: Path) -> None:
        content = path.read_bytes()
        header = int.from_bytes(content[:8], "little")
        state = json.loads(json.loads(content[8 : 8 + header])["__metadata__"]["state"])
        if state["plan"] != self.plan:
            raise ValueError(f"{path} holds another training; delete it or choose another work folder")
        tensors = load(content)
        count = len(_flat(self.network))
        self.network, self.momenta = (
            _layers([(tensors[f"{name} {i}"], tensors[f"{name} {i + 1}"]) for i in range(0, count, 2)])
            for name in ("parameter", "momentum")
        )
        self.order.set_state(tensors["order"])
        self.epoch, self.probes, self.seconds = state["epoch"], state["probes"], state["seconds"]
        credit(self.seconds)


def _layers(parameters: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> Network:
    """Return weights and biases as arrays that training may overwrite."""
    return placed(tuple(Layer(*(tensor.detach().numpy() for tensor in pair)) for pair in parameters))


def _flat(network: Network) -> list[Any]:
    return [array for layer in network for array in layer]


def _tensor(array: Any) -> torch.Tensor:
    return torch.from_numpy(np.array(array))


def _name(plan: dict[str, Any]) -> str:
    """Return a readable and unique name of a training."""
    name, n, _ = plan["data"]
    digest = hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()[:10]
    recipe = plan["recipe"]
    return (
        f"{name.lower()}-{n}-{recipe['hidden']}x{recipe['width']}-wd{recipe['weight_decay']:g}-{plan['seed']}-{digest}"
    )


def _trained(recipe: Recipe, result: dict[str, Any]) -> Trained:
    forward, backward = (
        {int(epoch): layers for epoch, layers in result[side].items()} for side in ("forward", "backward")
    )
    n = result["plan"]["data"][1]
    return Trained(recipe, n, forward, backward, result["residuals"], result["loss"], result["accuracy"])


@functools.cache
def architecture(recipe: Recipe) -> dict[str, Any]:
    """Return activation, biases, initialisation and loss, read from the model that the recipe builds."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = perceptron(2, 2, recipe)
        torch.manual_seed(0)
        fresh = nn.Linear(2, recipe.width)
    linear = [layer for layer in model if isinstance(layer, nn.Linear)]
    others = {type(layer).__name__ for layer in model} - {"Linear"}
    outputs, targets = torch.tensor([[1.0, 2.0]]), torch.tensor([[0.0, 0.0]])
    error = float(recipe.loss(outputs, targets)) * (2 if recipe.reduction == "mean" else 1)
    return {
        "activation": ", ".join(sorted(others)),
        "biases": all(layer.bias is not None for layer in linear),
        "initialisation": "PyTorch" if torch.equal(linear[0].weight, fresh.weight) else "another",
        "loss": "mean-squared error" if math.isclose(error, 5.0) else "another",
    }
