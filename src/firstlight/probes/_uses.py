"""The places where a model's weights multiply as matrices, read from the graph that autograd recorded.

The graph shows every use, in any style of model: modules, functions, `@`, attention, tied weights, several calls. The
gradient of a use is taken at its own output, so skip connections and shared inputs do not mix in.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch.autograd.graph import GradientEdge

Kind = Literal["product", "convolution", "lookup"]
Parents = dict[Any, list[tuple[Any, int, int]]]

_SAME = {"ToCopyBackward0", "CloneBackward0", "AliasBackward0", "ContiguousBackward0"}
_RESHAPED = {"ViewBackward0", "UnsafeViewBackward0", "ReshapeAliasBackward0", "ExpandBackward0"}
_PRODUCTS = {
    "MmBackward0": (0, 1),
    "BmmBackward0": (0, 1),
    "AddmmBackward0": (1, 2),
    "BaddbmmBackward0": (1, 2),
}
"""Node → positions of its left and right factor among its inputs."""


@dataclass(frozen=True)
class Use:
    """A place where a parameter multiplies its input.

    **Attributes:**

    - `edge`: edge of the graph where the gradient δ arrives.
    - `kind`: matrix product, convolution or embedding lookup.
    - `in_axis`: axis of the parameter that is summed with the input.
    - `rows`: start and end of the used part of axis 0.
    - `columns`: whether outputs are columns of the product, as in W @ x.
    - `groups`: number of groups of a convolution, else 1.
    - `keep`: mask of the lookups that are not padding.
    """

    edge: GradientEdge
    kind: Kind
    in_axis: int
    rows: tuple[int, int]
    columns: bool = False
    groups: int = 1
    keep: torch.Tensor | None = None

    def deltas(self, gradient: torch.Tensor) -> Float[torch.Tensor, "rows K"]:
        """Return the δ of all samples and positions as rows; half precision becomes single, for summation."""
        if gradient.dtype in (torch.float16, torch.bfloat16):
            gradient = gradient.float()
        if self.kind == "convolution":
            gradient = gradient.movedim(1, -1)
        elif self.columns:
            gradient = gradient.transpose(-1, -2)
        rows = gradient.reshape(-1, gradient.shape[-1])
        # Padding gives the weight no gradient; zero rows keep samples aligned.
        return rows if self.keep is None else rows * self.keep[:, None]


def carried(use: Use, parents: Parents, samples: int) -> Use | None:
    """Return a use whose result is shared by the batch with its gradient taken where it is added to every sample.

    A position's embedding p, added to each sample as x_i + p, has ∂ℓ_i/∂p = ∂ℓ_i/∂(x_i + p): one gradient per sample.
    None if the next operation is no such sum.
    """
    node = use.edge.node
    while True:
        above = parents.get(node, [])
        if use.columns or use.kind == "convolution" or len(above) != 1:
            return None
        node, place, _ = above[0]
        if node.name() not in _RESHAPED | {"UnsqueezeBackward0", "AddBackward0"}:
            return None
        if node.name() == "AddBackward0":
            break
    if place == 1 and getattr(node, "_saved_alpha", 1) != 1:
        return None
    before, after = tuple(use.edge.node._input_metadata[0].shape), tuple(node._input_metadata[0].shape)
    own = before[next((i for i, size in enumerate(before) if size != 1), len(before)) :]
    if after != (samples, *own):
        return None
    keep = None if use.keep is None else use.keep.repeat(samples)
    return replace(use, edge=GradientEdge(node, 0), keep=keep)


def normalised(use: Use, parents: Parents) -> bool:
    """Return whether the result of a use enters a batch normalisation and nothing else, so that its scale is lost."""
    node = use.edge.node
    for _ in range(3):
        above = parents.get(node, [])
        if len(above) != 1:
            return False
        node = above[0][0]
        if node.name().endswith("BatchNormBackward0"):
            return above[0][1] == 0
        if node.name() not in _RESHAPED | _SAME | {"TransposeBackward0", "PermuteBackward0"}:
            return False
    return False


@dataclass(frozen=True)
class Unusable:
    """The reason why a parameter is not (only) a factor of matrix products."""

    reason: str


def graph_parents(roots: list[torch.Tensor]) -> tuple[Parents, dict[int, Any]]:
    """Return the consumers (node, place, output) of every node, and the leaf node of every parameter by its id."""
    parents: Parents = defaultdict(list)
    leaves: dict[int, Any] = {}
    stack = [root.grad_fn for root in roots if root.grad_fn is not None]
    seen = set(stack)
    while stack:
        node = stack.pop()
        for place, (child, output) in enumerate(node.next_functions):
            if child is None:
                continue
            parents[child].append((node, place, output))
            if child not in seen:
                seen.add(child)
                stack.append(child)
                if child.name().endswith("AccumulateGrad"):
                    leaves[id(getattr(child, "variable"))] = child  # noqa: B009
    return parents, leaves


def find_uses(parameter: torch.nn.Parameter, parents: Parents, leaves: dict[int, Any]) -> list[Use] | Unusable:
    """Return all uses of a parameter, or the reason why it is no weight matrix."""
    if not parameter.requires_grad:
        return Unusable("frozen: requires_grad is False, so the loss does not train it")
    if parameter.is_complex():
        return Unusable("its entries are complex; the theorem is for real weights")
    leaf = leaves.get(id(parameter))
    if leaf is None:
        return Unusable("the loss does not depend on it")
    view = _View(tuple(range(min(parameter.ndim, 2))), (0, parameter.shape[0]))
    uses = list(_follow(leaf, None, view, parameter, parents))
    reasons = [use for use in uses if isinstance(use, Unusable)]
    return reasons[0] if reasons else [use for use in uses if isinstance(use, Use)]


@dataclass(frozen=True)
class _View:
    """A view of a parameter: the parameter's axis for each axis (None if added), and its range of rows."""

    axes: tuple[int | None, ...]
    rows: tuple[int, int]

    def moved(self, order: list[int]) -> "_View":
        return _View(tuple(self.axes[i] for i in order), self.rows)

    def index(self, dim: int) -> int:
        return _signed(dim) % len(self.axes)

    def reshaped(self, before: Sequence[int], after: Sequence[int]) -> "_View | None":
        """Return the view after adding or removing axes of length 1; None if entries change row or column."""
        if len(before) != len(self.axes):
            return None
        own = [(axis, size) for axis, size in zip(self.axes, before, strict=True) if axis is not None]
        # Match from the last axis, since `expand` adds axes of any length in front.
        axes = [own.pop()[0] if own and own[-1][1] == size else None for size in reversed(after)]
        return None if own else _View(tuple(reversed(axes)), self.rows)

    def sliced(self, start: int, stop: int) -> "_View":
        """Return the view of rows start to stop, with Python's slice rules."""
        first, last, _ = slice(_signed(start), _signed(stop)).indices(self.rows[1] - self.rows[0])
        return _View(self.axes, (self.rows[0] + first, self.rows[0] + last))


