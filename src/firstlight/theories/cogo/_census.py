"""Read a trained network: which hidden units carry which frequency, and which crafted block they form."""

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
"""A hidden unit carries a frequency if |z_a| and |z_b| exceed this share of an F6's amplitude, (12d)^{−1/3}."""


def least_amplitude(d: int, threshold: float = THRESHOLD) -> float:
    """Return the least |z| with which a hidden unit carries a frequency: threshold · (12d)^{−1/3}."""
    return threshold * (12 * d) ** (-1 / 3)


@dataclass(frozen=True)
class FrequencyBlock:
    """The hidden units that carry one pair of frequencies ±k.

    **Attributes:**

    - `frequency`: k, as a place in FFT order.
    - `label`: the name of the pair, such as ±2.
    - `hidden_units`: indices of the hidden units.
    - `name`: the crafted block that they form.
    - `residual`: ‖z − fit‖/‖z‖ at ±k for the nearest block, whose (a, b) and c may be rescaled; 1 if there is none.
    - `amplitude`: the cube root of |abc| relative to a crafted block; weight decay makes it less than 1.
    - `factors`: named ring factors whose product is the block, at amplitude 1 and up to the signs of (a, b).
    - `fit`: the nearest block.
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
        """Number of hidden units."""
        return len(self.hidden_units)

    @property
    def is_crafted(self) -> bool:
        """Whether the hidden units form a crafted block."""
        return self.name not in ("other", "none")


@dataclass(frozen=True)
class OrderCensus:
    """The hidden units of a network, grouped by the pair of frequencies that they carry.

    Without shared units, the groups and the idle units are all hidden units.

    **Attributes:**

    - `solution`: the network, with balanced hidden units.
    - `groups`: one `FrequencyBlock` per pair of frequencies.
    - `idle`: hidden units that carry no frequency.
    - `shared`: hidden units that carry several frequencies.
    - `constant`: idle units with only one of the two embeddings; they can add a constant to the outputs.
    """

    solution: Solution
    groups: tuple[FrequencyBlock, ...]
    idle: tuple[int, ...]
    shared: tuple[int, ...]
    constant: tuple[int, ...] = ()

    @property
    def orders(self) -> tuple[int, ...]:
        """Number of hidden units per pair of frequencies, in FFT order."""
        return tuple(group.order for group in self.groups)

    @property
    def counts(self) -> dict[str, int]:
        """Number of groups with each name."""
        return dict(Counter(group.name for group in self.groups))

    @property
    def crafted(self) -> Solution:
        """The nearest crafted solution: the sum of the recognised blocks."""
        known = [group.fit for group in self.groups if group.is_crafted]
        return sum(known, Solution.zero(self.solution.group))

    @property
    def distance(self) -> float:
        """‖z − crafted‖/‖z‖ with z the whole network, idle units and other frequencies included."""
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
        head = "<tr><th>frequency</th><th>hidden units</th><th>block</th><th>amplitude</th><th>residual</th></tr>"
        rows = "".join(
            f"<tr><td>{g.label}</td><td>{g.order}</td><td>{' ∗ '.join(g.factors) or g.name}</td>"
            f"<td>{g.amplitude:.3f}</td><td>{g.residual:.1e}</td></tr>"
            for g in self.groups
        )
        return f"<table><caption>{html.escape(repr(self)[1:-1])}</caption>{head}{rows}</table>"


def order_census(
    W: Num[np.ndarray, "..."], V: Num[np.ndarray, "..."], group: Group, threshold: float = THRESHOLD
) -> OrderCensus:
    """Group the hidden units of a network by frequency, and name the crafted block of each group.

    Hidden units are balanced first, because (a, b, c) and (sa, sb, c/s²) are the same unit.

    **Arguments:**

    - `W`: embeddings (2d, q).
    - `V`: output weights (q, d).
    - `group`: an Abelian group of order d.
    - `threshold`: least amplitude of a carried frequency, relative to that of an F6.

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
    """Check whether both embeddings of each hidden unit carry each pair of frequencies."""
    return np.abs(z[:2, list(halves)]).min(axis=0) > least_amplitude(z.shape[1], threshold)


def _one_sided(z: Complex[np.ndarray, "3 d q"], threshold: float) -> Bool[np.ndarray, " q"]:
    large = np.abs(z[:2, 1:]).max(axis=1, initial=0.0) > least_amplitude(z.shape[1], threshold)
    return large[0] != large[1]


def _read(solution: Solution, k: int, units: Int[np.ndarray, " n"]) -> FrequencyBlock:
    f = solution.frequencies
    y = solution.z[:, k, units]
    nearest = recognise(y, k in f.real, solution.group.order)
    block = factors.at_frequency(solution.group, k, *nearest.fit)
    parts = {name: factors.at_frequency(solution.group, k, *part) for name, part in nearest.factors.items()}
    return FrequencyBlock(
        k, f.label(k), tuple(units.tolist()), nearest.name, nearest.residual, nearest.amplitude, parts, block
    )
