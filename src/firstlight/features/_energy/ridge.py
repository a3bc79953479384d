"""Ridge regression on hidden features and the gradient that reaches the features (Li₂, Section 4)."""

from typing import Any

from jaxtyping import Float, Inexact

from firstlight.features._arrays import identity_like, namespace

Features = Float[Any, "n K"]
Targets = Float[Any, "n M"]


def centred(A: Inexact[Any, "n m"]) -> Inexact[Any, "n m"]:
    """Return P₁⊥A: subtract the mean over samples (rows) from every column.

    >>> import numpy as np
    >>> centred(np.array([[1.0], [3.0]])).ravel()
    array([-1.,  1.])
    """
    return A - namespace(A).mean(A, axis=0, keepdims=True)


def ridge(F: Features, Y: Targets, eta: float, *, centre: bool = True) -> Float[Any, "K M"]:
    r"""Return the output layer to which gradient descent on fixed features converges.

    $$V_{ridge} = (\tilde F^\top \tilde F + \eta I)^{-1} \tilde F^\top \tilde Y
      = \tilde F^\top (\tilde F \tilde F^\top + \eta I)^{-1} \tilde Y$$

    (Li₂, eq. 4; without centring, *geometry of grokking*, eq. 16.) The smaller of the two systems, K×K or n×n, is
    solved. At η = 0 the result is the least-norm solution.

    **Arguments:**

    - `F`: (n, K) hidden features.
    - `Y`: (n, M) targets.
    - `eta`: η ≥ 0 of J = ½‖P₁⊥(Y − FV)‖² + (η/2)‖V‖²; for a mean over samples without ½ and an L2 weight
      decay wd in the gradient, η = n·wd/2.
    - `centre`: whether to centre F and Y, as the projection P₁⊥ in J asks; False fits Y − FV itself.

    >>> import numpy as np
    >>> F, Y = np.array([[1.0], [-1.0]]), np.array([[2.0], [-2.0]])
    >>> ridge(F, Y, eta=2.0)
    array([[1.]])
    """
    _require_nonnegative(eta)
    xp, (n, K) = namespace(F), F.shape
    if centre:
        F, Y = centred(F), centred(Y)
    if eta == 0:
        return xp.matmul(_pseudo_inverse(F), Y)
    if n >= K:
        return xp.linalg.solve(xp.matmul(F.T, F) + eta * identity_like(F, K), xp.matmul(F.T, Y))
    return xp.matmul(F.T, xp.linalg.solve(xp.matmul(F, F.T) + eta * identity_like(F, n), Y))


def feature_gradient(F: Features, Y: Targets, V: Float[Any, "K M"]) -> Features:
    """Return G_F = −∂J/∂F = P₁⊥(Y − FV)Vᵀ, the gradient that the output layer sends back (Li₂, eq. 2).

    >>> import numpy as np
    >>> F, Y = np.array([[1.0], [-1.0]]), np.array([[2.0], [-2.0]])
    >>> feature_gradient(F, Y, ridge(F, Y, eta=2.0)).ravel()
    array([ 1., -1.])
    """
    xp = namespace(F)
    return xp.matmul(centred(Y - xp.matmul(F, V)), V.T)


def ridge_residual(F: Features, eta: float) -> Float[Any, "n n"]:
    r"""Return P_η = I − F̃(F̃ᵀF̃ + ηI)⁻¹F̃ᵀ = η(F̃F̃ᵀ + ηI)⁻¹, which maps Ỹ to the error of the ridge solution.

    At η = 0 it is the projector I − F̃F̃⁺ onto the complement of the features.

    >>> import numpy as np
    >>> ridge_residual(np.array([[1.0], [-1.0]]), eta=2.0)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    _require_nonnegative(eta)
    xp, F_tilde, identity = namespace(F), centred(F), identity_like(F, F.shape[0])
    if eta == 0:
        return identity - xp.matmul(F_tilde, _pseudo_inverse(F_tilde))
    return eta * xp.linalg.solve(xp.matmul(F_tilde, F_tilde.T) + eta * identity, identity)


def ridge_gradient(F: Features, Y: Targets, eta: float, form: str | None = None) -> Features:
    r"""Return G_F at the ridge solution, in closed form.

    $$G_F = P_\eta \tilde Y\tilde Y^\top \tilde F (\tilde F^\top\tilde F + \eta I)^{-1}
          = \eta\, S^{-1}\tilde Y\tilde Y^\top S^{-1}\tilde F, \qquad S = \tilde F\tilde F^\top + \eta I$$

    (Li₂, eq. 5; the second form needs only one n×n factorisation). For K ≥ n it vanishes in proportion to η, which is
    why no feature is learned without weight decay.

    **Arguments:**

    - `F`: (n, K) hidden features.
    - `Y`: (n, M) targets.
    - `eta`: η > 0.
    - `form`: which system to solve: "nodes" (K×K) or "samples" (n×n); the smaller by default.

    >>> import numpy as np
    >>> F, Y = np.array([[1.0], [-1.0]]), np.array([[2.0], [-2.0]])
    >>> ridge_gradient(F, Y, eta=2.0).ravel().round(12)
    array([ 1., -1.])
    """
    xp, (n, K) = namespace(F), F.shape
    if not eta > 0:
        raise ValueError(f"eta must be positive, got {eta}; G_F of the ridge solution tends to 0 with it")
    if form not in ("nodes", "samples", None):
        raise ValueError(f'form must be "nodes", "samples" or None for the smaller, got {form!r}')
    F_tilde, Y_tilde = centred(F), centred(Y)
    if (form or ("nodes" if n > K else "samples")) == "nodes":
        B = xp.matmul(F_tilde.T, F_tilde) + eta * identity_like(F, K)
        V = xp.linalg.solve(B, xp.matmul(F_tilde.T, Y_tilde))
        return xp.matmul(Y_tilde - xp.matmul(F_tilde, V), V.T)
    S = xp.matmul(F_tilde, F_tilde.T) + eta * identity_like(F, n)
    solved = xp.linalg.solve(S, Y_tilde)
    return eta * xp.matmul(solved, xp.matmul(solved.T, F_tilde))


def _pseudo_inverse(F: Features) -> Float[Any, "K n"]:
    # Centring makes a wide F singular. NumPy's default, 1e-15 in every precision, would invert the rounding error in
    # place of the zero singular value; this is JAX's default.
    xp = namespace(F)
    return xp.linalg.pinv(F, rtol=10 * max(F.shape) * float(xp.finfo(F.dtype).eps))


def _require_nonnegative(eta: float) -> None:
    if not eta >= 0:
        raise ValueError(f"eta must be at least 0, got {eta}; it multiplies ½‖V‖²")
