"""The order of every named group from its parameter, checked without building a table."""

import math
from collections.abc import Callable

from firstlight.groups._laws import check_order, whole_number


def cyclic_order(n: int) -> int:
    """Return |Z_n| = n."""
    return check_order(_at_least(n, 1, "cyclic(n)"), f"Z{n}")


def dihedral_order(n: int) -> int:
    """Return |D_n| = 2n."""
    return check_order(2 * _at_least(n, 1, "dihedral(n)"), f"D{n}")


def dicyclic_order(n: int) -> int:
    """Return |Dic_n| = 4n."""
    return check_order(4 * _at_least(n, 1, "dicyclic(n)"), f"Dic{n}")


def symmetric_order(n: int) -> int:
    """Return |S_n| = n!."""
    return check_order(math.factorial(min(_at_least(n, 1, "symmetric(n)"), 20)), f"S{n}")


def alternating_order(n: int) -> int:
    """Return |A_n| = n!/2, and 1 for n = 1."""
    return check_order(max(math.factorial(min(_at_least(n, 1, "alternating(n)"), 20)) // 2, 1), f"A{n}")


def sl2_order(p: int) -> int:
    """Return |SL₂(p)| = p(p² − 1)."""
    whole_number(p, "sl2(p)")
    order = check_order(p * (p * p - 1), f"SL2({p})")
    if not is_prime(p):
        raise ValueError(f"sl2(p) needs a prime p, got p = {p}")
    return order


def quaternion_order(order: int) -> int:
    """Return |Q_4n| = 4n."""
    if order % 4 or order < 8:
        raise ValueError(f"Q{order}: generalised quaternion groups have order 4n with n ≥ 2, such as Q8 or Q16")
    return check_order(order, f"Q{order}")


def frobenius_order(order: int) -> int:
    """Return |F_pq| = pq."""
    p, q = frobenius_factors(order)
    return p * q


def frobenius_factors(order: int) -> tuple[int, int]:
    """Return the largest prime p with order = pq, q ≥ 2 and q | p − 1, and the factor q.

    >>> frobenius_factors(21)
    (7, 3)
    """
    check_order(order, f"F{order}")
    for p in range(order // 2, 2, -1):
        if order % p == 0 and is_prime(p) and (p - 1) % (order // p) == 0:
            return p, order // p
    raise ValueError(f"F{order}: the order must be p·q with p prime and q ≥ 2 dividing p − 1, such as F20 or F21")


def is_prime(n: int) -> bool:
    """Return whether n is prime, by trial division.

    >>> [n for n in range(20) if is_prime(n)]
    [2, 3, 5, 7, 11, 13, 17, 19]
    """
    return n > 1 and all(n % d for d in range(2, math.isqrt(n) + 1))


ORDERS: dict[str, Callable[[int], int]] = {
    "z": cyclic_order,
    "c": cyclic_order,
    "s": symmetric_order,
    "a": alternating_order,
    "d": dihedral_order,
    "q": quaternion_order,
    "dic": dicyclic_order,
    "f": frobenius_order,
    "sl2": sl2_order,
}
"""The order of a group by the letters of its family, in lower case."""


def _at_least(n: int, least: int, what: str) -> int:
    if whole_number(n, what) < least:
        raise ValueError(f"{what} needs n ≥ {least}, got n = {n}")
    return n
