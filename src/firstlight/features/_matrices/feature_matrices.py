r"""Feature matrices of a layer h ↦ hW and what they equal at convergence: *FACT*, Sections 2, 3 and A.

W is (d, K) = (in, out), so the paper's WᵀW is WWᵀ here. The layer's inputs are h (n, …, d); the backward pass returns
δ = ∂ℓ/∂(hW) (n, …, K). Axes between the first and the last are positions, or other uses of the same weight. They are
summed, never averaged. Gradients at the layer's input are the *partial* derivatives δWᵀ. The total derivative that
autograd leaves at h also counts paths around the layer; the theorem does not hold for it.
"""

from typing import Any, Literal

from jaxtyping import Float, Real

from firstlight.features._arrays import namespace

Weights = Float[Any, "d K"]
Scalar = float | Float[Any, ""]
Reduction = Literal["mean", "sum"]


def nfm(W: Weights) -> Float[Any, "d d"]:
    """Return WWᵀ, the neural feature matrix (the paper's WᵀW).

    >>> import numpy as np
    >>> nfm(np.array([[1.0], [2.0]]))
    array([[1., 2.],
           [2., 4.]])
    """
    return namespace(W).matmul(W, W.T)


def bnfm(W: Weights) -> Float[Any, "K K"]:
    """Return WᵀW, the feature matrix at the layer's outputs (the paper's WWᵀ).

    >>> import numpy as np
    >>> bnfm(np.array([[1.0], [2.0]]))
    array([[5.]])
    """
    return nfm(W.T)


def weight_gradient(
    inputs: Real[Any, "n *positions d"], deltas: Float[Any, "n *positions K"], reduction: Reduction = "mean"
) -> Weights:
    r"""Return ∂L/∂W from a layer's inputs h and the gradients δ at its outputs.

    $$\partial L/\partial W = \tfrac1n\textstyle\sum_i\sum_t h_{it}\,\delta_{it}^\top$$

    **Arguments:**

    - `inputs`: (n, …, d) inputs h; positions and uses of the weight on the axes between.
    - `deltas`: (n, …, K) ∂ℓ_i/∂(hW).
    - `reduction`: "mean" over samples, or "sum" if the loss is a sum or the deltas already contain 1/n.

    >>> import numpy as np
    >>> weight_gradient(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([[1.0], [3.0]])).ravel()
    array([0.5, 2.5])
    """
    xp, n = namespace(inputs), inputs.shape[0]
    total = xp.matmul(_rows(inputs).T, _rows(deltas))
    return total / n if reduction == "mean" else total


def fact(W: Weights, gradient: Weights, weight_decay: Scalar) -> Float[Any, "d d"]:
    r"""Return FACT, which equals WWᵀ where the regularised loss is critical in W.

    $$\mathrm{FACT} = -\tfrac{1}{n\lambda}\sum_i (\nabla_h\ell_i)\,h_i^\top
      = -\tfrac1\lambda\, W\,(\partial L/\partial W)^\top
      = WW^\top - \tfrac1\lambda W\,(\partial L_\lambda/\partial W)^\top$$

    (FACT, Theorem 3.1); the last form holds at *any* weights.

    **Arguments:**

    - `W`: (d, K) weights.
    - `gradient`: (d, K) ∂L/∂W of the loss without weight decay; `weight_gradient` computes it. For AdamW use the mean
      of m̂/(√v̂ + ε), the direction of its steps apart from the decay.
    - `weight_decay`: λ of L + (λ/2)‖W‖², which is the `weight_decay` of SGD and of Adam; 2λ' if the loss adds λ'‖W‖².

    >>> import numpy as np
    >>> W = np.array([[1.0], [2.0]])
    >>> fact(W, -0.1 * W, weight_decay=0.1)  # critical: ∂L/∂W = −λW
    array([[1., 2.],
           [2., 4.]])
    """
    _require_decay(weight_decay)
    return namespace(W).matmul(W, gradient.T) / (-weight_decay)


