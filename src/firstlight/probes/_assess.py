"""Conversion of a layer's sums into its report."""

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from firstlight.probes._accumulate import LayerMoments, Part
from firstlight.probes._compare import Comparison, Given, Moments, compare
from firstlight.probes._decay import Decay
from firstlight.probes._layers import Layer, Sums
from firstlight.probes._result import LayerReport
from firstlight.probes._verdict import Drift, Verdict, judge

LARGEST_SIDE = 8192
"""Largest number of rows of a backward matrix; larger ones are skipped."""

DIRECTIONS = 8
"""Leading directions of the feature matrix that a report keeps."""

NOT_FINITE = "its weights or gradients are not finite: the model has diverged, or the data contain NaN"
NO_WEIGHTS = "its weights are zero"
NO_GRADIENT = "the loss has no gradient at this layer, on any batch"
NO_DECAY = "no weight decay, so a converged layer has ∂L/∂W = 0 and FACT says nothing about it"
NO_DIRECTION = (
    "decoupled weight decay, but no Adam state with the step direction: give optimizer= after its first step, or use "
    "Watch"
)


@dataclass(frozen=True)
class Known:
    """What is known about the training of a layer, apart from the probe; unknown numbers are NaN.

    **Attributes:**

    - `budget`: wd·Σlr/(1 − momentum) so far.
    - `moved`: relative change of the weights since initialisation.
    - `direction`: mean step direction of a decoupled optimizer.
    - `drift`: averages along the last steps.
    - `since`: the checkpoint from which `moved` counts, if the initialisation is unknown.
    - `steadiness`: cosine of the last two moves between checkpoints.
    """

    budget: float = math.nan
    moved: float = math.nan
    direction: torch.Tensor | None = None
    drift: Drift | None = None
    since: str = ""
    steadiness: float = math.nan


def assess(
    moments: LayerMoments,
    decay: Decay,
    known: Known,
    *,
    bias_decay: Decay | None,
    alignment: str,
    backward: bool,
    keep_matrices: bool,
    roots: bool = True,
) -> LayerReport:
    """Compare a layer's matrices with the prediction of FACT, and judge the layer."""
    layer = moments.layer
    gradient = _gradient(moments.gradient, moments, decay, bias_decay, known.direction)
    reason = gradient if isinstance(gradient, str) else "" if bool(moments.W.any()) else NO_WEIGHTS
    if not reason and isinstance(gradient, torch.Tensor) and not bool(gradient.any()):
        reason = NO_GRADIENT
    if not _finite(moments):
        reason, moments = NOT_FINITE, dataclasses.replace(moments, enfa=Sums(), agop=Sums(), parts=())
    if moments.withheld:
        parts = tuple(dataclasses.replace(part, enfa=Sums(), agop=Sums()) for part in moments.parts)
        moments = dataclasses.replace(moments, enfa=Sums(), agop=Sums(), parts=parts)
    usable = not reason and not isinstance(gradient, str)
    whole = _Whole(moments, gradient if usable and isinstance(gradient, torch.Tensor) else None)
    # A decoupled optimizer's direction is one for all batches, so the batches say nothing about its error.
    parts = _parts(moments, decay, bias_decay) if usable and decay.rule == "L2" else _parts(moments, None, None)
    options = {"weight_decay": decay.value, "alignment": alignment, "keep": keep_matrices, "roots": roots}
    comparison = _side(layer.side, whole, parts, directions=DIRECTIONS, **options)
    other = None
    if backward and layer.side == "in" and moments.W.shape[2] <= LARGEST_SIDE:
        other = _side("out", whole, parts, directions=0, **options)
    verdict = judge(
        comparison.alignments["FACT"],
        size=comparison.size,
        residual=comparison.residual,
        budget=known.budget,
        moved=known.moved,
        drift=known.drift,
        since=known.since,
        steadiness=known.steadiness,
        invariant=moments.invariant,
        reason=reason,
    )
    if moments.withheld:
        verdict = Verdict(verdict.state, f"{verdict.evidence}; {moments.withheld}")
    matrices = dict(comparison.matrices)
    if other is not None:
        matrices |= {f"b{name}": matrix for name, matrix in other.matrices.items()}
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
        errors=comparison.errors,
        size=comparison.size,
        residual=comparison.residual,
        verdict=verdict,
        averaged=math.nan if known.drift is None else known.drift.fact,
        agop_error=math.nan if moments.withheld else moments.agop_error,
        captured=layer.captured(),
        budget=known.budget,
        moved=known.moved,
        effective_rank=comparison.rank,
        spectrum=comparison.spectrum,
        withheld=moments.withheld,
        backward={} if other is None else other.alignments,
        backward_residual=math.nan if other is None else other.residual,
        shape=_shape(layer),
        directions=_directions(layer, comparison.directions),
        matrices=matrices,
    )


