"""The weight decay λ for FACT, read from an optimizer."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch

from firstlight.features import decay_budget

Rule = Literal["L2", "decoupled", "none"]

_DECOUPLED = ("AdamW", "Muon", "Lion", "Adafactor", "LAMB", "Lamb")


@dataclass(frozen=True)
class Decay:
    """The weight decay of one parameter and how the optimizer applies it.

    **Attributes:**

    - `value`: λ.
    - `rule`: "L2" if the decay is part of the gradient (SGD, Adam): training converges to a critical point of
      L + (λ/2)‖θ‖². "decoupled" (AdamW) if not: the mean step direction then replaces the gradient.
    - `gain`: how far a unit of learning rate moves the weights along the decay: 1/(1 − momentum) for SGD, 1 for
      decoupled decay, NaN if each weight has its own step size.
    - `learning_rate`: the current learning rate, if known.
    - `sign`: −1 if the optimizer maximises, else 1.
    """

    value: float
    rule: Rule = "L2"
    gain: float = 1.0
    learning_rate: float | None = None
    sign: float = 1.0

    def budget(self, total_learning_rate: float) -> float:
        """Return wd·Σlr/(1 − momentum); NaN if Adam's denominators scale an L2 decay."""
        return 0.0 if self.value == 0 else decay_budget([total_learning_rate * self.gain], self.value)


def decay_from_group(optimizer: torch.optim.Optimizer, group: Mapping[str, Any]) -> Decay:
    """Return the `Decay` of a parameter group.

    >>> import torch
    >>> weight = torch.nn.Parameter(torch.zeros(2, 2))
    >>> optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.5, weight_decay=1e-3)
    >>> decay_from_group(optimizer, optimizer.param_groups[0])
    Decay(value=0.001, rule='L2', gain=2.0, learning_rate=0.1, sign=1.0)
    """
    value = float(group.get("weight_decay") or 0.0)
    names = {base.__name__ for base in type(optimizer).__mro__}
    decoupled = bool(group.get("decoupled_weight_decay")) or bool(names & set(_DECOUPLED))
    rule: Rule = "none" if value == 0 else "decoupled" if decoupled else "L2"
    gain = 1.0 if decoupled else _gain(group) if "SGD" in names else math.nan
    sign = -1.0 if group.get("maximize") else 1.0
    return Decay(value, rule, gain, float(group["lr"]) if "lr" in group else None, sign)


def plain_optimizer(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """Return the optimizer inside a wrapper, such as those of accelerate and Lightning, which hide its kind."""
    inner = getattr(optimizer, "optimizer", None)
    while isinstance(inner, torch.optim.Optimizer):
        optimizer, inner = inner, getattr(inner, "optimizer", None)
    return optimizer


def _gain(group: Mapping[str, Any]) -> float:
    """Return SGD's total response to a single gradient, (1 − dampening)/(1 − momentum)."""
    momentum = float(group.get("momentum") or 0.0)
    dampening = float(group.get("dampening") or 0.0) if momentum else 0.0
    return (1 - dampening) / (1 - momentum)


def decays(
    model: torch.nn.Module,
    weight_decay: float | Mapping[str, float] | None,
    optimizer: torch.optim.Optimizer | None,
) -> dict[int, Decay]:
    """Return the `Decay` of every parameter by the parameter's id, from the optimizer or from the user.

    A `weight_decay` given together with an optimizer replaces the value and keeps the rule.
    """
    names = dict(model.named_parameters())
    by_id = {id(parameter): Decay(0.0, "none") for parameter in names.values()}
    if optimizer is not None:
        optimizer = plain_optimizer(optimizer)
        own = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
        if not own & set(by_id):
            raise ValueError(
                "optimizer must train the probed model, got the optimizer of another model: they share no parameter; "
                "give the optimizer that was made from model.parameters()"
            )
        for group in optimizer.param_groups:
            by_id |= {id(parameter): decay_from_group(optimizer, group) for parameter in group["params"]}
    if isinstance(weight_decay, Mapping):
        if unknown := set(weight_decay) - set(names):
            raise ValueError(f"weight_decay names {sorted(unknown)}; the model's parameters are {list(names)}")
        given = {id(names[name]): float(value) for name, value in weight_decay.items()}
    elif weight_decay is not None:
        given = dict.fromkeys(by_id, float(weight_decay))
    elif optimizer is None:
        raise ValueError(
            "FACT needs the weight decay of the training: give weight_decay=λ of L + (λ/2)‖θ‖² (0 if there was none), "
            "or optimizer="
        )
    else:
        given = {}
    for key, value in given.items():
        if not 0 <= value < math.inf:
            raise ValueError(f"weight_decay must be at least 0, got {value:g}")
        old = by_id[key]
        rule: Rule = "none" if value == 0 else "decoupled" if old.rule == "decoupled" else "L2"
        by_id[key] = replace(old, value=value, rule=rule)
    return by_id


def step_direction(optimizer: torch.optim.Optimizer, parameter: torch.Tensor) -> torch.Tensor | None:
    """Return m̂/(√v̂ + ε), the step direction of an Adam-like optimizer without its decay; None before the first step."""
    state = optimizer.state.get(parameter, {})
    if "exp_avg" not in state or "exp_avg_sq" not in state:
        return None
    group = next(g for g in optimizer.param_groups if any(parameter is p for p in g["params"]))
    beta1, beta2 = group["betas"]
    t = float(state["step"])
    m = state["exp_avg"] / (1 - beta1**t)
    # AMSGrad divides by the largest second moment so far.
    v = state.get("max_exp_avg_sq", state["exp_avg_sq"]) / (1 - beta2**t)
    return m / (v.sqrt() + group["eps"])
