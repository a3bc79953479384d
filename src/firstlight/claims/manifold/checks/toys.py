"""Figures 1 and 2: linear models that grok the addition of two and three numbers."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_least, at_most, below
from firstlight.claims.manifold.checks._toy_flows import (
    AHEAD,
    FIRST,
    LAMBDA,
    LAMBDAS,
    LOW,
    SOLVED,
    SOLVER,
    agrees,
    share_ahead,
    solved_flows,
)
from firstlight.records import Criterion, figure
from firstlight.theories import manifold

_LEARNING_RATE = 0.1
_MOST_STEPS = 2000

FEW_HUNDRED = (100, 1000)
"""What counts as a few hundred."""
TEN = 10
"""Printed number of steps until the training loss is very low."""


def _descent(inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Train Figure 1's model for each λ by gradient descent; return training and test loss, both (steps, λ)."""
    lams = np.array(LAMBDAS)[:, None]
    path = [np.tile([-1.0, 1.0], (len(lams), 1))]
    for _ in range(_MOST_STEPS):
        w = path[-1]
        path.append(w - _LEARNING_RATE * (2 * (w.sum(1, keepdims=True) - 2) + 2 * lams * w))
    weights = np.array(path)
    return (weights.sum(-1) - 2) ** 2, np.mean(((weights - 1) @ inputs.T) ** 2, axis=-1)


def _steps_until_low(losses: np.ndarray) -> np.ndarray:
    """Return the first step with a low loss for each column, ∞ if there is none."""
    low = losses <= LOW * losses[0]
    return np.where(low.any(0), low.argmax(0), np.inf)


def _measure_addition(setting: Setting) -> Measurement:
    """Solve Figure 1's flows, and train by gradient descent, with test samples drawn once per seed."""
    seeds = setting.seeds_or(range(5))
    w0 = np.array(manifold.lemmas.TOYS["addition"].starts[0])
    times, paths = solved_flows(setting)
    path = paths["addition"]
    exact = np.stack([manifold.lemmas.addition(w0, lam, times) for lam in LAMBDAS], axis=1)
    inputs = {seed: np.random.default_rng(seed).standard_normal((100, 2)) for seed in seeds}
    trained = [_descent(X) for X in inputs.values()]
    train = (path.sum(-1) - 2) ** 2
    test = np.mean(((path - 1) @ inputs[seeds[0]].T) ** 2, axis=-1)
    data = {
        "λ": LAMBDAS,
        "distance from the closed form": np.abs(path - exact).max(),
        "closest to (0, 2)": np.linalg.norm(path - [0.0, 2.0], axis=-1).min(0),
        "end, distance from (1, 1)": np.linalg.norm(path[-1] - 1, axis=-1),
        "training loss at the end": train[-1],
        "training loss after 10 steps, over the first": trained[0][0][TEN] / trained[0][0][0],
        "steps until the test loss is low": [_steps_until_low(loss).tolist() for _, loss in trained],
    }
    used = {
        "model": "ŷ = w₁x₁ + w₂x₂",
        "training sample": "(1, 1) → 2",
        "initial weights": (-1, 1),
        "weight decay": LAMBDAS,
        "test samples": 100,
        "test inputs": "normal",
        "optimizer": "gradient flow, and gradient descent for the numbers of steps",
        "learning rate": _LEARNING_RATE,
    }
    note = "The paper prints a mean-squared error; with one sample the mean is the sum. Time is flow time."
    return Measurement(data, used, seeds, (_addition_figure(times, path, train, test),), note)


