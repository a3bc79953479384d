"""Section 7: the isolated embedding of modular addition generalises late and becomes circles."""

import functools
from math import pi, sqrt

import numpy as np

from firstlight import tasks
from firstlight.claims._claim import Outcome, Setting
from firstlight.claims.manifold.tolerances import HALF
from firstlight.theories import manifold
from firstlight.theories.manifold import EmbeddingMeasures

PERFECT = (1500, 2500)
"""Steps that are "about 2000": to the nearest thousand."""

EMERGES = (500, 1500)
"""Steps that are "about 1000", likewise."""


@functools.lru_cache(maxsize=16)
def _run(scale: str, seed: int):
    """One simulation, kept because two claims look at it; all seeds have the same training rows, as in the paper."""
    p, K, eta, steps, every = (23, 256, 0.02, 150, 10) if scale == "quick" else (37, 512, 1e-3, 5000, 50)
    split = tasks.group_task(f"Z{p}", encoding="summed").split(fraction=0.7, seed=0)
    E = manifold.embedding(seed, p, K)
    return manifold.simulate(split, E, eta=eta, steps=steps, every=every, snapshots=(0, steps))


def _runs(setting: Setting, seeds: tuple[int, ...]):
    runs = {}
    for i, seed in enumerate(seeds):
        setting.progress(i / len(seeds), f"seed {seed}")
        runs[seed] = _run(setting.scale, seed)
    return runs


def delayed_generalisation(setting: Setting) -> Outcome:
    """When each seed leaves chance and when it reaches perfect test accuracy, with the training error all along."""
    seeds = setting.seeds_or(range(setting.choose(quick=2, paper=5)))
    runs = _runs(setting, seeds)
    early, (low, high) = setting.choose(quick=(20, (50, 150)), paper=(500, PERFECT))
    guess = _guessing(setting)
    starts = {str(seed): _leaves(run, guess) for seed, run in runs.items()}
    ends = {str(seed): run.first(1.0) for seed, run in runs.items()}
    at_chance = max(float(run.frame.loc[run.frame["step"] <= early, "test_accuracy"].max()) for run in runs.values())
    error = max(float(run.frame["train_error"].to_numpy()[1:].max()) for run in runs.values())
    found = [step for step in ends.values() if step is not None]
    median = float(np.median(found)) if len(found) == len(ends) else None
    measured = {
        f"largest test accuracy up to step {early}": at_chance,
        "step at which a seed leaves guessing": starts,
        "step of test accuracy 1": ends,
        "median step of test accuracy 1": median,
        "largest training error after the first record": error,
    }
    reached = median is not None and low <= median <= high
    holds = at_chance <= guess and reached and error < 0.01 and all(r.status == "finished" for r in runs.values())
    return Outcome(
        "holds" if holds else "fails",
        measured,
        {
            f"largest test accuracy up to step {early}": f"guessing, at most {guess:.3f}",
            "median step of test accuracy 1": f"{low} to {high}",
        },
        evidence=(
            f"Perfect at steps {min(found, default=None)} to {max(found, default=None)}, median {median}. Whether "
            "N(0, p^{−1/2}) is a variance or a deviation cannot be told from these curves: the first Euler step is far "
            "larger than either."
        ),
        seeds=seeds,
    )


def _guessing(setting: Setting) -> float:
    """The test accuracy that guessing exceeds once in some thirty thousand looks: four deviations above 1/p."""
    p = setting.choose(quick=23, paper=37)
    return 1 / p + 4 * ((1 - 1 / p) / p / (0.3 * p * (p + 1) / 2)) ** 0.5


def _leaves(run, guess: float) -> int | None:
    """The recorded step from which on the test accuracy stays above what guessing gives."""
    below = np.flatnonzero(run.frame["test_accuracy"].to_numpy() <= guess)
    after = below[-1] + 1 if len(below) else 0
    return int(run.frame["step"].iloc[after]) if after < len(run.frame) else None


def circles(setting: Setting) -> Outcome:
    """Figure 4's panels as numbers, of every seed at the end, in units of what independent normal entries give."""
    seeds = setting.seeds_or(range(setting.choose(quick=2, paper=5)))
    runs = _runs(setting, seeds)
    ends = {seed: [list(run.snapshots.values())[i] for i in (0, -1)] for seed, run in runs.items()}
    found = {seed: manifold.measure_embedding(last) for seed, (_, last) in ends.items()}
    random = random_measures(next(iter(ends.values()))[0].shape[1])
    shares = {
        name: {str(seed): value(one) / value(random) for seed, one in found.items()} for name, value in _CAPTION.items()
    }
    left = [_leaves(run, _guessing(setting)) for run in runs.values()]
    low, high = setting.choose(quick=(30, 70), paper=EMERGES)
    emerges = float(np.median(left)) if None not in left else None  # type: ignore[arg-type]
    measured = {
        "median step at which a seed leaves guessing": emerges,
        "at the end, over what random embeddings have": shares,
        "similarity of |F|, same frequency": {str(seed): one.same for seed, one in found.items()},
        "similarity of |F|, other frequency": {str(seed): one.other for seed, one in found.items()},
    }
    equal = max(max(by_seed.values()) for by_seed in shares.values()) <= HALF
    own = all(one.same > 1.5 * one.other for one in found.values())
    holds = equal and own and emerges is not None and low <= emerges <= high
    first, last = ends[seeds[0]]
    name = "Z23, 150 steps of 0.02" if setting.scale == "quick" else "Z37, 5000 steps of 0.001"
    caption = (
        f"{name}; of the first seed, before and after. Rows and columns of the maps are Re F_k and Im F_k in turn."
    )
    return Outcome(
        "holds" if holds else "fails",
        measured,
        {
            "median step at which a seed leaves guessing": f"{low} to {high}",
            "at the end, over what random embeddings have": f"at most {HALF}",
        },
        evidence=(
            f"Seeds leave guessing at steps {', '.join(map(str, left))}. "
            "The absolute values of Re F_k and Im F_k are as similar at the end as those of random vectors, 2/π, "
            "which is also what random phases on shared units give: 'very similar' is by comparison with other "
            "frequencies, whose similarity falls."
        ),
        figures=(
            manifold.lemmas.figure_4(runs, first, last, caption),
            manifold.embedding_circles(last, caption=f"{name}; colour runs with the element of the group."),
        ),
        seeds=seeds,
    )


_CAPTION = {
    "deviation of the sizes of circles": lambda m: m.spread,
    "|log of ‖Re F_k‖/‖Im F_k‖|": lambda m: m.log_ratio,
    "1 − aspect ratio": lambda m: 1 - m.aspect,
    "|cosine| of different features": lambda m: m.cosine,
    "similarity of |F|, other frequency": lambda m: m.other,
}
"""What the caption says becomes small."""


def random_measures(K: int):
    """What `manifold.measure_embedding` gives for independent normal entries of K units, to leading order in 1/K.

    Norms of K normals deviate by 1/√2K, |cos| of two such vectors has mean √(2/πK), the two axes of a plane differ by
    √(π/2K), and the absolute values of normals have cosine (E|x|)²/E x² = 2/π.
    """
    cosine = sqrt(2 / (pi * K))
    return EmbeddingMeasures(cosine, 1 - sqrt(pi / (2 * K)), 1 / sqrt(4 * K), cosine, 2 / pi, 2 / pi)
