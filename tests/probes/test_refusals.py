"""Two losses that differ have other keys, and weights that are no numbers end in words, not in a crash."""

import functools

import pytest
import torch
from torch import nn

from firstlight import probes
from firstlight.probes._checkpoints._loss_key import loss_key

SCALE = 1.0


def scaled(factor):
    return lambda outputs, targets: factor * nn.functional.mse_loss(outputs, targets)


class Weighted(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.register_buffer("weight", torch.tensor(weight), persistent=False)

    def forward(self, outputs, targets):
        return (self.weight * (outputs - targets) ** 2).mean()


class Callable_:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, outputs, targets):
        return self.factor * nn.functional.mse_loss(outputs, targets)


def of_a_global(outputs, targets):
    return SCALE * nn.functional.mse_loss(outputs, targets)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda: nn.HuberLoss(delta=1.0), lambda: nn.HuberLoss(delta=0.05)),
        (lambda: nn.MSELoss(), lambda: nn.MSELoss(reduction="sum")),
        (lambda: functools.partial(nn.functional.mse_loss), lambda: functools.partial(nn.functional.l1_loss)),
        (lambda: scaled(1.0), lambda: scaled(5.0)),
        (lambda: Weighted(1.0), lambda: Weighted(5.0)),
        (lambda: Callable_(1.0), lambda: Callable_(5.0)),
    ],
    ids=["setting", "reduction", "partial", "closure", "buffer", "object"],
)
def test_losses_that_differ_have_other_keys(first, second):
    assert loss_key(first()) == loss_key(first())
    assert loss_key(first()) != loss_key(second())


def test_a_global_that_a_loss_names_counts(monkeypatch):
    before = loss_key(of_a_global)
    monkeypatch.setitem(of_a_global.__globals__, "SCALE", 5.0)
    assert loss_key(of_a_global) != before


def test_one_step_of_a_sequence_does_not_decide_the_axis_of_samples():
    class Sequence(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 2)

        def forward(self, x):
            return self.linear(x).cumsum(0)

    batch = [(torch.randn(1, 5, 3), torch.randn(1, 5, 2))]
    with pytest.raises(ValueError, match="give batch_dim=0 or batch_dim=1"):
        probes.probe(Sequence(), batch, nn.MSELoss(), weight_decay=1e-3)
    assert probes.probe(Sequence(), batch, nn.MSELoss(), weight_decay=1e-3, batch_dim=1).samples == 5


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e25])
def test_weights_that_are_no_numbers_end_in_words(value):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1))
    with torch.no_grad():
        model[0].weight[0, 0] = value
    result = probes.probe(model, [(torch.randn(8, 4), torch.randn(8, 1))], nn.MSELoss(), weight_decay=1e-3)
    assert "undecided" in str(result)


def test_a_decay_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="weight_decay must be at least 0, got nan"):
        probes.probe(nn.Linear(2, 1), [(torch.randn(4, 2), torch.randn(4, 1))], nn.MSELoss(), weight_decay=float("nan"))


@pytest.mark.parametrize(
    ("model", "loss", "message"),
    [
        (nn.Linear(2, 1), nn.MSELoss(), "make_model must be a function that builds the model, got a model"),
        (lambda: nn.Linear(2, 1), nn.MSELoss, "got the class MSELoss; add"),
        (lambda: 3, nn.MSELoss(), r"make_model must return a torch.nn.Module, got int"),
    ],
)
def test_what_cannot_be_probed_is_refused(tmp_path, model, loss, message):
    torch.save(nn.Linear(2, 1).state_dict(), tmp_path / "step_1.pt")
    with pytest.raises(ValueError, match=message):
        probes.probe_checkpoints(tmp_path, model, [(torch.randn(4, 2), torch.randn(4, 1))], loss, weight_decay=1e-3)


def test_an_empty_file_is_left_out_with_words(tmp_path):
    torch.save(nn.Linear(2, 1).state_dict(), tmp_path / "step_1.pt")
    (tmp_path / "step_2.pt").write_bytes(b"")
    batches = [(torch.randn(4, 2), torch.randn(4, 1))]
    history = probes.probe_checkpoints(tmp_path, lambda: nn.Linear(2, 1), batches, nn.MSELoss(), weight_decay=1e-3)
    assert "step_2.pt is no whole file of tensors" in str(history.left_out)


def test_a_loss_without_a_gradient_decides_nothing():
    torch.manual_seed(0)
    model, classes = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)), torch.zeros(6, dtype=torch.long)
    result = probes.probe(
        model,
        [(torch.randn(6, 3), classes)],
        nn.CrossEntropyLoss(),
        weight_decay=1e-3,
        start={name: weights + 0.1 for name, weights in model.state_dict().items()},
    )
    assert {layer.verdict.state for layer in result.layers} == {"undecided"}
