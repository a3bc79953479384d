"""Appendix C and Figure 11: deep linear networks."""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight import features
from firstlight._files import write_atomically
from firstlight._threads import one_blas_thread
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_least, at_most
from firstlight.records import Criterion, figure
from firstlight.theories import fact

D, C = 10, 5
"""Inputs and outputs of the networks."""

AT_REST, BALANCED = 1e-12, 1e-9
"""Largest entry of the gradient of 𝓛_λ at a critical point, and error of the identities there."""

_REASON = "a gradient of 1e-12 over λ = 0.05, under roots of eigenvalues down to 1e-3 of the largest"


def _measure_balanced(setting: Setting) -> Measurement:
    """Measure balance and powers of AGOP at every layer of exact critical points: a minimum and a saddle per depth."""
    seeds = setting.seeds_or(range(setting.choose(quick=2, paper=5)))
    depths, lam = (2, 3, 4, 5), 0.05
    data: dict[str, list[float]] = {"gradient": [], "imbalance": [], "AGOP": [], "FACT": [], "teacher": []}
    for seed in seeds:
        T = np.random.default_rng(seed).standard_normal((D, C))
        problem = fact.LinearProblem(np.eye(D), T, lam, 1 / C)
        for depth in depths:
            minimum = fact.lemmas.balanced_minimiser(problem, depth, width=8)
            # The saddle is the minimum without its largest singular direction.
            saddle = [_without(W, first=l == 0, last=l == depth - 1) for l, W in enumerate(minimum)]
            for weights in (minimum, saddle):
                for name, values in _errors(problem, weights).items():
                    data[name] += values
            data["teacher"].append(_teacher_error(T, depth))
    note = "Balance and powers are exact at every critical point with λ > 0, saddles too, near the ground truth or not."
    return Measurement(data, {"depths": depths, "λ": lam, "λ near the ground truth": NEAR}, seeds, note=note)


def _teacher_error(T: np.ndarray, depth: int) -> float:
    """Return the relative error of ((W*)ᵀW*)^(1/L) at the minimum with a small λ, which fits the ground truth."""
    weights = fact.lemmas.balanced_minimiser(fact.LinearProblem(np.eye(D), T, NEAR, 1 / C), depth, width=8)
    return _off(features.matrix_power(T @ T.T, 1 / depth, floor=1e-12), features.nfm(weights[0]))


def _errors(problem: fact.LinearProblem, weights: list[np.ndarray]) -> dict[str, list[float]]:
    """Return the gradient, the imbalance and the relative errors of the identities of all layers."""
    depth, lam, gradients = len(weights), problem.weight_decay, problem.gradients(weights)
    errors: dict[str, list[float]] = {"AGOP": [], "FACT": []}
    for l, (W, G, A) in enumerate(zip(weights, gradients, fact.lemmas.layer_agops(weights), strict=True)):
        N = features.nfm(W)
        root = features.matrix_power(A, 1 / (depth - l), floor=1e-12)
        errors["AGOP"].append(_off(root, N))
        errors["FACT"].append(_off(features.fact(W, G, lam), N))
    return errors | {
        "gradient": [max(float(np.abs(G + lam * W).max()) for G, W in zip(gradients, weights, strict=True))],
        "imbalance": [fact.lemmas.imbalance(weights)],
    }


def _off(A: np.ndarray, N: np.ndarray) -> float:
    return float(np.linalg.norm(A - N) / np.linalg.norm(N))


def _without(W: np.ndarray, *, first: bool, last: bool) -> np.ndarray:
    """Remove the leading hidden unit of a layer on both sides."""
    W = W.copy()
    if not first:
        W[0] = 0
    if not last:
        W[:, 0] = 0
    return W


