"""False data for Li₂'s trained networks and boundaries."""

import copy
from collections.abc import Callable

import numpy as np

from firstlight import groups
from firstlight.claims.li2.checks.boundaries import COMPOSITES, PRIMES, PRODUCTS
from tests.claims.falsehoods import Data, Falsehood, put


def same(left: str, right: str) -> Falsehood:
    """Put the entry at one path in the place of the entry at another path."""

    def falsify(data: Data) -> Data:
        entry = data
        for name in left.split("/"):
            entry = entry[name]
        return put(right, copy.deepcopy(entry))(data)

    return falsify


def both(*falsehoods: Falsehood) -> Falsehood:
    """Apply several falsehoods in turn."""

    def falsify(data: Data) -> Data:
        for falsehood in falsehoods:
            data = falsehood(data)
        return data

    return falsify


def boundaries(names: tuple[str, ...], parts: dict[str, list[str]], p: Callable[[float], float], noise=0.01) -> Data:
    """Return what a search finds if the boundary is p(M); the energies are those of Theorem 4."""
    random = np.random.default_rng(0)
    order = {name: groups.parse(name).order for name in names}
    scatter = lambda: float(np.exp(noise * random.normal()))  # noqa: E731
    trained = {n: {"p50": p(M) * scatter(), "error": noise, "seeds": 5.0, "censored": 0.0} for n, M in order.items()}
    drift = {"plain energy": 0.55, "residualised energy": 0.23}
    energies = {
        label: {n: float(2 * M**x * np.log(M) / M) * scatter() for n, M in order.items()} for label, x in drift.items()
    }
    return {"order": order, "trained": trained, "energies": energies, "parts": parts}


def cyclic(p: Callable[[float], float], noise=0.01) -> Data:
    return boundaries(PRIMES + COMPOSITES, {"prime M": [*PRIMES], "composite M": [*COMPOSITES]}, p, noise)


def product(p: Callable[[float], float], noise=0.01) -> Data:
    return boundaries(PRODUCTS, {"product groups": [*PRODUCTS]}, p, noise)


def law(drift: float) -> Callable[[float], float]:
    """Return p = 2.7 M^drift ln M / M."""
    return lambda M: float(2.7 * M**drift * np.log(M) / M)


def _scaling(build: Callable[..., Data], small: str, large: str) -> dict[str, Falsehood]:
    """Return falsehoods of a law of the boundary."""
    return {
        "a constant p, two groups": same(f"same share/{large}", f"same share/{small}"),
        "a constant p, all groups": lambda data: build(lambda M: 0.3),
        "the law of the energy as defined": lambda data: build(law(0.55)),
        "a p that grows": lambda data: build(lambda M: 0.002 * M),
        "n ∝ M": lambda data: build(lambda M: 10 / M),
        "only noise": lambda data: build(law(0.0), noise=0.8),
        "the printed decay suffices": lambda data: build(law(0.1)) | {"as printed": {"Z23": [1] * 5}},
    }


def _few_nodes(muon: float) -> Falsehood:
    """Return test losses on the figure's group, with Muon's at a multiple of Adam's."""
    adam = [0.57, 0.56, 0.58, 0.57]
    return lambda data: {"order": 71, "test loss": {"K = 64": {"Adam": adam, "Muon": [muon * loss for loss in adam]}}}


