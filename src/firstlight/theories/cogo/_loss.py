"""The loss from monomial potentials (CoGO, Theorem 1, general form with means), Gram matrices and the table."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Complex, Float

from firstlight.groups import Group, convolve
from firstlight.theories.cogo._potentials import convolved, cubic, diagonal
from firstlight.theories.cogo._solution import Solution, split_weights

_PANEL = 64
"""Hidden units at a time in `_triple_gram`; three panels of 512 × 64 fill a second-level cache."""


@dataclass(frozen=True)
class LossTerms:
    """The four terms of eq. (3) at each frequency k ≠ 0; with (d − 1)/d they sum to the loss."""

    main: Float[np.ndarray, " d_1"]
    cross: Float[np.ndarray, " d_1"]
    norm: Float[np.ndarray, " d_1"]
    convolution: Float[np.ndarray, " d_1"]

    @property
    def per_frequency(self) -> Float[np.ndarray, " d_1"]:
        """ℓ_k for k = 1 … d − 1."""
        return self.main + self.cross + self.norm + self.convolution

    @property
    def total(self) -> float:
        """ℓ = Σ_{k≠0} ℓ_k + (d − 1)/d."""
        d = len(self.main) + 1
        return float(self.per_frequency.sum() + (d - 1) / d)


def loss_terms(solution: Solution) -> LossTerms:
    r"""Compute the loss E‖P⊥(o − e_{gh})‖² over all pairs by terms and frequencies, without the d³ tensor.

    $$\ell_k = -4 r_{kkk} + 4d \sum_{k_1,k_2 \ne 0} |r_{k_1k_2k}|^2
      + d \,\Big|2 r_{00k} + \sum_p s_{p0k}\Big|^2
      + d \sum_{m \ne 0} \big(|s_{amk} + 2 r_{m0k}|^2 + |s_{bmk} + 2 r_{0mk}|^2\big),$$

    with s_{pmk} = Σ_k′ r_{pmk′k}. For z_{a0} = z_{b0} = 0 this is eq. (3) of Theorem 1. The terms in r_{m0k} and
    r_{0mk} belong to weights with nonzero means, which gradient flow creates. The cross term is a quadratic form in
    the Gram matrices of the centred embeddings: O(q²d + qd²).

    >>> from firstlight.groups import cyclic
    >>> from firstlight.theories.cogo import craft
    >>> round(loss_terms(craft(cyclic(7), kind="F4")).total, 12) == round(2 * 6 / 7, 12)
    True
    """
    d = solution.group.order
    a, b, c = solution.z
    s_a, s_b = convolved(solution)
    s_a, s_b = s_a + 2 * (a * b[0]) @ c.T, s_b + 2 * (b * a[0]) @ c.T
    # Both contain 2 r_{00k} at m = 0, which counts once.
    constant = s_a[0] + s_b[0] - 2 * (a[0] * b[0]) @ c.T
    G = (a[1:].conj().T @ a[1:]).real * (b[1:].conj().T @ b[1:]).real
    quadratic_form = np.sum((c.conj() @ G) * c, axis=1).real
    return LossTerms(
        main=-4 * np.real(diagonal(solution)[1:]),
        cross=4 * d * quadratic_form[1:],
        norm=d * np.abs(constant[1:]) ** 2,
        convolution=d * np.sum(np.abs(s_a[1:, 1:]) ** 2 + np.abs(s_b[1:, 1:]) ** 2, axis=0),
    )


def potential_loss(solution: Solution) -> float:
    """Compute the loss of a solution from Gram matrices of its weights, in real arithmetic.

    This is the fastest exact way, and equals `loss_terms(solution).total`. Terms of order 1 cancel, so the result is
    exact to about 1e-15; `table_loss` resolves smaller losses.

    >>> from firstlight.groups import cyclic
    >>> round(potential_loss(Solution.zero(cyclic(4))), 12)
    0.75
    """
    d = solution.group.order
    W, V = solution.weights
    # Σ_gh A[g] B[h] U[gh] is d² Σ_{k≠0} r_kkk, so with z at hand no convolution is needed.
    a, b, c = solution.z[:, 1:]
    return _from_grams(W[:d], W[d:], V.T, d**2 * float(np.real((a * b).ravel() @ c.ravel())))


def gram_loss(W: Float[np.ndarray, "twod q"], V: Float[np.ndarray, "q d"], group: Group) -> float:
    r"""Compute the loss from weights by Gram matrices, for any finite group.

    $$\ell = \frac1{d^2}\Big[4\sum G_A \circ G_B \circ G_U + d\lVert U^\top\alpha\rVert^2 + d\lVert U^\top\beta\rVert^2
      + \lVert d\,U^\top m\rVert^2 - 4\langle U, A * B\rangle\Big] + 1 - \frac1d,$$

    with A, B centred over the group, U = V centred over classes, α, β the main effects and m the means of the
    features. Only the convolution A ∗ B depends on the group.

    >>> import numpy as np
    >>> from firstlight.groups import symmetric
    >>> round(gram_loss(np.zeros((12, 1)), np.zeros((1, 6)), symmetric(3)), 12)
    0.833333333333
    """
    A, B, C = split_weights(W, V, group)
    product = np.real(convolve(group, (A - A.mean(0)).T, (B - B.mean(0)).T))
    return _from_grams(A, B, C, float(np.sum((C - C.mean(0)).T * product)))


def _from_grams(
    A: Float[np.ndarray, "d q"], B: Float[np.ndarray, "d q"], C: Float[np.ndarray, "d q"], target: float
) -> float:
    """Compute the loss, given ⟨U, A ∗ B⟩."""
    d, q = A.shape
    if not q:
        return 1 - 1 / d
    # Sums over rows are products with a vector, and both tables share an array: each saves a pass over memory.
    even = np.full(d, 1 / d)
    mean_a, mean_b = even @ A, even @ B
    tables = np.empty((2 * d, q))
    np.subtract(A, mean_a, out=tables[:d])
    np.subtract(B, mean_b, out=tables[d:])
    U, shift = C - even @ C, 2 * (mean_a + mean_b)
    squares = tables + shift
    squares *= tables
    effects = (squares @ U.T).reshape(2, d, d)
    means = even @ effects
    constant = U @ (shift / 2) ** 2 + means.sum(0)
    spread = np.vdot(effects, effects) - d * np.vdot(means, means)
    total = 4 * _triple_gram(tables[:d], tables[d:], U) + d * spread
    return float((total + d**2 * np.vdot(constant, constant) - 4 * target) / d**2 + 1 - 1 / d)


def _triple_gram(A: Float[np.ndarray, "d q"], B: Float[np.ndarray, "d q"], U: Float[np.ndarray, "d q"]) -> float:
    """Compute Σ_{jj′} of the product of three Gram matrices, by panels of their lower triangle.

    Whole Gram matrices of 512 hidden units are 2 MB each. Their page faults at every call would take as long as the
    products; panels stay in the cache and are overwritten.
    """
    q, total = A.shape[1], 0.0
    room = np.empty((3, q * min(q, _PANEL)))
    for start in range(0, q, _PANEL):
        wide, high = min(_PANEL, q - start), q - start
        grams = room[:, : high * wide].reshape(3, high, wide)
        for X, G in zip((A, B, U), grams, strict=True):
            np.matmul(X[:, start:].T, X[:, start : start + wide], out=G)
        grams[0] *= grams[1]
        # Entries below the panel's own square occur above the diagonal too.
        total += 2 * np.vdot(grams[0], grams[2]) - np.vdot(grams[0, :wide], grams[2, :wide])
    return float(total)


def table_loss(W: Float[np.ndarray, "twod q"], V: Float[np.ndarray, "q d"], group: Group) -> float:
    """Compute E‖P⊥(o(g, h) − e_{gh})‖² from the residuals of all d² pairs: slow, but exact for tiny losses.

    >>> from firstlight.groups import parse
    >>> from firstlight.theories.cogo import craft
    >>> group = parse("Z4xZ6")
    >>> table_loss(*craft(group).weights, group) < 1e-26
    True
    """
    A, B, C = split_weights(W, V, group)
    d, total = group.order, 0.0
    U, targets = C - C.mean(0), np.eye(d) - 1 / d
    for g in range(d):
        residual = (A[g] + B) ** 2 @ U.T - targets[group.table[g]]
        total += float(np.sum(residual**2))
    return total / d**2


def residual_coefficients(solution: Solution) -> Complex[np.ndarray, "d d d"]:
    """Compute the coefficient of φ_{k₁}(g) φ_{k₂}(h) conj φ_k in P⊥(o − e_{gh}), by [k₁, k₂, k], for small d.

    It is 2 r_{k₁k₂k} + 1(k₂=0) s_{ak₁k} + 1(k₁=0) s_{bk₂k} − 1(k₁=k₂=k)/d, and 0 at k = 0. The loss is d times the
    sum of squared moduli.
    """
    d = solution.group.order
    E: Any = 2 * cubic(solution)
    s_a, s_b = convolved(solution)
    E[:, 0] += s_a
    E[0] += s_b
    k = np.arange(d)
    E[k, k, k] -= 1 / d
    E[:, :, 0] = 0
    return E
