"""Size and residual of FACT against the feature matrix, by entries."""

import numpy as np
import pytest
import torch

from firstlight.probes._compare import Given, Moments, compare


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_size_and_residual_have_no_unit(scale):
    """Weights of any scale: with ∂L/∂W = −λ(W + E), FACT is W(W + E)ᵀ, and both shares are ratios."""
    rng = np.random.default_rng(0)
    W, E = rng.standard_normal((2, 4, 3))
    nfm, fact = W @ W.T, W @ (W + E).T
    moments = Moments(torch.eye(4, dtype=torch.float64)[None])
    weights, gradient = torch.from_numpy(scale * W[None]), torch.from_numpy(-0.5 * scale * (W + E)[None])
    result = compare(weights, Given(gradient, moments, moments), 0.5)
    assert result.size == pytest.approx(np.sum(fact * nfm) / np.sum(nfm * nfm))
    assert result.residual == pytest.approx(np.sqrt(np.sum((nfm - fact) ** 2) / np.sum(nfm**2)))
