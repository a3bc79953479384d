"""Stage I: the exact learning of the output layer on frozen features."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from firstlight.features import centred, feature_gradient, ridge


@dataclass(frozen=True, eq=False)
class LazyFlow:
    r"""V(t) under gradient flow on J = ½‖P₁⊥(Y − FV)‖² + (η/2)‖V‖² with F frozen.

    $$V(t) = e^{-At}V_0 + \int_0^t e^{-As}ds\, \tilde F^\top\tilde Y, \qquad A = \tilde F^\top\tilde F + \eta I$$

    (Li₂, eq. 3), which tends to V_ridge of eq. 4. Computed in the eigenbasis of F̃ᵀF̃, so that any number of
    times costs one decomposition.

    **Arguments:**

    - `F`: (n, K) features; the class centres them.
    - `Y`: (n, M) targets; the class centres them.
    - `V0`: (K, M) output layer at time 0.
    - `eta`: η ≥ 0.

    >>> import numpy as np
    >>> flow = LazyFlow(np.array([[1.0], [-1.0]]), np.array([[2.0], [-2.0]]), np.zeros((1, 1)), eta=2.0)
    >>> flow.V(np.array([0.0, 0.25, np.inf])).ravel().round(6)
    array([0.      , 0.632121, 1.      ])
    """

    F: Float[np.ndarray, "n K"]
    Y: Float[np.ndarray, "n M"]
    V0: Float[np.ndarray, "K M"]
    eta: float

    @cached_property
    def _modes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the rates λ + η, the right singular vectors, and V₀ and F̃ᵀỸ in their coordinates."""
        n, K = self.F.shape
        # All K right vectors are needed, but not the n×n left ones.
        _, s, U_T = np.linalg.svd(centred(self.F), full_matrices=n < K)
        rates = np.zeros(self.F.shape[1])
        rates[: len(s)] = s**2
        # A direction absent from the features has no force; rounding must not give it a finite limit at η = 0.
        rates[rates < rates.max(initial=0.0) * 1e-14] = 0.0
        force = U_T @ (centred(self.F).T @ centred(self.Y))
        return rates + self.eta, U_T.T, U_T @ self.V0, np.where(rates[:, None] > 0, force, 0.0)

    def V(self, t: float | Float[np.ndarray, "*times"]) -> Float[np.ndarray, "*times K M"]:
        """Return the output layer at the times t, which may be infinite."""
        rates, U, start, force = self._modes
        t = np.asarray(t, float)[..., None]
        # The product 0 · ∞ of a direction without force is 0.
        exponent = np.multiply(rates, t, out=np.zeros(np.broadcast_shapes(rates.shape, t.shape)), where=rates > 0)
        gain = np.divide(-np.expm1(-exponent), rates, out=np.zeros_like(exponent), where=rates > 0)
        return U @ (np.exp(-exponent)[..., None] * start + gain[..., None] * force)

    @property
    def limit(self) -> Float[np.ndarray, "K M"]:
        """Return V_ridge, the limit for η > 0 (Li₂, eq. 4)."""
        return ridge(self.F, self.Y, self.eta)

    def G_F(self, t: float) -> Float[np.ndarray, "n K"]:
        """Return the gradient that reaches the hidden layer at time t: P₁⊥(Y − FV(t))V(t)ᵀ (Li₂, eq. 2)."""
        return feature_gradient(self.F, self.Y, self.V(t))
