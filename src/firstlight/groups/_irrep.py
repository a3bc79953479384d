"""A complex irrep, and a real isotypic component."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Complex, Float, Shaped

Kind = Literal["real", "complex", "quaternionic"]


@dataclass(frozen=True, eq=False, repr=False)
class Irrep:
    """A unitary irrep ρ of a group of order M.

    **Arguments:**

    - `label`: its name: frequencies (Abelian), a partition (S_n), or dimension and a letter.
    - `matrices`: (M, d, d), with ρ(gh) = ρ(g) ρ(h).
    - `character`: (M,), χ(g) = tr ρ(g).
    - `kind`: by the Frobenius–Schur indicator (1/M) Σ_g χ(g²) = 1 (real), 0 (complex), −1 (quaternionic).
    - `index`: its place in `group.irreps()`.
    - `conjugate`: the place of ρ̄ in `group.irreps()`; its own index unless `kind` is complex.

    >>> from firstlight.groups import quaternion
    >>> quaternion().irreps()[-1]
    Irrep('2a', dim=2, kind='quaternionic')
    """

    label: str
    matrices: Complex[np.ndarray, "M d d"]
    character: Complex[np.ndarray, " M"]
    kind: Kind
    index: int
    conjugate: int

    @property
    def dim(self) -> int:
        """The dimension d."""
        return self.matrices.shape[-1]

    @property
    def is_trivial(self) -> bool:
        """Whether ρ(g) = 1 for all g."""
        return self.index == 0

    @cached_property
    def real_form(self) -> Float[np.ndarray, "M D D"]:
        """The real orthogonal irrep that contains ρ: ρ itself (D = d), or ((Re, −Im), (Im, Re)) (D = 2d).

        >>> from firstlight.groups import cyclic
        >>> cyclic(4).irreps()[1].real_form[1].round() + 0.0
        array([[ 0., -1.],
               [ 1.,  0.]])
        """
        re, im = np.real(self.matrices), np.imag(self.matrices)
        return re.copy() if self.kind == "real" else np.block([[re, -im], [im, re]])

    def __repr__(self) -> str:
        return f"Irrep({self.label!r}, dim={self.dim}, kind={self.kind!r})"


@dataclass(frozen=True, eq=False, repr=False)
class RealComponent:
    """The real functions on the group spanned by the matrix entries of a real irrep.

    **Arguments:**

    - `label`: label of the irrep, or of both irreps of a conjugate pair.
    - `kind`: kind of the complex irrep ρ.
    - `dim`: d, the dimension of ρ.
    - `irreps`: the places of ρ (and ρ̄, if different) in `group.irreps()`.
    - `columns`: the component's columns in `group.real_basis()`.
    - `basis`: (M, size) orthonormal columns; size = d² (real, quaternionic) or 2d² (complex).

    >>> from firstlight.groups import dihedral
    >>> dihedral(5).real_components()[-1]
    RealComponent('2b', kind='real', dim=2, size=4)
    """

    label: str
    kind: Kind
    dim: int
    irreps: tuple[int, ...]
    columns: slice
    basis: Float[np.ndarray, "M size"]

    @property
    def size(self) -> int:
        """The component's real dimension."""
        return self.basis.shape[1]

    @property
    def is_trivial(self) -> bool:
        """Whether these are the constant functions."""
        return self.irreps == (0,)

    @cached_property
    def projector(self) -> Float[np.ndarray, "M M"]:
        """The orthogonal projector P = BBᵀ onto the component, P = Pᵀ = P²."""
        return self.basis @ self.basis.T

    def project(self, f: Shaped[np.ndarray, "*batch M"]) -> Shaped[np.ndarray, "*batch M"]:
        """Return P f for functions in the last axis."""
        return (f @ self.basis) @ self.basis.T

    def energy(self, f: Shaped[np.ndarray, "*batch M"]) -> Shaped[np.ndarray, "*batch"]:
        """Return ‖P f‖² for functions in the last axis.

        >>> import numpy as np
        >>> from firstlight.groups import cyclic
        >>> trivial, sign = cyclic(2).real_components()
        >>> bool(np.isclose(sign.energy(np.array([3.0, 1.0])), 2.0))
        True
        """
        return np.asarray((np.abs(f @ self.basis) ** 2).sum(axis=-1))

    def __repr__(self) -> str:
        return f"RealComponent({self.label!r}, kind={self.kind!r}, dim={self.dim}, size={self.size})"
