"""An Abelian group as a product of cyclic groups, and its characters."""

import math

import numpy as np
from jaxtyping import Complex, Int


def cyclic_decomposition(
    table: Int[np.ndarray, "M M"], identity: int, element_orders: Int[np.ndarray, " M"]
) -> tuple[tuple[int, ...], Int[np.ndarray, " M"]]:
    """Return the invariant factors n₁ ⋮ n₂ ⋮ … of an Abelian group and the element at each C-order coordinate.

    Let H be the subgroup split off so far, and G = H ⊕ K. An element whose order modulo H is largest and equals its
    own order generates the next cyclic factor: its order is the exponent of K.
    """
    order = len(table)
    each = np.arange(order)
    moduli: list[int] = []
    members = np.array([identity], dtype=np.intp)
    while len(members) < order:
        inside = np.zeros(order, dtype=bool)
        inside[members] = True
        order_mod_h = np.zeros(order, dtype=np.intp)
        power, n = each, 1
        while (order_mod_h == 0).any():
            order_mod_h[(order_mod_h == 0) & inside[power]] = n
            power, n = table[power, each], n + 1
        generator = int(np.argmax(np.where(order_mod_h == element_orders, order_mod_h, 0)))
        powers = np.full(element_orders[generator], identity)
        for k in range(1, len(powers)):
            powers[k] = table[powers[k - 1], generator]
        moduli.append(len(powers))
        members = table[np.ix_(members, powers)].ravel()
    return tuple(moduli or [1]), members


def phases(moduli: tuple[int, ...]) -> Int[np.ndarray, "M M"]:
    """Return E Σ_j k_j x_j / n_j mod E, E = lcm(n_j): frequencies k in rows, coordinates x in columns, C order."""
    exponent = math.lcm(*moduli)
    x = np.indices(moduli).reshape(len(moduli), -1)
    k = x * (exponent // np.array(moduli))[:, None]
    return (k.T @ x) % exponent


def characters(moduli: tuple[int, ...]) -> Complex[np.ndarray, "M M"]:
    """Return χ_k(x) = exp(2πi Σ_j k_j x_j / n_j), frequencies in rows, coordinates in columns, both in C order."""
    exponent = math.lcm(*moduli)
    return np.exp(2j * np.pi * np.arange(exponent) / exponent)[phases(moduli)]