def _judge_balanced(data: Mapping[str, Any]) -> list[Criterion]:
    """Require exact balance and exact powers of AGOP; the power of the teacher is an approximation only."""
    error = "largest error relative to ‖WᵀW‖, minima and saddles of depths 2 to 5"
    return [
        at_most(
            "the points are critical",
            "largest entry of ∇𝓛_λ",
            data["gradient"],
            AT_REST,
            reason="rounding of a product of five matrices of order one, 64 × 10 × 2⁻⁵²",
            form="precondition",
        ),
        at_most(
            "layers are balanced: singular values at each layer are equal",
            "imbalance of adjacent layers",
            data["imbalance"],
            BALANCED,
            reason=_REASON,
        ),
        at_most("W₁ᵀW₁ = AGOP^(1/L), and W_lᵀW_l = AGOP_l^(1/(L−l+1))", error, data["AGOP"], BALANCED, reason=_REASON),
        at_most("W_lᵀW_l = FACT at every layer", error, data["FACT"], BALANCED, reason=_REASON),
        at_most(
            "close to the ground truth, W₁ᵀW₁ ≈ ((W*)ᵀW*)^(1/L)",
            f"largest error relative to ‖W₁ᵀW₁‖ at minima with λ = {NEAR:g}",
            data["teacher"],
            CLOSE,
            reason="the error term (λ/2κ)(2/L)s^(2/L−2), κ = 1/5, is below 0.02 for singular values s ≥ 0.3; times 5",
        ),
    ]


NEAR, CLOSE = 1e-3, 0.1
"""Weight decay at which a network is close to the ground truth, and the error that counts as approximately equal."""

exactly_balanced = Check(_measure_balanced, _judge_balanced)

POWERS = (1 / 5, 1 / 4, 1 / 3, 1 / 2, 1.0)
HIGH_COSINE = 0.999
"""The paper's own bound for FACT."""

CLOSE_TO_ONE = 0.99
"""Cosine that counts as close to 1."""


def _measure_powers(setting: Setting) -> Measurement:
    """Train networks from PyTorch's initialisation; compare powers of AGOP and FACT with W₁ᵀW₁ by their cosine."""
    seeds = setting.seeds_or((0,))
    width, depths, n = setting.choose(quick=(32, (2, 3), 512), paper=(512, (2, 3, 4, 5), 5000))
    rate, decay, batch, epochs = setting.choose(quick=0.02, paper=5e-3), 1e-2, 128, 5000
    steps = epochs * math.ceil(n / batch)
    # A network of depth L costs (L − 2)·width² a step, and a first and a last layer.
    costs = np.cumsum([0, *[(depth - 2) * width + 2 * D for depth in depths]], dtype=float)
    networks: dict[str, dict[str, Any]] = {}
    for seed in seeds:
        for place, depth in enumerate(depths):
            key = f"L = {depth}, seed {seed}"
            saved = setting.work / "linear" / f"{width}-{depth}-{n}-{rate}-{epochs}-{seed}.json"
            if setting.scale != "quick" and saved.exists():
                networks[key] = json.loads(saved.read_text(encoding="utf-8"))
                continue

            def report(fraction: float, place: int = place, depth: int = depth) -> None:
                done = costs[place] + fraction * (costs[place + 1] - costs[place])
                setting.progress(float(done / costs[-1]), f"{depth} layers, {fraction:.0%}")

            rng = np.random.default_rng(seed)
            T, X = rng.standard_normal((D, C)), rng.standard_normal((n, D))
            start = fact.lemmas.linear_init(seed, D, C, width, depth)
            options = {"weight_decay": decay, "rate": rate, "batch": batch, "epochs": epochs, "seed": seed}
            # Products with ten columns are too small for several threads.
            with one_blas_thread():
                weights = fact.train_linear_in_batches(X, T, start, **options, progress=report)
            problem = fact.LinearProblem(X.T @ X / n, T, decay, 1 / C)
            networks[key] = _cosines(problem, weights)
            if setting.scale != "quick":
                write_atomically(saved, json.dumps(networks[key]).encode())
    data = {"networks": networks, "rate": rate, "decay": decay, "budget": decay * rate * steps}
    used = {
        "inputs": D,
        "distribution of inputs": "N(0, I)",
        "loss": "mean-squared error",
        "outputs": C,
        "width": width,
        "depths": depths,
        "rows": n,
        "batch": batch,
        "learning rate": rate,
        "weight decay": decay,
        "epochs": epochs,
        "optimizer": "SGD",
        "initialisation": "PyTorch",
        "teacher": "standard Gaussian entries",
        "seeds": len(seeds),
    }
    series = [
        figure.Series(f"L = {depth}", np.array(POWERS), np.array(networks[f"L = {depth}, seed {seeds[0]}"]["powers"]))
        for depth in depths
    ]
    shown = figure.curves(
        series,
        x="power of AGOP",
        y="cosine with W₁ᵀW₁",
        title="The right power of AGOP is one over the depth",
        caption=f"Width {width}.",
    )
    note = "A batch enters a step only by its second moment, so the step is that of minibatch SGD at less cost."
    return Measurement(data, used, seeds, (shown,), note)