def _signed(number: int) -> int:
    """Undo that graph nodes store negative integers as unsigned."""
    return number - 2**64 if number >= 2**63 else number


def _follow(
    node: Any, only: int | None, view: _View, parameter: torch.nn.Parameter, parents: Parents
) -> Iterator[Use | Unusable]:
    """Follow a parameter through transposes, casts and slices to the products it enters."""
    for parent, place, output in parents[node]:
        if only is not None and output != only:
            continue
        pieces = _through(parent, view)
        if pieces is None:
            yield _use(parent, place, view, parameter)
        else:
            for piece, seen in enumerate(pieces):
                yield from _follow(parent, piece if len(pieces) > 1 else None, seen, parameter, parents)


def _through(node: Any, view: _View) -> list[_View] | None:
    """Return the view at each output of a node that only rearranges entries; None if the node computes."""
    name, axes = node.name(), view.axes
    if name in _SAME:
        return [view]
    if name in _RESHAPED or name.startswith("Squeeze"):
        seen = view.reshaped(node._saved_self_sym_sizes, node._input_metadata[0].shape)
        return None if seen is None else [seen]
    if name in ("TBackward0", "NumpyTBackward0"):
        return [view.moved(list(range(len(axes)))[::-1])]
    if name == "PermuteBackward0":
        return [view.moved([view.index(dim) for dim in node._saved_dims])]
    if name == "TransposeBackward0":
        order = list(range(len(axes)))
        a, b = view.index(node._saved_dim0), view.index(node._saved_dim1)
        order[a], order[b] = b, a
        return [view.moved(order)]
    if name == "UnsqueezeBackward0":
        at = _signed(node._saved_dim) % (len(axes) + 1)
        return [_View((*axes[:at], None, *axes[at:]), view.rows)]
    if name == "SplitWithSizesBackward0" and axes[view.index(node._saved_dim)] == 0:
        ends = [view.rows[0]]
        for size in node._saved_split_sizes:
            ends.append(ends[-1] + size)
        return [_View(axes, rows) for rows in pairwise(ends)]
    if name == "SplitBackward0" and axes[view.index(node._saved_dim)] == 0:
        starts = range(view.rows[0], view.rows[1], node._saved_split_size)
        return [_View(axes, (start, min(start + node._saved_split_size, view.rows[1]))) for start in starts]
    if name == "SliceBackward0" and axes[view.index(node._saved_dim)] == 0 and node._saved_step == 1:
        return [view.sliced(node._saved_start, node._saved_end)]
    return None


