"""The loss as a function of monomial potentials."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_least, at_most
from firstlight.claims.cogo.checks._zero import zero_loss, zero_potential
from firstlight.groups import Group, parse
from firstlight.records import Criterion
from firstlight.theories.cogo import Solution, craft, potential_loss, table_loss
from firstlight.theories.cogo.lemmas import cubic, diagonal, gaussian_solution, loss_terms, quadratic, residuals

LOSS_ROUNDING = 1e-12
"""Relative error of the loss as a sum of squares over d³ ≤ 36³ frequencies: 21 × √36³ × 2⁻⁵²."""


def _measure_loss(setting: Setting) -> Measurement:
    """Compare eq. (3), from Fourier coefficients, with the loss averaged over all d² pairs, for random weights."""
    seeds = setting.seeds_or(range(3))
    names = setting.choose(quick=("Z5", "Z6", "Z7", "Z9", "Z2xZ4"), paper=("Z23", "Z24", "Z5xZ6", "Z2xZ2xZ9"))
    errors: dict[str, list[float]] = {"eq. (3)": [], "general form": []}
    for i, name in enumerate(names):
        setting.progress(i / len(names), name)
        group = parse(name)
        errors["eq. (3)"] += [_relative_error(group, seed) for seed in seeds]
        errors["general form"] += [_general_error(group, seed) for seed in seeds]
    return Measurement(
        {"relative errors": errors},
        {"groups": names},
        seeds,
        note=(
            "The theorem assumes z_a0 = z_b0 = 0 (eq. 2 sums over k ≠ 0), which gradient flow does not preserve. In "
            "the general form s_amk gains 2 r_m0k and s_bmk gains 2 r_0mk."
        ),
    )


def _judge_loss(data: Mapping[str, Any]) -> list[Criterion]:
    """Require both forms of the loss to rounding."""
    reason = "sums of squares over at most 36³ frequencies round by √36³ × 2⁻⁵²; the factor is 21"
    clauses = {
        "eq. (3)": "ℓ = Σ_{k≠0} ℓ_k + (d−1)/d for weights without means",
        "general form": "with the means of the weights added to Σ_k′ r_pmk′k it holds for all weights",
    }
    return [
        at_most(clause, f"relative error, {form}", data["relative errors"][form], LOSS_ROUNDING, reason=reason)
        for form, clause in clauses.items()
    ]


loss_from_potentials = Check(_measure_loss, _judge_loss)


def _weights(group: Group, seed: int, centred: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    A, B, V = np.random.default_rng(seed).standard_normal((3, group.order, 4))
    return (A - A.mean(0), B - B.mean(0), V) if centred else (A, B, V)


def _relative_error(group: Group, seed: int) -> float:
    """Return the relative error of eq. (3)."""
    A, B, V = _weights(group, seed, centred=True)
    exact = _summed_over_pairs(group, A, B, V)
    return abs(_from_potentials(group, A, B, V) - exact) / exact


def _general_error(group: Group, seed: int) -> float:
    """Return the relative error of the form that also holds for weights with means."""
    A, B, V = _weights(group, seed, centred=False)
    exact = _summed_over_pairs(group, A, B, V)
    solution = Solution.from_weights(np.concatenate([A, B]), V.T, group)
    return max(abs(loss_terms(solution).total - exact), abs(potential_loss(solution) - exact)) / exact


def _summed_over_pairs(group: Group, A: np.ndarray, B: np.ndarray, V: np.ndarray) -> float:
    """Compute E_{g,h} ‖P⊥(o(g, h) − e_{gh})‖² with o = Σ_j v_j (a_j(g) + b_j(h))²; A, B, V are (d, q)."""
    outputs = (A[:, None] + B[None]) ** 2 @ V.T
    residual = outputs - np.eye(group.order)[group.table]
    residual -= residual.mean(-1, keepdims=True)
    return float((residual**2).sum(-1).mean())


def _from_potentials(group: Group, A: np.ndarray, B: np.ndarray, V: np.ndarray) -> float:
    """Compute eq. (3) as printed, from all potentials."""
    solution = Solution.from_weights(np.concatenate([A, B]), V.T, group)
    d, k = group.order, np.arange(group.order)
    r, s = cubic(solution), quadratic(solution).sum(2)
    per_frequency = (
        -4 * np.real(r[k, k, k])
        + 4 * d * (np.abs(r) ** 2).sum((0, 1))
        + d * np.abs(s[0, 0] + s[1, 0]) ** 2
        + d * (np.abs(s[:, 1:]) ** 2).sum((0, 1))
    )
    return float(per_frequency[1:].sum() + (d - 1) / d)


def _measure_conditions(setting: Setting) -> Measurement:
    """Compute residuals of eq. (4) and losses of crafted optimizers, and the least ℓ_k of random solutions."""
    seeds = setting.seeds_or(range(3))
    names = setting.choose(quick=("Z5", "Z8", "Z2xZ3"), paper=("Z23", "Z24", "Z71", "Z4xZ6"))
    residual, loss, bound = [], [], []
    for i, name in enumerate(names):
        setting.progress(i / len(names), name)
        group = parse(name)
        for seed in seeds:
            optimizer = craft(group, "F6", seed=seed)
            main = np.abs(np.real(diagonal(optimizer)[1:]) - 1 / (2 * group.order)).max()
            residual.append(max(residuals(optimizer).worst, float(main)))
            loss.append(table_loss(*optimizer.weights, group))
            # −4r + 4d|r|² ≥ −1/d: each frequency can remove at most its share of (d − 1)/d.
            slack = loss_terms(gaussian_solution(group, 3, seed)).per_frequency + 1 / group.order
            bound.append(float(slack.min()))
    return Measurement({"residual": residual, "loss": loss, "least ℓ_k + 1/d": bound}, {"groups": names}, seeds)


def _judge_conditions(data: Mapping[str, Any]) -> list[Criterion]:
    """Require zero loss where eq. (4) holds, and no loss below zero."""
    return [
        zero_potential(
            "a solution of eq. (4) is at hand", "largest residual of eq. (4)", data["residual"], "precondition"
        ),
        zero_loss("a solution of eq. (4) has zero loss", "largest loss over all pairs", data["loss"]),
        at_least(
            "zero is the global minimum",
            "least ℓ_k + 1/d of random solutions",
            data["least ℓ_k + 1/d"],
            -LOSS_ROUNDING,
            reason="sums of squares over at most d² frequencies round by less than that over d³",
        ),
    ]


sufficient_conditions = Check(_measure_conditions, _judge_conditions)
