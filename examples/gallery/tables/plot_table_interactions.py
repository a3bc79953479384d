"""
Which columns matter, and which interact
========================================

A table with a known answer: y = 10 sin(πx₀x₁) + 20(x₂ − ½)² + 10x₃ + 5x₄ plus noise, and five columns without any
effect. The kernel machine learns a metric over the columns. It finds the five that matter, and the pair that acts
together.
"""

import numpy as np
from sklearn.datasets import make_friedman1

from firstlight.records import figure
from firstlight.rfm import RFMRegressor

X, y = make_friedman1(400, n_features=10, noise=1.0, random_state=0)
model, plain = RFMRegressor().fit(X, y), RFMRegressor(update=None).fit(X, y)
new = make_friedman1(1000, n_features=10, noise=1.0, random_state=1)
print(f"R² on new rows: {model.score(*new):.3f}; the same kernel without learned features: {plain.score(*new):.3f}")

# %%
# Two columns interact if the effect of one depends on the other: the mixed second difference of the fitted
# function.
step, names = 0.2, [f"x{i}" for i in range(10)]
strength = np.zeros((10, 10))
for i in range(10):
    for j in range(i):
        corners = [
            model.predict(X[:80] + step * (a * np.eye(10)[i] + b * np.eye(10)[j])) for a in (1, -1) for b in (1, -1)
        ]
        mixed = np.abs(corners[0] - corners[1] - corners[2] + corners[3]).mean() / (4 * step**2)
        strength[i, j] = strength[j, i] = mixed

# %%
importance = figure.bars(
    names, {"importance": model.feature_importances_}, x="column", y="share", title="Columns that matter"
)
pairs = figure.heatmap(
    strength, x="column", y="column", value="strength", rows=names, columns=names, title="Pairs that act together"
)
figure.panels([importance, pairs], columns=2, title="A table of ten columns, five of them noise")
