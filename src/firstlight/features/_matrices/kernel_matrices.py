r"""FACT and AGOP of a kernel machine f(x) = K_M(x, X)α, computed from n×n matrices only.

With A = ααᵀ and D the slopes of the kernel at all pairs of training rows, ∇_x K(x, z) is

* radial, K = φ(s), s = ‖x − z‖²_M: D·M(x − z) with D = 2φ′(s);
* inner product, K = k(xᵀMz): D·Mz with D = k′.

The n×n×d tensor of these gradients is never formed.
"""

from typing import Any, Literal

from jaxtyping import Float

from firstlight.features._arrays import namespace
from firstlight.features._matrices.feature_matrices import average_outer_product

Rows = Float[Any, "n d"]
Pairs = Float[Any, "n n"]
Dual = Float[Any, "n c"]
Metric = Float[Any, "d d"]


def kernel_fact(X: Rows, M: Metric, D: Pairs, alpha: Dual, *, radial: bool) -> Metric:
    r"""Return FACT of a kernel ridge machine, from its dual coefficients.

    $$\mathrm{FACT} = M X^\top(\mathrm{diag}(\Omega 1) - \Omega)X \;\text{(radial)}, \qquad
      \mathrm{FACT} = M X^\top\Omega X \;\text{(inner product)}, \qquad \Omega = D\circ\alpha\alpha^\top$$

    (FACT, Lemma F.1.) The radial form is a signed graph Laplacian and does not change when X is shifted. X is centred
    first, which avoids cancellation.

    **Arguments:**

    - `X`: (n, d) training rows.
    - `M`: (d, d) metric of the kernel.
    - `D`: (n, n) slopes of the kernel.
    - `alpha`: (n, c) dual coefficients (K + nλI)⁻¹Y.
    - `radial`: whether the kernel is radial; else it is an inner-product kernel.

    >>> import numpy as np
    >>> X, D, alpha = np.array([[0.0], [1.0]]), -np.ones((2, 2)), np.array([[1.0], [-1.0]])
    >>> kernel_fact(X, np.eye(1), D, alpha, radial=True)
    array([[1.]])
    """
    xp = namespace(X)
    if radial:
        X = X - xp.mean(X, axis=0)
    omega = D * xp.matmul(alpha, alpha.T)
    inner = xp.matmul(X.T, xp.matmul(omega, X))
    if radial:
        inner = xp.matmul(X.T, xp.sum(omega, axis=1)[:, None] * X) - inner
    return xp.matmul(M, inner)


def kernel_agop(
    X: Rows,
    M: Metric,
    D: Pairs,
    alpha: Dual,
    *,
    radial: bool,
    centred: bool = False,
    form: Literal["outputs", "pairs"] | None = None,
) -> Metric:
    r"""Return AGOP of a kernel machine over its own training rows.

    $$\tfrac1n\sum_l G_l^\top G_l, \quad G_l = [\mathrm{diag}(D\alpha_l)X] - D\,\mathrm{diag}(\alpha_l)X\,M
      \qquad\text{or}\qquad \tfrac1n M X^\top Q X M$$

    with Q = (DᵀD)∘A − C − Cᵀ + diag(‖V_i‖²), V = Dα, C = D∘(Vαᵀ). For an inner-product kernel Q is its first term
    alone (Proposition 5.1: τ = DᵀD/n).

    **Arguments:**

    - `X`, `M`, `D`, `alpha`, `radial`: as for `kernel_fact`.
    - `centred`: whether to subtract each output's mean gradient over the rows.
    - `form`: "outputs" loops over the c outputs (n²cd operations), "pairs" forms Q (n³ operations); the cheaper of the
      two by default.

    >>> import numpy as np
    >>> X, D, alpha = np.array([[0.0], [1.0]]), np.ones((2, 2)), np.array([[1.0], [2.0]])
    >>> kernel_agop(X, np.eye(1), D, alpha, radial=False)
    array([[4.]])
    """
    n, (c, d) = X.shape[0], (alpha.shape[1], X.shape[1])
    form = form or ("pairs" if c * d > n else "outputs")
    gradients = _agop_pairs if form == "pairs" else _agop_outputs
    return gradients(X, M, D, alpha, radial, centred)


def _agop_outputs(X: Rows, M: Metric, D: Pairs, alpha: Dual, radial: bool, centred: bool) -> Metric:
    xp, XM = namespace(X), namespace(X).matmul(X, M)
    V, total = xp.matmul(D, alpha), xp.zeros_like(M)
    for l in range(alpha.shape[1]):
        G = xp.matmul(D, alpha[:, l : l + 1] * XM)
        if radial:
            G = V[:, l : l + 1] * XM - G
        if centred:
            G = G - xp.mean(G, axis=0)
        total = total + average_outer_product(G)
    return total


def _agop_pairs(X: Rows, M: Metric, D: Pairs, alpha: Dual, radial: bool, centred: bool) -> Metric:
    xp, n = namespace(X), X.shape[0]
    XM, V = xp.matmul(X, M), xp.matmul(D, alpha)
    Q = xp.matmul(D.T, D) * xp.matmul(alpha, alpha.T)
    QX = xp.matmul(Q, XM)
    if radial:
        C = D * xp.matmul(V, alpha.T)
        QX = QX - xp.matmul(C, XM) - xp.matmul(C.T, XM) + xp.sum(V * V, axis=1)[:, None] * XM
    result = xp.matmul(XM.T, QX) / n
    if not centred:
        return result
    weights = alpha * xp.sum(D, axis=0)[:, None]
    mean = xp.matmul((V - weights if radial else weights).T, XM) / n
    return result - xp.matmul(mean.T, mean)
