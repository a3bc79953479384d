"""The samples of a batch: the axis of the outputs that counts them, and the uses whose rows belong to one sample each.

AGOP and eNFA are averages over samples of ∇∇ᵀ, so each row of a gradient must belong to one sample. A backward pass
from half of the samples and another from the other half show which rows do: no row may be reached by both.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from firstlight.probes._uses import Parents, Use, carried

Backward = Callable[[torch.Tensor, Mapping[Any, Any]], Mapping[Any, torch.Tensor]]
"""Gradients at the edges of uses, from a vector in the space of the outputs."""

LEAK = 1e-6
"""Rows below this fraction of the largest row count as zero."""

SHARED = (
    "AGOP and eNFA are withheld: a product that involves it is not computed per sample (its other factor is shared by "
    "the batch, or samples influence each other), so the graph holds no gradient per sample. FACT is not affected"
)


@dataclass(frozen=True)
class Samples:
    """What the first batch shows about samples.

    **Attributes:**

    - `axis`: axis of the outputs that counts samples.
    - `count`: number of samples that were split; one sample shows nothing.
    - `shared`: positions, in the list of uses, of those whose rows do not belong to one sample each.
    - `carried`: positions of the uses whose gradient is taken where the result is added to every sample.
    - `rows`: position → (outer, inner) so that rows are ordered as (outer, sample, inner); absent if unknown.
    """

    axis: int
    count: int = 1
    shared: frozenset[int] = frozenset()
    carried: frozenset[int] = frozenset()
    rows: dict[int, tuple[int, int]] = field(default_factory=dict)

    def order(self, use: int, rows: int, samples: int) -> tuple[int, int] | None:
        """Return (outer, inner) of a use in another batch; None if it is unknown which rows belong to which sample."""
        if samples == 1:
            return 1, rows
        if rows % samples or use not in self.rows:
            return None
        (outer, inner), positions = self.rows[use], rows // samples
        if outer == 1:
            return 1, positions
        return (positions, 1) if inner == 1 else (outer, inner) if outer * inner == positions else None


def tensors(batch: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors of a batch with at least one axis."""
    if isinstance(batch, torch.Tensor):
        if batch.ndim:
            yield batch
    elif isinstance(batch, Mapping):
        for value in batch.values():
            yield from tensors(value)
    elif isinstance(batch, tuple | list):
        for value in batch:
            yield from tensors(value)


def find_axis(
    outputs: torch.Tensor,
    inputs: Any,
    targets: Any,
    uses: list[Use],
    backward: Backward,
    given: int | None,
    generator: torch.Generator,
) -> Samples:
    """Return the axis of the samples and what a split along it shows.

    **Arguments:**

    - `outputs`: outputs of the model.
    - `inputs`: inputs of the model, in any structure.
    - `targets`: targets of the loss, in any structure.
    - `uses`: all uses of all weights.
    - `backward`: a backward pass from the outputs.
    - `given`: the user's `batch_dim`, or None to infer it.
    - `generator`: for the random split.
    """
    sizes = {size for tensor in tensors(inputs) for size in tensor.shape}
    shape = tuple(outputs.shape)
    if given is not None:
        if not -outputs.ndim <= given < outputs.ndim:
            raise ValueError(f"batch_dim={given} is no axis of the model's outputs, whose shape is {shape}")
        axis = given % outputs.ndim
        if sizes and shape[axis] not in sizes:
            raise ValueError(
                f"batch_dim={given} means {shape[axis]} samples in outputs of shape {shape}, but no input has an axis "
                f"of this length; give the axis of the outputs that counts samples"
            )
        return split(outputs, axis, uses, backward, generator)
    if outputs.ndim == 0:
        return Samples(0)
    # By convention samples are the first axis, or the second of sequences; the last axis of a matrix is its features.
    axes = [a for a in ((0, 1) if outputs.ndim > 2 else (0,)) if shape[a] in sizes or not sizes]
    tests = {a: split(outputs, a, uses, backward, generator) for a in axes or (0,)}
    if not axes and tests[0].shared:
        raise ValueError(
            f"no axis of the outputs, whose shape is {shape}, counts the samples of the inputs; return one row per "
            "sample, or give batch_dim="
        )
    least = min(len(test.shared) for test in tests.values())
    best = [a for a, test in tests.items() if len(test.shared) == least]
    if len(best) > 1 and shape[1] == 1:
        best = [0]
    if len(best) > 1 and isinstance(targets, torch.Tensor) and targets.ndim == 1:
        best = [a for a in best if shape[a] == len(targets)] or best
    if len(best) > 1:
        raise ValueError(
            f"axis 0 and axis 1 of the outputs, whose shape is {shape}, could both count samples: no weight mixes "
            "either; give batch_dim=0 or batch_dim=1"
        )
    return tests[best[0]]


