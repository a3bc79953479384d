"""The two-layer quadratic network of least norm that computes a given quadratic form (Lemma D.2)."""

import numpy as np
from jaxtyping import Float

from firstlight import _canonical as canonical

COST = 3 * 2 ** (-2 / 3)
"""The minimum of a² + ‖w‖² over |a|‖w‖² = 1; the paper prints 2, which no network attains."""


def minimum_norm_cost(Q: Float[np.ndarray, "d d"]) -> float:
    r"""Return the least ‖a‖² + ‖W‖² with which Σ_k a_k(w_k·x)² equals xᵀQx.

    $$3\cdot 2^{-2/3}\sum_i \sigma_i(Q)^{2/3}$$

    (FACT, Lemma D.2 with its constant corrected.)

    >>> import numpy as np
    >>> round(minimum_norm_cost(np.diag([2.0, 0.0])), 9)
    3.0
    """
    return COST * float(np.sum(np.abs(np.linalg.eigvalsh(Q)) ** (2 / 3)))


def minimum_norm_network(Q: Float[np.ndarray, "d d"]) -> tuple[Float[np.ndarray, "d d"], Float[np.ndarray, " d"]]:
    r"""Return W (d, d) and a (d,) of least norm, with one hidden unit per eigenvector of Q.

    $$a_i = \mathrm{sgn}(\lambda_i)(|\lambda_i|/2)^{1/3}, \qquad \|w_i\|^2 = 2^{1/3}|\lambda_i|^{2/3}$$

    >>> import numpy as np
    >>> Q = np.array([[1.0, 2.0], [2.0, -1.0]])
    >>> W, a = minimum_norm_network(Q)
    >>> bool(np.allclose(W * a @ W.T, Q)), bool(np.isclose((W**2).sum() + a @ a, minimum_norm_cost(Q)))
    (True, True)
    """
    values, vectors = canonical.eigh(Q)
    return vectors * np.sqrt(2 ** (1 / 3) * np.abs(values) ** (2 / 3)), np.sign(values) * (np.abs(values) / 2) ** (
        1 / 3
    )
