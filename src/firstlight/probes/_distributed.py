"""The sums of several processes of `torch.distributed`, added so that each has the result of all data."""

from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

if TYPE_CHECKING:
    from firstlight.probes._accumulate import Accumulator


def add_over_processes(sums: "Accumulator") -> None:
    """Add samples, weights, gradients and second moments over all processes, in place.

    Every process must call it, after the same number of layers.
    """
    if not (dist.is_available() and dist.is_initialized()):
        raise ValueError(
            "distributed=True needs an initialised process group of torch.distributed; call init_process_group, or "
            "probe with distributed=False"
        )
    sums._plan()
    device = next(sums.model.parameters()).device
    sums.samples = int(_total(torch.tensor(float(sums.samples), device=device, dtype=torch.float64)))
    sums._withheld |= _union(sums._withheld, len(sums._weights), device)
    share = torch.tensor([sums._share.rows, sums._share.projections], device=device, dtype=torch.float64)
    sums._share.rows, sums._share.projections = _total(share).tolist()
    for spread in sums._spreads:
        spread.add_over(_total)
    for group in sums._groups:
        scalars = _total(torch.tensor([group.weight, group.samples], device=device, dtype=torch.float64))
        group.weight, group.samples = float(scalars[0]), int(scalars[1])
        if not group.samples:
            continue
        for layer, W, enfa, agop in zip(sums._plan().layers, sums._weights, group.enfa, group.agop, strict=True):
            for parameter in (layer.parameter, layer.bias):
                if parameter is not None and parameter.requires_grad:
                    wide = torch.float32 if parameter.dtype in (torch.float16, torch.bfloat16) else parameter.dtype
                    own = group.gradients.get(id(parameter))
                    own = torch.zeros_like(parameter, dtype=wide).detach() if own is None else own
                    # The parts of a split weight share one gradient.
                    if id(parameter) not in group.reduced:
                        group.gradients[id(parameter)] = _total(own.contiguous())
                        group.reduced.add(id(parameter))
            for part in (enfa, agop):
                part.at_outputs = _optional(part.at_outputs, (W.shape[0], W.shape[2], W.shape[2]), W)
                part.at_inputs = _optional(part.at_inputs, (W.shape[0], W.shape[1], W.shape[1]), W)


def _total(tensor: torch.Tensor) -> torch.Tensor:
    dist.all_reduce(tensor)
    return tensor


def _optional(part: torch.Tensor | None, shape: tuple[int, ...], like: torch.Tensor) -> torch.Tensor | None:
    """Add a tensor that some processes may lack; None if all lack it."""
    if float(_total(torch.tensor(float(part is not None), device=like.device))) == 0:
        return None
    return _total(torch.zeros(shape, dtype=like.dtype, device=like.device) if part is None else part)


def _union(members: set[int], count: int, device: torch.device) -> set[int]:
    flags = torch.tensor([float(i in members) for i in range(count)], device=device)
    return {i for i, flag in enumerate(_total(flags).tolist()) if flag > 0}
