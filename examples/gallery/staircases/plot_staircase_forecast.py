"""
A staircase and its forecast
============================

A network with tiny initial weights learns one feature at a time. In between the loss stands still. AGF predicts,
before training, when each step comes and how deep it is. Here the network is your own: any inputs and targets, tanh
units.
"""

import numpy as np

from firstlight.theories import agf

rng = np.random.default_rng(0)
X = rng.standard_normal((300, 5))
y = np.stack([3.0 * np.tanh(X[:, 0]), np.tanh(X[:, 1])], axis=1)

# %%
# The forecast needs the data and the initial weights only.
problem = agf.network(X, y, activation="tanh")
theta = problem.initial(width=4, alpha=1e-6, seed=0)
steps = agf.predict(problem, theta, learned=1e-3)
steps.frame[["time", "before", "after"]].round(3)

# %%
# Gradient flow from the same weights, beside the forecast. The flow rounds the corners; times and levels agree.
run = agf.follow(problem, theta, 1.3 * steps.flow_times[-1])
print(f"distance between forecast and run: {steps.distance(run):.3f} of 1")
steps.figure_data(run)
