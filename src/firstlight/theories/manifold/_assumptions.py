"""The assumptions of the theory about a network and its data, and the error that names the failing assumption."""

import numpy as np
from jaxtyping import Float

RANK_TOLERANCE = 1e-10
"""Singular values below this share of the largest count as zero."""


class AssumptionFails(ValueError):
    """An assumption of the paper does not hold; the message says which, by how much, and what to change."""


def require_decay(lam: float) -> None:
    """Check that λ is positive: Assumption 4.6 takes λ → 0 from above.

    >>> require_decay(0.0)
    Traceback (most recent call last):
    ...
    firstlight.theories.manifold._assumptions.AssumptionFails: weight decay: λ must be a finite number > 0, got 0.0; ...
    """
    if not (np.isfinite(lam) and lam > 0):
        raise AssumptionFails(
            f"weight decay: λ must be a finite number > 0, got {lam}; without it nothing moves along the "
            "zero-loss set (Assumption 4.6)"
        )


def require_parameters(constraints: int, parameters: int) -> None:
    """Check Assumption 4.3: at least as many parameters as constraints."""
    if constraints > parameters:
        raise AssumptionFails(
            f"over-parametrisation (Assumption 4.3): {constraints} constraints (samples × outputs) need at least as "
            f"many parameters, got {parameters}; there is no zero-loss set of positive dimension. Widen the network "
            "or use fewer samples"
        )


def require_regular(singular_values: Float[np.ndarray, " m"]) -> None:
    """Check Assumption 4.7: the Jacobian has full row rank, given its singular values."""
    largest, smallest = float(singular_values.max(initial=0.0)), float(singular_values.min(initial=np.inf))
    if not smallest > RANK_TOLERANCE * largest:
        rank = int((singular_values > RANK_TOLERANCE * largest).sum())
        raise AssumptionFails(
            f"no singular points (Assumption 4.7): the Jacobian has rank {rank} for {len(singular_values)} constraints "
            f"(singular values from {smallest:.3g} to {largest:.3g}), so the zero-loss set may be no manifold here. "
            "Remove repeated samples, or start elsewhere"
        )


def require_full_row_rank(H: Float[np.ndarray, "n K"]) -> None:
    """Check that the n rows of the hidden features are independent, since eq. 20 inverts HHᵀ.

    >>> require_full_row_rank(np.ones((2, 3)))
    Traceback (most recent call last):
    ...
    firstlight.theories.manifold._assumptions.AssumptionFails: full row rank of H (eq. 20): ...
    """
    n, K = H.shape
    values = np.linalg.svd(np.asarray(H, np.float64), compute_uv=False)
    rank = int((values > RANK_TOLERANCE * values.max(initial=0.0)).sum())
    if rank < n:
        raise AssumptionFails(
            f"full row rank of H (eq. 20): the hidden features of {n} samples have rank {rank} with {K} hidden units, "
            "so (HHᵀ)⁻¹ does not exist. Use at least as many hidden units as samples, remove repeated samples, or "
            "take λ > 0, where eq. 21 holds without this"
        )
