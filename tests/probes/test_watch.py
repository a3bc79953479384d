"""Probing along training: budgets, states, and AdamW's own formula."""

import warnings

import pytest
import torch
from torch import nn

from firstlight import probes


def train(model, optimizer, x, y, steps, watch, schedule=None):
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        watch.step()
        if schedule is not None:
            schedule.step()


def problem():
    x = torch.randn(64, 5)
    return x, (x[:, :1] * x[:, 1:2]).tanh() + x[:, 2:3]


def perceptron():
    return nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))


def test_states_follow_the_budget():
    x, y = problem()
    model = perceptron()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9, weight_decay=1e-2)
    seen = []
    watch = probes.Watch(
        nn.DataParallel(model),
        nn.MSELoss(),
        [(x, y)],
        optimizer,
        every=1,
        on_probe=lambda step, result: seen.append(step),
    )
    train(model, optimizer, x, y, 1, watch)
    assert watch.last["0.weight"].verdict.state == "lazy"
    watch.every = 400
    train(model, optimizer, x, y, 799, watch)
    assert seen == [1, 400, 800]
    for layer in watch.last.layers:
        assert layer.verdict.state == "converged"
        assert layer.budget == pytest.approx(1e-2 * 0.2 * 800 / 0.1)
        assert layer.alignments["FACT"] > 0.995
    history = watch.history()
    assert list(history["step"].unique()) == [1, 400, 800]
    assert history.index.tolist() == list(range(6))
    assert list(history.columns[:2]) == ["step", "layer"]
    assert watch.figure_data("√AGOP").kind == "curves"


def test_adamw_needs_its_own_formula():
    """Plain FACT is false for decoupled decay; the mean step direction in its place is right."""
    x, y = problem()
    model = perceptron()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.3)
    watch = probes.Watch(model, nn.MSELoss(), [(x, y)], optimizer, every=4000, alignment="cosine")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train(model, optimizer, x, y, 4000, watch)
    plain = probes.probe(model, [(x, y)], nn.MSELoss(), weight_decay=0.3, alignment="cosine")["0.weight"]
    own = watch.last["0.weight"]
    assert own.rule == "decoupled"
    assert own.alignments["FACT"] > 0.98
    assert own.size == pytest.approx(1, abs=0.1)
    assert abs(plain.size - 1) > 0.5
    with pytest.warns(UserWarning, match="plain FACT does not apply"):
        probes.probe(model, [(x, y)], nn.MSELoss(), optimizer=optimizer)


def test_a_watch_with_nothing_to_say_says_so():
    model = perceptron()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=1e-3)
    watch = probes.Watch(model, nn.MSELoss(), [], optimizer)
    assert watch.history().empty
    with pytest.raises(ValueError, match="there is no result yet"):
        _ = watch.last
    with pytest.raises(ValueError, match="every must be at least 1"):
        probes.Watch(model, nn.MSELoss(), [], optimizer, every=0)
