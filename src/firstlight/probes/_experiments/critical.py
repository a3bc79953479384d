"""Critical points of small networks to machine precision, where the theorem can be tested to the last digits."""

from collections.abc import Callable
from typing import Any

import torch
from torch.func import functional_call, jacrev
from torch.nn.attention import SDPBackend, sdpa_kernel

Loss = Callable[[Any, Any], torch.Tensor]

AT_REST = 1e-12
"""‖∇L_λ‖/λ‖θ‖ below which a point counts as critical."""


def settle(
    model: torch.nn.Module, inputs: Any, targets: Any, loss_fn: Loss, weight_decay: float, *, rounds: int = 3
) -> float:
    """Move a float64 model to a critical point of L + (λ/2)‖θ‖², in place; return ‖∇L_λ‖/λ‖θ‖ there.

    Each round runs L-BFGS, then damped Newton steps with the full Hessian. The damping also excludes null directions of
    the Hessian, which come from symmetries such as rotations of queries against keys.

    **Arguments:**

    - `model`: smooth model with at most a few hundred parameters.
    - `inputs`: inputs of the whole data set.
    - `targets`: targets of the whole data set.
    - `loss_fn`: loss of outputs and targets.
    - `weight_decay`: λ > 0.
    - `rounds`: maximal number of rounds.
    """
    names = [name for name, p in model.named_parameters() if p.requires_grad]
    parameters = [p for p in model.parameters() if p.requires_grad]
    shapes, sizes = [p.shape for p in parameters], [p.numel() for p in parameters]

    def objective(theta: torch.Tensor) -> torch.Tensor:
        parts = [part.reshape(shape) for part, shape in zip(theta.split(sizes), shapes, strict=True)]
        made = functional_call(model, dict(zip(names, parts, strict=True)), (inputs,))
        return loss_fn(made, targets) + weight_decay / 2 * theta.square().sum()

    theta = torch.cat([p.detach().reshape(-1) for p in parameters])
    rest = float("inf")
    # Fused attention has no second derivative.
    with sdpa_kernel(SDPBackend.MATH):
        for _ in range(rounds):
            theta = _descend(objective, theta)
            theta = _newton(objective, theta, AT_REST / 10 * weight_decay * float(theta.norm()))
            rest = float(torch.func.grad(objective)(theta).norm() / (weight_decay * theta.norm()))
            if rest < AT_REST:
                break
    with torch.no_grad():
        for p, part in zip(parameters, theta.split(sizes), strict=True):
            p.copy_(part.reshape(p.shape))
    return rest


def _descend(objective: Callable[[torch.Tensor], torch.Tensor], theta: torch.Tensor) -> torch.Tensor:
    theta = theta.clone().requires_grad_()
    optimizer = torch.optim.LBFGS(
        [theta],
        max_iter=150,
        history_size=100,
        tolerance_grad=1e-12,
        tolerance_change=0.0,
        line_search_fn="strong_wolfe",
    )

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = objective(theta)
        loss.backward()
        return loss

    optimizer.step(closure)
    return theta.detach()


def _newton(
    objective: Callable[[torch.Tensor], torch.Tensor], theta: torch.Tensor, at_rest: float, steps: int = 40
) -> torch.Tensor:
    """Shrink the gradient to norm `at_rest` by Levenberg–Marquardt steps H(H² + μ)⁻¹∇ with the smallest useful μ."""
    slope = torch.func.grad(objective)
    gradient, mu = slope(theta), 0.0
    for _ in range(steps):
        if gradient.norm() < at_rest:
            break
        values, vectors = torch.linalg.eigh(jacrev(slope)(theta))
        least = (1e-9 * values.abs().max()) ** 2
        along, shorter = vectors.T @ gradient, False
        while not shorter and mu < 1e3 * values.abs().max() ** 2:
            trial = theta - vectors @ (along * values / (values**2 + max(mu, least)))
            new = slope(trial)
            shorter = bool(new.norm() < gradient.norm())
            mu = mu / 10 if shorter else max(10 * mu, 1e-3 * float(values.abs().min() ** 2), float(least))
        if not shorter:
            break
        theta, gradient = trial, new
    return theta
