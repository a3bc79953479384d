"""
One singular direction after the other
======================================

A linear network with small weights learns the map B = diag(4, 2, 1). The strongest direction comes first; each
waits for its own time, which is longer the weaker it is. Two scales of initial weights show that smaller weights
make sharper and later steps.
"""

import numpy as np

from firstlight.records import figure
from firstlight.records.figure import Series
from firstlight.theories import agf

X = np.sqrt(3) * np.eye(3)
Y = X @ np.diag([4.0, 2.0, 1.0])
problem = agf.network(X, Y, activation="linear")

# %%
# Time is measured in units of log(1/α), where α is the size of the initial weights, so that both runs share one
# clock.
series = []
for alpha in (1e-2, 1e-6):
    theta = problem.initial(width=6, alpha=alpha, seed=1)
    steps = agf.predict(problem, theta)
    unit = np.log(1 / alpha)
    run = agf.follow(problem, theta, 1.2 * steps.flow_times[-1])
    series.append(Series(f"initial weights of size {alpha:g}", run.times / unit, run.loss))
    print(f"α = {alpha:g}: steps at", (steps.flow_times / unit).round(2), "levels", steps.levels.round(2))

# %%
levels = {"nothing learned": 10.5, "one direction": 2.5, "two": 0.5}
figure.curves(
    series, x="time / log(1/α)", y="loss", horizontal=levels, title="A linear network learns three directions"
)
