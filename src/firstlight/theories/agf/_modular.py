"""Modular addition in Fourier space: utilities, maxima, costs, levels and times (AGF, Section 5, Appendix F).

Conventions: û[k] = Σ_a u[a] e^{−2πika/p} (`numpy.fft.fft`), (a·x)[j] = x[j − a], templates x of mean zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
from jaxtyping import Float

from firstlight import _canonical as canonical
from firstlight.theories.agf._problem import Problem, neurons
from firstlight.theories.agf._templates import Template


def harmonic_template(p: int, coefficients: Mapping[int, complex | float]) -> Float[np.ndarray, " p"]:
    """Return the real template with x̂[k] = c and x̂[−k] = c̄ for the given k, and zero elsewhere.

    >>> x = harmonic_template(20, {1: 10, 3: 5, 5: 2.5})  # Figure 6
    >>> np.abs(np.fft.fft(x))[:6].round(6)
    array([ 0. , 10. ,  0. ,  5. ,  0. ,  2.5])
    """
    x_hat = np.zeros(p, complex)
    for k, c in coefficients.items():
        if not k % p > 0 or 2 * (k % p) == p:
            raise ValueError(f"frequencies must lie in 1…{(p - 1) // 2}, without {p}/2, got {k} for p = {p}")
        x_hat[k % p], x_hat[-k % p] = c, np.conj(c)
    return np.fft.ifft(x_hat).real


def utility(weights: Any, template: Float[np.ndarray, " p"], learned: tuple[int, ...] = ()) -> float:
    r"""Compute the utility of a neuron (u_1, …, u_k, w) with σ(z) = z^k on k summands, in Fourier space.

    $$U = \frac{k!}{p^{k+1}} \sum_{m \ne 0,\, \pm\xi} \overline{\hat x[m]}^{\,k}\, \hat x[m]\, \overline{\hat w[m]}
      \prod_s \hat u_s[m]$$

    For k = 2 this is (2/p³) Σ |x̂|² û v̂ conj(ŵ x̂) (eq. 63). Without the learned frequencies ξ it is eq. 93, whose
    index must be k.

    **Arguments:**

    - `weights`: (k + 1, p), w last.
    - `template`: x (p,).
    - `learned`: frequencies ξ whose ±ξ are left out.

    >>> round(utility(maximiser(harmonic_template(7, {2: 3.0}), 2), harmonic_template(7, {2: 3.0})), 6)
    0.39678
    """
    hats = np.fft.fft(np.asarray(weights, float), axis=-1)
    x_hat = np.fft.fft(template)
    p, k = len(template), len(hats) - 1
    terms = np.conj(x_hat) ** k * x_hat * np.conj(hats[-1]) * np.prod(hats[:-1], axis=0)
    remaining = np.ones(p, bool)
    remaining[0] = False
    for xi in learned:
        remaining[[xi % p, -xi % p]] = False
    return float(factorial(k) / p ** (k + 1) * terms[remaining].sum().real)


def utility_at(template: Float[np.ndarray, " p"], summands: int = 2) -> Float[np.ndarray, " p"]:
    r"""Return the height of the local maximum of U on the unit sphere at every frequency.

    $$U^*_\xi = 2\, \frac{k!}{p^{k+1}} \Big(\frac{p}{2(k+1)}\Big)^{(k+1)/2} |\hat x[\xi]|^{k+1}, \qquad
      k = 2:\; \sqrt{2/27p^3}\,|\hat x[\xi]|^3$$

    (Theorem 5.1 for the largest. The paper says that there are no others, but every ξ with x̂[ξ] ≠ 0 is one.)
    """
    p, k = len(template), summands
    height = 2 * factorial(k) / p ** (k + 1) * (p / (2 * (k + 1))) ** ((k + 1) / 2)
    U = height * np.abs(np.fft.fft(template)) ** (k + 1)
    U[0] = 0.0
    return U


def maximiser(
    template: Float[np.ndarray, " p"], xi: int, phases: tuple[float, ...] = (), summands: int = 2
) -> Float[np.ndarray, "k1 p"]:
    r"""Return a maximiser (u_1, …, u_k, w) at frequency ξ with given phases of the u_s, which fix that of w.

    $$u_s[a] = \sqrt{\tfrac{2}{(k+1)p}} \cos(2\pi\xi a/p + s_s), \qquad s_w = \sum_s s_s - (k-1)\, s_x$$

    (eq. 8: s_u + s_v ≡ s_w + s_x for k = 2.)
    """
    p, k = len(template), summands
    given = [*phases, *([0.0] * (k - len(phases)))]
    s_w = sum(given) - (k - 1) * float(np.angle(np.fft.fft(template)[xi]))
    angle = 2 * np.pi * xi * np.arange(p) / p
    return np.sqrt(2 / ((k + 1) * p)) * np.stack([np.cos(angle + s) for s in [*given, s_w]])


@dataclass(frozen=True)
class Levels:
    """The levels of eq. 9.

    **Attributes:**

    - `frequencies`: ξ_i in the order in which they are learned.
    - `levels`: losses ℓ^(k) = Σ_{i>k} |x̂[ξ_i]|²/p.
    - `utilities`: the largest utility at each ξ_i, which sets the time of its jump.
    """

    frequencies: tuple[int, ...]
    levels: Float[np.ndarray, " J1"]
    utilities: Float[np.ndarray, " J"]


def fourier_levels(template: Float[np.ndarray, " p"]) -> Levels:
    """Return the levels of Section 5 for a template with distinct |x̂|.

    >>> fourier_levels(harmonic_template(20, {1: 10, 3: 5, 5: 2.5})).levels.round(6) + 0.0
    array([6.5625, 1.5625, 0.3125, 0.    ])
    """
    p = len(template)
    size = np.abs(np.fft.fft(template))
    half = [k for k in range(1, (p - 1) // 2 + 1) if size[k] > 1e-9 * size[1:].max()]
    order = [half[i] for i in canonical.descending(size[half])]
    drops = np.array([size[k] ** 2 / p for k in order])
    levels = np.append(np.cumsum(drops[::-1])[::-1], 0.0)
    return Levels(tuple(order), levels, utility_at(template)[order])


def aligned_cost(A: Float[np.ndarray, "3 N"], s: Float[np.ndarray, "3 N"], p: int, x_xi: float) -> float:
    r"""Compute the cost 𝓒(Θ) of N neurons aligned to one harmonic (Lemma F.6, eq. 80).

    **Arguments:**

    - `A`: amplitudes (A_u, A_v, A_w), (3, N).
    - `s`: phases, (3, N).
    - `p`: the modulus, odd.
    - `x_xi`: |x̂[ξ]|.
    """
    (Au, Av, Aw), (su, sv, sw) = A, s

    def gaps(a: np.ndarray) -> np.ndarray:
        return a[:, None] - a[None, :]

    squares = Au**2 + Av**2
    inner = np.outer(squares, squares)
    inner += np.outer(Au, Au) ** 2 / 2 * np.cos(2 * gaps(su)) + np.outer(Av, Av) ** 2 / 2 * np.cos(2 * gaps(sv))
    inner += 2 * np.outer(Au * Av, Au * Av) * (np.cos(gaps(su + sv)) + np.cos(gaps(su - sv)))
    return float(x_xi**4 / (54 * p**2) * np.sum(np.outer(Aw, Aw) * np.cos(gaps(sw)) * inner))


def aligned_weights(
    A: Float[np.ndarray, "3 N"], s: Float[np.ndarray, "3 N"], p: int, xi: int
) -> Float[np.ndarray, "3 N p"]:
    """Return the weights u, v, w (3, N, p) of neurons aligned to the harmonic ξ (eq. 71)."""
    angle = 2 * np.pi * xi * np.arange(p) / p
    return A[:, :, None] * np.sqrt(2 / (3 * p)) * np.cos(angle + s[:, :, None])


def six_neurons(template: Float[np.ndarray, " p"], xi: int, count: int = 6) -> Float[np.ndarray, "3 N p"]:
    """Return an even number ≥ 6 of neurons that learn frequency ξ exactly (construction after Theorem F.7)."""
    if count < 6 or count % 2:
        raise ValueError(f"count must be even and at least 6, got {count}")
    p = len(template)
    x_hat = np.fft.fft(template)[xi]
    turn = 2 * np.pi * np.arange(count) / count
    difference = np.pi * (np.arange(count) % 2)
    s = np.stack([(turn + difference) / 2, (turn - difference) / 2, turn - np.angle(x_hat)])
    each = (np.sqrt(54 * p) / (count * np.abs(x_hat))) ** (1 / 3)
    return aligned_weights(np.full((3, count), each), s, p, xi)


def summands_problem(template: Float[np.ndarray, " p"], summands: int) -> Problem:
    """Return the problem of adding k summands with σ(z) = z^k, on all p^k rows.

    A neuron is (u_1, …, u_k, w), and κ = k + 1.

    >>> summands_problem(harmonic_template(5, {1: 2.0}), 3)
    Problem('3 summands modulo 5', κ = 4, 20 parameters per neuron)
    """
    p, k = len(template), summands
    orbit = Template(f"Z{p}", template).orbit
    elements = np.indices((p,) * k).reshape(k, -1).T
    X = orbit[elements].reshape(len(elements), k * p)

    def neuron(theta: Any, X: Any) -> Any:
        return ((X @ theta[: k * p]) ** k)[:, None] * theta[k * p :]

    spread = np.r_[np.full(k * p, 1 / np.sqrt(2 * p * k)), np.full(p, 1 / np.sqrt(2 * p))]
    return neurons(
        neuron, X, orbit[elements.sum(1) % p], (k + 1) * p, kappa=k + 1, spread=spread, name=f"{k} summands modulo {p}"
    )
