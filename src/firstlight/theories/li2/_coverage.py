"""Forecasts from specs: what they cover, and the numbers that a spec gives."""

from math import inf

from firstlight import flow, groups
from firstlight.models import activation as named_activation
from firstlight.records import GroupTask, RunSpec, TwoLayerModel
from firstlight.tasks import train_count
from firstlight.theories.li2._forecast import Forecast
from firstlight.theories.li2._own_boundary import ProgressCallback
from firstlight.theories.li2._predict import epochs_to_test, predict
from firstlight.theories.li2._situation import situation_of
from firstlight.theories.li2._stages import decay_ridge


def reason_without_forecast(spec: RunSpec) -> str:
    """Return '' if `predict` covers the spec, else the reason: its constants were measured in one setting."""
    task, model, optimizer = spec.task, spec.model, spec.optimizer
    if not isinstance(task, GroupTask) or task.factors != 2 or task.encoding != "onehot" or task.label_noise:
        return "it was measured on products of two group elements, one-hot encoded, without label noise"
    if model.kind != "two_layer" or model.bias or model.scale != 1 or model.init != "uniform_fan_in":
        return "it was measured on two-layer networks without biases, with the default initial weights"
    if spec.loss.kind != "mse":
        return "it was measured with the squared error"
    if optimizer.name not in ("adam", "adamw"):
        return f"it was measured with Adam and AdamW, and the optimizer is {optimizer.title}"
    if optimizer.batch_size or optimizer.schedule.shape != "constant" or optimizer.schedule.warmup:
        return "it was measured with all training pairs in every update and a constant learning rate"
    if optimizer.layer_rates:
        return "it was measured with one learning rate for both layers"
    order = groups.of_task(task).order
    if order == 1 or training_pairs(task) == order**2:
        return "there are no held-out pairs to generalise to"
    return ""


def training_pairs(task: GroupTask) -> int:
    """Return n, the number of training rows of the split."""
    total = groups.of_task(task).order ** task.factors
    return train_count(total, task.split.fraction, task.split.count)


def predict_spec(spec: RunSpec, progress: ProgressCallback | None = None, *, within_steps: bool = True) -> Forecast:
    """Return the forecast for a spec; one that says so if the spec is not covered.

    **Arguments:**

    - `spec`: the run.
    - `progress`: see `own_boundary`.
    - `within_steps`: whether the chance is that of generalising within the spec's steps, or at all.
    """
    if reason := reason_without_forecast(spec):
        return not_covered(spec, reason)
    group, n, width, eta, decoupled = _numbers(spec)
    return predict(
        group,
        n=n,
        K=width,
        eta=eta,
        activation=spec.model.activation,
        learning_rate=spec.optimizer.learning_rate,
        decoupled=decoupled,
        steps=spec.steps if within_steps else None,
        progress=progress,
    )


def epochs_to_test_spec(spec: RunSpec) -> int:
    """Return `epochs_to_test` for a spec that `predict` covers."""
    group, n, width, eta, decoupled = _numbers(spec)
    sigma = named_activation(spec.model.activation).name
    return epochs_to_test(situation_of(group, n, width, sigma, eta, decoupled), spec.optimizer.learning_rate)


def _numbers(spec: RunSpec) -> tuple[groups.Group, int, int, float | None, float | None]:
    """Return group, n, K, η and decoupled decay of a spec that `predict` covers."""
    task, model, optimizer = spec.task, spec.model, spec.optimizer
    if not isinstance(task, GroupTask) or not isinstance(model, TwoLayerModel):
        raise TypeError(f"a forecast needs a group task and a two-layer network, got {task.kind} and {model.kind}")
    n = training_pairs(task)
    # Adam and AdamW without decay, and AdamW with a decay in the gradient, are one optimizer.
    coupled = flow.is_coupled(optimizer) or optimizer.weight_decay == 0
    eta = decay_ridge(n, optimizer.weight_decay, spec.loss) if coupled else None
    return groups.of_task(task), n, model.width, eta, None if coupled else optimizer.weight_decay


def not_covered(spec: RunSpec | None, reason: str) -> Forecast:
    """Return the forecast that says why there is none."""
    name, n, pairs, steps = "", 0, 0, inf
    if spec is not None:
        steps = float(spec.steps)
        if isinstance(spec.task, GroupTask) and spec.task.factors == 2:
            name, n = spec.task.group, training_pairs(spec.task)
            pairs = groups.of_task(spec.task).order ** 2
    story = f"The forecast does not cover this run: {reason}."
    return Forecast(name, n, pairs, "not covered", float("nan"), steps, why=reason, story=story)
