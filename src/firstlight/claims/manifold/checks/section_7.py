"""Section 7: the isolated embedding of modular addition generalises late and becomes circles."""

import functools
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import jax
import numpy as np

from firstlight import tasks
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_least, at_most, equals, within
from firstlight.records import Criterion
from firstlight.theories import manifold

PRINTED_ETA = 1e-3
"""Step size in the paper; steps of another size are counted in units of it."""
GUESSING = 500
"""Steps during which test accuracy is not better than random guessing, by the text."""
EMERGES = 1000
"""Steps after which generalisation emerges, by the caption of Figure 4."""
PERFECT = 2000
"""Steps after which generalisation is perfect, by the text."""
ABOUT = 500
"""How far the median may be from a number of steps that is printed with "about": to the nearest thousand."""
_ABOUT = "'about' is read to the nearest thousand, for the median; single seeds spread"
DEVIATIONS = 4.0
"""Standard deviations above 1/p that count as guessing."""
HALF = 0.5
"""Largest share of its first value that is left of a measure which has become small."""
TWICE = 2.0
"""Least ratio of the similarity of the same frequency to that of others."""
ROUNDING = 8.0
"""Factor of rounding errors."""


BIAS = False
"""The paper's network has no biases; λ = 0 makes the second layer the least-squares solution at every step."""

FRACTION = 0.7
"""Share of the rows for training."""

_SIZES = {"quick": (23, 256, 0.02, 250, 5), "paper": (37, 512, PRINTED_ETA, 5000, 25)}
"""p, hidden units, step size, steps, and steps between records."""


@functools.lru_cache(maxsize=16)
def _run(scale: str, seed: int) -> manifold.Simulation:
    """Run a simulation. Cached, because two claims use it. All seeds have the same training rows, as in the paper."""
    p, K, eta, steps, every = _SIZES[scale]
    E = manifold.embedding(seed, p, K)
    return manifold.simulate(_split(p), E, eta=eta, steps=steps, every=every, snapshots=(0, steps), bias=BIAS, lam=0.0)


@functools.cache
def _split(p: int) -> tasks.Split:
    return tasks.group_task(f"Z{p}", encoding="summed").split(fraction=FRACTION, seed=0)


def _runs(setting: Setting, seeds: tuple[int, ...]) -> dict[int, manifold.Simulation]:
    """Run the simulations of all seeds."""
    runs = {}
    for i, seed in enumerate(seeds):
        setting.progress(i / len(seeds), f"seed {seed}")
        runs[seed] = _run(setting.scale, seed)
    return runs


def _used(setting: Setting, seeds: tuple[int, ...]) -> dict[str, Any]:
    p, K, eta, steps, _ = _SIZES[setting.scale]
    split = _split(p)
    rows = len(split.train_targets) + len(split.test_targets)
    return {
        "p": p,
        "pairs": "unordered, a ≤ b" if rows == p * (p + 1) // 2 else "ordered",
        "rows": rows,
        "inputs": "e_a + e_b",
        "targets": "one-hot",
        "biases": BIAS,
        "second layer": "least squares at every step",
        "hidden units": K,
        "activation": "relu",
        "training fraction": FRACTION,
        "step size": eta,
        "steps": steps,
        "seeds": len(seeds),
        "initial entries": "N(0, p^(−1/2))",
        "method": "Euler steps of eq. 21",
        "p^(−1/2) is": "the standard deviation",
        "precision": "float32",
    }


def _curves(setting: Setting, runs: Mapping[int, manifold.Simulation]) -> dict[str, Any]:
    """Return steps in units of the paper's, and for each run: test accuracy by step, and whether it finished."""
    p, _, eta, _, _ = _SIZES[setting.scale]
    first = next(iter(runs.values()))
    return {
        "p": p,
        "test rows": len(_split(p).test_targets),
        "steps": first.frame["step"].to_numpy() * (eta / PRINTED_ETA),
        "test accuracy": [run.frame["test_accuracy"].to_numpy().round(5) for run in runs.values()],
        "runs that finished": sum(run.status == "finished" for run in runs.values()),
    }