def _use(node: Any, place: int, view: _View, parameter: torch.nn.Parameter) -> Use | Unusable:
    name, edge = node.name(), GradientEdge(node, 0)
    if name == "EmbeddingBackward0" and parameter.ndim == 2:
        if node._saved_scale_grad_by_freq:
            return Unusable("an embedding with scale_grad_by_freq, which rescales the gradient of the loss")
        padding, indices = node._saved_padding_idx, node._saved_indices
        keep = (indices.reshape(-1) != padding) if padding < 2**63 and padding >= 0 else None
        return Use(edge, "lookup", 0, view.rows, keep=keep)
    if name == "ConvolutionBackward0" and place == 1:
        if node._saved_transposed:
            return Unusable("a transposed convolution; only its adjoint is a product with unfolded inputs")
        if node._saved_groups > 1 and view.rows != (0, parameter.shape[0]):
            return Unusable("some of its output channels are convolved in groups of their own")
        return Use(edge, "convolution", 1, view.rows, groups=node._saved_groups)
    factors = [axis for axis in view.axes if axis is not None]
    if name in _PRODUCTS and place in _PRODUCTS[name] and parameter.ndim == 2 and len(factors) == 2:
        left = place == _PRODUCTS[name][0]
        in_axis = factors[1] if left else factors[0]
        out = parameter.shape[1] if in_axis == 0 else view.rows[1] - view.rows[0]
        if node._input_metadata[0].shape[-2 if left else -1] != out:
            return Unusable(f"it is reshaped before it enters {name}")
        if in_axis == 0 and view.rows != (0, parameter.shape[0]):
            return Unusable("it is sliced along its inputs, so that each use sees only a part of them")
        return Use(edge, "product", in_axis, view.rows, columns=left)
    if name in _RESHAPED:
        return Unusable("it is reshaped before it multiplies, so that its entries change row or column")
    if parameter.ndim != 2:
        return Unusable(f"a parameter with {parameter.ndim} axes that enters {name}, not a convolution")
    return Unusable(f"it enters {name}, which is not a product of a matrix with activations")