FIGURES: dict[str, dict[str, Falsehood]] = {
    "li2.theorem-4": {
        "M log M exactly": both(
            put("p50/plain energy/11", [0.6, 0.61, 0.59, 0.6, 0.6]),
            put("p50/plain energy/31", [x * np.log(31) / 31 * 11 / np.log(11) for x in (0.6, 0.61, 0.59, 0.6, 0.6)]),
        ),
        "one energy for both labels": same("p50/plain energy", "p50/residualised energy"),
        "d² exactly": same("by dimension/D13/log change of d²", "by dimension/D13/log change"),
        "another number than the text's": put("p50/residualised energy/11", lambda p: [2 * x for x in p]),
    },
    "li2.section-5-4": {
        "neither share generalises": same("generalised/smaller share", "generalised/larger share"),
        "every share generalises": both(
            same("generalised/larger share", "generalised/smaller share"),
            same("generalised/larger share", "generalised/smallest share"),
        ),
    },
    "li2.section-7-order": {
        "all layers at once": both(
            same("Adam/half of the change at/layer 1", "Adam/half of the change at/layer 2"),
            same("Adam/half of the change at/layer 1", "Adam/half of the change at/layer 3"),
        ),
        "upper layers at rest": put("Adam/done when layer 1 is half done/layer 3", lambda done: [0.05] * len(done)),
    },
    "li2.section-8": {
        "equally sharp": same("networks/generalising/log sharpness", "networks/overfitting/log sharpness"),
        "as many nodes": same("networks/generalising/log nodes", "networks/noisy labels/log nodes"),
        "the rate does not matter": same("first stage/small rate", "first stage/large rate"),
        "limited data as sharp as much data": same(
            "networks/generalising/log sharpness", "networks/limited data/log sharpness"
        ),
    },
    "li2.figure-1": {
        "width does not matter": same("no decay/K = 128/change", "no decay/K = 512/change"),
        "decay does not matter": same("no decay/K = 256", "suitable decay/K = 256"),
        "generalises without decay": put("no decay/K = 512/test", [1.0, 1.0, 1.0]),
    },
    "li2.figure-2": {
        "decay does not matter": same("without", "with decay"),
        "grokking without decay": same("with decay/generalised at", "without/generalised at"),
        "the printed loss is the code's": both(
            same("with decay/generalised at", "as printed/generalised at"),
            same("without/generalised at", "with decay/generalised at"),
        ),
        "the same gradient": same("without/|G_F|", "with decay/|G_F|"),
        "W moves first": put("with decay/V over W, first", lambda ratios: [-ratio for ratio in ratios]),
        "nearly diagonal at the start": put("normal weights/F̃ᵀF̃", [0.3, 0.3]),
    },
    "li2.figure-3": {
        "the rate does not matter": both(
            same("generalised/Z17/0.42/small rate", "generalised/Z17/0.42/large rate"),
            same("generalised/Z17/0.43/small rate", "generalised/Z17/0.43/large rate"),
        ),
        "a large rate helps": both(
            same("generalised/Z17/0.35/small rate", "generalised/Z17/0.42/small rate"),
            same("generalised/Z17/0.35/small rate", "generalised/Z17/0.43/small rate"),
        ),
        "no transition": same("generalised/Z17/0.35", "generalised/Z17/0.6"),
    },
    "li2.figure-4": _scaling(cyclic, "Z13", "Z31"),
    "li2.figure-5": {
        "nodes of one frequency by chance": put("printed pairs/rate 1/purity", lambda purity: [0.25] * len(purity)),
        "the large rate neither": put("printed pairs/rate 3/test", lambda test: [0.7] * len(test)),
        "no difference at the boundary": same("boundary/rate 1/best", "boundary/rate 3/best"),
    },
    "li2.figure-6": {"equal losses": _few_nodes(1.0), "Adam is lower": _few_nodes(1.1)},
    "li2.figure-7": {
        "depth does not matter": same("2 layers/generalised at", "4 layers/generalised at"),
        "features of shuffled labels": same("3 layers/purity of the null", "3 layers/purity"),
        "longer only because it memorises later": both(
            same("3 layers/generalised at", "3 layers/memorised at"),
            put("3 layers/memorised at", lambda epochs: [epoch - 200 for epoch in epochs]),
        ),
        "pure features": put("2 layers/purity", lambda purity: [1.0] * len(purity)),
    },
    "li2.figure-8": _scaling(product, "Z3xZ4", "Z4xZ7"),
}
