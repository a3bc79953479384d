"""Outputs and targets of modular addition by sums over all pairs, for the checks of Section 5 and Appendix F."""

from collections.abc import Sequence

import numpy as np

SUM_ROUNDING = 64 * 40**1.5 * 2.0**-52 * 1e2
"""Relative rounding of sums over all pairs and entries, p³ ≤ 40³ terms: √(p³), factor 64, cancellation up to 1e2."""

EXACT = "sums of at most 40³ terms in float64: 2⁻⁵²·√(40³), factor 64, and terms up to 1e2 times their sum"


def template(p: int, seed: int) -> np.ndarray:
    """Draw a centred template."""
    x = np.random.default_rng(seed).standard_normal(p)
    return x - x.mean()


def orbit(x: np.ndarray) -> np.ndarray:
    """Return all shifts of a template, (p, p)."""
    p = len(x)
    return np.stack([np.roll(x, a) for a in range(p)])


def pairs(weights: Sequence[np.ndarray] | np.ndarray, x: np.ndarray) -> np.ndarray:
    """Compute f(a, b) (p, p, p) of neurons with weights u, v, w (3, N, p), by brute force."""
    u, v, w = weights
    O = orbit(x)
    A, B = O @ u.T, O @ v.T
    return ((A[:, None, :] + B[None, :, :]) ** 2) @ w


def targets(x: np.ndarray) -> np.ndarray:
    """Return the target (a + b)·x of every pair, (p, p, p)."""
    p = len(x)
    return orbit(x)[np.add.outer(np.arange(p), np.arange(p)) % p]
