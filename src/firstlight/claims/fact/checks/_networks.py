"""The trained perceptrons behind Tables 1 and 2 and Figures 3 and 8 to 10."""

import functools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firstlight.claims._check import Setting
from firstlight.probes._experiments import images
from firstlight.probes._experiments.perceptrons import Recipe, Trained, architecture, train_and_probe
from firstlight.probes._experiments.threads import one_thread

CONVERGED = 1e-3
"""Largest training loss that counts as converged (Section 3.1)."""

BUDGET = 1.5
"""Smallest budget wd·Σlr/(1 − momentum) that counts as long: e^(−2·1.5) = 5 % of the initial WᵀW is left."""

QUICK_RECIPE = Recipe(hidden=3, width=64, epochs=500, rate=0.5, weight_decay=2e-4, batch=32)

PIXELS = {
    "digits": "scaled to [0, 1]",
    "MNIST": "scaled to [0, 1]",
    # The mean of CIFAR-10's raw pixels dominates all other directions; small networks learn little else.
    "CIFAR-10": "scaled to mean 0 and variance 1",
}
"""Preprocessing, which the paper does not print."""


@dataclass(frozen=True)
class Network:
    """A training: data, number of rows, recipe, seeds, and the epochs at which it is probed."""

    data: str
    n: int
    recipe: Recipe
    seeds: tuple[int, ...] = (0,)
    probe_at: tuple[int, ...] = ()

    def train(self, setting: Setting, share: tuple[float, float] = (0.0, 1.0)) -> list[Trained]:
        """Train all seeds; trainings resume from `setting.work`. `share` is this network's part of the progress."""
        results = []
        for place, seed in enumerate(self.seeds):

            def report(fraction: float, note: str, place: int = place) -> None:
                done = share[0] + (share[1] - share[0]) * (place + fraction) / len(self.seeds)
                setting.progress(done, f"{self.data}, n = {self.n}, seed {self.seeds[place]}: {note}")

            if self.data == "digits":
                results.append(_quick(self, seed))
                continue
            chosen, folder = _images(self.data, setting.data).first(self.n), setting.work / "perceptrons"
            options = {"seed": seed, "probe_at": self.probe_at, "backward": True, "work": folder, "progress": report}
            results.append(train_and_probe(chosen, self.recipe, **options))
        return results

    def cost(self) -> float:
        """Return the number of multiplications, to weigh progress."""
        width, inputs = self.recipe.width, {"digits": 64, "MNIST": 784, "CIFAR-10": 3072}[self.data]
        weights = 2 * inputs * width + 3 * (self.recipe.hidden - 1) * width**2
        return float(self.recipe.epochs * self.n * weights * len(self.seeds))


def train_all(networks: dict[str, Network], setting: Setting) -> dict[str, list[Trained]]:
    """Train networks by name, in their order."""
    total = sum(network.cost() for network in networks.values())
    results, done = {}, 0.0
    for name, network in networks.items():
        share = (done / total, (done + network.cost()) / total)
        results[name] = network.train(setting, share)
        done += network.cost()
    return results


def quick_network() -> Network:
    """Return the network of the quick scale: 512 images of digits, three hidden layers of 64 units."""
    return Network("digits", 512, QUICK_RECIPE, (0, 1, 2), tuple(range(0, 500, 50)))


def recipe_setting(networks: dict[str, Network]) -> dict[str, Any]:
    """Return the fields of the experiment, by the names of the claims' `paper_setting`.

    A field in which the networks differ is a table by name.
    """

    def field(value: Any) -> Any:
        by_name = {name: value(network) for name, network in networks.items()}
        values = list(by_name.values())
        return values[0] if all(other == values[0] for other in values) else by_name

    return {
        "data": list(dict.fromkeys(network.data for network in networks.values())),
        "rows": field(lambda network: network.n),
        "depth": field(lambda network: network.recipe.hidden + 1),
        "hidden layers": field(lambda network: network.recipe.hidden),
        "width": field(lambda network: network.recipe.width),
        "weight decay": field(lambda network: network.recipe.weight_decay),
        "learning rate": field(lambda network: network.recipe.rate),
        "epochs": field(lambda network: network.recipe.epochs),
        "batch": field(lambda network: network.recipe.batch),
        "momentum": field(lambda network: network.recipe.momentum),
        "optimizer": "SGD",  # the only one of `train_and_probe`
        "schedule": field(lambda network: _schedule(network.recipe, network.n)),
        **{key: field(lambda network, key=key: architecture(network.recipe)[key]) for key in _ARCHITECTURE},
        "training loss at convergence": f"≤ {CONVERGED:g}",
        "pixels": {network.data: PIXELS[network.data] for network in networks.values()},
        "squared error of a sample": field(lambda network: f"{network.recipe.reduction} over outputs"),
        "seeds": field(lambda network: len(network.seeds)),
    }


def _schedule(recipe: Recipe, n: int) -> str:
    """Return the name of the recipe's schedule, from the rates at four parts of a training of n rows."""
    total = recipe.epochs * recipe.steps(n)
    parts = [total * part // 4 for part in range(4)]
    cosine = [recipe.rate * (1 + math.cos(math.pi * step / total)) / 2 for step in parts]
    same = all(math.isclose(recipe.rate_at(s, n), rate) for s, rate in zip(parts, cosine, strict=True))
    return "cosine" if same else "another"


_ARCHITECTURE = ("activation", "biases", "initialisation", "loss")


def facts(trained: list[Trained]) -> dict[str, Any]:
    """Return budget, losses and accuracies of a network's trainings."""
    return {
        "budget": trained[0].budget,
        "training loss": [result.loss for result in trained],
        "training accuracy": [result.accuracy for result in trained],
    }


@functools.lru_cache(maxsize=16)
def _quick(network: Network, seed: int) -> Trained:
    """Train one seed on digits; remembered, because several claims use it."""
    with one_thread():
        return train_and_probe(
            images.digits().first(network.n), network.recipe, seed=seed, probe_at=network.probe_at, backward=True
        )


@functools.lru_cache(maxsize=2)
def _images(name: str, folder: Path | None) -> images.Images:
    if folder is None:
        raise ValueError(f"{name} is read from a folder: give --data DIR or FIRSTLIGHT_DATA")
    return images.mnist(folder) if name == "MNIST" else images.cifar10(folder).standardised()
