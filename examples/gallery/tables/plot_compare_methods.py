"""
On a table of your own
======================

How does it compare? The diabetes data of scikit-learn: 442 patients, ten measurements, and the course of the
disease a year later. The kernel machine with learned features, the same kernel without, and gradient boosted trees
see the same folds. The importances say what the prediction rests on.
"""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import cross_val_score

from firstlight.records import figure
from firstlight.rfm import RFMRegressor

data = load_diabetes()
methods = {
    "RFM": RFMRegressor(),
    "plain kernel": RFMRegressor(update=None),
    "boosted trees": HistGradientBoostingRegressor(random_state=0),
}
scores = {name: cross_val_score(method, data.data, data.target, cv=4) for name, method in methods.items()}
for name, values in scores.items():
    print(f"{name:>14}: R² {values.mean():.3f} ± {values.std() / 2:.3f}")

# %%
# Body mass (bmi), a blood value (s5) and blood pressure (bp) carry the prediction.
model = RFMRegressor().fit(data.data, data.target)
top = np.argsort(model.feature_importances_)[::-1]
accuracy = figure.bars(
    list(scores),
    {"R²": [values.mean() for values in scores.values()]},
    errors={"R²": [values.std() / 2 for values in scores.values()]},
    x="method",
    y="R², four folds",
    title="How much is explained",
)
importance = figure.bars(
    [data.feature_names[i] for i in top],
    {"importance": model.feature_importances_[top]},
    x="measurement",
    y="share",
    title="What RFM relies on",
)
figure.panels([accuracy, importance], columns=2, title="Diabetes: 442 patients, ten measurements")