def _judge_addition(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge the two phases, their numbers of steps, and the order in λ."""
    lams = np.array(data["λ"])
    # After t = log(2/λ)/4 the sum is λ from 2, and the difference has lost (λ/2)·log(2/λ) of 2.
    passing = np.sqrt(2) * lams * np.sqrt(1 + np.log(2 / lams) ** 2 / 4)
    steps = np.array(data["steps until the test loss is low"])
    losses = np.array(data["training loss at the end"])
    low, high = FEW_HUNDRED
    return [
        agrees("ŷ = w₁x₁ + w₂x₂", data["distance from the closed form"]),
        at_most(
            "first phase: a low loss at (w₁, w₂) ≈ (0, 2)",
            "closest distance to (0, 2) for each λ, over the bound √2·λ·√(1 + log²(2/λ)/4)",
            data["closest to (0, 2)"] / passing,
            1.0,
            reason="the solution at t = log(2/λ)/4 is within the bound, for every λ < 1",
        ),
        at_most(
            "second phase: eventually (w₁, w₂) ≈ (1, 1)",
            "distance from (1, 1) at the end for each λ, over λ/√2",
            data["end, distance from (1, 1)"] / (lams / np.sqrt(2)),
            1.0,
            reason="the exact solution ends √2·λ/(2 + λ) from (1, 1)",
        ),
        at_most(
            "training loss becomes very low after just 10 steps",
            "training loss after 10 steps over the first, for each λ",
            data["training loss after 10 steps, over the first"],
            LOW,
            reason="very low is read as 1 %; the learning rate 0.1 is chosen for these 10 steps",
        ),
        at_least(
            "test loss takes a few hundred steps",
            "steps until the test loss is 1 % of the first, geometric mean over λ",
            np.exp(np.log(steps).mean(1)),
            low,
            reason="a few hundred is read as its order of magnitude, because the learning rate is not printed",
        ),
        below(
            "test loss takes a few hundred steps, not thousands",
            "steps until the test loss is 1 % of the first, geometric mean over λ",
            np.exp(np.log(steps).mean(1)),
            high,
            reason="a few hundred is read as its order of magnitude, because the learning rate is not printed",
        ),
        above(
            "the model achieves lower loss with smaller λ",
            "training loss at the end, each λ over the next smaller",
            losses[1:] / losses[:-1],
            1.0,
            reason="an order",
        ),
        above(
            "smaller λ takes longer to generalise",
            "steps until the test loss is low, each λ over the next larger",
            steps[:, :-1] / steps[:, 1:],
            1.0,
            reason="an order",
        ),
    ]


grokking_addition = Check(_measure_addition, _judge_addition)


def _addition_figure(times: np.ndarray, path: np.ndarray, train: np.ndarray, test: np.ndarray) -> figure.FigureData:
    names = [f"λ = {lam:g}" for lam in LAMBDAS]
    losses = [figure.Series(f"test, {name}", times[1:], test[1:, i]) for i, name in enumerate(names)]
    losses += [
        figure.Series(f"train, {name}", times[1:], train[1:, i], style="dashed", like=f"test, {name}")
        for i, name in enumerate(names)
    ]
    line = np.array([-1.5, 2.5])
    plane = [figure.Series(name, path[:, i, 0], path[:, i, 1]) for i, name in enumerate(names)]
    plane.append(figure.Series("zero loss", line, 2 - line, style="dashed"))
    panels = [
        figure.curves(plane, x="w₁", y="w₂", title="Weights"),
        figure.curves(
            losses, x=figure.Axis("time", scale="log"), y=figure.Axis("loss", scale="log"), title="Train and test loss"
        ),
    ]
    caption = "Zero training loss first, then down the norm along it; a smaller λ ends lower and takes longer."
    return figure.panels(panels, title="Addition from 1 + 1 = 2", caption=caption)


def _measure_plane(setting: Setting) -> Measurement:
    """Solve Figure 2's four flows; split each into the height over the plane Σw = 3 and the way along it."""
    toy, lam = manifold.lemmas.TOYS["three numbers"], LAMBDA
    starts = np.array(toy.starts)
    times, paths = solved_flows(setting)
    path = paths["three numbers"]
    exact = np.stack([manifold.lemmas.addition(w, lam, times) for w in starts], axis=1)
    along = path - path.mean(-1, keepdims=True)
    size = np.linalg.norm(along, axis=-1, keepdims=True)
    early = size[:, 0, 0] > 1e-6 * size[0, 0, 0]
    turn = np.linalg.norm(along[early] / size[early] - along[0] / size[0], axis=-1)
    data = {
        "λ": lam,
        "distance from the closed form": np.abs(path - exact).max(),
        "way ahead at the plane": share_ahead(path.sum(-1) - 9 / (3 + lam), size[..., 0]),
        "change of direction": turn.max(0),
        "training loss at the end": (path[-1].sum(-1) - 3) ** 2,
        "end, distance from (1, 1, 1)": np.abs(path[-1] - 1).max(-1),
    }
    used = {
        "model": "ŷ = w₁x₁ + w₂x₂ + w₃x₃",
        "training sample": "(1, 1, 1) → 3",
        "runs": len(starts),
        "initial weights": starts,
        "weight decay": lam,
        "optimizer": "gradient flow",
    }
    return Measurement(data, used, figures=(_plane_figure(starts, path, size),))


def _judge_plane(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge that every run goes to the plane, then straight along it, to the least norm."""
    lam = data["λ"]
    return [
        agrees("ŷ = w₁x₁ + w₂x₂ + w₃x₃", data["distance from the closed form"]),
        at_least(
            "the model first converges to the zero-loss plane",
            "share of the way along the plane that is ahead where the height has fallen to 1 %, for each start",
            data["way ahead at the plane"],
            AHEAD,
            reason=FIRST,
        ),
        at_most(
            "zero training loss",
            "training loss at the end over λ², for each start",
            np.array(data["training loss at the end"]) / lam**2,
            1.0,
            reason="the exact solution ends at (3λ/(3 + λ))² < λ²",
        ),
        at_most(
            "then moves directly towards the solution of minimum norm",
            "largest change of the direction along the plane, for each start",
            data["change of direction"],
            SOLVED,
            reason=SOLVER,
        ),
        at_most(
            "(w₁, w₂, w₃) ≈ (1, 1, 1)",
            "distance from (1, 1, 1) at the end over λ/3, for each start",
            np.array(data["end, distance from (1, 1, 1)"]) / (lam / 3),
            1.0,
            reason="the exact solution ends with each weight λ/(3 + λ) below 1",
        ),
    ]


straight_to_least_norm = Check(_measure_plane, _judge_plane)


def _plane_figure(starts: np.ndarray, path: np.ndarray, size: np.ndarray) -> figure.FigureData:
    # An orthonormal basis of the plane Σw = 0.
    basis = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    series = [
        figure.Series(f"from {tuple(float(x) for x in w)}", *(path[:, i] @ basis.T).T) for i, w in enumerate(starts)
    ]
    height = (path.sum(-1) - 3) / 3**0.5
    sides = [figure.Series(run.label, size[:, i, 0], height[:, i]) for i, run in enumerate(series)]
    panels = [
        figure.curves(sides, x="along the plane, from the least norm", y="height over it", title="From the side"),
        figure.curves(series, x="(w₁ − w₂)/√2", y="(w₁ + w₂ − 2w₃)/√6", title="From above"),
    ]
    return figure.panels(
        panels,
        title="Addition of three numbers and the zero-loss plane",
        caption=(
            f"λ = {LAMBDA}. First to the plane w₁ + w₂ + w₃ = 3, then straight to its point of least norm, (1, 1, 1)."
        ),
    )