def _guessing(data: Mapping[str, Any]) -> float:
    """Return the largest accuracy by guessing: four standard deviations above 1/p, exceeded once in 30,000 records."""
    p = data["p"]
    return 1 / p + DEVIATIONS * ((1 - 1 / p) / p / data["test rows"]) ** 0.5


def _leaves(data: Mapping[str, Any]) -> np.ndarray:
    """Return, for each run, the first recorded step after which the test accuracy stays above guessing, or ∞."""
    steps, accuracy = np.array(data["steps"]), np.array(data["test accuracy"], float)
    above = ~(accuracy[:, ::-1] <= _guessing(data))
    stays = np.logical_and.accumulate(above, axis=1)[:, ::-1]
    return np.where(stays.any(1), steps[stays.argmax(1)], np.inf)


def _perfect(data: Mapping[str, Any]) -> np.ndarray:
    """Return, for each run, the first recorded step with every test row right, or ∞."""
    accuracy = np.array(data["test accuracy"], float)
    # Half a row short of all rows: a mean in single precision may fall short of one.
    right = accuracy > 1 - 0.5 / data["test rows"]
    return np.where(right.any(1), np.array(data["steps"])[right.argmax(1)], np.inf)


def _finished(data: Mapping[str, Any]) -> Criterion:
    count = len(data["test accuracy"])
    return equals(
        "every simulation finishes", "runs that finished", data["runs that finished"], count, form="precondition"
    )


def _about(steps: np.ndarray, printed: float) -> str:
    inside = int(np.sum(np.abs(steps - printed) <= ABOUT))
    return f"{inside} of {len(steps)} seeds between {printed - ABOUT:g} and {printed + ABOUT:g}"


def _measure_delay(setting: Setting) -> Measurement:
    """Simulate every seed; record the test accuracy and the training error with what rounding explains of it."""
    seeds = setting.seeds_or(range(setting.choose(quick=3, paper=5)))
    runs = _runs(setting, seeds)
    data = _curves(setting, runs)
    data["training error over rounding"] = [
        float(run.frame["train_error"].to_numpy().max()) / _rounding(run.snapshots[0]) for run in runs.values()
    ]
    note = (
        "Steps are in units of the paper's step size. The curves do not show whether N(0, p^{−1/2}) names a variance "
        "or a standard deviation: the first Euler step is far larger than either."
    )
    return Measurement(data, _used(setting, seeds), seeds, note=note)


def _rounding(E: np.ndarray) -> float:
    """Return the error of the n terms of HHᵀB = Y in single precision, 2⁻²³·√n·max|HHᵀ|·max|B|, at the start."""
    problem = manifold.isolate(_split(len(E)), "relu", lam=0.0)
    with jax.enable_x64(True):
        H = np.asarray(problem.activation(problem.inputs.project(np.asarray(E, np.float64))))
        Y = np.asarray(problem.Y)
    gram = H @ H.T
    B = np.linalg.solve(gram, Y)
    eps = float(np.finfo(np.float32).eps)
    return float(eps * len(gram) ** 0.5 * np.abs(gram).max() * np.abs(B).max())


