"""Weights as matrices (in, out), and the sums over batches that belong to each."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from jaxtyping import Float

from firstlight.probes._uses import Unusable, Use

CHEAPER = 1.6
"""nK² operations at the outputs are fewer than nKd + nd² at the inputs if K is below the golden ratio times d."""

OUTSIDE = 64
"""Random vectors that estimate the part of ‖WWᵀ‖ outside the leading directions."""

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
        """Return the fraction of ‖WWᵀ‖ in the directions of `basis`; random vectors estimate the part outside."""
        if self.basis is None:
            return 1.0
        whole, inside = replace(self, basis=None).weights()[0], self.weights()[0]
        left = whole - self.basis @ inside
        square = float(torch.linalg.norm(inside @ inside.T)) ** 2
        # ‖WWᵀ‖² = ‖BᵀWWᵀB‖² + 2‖RWᵀB‖² + ‖RRᵀ‖², where R is W outside the basis; E‖RRᵀz‖² is the last term.
        cross = float(torch.linalg.norm(left @ inside.T)) ** 2
        generator = torch.Generator().manual_seed(0)
        z = torch.randn(left.shape[0], OUTSIDE, generator=generator, dtype=torch.float64).to(left)
        rest = float((left @ (left.T @ z)).square().sum()) / OUTSIDE
        whole_square = square + 2 * cross + rest
        return math.sqrt(square / whole_square) if whole_square > 0 else math.nan

    def takes(self, use: Use) -> bool:
        """Return whether a use of the parameter involves this part of it."""
        return max(use.rows[0], self.rows[0]) < min(use.rows[1], self.rows[1])


Place = Literal["inputs", "outputs"]


def placed(
    layer: Layer, W: Stack, use: Use, delta: Float[torch.Tensor, "g rows k"], keep_outputs: bool
) -> tuple[Float[torch.Tensor, "g rows side"], Place]:
    """Return the rows whose outer products are summed, and on which side of the layer they are.

    Uses in the layer's own direction are summed on the cheaper side, or at the outputs if the backward matrices are
    requested. A transposed use of a tied weight is summed at the layer's inputs.
    """
    if use.in_axis != layer.in_axis:
        return (delta if layer.basis is None else delta @ layer.basis), "inputs"
    if keep_outputs or layer.side == "out" or W.shape[2] <= CHEAPER * W.shape[1]:
        return delta, "outputs"
    return delta @ W.transpose(1, 2), "inputs"


@dataclass(eq=False)
class Sums:
    """Second moments of the gradients at a layer's outputs (g, K, K), at its inputs (g, d, d), or both."""

    at_outputs: torch.Tensor | None = None
    at_inputs: torch.Tensor | None = None

    def add(self, rows: Float[torch.Tensor, "g rows k"], place: Place, scale: float = 1.0) -> None:
        """Add scale·Σ ggᵀ over rows."""
        if place == "inputs":
            self.at_inputs = _added(self.at_inputs, rows, scale)
        else:
            self.at_outputs = _added(self.at_outputs, rows, scale)

    def merge(self, other: "Sums", scale: float = 1.0) -> None:
        """Add other sums, scaled."""
        for name in ("at_outputs", "at_inputs"):
            own, more = getattr(self, name), getattr(other, name)
            if more is not None:
                setattr(self, name, more * scale if own is None else own.add_(more, alpha=scale))

    def scaled(self, factor: float) -> "Sums":
        """Return the sums times a number."""
        return Sums(*(None if part is None else part * factor for part in (self.at_outputs, self.at_inputs)))


def _added(total: torch.Tensor | None, rows: Float[torch.Tensor, "g rows k"], scale: float) -> torch.Tensor:
    if total is None:
        total = torch.zeros(rows.shape[0], rows.shape[2], rows.shape[2], dtype=rows.dtype, device=rows.device)
    return total.baddbmm_(rows.transpose(1, 2), rows, alpha=scale)


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
    # A weight that is also used transposed is read as torch stores it, (out, in).
    products = sorted((use for use in uses if use.kind != "lookup"), key=lambda use: use.in_axis != 1)
    main = products[0] if products else uses[0]
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
