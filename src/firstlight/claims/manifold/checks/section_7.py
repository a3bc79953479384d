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
"""Steps that count as "about 2000": 2000 to the nearest thousand."""

EMERGES = (500, 1500)
"""Steps that count as "about 1000": 1000 to the nearest thousand."""


@functools.lru_cache(maxsize=16)
def _run(scale: str, seed: int) -> manifold.Simulation:
    """Run a simulation. Cached, because two claims use it. All seeds have the same training rows, as in the paper."""
    p, K, eta, steps, every = (23, 256, 0.02, 150, 10) if scale == "quick" else (37, 512, 1e-3, 5000, 50)
    split = tasks.group_task(f"Z{p}", encoding="summed").split(fraction=0.7, seed=0)
    E = manifold.embedding(seed, p, K)
    return manifold.simulate(split, E, eta=eta, steps=steps, every=every, snapshots=(0, steps))


def _runs(setting: Setting, seeds: tuple[int, ...]) -> dict[int, manifold.Simulation]:
    """Run the simulations of all seeds."""
    runs = {}
    for i, seed in enumerate(seeds):
        setting.progress(i / len(seeds), f"seed {seed}")
        runs[seed] = _run(setting.scale, seed)
    return runs


def delayed_generalisation(setting: Setting) -> Outcome:
    """Find when each seed leaves chance and when it reaches perfect test accuracy; track the training error."""
    seeds = setting.seeds_or(range(setting.choose(quick=2, paper=5)))
    runs = _runs(setting, seeds)
    early, (low, high) = setting.choose(quick=(20, (50, 150)), paper=(500, PERFECT))
    guess = _guessing(setting)
    starts = {str(seed): _leaves(run, guess) for seed, run in runs.items()}
    ends = {str(seed): run.first(1.0) for seed, run in runs.items()}
    at_chance = max(float(run.frame.loc[run.frame["step"] <= early, "test_accuracy"].max()) for run in runs.values())
    error = max(float(run.frame["train_error"].to_numpy()[1:].max()) for run in runs.values())
    perfect = [step for step in ends.values() if step is not None]
    median = float(np.median(perfect)) if len(perfect) == len(ends) else None
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
            f"Perfect at steps {min(perfect, default=None)} to {max(perfect, default=None)}, median {median}. The "
            "curves do not show whether N(0, p^{−1/2}) names a variance or a standard deviation: the first Euler step "
            "is far larger than either."
        ),
        seeds=seeds,
    )


def _guessing(setting: Setting) -> float:
    """Return the largest accuracy by guessing: four standard deviations above 1/p, exceeded once in 30,000 records."""
    p = setting.choose(quick=23, paper=37)
    return 1 / p + 4 * ((1 - 1 / p) / p / (0.3 * p * (p + 1) / 2)) ** 0.5


def _leaves(run: manifold.Simulation, guess: float) -> int | None:
    """Return the first recorded step after which the test accuracy stays above guessing."""
    below = np.flatnonzero(run.frame["test_accuracy"].to_numpy() <= guess)
    after = below[-1] + 1 if len(below) else 0
    return int(run.frame["step"].iloc[after]) if after < len(run.frame) else None


def circles(setting: Setting) -> Outcome:
    """Measure the panels of Figure 4 for every seed at the end, relative to independent normal entries."""
    seeds = setting.seeds_or(range(setting.choose(quick=2, paper=5)))
    runs = _runs(setting, seeds)
    ends = {seed: [list(run.snapshots.values())[i] for i in (0, -1)] for seed, run in runs.items()}
    measures = {seed: manifold.measure_embedding(last) for seed, (_, last) in ends.items()}
    random = random_measures(next(iter(ends.values()))[0].shape[1])
    shares = {
        name: {str(seed): value(measure) / value(random) for seed, measure in measures.items()}
        for name, value in _CAPTION.items()
    }
    left = [_leaves(run, _guessing(setting)) for run in runs.values()]
    low, high = setting.choose(quick=(30, 70), paper=EMERGES)
    emerges = float(np.median(left)) if None not in left else None  # type: ignore[arg-type]
    measured = {
        "median step at which a seed leaves guessing": emerges,
        "at the end, over what random embeddings have": shares,
        "similarity of |F|, same frequency": {str(seed): measure.same for seed, measure in measures.items()},
        "similarity of |F|, other frequency": {str(seed): measure.other for seed, measure in measures.items()},
    }
    equal = max(max(by_seed.values()) for by_seed in shares.values()) <= HALF
    own = all(measure.same > 1.5 * measure.other for measure in measures.values())
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
            "The absolute values of Re F_k and Im F_k are as similar at the end as for random vectors, 2/π. Random "
            "phases on shared units give the same value. So 'very similar' is relative to other frequencies, whose "
            "similarity falls."
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
"""The measures that become small, by the caption."""


def random_measures(K: int) -> EmbeddingMeasures:
    """Return `manifold.measure_embedding` for independent normal entries of K units, to leading order in 1/K.

    Norms of K normals deviate by 1/√2K, |cos| of two random vectors has mean √(2/πK), the two axes of a plane differ
    by √(π/2K), and the absolute values of normals have cosine (E|x|)²/E x² = 2/π.
    """
    cosine = sqrt(2 / (pi * K))
    return EmbeddingMeasures(cosine, 1 - sqrt(pi / (2 * K)), 1 / sqrt(4 * K), cosine, 2 / pi, 2 / pi)
