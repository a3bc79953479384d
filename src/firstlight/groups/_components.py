"""Real isotypic components of the functions on a group; conjugate pairs of irreps are merged."""

import numpy as np
from jaxtyping import Float, Shaped

from firstlight.groups._group import Group, functions_on
from firstlight.groups._irrep import Irrep, RealComponent


def real_components(group: Group) -> tuple[tuple[RealComponent, ...], Float[np.ndarray, "M M"]]:
    """Return the components in the order of their first irrep, and their bases side by side; see `Group`."""
    chosen = [rho for rho in group.irreps() if rho.index <= rho.conjugate]
    basis = np.hstack([_basis(rho) for rho in chosen])
    basis.setflags(write=False)
    components: list[RealComponent] = []
    start = 0
    for rho in chosen:
        size = rho.dim**2 * (2 if rho.kind == "complex" else 1)
        columns = slice(start, start + size)
        members = (rho.index,) if rho.kind != "complex" else (rho.index, rho.conjugate)
        label = _label(group, members)
        components.append(RealComponent(label, rho.kind, rho.dim, members, columns, basis[:, columns]))
        start += size
    return tuple(components), basis


def isotypic_energies(
    group: Group, f: Shaped[np.ndarray, "*batch M"], *, normalised: bool = False
) -> Float[np.ndarray, "*batch C"]:
    """Return ‖P_c f‖² for every real component c and every function in the last axis; the sum over c is ‖f‖².

    **Arguments:**

    - `group`: of order M, with C real components.
    - `f`: (…, M) functions on the group, such as weights of neurons.
    - `normalised`: whether to divide by ‖f‖², so that the energies sum to 1 (all are 0 for f = 0).

    >>> import numpy as np
    >>> from firstlight.groups import cyclic
    >>> wave = np.cos(2 * np.pi * np.arange(5) * 2 / 5)
    >>> isotypic_energies(cyclic(5), wave, normalised=True).round(12)
    array([0., 0., 1.])
    """
    components = group.real_components()
    squares = np.abs(functions_on(group, f) @ group.real_basis()) ** 2
    energies = np.add.reduceat(squares, [c.columns.start for c in components], axis=-1)
    if normalised:
        total = energies.sum(axis=-1, keepdims=True)
        energies = np.divide(energies, total, out=np.zeros_like(energies), where=total > 0)
    return energies


def _basis(rho: Irrep) -> Float[np.ndarray, "M size"]:
    """Return the entries of ρ, orthonormal by Schur: √(d/M) ρ_ij, or √(2d/M) (Re ρ_ij, Im ρ_ij).

    In the form ((A, −B̄), (B, Ā)) of a quaternionic irrep, the second half of the columns repeats the first.
    """
    order, d, _ = rho.matrices.shape
    if rho.kind == "real":
        return np.sqrt(d / order) * np.real(rho.matrices).reshape(order, -1)
    columns = d // 2 if rho.kind == "quaternionic" else d
    entries = rho.matrices[:, :, :columns].reshape(order, -1)
    return np.sqrt(2 * d / order) * np.hstack([np.real(entries), np.imag(entries)])


def _label(group: Group, members: tuple[int, ...]) -> str:
    labels = [group.irreps()[i].label for i in members]
    return f"±{labels[0]}" if len(labels) == 2 and group.is_abelian else "⊕".join(labels)
