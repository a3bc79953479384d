"""A network as an element of the semi-ring of solutions (CoGO, Definitions 1 to 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Array, Complex, Float, Num
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from firstlight.groups import Group
from firstlight.theories.cogo._frequencies import Frequencies, frequencies

PARTS = ("a", "b", "c")
"""The parts of z: the two embeddings of a hidden unit, and its output weights."""

Power = Float[np.ndarray | Array, " q"]

_HERMITIAN = 1e-9
_EQUAL = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    r"""A two-layer quadratic network with `order` hidden units, given by its Fourier coefficients.

    $$a_j(g) = \sum_k z_{akj}\,\phi_k(g), \quad b_j(g) = \sum_k z_{bkj}\,\phi_k(g), \quad
      v_j(g) = \sum_k z_{ckj}\,\bar\phi_k(g).$$

    Solutions of all orders form a commutative semi-ring: `+` joins the hidden units, `*` takes their Kronecker product
    at each frequency. Two solutions are equal if they differ by a permutation of hidden units (CoGO, eq. 2,
    Definitions 2 and 3, Theorem 2). z includes k = 0, so every network has a `Solution`.

    **Arguments:**

    - `group`: an Abelian group of order d.
    - `z`: coefficients (3, d, q) with z_{p,−k} = conj z_{pk}.

    >>> from firstlight.groups import cyclic
    >>> identity, zero = Solution.one(cyclic(5)), Solution.zero(cyclic(5))
    >>> two = identity + identity
    >>> (two * two).order, two * identity == two, two * zero == zero
    (4, True, True)
    """

    group: Group
    z: Complex[np.ndarray, "3 d q"]

    def __post_init__(self) -> None:
        k = frequencies(self.group)
        z = np.array(self.z, dtype=np.complex128)
        if z.ndim != 3 or z.shape[:2] != (3, k.d):
            raise ValueError(
                f"z must be (3, {k.d}, order) for {self.group.name}: a, b, c by frequency by hidden unit; got {z.shape}"
            )
        if not np.isfinite(z).all():
            raise ValueError(f"z must be finite; {int((~np.isfinite(z)).sum())} of its {z.size} entries are not")
        broken = np.abs(z[:, k.negative] - z.conj()).max(initial=0.0)
        if broken > _HERMITIAN * np.abs(z).max(initial=0.0):
            raise ValueError(
                f"z must be Hermitian, z[:, −k] = conj z[:, k], for the weights to be real; it is off by {broken:.2g}"
            )
        z.flags.writeable = False
        object.__setattr__(self, "z", z)

    @classmethod
    def trusted(cls, group: Group, z: Complex[np.ndarray, "3 d q"]) -> "Solution":
        """Wrap a valid z without copying or checking it; the caller must not change z afterwards."""
        solution = object.__new__(cls)
        z.flags.writeable = False
        object.__setattr__(solution, "group", group)
        object.__setattr__(solution, "z", z)
        return solution

    @classmethod
    def one(cls, group: Group) -> "Solution":
        """Return the ring's 1: a single hidden unit with z = 1 everywhere."""
        return cls(group, np.ones((3, group.order, 1), complex))

    @classmethod
    def zero(cls, group: Group) -> "Solution":
        """Return the ring's 0: no hidden units."""
        return cls(group, np.zeros((3, group.order, 0), complex))

    @classmethod
    def from_weights(cls, W: Num[np.ndarray, "..."], V: Num[np.ndarray, "..."], group: Group) -> "Solution":
        """Return the solution of a network with W (2d, q), the two embedding tables stacked, and V (q, d).

        >>> import numpy as np
        >>> from firstlight.groups import cyclic
        >>> Solution.from_weights(np.ones((10, 3)), np.ones((4, 5)), cyclic(5))
        Traceback (most recent call last):
        ValueError: a group of order 5 needs W (10, q) and V (q, 5) with one q; got (10, 3) and (4, 5)...
        """
        k = frequencies(group)
        A, B, C = split_weights(W, V, group)
        z = np.stack([k.transform(A), k.transform(B), k.transform(C).conj()])
        return cls(group, z)

    @cached_property
    def weights(self) -> tuple[Float[np.ndarray, "twod q"], Float[np.ndarray, "q d"]]:
        """W (2d, q) and V (q, d) of the network.

        >>> import numpy as np
        >>> from firstlight.groups import parse
        >>> rng, group = np.random.default_rng(0), parse("Z2xZ3")
        >>> W, V = rng.normal(size=(12, 4)), rng.normal(size=(4, 6))
        >>> again = Solution.from_weights(W, V, group).weights
        >>> np.allclose(again[0], W), np.allclose(again[1], V)
        (True, True)
        """
        k = self.frequencies
        a, b, c = self.z
        return np.concatenate([k.synthesise(a), k.synthesise(b)]), k.synthesise(c.conj()).T

    @property
    def frequencies(self) -> Frequencies:
        """The frequencies of the group."""
        return frequencies(self.group)

    @property
    def order(self) -> int:
        """Number of hidden units (Definition 1)."""
        return self.z.shape[2]

    @property
    def norm2(self) -> float:
        """Σ|z|², which is (‖W‖² + ‖V‖²)/d."""
        return float(np.sum(np.abs(self.z) ** 2))

    def __add__(self, other: object) -> "Solution":
        if not isinstance(other, Solution):
            return NotImplemented
        self._same_group(other)
        return Solution.trusted(self.group, np.concatenate([self.z, other.z], axis=2))

    def __mul__(self, other: object) -> "Solution":
        if not isinstance(other, Solution):
            return NotImplemented
        self._same_group(other)
        product = self.z[..., :, None] * other.z[..., None, :]
        return Solution.trusted(self.group, product.reshape(3, self.group.order, self.order * other.order))

    def select(self, units: Sequence[int] | Sequence[bool] | np.ndarray) -> "Solution":
        """Return the solution of some hidden units, chosen by their numbers in order or by a mask.

        >>> from firstlight.groups import cyclic
        >>> two = Solution.one(cyclic(3)) + Solution.one(cyclic(3))
        >>> two.select([1, 1, 0]).order, two.select([True, False]).order
        (3, 1)
        """
        chosen = np.asarray(units)
        if chosen.dtype == bool:
            if chosen.shape != (self.order,):
                raise ValueError(f"a mask needs an entry for each of the {self.order} hidden units; got {chosen.shape}")
            chosen = np.flatnonzero(chosen)
        chosen = chosen.astype(int) if not chosen.size else chosen
        if chosen.dtype.kind not in "iu" or chosen.ndim != 1:
            raise ValueError(
                f"choose hidden units by a list of numbers or by a mask; got {chosen.dtype} {chosen.shape}"
            )
        if chosen.size and not (-self.order <= chosen.min() and chosen.max() < self.order):
            raise ValueError(
                f"this solution has hidden units 0 to {self.order - 1}; got {chosen.min()} to {chosen.max()}"
            )
        return Solution.trusted(self.group, self.z[:, :, chosen])

    def distance(self, other: "Solution") -> float:
        """Return the least √Σ|z − z′|² over permutations of hidden units; both need the same order."""
        self._same_group(other)
        if self.order != other.order:
            raise ValueError(f"distance needs solutions of the same order; got {self.order} and {other.order}")
        if not self.order:
            return 0.0
        apart = cdist(_real_rows(self.z), _real_rows(other.z))
        pairs = linear_sum_assignment(apart**2)
        return float(np.linalg.norm(apart[pairs]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Solution):
            return NotImplemented
        if self.group != other.group or self.order != other.order:
            return False
        return bool(self.distance(other) <= _EQUAL * np.sqrt(max(self.norm2, other.norm2)))

    __hash__ = None  # type: ignore[assignment]  # equality is up to rounding

    def _same_group(self, other: "Solution") -> None:
        if self.group != other.group:
            raise ValueError(f"both solutions need the same group; got {self.group.name} and {other.group.name}")

    def __repr__(self) -> str:
        return f"<Solution of order {self.order} over {self.group.name}>"

    def _repr_html_(self) -> str:
        from firstlight.theories.cogo._html import solution_html  # which needs Solution

        return solution_html(self)


def split_weights(
    W: Num[np.ndarray, "..."], V: Num[np.ndarray, "..."], group: Group
) -> tuple[Float[np.ndarray, "d q"], Float[np.ndarray, "d q"], Float[np.ndarray, "d q"]]:
    """Split W (2d, q) and V (q, d) into A, B and C = Vᵀ, each (d, q) float64, and check shapes and finiteness.

    >>> import numpy as np
    >>> from firstlight.groups import cyclic
    >>> split_weights(np.full((6, 1), np.nan), np.ones((1, 3)), cyclic(3))
    Traceback (most recent call last):
    ValueError: weights must be finite; W has 6 entries that are not. Did the training diverge?
    """
    for name, array in (("W", W), ("V", V)):
        if np.iscomplexobj(array):
            raise ValueError(
                f"weights must be real; {name} is {array.dtype}. Fourier coefficients go into Solution(group, z)"
            )
    W, V, d = np.asarray(W, float), np.asarray(V, float), group.order
    if W.ndim != 2 or V.ndim != 2 or W.shape[0] != 2 * d or V.shape != (W.shape[1], d):
        raise ValueError(
            f"a group of order {d} needs W ({2 * d}, q) and V (q, {d}) with one q; got {W.shape} and {V.shape}. "
            "Weights are stored (inputs, outputs): transpose those of a torch Linear"
        )
    for name, array in (("W", W), ("V", V)):
        if wrong := int((~np.isfinite(array)).sum()):
            raise ValueError(
                f"weights must be finite; {name} has {wrong} entries that are not. Did the training diverge?"
            )
    return W[:d], W[d:], V.T


def balanced(solution: Solution) -> Solution:
    """Return the same network with each hidden unit rescaled to its smallest norm.

    (a, b, c) → (sa, sb, c/s²) keeps the output of a unit, and s⁶ = 2|c|²/(|a|² + |b|²) minimises its norm. Units
    without an output or without an input become zero.

    >>> from firstlight.groups import cyclic
    >>> import numpy as np
    >>> unequal = Solution(cyclic(3), np.array([2.0, 2.0, 0.25])[:, None, None] * Solution.one(cyclic(3)).z)
    >>> balanced(unequal) == Solution.one(cyclic(3))
    True
    """
    power = np.sum(np.abs(solution.z) ** 2, axis=1)
    s, t = balancing(power[0] + power[1], power[2])
    return Solution.trusted(solution.group, solution.z * np.stack([s, s, t])[:, None, :])


def balancing(inputs: Power, outputs: Power) -> tuple[Power, Power]:
    """Return the scales that balance each hidden unit: s = (2|c|²/(|a|² + |b|²))^{1/6} for a and b, 1/s² for c.

    Both are 0 if the unit has no input or no output.

    **Arguments:**

    - `inputs`: |a|² + |b|² of each hidden unit (q,), summed over weights or over Fourier coefficients.
    - `outputs`: |c|² of each hidden unit (q,), summed likewise.
    """
    xp = inputs.__array_namespace__()
    alive = (inputs > 0) & (outputs > 0)
    s = xp.where(alive, 2 * outputs / xp.where(alive, inputs, 1.0), 0.0) ** (1 / 6)
    return s, xp.where(alive, xp.where(alive, s, 1.0) ** -2, 0.0)


def _real_rows(z: Complex[np.ndarray, "3 d q"]) -> Float[np.ndarray, "q n"]:
    flat = z.reshape(-1, z.shape[2]).T
    return np.concatenate([np.real(flat), np.imag(flat)], axis=1)
