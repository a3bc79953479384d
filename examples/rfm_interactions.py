"""Which columns interact? A table with a known answer, and the metric that RFM learns from it.

Friedman's function is y = 10 sin(πx₀x₁) + 20(x₂ − ½)² + 10x₃ + 5x₄ plus noise. The columns x₀ and x₁ interact, x₂
enters as a square, x₃ and x₄ linearly. Fifteen more columns have no effect: they blur the distances of a plain kernel,
and M takes them out.

Run `python examples/rfm_interactions.py [PATH]`. It prints the importances and the strongest interaction, and saves the
figure to the path, if given.
"""

import sys

import numpy as np
from sklearn.datasets import make_friedman1

from firstlight import plots
from firstlight.records import figure
from firstlight.rfm import RFMRegressor

COLUMNS = 20


def interactions(model: RFMRegressor, X: np.ndarray, step: float = 0.2) -> np.ndarray:
    """Return the mean absolute mixed second difference of the fitted function for each pair of columns (d, d)."""
    d = X.shape[1]
    strengths = np.zeros((d, d))
    for i in range(d):
        for j in range(i):
            moved = [X + step * (a * np.eye(d)[i] + b * np.eye(d)[j]) for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
            f = [model.predict(rows) for rows in moved]
            strengths[i, j] = strengths[j, i] = np.mean(np.abs(f[0] - f[1] - f[2] + f[3])) / (4 * step**2)
    return strengths


def main(path: str | None = None) -> tuple[float, float, tuple[int, int]]:
    """Return R² of RFM and of the plain kernel on new rows, and the pair of columns that interacts most."""
    X, y = make_friedman1(500, n_features=COLUMNS, noise=1.0, random_state=0)
    new = make_friedman1(1000, n_features=COLUMNS, noise=1.0, random_state=1)
    model, plain = RFMRegressor().fit(X, y), RFMRegressor(update=None).fit(X, y)
    scores = model.score(*new), plain.score(*new)
    print(f"R² on new rows: RFM {scores[0]:.3f}, plain kernel ridge {scores[1]:.3f}")
    print(f"{model.update_} after {model.n_iter_} iterations, ridge {model.ridge_:g}")
    for column in model.feature_importances_.argsort()[::-1][:6]:
        print(f"  x{column}: {model.feature_importances_[column]:.1%}")
    pairs = interactions(model, X[:100])
    i, j = sorted(int(place) for place in np.unravel_index(pairs.argmax(), pairs.shape))
    print(f"the pair that interacts most: x{i} and x{j}")
    if path:
        names = [f"x{k}" for k in range(COLUMNS)]
        mixed = figure.heatmap(
            pairs, x="column", y="column", value="mean |∂²f/∂xᵢ∂xⱼ|", rows=names, columns=names, title="Interactions"
        )
        history = figure.unpack_panels(model.figure_data("history"))[:1]
        shown = [model.figure_data("importances"), mixed, *history]
        print(plots.save(figure.panels(shown, columns=3, title="Friedman's function, 500 rows"), path))
    return scores[0], scores[1], (i, j)


if __name__ == "__main__":
    main(*sys.argv[1:2])
