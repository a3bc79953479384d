"""A network with two weights memorises one sample, then reduces its norm along the curve of zero loss.

Run `python examples/manifold_toy.py [PATH]`. It prints a table and saves the figure to the path, if given.
"""

import sys

import numpy as np

from firstlight import plots
from firstlight.records import figure
from firstlight.theories import manifold

LAM = 0.02
START = np.array([3.0, 0.1])


def main(path: str | None = None) -> float:
    """Return the largest distance between training and the constrained flow after the initial transient."""
    zero_set = manifold.ZeroLossSet(lambda w: w[0] * w[1] - 1.0, START)
    times = np.linspace(0.0, 2.0 / LAM, 41)
    trained = manifold.decay_flow(zero_set, START, LAM, times).params
    landed = manifold.project(zero_set, START)
    ideal = manifold.lemmas.hyperbola(landed.theta, LAM * times)
    print("   λt    training          constrained flow   distance   predicted")
    for i in range(0, 41, 8):
        far = manifold.distance(zero_set, trained[i])
        law = manifold.lemmas.predicted_distance(zero_set, ideal[i], LAM)
        print(f"{LAM * times[i]:5.2f}   {trained[i].round(4)!s:<17} {ideal[i].round(4)!s:<17} {far:9.5f} {law:11.5f}")
    if path:
        curve = np.geomspace(0.3, 3.3, 60)
        series = [
            figure.Series("training", *trained.T),
            figure.Series("constrained flow", *ideal.T, style="points"),
            figure.Series("zero loss", curve, 1 / curve, style="dashed"),
        ]
        shown = figure.curves(series, x="w₁", y="w₂", title="Norm minimisation along w₁w₂ = 1")
        print(plots.save(shown, path))
    return float(np.linalg.norm(trained - ideal, axis=1)[5:].max())


if __name__ == "__main__":
    main(*sys.argv[1:2])