def split(outputs: torch.Tensor, axis: int, uses: list[Use], backward: Backward, generator: torch.Generator) -> Samples:
    """Differentiate two halves of the samples, and see whether any row of a use is reached by both."""
    n = outputs.shape[axis] if outputs.ndim else 1
    if n == 1 or not uses:
        return Samples(axis, n)
    half = torch.zeros(n, dtype=torch.bool)
    half[torch.randperm(n, generator=generator)[: n // 2]] = True
    signs = (2 * torch.randint(0, 2, outputs.shape, generator=generator) - 1).to(outputs)
    along = [-1 if a == axis else 1 for a in range(outputs.ndim)]
    mask = half.to(outputs.device).view(along)
    edges = {use.edge.node: use.edge for use in uses}
    inside, outside = backward(signs * mask, edges), backward(signs * ~mask, edges)
    shared, rows = set(), {}
    for i, use in enumerate(uses):
        node = use.edge.node
        sizes = [_row_sizes(use, part[node]) if node in part else None for part in (inside, outside)]
        largest = max((float(size.max()) for size in sizes if size is not None and len(size)), default=0.0)
        reached = [None if size is None else size > LEAK * largest for size in sizes]
        if reached[0] is None or reached[1] is None or largest == 0:
            continue
        if bool((reached[0] & reached[1]).any()):
            shared.add(i)
            continue
        order = _order(reached[0], reached[1], half.to(reached[0].device))
        if order is not None:
            rows[i] = order
    return Samples(axis, n, frozenset(shared), rows=rows)


def _row_sizes(use: Use, gradient: torch.Tensor) -> torch.Tensor:
    return use.deltas(gradient).abs().amax(dim=1)


def _order(inside: torch.Tensor, outside: torch.Tensor, half: torch.Tensor) -> tuple[int, int] | None:
    """Return (outer, inner) so that the rows (outer, sample, inner) agree with the halves that reached them."""
    n, total = len(half), len(inside)
    if total % n:
        return None
    positions = total // n
    divisors = [k for k in range(1, positions + 1) if positions % k == 0]
    for outer in divisors:
        inner = positions // outer
        expected = half.view(1, n, 1).expand(outer, n, inner).reshape(-1)
        if not bool((inside & ~expected).any()) and not bool((outside & expected).any()):
            return outer, inner
    return None


def survey(
    outputs: torch.Tensor,
    inputs: Any,
    targets: Any,
    uses: list[Use],
    parents: Parents,
    backward: Backward,
    given: int | None,
    generator: torch.Generator,
) -> Samples:
    """Find the samples as `find_axis` does, and carry shared uses to the sum that adds them to every sample."""
    samples = find_axis(outputs, inputs, targets, uses, backward, given, generator)
    movable = {i: use for i in samples.shared if (use := carried(uses[i], parents, samples.count)) is not None}
    if not movable:
        return samples
    again = split(outputs, samples.axis, list(movable.values()), backward, generator)
    places = list(movable)
    good = {place for k, place in enumerate(places) if k not in again.shared}
    rows = samples.rows | {places[k]: order for k, order in again.rows.items() if places[k] in good}
    return Samples(samples.axis, samples.count, samples.shared - good, frozenset(good), rows)
