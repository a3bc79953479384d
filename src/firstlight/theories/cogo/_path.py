"""An explicit path of zero loss between an optimizer and its product with a ring unit (CoGO, Theorem 5)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Complex, Float

from firstlight import _canonical as canonical
from firstlight.groups import Group
from firstlight.theories.cogo._frequencies import frequencies
from firstlight.theories.cogo._potentials import diagonal, residuals
from firstlight.theories.cogo._solution import Solution

LEGS = 4
"""Shrink all hidden units but one; make it ±1; move it to a spare unit if needed; move it to unit 0."""

_SOLVED = 1e-9


@dataclass(frozen=True)
class ZeroLossPath:
    """The path z(t) = y(t) ∗ z′ for 0 ≤ t ≤ 1, from y ∗ z′ to z′ with order(y) − 1 empty copies of its hidden units.

    r_kkk(y(t)) = 1 along the path. So every monomial potential that is zero at z′ stays zero, and every r_kkk is
    constant: the loss stays at zero if eq. (4) holds.
    """

    unit: Solution
    base: Solution

    def at(self, t: float) -> Solution:
        """Return the solution at time t."""
        return unit_at(self.unit, t) * self.base

    def norms(self, times: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Return Σ|z|² at each time."""
        return np.array([self.at(float(t)).norm2 for t in times])


def zero_loss_path(unit: Solution, base: Solution) -> ZeroLossPath:
    """Return the path from `unit ∗ base` to `base`, both of the order of the product.

    **Arguments:**

    - `unit`: a ring unit, r_kkk(unit) = 1 at every k ≠ 0.
    - `base`: a solution over the same group that satisfies eq. (4); zero loss alone, as of an F4+F6, is not enough.

    >>> from firstlight.groups import cyclic
    >>> from firstlight.theories.cogo import craft, table_loss
    >>> from firstlight.theories.cogo.lemmas import random_unit
    >>> path = zero_loss_path(random_unit(cyclic(5), 3, seed=0), craft(cyclic(5)))
    >>> max(table_loss(*path.at(t).weights, cyclic(5)) for t in (0.0, 0.1, 0.4, 0.8, 1.0)) < 1e-24
    True
    """
    wrong = np.abs(diagonal(unit)[1:] - 1).max(initial=0.0)
    if wrong > _SOLVED:
        raise ValueError(f"a ring unit has r_kkk = 1 at every k ≠ 0; this solution is off by {wrong:.2g}")
    unit._same_group(base)
    left = residuals(base)
    if left.worst > _SOLVED:
        broken = ", ".join(f"{name} by {value:.2g}" for name, value in vars(left).items() if value > _SOLVED)
        raise ValueError(f"base must satisfy eq. (4) for the loss to stay at zero; it is off {broken}")
    unit_at(unit, 1.0)  # raises for signs that no path can turn
    return ZeroLossPath(unit, base)


def random_unit(group: Group, order: int, seed: int) -> Solution:
    """Draw a ring unit with Gaussian coefficients; c of its last hidden unit makes r_kkk = 1."""
    if order < 1:
        raise ValueError(f"a ring unit has at least one hidden unit; got order = {order}")
    f, rng = frequencies(group), np.random.default_rng(seed)
    z = np.stack([f.transform(rng.standard_normal((f.d, order))) for _ in range(3)]) * f.d**0.5
    z[2, :, -1] = (1 - np.prod(z[:, :, :-1], axis=0).sum(1)) / (z[0, :, -1] * z[1, :, -1])
    z[:, 0] = 0
    return Solution(group, z)


def unit_at(unit: Solution, t: float) -> Solution:
    """Return y(t): y at t = 0; at t = 1 the ring unit with z = 1 at hidden unit 0 and z = 0 at all others."""
    if not 0 <= t <= 1:
        raise ValueError(f"a path is parametrised by t between 0 and 1; got {t}")
    f = frequencies(unit.group)
    z = np.zeros_like(unit.z)
    for k in f.halves:
        moved = _at_frequency(unit.z[:, k], LEGS * t, k in f.real)
        z[:, k], z[:, f.negative[k]] = moved, moved.conj()
    return Solution(unit.group, z)


def _at_frequency(y: Complex[np.ndarray, "3 q"], time: float, real: bool) -> Complex[np.ndarray, "3 q"]:
    leg, s = min(int(time), LEGS - 1), time - min(int(time), LEGS - 1)
    pivot = canonical.argmin(-np.abs(np.prod(y, axis=0)))
    if leg == 0:
        return _shrunk(y, pivot, s)
    a, b = y[0, pivot], y[1, pivot]
    if leg == 1:
        z, exponent = np.zeros_like(y), 1 - s
        z[:2, pivot] = _power(a, exponent, real), _power(b, exponent, real)
        z[2, pivot] = 1 / (z[0, pivot] * z[1, pivot])
        return z
    signs = np.array([np.sign(a.real), np.sign(b.real), np.sign((a * b).real)]) if real else np.ones(3)
    # Signs of real coefficients cannot be turned, only left behind on another hidden unit.
    stuck = real and pivot == 0 and bool((signs < 0).any())
    if stuck and y.shape[1] == 1:
        raise ValueError(
            "a real ring unit of order 1 with negative coefficients is not connected to 1; use order 2 or more"
        )
    spare = 1 if stuck else pivot
    if leg == 2:
        return _handed(y.shape, pivot, signs, spare, s)
    return _handed(y.shape, spare, np.ones(3) if stuck else signs, 0, s)


def _shrunk(y: Complex[np.ndarray, "3 q"], pivot: int, s: float) -> Complex[np.ndarray, "3 q"]:
    z = (1 - s) * y
    z[:, pivot] = y[:, pivot]
    rest = np.prod(np.delete(z, pivot, axis=1), axis=0).sum()
    z[2, pivot] = (1 - rest) / (y[0, pivot] * y[1, pivot])
    return z


def _power(x: complex, exponent: float, real: bool) -> complex:
    """Return x to a power between 1 and 0: in the plane, or on the line with the same sign."""
    turn = np.sign(x.real) if real else np.exp(1j * exponent * np.angle(x))
    return complex(turn * abs(x) ** exponent)


def _handed(
    shape: tuple[int, int], giver: int, signs: Float[np.ndarray, " 3"], taker: int, s: float
) -> Complex[np.ndarray, "3 q"]:
    """Put hidden unit `giver` at ± cos^{2/3} and `taker` at sin^{2/3}: cos² + sin² = 1 preserves r_kkk."""
    z = np.zeros(shape, complex)
    if giver == taker:
        z[:, giver] = signs
        return z
    z[:, giver] = signs * np.sin(np.pi * (1 - s) / 2) ** (2 / 3)
    z[:, taker] = np.sin(np.pi * s / 2) ** (2 / 3)
    return z