def _judge_delay(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge the printed numbers of steps: 500 of guessing, perfect after about 2000."""
    steps, accuracy = np.array(data["steps"], float), np.array(data["test accuracy"], float)
    perfect = _perfect(data)
    wrong = np.rint((1 - accuracy[:, -1]) * data["test rows"])
    return [
        _finished(data),
        at_most(
            "the training loss is exactly zero throughout",
            "largest training error of any record over rounding in single precision, for each seed",
            data["training error over rounding"],
            ROUNDING,
            reason="solving HHᵀB = Y in float32 leaves 2⁻²³·√n·max|HHᵀ|·max|B| of the start; the factor is 8",
        ),
        at_most(
            "test accuracy is not better than random guessing for the first 500 steps",
            "largest test accuracy up to step 500, for each seed",
            accuracy[:, steps <= GUESSING].max(1),
            _guessing(data),
            reason="four standard deviations of guessing above 1/p, exceeded once in 30,000 records",
        ),
        at_most(
            "eventually perfect generalization on the test data",
            "wrong test rows at the end, for each seed",
            wrong,
            0,
        ),
        within(
            "perfect generalization after about 2000 steps",
            f"median step of perfect test accuracy ({_about(perfect, PERFECT)})",
            float(np.median(perfect)),
            PERFECT,
            ABOUT,
            reason=_ABOUT,
        ),
    ]


delayed_generalisation = Check(_measure_delay, _judge_delay)


def _measure_circles(setting: Setting) -> Measurement:
    """Measure the panels of Figure 4 for every seed, before and after."""
    seeds = setting.seeds_or(range(setting.choose(quick=3, paper=5)))
    runs = _runs(setting, seeds)
    ends = {seed: (run.snapshots[0], run.W) for seed, run in runs.items()}
    first, last = ends[seeds[0]]
    data = _curves(setting, runs) | panels(ends)
    p, _, eta, steps, _ = _SIZES[setting.scale]
    name = f"Z{p}, {steps} steps of {eta:g}"
    caption = (
        f"{name}; of the first seed, before and after. Rows and columns of the maps are Re F_k and Im F_k in turn."
    )
    note = (
        "The absolute values of Re F_k and Im F_k are as similar at the end as for random vectors, 2/π. Random phases "
        "on shared units give the same value. So 'very similar' is relative to other frequencies, whose similarity "
        "falls."
    )
    shown = (
        manifold.lemmas.figure_4(runs, first, last, caption),
        manifold.embedding_circles(last, caption=f"{name}; colour runs with the element of the group."),
    )
    return Measurement(data, _used(setting, seeds), seeds, shown, note)


def panels(ends: Mapping[int, tuple[np.ndarray, np.ndarray]]) -> dict[str, Any]:
    """Return the measures of each seed's embedding, before and after."""
    measures = [[asdict(manifold.measure_embedding(E)) for E in pair] for pair in ends.values()]
    return {"before": [first for first, _ in measures], "after": [last for _, last in measures]}


def _judge_circles(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge each panel by what is left at the end of its first value, and when generalisation emerges."""
    emerges = _leaves(data)
    similar = [after["same"] / after["other"] for after in data["after"]]
    rows = [
        at_most(
            clause,
            f"{quantity} at the end over its value at the start, for each seed",
            [value(after) / value(before) for before, after in zip(data["before"], data["after"], strict=True)],
            HALF,
            reason="the caption gives no numbers; 'become' is read as: less than half is left, in every run",
        )
        for clause, quantity, value in _CAPTION
    ]
    return [
        _finished(data),
        within(
            "generalization emerges after about 1000 steps",
            f"median step at which test accuracy leaves guessing for good ({_about(emerges, EMERGES)})",
            float(np.median(emerges)),
            EMERGES,
            ABOUT,
            reason=_ABOUT,
        ),
        *rows,
        at_least(
            "absolute values are very similar for the same frequency, very different for different frequencies",
            "similarity of |F| within a frequency over that between frequencies, for each seed",
            similar,
            TWICE,
            reason="the text gives no numbers; 'very similar, but very different' is read as a factor of two",
        ),
    ]


circles = Check(_measure_circles, _judge_circles)

_CAPTION = (
    ("equally-sized circles", "deviation of the circles' sizes", lambda m: m["spread"]),
    ("norms of the real and imaginary parts equalize", "mean |log of ‖Re F_k‖/‖Im F_k‖|", lambda m: m["log_ratio"]),
    ("perfect aspect ratios", "1 − mean aspect ratio", lambda m: 1 - m["aspect"]),
    ("circles are located in orthogonal planes", "mean |cosine| of different features", lambda m: m["cosine"]),
    ("absolute values become dissimilar", "similarity of |F| between frequencies", lambda m: m["other"]),
)
"""The measures that become small, by the caption: clause, quantity, value."""
