r"""Local corrections of a machine in many rows: a tree of halves, and an exact machine on the residuals of each leaf.

A machine on centres averages the noise of all rows, but has too few centres for fine detail. A leaf of neighbours in
the learned metric has enough rows for the detail that is left.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from firstlight.features import matrix_power
from firstlight.rfm._solvers.exact import ExactSolver, predict
from firstlight.rfm._solvers.kernels import Laplace, median_bandwidth
from firstlight.rfm._solvers.leave_one_out import best_ridge
from firstlight.rfm._solvers.solution import NotPositiveDefinite, mean_squares
from firstlight.rfm._solvers.threads import threads

Rows = Float[np.ndarray, "n r"]

WORTH = 0.99
"""A leaf is used if its leave-one-out error is below this share of the error without it."""


@dataclass(frozen=True)
class Tree:
    """A complete binary tree of halves: node i has the children 2i + 1 and 2i + 2.

    **Arguments:**

    - `directions`: (nodes, r) unit vectors.
    - `thresholds`: (nodes,) medians along them; rows at or below go left.
    """

    directions: Float[np.ndarray, "nodes r"]
    thresholds: Float[np.ndarray, " nodes"]

    @classmethod
    def grown(cls, U: Rows, largest: int) -> tuple["Tree", np.ndarray]:
        """Halve the rows along their widest direction until no leaf has more than `largest`; return the leaves too.

        >>> tree, leaf = Tree.grown(np.array([[0.0], [3.0], [1.0], [2.0]]), 2)
        >>> leaf.tolist(), tree.leaf(np.array([[9.0]])).tolist()
        ([0, 1, 0, 1], [1])
        """
        depth = max(0, int(np.ceil(np.log2(len(U) / largest))))
        directions, thresholds = np.zeros((2**depth - 1, U.shape[1])), np.zeros(2**depth - 1)
        node = np.zeros(len(U), int)
        for place in range(2**depth - 1):
            rows = np.flatnonzero(node == place)
            part = U[rows].astype(np.float64)
            direction = np.linalg.eigh(np.cov(part.T, bias=True).reshape(U.shape[1], -1))[1][:, -1]
            # The sign of an eigenvector is arbitrary.
            direction = direction * np.sign(direction[np.argmax(np.abs(direction))])
            along = part @ direction
            threshold = float(np.median(along))
            directions[place], thresholds[place] = direction, threshold
            node[rows] = 2 * place + 1 + (along > threshold)
        return cls(directions, thresholds), node - (2**depth - 1)

    def leaf(self, U: Rows) -> np.ndarray:
        """Return the number of the leaf of each row."""
        node = np.zeros(len(U), int)
        inner = len(self.thresholds)
        while inner and (node < inner).any():
            along = np.einsum("ij,ij->i", U.astype(np.float64), self.directions[node])
            node = 2 * node + 1 + (along > self.thresholds[node])
        return node - inner


@dataclass(frozen=True)
class Leaves:
    """Corrections Σ_j K(u, u_j)γ_j over the rows of the leaf of u, where u = √M z.

    **Arguments:**

    - `root`: (d, d) √M, which maps rows to the space in which distances are Euclidean.
    - `tree`: the halves.
    - `rows`: (k, d) rows of all leaves that are used, leaf after leaf.
    - `gamma`: (k, c) their coefficients.
    - `edges`: (leaves + 1,) first row of each leaf; an unused leaf has no rows.
    - `bandwidths`: (leaves,) of the Laplace kernel.
    """

    root: Float[np.ndarray, "d d"]
    tree: Tree
    rows: Float[np.ndarray, "k d"]
    gamma: Float[np.ndarray, "k c"]
    edges: np.ndarray
    bandwidths: Float[np.ndarray, " leaves"]

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of a file; `from_arrays` inverts it."""
        own = {name: getattr(self, name) for name in ("root", "rows", "gamma", "edges", "bandwidths")}
        own |= {"directions": self.tree.directions, "thresholds": self.tree.thresholds}
        return {f"leaf_{name}": array for name, array in own.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "Leaves | None":
        """Return the corrections in a file, or None if it has none."""
        if "leaf_root" not in arrays:
            return None
        names = ("root", "rows", "gamma", "edges", "bandwidths", "directions", "thresholds")
        missing = [name for name in names if f"leaf_{name}" not in arrays]
        if missing:
            raise ValueError(f"corrections need all of their arrays; missing are {', '.join(missing)}")
        root, rows, gamma, edges, bandwidths, directions, thresholds = (arrays[f"leaf_{name}"] for name in names)
        count = len(thresholds) + 1
        if (len(edges), len(bandwidths)) != (count + 1, count) or count & (count - 1):
            raise ValueError(f"a complete tree of {count - 1} nodes has {count} leaves; got {len(bandwidths)}")
        if edges[0] != 0 or edges[-1] != len(rows) or (np.diff(edges) < 0).any():
            raise ValueError("the edges of the leaves must rise from 0 to the number of their rows; got others")
        return cls(root, Tree(directions, thresholds), rows, gamma, edges, bandwidths)

    def predict(self, Z: Float[np.ndarray, "q d"]) -> Float[np.ndarray, "q c"]:
        """Return the corrections of rows."""
        U = Z @ self.root.astype(Z.dtype)
        leaf, result = self.tree.leaf(U), np.zeros((len(Z), self.gamma.shape[1]), self.gamma.dtype)
        for place in np.unique(leaf):
            own = slice(self.edges[place], self.edges[place + 1])
            if own.stop > own.start:
                inside = leaf == place
                kernel, eye = Laplace(float(self.bandwidths[place])), np.eye(U.shape[1], dtype=U.dtype)
                result[inside] = predict(kernel, U[inside], self.rows[own], eye, self.gamma[own])
        return result


def correct(
    Z: Float[np.ndarray, "n d"],
    residuals: Float[np.ndarray, "n c"],
    weights: Float[np.ndarray, " n"],
    M: Float[np.ndarray, "d d"],
    largest: int,
    enough: int,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Callable[[], Leaves | None]]:
    """Fit the leaves one after the other; yield a function that returns the corrections so far, or None.

    **Arguments:**

    - `Z`, `residuals`, `weights`: rows, what is left of their targets, their weights.
    - `M`: metric.
    - `largest`: largest number of rows of a leaf.
    - `enough`: leaves that are tried first; if none of them is worth using, no other leaf is tried.
    - `progress`: called with the number of rows of each leaf.
    """
    root = np.asarray(matrix_power(M, 0.5)).astype(Z.dtype)
    U = Z @ root
    tree, leaf = Tree.grown(U, largest)
    count = len(tree.thresholds) + 1
    order = np.argsort(leaf, kind="stable")
    starts = np.searchsorted(leaf[order], np.arange(count + 1))
    gammas: dict[int, np.ndarray] = {}
    bandwidths = np.ones(count)

    def collected() -> Leaves | None:
        used = {place: order[starts[place] : starts[place + 1]] for place in sorted(gammas)}
        return _collected(root, tree, U, used, gammas, bandwidths, count) if used else None

    # Leaves at equal steps come first, so that the first few represent the table.
    for tried, place in enumerate(_spread(count)):
        rows = order[starts[place] : starts[place + 1]]
        bandwidths[place] = median_bandwidth(U[rows].astype(np.float64), weights[rows])
        gamma = _local(U[rows], residuals[rows], weights[rows], bandwidths[place])
        if gamma is not None:
            gammas[place] = gamma
        if progress is not None:
            progress(len(rows))
        yield collected
        if tried + 1 == enough and not gammas:
            return


def _collected(root, tree, U, used, gammas, bandwidths, count) -> Leaves:
    edges = np.zeros(count + 1, int)
    for place, rows in used.items():
        edges[place + 1] = len(rows)
    rows = np.concatenate(list(used.values()))
    gamma = np.concatenate([gammas[place] for place in used])
    return Leaves(root, tree, U[rows], gamma, np.cumsum(edges), bandwidths.copy())


def _local(U: Rows, residuals: np.ndarray, weights: np.ndarray, bandwidth: float) -> np.ndarray | None:
    """Return the coefficients of one leaf, or None if they do not help."""
    centre = U.mean(axis=0)
    solver = ExactSolver(U - centre, residuals, weights, Laplace(float(bandwidth)))
    with threads(*U.shape):
        solver.load(np.eye(U.shape[1]))
        try:
            solution = best_ridge(solver, 1.0)
        except NotPositiveDefinite:
            return None
    if solution.loo is None:
        return None
    left, before = (mean_squares(p, solver.Y, weights) for p in (solution.loo, np.zeros_like(solver.Y)))
    return solution.beta if left < WORTH * before else None


def _spread(count: int) -> list[int]:
    """Return 0 … count − 1 so that every beginning of the list is spread evenly (bit reversal).

    >>> _spread(4)
    [0, 2, 1, 3]
    """
    bits = max(1, (count - 1).bit_length())
    order = [int(format(place, f"0{bits}b")[::-1], 2) for place in range(1 << bits)]
    return [place for place in order if place < count]
