"""What an optimizer follows, against the steps that it takes."""

import numpy as np
import pytest
import torch

from firstlight.probes._decay import step_direction
from tests.tolerances import rounding

LEARNING_RATE, DECAY = 0.125, 0.25


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW])
def test_the_direction_is_the_step_that_the_optimizer_took(kind, amsgrad):
    """θ ← (1 − lr·λ)θ − lr·direction; gradients that shrink make AMSGrad's largest second moment an old one."""
    decay = DECAY if kind is torch.optim.AdamW else 0.0
    weight = torch.nn.Parameter(torch.tensor([[1.0, -2.0], [0.5, 3.0]], dtype=torch.float64))
    optimizer = kind([weight], lr=LEARNING_RATE, betas=(0.5, 0.75), eps=1e-3, weight_decay=decay, amsgrad=amsgrad)
    assert step_direction(optimizer, weight) is None
    for step in range(6):
        before = weight.detach().clone()
        weight.grad = torch.tensor([[4.0, -1.0], [2.0, 0.5]], dtype=torch.float64) / 3**step
        optimizer.step()
        taken = ((1 - LEARNING_RATE * decay) * before - weight.detach()) / LEARNING_RATE
        direction = step_direction(optimizer, weight)
        assert direction is not None
        # The step is a difference of weights of size 3, over lr.
        np.testing.assert_allclose(direction, taken, rtol=0, atol=rounding(3 / LEARNING_RATE))
    state = optimizer.state[weight]
    if amsgrad:
        assert (state["max_exp_avg_sq"] > 2 * state["exp_avg_sq"]).all()
