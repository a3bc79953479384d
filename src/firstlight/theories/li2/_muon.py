"""Muon and the diversity of hidden units: its direction, the mode a unit selects, how many units cover all modes."""

import numpy as np
from jaxtyping import Bool, Float, Int


def polar(G: Float[np.ndarray, "d K"]) -> Float[np.ndarray, "d K"]:
    r"""Return Muon's direction $\hat G = U V^\top$ for the reduced SVD $G = U D V^\top$, without zero singular values.

    ⟨Ĝ, G⟩ = tr D, the nuclear norm: Muon ascends wherever G ≠ 0 and rests where G = 0. Reference: Li₂, Lemma 2.

    >>> polar(np.diag([3.0, -2.0])).round(9) + 0.0
    array([[ 1.,  0.],
           [ 0., -1.]])
    """
    U, D, Vt = np.linalg.svd(G, full_matrices=False)
    nonzero = D.max(initial=0.0) * max(G.shape) * np.finfo(G.dtype).eps < D
    return U[:, nonzero] @ Vt[nonzero]


def new_column(Q: Float[np.ndarray, "d r"], v: Float[np.ndarray, " d"], *, printed: bool = False) -> np.ndarray:
    r"""Return the last column of Muon's [Q, v]^ for orthonormal Q: a new gradient v beside r settled columns.

    $$\hat v = \frac{v_\perp/t + v_\parallel/(1+t)}{\sqrt{1 + \lVert v_\parallel\rVert^2/(1+t)^2}},\qquad
      t = \lVert v_\perp \rVert$$

    exactly. The printed form leaves out the root and is correct to first order in v_∥, for any v_⊥, so its remainder
    is O(‖v_∥‖²) and not O(‖v_⊥‖²). Reference: Li₂, Lemma 9, eq. 38.

    **Arguments:**

    - `Q`: (d, r) orthonormal columns.
    - `v`: (d,) the new gradient.
    - `printed`: whether to return the printed form.

    >>> Q, v = np.eye(3)[:, :1], np.array([0.5, 0.1, 0.0])
    >>> np.allclose(new_column(Q, v), polar(np.column_stack([Q, v]))[:, -1])
    True
    """
    along = Q @ (Q.T @ v)
    across = v - along
    t = np.linalg.norm(across)
    if not t > 0:
        raise ValueError("v must have a part orthogonal to Q, got v in the span of Q, where Muon has no new column")
    direction = across / t + along / (1 + t)
    return direction if printed else direction / np.sqrt(1 + np.sum(along**2) / (1 + t) ** 2)


def selection(mu: Float[np.ndarray, " L"], a: float) -> Float[np.ndarray, " L"]:
    r"""Return p_l = μ_l^a / Σ μ^a, the probability that mode l leads if α_l has the Fréchet CDF exp(−x^{−a}).

    Reference: Li₂, Lemma 7.

    >>> selection(np.array([1.0, 0.5]), a=2.0)
    array([0.8, 0.2])
    """
    if not (np.all(mu > 0) and a > 0):
        raise ValueError(f"the rates mu and the exponent a must be positive, got mu from {mu.min()} and a = {a}")
    powers = (mu / mu.max()) ** a
    return powers / powers.sum()


def frechet(random: np.random.Generator, a: float, size: tuple[int, ...]) -> np.ndarray:
    """Draw from the CDF exp(−x^{−a}), by inversion."""
    return random.exponential(size=size) ** (-1 / a)


def winner(mu: Float[np.ndarray, " L"], alpha: Float[np.ndarray, "N L"]) -> Int[np.ndarray, " N"]:
    """Return the mode to which ẇ = A(w)w, ‖w‖ ≤ 1 converges (eq. 11): the leader, argmax μ_l α_l(0).

    If no α_l is positive, the flow converges to the origin and the result is −1. Reference: Li₂, Lemma 8.

    >>> winner(np.array([1.0, 0.5]), np.array([[0.3, 0.9], [-0.1, -0.2]])).tolist()
    [1, -1]
    """
    leader = np.argmax(mu * alpha, axis=1)
    return np.where(alpha.max(axis=1) > 0, leader, -1)


def modes_flow(
    mu: Float[np.ndarray, " L"],
    alpha: Float[np.ndarray, "N L"],
    settled: Bool[np.ndarray, "N L"] | None = None,
    *,
    steps: int = 600,
    rate: float = 0.03,
) -> Float[np.ndarray, "N L"]:
    """Follow α̇_l = μ_l α_l² in the unit ball for N hidden units and return where they end.

    A step follows the direction of the gradient, as Muon does. With `settled` it follows the new column of Lemma 9,
    which reduces the part along settled modes. Only the direction decides where a unit ends.

    **Arguments:**

    - `mu`: (L,) rates.
    - `alpha`: (N, L) starts.
    - `settled`: (N, L) which modes other units have taken, none by default.
    - `steps`, `rate`: number and length of the steps.
    """
    alpha = alpha / np.maximum(1.0, np.linalg.norm(alpha, axis=1, keepdims=True))
    taken = np.zeros_like(alpha, dtype=bool) if settled is None else settled
    tiny = np.finfo(float).tiny
    for _ in range(steps):
        gradient = mu * alpha**2
        along = np.where(taken, gradient, 0.0)
        across = gradient - along
        t = np.linalg.norm(across, axis=1, keepdims=True)
        direction = across / np.maximum(t, tiny) + along / (1 + t)
        length = np.linalg.norm(direction, axis=1, keepdims=True)
        moved = alpha + rate * direction / np.maximum(length, tiny)
        # The gradient vanishes at α_l = 0, so the flow never carries a negative α_l across zero.
        alpha = np.where(alpha < 0, np.minimum(moved, 0.0), moved)
        alpha = alpha / np.maximum(1.0, np.linalg.norm(alpha, axis=1, keepdims=True))
    return alpha