def bfact(W: Weights, gradient: Weights, weight_decay: Scalar) -> Float[Any, "K K"]:
    r"""Return bFACT, which equals WᵀW where the regularised loss is critical in W; hW is taken without a bias.

    $$\mathrm{bFACT} = -\tfrac{1}{n\lambda}\sum_i (W^\top h_i)\,\delta_i^\top
      = -\tfrac1\lambda\,W^\top\,\partial L/\partial W$$

    (FACT, Theorem A.1.)

    >>> import numpy as np
    >>> W = np.array([[1.0], [2.0]])
    >>> bfact(W, -0.1 * W, weight_decay=0.1)
    array([[5.]])
    """
    _require_decay(weight_decay)
    return namespace(W).matmul(W.T, gradient) / (-weight_decay)


def average_outer_product(G: Float[Any, "n *more d"]) -> Float[Any, "d d"]:
    r"""Return (1/n)Σ g gᵀ over samples, summed over all axes between the first and the last.

    These axes are outputs, positions, or uses of the weight. Of ∇_h f (n, c, d) the result is AGOP, of ∇_hℓ (n, d) it
    is eNFA; of the gradients at a layer's outputs, bAGOP and beNFA.

    >>> import numpy as np
    >>> average_outer_product(np.array([[1.0, 0.0], [1.0, 2.0]]))
    array([[1., 1.],
           [1., 2.]])
    """
    rows = _rows(G)
    return namespace(G).matmul(rows.T, rows) / G.shape[0]


def pulled_back(W: Weights, backward: Float[Any, "K K"]) -> Float[Any, "d d"]:
    """Return W B Wᵀ, which carries outer products from a layer's outputs to its inputs: ∇_h = W ∇_{hW}.

    >>> import numpy as np
    >>> pulled_back(np.array([[1.0], [2.0]]), np.array([[3.0]]))
    array([[ 3.,  6.],
           [ 6., 12.]])
    """
    xp = namespace(W)
    return xp.matmul(W, xp.matmul(backward, W.T))


def bagop(output_jacobian: Float[Any, "n *more K"]) -> Float[Any, "K K"]:
    """Return (1/n)Σ (∇_{hW} f)(∇_{hW} f)ᵀ from the network's Jacobian in the layer's outputs, (n, c, …, K).

    >>> import numpy as np
    >>> bagop(np.ones((2, 3, 1)))
    array([[3.]])
    """
    return average_outer_product(output_jacobian)


def agop(W: Weights, output_jacobian: Float[Any, "n *more K"]) -> Float[Any, "d d"]:
    """Return (1/n)Σ (∇_h f)(∇_h f)ᵀ, the average gradient outer product (AGOP).

    The neural feature ansatz says that WWᵀ is proportional to a power of AGOP.

    >>> import numpy as np
    >>> agop(np.array([[2.0]]), np.ones((2, 3, 1)))
    array([[12.]])
    """
    return pulled_back(W, bagop(output_jacobian))


def benfa(deltas: Float[Any, "n *more K"]) -> Float[Any, "K K"]:
    """Return (1/n)Σ δδᵀ, with δ the gradient of each sample's own loss (not divided by n).

    >>> import numpy as np
    >>> benfa(np.array([[1.0], [3.0]]))
    array([[5.]])
    """
    return average_outer_product(deltas)


def enfa(W: Weights, deltas: Float[Any, "n *more K"]) -> Float[Any, "d d"]:
    """Return (1/n)Σ (∇_hℓ)(∇_hℓ)ᵀ, the equivariant neural feature ansatz (eNFA).

    >>> import numpy as np
    >>> enfa(np.array([[2.0]]), np.array([[1.0], [3.0]]))
    array([[20.]])
    """
    return pulled_back(W, benfa(deltas))


def _rows(A: Any) -> Any:
    return A if A.ndim == 2 else namespace(A).reshape(A, (-1, A.shape[-1]))


def _require_decay(weight_decay: Any) -> None:
    if isinstance(weight_decay, int | float) and not weight_decay > 0:
        raise ValueError(
            f"FACT needs a weight decay above 0, got {weight_decay}; without weight decay a converged "
            "network has ∂L/∂W = 0, and FACT says nothing about its features"
        )
