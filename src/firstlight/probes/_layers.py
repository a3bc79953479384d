"""Weights as matrices (in, out), and the streaming sums that belong to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Float

from firstlight.probes._uses import Unusable, Use

CHEAPER = 1.6
"""nK² operations at the outputs are fewer than nKd + nd² at the inputs while K is below the golden ratio times d."""

ERROR_SAMPLES = 8
"""Samples of each batch from which the error of a projected AGOP is estimated."""

Stack = Float[torch.Tensor, "g d K"]


@dataclass(frozen=True, eq=False)
class Layer:
    """One weight matrix of a model, or one part of it: the q, k or v of an attention's packed projection.

    A convolution of g groups is g matrices (in per group · kernel, out per group). `side` is "in" where the feature
    matrix is in×in, and "out" for embeddings, whose inputs are a vocabulary. With `basis`, the in-side is seen through
    its few leading directions.
    """

    name: str
    parameter: torch.nn.Parameter
    rows: tuple[int, int]
    in_axis: int
    groups: int
    kind: str
    side: str
    bias: torch.nn.Parameter | None = None
    basis: Float[torch.Tensor, "d r"] | None = None

    def matrix(self, weight: torch.Tensor, bias: torch.Tensor | None = None) -> Stack:
        """A tensor shaped like the parameter as (g, in, out); with a bias, h̃ = [h; 1] and one more row."""
        part = weight.detach()[slice(*self.rows)]
        if part.dtype in (torch.float16, torch.bfloat16):
            part = part.float()
        if self.in_axis == 1:
            part = part.reshape(self.groups, part.shape[0] // self.groups, -1).transpose(1, 2)
        else:
            part = part[None]
        if bias is not None:
            last = bias.detach()[slice(*self.rows)].to(part.dtype).reshape(self.groups, 1, -1)
            part = torch.cat([part, last], dim=1)
        return part if self.basis is None else self.basis.T @ part

    def weights(self) -> Stack:
        """W as (g, in, out)."""
        return self.matrix(self.parameter, self.bias)

    def deltas(self, use: Use, gradient: torch.Tensor) -> Float[torch.Tensor, "g rows K"]:
        """What came back to a use, seen at this layer's rows, groups first; rows that were not used get nothing."""
        delta = use.deltas(gradient)
        if use.in_axis == 1 and self.in_axis == 1:
            # Negative padding cuts.
            before, after = use.rows[0] - self.rows[0], self.rows[1] - use.rows[1]
            delta = torch.nn.functional.pad(delta, (before, after))
        return delta.reshape(delta.shape[0], self.groups, -1).transpose(0, 1)

    def captured(self) -> float:
        """The share of ‖WWᵀ‖ that the kept directions hold, from the smaller Gram matrix."""
        if self.basis is None:
            return 1.0
        whole = replace(self, basis=None).weights()[0]
        gram = whole.T @ whole if whole.shape[1] <= whole.shape[0] else whole @ whole.T
        kept = self.weights()[0]
        return float(torch.linalg.norm(kept @ kept.T) / torch.linalg.norm(gram))

    def takes(self, use: Use) -> bool:
        """Whether a use of the parameter involves this part of it."""
        return max(use.rows[0], self.rows[0]) < min(use.rows[1], self.rows[1])


@dataclass(eq=False)
class Sums:
    """Second moments of what comes back to a layer: at its outputs (g, K, K), at its inputs (g, d, d), or both.

    Uses in the layer's own direction are kept where that is cheaper, or at the outputs when the backward matrices are
    wanted; a transposed use of a tied weight lives at the layer's inputs.
    """

    at_outputs: torch.Tensor | None = None
    at_inputs: torch.Tensor | None = None
    fourth: float = 0.0

    def add(self, layer: Layer, W: Stack, use: Use, delta: torch.Tensor, factor: float, keep_outputs: bool) -> None:
        """Add factor²·Σ ggᵀ over rows."""
        square = float(factor) ** 2
        if use.in_axis != layer.in_axis:
            if layer.basis is not None:
                delta = delta @ layer.basis
            self.at_inputs = _added(self.at_inputs, delta, square)
        elif keep_outputs or W.shape[2] <= CHEAPER * W.shape[1]:
            self.at_outputs = _added(self.at_outputs, delta, square)
        else:
            self.at_inputs = _added(self.at_inputs, delta @ W.transpose(1, 2), square)

    def add_error(self, sizes: Sequence[Float[torch.Tensor, "2 few"]], factor: float, samples: int) -> None:
        """Add Σ_i ‖g_i‖⁴, which bounds the variance of Σ_i g_ig_iᵀ over random projections, from a few samples.

        g_i is all that comes back from sample i, over positions and over uses, whose `sample_sizes` are given.
        """
        fourth = float(torch.stack(list(sizes)).sum(0).square().sum(1).max())
        self.fourth += float(factor) ** 4 * fourth * samples / sizes[0].shape[1]

    def averaged(self, total: float) -> "Sums":
        """The sums divided by a number of samples."""
        outputs, inputs = (None if part is None else part / total for part in (self.at_outputs, self.at_inputs))
        return Sums(outputs, inputs, self.fourth / total**2)


