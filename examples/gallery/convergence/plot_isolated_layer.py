"""
One layer on its own
====================

In a network with two layers, let the second always be at its optimum and follow only the first: its motion can be
written as one equation. On addition mod 13 the embedding that starts as noise becomes circles, and held-out sums
become right, by norm minimisation alone.
"""

import numpy as np

from firstlight import tasks
from firstlight.records import figure
from firstlight.records.figure import Series
from firstlight.theories import manifold

split = tasks.group_task("Z13", encoding="summed").split(fraction=0.8, seed=0)
start = manifold.embedding(0, 13, 96).astype(np.float32)
run = manifold.simulate(split, start, eta=2e-3, steps=3000, every=50)
first, last = manifold.measure_embedding(start), manifold.measure_embedding(run.W)
print(run.frame.iloc[[0, -1]][["step", "test_accuracy", "norm_W"]].round(3).to_string(index=False))
print(f"aspect ratio of the ellipses (1 is a circle): {first.aspect:.2f} before, {last.aspect:.2f} after")

# %%
# The embedding of one frequency before and after: a circle appears where there was noise. Accuracy rises while the
# norm falls.
table = run.frame
fall = figure.curves(
    [
        Series("accuracy on held-out sums", table["step"], table["test_accuracy"]),
        Series("squared norm, share of the start", table["step"], table["norm_W"] / table["norm_W"].iloc[0]),
    ],
    x="step",
    y="share",
    title="The norm falls, the rule appears",
)
strongest = int(np.linalg.norm(np.fft.fft(run.W, axis=0)[1:7], axis=1).argmax()) + 1
angle = 2 * np.pi * strongest * np.arange(13) / 13
waves = np.stack([np.cos(angle), np.sin(angle)])


def seen(E: np.ndarray) -> np.ndarray:
    """Return where the numbers stand in the plane that the trained embedding uses for this frequency."""
    plane = np.linalg.svd(waves @ run.W, full_matrices=False)[2]
    points = E @ plane.T
    return points / np.abs(points).max()


before, after = (
    figure.circles(
        seen(E), x="direction 1", y="direction 2", index=np.arange(13), value="number", title=f"Embedding {when}"
    )
    for E, when in ((start, "before"), (run.W, "after"))
)
figure.panels(
    [fall, before, after], columns=3, title=f"The isolated first layer on addition mod 13, frequency {strongest}"
)
