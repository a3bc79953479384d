"""Figures 1 to 3: models of two or three weights."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_least, at_most, below, equals, within
from firstlight.records import Criterion, figure
from firstlight.theories import manifold

_LAMBDAS = (0.01, 0.1, 0.2)
_LAMBDA = 0.05
_SMALL = (1e-2, 2.5e-3)
_ON_THE_HYPERBOLA = (3.0, 1 / 3)
_END = 1000.0
_RANDOM_STARTS = 20
_LEARNING_RATE = 0.1
_MOST_STEPS = 2000

SOLVED = 1e-8
"""How far a solved path may be from its closed form."""
_SOLVER = "the solver's tolerances are 1e-11 relative and 1e-13 absolute a step, over at most 10⁴ steps, times 8"
LOW = 0.01
"""Share of its first value at which a loss counts as very low."""
FEW_HUNDRED = (100, 1000)
"""What counts as a few hundred."""
TEN = 10
"""Printed number of steps until the training loss is very low."""
AHEAD = 0.5
"""Least share of the way along the zero-loss set that is ahead where the loss has become low."""
_FIRST = "'first … then' means that most of the way along the set is still ahead"
FIRST_ORDER = 0.05
"""Relative size of the next order in λ at λ = 0.05, the largest λ of Figures 2 and 3."""


@functools.cache
def _solved(points: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Solve the runs of all three figures as rows of a single flow; return times and paths.

    The last two rows of the hyperbola start on it, one for each of two small λ. The last rows of the cross have
    random starts.
    """
    toys = manifold.lemmas.TOYS
    times = np.concatenate([[0.0], np.geomspace(1e-3, _END, points)])
    starts = {name: np.array(toy.starts) for name, toy in toys.items()}
    starts["cross"] = np.concatenate([starts["cross"], np.random.default_rng(0).standard_normal((_RANDOM_STARTS, 2))])
    lams = {name: np.full(len(w), _LAMBDA) for name, w in starts.items()}
    starts["addition"], lams["addition"] = np.repeat(starts["addition"], len(_LAMBDAS), axis=0), np.array(_LAMBDAS)
    starts["hyperbola"] = np.concatenate([starts["hyperbola"], [_ON_THE_HYPERBOLA] * len(_SMALL)])
    lams["hyperbola"] = np.append(lams["hyperbola"], _SMALL)
    paths = manifold.lemmas.toy_flows([(toys[name], lams[name], starts[name]) for name in toys], times)
    return times, dict(zip(toys, paths, strict=True))


def _points(setting: Setting) -> int:
    return setting.choose(quick=80, paper=250)


def _descent(inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Train Figure 1's model for each λ by gradient descent; return training and test loss, both (steps, λ)."""
    lams = np.array(_LAMBDAS)[:, None]
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
    times, paths = _solved(_points(setting))
    path = paths["addition"]
    exact = np.stack([manifold.lemmas.addition(w0, lam, times) for lam in _LAMBDAS], axis=1)
    inputs = {seed: np.random.default_rng(seed).standard_normal((100, 2)) for seed in seeds}
    trained = [_descent(X) for X in inputs.values()]
    train = (path.sum(-1) - 2) ** 2
    test = np.mean(((path - 1) @ inputs[seeds[0]].T) ** 2, axis=-1)
    data = {
        "λ": _LAMBDAS,
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
        "weight decay": _LAMBDAS,
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
        _agrees("ŷ = w₁x₁ + w₂x₂", data["distance from the closed form"]),
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
        ),
        above(
            "smaller λ takes longer to generalise",
            "steps until the test loss is low, each λ over the next larger",
            steps[:, :-1] / steps[:, 1:],
            1.0,
        ),
    ]


grokking_addition = Check(_measure_addition, _judge_addition)


def _agrees(what: str, error: Any) -> Criterion:
    return at_most(
        f"the path of {what} is solved",
        "largest distance from its closed form",
        error,
        SOLVED,
        reason=_SOLVER,
        form="precondition",
    )


def _addition_figure(times: np.ndarray, path: np.ndarray, train: np.ndarray, test: np.ndarray) -> figure.FigureData:
    names = [f"λ = {lam:g}" for lam in _LAMBDAS]
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


