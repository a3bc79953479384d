"""
What the first layer looks at
=============================

Which pixels matter to a network that reads digits, and which patterns? The diagonal of W Wᵀ gives the weight of
each pixel, and its leading eigenvectors are the patterns that the first layer measures. The network is a small
PyTorch model trained on 8 × 8 images.
"""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

from firstlight.records import figure

torch.manual_seed(0)
pixels, labels = load_digits(return_X_y=True)
x = torch.from_numpy((pixels / 16).astype(np.float32))
y = torch.from_numpy(labels)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9, weight_decay=1e-3)
for _ in range(400):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x[:1400]), y[:1400]).backward()
    optimizer.step()
accuracy = (model(x[1400:]).argmax(1) == y[1400:]).float().mean()
print(f"accuracy on {len(x) - 1400} new digits: {accuracy:.3f}")

# %%
# PyTorch stores W with one row per hidden unit; the features over the pixels are WᵀW of that matrix. The first map
# is its diagonal; the percentages are the shares of the patterns in all features.
W = model[0].weight.detach().numpy().astype(float)
features = W.T @ W
values, vectors = np.linalg.eigh(features)
patterns = vectors[:, ::-1][:, :5].T.copy()
patterns *= np.sign(patterns[np.arange(5), np.abs(patterns).argmax(1)])[:, None]
maps = np.concatenate([features.diagonal()[None], patterns]).reshape(-1, 8, 8)
shares = values[::-1][:5] / values.sum()
figure.grid(
    maps / np.abs(maps).max(axis=(1, 2), keepdims=True),
    labels=["all pixels"] + [f"pattern {i + 1} ({s:.0%})" for i, s in enumerate(shares)],
    x="column",
    y="row",
    value="scaled",
    columns=3,
    title="First-layer features of a digit reader",
)
