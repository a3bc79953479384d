"""A model at its start: the weights before training, on the same architecture."""

import copy
import dataclasses
import math
from collections.abc import Mapping

import torch

from firstlight.probes._result import ProbeResult


def at_start(model: torch.nn.Module, start: Mapping[str, torch.Tensor] | torch.nn.Module) -> torch.nn.Module:
    """Return a copy of the model with its initial weights."""
    state = start.state_dict() if isinstance(start, torch.nn.Module) else start
    first = copy.deepcopy(model)
    missing = set(dict(first.named_parameters())) - set(state)
    if missing:
        raise ValueError(
            f"start must hold every parameter of the model, it lacks {sorted(missing)[:3]}; give "
            "copy.deepcopy(model.state_dict()) taken before training"
        )
    first.load_state_dict(dict(state), strict=False)
    return first


def distances(model: torch.nn.Module, first: torch.nn.Module) -> dict[str, float]:
    """Return ‖W − W₀‖/‖W₀‖ of every parameter."""
    before = dict(first.named_parameters())
    changes = {}
    for name, parameter in model.named_parameters():
        start = before[name].detach()
        size = float(torch.linalg.vector_norm(start))
        change = float(torch.linalg.vector_norm(parameter.detach() - start))
        changes[name] = change / size if size > 0 else math.inf
    return changes


def with_start(result: ProbeResult, before: ProbeResult) -> ProbeResult:
    """Return a result whose layers know their alignments at the start."""
    earlier = {layer.name: layer.alignments for layer in before.layers}
    layers = tuple(dataclasses.replace(layer, at_start=dict(earlier.get(layer.name, {}))) for layer in result.layers)
    return dataclasses.replace(result, layers=layers)
