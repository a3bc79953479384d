"""
FACT before and after convergence
=================================

When training with weight decay has converged, the features of a layer, W Wᵀ, equal a matrix that is made of inputs
and gradients only: FACT. Before training the two have little in common. So their agreement tells how far a layer
has converged. The layer here learns handwritten digits.
"""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

from firstlight import probes
from firstlight.records import figure

torch.manual_seed(0)
pixels, labels = load_digits(return_X_y=True)
x = torch.from_numpy((pixels[:512] / 16).astype(np.float32))
y = nn.functional.one_hot(torch.from_numpy(labels[:512])).float()
model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))
loss = nn.MSELoss()


def look() -> tuple[np.ndarray, np.ndarray, float]:
    """Return W Wᵀ and FACT of the first layer, each scaled to its largest entry, and their alignment."""
    layer = probes.probe(model, [(x, y)], loss, weight_decay=3e-3, keep_matrices=True)["0.weight"]
    own, fact = (np.asarray(layer.matrices[name], dtype=float) for name in ("NFM", "FACT"))
    return own / np.abs(own).max(), fact / np.abs(fact).max(), layer.alignments["FACT"]


before = look()

# %%
# Train to convergence: weight decay, and a learning rate that goes to zero.
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9, weight_decay=3e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1000)
for _ in range(1000):
    optimizer.zero_grad()
    loss(model(x), y).backward()
    optimizer.step()
    schedule.step()
after = look()
print(f"alignment of FACT with W Wᵀ: {before[2]:.3f} before, {after[2]:.4f} after training")

# %%
# Each small map has a row and a column for each of the 64 pixels.
figure.grid(
    np.stack([before[0], before[1], after[0], after[1]]),
    labels=[
        "W Wᵀ before training",
        f"FACT before: alignment {before[2]:.2f}",
        "W Wᵀ after training",
        f"FACT after: alignment {after[2]:.3f}",
    ],
    x="pixel",
    y="pixel",
    value="entry, scaled",
    columns=2,
    title="Features and FACT of a layer that learns digits",
)