def _ahead(off: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Return, for each run, the share of `along` left where `off` has fallen to a hundredth of its first value."""
    low = np.argmax(np.abs(off) <= LOW * np.abs(off[0]), axis=0)
    return along[low, np.arange(along.shape[1])] / along[0]


def _measure_plane(setting: Setting) -> Measurement:
    """Solve Figure 2's four flows; split each into the height over the plane Σw = 3 and the way along it."""
    toy, lam = manifold.lemmas.TOYS["three numbers"], _LAMBDA
    starts = np.array(toy.starts)
    times, paths = _solved(_points(setting))
    path = paths["three numbers"]
    exact = np.stack([manifold.lemmas.addition(w, lam, times) for w in starts], axis=1)
    along = path - path.mean(-1, keepdims=True)
    size = np.linalg.norm(along, axis=-1, keepdims=True)
    early = size[:, 0, 0] > 1e-6 * size[0, 0, 0]
    turn = np.linalg.norm(along[early] / size[early] - along[0] / size[0], axis=-1)
    data = {
        "λ": lam,
        "distance from the closed form": np.abs(path - exact).max(),
        "way ahead at the plane": _ahead(path.sum(-1) - 9 / (3 + lam), size[..., 0]),
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
        _agrees("ŷ = w₁x₁ + w₂x₂ + w₃x₃", data["distance from the closed form"]),
        at_least(
            "the model first converges to the zero-loss plane",
            "share of the way along the plane that is ahead where the height has fallen to 1 %, for each start",
            data["way ahead at the plane"],
            AHEAD,
            reason=_FIRST,
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
            reason=_SOLVER,
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
            f"λ = {_LAMBDA}. First to the plane w₁ + w₂ + w₃ = 3, then straight to its point of least norm, (1, 1, 1)."
        ),
    )


def _measure_sets(setting: Setting) -> Measurement:
    """Solve Figure 3's flows: invariants, the singular origin, and the leaky ReLU in closed form."""
    lam, (times, solved) = _LAMBDA, _solved(_points(setting))
    w, order = _hyperbola(times, solved["hyperbola"])
    cross, leaky = solved["cross"], solved["leaky addition"]
    starts = np.array(manifold.lemmas.TOYS["leaky addition"].starts)
    exact = np.stack([manifold.lemmas.leaky_addition(s, lam, times) for s in starts], 1)
    u = w[..., 0] ** 2 - w[..., 1] ** 2
    drawn = len(manifold.lemmas.TOYS["cross"].starts)
    # The weights of the second start are equal, so that it has no way to go along the set.
    difference = np.delete(leaky[..., 0] - leaky[..., 1], 1, axis=1)
    data = {
        "λ": lam,
        "left, |w₁w₂ − 1| after t = 5": np.abs(w[..., 0] * w[..., 1] - 1)[times >= 5].max(0),
        "left, w₁² − w₂² against e^{−4λt}": np.abs(u - u[0] * np.exp(-4 * lam * times)[:, None]).max(0),
        "left, distance from the constrained flow over λ": order,
        "centre, rank of the Jacobian at (0, 0)": np.linalg.matrix_rank(
            manifold.lemmas.TOYS["cross"].zero_set.jacobian(np.zeros(2))
        ),
        "centre, |w| at the end": np.linalg.norm(cross[-1], axis=-1),
        "right, against the closed form": np.abs(leaky - exact).max(0),
        "right, way ahead at zero loss": _ahead(np.delete(leaky.sum(-1) - 4 / (2 + lam), 1, axis=1), difference),
        "right, training loss at the end": (leaky[-1].sum(-1) - 2) ** 2,
        "right, distance from (1, 1) at the end": np.abs(leaky[-1] - 1).max(-1),
    }
    used = {
        "left": "two-layer linear network, curved zero-loss set",
        "centre": "two-layer linear network, zero-loss set with a singularity at (0, 0)",
        "right": "one layer, leaky ReLU with slope 1/10, addition",
        "data": "w₁w₂ = 1 (left), w₁w₂ = 0 (centre), leaky ReLU(w₁ + w₂) = 2 (right)",
        "initial weights": f"five, four and four of our own, and {_RANDOM_STARTS} normal ones (centre)",
        "weight decay": lam,
        "optimizer": "gradient flow",
    }
    shown = {"hyperbola": w, "cross": cross[:, :drawn], "leaky addition": leaky}
    picture = figure.panels(
        [_picture(name, path) for name, path in shown.items()],
        columns=3,
        title="Curved, singular and kinked zero-loss sets",
        caption=f"λ = {lam}; dashed: zero loss. Centre: every run ends at the singular point.",
    )
    note = "The singular set has measure zero, but it contains the point of least norm, which attracts every run."
    return Measurement(data, used, figures=(picture,), note=note)


def _judge_sets(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge each panel; the probability of meeting the singular point is the printed clause that fails."""
    lam, ends = data["λ"], np.array(data["centre, |w| at the end"])
    order = np.array(list(data["left, distance from the constrained flow over λ"].values()))
    return [
        at_most(
            "left: training follows the curved set",
            "largest |w₁w₂ − 1| after the transient, t ≥ 5, over λ, for each start",
            np.array(data["left, |w₁w₂ − 1| after t = 5"]) / lam,
            1 + FIRST_ORDER,
            reason="slow motion has w₁w₂ − 1 = −2λw₁w₂/‖w‖² ≥ −λ; the next order is λ = 5 % of it",
        ),
        within(
            "left: training follows norm minimisation on the set to first order in λ",
            "sup_t distance from the constrained flow over λ, ratio of two λ",
            order[0] / order[-1],
            1.0,
            FIRST_ORDER,
            reason="a distance of order λ has a constant ratio; the next order of the larger λ, 0.01, times 5",
        ),
        at_most(
            "left: w₁² − w₂² decays exactly as e^{−4λt}",
            "largest deviation, for each start",
            data["left, w₁² − w₂² against e^{−4λt}"],
            SOLVED,
            reason=_SOLVER,
            form="corrected",
        ),
        equals(
            "centre: the zero-loss set has a singularity at (0, 0)",
            "rank of the Jacobian there",
            data["centre, rank of the Jacobian at (0, 0)"],
            0,
        ),
        at_most(
            "centre: the probability of meeting a singular point in training is exactly zero",
            f"share of {len(ends)} runs, {_RANDOM_STARTS} from random starts, that end at the singular point",
            np.mean(np.where(np.isnan(ends), np.nan, ends <= SOLVED)),
            0.0,
            form="printed",
        ),
        at_most(
            "centre: every run ends at the singular point",
            "|w| at the end, for each start",
            ends,
            SOLVED,
            reason=_SOLVER + "; e^{−λt} has fallen below 1e-21",
            form="corrected",
        ),
        _agrees("the leaky ReLU (right)", data["right, against the closed form"]),
        at_least(
            "right: zero loss first, then along the set",
            "share of w₁ − w₂ left where the loss is low, for each start with w₁ ≠ w₂",
            data["right, way ahead at zero loss"],
            AHEAD,
            reason=_FIRST,
        ),
        at_most(
            "right: training with a kink reaches zero loss",
            "training loss at the end over λ², for each start",
            np.array(data["right, training loss at the end"]) / lam**2,
            1.0,
            reason="the exact solution ends at (2λ/(2 + λ))² < λ²",
        ),
        at_most(
            "right: the network groks simple addition",
            "distance of the weights from (1, 1) at the end over λ/2, for each start",
            np.array(data["right, distance from (1, 1) at the end"]) / (lam / 2),
            1.0,
            reason="the exact solution ends with each weight λ/(2 + λ) below 1",
        ),
    ]


curved_singular_and_kinked = Check(_measure_sets, _judge_sets)


def _hyperbola(times: np.ndarray, path: np.ndarray) -> tuple[np.ndarray, dict[str, float]]:
    """Return the runs to draw, and sup_t ‖θ_λ(t) − θ_constrained(λt)‖/λ for two small λ, equal if it is O(λ)."""
    start, order = np.array(_ON_THE_HYPERBOLA), {}
    for lam, own in zip(_SMALL, np.moveaxis(path, 1, 0)[-len(_SMALL) :], strict=True):
        far = np.linalg.norm(own - manifold.lemmas.hyperbola(start, lam * times), axis=1)
        order[f"{lam:g}"] = float(far.max() / lam)
    return path[:, : -len(_SMALL)], order


def _picture(name: str, path: np.ndarray) -> figure.FigureData:
    series = [figure.Series(f"run {i + 1}", *path[:, i].T) for i in range(path.shape[1])]
    half = np.geomspace(0.3, 3.3, 60)
    sets = {
        "hyperbola": [(half, 1 / half), (-half, -1 / half)],
        "cross": [(np.array([-2.2, 2.2]), np.zeros(2)), (np.zeros(2), np.array([-2.2, 2.2]))],
        "leaky addition": [(np.array([-1.0, 3.0]), np.array([3.0, -1.0]))],
    }[name]
    # NaN separates the branches, so that both are one entry of the legend.
    x, y = (np.concatenate([np.append(branch[axis], np.nan) for branch in sets]) for axis in (0, 1))
    # The zero-loss set comes first, so that it has the same colour in all panels.
    series = [figure.Series("zero loss", x, y, style="dashed"), *series]
    titles = {"hyperbola": "w₁w₂ = 1", "cross": "w₁w₂ = 0", "leaky addition": "leaky ReLU(w₁ + w₂) = 2"}
    return figure.curves(series, x="w₁", y="w₂", title=titles[name])
