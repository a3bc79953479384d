"""Reading a trained network: which nodes carry which frequency, and which crafted block they are."""

import html
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Complex, Int, Num

from firstlight.groups import Group
from firstlight.theories.cogo import _factors as factors
from firstlight.theories.cogo._frequencies import frequencies
from firstlight.theories.cogo._recognise import Name, recognise
from firstlight.theories.cogo._solution import Solution, balanced

THRESHOLD = 0.5
"""A node carries a frequency when |z_a| and |z_b| there exceed this share of an F6's amplitude, (12d)^{−1/3}."""


def least_amplitude(d: int, threshold: float = THRESHOLD) -> float:
    """The |z| from which on a node carries a frequency of a group of order d: threshold · (12d)^{−1/3}."""
    return threshold * (12 * d) ** (-1 / 3)


@dataclass(frozen=True)
class FrequencyBlock:
    """The nodes that carry one pair of frequencies ±k.

    **Fields:** `frequency`, its place; `label`; `hidden_units`, their indices; `name` of the crafted block they are;
    `residual`, ‖z − fit‖/‖z‖ at ±k for the nearest such block (1 where there is none), which may have (a, b) and c
    rescaled; `amplitude`, the cube root of its |abc| over that of a crafted block (weight decay makes it less than
    1); `factors`, named ring factors whose product it is, at amplitude 1 and up to the sign of (a, b) of each node.
    """

    frequency: int
    label: str
    hidden_units: tuple[int, ...]
    name: Name
    residual: float
    amplitude: float
    factors: Mapping[str, Solution]
    fit: Solution

    @property
    def order(self) -> int:
        """The number of its nodes."""
        return len(self.hidden_units)

    @property
    def is_crafted(self) -> bool:
        """Whether its nodes are a block that is crafted."""
        return self.name not in ("other", "none")


@dataclass(frozen=True)
class OrderCensus:
    """The groups of nodes of a network, one per pair of frequencies; `solution` is the network, its nodes balanced.

    `idle` nodes carry no frequency, `shared` ones more than one; `constant` ones, among the idle, have one of their
    two embeddings only, so that they can add a constant and nothing else that the task needs. Without shared nodes
    the groups and the idle nodes are all the nodes.
    """

    solution: Solution
    groups: tuple[FrequencyBlock, ...]
    idle: tuple[int, ...]
    shared: tuple[int, ...]
    constant: tuple[int, ...] = ()

    @property
    def orders(self) -> tuple[int, ...]:
        """Nodes per pair of frequencies, in FFT order."""
        return tuple(group.order for group in self.groups)

    @property
    def counts(self) -> dict[str, int]:
        """How many groups have each name."""
        return dict(Counter(group.name for group in self.groups))

    @property
    def crafted(self) -> Solution:
        """The nearest crafted solution: the sum of the blocks that were recognised."""
        known = [group.fit for group in self.groups if group.is_crafted]
        return sum(known, Solution.zero(self.solution.group))

    @property
    def distance(self) -> float:
        """‖z − crafted‖/‖z‖ with z all of the network, idle nodes and other frequencies included."""
        own, crafted = self.solution, self.crafted
        missing = own.norm2 + crafted.norm2
        for group in (group for group in self.groups if group.is_crafted):
            missing -= 2 * float(np.sum(own.z[:, :, list(group.hidden_units)] * group.fit.z.conj()).real)
        return float(np.sqrt(max(missing, 0.0) / own.norm2)) if own.norm2 else 0.0

    def __repr__(self) -> str:
        named = ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))
        unnamed = f"{len(self.idle)} idle, {len(self.shared)} shared hidden units"
        return f"<OrderCensus of {self.solution.group.name}: {named}; {unnamed}>"

    def _repr_html_(self) -> str:
        head = "<tr><th>frequency</th><th>nodes</th><th>block</th><th>amplitude</th><th>residual</th></tr>"
        rows = "".join(
            f"<tr><td>{g.label}</td><td>{g.order}</td><td>{' ∗ '.join(g.factors) or g.name}</td>"
            f"<td>{g.amplitude:.3f}</td><td>{g.residual:.1e}</td></tr>"
            for g in self.groups
        )
        return f"<table><caption>{html.escape(repr(self)[1:-1])}</caption>{head}{rows}</table>"


def order_census(
    W: Num[np.ndarray, "..."], V: Num[np.ndarray, "..."], group: Group, threshold: float = THRESHOLD
) -> OrderCensus:
    """The nodes of a network by frequency, each group with the crafted block it is.

    Nodes are balanced first: (a, b, c) and (sa, sb, c/s²) are the same node, whatever training made of s.

    **Arguments:** `W` (2d, q) and `V` (q, d), trained here or loaded; `threshold`, relative to the amplitude of an
    F6 so that it means the same at every d.

    >>> from firstlight.groups import cyclic
    >>> from firstlight.theories.cogo import craft
    >>> order_census(*craft(cyclic(11), "F4+F6", seed=3).weights, cyclic(11))
    <OrderCensus of Z11: 4 F4, 1 F6; 0 idle, 0 shared hidden units>
    """
    if not 0 < threshold < 1:
        raise ValueError(f"threshold is a share of the amplitude, between 0 and 1; got {threshold}")
    solution, f = balanced(Solution.from_weights(W, V, group)), frequencies(group)
    carried = carries(solution.z, f.halves, threshold)
    times = carried.sum(axis=0)
    return OrderCensus(
        solution,
        tuple(_read(solution, k, np.flatnonzero(row)) for k, row in zip(f.halves, carried, strict=True)),
        idle=tuple(np.flatnonzero(times == 0).tolist()),
        shared=tuple(np.flatnonzero(times > 1).tolist()),
        constant=tuple(np.flatnonzero((times == 0) & _one_sided(solution.z, threshold)).tolist()),
    )


def carries(
    z: Complex[np.ndarray, "3 d q"], halves: tuple[int, ...], threshold: float = THRESHOLD
) -> Bool[np.ndarray, "pairs q"]:
    """Whether each node carries each pair of frequencies: both its embeddings do."""
    return np.abs(z[:2, list(halves)]).min(axis=0) > least_amplitude(z.shape[1], threshold)


def _one_sided(z: Complex[np.ndarray, "3 d q"], threshold: float) -> Bool[np.ndarray, " q"]:
    large = np.abs(z[:2, 1:]).max(axis=1, initial=0.0) > least_amplitude(z.shape[1], threshold)
    return large[0] != large[1]


def _read(solution: Solution, k: int, nodes: Int[np.ndarray, " n"]) -> FrequencyBlock:
    f = solution.frequencies
    y = solution.z[:, k, nodes]
    found = recognise(y, k in f.real, solution.group.order)
    block = factors.at_frequency(solution.group, k, *found.fit)
    parts = {name: factors.at_frequency(solution.group, k, *part) for name, part in found.factors.items()}
    return FrequencyBlock(
        k, f.label(k), tuple(nodes.tolist()), found.name, found.residual, found.amplitude, parts, block
    )