def _cosines(problem: fact.LinearProblem, weights: list[np.ndarray]) -> dict[str, Any]:
    """Return cosines with W₁ᵀW₁, and the spread of singular values over layers."""
    depth, N, A = len(weights), features.nfm(weights[0]), fact.lemmas.layer_agops(weights)[0]

    def cosine(power: float) -> float:
        return float(features.cosine(features.matrix_power(A, power, floor=1e-9), N))

    slope = problem.gradients(weights)[0]
    values = np.array([np.linalg.svd(W, compute_uv=False)[:C] for W in weights])
    return {
        "powers": [cosine(power) for power in POWERS],
        "one over the depth": cosine(1 / depth),
        "best other power": max(cosine(power) for power in POWERS if abs(power - 1 / depth) > 1e-9),
        "FACT": float(features.cosine(features.fact(weights[0], slope, problem.weight_decay), N)),
        "singular values": float(np.max(np.ptp(values, axis=0)) / values.max()),
        "largest singular value": float(values.max()),
    }


def _judge_powers(data: Mapping[str, Any]) -> list[Criterion]:
    """Require the right power of AGOP to be close to 1 and the best one, FACT ≥ 0.999, and equal singular values."""
    networks = data["networks"]

    def by_network(name: str) -> dict[str, float]:
        return {key: values[name] for key, values in networks.items()}

    lead = {key: values["one over the depth"] - values["best other power"] for key, values in networks.items()}
    left = math.exp(-2 * data["budget"])
    return [
        at_least(
            "the networks have learned",
            "largest singular value of a layer",
            by_network("largest singular value"),
            0.1,
            reason="a network that decays to zero is balanced trivially",
            form="precondition",
        ),
        at_least(
            "AGOP^(1/L) has cosine similarity close to 1 to W₁ᵀW₁",
            "cosine of AGOP^(1/L), by depth",
            by_network("one over the depth"),
            CLOSE_TO_ONE,
            reason="the printed bound of FACT is 0.999; close to 1 is ten times its distance from 1",
        ),
        above(
            "the power must be tuned with the depth",
            "cosine of AGOP^(1/L) minus that of the best other power of 1/5, 1/4, 1/3, 1/2, 1",
            lead,
            0,
            reason="an order",
        ),
        at_least(
            "FACT has cosine similarity ≥ 0.999 at all depths",
            "cosine of FACT, by depth",
            by_network("FACT"),
            HIGH_COSINE,
            reason="as printed",
            form="printed",
        ),
        at_least(
            "FACT has cosine similarity ≥ 0.99 at all depths",
            "cosine of FACT, by depth",
            by_network("FACT"),
            CLOSE_TO_ONE,
            reason="gradient noise of batches of 128 rows moves FACT at the last step; ten times the printed 1e-3",
            form="corrected",
        ),
        at_most(
            "the singular values of all weight matrices are identical",
            "largest difference between layers, relative to the largest singular value",
            by_network("singular values"),
            32 * data["rate"] * data["decay"] / 2 + 8 * left,
            reason="steps of size η unbalance layers by ηλ/2, times 32; 8·e^(−2·budget) of the start is left",
        ),
    ]


powers_by_depth = Check(_measure_powers, _judge_powers)
