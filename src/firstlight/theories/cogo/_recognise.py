"""Recognise which crafted block the hidden units at one frequency form.

A hidden unit of a block is (e^{i(D−γ)/2}, e^{i(−D−γ)/2}, e^{iγ}) times an amplitude, up to the sign of its first two
parts. Blocks differ in the values of D and γ over the units:

| name | hidden units | D, γ | factors |
|---|---|---|---|
| F4 | 4 | γ a quarter of a turn apart; at each, D and D + π | p ∗ (y₁ + y₂) |
| F6 | 6 | D and D + π; at each, γ in thirds of a turn | z̃ ∗ (y₁ + y₂), the z̃ ∗ z′ ∗ y of Corollary 2 |
| F6′ | 6 | γ in thirds of a turn; at each, D and D + π | p ∗ (y₁ + y₂ + y₃) |
| real | 2 | real frequencies only | |
| none | 0 | | |
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from firstlight.theories.cogo import _factors as factors
from firstlight.theories.cogo._factors import Profile

Name = Literal["F4", "F6", "F6′", "real", "other", "none"]

RECOGNISED = 0.1
"""The largest relative distance at which hidden units get the name of a block."""

_UNITS: Mapping[Name, int] = {"F4": 4, "F6": 6, "F6′": 6, "real": 2}


@dataclass(frozen=True)
class Recognised:
    """The nearest block.

    **Attributes:**

    - `name`: the block's name.
    - `fit`: its coefficients (3, q).
    - `residual`: their relative distance from the hidden units.
    - `amplitude`: the block's amplitude relative to a crafted block.
    - `factors`: its ring factors.
    """

    name: Name
    fit: Profile
    residual: float = 1.0
    amplitude: float = 0.0
    factors: Mapping[str, Profile] = field(default_factory=dict)


def recognise(y: Profile, real: bool, d: int) -> Recognised:
    """Return the block nearest to hidden units at one frequency; its name is `none` without units, else maybe `other`.

    **Arguments:**

    - `y`: coefficients of the hidden units (3, q).
    - `real`: whether the frequency is its own negative.
    - `d`: the order of the group.

    >>> from firstlight.theories.cogo._craft import six_profile
    >>> recognise(six_profile(7, alpha=1.0, beta=2.0, twist=0.5), real=False, d=7).name
    'F6'
    """
    order = y.shape[1]
    if not order:
        return Recognised("none", np.zeros_like(y))
    if real:
        tries = [_two(y, d)] if order == 2 else []
    elif order == 4:
        tries = [_four(y, d)]
    elif order == 6:
        tries = [_six(y, d), _six_by_pairs(y, d)]
    else:
        tries = []
    near = [block for block in tries if block is not None and block.residual <= RECOGNISED]
    # Rounding makes two names for the same units tie, and the first name, the paper's, wins.
    return min(near, key=lambda block: round(block.residual, 6)) if near else Recognised("other", np.zeros_like(y))


def _two(y: Profile, d: int) -> Recognised | None:
    """Fit two real units with abc > 0 and c of opposite signs, so that r_kkk adds up and the constant cancels."""
    signs = np.sign(np.real(y))
    if (np.prod(signs, axis=0) < 0).any() or signs[2].sum():
        return None
    return _block("real", signs + 0j, y, d, {"real block": factors.real_profile(d)})


def _four(y: Profile, d: int) -> Recognised | None:
    gamma = np.angle(y[2])
    middle = np.angle(np.exp(1j * gamma).sum())
    side = (np.sin(gamma - middle) > 0).astype(int)
    return _by_pairs("F4", y, d, side, middle + np.array([-np.pi / 4, np.pi / 4]))


def _six_by_pairs(y: Profile, d: int) -> Recognised | None:
    gamma = np.angle(y[2])
    first = np.angle(np.exp(3j * gamma).sum()) / 3
    third = np.rint((gamma - first) / (2 * np.pi / 3)).astype(int) % 3
    return _by_pairs("F6′", y, d, third, first + 2 * np.pi / 3 * np.arange(3))


def _by_pairs(
    name: Name, y: Profile, d: int, cluster: Int[np.ndarray, " q"], gammas: Float[np.ndarray, " n"]
) -> Recognised | None:
    """Fit p ∗ Σ_s y_s: two hidden units at each γ_s, with D_s and D_s + π."""
    if not (np.bincount(cluster, minlength=len(gammas)) == 2).all():
        return None
    D = _spread(y)
    bases = np.array([np.angle(np.exp(2j * D[cluster == s]).sum()) / 2 for s in range(len(gammas))])
    turned = np.cos(D - bases[cluster]) < 0
    if any(turned[cluster == s].sum() != 1 for s in range(len(gammas))):
        return None
    units = _units(bases, gammas) * (2 * len(gammas) * d) ** (-1 / 3)
    parts = {"pair": factors.pair_profile(), f"{len(gammas)} units": units}
    return _block(name, _units(bases[cluster] + np.pi * turned, gammas[cluster]), y, d, parts)


def _six(y: Profile, d: int) -> Recognised | None:
    """Fit z̃ ∗ (y₁ + y₂): three hidden units at D and three at D + π, each with γ in thirds of a turn."""
    D, gamma = _spread(y), np.angle(y[2])
    base = np.angle(np.exp(2j * D).sum()) / 2
    side = (np.cos(D - base) < 0).astype(int)
    if side.sum() != 3:
        return None
    starts = np.array([np.angle(np.exp(3j * gamma[side == s]).sum()) / 3 for s in (0, 1)])
    third = np.rint((gamma - starts[side]) / (2 * np.pi / 3)).astype(int) % 3
    if any(len(set(third[side == s])) < 3 for s in (0, 1)):
        return None
    units = _units(base + np.pi * np.arange(2), starts) * 2 ** (-1 / 3)
    parts = {"order three": factors.order_three_profile(d), "2 units": units}
    return _block("F6", _units(base + np.pi * side, starts[side] + 2 * np.pi / 3 * third), y, d, parts)


def _spread(y: Profile) -> Float[np.ndarray, " q"]:
    return np.angle(y[0] * y[1].conj())


def _units(D: Float[np.ndarray, " q"], gamma: Float[np.ndarray, " q"]) -> Profile:
    """Return hidden units whose phases sum to 0: ring units, side by side."""
    return np.exp(1j * np.stack([(D - gamma) / 2, (-D - gamma) / 2, gamma]))


def _block(name: Name, units: Profile, y: Profile, d: int, parts: Mapping[str, Profile]) -> Recognised:
    """Return the block with the signs of (a, b) and the amplitudes of (a, b) and c that are nearest to y."""
    signs = np.sign(np.sum(np.real(units[:2].conj() * y[:2]), axis=0))
    units = units * np.stack([signs, signs, np.ones_like(signs)])
    overlap = np.sum(np.real(units.conj() * y), axis=1) / y.shape[1]
    inputs = overlap[:2].mean()
    fit = units * np.array([inputs, inputs, overlap[2]])[:, None]
    residual = float(np.linalg.norm(y - fit) / np.linalg.norm(y))
    size = abs(inputs**2 * overlap[2]) * 2 * d * _UNITS[name]
    return Recognised(name, fit, residual, float(size ** (1 / 3)), parts)
