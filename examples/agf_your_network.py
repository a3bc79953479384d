"""When will your own network learn its features? AGF's prediction, beside gradient flow from the same weights.

Run `python examples/agf_your_network.py [PATH]`. It prints both staircases and saves the figure to the path, if given.
"""

import sys

import numpy as np

from firstlight import plots
from firstlight.theories import agf


def main(path: str | None = None) -> float:
    """Return the distance between gradient flow and the predicted staircase."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    y = np.stack([3.0 * np.tanh(X[:, 0]), np.tanh(X[:, 1])], axis=1)

    problem = agf.network(X, y, activation="tanh")
    theta = problem.initial(width=4, alpha=1e-6, seed=0)
    steps = agf.predict(problem, theta, learned=1e-3)
    run = agf.follow(problem, theta, 1.3 * steps.flow_times[-1])
    print(steps)
    print(steps.compare(run).frame.to_string(float_format="{:.4g}".format))
    if path:
        print(plots.save(steps.figure_data(run), path))
    return steps.distance(run)


if __name__ == "__main__":
    main(*sys.argv[1:2])
