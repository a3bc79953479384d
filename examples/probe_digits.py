"""A perceptron learns digits; `probes.Watch` reports when each layer has converged to the features of its loss.

Run `python examples/probe_digits.py [PATH]`. It prints a table and saves the figure to the path, if given. It needs
PyTorch.
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

from firstlight import plots, probes

EPOCHS = 300


def main(path: str | None = None) -> float:
    """Return the alignment of FACT with the first layer's features at the end of training."""
    torch.manual_seed(0)
    pixels, labels = load_digits(return_X_y=True)
    x = torch.from_numpy((pixels[:512] / 16).astype(np.float32))
    y = nn.functional.one_hot(torch.from_numpy(labels[:512])).float()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9, weight_decay=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4 * EPOCHS)
    watch = probes.Watch(model, nn.MSELoss(), [(x, y)], optimizer, every=EPOCHS)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(x)).split(128):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x[rows]), y[rows]).backward()
            optimizer.step()
            watch.step()
            schedule.step()
    print(watch.history()[["step", "layer", "FACT", "√AGOP", "budget", "verdict"]].round(3).to_string(index=False))
    if path:
        print(plots.save(watch.figure_data(), path))
    return watch.last["0.weight"].alignments["FACT"]


if __name__ == "__main__":
    main(*sys.argv[1:2])
