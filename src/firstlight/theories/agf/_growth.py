"""Growth of a dormant neuron's norm, and the time at which the norm reaches one."""

import numpy as np

Numbers = float | np.floating | np.ndarray


def check_kappa(kappa: float) -> float:
    """Return κ as a float; raise `ValueError` below 2.

    >>> check_kappa(1)
    Traceback (most recent call last):
    ...
    ValueError: kappa, the degree of the utility, must be a finite number of at least 2, got 1; ...
    """
    if not (np.isfinite(kappa) and kappa >= 2):
        raise ValueError(
            f"kappa, the degree of the utility, must be a finite number of at least 2, got {kappa}; an activation of "
            "degree q has kappa = q + 1, so linear, ReLU and tanh have 2 and a square has 3"
        )
    return float(kappa)


def threshold(norm: Numbers, kappa: float) -> Numbers:
    r"""Return the accumulated η∫κU dt at which a neuron of a given norm reaches norm one.

    $$c = -\log\lVert\theta_0\rVert \;(\kappa = 2), \qquad
      c = \frac{\lVert\theta_0\rVert^{2-\kappa} - 1}{\kappa - 2} \;(\kappa > 2)$$

    (AGF, eq. 3.)

    **Arguments:**

    - `norm`: ‖θ₀‖ > 0, of any shape.
    - `kappa`: κ ≥ 2, the degree of the utility.

    >>> threshold(0.01, 3)
    99.0
    """
    kappa, norm = check_kappa(kappa), np.asarray(norm, float)
    if not (norm > 0).all():
        raise ValueError(f"norm must be > 0, got {norm.min()}; at the origin a neuron never grows")
    c = -np.log(norm) if kappa == 2 else (norm ** (2 - kappa) - 1) / (kappa - 2)
    return float(c) if c.ndim == 0 else c


def norm_at(S: Numbers, norm: Numbers, kappa: float, eta: float = 1.0) -> Numbers:
    r"""Return the norm after an accumulated utility S = ∫κU dt.

    $$\lVert\theta\rVert = \lVert\theta_0\rVert e^{\eta S}, \qquad
      \lVert\theta\rVert = \big(\lVert\theta_0\rVert^{2-\kappa} - (\kappa-2)\,\eta S\big)^{1/(2-\kappa)}$$

    (AGF, eq. 15, in which η is missing.) The norm of a neuron of degree κ > 2 becomes infinite in finite time.

    >>> round(norm_at(99.0, 0.01, 3), 9)
    1.0
    """
    kappa, S, norm = check_kappa(kappa), np.asarray(S, float), np.asarray(norm, float)
    if kappa == 2:
        out = norm * np.exp(eta * S)
    else:
        with np.errstate(divide="ignore"):
            out = np.maximum(norm ** (2 - kappa) - (kappa - 2) * eta * S, 0.0) ** (1 / (2 - kappa))
    return float(out) if out.ndim == 0 else out


def jump_bound(norm: Numbers, kappa: float, U_star: float, eta: float = 1.0) -> Numbers:
    r"""Return the earliest time at which a neuron can reach norm one, c/(κηU*).

    $$\tau \ge \frac{-\log\lVert\theta_0\rVert}{2\eta U^*}, \qquad
      \tau \ge \frac{\lVert\theta_0\rVert^{2-\kappa} - 1}{\kappa(\kappa-2)\,\eta\, U^*}$$

    (AGF, eq. 17, 58, 7 and 9, which print neither the −1 nor 1/η.) The bound holds from the
    last jump on, with the largest dormant norm there, because the utility changes at every jump.

    **Arguments:**

    - `norm`: the largest dormant norm at the last jump.
    - `kappa`: κ, the degree of the utility.
    - `U_star`: the largest utility on the unit sphere.
    - `eta`: the clock.

    >>> jump_bound(0.3, 3, 1.0)
    0.77777...
    """
    return threshold(norm, kappa) / (kappa * eta * U_star)


def alignment_speed(alpha: float, kappa: float) -> float:
    r"""Return how fast directions turn in accelerated time, γ(α) = c_κ(α)·α^{κ−2}.

    $$\gamma \to \infty \;(\kappa = 2), \qquad \gamma \to \tfrac{1}{\kappa-2} \;(\kappa > 2) \quad (\alpha \to 0)$$

    (AGF, eq. 21 and 22, where a quotient is printed.) Alignment is instantaneous in the limit for κ = 2 only.

    >>> round(alignment_speed(1e-6, 3), 5)
    1.0
    """
    return float(threshold(alpha, kappa) * alpha ** (kappa - 2))
