"""
Which layers have converged?
============================

A probe of any PyTorch model: each layer is compared with what its loss asks for. Here a network with three layers
is probed while it learns digits. The layer whose features agree with FACT has converged; the others are still on
their way.
"""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

from firstlight import probes

torch.manual_seed(0)
pixels, labels = load_digits(return_X_y=True)
x = torch.from_numpy((pixels[:384] / 16).astype(np.float32))
y = nn.functional.one_hot(torch.from_numpy(labels[:384])).float()
model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9, weight_decay=3e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 600)
watch = probes.Watch(model, nn.MSELoss(), [(x, y)], optimizer, every=60)
for _ in range(600):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
    watch.step()
    schedule.step()

# %%
# The last look at each layer.
watch.history().query("step == 600")[["layer", "FACT", "√AGOP", "budget", "verdict"]].round(3)

# %%
# How the agreement of each layer grows over training.
watch.figure_data()
