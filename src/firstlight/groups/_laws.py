"""Checks of the group laws on a Cayley table; an error names the elements that break the law."""

from numbers import Integral

import numpy as np
from jaxtyping import Int

MAX_ORDER = 5040  # |S7|: a table of 25 million entries


def whole_numbers(values: object, what: str, entry: str = "entry ") -> Int[np.ndarray, "..."]:
    """Return the values as integers; raise ValueError, which names them `what`, unless they are whole numbers.

    >>> whole_numbers([1.0, 2.0], "a permutation")
    array([1, 2])
    """
    try:
        array = np.asarray(values)
    except ValueError:  # rows of unequal lengths
        array = np.empty(0, dtype=object)
    if array.dtype.kind in "iu":
        return array.astype(np.intp)
    if array.dtype.kind != "f":
        raise ValueError(f"{what} holds whole numbers only, counted from 0, got {repr(values)[:200]}")
    broken = np.argwhere(~np.isfinite(array) | (array != np.rint(array)))
    if len(broken):
        at = tuple(broken[0].tolist())
        raise ValueError(f"{what} holds whole numbers only, counted from 0, but {entry}{list(at)} = {array[at]}")
    return np.clip(array.astype(float), -1e9, 1e9).astype(np.intp)  # outside the range of a table in any case


def whole_table(table: object) -> Int[np.ndarray, "..."]:
    """Return a square Cayley table as indices of its elements; raise ValueError otherwise."""
    whole = whole_numbers(table, "a Cayley table", "table")
    check_entries(whole)
    return whole


def whole_number(n: object, what: str) -> int:
    """Return the number as an int; raise ValueError, which names it `what`, unless it is a whole number.

    >>> whole_number(np.int64(5), "cyclic(n)")
    5
    """
    if isinstance(n, bool) or not isinstance(n, Integral):
        raise ValueError(f"{what} needs a whole number, got {n!r}")
    return int(n)


def check_order(order: int, name: str) -> int:
    """Return the order; raise ValueError if the Cayley table would be too large, before any allocation."""
    if order > MAX_ORDER:
        shown = str(order) if order < 10**12 else "over 10^12"
        raise ValueError(f"{name} has order {shown}, but Cayley tables stop at order {MAX_ORDER}; use a smaller group")
    return order


def check_table(table: Int[np.ndarray, "..."]) -> int:
    """Check the group laws of a `whole_table`, table[g, h] = gh, and return the index of the identity.

    Associativity is tested by Light's method, (x g) y = x (g y) for g in a generating set only, since the g
    that satisfy it for all x, y are closed under products: O(M² log M) for a group.
    """
    identity = _identity(table)
    _check_inverses(table, identity)
    _check_latin(table)
    _check_associative(table, identity)
    return identity


def generating_set(table: Int[np.ndarray, "M M"], identity: int) -> tuple[int, ...]:
    """Return the greedy generating set: each generator is the smallest element not generated so far."""
    generators: list[int] = []
    inside = np.zeros(len(table), dtype=bool)
    inside[identity] = True
    while not inside.all():
        generators.append(int(np.argmin(inside)))
        inside[generators[-1]] = True
        members = np.flatnonzero(inside)
        while True:
            inside[table[np.ix_(members, members)]] = True
            grown = np.flatnonzero(inside)
            if len(grown) == len(members):
                break
            members = grown
    return tuple(generators)


def check_entries(table: Int[np.ndarray, "..."]) -> None:
    """Check that the table is square and holds indices of its elements."""
    if table.ndim != 2 or table.shape[0] != table.shape[1] or len(table) == 0:
        raise ValueError(
            f"a Cayley table must be a square (M, M) array with M ≥ 1, got shape {table.shape}; "
            "row g, column h holds the index of gh"
        )
    check_order(len(table), "this table")
    outside = np.argwhere((table < 0) | (table >= len(table)))
    if len(outside):
        g, h = outside[0].tolist()
        raise ValueError(
            f"the entries of a Cayley table of order {len(table)} must lie in 0…{len(table) - 1}, but "
            f"table[{g}, {h}] = {table[g, h]}; count from 0 (subtract 1 from a table that counts from 1)"
        )


def _identity(table: np.ndarray) -> int:
    each = np.arange(len(table))
    left = (table == each).all(axis=1)
    both = left & (table == each[:, None]).all(axis=0)
    if both.any():
        return int(np.argmax(both))
    if left.any():
        e = int(np.argmax(left))
        g = int(np.argmax(table[:, e] != each))
        detail = f"{e} is one from the left only: {g}·{e} = {table[g, e]}"
    else:
        e = int(np.argmax((table == each).sum(axis=1)))
        g = int(np.argmax(table[e] != each))
        detail = f"the nearest, {e}, has {e}·{g} = {table[e, g]}"
    raise ValueError(f"not a group: no identity, an element e with e·g = g·e = g for all g ({detail})")


def _check_inverses(table: np.ndarray, identity: int) -> None:
    missing = ~((table == identity) & (identity == table.T)).any(axis=1)
    if missing.any():
        g = int(np.argmax(missing))
        raise ValueError(
            f"not a group: element {g} has no inverse, an h with {g}·h = h·{g} = {identity} (the identity)"
        )


def _check_latin(table: np.ndarray) -> None:
    each = np.arange(len(table))
    for where, lines in (("row", table), ("column", table.T)):
        bad = (np.sort(lines, axis=1) != each).any(axis=1)
        if not bad.any():
            continue
        g = int(np.argmax(bad))
        value = int(np.argmax(np.bincount(lines[g], minlength=len(each)) > 1))
        h, k = np.flatnonzero(lines[g] == value)[:2].tolist()
        pair = f"{g}·{h} = {g}·{k}" if where == "row" else f"{h}·{g} = {k}·{g}"
        raise ValueError(f"not a group: not a Latin square, {where} {g} repeats {value} ({pair} = {value})")


def _check_associative(table: np.ndarray, identity: int) -> None:
    for h in generating_set(table, identity):
        left, right = table[table[:, h]], table[:, table[h]]
        bad = np.argwhere(left != right)
        if len(bad):
            g, k = bad[0].tolist()
            raise ValueError(
                f"not a group: not associative at (g, h, k) = ({g}, {h}, {k}): "
                f"(g·h)·k = {left[g, k]} but g·(h·k) = {right[g, k]}"
            )
