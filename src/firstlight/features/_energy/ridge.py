"""Ridge regression on hidden features and the gradient it sends back to them (Li₂, Section 4)."""

from typing import Any

from jaxtyping import Float, Inexact

Features = Float[Any, "n K"]
Targets = Float[Any, "n M"]


def centred(A: Inexact[Any, "n m"]) -> Inexact[Any, "n m"]:
    """P₁⊥A = A minus its mean over samples.

    >>> import numpy as np
    >>> centred(np.array([[1.0], [3.0]])).ravel()
    array([-1.,  1.])
    """
    return A - A.__array_namespace__().mean(A, axis=0, keepdims=True)


def ridge(F: Features, Y: Targets, eta: float) -> Float[Any, "K M"]:
    r"""The output layer at which gradient descent on fixed features stops.

    $$V_{ridge} = (\tilde F^\top \tilde F + \eta I)^{-1} \tilde F^\top \tilde Y$$

    (Li₂, eq. 4), solved in the smaller of the dimensions n and K. At η = 0 it is the solution of least norm.

    **Arguments:**

    - `F`: (n, K) hidden features; they and the targets are centred here.
    - `Y`: (n, M) targets.
    - `eta`: η ≥ 0 of J = ½‖P₁⊥(Y − FV)‖² + (η/2)‖V‖²; for a mean over samples without ½ and an L2 weight
      decay wd in the gradient, η = n·wd/2.

    >>> import numpy as np
    >>> F, Y = np.array([[1.0], [-1.0]]), np.array([[2.0], [-2.0]])
    >>> ridge(F, Y, eta=2.0)
    array([[1.]])
    """
    xp, (n, K) = F.__array_namespace__(), F.shape
    F, Y = centred(F), centred(Y)
    _require_ridge(eta)
    if eta == 0:
        return xp.matmul(xp.linalg.pinv(F), Y)
    if n >= K:
        return xp.linalg.solve(xp.matmul(F.T, F) + eta * xp.eye(K, dtype=F.dtype), xp.matmul(F.T, Y))
    return xp.matmul(F.T, xp.linalg.solve(xp.matmul(F, F.T) + eta * xp.eye(n, dtype=F.dtype), Y))


def _require_ridge(eta: float) -> None:
    if not eta >= 0:
        raise ValueError(f"eta must be at least 0, got {eta}; it multiplies ½‖V‖²")


def feature_gradient(F: Features, Y: Targets, V: Float[Any, "K M"]) -> Features:
    """G_F = −∂J/∂F = P₁⊥(Y − FV)Vᵀ, what the output layer sends back (Li₂, eq. 2).

    >>> import numpy as np
    >>> F, Y = np.array([[1.0], [-1.0]]), np.array([[2.0], [-2.0]])
    >>> feature_gradient(F, Y, ridge(F, Y, eta=2.0)).ravel()
    array([ 1., -1.])
    """
    xp = F.__array_namespace__()
    return xp.matmul(centred(Y - xp.matmul(F, V)), V.T)


def ridge_residual(F: Features, eta: float) -> Float[Any, "n n"]:
    r"""P_η = I − F̃(F̃ᵀF̃ + ηI)⁻¹F̃ᵀ = η(F̃F̃ᵀ + ηI)⁻¹, so that P_ηỸ is the error of the ridge solution.

    At η = 0 it is the projector I − F̃F̃⁺ onto what the features leave.

    >>> import numpy as np
    >>> ridge_residual(np.array([[1.0], [-1.0]]), eta=2.0)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    xp, n = F.__array_namespace__(), F.shape[0]
    _require_ridge(eta)
    F_tilde, identity = centred(F), xp.eye(n, dtype=F.dtype)
    if eta == 0:
        return identity - xp.matmul(F_tilde, xp.linalg.pinv(F_tilde))
    return eta * xp.linalg.solve(xp.matmul(F_tilde, F_tilde.T) + eta * identity, identity)


def ridge_gradient(F: Features, Y: Targets, eta: float, form: str | None = None) -> Features:
    r"""G_F at the ridge solution, in closed form.

    $$G_F = P_\eta \tilde Y\tilde Y^\top \tilde F (\tilde F^\top\tilde F + \eta I)^{-1}
          = \eta\, S^{-1}\tilde Y\tilde Y^\top S^{-1}\tilde F, \qquad S = \tilde F\tilde F^\top + \eta I$$

    (Li₂, eq. 5; the second form needs one n×n factorisation only). It vanishes like η for K ≥ n, which is why
    nothing is learned without weight decay.

    **Arguments:**

    - `F`: (n, K) features; Y: (n, M) targets; eta: η > 0.
    - `form`: "nodes" (K×K) or "samples" (n×n); the smaller by default.

    >>> import numpy as np
    >>> F, Y = np.array([[1.0], [-1.0]]), np.array([[2.0], [-2.0]])
    >>> ridge_gradient(F, Y, eta=2.0).ravel().round(12)
    array([ 1., -1.])
    """
    xp, (n, K) = F.__array_namespace__(), F.shape
    if not eta > 0:
        raise ValueError(f"eta must be positive, got {eta}; G_F of the ridge solution tends to 0 with it")
    if form not in ("nodes", "samples", None):
        raise ValueError(f'form must be "nodes", "samples" or None for the smaller, got {form!r}')
    F_tilde, Y_tilde = centred(F), centred(Y)
    if (form or ("nodes" if n > K else "samples")) == "nodes":
        B = xp.matmul(F_tilde.T, F_tilde) + eta * xp.eye(K, dtype=F.dtype)
        V = xp.linalg.solve(B, xp.matmul(F_tilde.T, Y_tilde))
        return xp.matmul(Y_tilde - xp.matmul(F_tilde, V), V.T)
    S = xp.matmul(F_tilde, F_tilde.T) + eta * xp.eye(n, dtype=F.dtype)
    solved = xp.linalg.solve(S, Y_tilde)
    return eta * xp.matmul(solved, xp.matmul(solved.T, F_tilde))
