"""Finite groups, their irreps and their Fourier transform: exact, from the Cayley table alone.

>>> from firstlight.groups import parse
>>> group = parse("S4")
>>> [(rho.label, rho.dim, rho.kind) for rho in group.irreps()][-1]
('[2,1,1]', 3, 'real')
"""

from firstlight.groups._components import isotypic_energies
from firstlight.groups._constructors import (
    alternating,
    cyclic,
    dicyclic,
    dihedral,
    frobenius,
    from_permutations,
    product,
    quaternion,
    sl2,
    symmetric,
)
from firstlight.groups._fourier import convolve, fourier, inverse_fourier
from firstlight.groups._group import Group
from firstlight.groups._irrep import Irrep, Kind, RealComponent
from firstlight.groups._irreps import character_table, isotypic_projector
from firstlight.groups._parse import order_of, parse
from firstlight.groups._tables import as_group, from_table, of_task, order_of_task

__all__ = [
    "Group",
    "Irrep",
    "Kind",
    "RealComponent",
    "alternating",
    "as_group",
    "character_table",
    "convolve",
    "cyclic",
    "dicyclic",
    "dihedral",
    "fourier",
    "frobenius",
    "from_permutations",
    "from_table",
    "inverse_fourier",
    "isotypic_energies",
    "isotypic_projector",
    "of_task",
    "order_of",
    "order_of_task",
    "parse",
    "product",
    "quaternion",
    "sl2",
    "symmetric",
]
