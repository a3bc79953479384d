"""Figure 7: ReLU networks on images, from a staircase to a slide."""

import numpy as np

from firstlight import tasks
from firstlight.claims._claim import Outcome, Setting
from firstlight.claims._needs import missing
from firstlight.records import figure
from firstlight.theories import agf


def staircase_to_slide(setting: Setting) -> Outcome:
    """Compare AGF and gradient flow from the same initialisation, for growing widths."""
    seed = setting.seeds_or((0,))[0]
    if setting.scale == "paper" and (reasons := missing(("cifar10_subset",), setting.data)):
        return Outcome("inconclusive", None, None, evidence="; ".join(reasons))
    X, Y = _data(setting, seed)
    widths = setting.choose(quick=(1, 4), paper=(1, 2, 3, 10))
    alpha = setting.choose(quick=1e-8, paper=1e-20)
    problem = agf.network(X, Y, "relu", single=setting.scale == "paper", name="ReLU")
    panels, scores, slides, first = [], {}, {}, {}
    for done, width in enumerate(widths):
        setting.progress(done / len(widths), f"width {width}")
        theta = problem.initial(width=width, alpha=alpha, seed=seed)
        steps = agf.predict(problem, theta, max_jumps=setting.choose(quick=2, paper=width), tolerance=1e-4)
        last = float(steps.jump_times[-1]) if steps.events else 1.0
        times = np.linspace(0.0, 1.3 * last, setting.choose(quick=150, paper=400))
        run = agf.follow(problem, theta, times, rtol=setting.choose(quick=2e-3, paper=5e-4))
        scores[str(width)] = steps.distance(run)
        slides[str(width)] = _largest_fall(run.times, run.loss)
        seen = steps.compare(run).frame
        first[str(width)] = float(seen["time_error"].iloc[0]) if len(seen) else float("nan")
        panels.append(steps.figure_data(run, x="time", y="loss", title=f"width {width}"))
    measured = {
        "error of the first jump": first,
        "distance from AGF": scores,
        "largest share of the fall in 5 % of the time": slides,
    }
    small, large = str(widths[0]), str(widths[-1])
    right = abs(first[small]) < 0.1 and slides[large] < slides[small]
    return Outcome(
        "holds" if right else "fails",
        measured,
        {"error of the first jump": {small: 0.0}},
        figures=(
            figure.panels(
                panels,
                columns=2,
                title="From a staircase to a slide in a ReLU network",
                caption="The training loss under gradient flow and AGF's staircase from the same start, by width.",
            ),
        ),
        seeds=(seed,),
    )


def _data(setting: Setting, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Load grey CIFAR-10 images at paper scale; draw a few clusters of points at quick scale."""
    if setting.scale == "paper" and setting.data is not None:
        task = tasks.grey_images(setting.data / "cifar10_subset")
        return task.inputs.dense(), task.targets
    rng = np.random.default_rng(seed)
    centres = 1.5 * rng.standard_normal((5, 4))
    labels = rng.integers(0, 5, 40)
    X = tasks.whitened(centres[labels] + rng.standard_normal((40, 4)))
    return X, np.eye(5)[labels] - 0.2


def _largest_fall(times: np.ndarray, loss: np.ndarray) -> float:
    """Return the largest share of the fall within 5 % of the time: 1 for a single jump, small for a slide."""
    window = 0.05 * (times[-1] - times[0])
    later = np.interp(times + window, times, loss)
    return float((loss - later).max() / (loss[0] - loss.min()))
