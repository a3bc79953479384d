"""Section 7: the isolated embedding of modular addition generalises late and becomes circles."""

import functools

from firstlight.claims.claim import Claim, Outcome, Setting


@functools.lru_cache(maxsize=16)
def _run(scale: str, seed: int):
    """One simulation, kept because two claims look at it; all seeds have the same training rows, as in the paper."""
    from firstlight import tasks
    from firstlight.theories import manifold

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
    p, early, late = setting.choose(quick=(23, 20, 150), paper=(37, 500, 3500))
    # A fifth: five or more times what guessing gives, and far from knowing.
    starts = {str(seed): run.first(0.2) for seed, run in runs.items()}
    ends = {str(seed): run.first(1.0) for seed, run in runs.items()}
    at_chance = max(float(run.frame.loc[run.frame["step"] <= early, "test_accuracy"].max()) for run in runs.values())
    error = max(float(run.frame["train_error"].to_numpy()[1:].max()) for run in runs.values())
    measured = {
        f"largest test accuracy up to step {early}": at_chance,
        "step of test accuracy 0.2": starts,
        "step of test accuracy 1": ends,
        "largest training error after the first record": error,
    }
    reached = all(step is not None and step <= late for step in ends.values())
    holds = at_chance <= 3 / p and reached and error < 0.01 and all(r.status == "finished" for r in runs.values())
    found = [step for step in ends.values() if step is not None]
    evidence = (
        "Whether N(0, p^{−1/2}) is a variance or a deviation cannot be told from these curves: the first Euler step is "
        "far larger than either."
    )
    if setting.scale == "paper":
        spread = f"{min(found, default=0)} to {max(found, default=0)}"
        evidence = f"Perfect at {spread} steps; the paper says about 2000. {evidence}"
    return Outcome(
        "holds" if holds else "fails",
        measured,
        {
            f"largest test accuracy up to step {early}": f"chance, {1 / p:.3f}",
            "step of test accuracy 1": f"at most {late}",
        },
        evidence=evidence,
        seeds=seeds,
    )


def circles(setting: Setting) -> Outcome:
    """Figure 4's four panels as numbers, of the first seed before and after, and as pictures."""
    from firstlight.theories import manifold

    seeds = setting.seeds_or(range(setting.choose(quick=2, paper=5)))
    runs = _runs(setting, seeds)
    first, last = (list(runs[seeds[0]].snapshots.values())[i] for i in (0, -1))
    before, after = manifold.measure(first), manifold.measure(last)
    measured = {
        "mean |log of ‖Re F_k‖/‖Im F_k‖|": [before.log_ratio, after.log_ratio],
        "aspect ratio of the circles": [before.aspect, after.aspect],
        "mean |cosine| of different features": [before.cosine, after.cosine],
        "similarity of |F|, same frequency": [before.same, after.same],
        "similarity of |F|, other frequency": [before.other, after.other],
        "norms of the circles, deviation over mean": [before.spread, after.spread],
    }
    parts = {
        "circles": after.log_ratio < before.log_ratio and after.aspect > before.aspect,
        "orthogonal planes": after.cosine < before.cosine,
        "units of their own": after.other < 0.75 * after.same and before.other > 0.9 * before.same,
    }
    name = "Z23, 150 steps of 0.02" if setting.scale == "quick" else "Z37, 5000 steps of 0.001"
    caption = (
        f"{name}; of the first seed, before and after. Rows and columns of the maps are Re F_k and Im F_k in turn."
    )
    return Outcome(
        "holds" if all(parts.values()) else "fails",
        parts | measured,
        dict.fromkeys(parts, True),
        evidence="Pairs of numbers are before and after.",
        figures=(
            manifold.figure_4(runs, first, last, caption),
            manifold.embedding_circles(last, caption=f"{name}; colour runs with the element of the group."),
        ),
        seeds=seeds,
    )


SECTION_7 = Claim(
    id="manifold.section-7",
    title="The embedding on its own generalises late",
    locator="Section 7.4.1",
    statement=(
        "p = 37, d_h = 512, ReLU, f_s = 0.7, η = 0.001, T = 5000, five starts: though the training loss is exactly "
        "zero throughout, test accuracy is not better than guessing for the first 500 steps and perfect after about "
        "2000."
    ),
    check=delayed_generalisation,
)

FIGURE_4 = Claim(
    id="manifold.figure-4",
    title="The embedding becomes circles in orthogonal planes",
    locator="Figure 4, Section 7.4.2",
    statement=(
        "The norms of Re F_k and Im F_k equalise (circles of perfect aspect ratio), the features become orthogonal, "
        "and their absolute values similar for the same frequency and dissimilar for different ones (each circle "
        "uses its own hidden units)."
    ),
    check=circles,
)
