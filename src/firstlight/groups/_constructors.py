"""The named finite groups."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from jaxtyping import Int

from firstlight.groups._closed_forms import metacyclic_irreps, product_irreps, symmetric_irreps
from firstlight.groups._group import Group
from firstlight.groups._laws import check_order, whole_number, whole_numbers
from firstlight.groups._orders import (
    alternating_order,
    cyclic_order,
    dicyclic_order,
    dihedral_order,
    is_prime,
    sl2_order,
    symmetric_order,
)
from firstlight.groups._permutations import cycle_notation, generate


def cyclic(n: int) -> Group:
    """Return Z_n, the integers modulo n: element g is the number g.

    >>> int(cyclic(12).multiply(7, 8))
    3
    """
    each = np.arange(cyclic_order(n))
    table = (each[:, None] + each) % n
    return Group(table, f"Z{n}", tuple(map(str, range(n))), moduli=(n,), parsable=True)


def product(*groups: Group) -> Group:
    """Return the direct product: element (g₁, …, g_r) has the C-order index of its coordinates.

    >>> product(cyclic(5), cyclic(6))
    parse('Z5xZ6')
    """
    if not groups:
        raise ValueError("product needs at least one group, got none; the trivial group is cyclic(1)")
    if len(groups) == 1:
        return groups[0]
    name = "x".join(g.name for g in groups)
    check_order(math.prod(g.order for g in groups), name)
    table = np.zeros((1, 1), dtype=np.intp)
    labels = [""]
    for g in groups:
        table = (table[:, None, :, None] * g.order + g.table[None, :, None, :]).reshape(len(table) * g.order, -1)
        own = g.labels or tuple(map(str, range(g.order)))
        labels = [f"{left},{right}" if left else right for left in labels for right in own]
    known = [g.moduli for g in groups if g.moduli is not None]
    return Group(
        table,
        name,
        tuple(f"({label})" for label in labels),
        moduli=sum(known, ()) if len(known) == len(groups) else None,
        parsable=all(g.parsable for g in groups),
        closed_form=partial(product_irreps, groups),
    )


def dihedral(n: int) -> Group:
    """Return D_n of order 2n, the symmetries of the n-gon: r^i s^e has index i + n e, and s r s⁻¹ = r⁻¹.

    >>> dihedral(5).order
    10
    """
    dihedral_order(n)
    return _metacyclic(n, 2, -1, 0, name=f"D{n}", letters="rs")


def dicyclic(n: int) -> Group:
    """Return Dic_n of order 4n: a^i x^e has index i + 2n e, with a^{2n} = 1, x² = aⁿ and x a x⁻¹ = a⁻¹.

    >>> dicyclic(3).order
    12
    """
    dicyclic_order(n)
    return _metacyclic(2 * n, 2, -1, n, name=f"Dic{n}", letters="ax")


def quaternion() -> Group:
    """Return Q8 = {±1, ±i, ±j, ±k}, which is Dic₂ with a = i and x = j.

    >>> quaternion().labels
    ('1', 'i', '-1', '-i', 'j', 'k', '-j', '-k')
    """
    group = dicyclic(2)
    labels = ("1", "i", "-1", "-i", "j", "k", "-j", "-k")
    return Group(group.table, "Q8", labels, parsable=True, closed_form=group.closed_form)


def frobenius(p: int, q: int) -> Group:
    """Return F_{pq} = Z_p ⋊ Z_q, p prime, q | p−1: a^i x^e has index i + p e; x a x⁻¹ = a^u with u of order q mod p.

    >>> frobenius(7, 3)
    parse('F21')
    """
    for number in (p, q):
        whole_number(number, "frobenius(p, q)")
    check_order(p * max(q, 1), f"frobenius({p}, {q})")
    if not is_prime(p):
        raise ValueError(f"frobenius(p, q) needs a prime p, got p = {p}")
    if q < 2 or (p - 1) % q:
        choices = [d for d in range(2, p) if (p - 1) % d == 0]
        raise ValueError(f"frobenius({p}, q) needs q ≥ 2 dividing p − 1 = {p - 1}, got q = {q}; choose from {choices}")
    order_q = (u for u in range(2, p) if pow(u, q, p) == 1 and all(pow(u, e, p) != 1 for e in range(1, q)))
    return _metacyclic(p, q, next(order_q), 0, name=f"F{p * q}", letters="ax")


def symmetric(n: int) -> Group:
    """Return S_n: the permutations of 0…n−1 in lexicographic order, (gh)(i) = g(h(i)).

    >>> symmetric(3).labels
    ('()', '(1 2)', '(0 1)', '(0 1 2)', '(0 2 1)', '(0 2)')
    """
    symmetric_order(n)
    cycle, swap = [*range(1, n), 0], [1, 0, *range(2, n)][:n]
    elements, table = generate([cycle, swap] if n > 1 else [[0]])
    labels = tuple(map(cycle_notation, elements.tolist()))
    return Group(table, f"S{n}", labels, parsable=True, closed_form=partial(symmetric_irreps, elements))


def alternating(n: int) -> Group:
    """Return A_n: the even permutations of 0…n−1 in lexicographic order.

    >>> alternating(5).order
    60
    """
    alternating_order(n)
    generators = [[1, i, *range(2, i), 0, *range(i + 1, n)] for i in range(2, n)]
    elements, table = generate(generators or [list(range(n))])
    return Group(table, f"A{n}", tuple(map(cycle_notation, elements.tolist())), parsable=True)


def sl2(p: int) -> Group:
    """Return SL₂(p) of order p(p²−1): the 2×2 matrices of determinant 1 modulo a prime p.

    >>> sl2(3).order, sl2(3).labels[0]
    (24, '[1 0; 0 1]')
    """
    sl2_order(p)
    # Acting on the vectors (x, y) ≠ 0, numbered p y + x − 1: those of (1, 0) and (0, 1) carry the matrix.
    y, x = np.divmod(np.arange(1, p * p), p)
    shears = [(p * y + (x + y) % p - 1), (p * ((x + y) % p) + x - 1)]
    elements, table = generate([s.tolist() for s in shears])
    (c, a), (d, b) = (np.divmod(elements[:, k] + 1, p) for k in (0, p - 1))
    labels = tuple(f"[{i} {j}; {k} {l}]" for i, j, k, l in zip(a, b, c, d, strict=True))
    return Group(table, f"SL2({p})", labels, parsable=True)


def from_permutations(
    generators: Sequence[Sequence[int]] | Int[np.ndarray, "s n"], name: str = "permutations"
) -> Group:
    """Return the group generated by permutations (g(0), …, g(n−1)) of 0…n−1; its elements in lexicographic order.

    >>> from_permutations([[1, 2, 3, 0], [0, 3, 2, 1]], name="square").order
    8
    """
    whole = [whole_numbers(g, f"generator {i}").tolist() for i, g in enumerate(generators)]
    elements, table = generate(whole)
    return Group(table, name, tuple(map(cycle_notation, elements.tolist())))


def _metacyclic(n: int, m: int, u: int, t: int, name: str, letters: str) -> Group:
    """⟨a, x | aⁿ = 1, x^m = a^t, x a x⁻¹ = a^u⟩: (a^i x^e)(a^j x^f) = a^{i + u^e j + t[e+f ≥ m]} x^{e+f}."""
    check_order(n * m, name)
    e, i = np.divmod(np.arange(n * m), n)
    powers = np.array([pow(u, k, n) for k in range(m)])
    total = e[:, None] + e
    exponent = i[:, None] + powers[e][:, None] * i + t * (total >= m)
    a, x = letters
    labels = tuple(_power(a, k) + _power(x, l) or "1" for l in range(m) for k in range(n))
    closed_form = partial(metacyclic_irreps, n, m, u, t)
    return Group(exponent % n + n * (total % m), name, labels, parsable=True, closed_form=closed_form)


def _power(letter: str, exponent: int) -> str:
    return {0: "", 1: letter}.get(exponent, f"{letter}^{exponent}")
