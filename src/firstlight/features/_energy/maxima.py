"""The local maxima of the energy over a whole group table: one family per real component, in closed form."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Complex, Float, Shaped

from firstlight.groups import Group, RealComponent

_FLAT = {
    "real": lambda d: 3 * (d - 1),
    "complex": lambda d: 6 * d - 4,
    "quaternionic": lambda d: 6 * d - 6,
}


@dataclass(frozen=True, eq=False)
class Maximum:
    """The maxima of E(w) = ½‖Ỹᵀ(Xw)²‖² on ‖w‖ = 1 that lie in one real component.

    **Arguments:**

    - `group`: group of order M.
    - `component`: a non-trivial real component of the group.

    >>> from firstlight.groups import quaternion
    >>> [(m.component.label, m.energy, m.flat) for m in maxima(quaternion())]
    [('1b', 4.0, 0), ('1c', 4.0, 0), ('1d', 4.0, 0), ('2a', 1.0, 6)]
    """

    group: Group
    component: RealComponent

    @property
    def energy(self) -> float:
        """E*: M/2d for a real irrep of dimension d, M/4d for a complex pair or a quaternionic irrep."""
        c = self.component
        return self.group.order / ((2 if c.kind == "real" else 4) * c.dim)

    @property
    def flat(self) -> int:
        """Number of zero eigenvalues of the Hessian on the sphere: 3(d−1), 6d−4 or 6d−6."""
        return _FLAT[self.component.kind](self.component.dim)

    def node(
        self, x: Shaped[np.ndarray, " d"], r: Shaped[np.ndarray, " d"], y: Shaped[np.ndarray, " d"]
    ) -> Float[np.ndarray, " twoM"]:
        r"""Return the maximiser w = [a; b] with the directions x, r, y, which are normalised here.

        $$a(g) = \sqrt{d/2M}\, x^\top C(g) r, \quad b(g) = \sqrt{d/2M}\, r^\top C(g) y \quad\text{(real)}$$
        $$a(g) = \sqrt{d/M}\,\mathrm{Re}\, x^* C(g) r, \quad b(g) = \sqrt{d/M}\,\mathrm{Re}\, r^* C(g) y
          \quad\text{(complex, quaternionic)}$$

        The two halves share only r. Li₂ prints b(g) = ±a(g⁻¹) for any u = a of the component. With y = ±x this is a
        maximiser for every d, but a generic u, a sum of several xᵀC(g)r, is not even critical for d > 1.

        >>> import numpy as np
        >>> from firstlight.features import energy
        >>> from firstlight.groups import symmetric
        >>> m = maxima(symmetric(3))[-1]
        >>> w = m.node(np.array([1.0, 0.0]), np.array([0.6, 0.8]), np.array([0.0, 1.0]))
        >>> bool(np.isclose(energy(w, symmetric(3)), m.energy))
        True
        """
        C = self.group.irreps()[self.component.irreps[0]].matrices
        M, d, _ = C.shape
        x, r, y = (self._unit(v) for v in (x, r, y))
        scale = np.sqrt(d / (2 * M)) if self.component.kind == "real" else np.sqrt(d / M)
        a = np.einsum("i,gij,j->g", x.conj(), C, r)
        b = np.einsum("i,gij,j->g", r.conj(), C, y)
        return scale * np.concatenate([a.real, b.real])

    def _unit(self, v: Shaped[np.ndarray, " d"]) -> Shaped[np.ndarray, " d"]:
        d, v = self.component.dim, np.asarray(v)
        if v.shape != (d,) or not np.linalg.norm(v) > 0:
            raise ValueError(f"directions in {self.component.label} are {d} numbers, not all 0, got {v}")
        if self.component.kind == "real" and np.iscomplexobj(v):
            raise ValueError(
                f"{self.component.label} is a real irrep, whose maxima have real directions x, r, y, got {v}; "
                "complex directions belong to complex and quaternionic irreps"
            )
        return v / np.linalg.norm(v)

    def random_node(self, rng: np.random.Generator) -> Float[np.ndarray, " twoM"]:
        """Draw a maximiser with uniformly random directions."""
        return self.node(*(self._direction(rng) for _ in range(3)))

    def random_nodes(self, count: int, seed: int) -> Float[np.ndarray, "twoM count"]:
        """Draw independent random maximisers, as columns."""
        rng = np.random.default_rng(seed)
        return np.stack([self.random_node(rng) for _ in range(count)], axis=1)

    def _direction(self, rng: np.random.Generator) -> Float[np.ndarray, " d"] | Complex[np.ndarray, " d"]:
        v = rng.standard_normal(self.component.dim)
        return v if self.component.kind == "real" else v + 1j * rng.standard_normal(self.component.dim)


def maxima(group: Group) -> tuple[Maximum, ...]:
    """Return the predicted maxima, one family per non-trivial real component; none on Z1.

    Reference: Li₂, Theorem 2, corrected.

    >>> from firstlight.groups import cyclic
    >>> [(m.component.label, m.energy) for m in maxima(cyclic(6))]
    [('±1', 1.5), ('±2', 1.5), ('3', 3.0)]
    """
    return tuple(Maximum(group, c) for c in group.real_components() if not c.is_trivial)


def require_features(group: Group) -> None:
    """Raise ValueError for the trivial group, whose energy is zero everywhere.

    >>> from firstlight.groups import cyclic
    >>> require_features(cyclic(1))
    Traceback (most recent call last):
    ValueError: a group of order 2 or more is required, got Z1: its table has one entry and nothing to learn
    """
    if group.order == 1:
        raise ValueError(
            f"a group of order 2 or more is required, got {group.name}: its table has one entry and nothing to learn"
        )
