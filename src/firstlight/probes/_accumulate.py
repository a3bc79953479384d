"""Sums over batches of weight gradients and second moments, in memory independent of the number of samples."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from firstlight.probes._layers import Layer, Plan, Stack, Sums, View, plan_layers, sample_sizes
from firstlight.probes._uses import Unusable, Use, find_uses, graph_parents

Reduction = Literal["mean", "sum", "steps"]

FEW_OUTPUTS = 16
"""Up to this many outputs per sample AGOP differentiates each output; above, it uses random projections."""


@dataclass(frozen=True, eq=False)
class LayerMoments:
    """The sums of one layer: W and ∂L/∂W (g, in, out), and averaged second moments."""

    layer: Layer
    W: Stack
    gradient: Stack | None
    enfa: Sums
    agop: Sums


class Accumulator:
    """The sums of one pass over the data; the weights must not change during the pass."""

    def __init__(
        self,
        model: torch.nn.Module,
        *,
        reduction: Reduction,
        outputs: int | Literal["auto", "exact"],
        keep_outputs: bool,
        view: View,
        seed: int,
    ) -> None:
        self.model, self.reduction, self.outputs, self.keep_outputs = model, reduction, outputs, keep_outputs
        self.view = view
        self.samples, self.plan = 0, None
        self._weight = 0.0
        self._generator = torch.Generator().manual_seed(seed)
        self._gradients: dict[int, torch.Tensor] = {}
        self._versions: dict[str, int] = {}

    def add(self, outputs: torch.Tensor, loss: torch.Tensor, weight: float | None) -> None:
        """Add a batch whose autograd graph has been recorded."""
        n = outputs.shape[0] if outputs.ndim else 1
        if n == 0:
            return
        weight = float(weight) if weight is not None else float(n) if self.reduction == "mean" else 1.0
        named = {name: p for name, p in self.model.named_parameters() if p.ndim >= 2}
        parents, leaves = graph_parents([loss, outputs])
        uses = {name: find_uses(parameter, parents, leaves) for name, parameter in named.items()}
        plan = self._begin(uses)
        usable = {id(named[name]): some for name, some in uses.items() if not isinstance(some, Unusable)}
        edges = {use.edge.node: use.edge for some in usable.values() for use in some}
        if not plan.layers:
            self.samples += n
            return
        watched = {
            id(p): p
            for layer in plan.layers
            for p in (layer.parameter, layer.bias)
            if p is not None and p.requires_grad
        }
        exact, vectors = self._vectors(outputs)
        gradients, deltas = _backward(loss, list(watched.values()), edges, retain=True)
        for parameter, gradient in zip(watched.values(), gradients, strict=True):
            self._add_gradient(parameter, gradient, weight)
        # A mean loss divides each sample's gradient by the batch size; `weight` undoes it.
        self._add_moments(self._enfa, usable, deltas, 1.0 if self.reduction == "sum" else weight, 0)
        for k, vector in enumerate(vectors):
            _, deltas = _backward(outputs, [], edges, retain=k + 1 < len(vectors), vector=vector)
            self._add_moments(self._agop, usable, deltas, 1.0 if exact else len(vectors) ** -0.5, 0 if exact else n)
        self.samples += n
        self._weight += weight

    def layers(self) -> Iterator[LayerMoments]:
        """Yield the averages of every layer."""
        for layer, W, enfa, agop in zip(self._plan().layers, self._weights, self._enfa, self._agop, strict=True):
            total = 1.0 if self.reduction == "sum" else self._weight
            parts = [p for p in (layer.parameter, layer.bias) if p is not None]
            gradients = [self._gradients[id(p)] / total for p in parts if id(p) in self._gradients]
            yield LayerMoments(
                layer,
                W,
                layer.matrix(*gradients) if len(gradients) == len(parts) else None,
                enfa.averaged(self.samples if self.reduction == "sum" else self._weight),
                agop.averaged(self.samples),
            )

    def _plan(self) -> Plan:
        if self.plan is None:
            raise ValueError("no batch was probed; call step(x, y) for every batch of a loader that is not empty")
        return self.plan

    def _begin(self, uses: Mapping[str, list[Use] | Unusable]) -> Plan:
        versions = {name: p._version for name, p in self.model.named_parameters()}
        if self.plan is None:
            self.plan = plan_layers(self.model, uses, self.view)
            self._weights = [layer.weights() for layer in self.plan.layers]
            self._enfa = [Sums() for _ in self.plan.layers]
            self._agop = [Sums() for _ in self.plan.layers]
            self._versions = versions
        changed = [name for name, version in versions.items() if self._versions.get(name) != version]
        if changed:
            raise ValueError(
                f"{changed[0]} changed while the model was being probed; take no optimizer step inside a pass, or use "
                "Watch, which probes between steps"
            )
        return self.plan

    def _vectors(self, outputs: torch.Tensor) -> tuple[bool, Sequence[torch.Tensor]]:
        """Return whether the vectors v cover every output, and the v; v·f is differentiated for each v."""
        per_sample = outputs[0].numel() if outputs.ndim else 1
        exact = self.outputs == "exact" or (self.outputs == "auto" and per_sample <= FEW_OUTPUTS)
        if exact:
            units = torch.eye(per_sample, dtype=outputs.dtype, device=outputs.device)
            return True, [unit.reshape(outputs.shape[1:]).expand_as(outputs) for unit in units]
        count = self.outputs if isinstance(self.outputs, int) else 1
        signs = [torch.randint(0, 2, outputs.shape, generator=self._generator) for _ in range(count)]
        return False, [(2 * sign - 1).to(outputs) for sign in signs]

    def _add_gradient(self, parameter: torch.nn.Parameter, gradient: torch.Tensor | None, weight: float) -> None:
        if gradient is None:
            return
        gradient = gradient.to_dense() if gradient.is_sparse else gradient
        wide = gradient.float() if gradient.dtype in (torch.float16, torch.bfloat16) else gradient
        old = self._gradients.get(id(parameter))
        if old is None:
            self._gradients[id(parameter)] = wide * weight
        else:
            old.add_(wide, alpha=weight)

    def _add_moments(
        self,
        sums: list[Sums],
        uses: Mapping[int, list[Use]],
        deltas: Mapping[Any, torch.Tensor],
        factor: float,
        n: int,
    ) -> None:
        for layer, W, total in zip(self._plan().layers, self._weights, sums, strict=True):
            sizes = []
            for use in uses.get(id(layer.parameter), ()):
                gradient = deltas.get(use.edge.node)
                if gradient is None or not layer.takes(use):
                    continue
                delta = layer.deltas(use, gradient).to(W.dtype)
                total.add(layer, W, use, delta, factor, self.keep_outputs)
                if n:
                    sizes.append(sample_sizes(layer, W, use, delta, n))
            if sizes:
                total.add_error(sizes, factor, n)


def _backward(
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
