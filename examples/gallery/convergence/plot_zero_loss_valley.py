"""
Down the valley of zero loss
============================

The smallest network that can grok: two weights whose product should be one. Every point of the curve w₁w₂ = 1 has
zero loss. Training with weight decay first falls onto this curve (it memorises) and then slides along it towards
the smallest norm (it generalises). Theory gives the second motion in closed form.
"""

import numpy as np

from firstlight.records import figure
from firstlight.records.figure import Series
from firstlight.theories import manifold

decay, start = 0.02, np.array([3.0, 0.1])
zero_set = manifold.ZeroLossSet(lambda w: w[0] * w[1] - 1.0, start)
times = np.concatenate([np.linspace(0.0, 0.5, 40), np.linspace(0.6, 2.0 / decay, 61)])
trained = manifold.decay_flow(zero_set, start, decay, times).params

# %%
# The limit of weak decay: stay exactly on the curve and reduce the norm.
landed = manifold.project(zero_set, start)
ideal = manifold.lemmas.hyperbola(landed.theta, decay * times)
print(f"largest distance after the fall: {np.linalg.norm(trained - ideal, axis=1)[40:].max():.3f}")

# %%
curve = np.geomspace(0.3, 3.3, 80)
figure.curves(
    [
        Series("zero loss", curve, 1 / curve, style="dashed"),
        Series("training", *trained.T),
        Series("theory", *ideal[40::4].T, style="points"),
    ],
    x="first weight",
    y="second weight",
    title="Training falls onto the valley, then slides to the smallest norm",
)
