"""Cells of a lattice that are split where a diagram is uncertain."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Place = tuple[int, int]
"""Column and row of a lattice point."""


@dataclass(frozen=True)
class Cell:
    """A rectangle of the lattice, with both ends included.

    **Attributes:**

    - `left`, `right`: the first and the last column.
    - `bottom`, `top`: the first and the last row.
    """

    left: int
    right: int
    bottom: int
    top: int

    @property
    def corners(self) -> tuple[Place, ...]:
        """The four corners."""
        return tuple(itertools.product((self.left, self.right), (self.bottom, self.top)))

    @property
    def is_smallest(self) -> bool:
        """Whether no lattice point lies between its ends."""
        return self.right - self.left <= 1 and self.top - self.bottom <= 1

    def split(self) -> list["Cell"]:
        """Return four parts, or two if it has no inner column or no inner row.

        >>> len(Cell(0, 4, 0, 4).split()), Cell(0, 2, 0, 1).split()[1]
        (4, Cell(left=1, right=2, bottom=0, top=1))
        """
        columns, rows = _halves(self.left, self.right), _halves(self.bottom, self.top)
        return [Cell(*column, *row) for column, row in itertools.product(columns, rows)]

    @property
    def edge(self) -> Iterator[Place]:
        """The lattice points on its border; none inside it is tested before it is split."""
        for column in range(self.left, self.right + 1):
            yield from ((column, self.bottom), (column, self.top))
        for row in range(self.bottom + 1, self.top):
            yield from ((self.left, row), (self.right, row))


class Refinement:
    """The cells of a diagram, split until every cell with both outcomes is smallest.

    **Arguments:**

    - `columns`, `rows`: size of the lattice.
    - `coarse`: number of cells along each axis at the start.

    >>> diagram = Refinement(17, 17)
    >>> while places := diagram.wanted:
    ...     diagram.record({place: place[0] + place[1] > 16 for place in places})
    >>> len(diagram.outcomes) < 17 * 17 / 2, diagram.is_done
    (True, True)
    """

    def __init__(self, columns: int, rows: int, coarse: int = 4) -> None:
        if min(columns, rows) < 2 or coarse < 1:
            raise ValueError(f"a diagram needs two values of each field; got {columns} and {rows}, coarse {coarse}")
        self.outcomes: dict[Place, bool] = {}
        self._cells = [
            Cell(*column, *row) for column, row in itertools.product(_cuts(columns, coarse), _cuts(rows, coarse))
        ]

    @property
    def wanted(self) -> list[Place]:
        """The lattice points to test next, each once."""
        corners = dict.fromkeys(corner for cell in self._cells for corner in cell.corners)
        return [place for place in corners if place not in self.outcomes]

    @property
    def is_done(self) -> bool:
        """Whether the border between success and failure is known to neighbouring lattice points."""
        return not self.wanted

    @property
    def border(self) -> list[tuple[Place, Place]]:
        """Pairs of neighbouring lattice points, one that succeeds and one that fails."""
        return [
            ((column, row), other)
            for (column, row), success in self.outcomes.items()
            for other in ((column + 1, row), (column, row + 1))
            if self.outcomes.get(other, success) != success
        ]

    def record(self, outcomes: Mapping[Place, bool]) -> None:
        """Add outcomes; when all corners are known, split the cells that hold both outcomes."""
        self.outcomes.update(outcomes)
        if self.wanted:
            return
        cells: list[Cell] = []
        for cell in self._cells:
            # A neighbour that was split may have tested points on the border of this cell.
            outcomes_here = {self.outcomes[place] for place in cell.edge if place in self.outcomes}
            cells += cell.split() if len(outcomes_here) == 2 and not cell.is_smallest else [cell]
        changed = len(cells) > len(self._cells)
        self._cells = cells
        if changed and not self.wanted:
            self.record({})


def _halves(first: int, last: int) -> list[tuple[int, int]]:
    middle = (first + last) // 2
    return [(first, middle), (middle, last)] if last - first > 1 else [(first, last)]


def _cuts(count: int, parts: int) -> list[tuple[int, int]]:
    parts = min(parts, count - 1)
    ends = [round((count - 1) * k / parts) for k in range(parts + 1)]
    return list(itertools.pairwise(ends))
