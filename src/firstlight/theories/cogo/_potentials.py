"""Monomial potentials and their constraint sets (CoGO, Theorem 1, Definitions 4 and 6)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Complex

from firstlight.theories.cogo._frequencies import Index
from firstlight.theories.cogo._solution import PARTS, Solution


def potential(solution: Solution, index: Sequence[tuple[str, Index]]) -> complex:
    r"""Compute a monomial potential for any set of indices (Definition 4).

    $$r(z) = \sum_j \prod_{(p,k) \in \mathrm{idx}(r)} z_{pkj}$$

    **Arguments:**

    - `solution`: the network, by its coefficients z.
    - `index`: pairs (p, k) with p one of a, b, c and k a place in FFT order or coordinates.

    >>> from firstlight.groups import parse
    >>> from firstlight.theories.cogo import craft
    >>> round(potential(craft(parse("Z4xZ6")), [("a", (1, 2)), ("b", (1, 2)), ("c", (1, 2))]).real * 48, 9)
    1.0
    """
    if unknown := {p for p, _ in index} - set(PARTS):
        raise ValueError(
            f"an index is (p, frequency) with p one of a, b, c; got p = {', '.join(sorted(map(str, unknown)))}"
        )
    rows = [solution.z[PARTS.index(p), solution.frequencies.place(k)] for p, k in index]
    return complex(np.prod(np.stack(rows), axis=0).sum()) if rows else complex(solution.order)


def diagonal(solution: Solution) -> Complex[np.ndarray, " d"]:
    """Compute r_kkk = Σ_j z_akj z_bkj z_ckj for every k."""
    return np.prod(solution.z, axis=0).sum(axis=1)


def cubic(solution: Solution) -> Complex[np.ndarray, "d d d"]:
    """Compute r_{k₁k₂k} = Σ_j z_{ak₁j} z_{bk₂j} z_{ckj} for all k₁, k₂, k: d³ numbers, for small d."""
    a, b, c = solution.z
    d = len(a)
    return ((a[:, None] * b[None]).reshape(d * d, -1) @ c.T).reshape(d, d, d)


def quadratic(solution: Solution) -> Complex[np.ndarray, "2 d d d"]:
    """Compute r_{pmk′k} = Σ_j z_{pk′j} z_{p,m−k′,j} z_{ckj} by [p, m, k′, k], p = a, b: 2d³ numbers, for small d."""
    c, minus = solution.z[2], solution.frequencies.minus
    return np.stack([np.einsum("lj,mlj,kj->mlk", z, z[minus], c, optimize=True) for z in solution.z[:2]])


def convolved(solution: Solution) -> Complex[np.ndarray, "2 d d"]:
    """Compute Σ_k′ r_{pmk′k} by [p, m, k] in O(qd²).

    Σ_k′ z_{pk′} z_{p,m−k′} is the transform of the squared weights.
    """
    k, (W, _) = solution.frequencies, solution.weights
    tables = W.reshape(2, k.d, -1)
    return np.stack([k.transform(table**2) @ solution.z[2].T for table in tables])


@dataclass(frozen=True)
class Residuals:
    """The distance of a solution from each constraint set of Definition 6: the largest |r − target| in the set.

    Eq. (4) says that all four are 0, which is sufficient for zero loss (Lemma 1). Always k ≠ 0.

    **Attributes:**

    - `R_plus`: r_kkk = 1/2d.
    - `R_c`: the other r_{k₁k₂k} = 0.
    - `R_n`: r_{p0k′k} = 0.
    - `R_conv`: r_{pmk′k} = 0 for m ≠ 0 (R_⊛).
    """

    R_plus: float
    R_c: float
    R_n: float
    R_conv: float

    def holding(self, tolerance: float = 1e-9) -> tuple[str, ...]:
        """Return the names of the sets whose residual is at most `tolerance`."""
        return tuple(name for name, value in vars(self).items() if value <= tolerance)

    @property
    def worst(self) -> float:
        """The largest of the four residuals: 0 exactly if eq. (4) holds."""
        return max(vars(self).values())


def residuals(solution: Solution) -> Residuals:
    """Compute the residuals of R₊, R_c, R_n and R_⊛ without holding the d³ tensors.

    >>> from firstlight.groups import cyclic
    >>> from firstlight.theories.cogo import craft
    >>> residuals(craft(cyclic(7), kind="F4")).holding(1e-12)
    ('R_plus', 'R_c', 'R_conv')
    """
    d = solution.group.order
    main = np.abs(diagonal(solution)[1:] - 1 / (2 * d)).max(initial=0.0)
    worst = {"R_c": 0.0, "R_n": 0.0, "R_conv": 0.0}
    for k in range(1, d):
        for name, value in _at_frequency(solution, k).items():
            worst[name] = max(worst[name], value)
    return Residuals(float(main), **worst)


def _at_frequency(solution: Solution, k: int) -> dict[str, float]:
    """Return the largest |r_{k₁k₂k}|, |r_{p0k′k}| and |r_{pmk′k}| at one k, over nonzero units and frequencies."""
    f = solution.frequencies
    units = np.flatnonzero(solution.z[2, k])
    c, (a, b) = solution.z[2, k, units], solution.z[:2, :, units]
    of_a, of_b = (np.flatnonzero(np.any(z != 0, axis=1)) for z in (a, b))
    r = (a[of_a] * c) @ b[of_b].T
    r[np.ix_(of_a == k, of_b == k)] = 0
    largest = {"R_c": float(np.abs(r).max(initial=0.0)), "R_n": 0.0, "R_conv": 0.0}
    for z, places in ((a, of_a), (b, of_b)):
        r = np.abs((z[places] * c) @ z[places].T)
        opposite = f.negative[places][:, None] == places
        largest["R_n"] = max(largest["R_n"], float(r[opposite].max(initial=0.0)))
        largest["R_conv"] = max(largest["R_conv"], float(r[~opposite].max(initial=0.0)))
    return largest