def coupons(p: Float[np.ndarray, " L"]) -> float:
    r"""Return T₀ = ∫₀^∞ (1 − Π_l (1 − e^{−p_l t})) dt, the expected number of draws until every mode was drawn.

    Reference: Li₂, eq. 43 (Flajolet, Gardy and Thimonier 1992).

    >>> round(coupons(np.full(4, 0.25)), 6), round(4 * (1 + 1 / 2 + 1 / 3 + 1 / 4), 6)
    (8.333333, 8.333333)
    """
    p = _probabilities(p)
    # With s = p_min t the integrand falls like L e^{-s}; Gauss–Legendre on pieces of the line is exact to 1e-12.
    points, weights = np.polynomial.legendre.leggauss(40)
    slow, fast = p.min(), p.max()
    edges = np.concatenate([[0.0], np.geomspace(0.05 / fast, 45.0 / slow, 60)])
    left, right = edges[:-1, None], edges[1:, None]
    t = 0.5 * (right - left) * points + 0.5 * (right + left)
    missing = -np.expm1(np.sum(np.log1p(-np.exp(-p[:, None, None] * t)), axis=0))
    return float(np.sum(0.5 * (right - left) * weights * missing))


def _probabilities(p: Float[np.ndarray, " L"]) -> Float[np.ndarray, " L"]:
    if not (len(p) and (p > 0).all() and abs(p.sum() - 1) < 1e-9):
        raise ValueError(
            f"p must be probabilities above 0 that add up to 1, got {p} with sum {p.sum():g}; divide by the sum, and "
            "leave out modes that are never drawn"
        )
    return p


def coupon_bound(p: Float[np.ndarray, " L"]) -> float:
    """Return the lower bound max(1/min p, L·H_L) ≤ T₀ of Lemma 10.

    Lemma 10 prints "min 1/p" for "max 1/p"; Theorem 8 prints H_L without L.

    >>> round(coupon_bound(np.array([0.5, 0.5])), 6)
    3.0
    """
    p = _probabilities(p)
    L = len(p)
    return float(max(1 / p.min(), L * np.sum(1 / np.arange(1, L + 1))))


def guided_coupons(p: Float[np.ndarray, " L"], a: float) -> float:
    """Return T_a = 2^{−a}T₀ + (1 − 2^{−a})L, the number of hidden units if μ is halved on taken modes (Theorem 8).

    Exact for this surrogate in any order of the modes; a bound for Muon itself.

    >>> round(guided_coupons(np.full(4, 0.25), a=1.0), 4)
    6.1667
    """
    share = 2.0**-a
    return share * coupons(p) + (1 - share) * len(p)


def collect_modes(mu: Float[np.ndarray, " L"], a: float, *, trials: int, seed: int, guide: str = "none") -> np.ndarray:
    """Count the hidden units, trained one after the other, until every mode is taken, in each of `trials` runs.

    **Arguments:**

    - `mu`: (L,) rates.
    - `a`: exponent of the Fréchet distribution of the starts.
    - `trials`, `seed`: number and seed of the runs.
    - `guide`: "none" (independent units), "halved" (the surrogate of Theorem 8: μ/2 on taken modes) or "muon" (the
      flow of `modes_flow` beside the settled units).

    >>> int(collect_modes(np.ones(3), 2.0, trials=5, seed=0, guide="muon").max())
    3
    """
    if guide not in ("none", "halved", "muon"):
        raise ValueError(f"guide is one of none, halved, muon; got {guide!r}")
    random = np.random.default_rng(seed)
    taken = np.zeros((trials, len(mu)), dtype=bool)
    count = np.zeros(trials, dtype=int)
    while (open_ := np.flatnonzero(~taken.all(1))).size:
        alpha = frechet(random, a, (len(open_), len(mu)))
        if guide == "muon":
            # Scale heavy tails into the ball; the leader stays the same.
            start = 0.5 * alpha / np.linalg.norm(alpha, axis=1, keepdims=True)
            won = np.argmax(modes_flow(mu, start, taken[open_]), axis=1)
        else:
            rates = np.where(taken[open_], 0.5 * mu, mu) if guide == "halved" else mu
            won = np.argmax(rates * alpha, axis=1)
        taken[open_, won] = True
        count[open_] += 1
    return count