@dataclass(frozen=True, eq=False)
class _Whole:
    moments: LayerMoments
    gradient: torch.Tensor | None
    share: float = 1.0


def _shape(layer: Layer) -> tuple[int, ...]:
    """Return the shape of a convolution's window (channels, …), and () for other layers."""
    if layer.kind.startswith("convolution") and layer.bias is None:
        return tuple(int(size) for size in layer.parameter.shape[1:])
    return ()


def _directions(layer: Layer, rows: np.ndarray | None) -> np.ndarray:
    """Return the leading directions in the layer's full space."""
    if rows is None:
        return np.zeros((0, 0))
    return rows if layer.basis is None else rows @ _numpy(layer.basis).T


def _gradient(
    own: torch.Tensor | None,
    moments: LayerMoments,
    decay: Decay,
    bias_decay: Decay | None,
    direction: torch.Tensor | None,
) -> torch.Tensor | str:
    """Return ∂L/∂W, or the step direction of a decoupled optimizer, or the reason why neither exists."""
    if decay.rule == "none":
        return NO_DECAY
    if decay.rule == "decoupled":
        if bias_decay is not None:
            return "decoupled weight decay, whose formula is for the weight alone: probe with with_bias=False"
        return NO_DIRECTION if direction is None else moments.layer.matrix(direction)
    if own is None:
        return "no gradient reached it, or its bias is frozen: probe with with_bias=False"
    gradient = own if decay.sign == 1 else -own
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


def _parts(moments: LayerMoments, decay: Decay | None, bias_decay: Decay | None) -> list[Callable[[], _Whole]]:
    """Return functions that make the sums of each group, since their gradients are as large as the layer."""

    def made(part: Part) -> _Whole:
        own = dataclasses.replace(moments, enfa=part.enfa, agop=part.agop)
        gradient = None if decay is None else _gradient(part.gradient(), own, decay, bias_decay, None)
        return _Whole(own, None if isinstance(gradient, str) else gradient, part.share)

    return [partial(made, part) for part in moments.parts]


def _side(side: str, whole: _Whole, parts: list[Callable[[], _Whole]], **options: Any) -> Comparison:
    """Compare on one side of a layer; on the output side W is transposed."""
    W = whole.moments.W
    return compare(
        W if side == "in" else W.transpose(1, 2),
        _given(side, whole),
        parts=[partial(lambda make: _given(side, make()), make) for make in parts],
        **options,
    )


def _given(side: str, whole: _Whole) -> Given:
    gradient = whole.gradient
    if gradient is not None and side == "out":
        gradient = gradient.transpose(1, 2)
    return Given(gradient, _seen(whole.moments.enfa, side), _seen(whole.moments.agop, side), whole.share)


def _seen(sums: Sums, side: str) -> Moments:
    return Moments(sums.at_inputs, sums.at_outputs) if side == "in" else Moments(sums.at_outputs, sums.at_inputs)


def _numpy(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().to("cpu", torch.float64).numpy()
