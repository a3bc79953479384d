"""Groups of permutations: all products of some generators, and their Cayley table."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from firstlight.groups._laws import MAX_ORDER


def generate(generators: Sequence[Sequence[int]]) -> tuple[Int[np.ndarray, "M n"], Int[np.ndarray, "M M"]]:
    """Return ⟨generators⟩ in lexicographic order, the identity first, and its Cayley table; (gh)(i) = g(h(i)).

    A walk over g ↦ gs for generators s reaches every element h = parent·s once; column h of the table is then
    the parent's column moved by that step, so that only M × (number of generators) products are formed.
    """
    steps = _checked(generators)
    index: dict[tuple[int, ...], int] = {tuple(range(len(steps[0]))): 0}
    order = list(index)
    origin: list[tuple[int, int]] = [(0, 0)]
    moves: list[list[int]] = [[] for _ in steps]
    for g, element in enumerate(order):
        for k, step in enumerate(steps):
            image = tuple(element[i] for i in step)
            if image not in index:
                if len(order) == MAX_ORDER:
                    raise ValueError(f"these permutations generate more than {MAX_ORDER} elements; use a smaller group")
                index[image] = len(order)
                order.append(image)
                origin.append((g, k))
            moves[k].append(index[image])
    walk = np.empty((len(order), len(order)), dtype=np.intp)
    walk[0] = np.arange(len(order))
    right = np.array(moves, dtype=np.intp)
    for h in range(1, len(order)):
        parent, k = origin[h]
        walk[h] = right[k][walk[parent]]
    elements = np.array(order, dtype=np.intp)
    ranking = np.lexsort(elements.T[::-1])
    rank = np.argsort(ranking)
    return elements[ranking], rank[walk.T[np.ix_(ranking, ranking)]]


def cycle_notation(permutation: Sequence[int]) -> str:
    """Return the permutation as disjoint cycles.

    >>> cycle_notation([1, 0, 2, 4, 3])
    '(0 1)(3 4)'
    """
    pending = set(range(len(permutation)))
    cycles = []
    while pending:
        cycle = [min(pending)]
        while (following := permutation[cycle[-1]]) != cycle[0]:
            cycle.append(following)
        pending -= set(cycle)
        if len(cycle) > 1:
            cycles.append(f"({' '.join(map(str, cycle))})")
    return "".join(cycles) or "()"


def _checked(generators: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    steps = [tuple(g) for g in generators]
    if not steps:
        raise ValueError("from_permutations needs at least one generator, got none; the trivial group is [[0]]")
    degree = len(steps[0])
    for k, step in enumerate(steps):
        if not step or sorted(step) != list(range(degree)):
            raise ValueError(
                f"generator {k} must be a permutation of 0…{degree - 1} (as many numbers as in the first, "
                f"counted from 0), got {list(step)}"
            )
    return steps
