"""Weights as matrices (in, out), and the sums over batches that belong to each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Float

from firstlight.probes._uses import Unusable, Use

CHEAPER = 1.6
"""nK² operations at the outputs are fewer than nKd + nd² at the inputs if K is below the golden ratio times d."""

ERROR_SAMPLES = 8
"""Samples per batch that estimate the error of a projected AGOP."""

Stack = Float[torch.Tensor, "g d K"]


@dataclass(frozen=True, eq=False)
class Layer:
    """A weight matrix of a model, or a part of it, such as q, k or v of a packed attention projection.

    A convolution of g groups is g matrices (in per group · kernel, out per group).

    **Attributes:**

    - `name`: name of the parameter, with the part in brackets if it is split.
    - `parameter`: the weight.
    - `rows`: start and end of the part on axis 0 of the weight.
    - `in_axis`: axis of the weight that runs over the inputs.
    - `groups`: number of groups of a convolution, else 1.
    - `kind`: how the weight is used, for the table.
    - `side`: "in" if the feature matrix is in×in, "out" for embeddings, whose inputs are a vocabulary.
    - `bias`: the bias, if the layer is treated as [W b].
    - `basis`: (d, r) leading directions onto which the input side is projected, if any.
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
        """Reshape a tensor of the parameter's shape to (g, in, out); a bias adds a row, for h̃ = [h; 1]."""
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
        """Return W as (g, in, out)."""
        return self.matrix(self.parameter, self.bias)

    def deltas(self, use: Use, gradient: torch.Tensor) -> Float[torch.Tensor, "g rows K"]:
        """Return the gradients δ at a use, for this layer's rows, groups first; unused rows are zero."""
        delta = use.deltas(gradient)
        if use.in_axis == 1 and self.in_axis == 1:
            # Negative padding crops.
            before, after = use.rows[0] - self.rows[0], self.rows[1] - use.rows[1]
            delta = torch.nn.functional.pad(delta, (before, after))
        return delta.reshape(delta.shape[0], self.groups, -1).transpose(0, 1)

    def captured(self) -> float:
        """Return the fraction of ‖WWᵀ‖ in the directions of `basis`, from the smaller Gram matrix."""
        if self.basis is None:
            return 1.0
        whole = replace(self, basis=None).weights()[0]
        gram = whole.T @ whole if whole.shape[1] <= whole.shape[0] else whole @ whole.T
        projected = self.weights()[0]
        return float(torch.linalg.norm(projected @ projected.T) / torch.linalg.norm(gram))

    def takes(self, use: Use) -> bool:
        """Return whether a use of the parameter involves this part of it."""
        return max(use.rows[0], self.rows[0]) < min(use.rows[1], self.rows[1])


@dataclass(eq=False)
class Sums:
    """Second moments of the gradients at a layer's outputs (g, K, K), at its inputs (g, d, d), or both.

    Uses in the layer's own direction are summed on the cheaper side, or at the outputs if the backward matrices are
    requested. A transposed use of a tied weight is summed at the layer's inputs.
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

        g_i is the gradient of sample i over all positions and uses; `sizes` holds the `sample_sizes` of each use.
        """
        fourth = float(torch.stack(list(sizes)).sum(0).square().sum(1).max())
        self.fourth += float(factor) ** 4 * fourth * samples / sizes[0].shape[1]

    def averaged(self, total: float) -> "Sums":
        """Return the sums divided by a number of samples."""
        outputs, inputs = (None if part is None else part / total for part in (self.at_outputs, self.at_inputs))
        return Sums(outputs, inputs, self.fourth / total**2)


def sample_sizes(
    layer: Layer, W: Stack, use: Use, delta: Float[torch.Tensor, "g rows k"], samples: int
) -> Float[torch.Tensor, "2 few"]:
    """Return ‖g_i‖² of the first few samples at a use, for two row orders: samples first, and positions first.

    The graph does not show the order, so the larger error counts. NaN if rows are no multiple of samples.
    """
    groups, rows, _ = delta.shape
    few = min(samples, ERROR_SAMPLES)
    if rows % samples:
        return delta.new_full((2, few), float("nan"))
    by_sample = delta.reshape(groups, samples, rows // samples, -1)[:, :few]
    by_position = delta.reshape(groups, rows // samples, samples, -1)[:, :, :few].transpose(1, 2)
    known = rows == samples or use.kind == "convolution"
    own, sizes = use.in_axis == layer.in_axis, []
    for gradients in (by_sample, by_sample if known else by_position):
        if own and layer.side == "in":
            gradients = gradients @ W.transpose(1, 2)[:, None]
        elif not own and layer.basis is not None:
            gradients = gradients @ layer.basis
        sizes.append((gradients**2).sum(dim=(0, 2, 3)))
    return torch.stack(sizes)


def _added(total: torch.Tensor | None, rows: Float[torch.Tensor, "g rows k"], square: float) -> torch.Tensor:
    if total is None:
        total = torch.zeros(rows.shape[0], rows.shape[2], rows.shape[2], dtype=rows.dtype, device=rows.device)
    return total.baddbmm_(rows.transpose(1, 2), rows, alpha=square)


@dataclass(frozen=True)
class View:
    """How to treat layers: with their bias, projected onto `rank` leading directions, fused weights split into rows."""

    with_bias: bool = False
    rank: int | None = None
    splits: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Plan:
    """The layers of a model, and the parameters that are not layers, each with the reason."""

    layers: tuple[Layer, ...]
    untreated: dict[str, str] = field(default_factory=dict)


def plan_layers(model: torch.nn.Module, uses: Mapping[str, list[Use] | Unusable], view: View) -> Plan:
    """Decide how to treat every parameter with two or more axes as matrices."""
    parameters, modules = dict(model.named_parameters()), dict(model.named_modules())
    if unknown := set(view.splits) - set(uses):
        raise ValueError(f"splits names {sorted(unknown)}; the model's matrices are {list(uses)}")
    layers, untreated = [], {}
    for name, own_uses in uses.items():
        if isinstance(own_uses, Unusable):
            untreated[name] = own_uses.reason
            continue
        if reason := _mixed(own_uses):
            untreated[name] = reason
            continue
        owner, _, own = name.rpartition(".")
        packed = isinstance(modules.get(owner), torch.nn.MultiheadAttention) and own == "in_proj_weight"
        parts = ("q", "k", "v") if packed else tuple(str(i) for i in range(view.splits.get(name, 1)))
        beside = f"{owner}.{own.removesuffix('weight')}bias".lstrip(".")
        bias = parameters.get(beside) if view.with_bias and own.endswith("weight") else None
        layers += [_compressed(layer, view.rank) for layer in _parts(name, parameters[name], bias, own_uses, parts)]
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
    # A randomised range finder with power steps: accurate enough for a basis, and never cubic in the width.
    U, _, _ = torch.svd_lowrank(W[0], q=min(rank + 8, *W.shape[1:]), niter=4)
    return replace(layer, basis=U[:, :rank].contiguous())
