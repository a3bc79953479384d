"""Conversion of a layer's sums into its report."""

import dataclasses
import math

import numpy as np
import torch

from firstlight import features
from firstlight.probes._accumulate import LayerMoments
from firstlight.probes._compare import Comparison, Moments, compare
from firstlight.probes._decay import Decay
from firstlight.probes._layers import Sums
from firstlight.probes._result import LayerReport
from firstlight.probes._verdict import judge

LARGEST_SIDE = 8192
"""Largest number of rows of a backward matrix; larger ones are skipped."""

NOT_FINITE = "its weights or gradients are not finite: the model has diverged, or the data contain NaN"
NO_WEIGHTS = "its weights are zero"
NO_DECAY = "no weight decay, so a converged layer has ∂L/∂W = 0 and FACT says nothing about it"
NO_DIRECTION = (
    "decoupled weight decay, but no Adam state with the step direction: give optimizer= after its first step, or use "
    "Watch"
)


def assess(
    moments: LayerMoments,
    decay: Decay,
    *,
    bias_decay: Decay | None,
    direction: torch.Tensor | None,
    alignment: str,
    backward: bool,
    budget: float,
    moved: float,
    keep_matrices: bool,
) -> LayerReport:
    """Compare a layer's matrices with the prediction of FACT, and judge the layer."""
    layer, W = moments.layer, _numpy(moments.W)
    gradient = _gradient(moments, decay, bias_decay, direction)
    reason = gradient if isinstance(gradient, str) else "" if W.any() else NO_WEIGHTS
    if not _finite(moments):
        moments, reason = dataclasses.replace(moments, enfa=Sums(), agop=Sums()), NOT_FINITE
    gradient = None if reason or isinstance(gradient, str) else gradient
    comparison = _side(layer.side, W, gradient, decay.value, moments, alignment)
    other = None
    if backward and layer.side == "in" and W.shape[2] <= LARGEST_SIDE:
        other = _side("out", W, gradient, decay.value, moments, alignment)
    verdict = judge(
        comparison.alignments["FACT"],
        size=comparison.size,
        residual=comparison.residual,
        symmetrised=comparison.alignments["√FACT·FACTᵀ"],
        agop=comparison.alignments["√AGOP"],
        budget=budget,
        moved=moved,
        reason=reason,
    )
    matrices = dict(comparison.matrices) if keep_matrices else {}
    if keep_matrices and other is not None:
        matrices |= {f"b{name}": matrix for name, matrix in other.matrices.items()}
    size = float(np.linalg.norm(comparison.matrices["AGOP"])) if "AGOP" in comparison.matrices else math.nan
    return LayerReport(
        name=layer.name,
        kind=layer.kind,
        inputs=int(moments.W.shape[1]) * layer.groups if layer.basis is None else int(layer.basis.shape[0]),
        outputs=int(moments.W.shape[2]) * layer.groups,
        groups=layer.groups,
        side=layer.side,
        weight_decay=decay.value,
        rule=decay.rule,
        alignments=comparison.alignments,
        size=comparison.size,
        residual=comparison.residual,
        verdict=verdict,
        agop_error=math.sqrt(moments.agop.fourth) / size if size > 0 else math.nan,
        captured=layer.captured(),
        budget=budget,
        moved=moved,
        to_converge=_to_converge(comparison) if layer.groups == 1 else math.nan,
        backward={} if other is None else other.alignments,
        backward_residual=math.nan if other is None else other.residual,
        matrices=matrices,
    )


def _gradient(
    moments: LayerMoments, decay: Decay, bias_decay: Decay | None, direction: torch.Tensor | None
) -> np.ndarray | str:
    """Return ∂L/∂W, or the step direction of a decoupled optimizer, or the reason why neither exists."""
    if decay.rule == "none":
        return NO_DECAY
    if decay.rule == "decoupled":
        if bias_decay is not None:
            return "decoupled weight decay, whose formula is for the weight alone: probe with with_bias=False"
        return NO_DIRECTION if direction is None else _numpy(moments.layer.matrix(direction))
    if moments.gradient is None:
        return "no gradient reached it, or its bias is frozen: probe with with_bias=False"
    gradient = decay.sign * _numpy(moments.gradient)
    if bias_decay is not None and bias_decay != decay:
        if bias_decay.rule != "L2":
            return "its bias has no weight decay, so [W b] has no FACT: probe with with_bias=False"
        # At rest −∂L/∂b = λ_b b; the factor λ/λ_b turns it into the gradient of a bias with the weight's λ.
        gradient[:, -1] *= decay.value / bias_decay.value
    return gradient


def _finite(moments: LayerMoments) -> bool:
    parts = [moments.W, moments.gradient]
    parts += [part for sums in (moments.enfa, moments.agop) for part in (sums.at_inputs, sums.at_outputs)]
    return all(part is None or bool(torch.isfinite(part).all()) for part in parts)


def _side(
    side: str, W: np.ndarray, gradient: np.ndarray | None, decay: float, moments: LayerMoments, alignment: str
) -> Comparison:
    """Compare on one side of a layer; on the output side W is transposed."""
    if side == "in":
        return compare(W, gradient, decay, _seen(moments.enfa, side), _seen(moments.agop, side), alignment)
    transposed = None if gradient is None else gradient.swapaxes(1, 2)
    return compare(W.swapaxes(1, 2), transposed, decay, _seen(moments.enfa, side), _seen(moments.agop, side), alignment)


def _seen(sums: Sums, side: str) -> Moments:
    inputs = None if sums.at_inputs is None else _numpy(sums.at_inputs)
    outputs = None if sums.at_outputs is None else _numpy(sums.at_outputs)
    return Moments(inputs, outputs) if side == "in" else Moments(outputs, inputs)


def _to_converge(comparison: Comparison) -> float:
    if "FACT" not in comparison.matrices:
        return math.nan
    return features.budget_to_align(comparison.matrices["NFM"], comparison.matrices["FACT"])


def _numpy(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().to("cpu", torch.float64).numpy()
