"""Sums over batches of weight gradients and second moments, in memory independent of the number of samples."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import torch

from firstlight.probes._layers import Layer, Plan, Stack, Sums, View, placed, plan_layers
from firstlight.probes._passes import Graph, backward, diagonal, edges, from_outputs
from firstlight.probes._samples import SHARED, Samples, survey
from firstlight.probes._spread import Share, Spread
from firstlight.probes._uses import Unusable, find_uses, graph_parents, normalised

Reduction = Literal["mean", "sum", "steps"]

FEW_OUTPUTS = 16
"""Up to this many outputs per sample AGOP differentiates each output; above, it uses random projections."""

ERROR = 0.04
"""Error of AGOP at which "auto" stops adding rows and projections; below the promised 5 %, as it is an estimate."""

PILOT, PROJECTIONS, MOST = 64, 4, 256
"""Samples that measure the spread first; projections added at a time; most projections or outputs per batch."""

TOGETHER = True
"""Whether all outputs of a few samples are differentiated in one pass, over as many copies of the samples."""

GROUPS, GROUP_BYTES = 8, 2**30
"""Groups of batches for the jackknife, and the most memory that they may take unless requested."""


@dataclass(frozen=True, eq=False)
class Batch:
    """A recorded batch: its data, and how to run the model again on some of its samples."""

    outputs: torch.Tensor
    loss: torch.Tensor
    inputs: Any = None
    targets: Any = None
    rerun: Callable[[int, torch.Tensor], torch.Tensor | None] | None = None


@dataclass(frozen=True, eq=False)
class LayerMoments:
    """The sums of one layer: W and ∂L/∂W (g, in, out), and averaged second moments.

    `parts` holds the same per group of batches, with each group's share of the data; groups add up to the whole.
    """

    layer: Layer
    W: Stack
    gradient: Stack | None
    enfa: Sums
    agop: Sums
    agop_error: float = 0.0
    withheld: str = ""
    invariant: bool = False
    parts: tuple["Part", ...] = ()


@dataclass(frozen=True, eq=False)
class Part:
    """The contribution of a group of batches to a layer's sums, with the group's share of the samples.

    `gradient` is a function, so that only one group's gradient is in memory at a time.
    """

    share: float
    gradient: Callable[[], Stack | None]
    enfa: Sums
    agop: Sums


@dataclass(eq=False)
class _Group:
    enfa: list[Sums]
    agop: list[Sums]
    gradients: dict[int, torch.Tensor] = field(default_factory=dict)
    reduced: set[int] = field(default_factory=set)
    weight: float = 0.0
    samples: int = 0


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
        batch_dim: int | None = None,
        groups: int | None = None,
        expected: int | None = None,
    ) -> None:
        self.model, self.reduction, self.outputs, self.keep_outputs = model, reduction, outputs, keep_outputs
        self.view, self.batch_dim, self.expected = view, batch_dim, expected
        self.samples, self.plan = 0, None
        self.batches = 0
        self._wanted_groups, self._seed = groups, seed
        self._generator = torch.Generator().manual_seed(seed)
        self._versions: dict[str, int] = {}
        self._surveys: dict[Any, Samples] = {}
        self._axis = batch_dim
        self._withheld: set[int] = set()
        self._vectors_used = 0
        self._parts_run = True

    def add(self, batch: Batch, weight: float | None) -> None:
        """Add a batch whose autograd graph has been recorded."""
        outputs, loss = batch.outputs, batch.loss
        if outputs.numel() == 0:
            return
        graph = self._record([loss, outputs])
        plan = self._begin(graph)
        samples = self._survey(batch, graph)
        n = outputs.shape[samples.axis] if outputs.ndim else 1
        graph = graph.moved(samples, n)
        weight = float(weight) if weight is not None else float(n) if self.reduction == "mean" else 1.0
        self.samples += n
        if not plan.layers:
            return
        group = self._groups[self.batches % len(self._groups)]
        self.batches += 1
        watched = {
            id(p): p
            for layer in plan.layers
            for p in (layer.parameter, layer.bias)
            if p is not None and p.requires_grad
        }
        gradients, deltas = backward(loss, list(watched.values()), edges(graph), retain=True)
        for parameter, gradient in zip(watched.values(), gradients, strict=True):
            _add_gradient(group.gradients, parameter, gradient, weight)
        # A mean loss divides each sample's gradient by the batch size; `weight` undoes it.
        square = 1.0 if self.reduction == "sum" else weight**2
        self._add_moments(group.enfa, graph, deltas, square)
        self._add_agop(group, batch, graph, samples, n)
        group.samples += n
        group.weight += weight

    def layers(self) -> Iterator[LayerMoments]:
        """Yield the averages of every layer."""
        if not self._plan().layers:
            return
        groups = [group for group in self._groups if group.samples]
        samples, weight = sum(group.samples for group in groups), sum(group.weight for group in groups)
        mean = 1.0 if self.reduction == "sum" else 1 / weight
        enfa_scale = 1 / samples if self.reduction == "sum" else samples / weight**2
        for i, (layer, W) in enumerate(zip(self._plan().layers, self._weights, strict=True)):
            parts = []
            for group in groups:
                share = group.samples / samples if self.reduction == "sum" else group.weight / weight
                gradient = partial(_gradient, layer, group.gradients, mean)
                parts.append(Part(share, gradient, group.enfa[i].scaled(enfa_scale), group.agop[i].scaled(1 / samples)))
            enfa, agop = Sums(), Sums()
            for part in parts:
                enfa.merge(part.enfa)
                agop.merge(part.agop)
            total = {}
            for group in groups:
                for p in (layer.parameter, layer.bias):
                    if p is not None and id(p) in group.gradients:
                        old = total.get(id(p))
                        total[id(p)] = group.gradients[id(p)] if old is None else old + group.gradients[id(p)]
            yield LayerMoments(
                layer,
                W,
                _gradient(layer, total, mean),
                enfa,
                agop,
                agop_error=self._spreads[i].error(self._share, samples, self._vectors_used),
                withheld=SHARED if i in self._withheld else "",
                invariant=i in self._invariant,
                parts=tuple(parts) if len(parts) > 1 else (),
            )

    def reduce(self) -> None:
        """Add the sums of all processes of `torch.distributed`; each process then has the whole result."""
        from firstlight.probes._distributed import add_over_processes

        add_over_processes(self)

    def _plan(self) -> Plan:
        if self.plan is None:
            raise ValueError("no batch was probed; call step(x, y) for every batch of a loader that is not empty")
        return self.plan

    def _record(self, roots: list[torch.Tensor]) -> Graph:
        named = {name: p for name, p in self.model.named_parameters() if p.ndim >= 2}
        parents, leaves = graph_parents(roots)
        uses = {name: find_uses(parameter, parents, leaves) for name, parameter in named.items()}
        flat = [(id(named[name]), use) for name, some in uses.items() if not isinstance(some, Unusable) for use in some]
        return Graph(flat, uses, parents)

    def _begin(self, graph: Graph) -> Plan:
        versions = {name: p._version for name, p in self.model.named_parameters()}
        if self.plan is None:
            self.plan = plan_layers(self.model, graph.reasons, self.view)
            layers = self.plan.layers
            self._weights = [layer.weights() for layer in layers]
            generator = torch.Generator().manual_seed(self._seed + 1)
            self._spreads = [Spread(layer, W, generator) for layer, W in zip(layers, self._weights, strict=True)]
            self._share = Share()
            self._groups = [
                _Group([Sums() for _ in layers], [Sums() for _ in layers]) for _ in range(self._group_count())
            ]
            self._invariant = {
                i
                for i, layer in enumerate(layers)
                if all(normalised(use, graph.parents) for key, use in graph.uses if key == id(layer.parameter))
            }
            self._versions = versions
        changed = [name for name, version in versions.items() if self._versions.get(name) != version]
        if changed:
            raise ValueError(
                f"{changed[0]} changed while the model was being probed; take no optimizer step inside a pass, or use "
                "Watch, which probes between steps"
            )
        return self.plan

    def _group_count(self) -> int:
        if self._wanted_groups is not None:
            return max(self._wanted_groups, 1)
        size = sum(W.numel() * W.element_size() + min(W.shape[1:]) ** 2 * 8 for W in self._weights)
        count = GROUPS if size * GROUPS <= GROUP_BYTES else 1
        return max(1, min(count, self.expected or count))

    def _survey(self, batch: Batch, graph: Graph) -> Samples:
        """Return what is known about samples; a graph of another form is examined again."""
        outputs = batch.outputs
        key = (outputs.ndim, graph.signature)
        known = self._surveys.get(key)
        n = outputs.shape[known.axis] if known is not None and outputs.ndim else 1
        if known is None or (known.count == 1 and n > 1):
            uses = [use for _, use in graph.uses]
            axis = self._axis
            known = survey(
                outputs,
                batch.inputs,
                batch.targets,
                uses,
                graph.parents,
                partial(from_outputs, outputs),
                axis,
                self._generator,
            )
            self._surveys[key], self._axis = known, known.axis if outputs.ndim else None
        shared = {graph.uses[i][0] for i in known.shared}
        self._withheld |= {i for i, layer in enumerate(self._plan().layers) if id(layer.parameter) in shared}
        return known

    def _add_moments(
        self,
        sums: list[Sums],
        graph: Graph,
        deltas: Mapping[Any, torch.Tensor],
        scale: float,
        samples: Samples | None = None,
        count: int = 0,
        copies: int = 1,
    ) -> None:
        """Add the second moments at every use; with `samples`, their spread between samples too.

        The batch may consist of copies of `count` samples, one copy after the other.
        """
        for i, (layer, W, total) in enumerate(zip(self._plan().layers, self._weights, sums, strict=True)):
            if i in self._withheld:
                continue
            for k, (key, use) in enumerate(graph.uses):
                gradient = deltas.get(use.edge.node)
                if key != id(layer.parameter) or gradient is None or not layer.takes(use):
                    continue
                rows, place = placed(layer, W, use, layer.deltas(use, gradient).to(W.dtype), self.keep_outputs)
                total.add(rows, place, scale)
                if samples is not None:
                    order = samples.order(k, rows.shape[1], count * copies)
                    order = None if order is None else (order[0] * copies, order[1])
                    self._spreads[i].see(rows, place, order, count)

    def _add_agop(self, group: _Group, batch: Batch, graph: Graph, samples: Samples, n: int) -> None:
        outputs = batch.outputs
        per_sample = outputs.numel() // n
        sums = [Sums() for _ in self._plan().layers]
        if self.outputs == "exact" or (self.outputs == "auto" and per_sample <= FEW_OUTPUTS and n == 1):
            self._differentiate(sums, graph, outputs, samples, n, 0, measured=False)
            used, vectors = n, 0
        elif self.outputs == "auto":
            sums, used, vectors = self._enough(batch, graph, samples, n, per_sample)
        else:
            vectors, used = int(self.outputs), n
            self._differentiate(sums, graph, outputs, samples, n, vectors)
        self._share.add(n, used, vectors)
        self._vectors_used = max(self._vectors_used, vectors)
        for total, new in zip(group.agop, sums, strict=True):
            total.merge(new, n / used / (vectors or 1))

    def _enough(
        self, batch: Batch, graph: Graph, samples: Samples, n: int, per_sample: int
    ) -> tuple[list[Sums], int, int]:
        """Add rows, then projections, until the error of AGOP is small enough; return sums, rows and projections.

        With B batches of equal size the squared errors add up to B times the allowed one. Without knowing B, batch b
        may have (2b − 1) times the allowed one, so that the sum over the batches so far is always small enough.
        """
        allowed = ERROR**2 * (self.expected or 2 * self.batches - 1)
        vectors = 0 if per_sample <= FEW_OUTPUTS else PROJECTIONS
        sums: list[Sums] = [Sums() for _ in self._plan().layers]
        order, used = torch.randperm(n, generator=self._generator), 0
        while used < n:
            need = self._rows_needed(n, allowed, vectors) if self._measured() else min(n, PILOT)
            if need <= used:
                break
            count, copies, part = need - used, 1, None
            if self._parts_run and batch.rerun is not None and need <= 0.6 * n:
                copies = per_sample if TOGETHER and not vectors and count * per_sample <= n else 1
                part = self._part(batch, graph, samples, order[used:need].repeat(copies))
            if part is None:
                sums, used, need = [Sums() for _ in sums], 0, n
                self._differentiate(sums, graph, batch.outputs, samples, n, vectors)
            else:
                self._differentiate(sums, part[0], part[1], samples, count, vectors, copies=copies)
            used = need
        while vectors and used == n and vectors < MOST:
            worst = max((v for v in self._variances(vectors, 1) if math.isfinite(v)), default=0.0)
            wanted = math.ceil(worst / (n * allowed))
            if wanted <= vectors:
                break
            if per_sample <= min(wanted, MOST):
                sums = [Sums() for _ in sums]
                self._differentiate(sums, graph, batch.outputs, samples, n, 0, measured=False)
                return sums, n, 0
            more = min(wanted, MOST) - vectors
            self._differentiate(sums, graph, batch.outputs, samples, n, more)
            vectors += more
        return sums, used, vectors

    def _part(
        self, batch: Batch, graph: Graph, samples: Samples, rows: torch.Tensor
    ) -> tuple[Graph, torch.Tensor] | None:
        """Run the model on some samples; None if its graph then has another form, as for other memory layouts."""
        outputs = None if batch.rerun is None else batch.rerun(samples.axis, rows)
        small = None if outputs is None else self._record([outputs]).moved(samples, len(rows))
        self._parts_run = small is not None and small.signature == graph.signature
        return (small, outputs) if self._parts_run and small is not None and outputs is not None else None

    def _measured(self) -> bool:
        return self._share.rows + self._share.projections > 0 or any(
            spread.variances(0) != (0.0, 0.0) for spread in self._spreads
        )

    def _variances(self, vectors: int, which: int) -> list[float]:
        pairs = [spread.variances(vectors) for i, spread in enumerate(self._spreads) if i not in self._withheld]
        return [pair[which] for pair in pairs]

    def _rows_needed(self, n: int, allowed: float, vectors: int) -> int:
        need = 1
        for row, projection in zip(self._variances(vectors, 0), self._variances(vectors, 1), strict=True):
            if not math.isfinite(row):
                return n
            need = max(need, math.ceil((row + (projection / vectors if vectors else 0.0)) / (allowed + row / n)))
        return min(need, n)

    def _differentiate(
        self,
        sums: list[Sums],
        graph: Graph,
        outputs: torch.Tensor,
        samples: Samples,
        n: int,
        projections: int,
        *,
        measured: bool = True,
        copies: int = 1,
    ) -> None:
        """Add Σ ggᵀ of all outputs (0 projections) or of random ±1 combinations of them.

        With a copy of the n samples for every output, one pass differentiates output c in copy c.
        """
        count = 0
        vectors = (
            self._vectors(outputs, samples.axis, projections) if copies == 1 else [diagonal(outputs, samples.axis, n)]
        )
        for vector in vectors:
            deltas = from_outputs(outputs, vector, edges(graph))
            self._add_moments(sums, graph, deltas, 1.0, samples if measured else None, n, copies)
            count += 1
            if measured:
                for spread in self._spreads:
                    spread.next_vector(projections > 0)
        if measured:
            for spread in self._spreads:
                spread.close(n, count, projections > 0)

    def _vectors(self, outputs: torch.Tensor, axis: int, projections: int) -> Iterator[torch.Tensor]:
        """Yield vectors v; v·f is differentiated for each v."""
        if projections:
            for _ in range(projections):
                sign = torch.randint(0, 2, outputs.shape, generator=self._generator)
                yield (2 * sign - 1).to(outputs)
            return
        if outputs.ndim == 0:
            yield torch.ones_like(outputs)
            return
        rest = [size for a, size in enumerate(outputs.shape) if a != axis]
        for unit in torch.eye(math.prod(rest), dtype=outputs.dtype, device=outputs.device):
            yield unit.reshape(rest).unsqueeze(axis).expand_as(outputs)


def _gradient(layer: Layer, gradients: Mapping[int, torch.Tensor], scale: float) -> Stack | None:
    parts = [p for p in (layer.parameter, layer.bias) if p is not None]
    if any(id(p) not in gradients for p in parts):
        return None
    return layer.matrix(*(gradients[id(p)] for p in parts)) * scale


def _add_gradient(
    gradients: dict[int, torch.Tensor], parameter: torch.nn.Parameter, gradient: torch.Tensor | None, weight: float
) -> None:
    if gradient is None:
        return
    gradient = gradient.to_dense() if gradient.is_sparse else gradient
    wide = gradient.float() if gradient.dtype in (torch.float16, torch.bfloat16) else gradient
    old = gradients.get(id(parameter))
    if old is None:
        gradients[id(parameter)] = wide * weight
    else:
        old.add_(wide, alpha=weight)
