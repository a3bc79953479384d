"""
Coefficients that wake, and one that falls asleep
=================================================

The smallest network with features: y = (u ∘ v)·x. From tiny weights its coefficients stay at zero, then wake one by
one. The fourth, whose true value is zero, wakes by mistake and falls asleep again. AGF predicts every one of these
times.
"""

import numpy as np

from firstlight.records import figure
from firstlight.records.figure import Axis, Series
from firstlight.theories import agf

rng = np.random.default_rng(3)
X = rng.standard_normal((12, 6))
X[:, 1] = 0.9 * X[:, 0] + 0.4 * X[:, 1]
beta = np.array([2.0, -1.5, 1.0, 0.0, 0.6, -0.3])
y = X @ beta

# %%
# Initial weights of size 10⁻³⁰: the flow is followed in logarithms, so that nothing is lost to rounding.
alpha = 1e-30
steps = agf.predict_diagonal(X, y, alpha)
run = agf.diagonal_flow(X, y, alpha, 1.25 * float(steps.jump_times[-1]))
print("coefficients found:", run.final.round(3), " true:", beta)

# %%
# Lines are the trained coefficients; the dotted lines are the predicted times at which one wakes or falls asleep.
marks = {f"jump {i + 1}": float(t) for i, t in enumerate(steps.jump_times)}
figure.curves(
    [Series(f"coefficient {i + 1}", run.times[1:], run.params[1:, i]) for i in range(6)],
    x=Axis("time", scale="log"),
    y="coefficient",
    vertical=marks,
    title="Six coefficients wake one by one",
)
