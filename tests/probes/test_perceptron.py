"""An epoch of the compiled perceptron against steps of torch.optim.SGD on the same batches."""

import itertools

import jax
import numpy as np
import pytest
import torch
from torch import nn

from firstlight.flow._perceptron import Layer, Sgd, placed, train_epoch
from tests.tolerances import rounding

SIZES = (7, 12, 12, 3)


def both(n, sgd, rates, dtype=torch.float64):
    """Return the parameters after an epoch, by the compiled program and by torch, as flat lists of arrays."""
    torch.manual_seed(0)
    linear = [nn.Linear(k, m, dtype=dtype) for k, m in itertools.pairwise(SIZES)]
    model = nn.Sequential(linear[0], nn.ReLU(), linear[1], nn.ReLU(), linear[2])
    x, y = torch.randn(n, SIZES[0], dtype=dtype), torch.randn(n, SIZES[-1], dtype=dtype)
    order = torch.randperm(n)
    pairs = tuple(Layer(*(p.detach().numpy().copy() for p in layer.parameters())) for layer in linear)
    zeros = tuple(Layer(np.zeros_like(layer.W), np.zeros_like(layer.b)) for layer in pairs)
    X, Y = placed((x.numpy(), y.numpy()))
    rows, each = order.to(torch.int32).numpy(), np.array(rates, x.numpy().dtype)
    network, momenta = placed(pairs), placed(zeros)
    optimizer = torch.optim.SGD(model.parameters(), momentum=sgd.momentum, weight_decay=sgd.weight_decay)
    for _ in range(2):
        network, momenta = train_epoch(sgd, network, momenta, X, Y, rows, each)
        for part, rate in zip(order.split(sgd.batch), rates, strict=True):
            optimizer.param_groups[0]["lr"] = rate
            optimizer.zero_grad()
            error = nn.functional.mse_loss(model(x[part]), y[part])
            (error if sgd.reduction == "mean" else error * SIZES[-1]).backward()
            optimizer.step()
    ours = [np.asarray(array) for layer in network for array in layer]
    return ours, [p.detach().numpy() for p in model.parameters()]


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("n", [20, 24, 5])
def test_an_epoch_takes_the_steps_of_torch(n, reduction):
    """The last of 20 rows in batches of 8 are a batch of 4; 5 rows are one small batch."""
    sgd = Sgd(momentum=0.9, weight_decay=0.01, batch=8, reduction=reduction)
    rates = np.linspace(0.1, 0.02, -(-n // sgd.batch))
    with jax.enable_x64(True):
        ours, torchs = both(n, sgd, rates)
    for a, b in zip(ours, torchs, strict=True):
        # The errors of all steps add up; a gradient sums over rows and units.
        np.testing.assert_allclose(a, b, rtol=0, atol=rounding(1.0, 2 * len(rates) * sgd.batch * max(SIZES)))


def test_subnormal_weights_become_zero():
    """Weights of idle units decay towards zero; arithmetic with subnormal numbers is many times slower."""
    layer = Layer(np.full((1, 1), 1e-38, np.float32), np.zeros(1, np.float32))
    nothing = Layer(np.zeros((1, 1), np.float32), np.zeros(1, np.float32))
    X, Y = placed((np.zeros((1, 1), np.float32), np.zeros((1, 1), np.float32)))
    order, rates = np.zeros(1, np.int32), np.ones(1, np.float32)
    [network, _] = train_epoch(Sgd(0.0, 0.5, 1), placed((layer,)), placed((nothing,)), X, Y, order, rates)
    assert float(network[0].W[0, 0]) == 0.0
