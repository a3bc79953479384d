"""
Crafted and trained circles
===========================

A network that adds numbers mod 11 can be written down without training, by multiplying small algebraic pieces
(CoGO). Its loss is zero to rounding. A trained network arrives at the same shapes: numbers on circles.
"""

import numpy as np

from firstlight import flow, groups, models, tasks
from firstlight.records import figure
from firstlight.theories import cogo

group = groups.parse("Z11")
crafted = cogo.craft(group, "F6", seed=0)
W, V = crafted.weights
print(crafted, f"loss {cogo.table_loss(W, V, group):.0e}")

# %%
# Train a network on all pairs, with weight decay.
split = tasks.group_task(group).split(fraction=1.0)
run = flow.train(
    lambda key: models.TwoLayer.for_task(split.task, key, width=96),
    split,
    optimizer=flow.Optimizer(learning_rate=0.02, weight_decay=5e-4, schedule=flow.Schedule(shape="cosine")),
    steps=1500,
    progress="off",
)
trained = run.models[0]


# %%
# Project the first layer's weights for the first summand onto the waves of one frequency: a point for each number.
def circle(first: np.ndarray, k: int) -> np.ndarray:
    """Return where the 11 numbers stand in the plane of frequency k."""
    angle = 2 * np.pi * k * np.arange(11) / 11
    rows = np.asarray(first, dtype=float)[:11]
    waves = np.stack([np.cos(angle), np.sin(angle)]) @ rows
    left = np.linalg.svd(waves, full_matrices=False)[2]
    return rows @ left.T / np.linalg.norm(rows @ left.T, axis=1).mean()


numbers = np.arange(11)
figures = [
    figure.circles(
        circle(weights, k),
        x="direction 1",
        y="direction 2",
        index=numbers,
        value="number",
        connect=True,
        title=f"{name}, frequency {k}",
    )
    for name, weights in (("crafted", W), ("trained", trained.W))
    for k in (1, 2, 3)
]
figure.panels(figures, columns=3, title="Numbers mod 11 inside two networks")
