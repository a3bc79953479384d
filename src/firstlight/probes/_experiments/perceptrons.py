"""ReLU perceptrons trained as in the paper (Appendix B) and probed along the way: Tables 1, 2, Figures 3, 8 to 10."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import nn

from firstlight.probes._feature_probe import probe
from firstlight.probes._result import ProbeResult


@dataclass(frozen=True, eq=False)
class Images:
    """Inputs (n, d) in float32 and their classes."""

    name: str
    X: Float[np.ndarray, "n d"]
    labels: Int[np.ndarray, " n"]

    def first(self, n: int, seed: int = 0) -> "Images":
        """Draw n rows without replacement."""
        if n >= len(self.X):
            return self
        rows = np.random.default_rng(seed).permutation(len(self.X))[:n]
        return Images(self.name, self.X[rows], self.labels[rows])

    def standardised(self) -> "Images":
        """Scale pixels to mean 0 and variance 1 over the whole data set."""
        return Images(self.name, ((self.X - self.X.mean()) / self.X.std()).astype(np.float32), self.labels)


def digits() -> Images:
    """Load scikit-learn's 1797 images of 8×8 pixels, scaled to [0, 1]."""
    from sklearn.datasets import load_digits

    X, labels = load_digits(return_X_y=True)
    return Images("digits", (np.asarray(X) / 16).astype(np.float32), np.asarray(labels).astype(np.int64))


def mnist(folder: Path) -> Images:
    """Load the 60 000 training images of `<folder>/mnist/mnist.npz`, scaled to [0, 1]."""
    with np.load(folder / "mnist" / "mnist.npz") as file:
        X, labels = file["X_train"], file["y_train"]
    return Images("MNIST", (X.reshape(len(X), -1) / 255).astype(np.float32), labels.astype(np.int64))


def cifar10(folder: Path) -> Images:
    """Load the 4000 training images of `<folder>/cifar10_subset`, scaled to [0, 1]."""
    with np.load(folder / "cifar10_subset" / "cifar10_4000_1000.npz") as file:
        X, labels = file["X"], file["y"]
    return Images("CIFAR-10", (X.reshape(len(X), -1) / 255).astype(np.float32), labels.astype(np.int64))


@dataclass(frozen=True)
class Recipe:
    """Appendix B: SGD with momentum, cosine learning rate, mean-squared error on one-hot labels."""

    hidden: int = 2
    width: int = 1024
    epochs: int = 200
    rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 1e-4
    batch: int = 64

    def budget(self, n: int, epochs: int | None = None) -> float:
        """Return wd·Σlr/(1 − momentum) after some epochs of n rows; all epochs by default."""
        total = self.epochs * math.ceil(n / self.batch)
        done = total if epochs is None else epochs * math.ceil(n / self.batch)
        rates = self.rate * (1 + np.cos(np.pi * np.arange(done) / total)) / 2
        return self.weight_decay * float(rates.sum()) / (1 - self.momentum)


@dataclass(frozen=True, eq=False)
class Trained:
    """Probe results by epoch, with the final training loss and accuracy."""

    recipe: Recipe
    probes: dict[int, ProbeResult]
    loss: float
    accuracy: float
    budget: float

    @property
    def last(self) -> ProbeResult:
        """The probe result after the last epoch."""
        return self.probes[max(self.probes)]


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
    progress: Callable[[float], None] = lambda fraction: None,
) -> Trained:
    """Train a perceptron and probe it on all training rows after given epochs and at the end.

    **Arguments:**

    - `images`: training data.
    - `recipe`: architecture and optimizer.
    - `seed`: seed of weights and batches.
    - `probe_at`: epochs at which to probe.
    - `backward`: whether to compute the backward matrices too.
    - `progress`: callback that receives the fraction done.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        X, labels = torch.from_numpy(images.X), torch.from_numpy(images.labels)
        Y = nn.functional.one_hot(labels).float()
        model = perceptron(X.shape[1], Y.shape[1], recipe)
        optimizer = torch.optim.SGD(model.parameters(), recipe.rate, recipe.momentum, weight_decay=recipe.weight_decay)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(
            optimizer, recipe.epochs * math.ceil(len(X) / recipe.batch)
        )
        results: dict[int, ProbeResult] = {}
        for epoch in range(recipe.epochs + 1):
            if epoch in probe_at or epoch == recipe.epochs:
                results[epoch] = _probed(model, X, Y, recipe, backward, recipe.budget(len(X), epoch))
            if epoch == recipe.epochs:
                break
            for rows in torch.randperm(len(X)).split(recipe.batch):
                optimizer.zero_grad(set_to_none=True)
                nn.functional.mse_loss(model(X[rows]), Y[rows]).backward()
                optimizer.step()
                schedule.step()
            progress((epoch + 1) / recipe.epochs)
        with torch.no_grad():
            outputs = model(X)
            loss = float(nn.functional.mse_loss(outputs, Y))
            accuracy = float((outputs.argmax(1) == labels).float().mean())
    return Trained(recipe, results, loss, accuracy, recipe.budget(len(X)))


def _probed(
    model: nn.Module, X: torch.Tensor, Y: torch.Tensor, recipe: Recipe, backward: bool, budget: float
) -> ProbeResult:
    batches = zip(X.split(512), Y.split(512), strict=True)
    return probe(model, batches, nn.MSELoss(), recipe.weight_decay, backward=backward, known={"budgets": budget})
