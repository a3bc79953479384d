"""Backward passes from a loss or from outputs to the places where weights are used."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from firstlight.probes._samples import Samples
from firstlight.probes._uses import Parents, Unusable, Use, carried


@dataclass(frozen=True, eq=False)
class Graph:
    """The uses recorded by a forward pass: parameter id and use, in an order that depends on the graph alone."""

    uses: list[tuple[int, Use]]
    reasons: dict[str, list[Use] | Unusable]
    parents: Parents

    @property
    def signature(self) -> tuple[tuple[int, str], ...]:
        return tuple((key, use.edge.node.name()) for key, use in self.uses)

    def moved(self, samples: Samples, count: int) -> "Graph":
        """Return the graph with shared uses taken where they are added to every sample."""
        uses = list(self.uses)
        for i in samples.carried:
            use = carried(uses[i][1], self.parents, count) if count > 1 else None
            uses[i] = (uses[i][0], use or uses[i][1])
        return Graph(uses, self.reasons, self.parents)


def edges(graph: Graph) -> dict[Any, Any]:
    return {use.edge.node: use.edge for _, use in graph.uses}


def from_outputs(outputs: torch.Tensor, vector: torch.Tensor, edges: Mapping[Any, Any]) -> dict[Any, torch.Tensor]:
    return backward(outputs, [], edges, retain=True, vector=vector)[1]


def diagonal(outputs: torch.Tensor, axis: int, n: int) -> torch.Tensor:
    """Return the vector that selects output c of every sample in copy c, for copies of n samples along the axis."""
    moved = outputs.movedim(axis, 0)
    unit = torch.eye(len(moved) // n, dtype=outputs.dtype, device=outputs.device).repeat_interleave(n, dim=0)
    return unit.reshape(moved.shape).movedim(0, axis)


def backward(
    root: torch.Tensor,
    parameters: list[torch.nn.Parameter],
    edges: Mapping[Any, Any],
    *,
    retain: bool,
    vector: torch.Tensor | None = None,
) -> tuple[tuple[torch.Tensor | None, ...], dict[Any, torch.Tensor]]:
    """Return the gradients of the parameters and at the edges.

    In half precision the loss is scaled up as far as no gradient overflows.
    """
    wanted = [*parameters, *edges.values()]
    seed = torch.ones_like(root) if vector is None else vector
    half = any(edge.node is not None for edge in edges.values()) and _is_half(root)
    for scale in (2.0**12, 2.0**6, 1.0) if half else (1.0,):
        computed = torch.autograd.grad(root, wanted, seed * scale, retain_graph=retain or scale > 1, allow_unused=True)
        if scale == 1 or all(g is None or bool(torch.isfinite(g).all()) for g in computed):
            break
    gradients, deltas = computed[: len(parameters)], computed[len(parameters) :]
    if scale != 1:
        gradients = tuple(None if g is None else g.float() / scale for g in gradients)
        deltas = tuple(None if g is None else g.float() / scale for g in deltas)
    return gradients, {node: g for node, g in zip(edges, deltas, strict=True) if g is not None}


def _is_half(root: torch.Tensor) -> bool:
    return root.dtype is torch.float16 or torch.is_autocast_enabled(root.device.type)
