"""`probe`: one pass of a `FeatureProbe` over a loader, and a second one at the start of training if that is known."""

from collections.abc import Iterable, Mapping, Sized
from typing import Any, Unpack

import torch

from firstlight.probes._feature_probe import FeatureProbe, LossFunction, ProbeOptions, mapped, unwrapped
from firstlight.probes._guards import reading
from firstlight.probes._result import ProbeResult
from firstlight.probes._start import at_start, distances, with_start


def probe(
    model: torch.nn.Module,
    batches: Iterable[Any],
    loss_fn: LossFunction | None = None,
    weight_decay: float | Mapping[str, float] | None = None,
    *,
    optimizer: torch.optim.Optimizer | None = None,
    known: Mapping[str, Any] | None = None,
    start: Mapping[str, torch.Tensor] | torch.nn.Module | None = None,
    **options: Unpack[ProbeOptions],
) -> ProbeResult:
    """Probe a model over a `DataLoader` or any iterable of batches.

    **Arguments:**

    - `model`: any `torch.nn.Module`.
    - `batches`: pairs (inputs, targets), or dicts of keywords for the model.
    - `loss_fn`: as in `FeatureProbe`.
    - `weight_decay`: as in `FeatureProbe`.
    - `optimizer`: as in `FeatureProbe`.
    - `known`: arguments of `FeatureProbe.result`, such as budgets.
    - `start`: the model or its state dict at initialisation. It is probed on the same batches, so that each layer can
      be compared with what it was, and tells how far the weights have moved.
    - `options`: other arguments of `FeatureProbe`.

    >>> import torch
    >>> model = torch.nn.Linear(2, 1, bias=False)
    >>> result = probe(model, [(torch.eye(2), torch.ones(2, 1))], torch.nn.MSELoss(), weight_decay=0.1)
    >>> result["weight"].inputs, result["weight"].outputs
    (2, 1)
    """
    options.setdefault("expected", len(batches) if isinstance(batches, Sized) else None)
    first = None if start is None else at_start(model, start)
    known = dict(known or {})
    if first is not None:
        known.setdefault("moved", distances(unwrapped(model), first))
    feature_probe = FeatureProbe(model, loss_fn, weight_decay, optimizer=optimizer, **options)
    _feed(feature_probe, batches)
    result = feature_probe.result(**known)
    if first is None:
        return result
    decays = {name: feature_probe.decays[id(p)].value for name, p in unwrapped(model).named_parameters()}
    before = FeatureProbe(first, loss_fn, decays, **options)
    _feed(before, batches)
    return with_start(result, before.result())


def _feed(feature_probe: FeatureProbe, batches: Iterable[Any]) -> None:
    device = next((p.device for p in feature_probe.model.parameters()), torch.device("cpu"))
    with reading(batches):
        for batch in batches:
            batch = mapped(lambda tensor: tensor.to(device), batch)
            if isinstance(batch, Mapping):
                feature_probe.step(batch)
            elif isinstance(batch, tuple | list) and len(batch) == 2:
                feature_probe.step(batch[0], batch[1])
            else:
                raise ValueError(
                    f"a batch must be a pair (inputs, targets) or a dict of keywords, got {type(batch).__name__}; loop "
                    "over the loader yourself and call FeatureProbe.step"
                )