def sample_sizes(
    layer: Layer, W: Stack, use: Use, delta: Float[torch.Tensor, "g rows k"], samples: int
) -> Float[torch.Tensor, "2 few"]:
    """‖g_i‖² of the first few samples at one use, with rows running over samples first, and over positions first.

    The graph does not tell which of the two it is: the larger error counts. NaN where rows are no multiple of samples.
    """
    groups, rows, _ = delta.shape
    few = min(samples, ERROR_SAMPLES)
    if rows % samples:
        return delta.new_full((2, few), float("nan"))
    by_sample = delta.reshape(groups, samples, rows // samples, -1)[:, :few]
    by_position = delta.reshape(groups, rows // samples, samples, -1)[:, :, :few].transpose(1, 2)
    known = rows == samples or use.kind == "convolution"
    own, sizes = use.in_axis == layer.in_axis, []
    for one in (by_sample, by_sample if known else by_position):
        if own and layer.side == "in":
            one = one @ W.transpose(1, 2)[:, None]
        elif not own and layer.basis is not None:
            one = one @ layer.basis
        sizes.append((one**2).sum(dim=(0, 2, 3)))
    return torch.stack(sizes)


def _added(total: torch.Tensor | None, rows: Float[torch.Tensor, "g rows k"], square: float) -> torch.Tensor:
    if total is None:
        total = torch.zeros(rows.shape[0], rows.shape[2], rows.shape[2], dtype=rows.dtype, device=rows.device)
    return total.baddbmm_(rows.transpose(1, 2), rows, alpha=square)


@dataclass(frozen=True)
class View:
    """How to look at layers: with their bias, through `rank` leading directions, fused ones split into row blocks."""

    with_bias: bool = False
    rank: int | None = None
    splits: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Plan:
    """The layers of a model, and the parameters that are none, with the reason."""

    layers: tuple[Layer, ...]
    untreated: dict[str, str] = field(default_factory=dict)


def plan_layers(model: torch.nn.Module, uses: Mapping[str, list[Use] | Unusable], view: View) -> Plan:
    """Decide for every parameter with two or more axes how it is seen as matrices."""
    parameters, modules = dict(model.named_parameters()), dict(model.named_modules())
    if unknown := set(view.splits) - set(uses):
        raise ValueError(f"splits names {sorted(unknown)}; the model's matrices are {list(uses)}")
    layers, untreated = [], {}
    for name, found in uses.items():
        if isinstance(found, Unusable):
            untreated[name] = found.reason
            continue
        if reason := _mixed(found):
            untreated[name] = reason
            continue
        owner, _, own = name.rpartition(".")
        packed = isinstance(modules.get(owner), torch.nn.MultiheadAttention) and own == "in_proj_weight"
        parts = ("q", "k", "v") if packed else tuple(str(i) for i in range(view.splits.get(name, 1)))
        beside = f"{owner}.{own.removesuffix('weight')}bias".lstrip(".")
        bias = parameters.get(beside) if view.with_bias and own.endswith("weight") else None
        layers += [_compressed(layer, view.rank) for layer in _parts(name, parameters[name], bias, found, parts)]
    return Plan(tuple(layers), untreated)


def _parts(
    name: str,
    parameter: torch.nn.Parameter,
    bias: torch.nn.Parameter | None,
    uses: Sequence[Use],
    parts: Sequence[str],
) -> list[Layer]:
    main = next((use for use in uses if use.kind != "lookup"), uses[0])
    rows = parameter.shape[0]
    if rows % len(parts):
        raise ValueError(f"{name} has {rows} rows, which cannot be split into {len(parts)} equal parts")
    size = rows // len(parts)
    if main.in_axis != 1 or len({use.in_axis for use in uses}) > 1:
        bias = None
    return [
        Layer(
            name=name if len(parts) == 1 else f"{name}[{part}]",
            parameter=parameter,
            rows=(i * size, (i + 1) * size),
            in_axis=main.in_axis,
            groups=main.groups,
            kind=_kind(uses),
            side="out" if main.kind == "lookup" else "in",
            bias=bias,
        )
        for i, part in enumerate(parts)
    ]


def _mixed(uses: Sequence[Use]) -> str:
    if len({use.groups for use in uses}) > 1:
        return "it is convolved with different numbers of groups in different places"
    if any(use.kind == "convolution" for use in uses) and any(use.kind != "convolution" for use in uses):
        return "it is both convolved and multiplied"
    return ""


def _kind(uses: Sequence[Use]) -> str:
    name = {"product": "linear", "convolution": "convolution", "lookup": "embedding"}
    kinds = dict.fromkeys(name[use.kind] for use in uses)
    return " + ".join(kinds) + (f" ×{len(uses)}" if len(uses) > 1 else "")


def _compressed(layer: Layer, rank: int | None) -> Layer:
    W = layer.weights()
    if rank is None or layer.groups > 1 or layer.side == "out" or rank >= min(W.shape[1:]):
        return layer
    # A random range finder with power steps: exact enough for a basis, and never cubic in the width.
    U, _, _ = torch.svd_lowrank(W[0], q=min(rank + 8, *W.shape[1:]), niter=4)
    return replace(layer, basis=U[:, :rank].contiguous())
