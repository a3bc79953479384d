"""Global optimizers built from partial solutions of orders 6 and 4, and perfect memorisation."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import within
from firstlight.claims.cogo.checks._zero import zero_loss, zero_potential
from firstlight.groups import Group, cyclic, parse
from firstlight.records import Criterion
from firstlight.theories.cogo import Solution, craft, table_loss
from firstlight.theories.cogo._factors import OMEGA_8
from firstlight.theories.cogo.lemmas import (
    at_frequency,
    cubic,
    four_factors,
    memorising_factors,
    order_three,
    quadratic,
    residuals,
)


def _measure_six(setting: Setting) -> Measurement:
    """Compute the loss of z_F6 over the whole table, for cyclic groups of odd and even order and for products."""
    seeds = setting.seeds_or((0,))
    sizes = setting.choose(quick=(5, 6, 7, 8, 11, 12, 23, 24), paper=tuple(range(3, 102)))
    names = [*(f"Z{d}" for d in sizes), "Z4xZ6", *setting.choose(quick=(), paper=("Z3xZ3xZ2", "Z5xZ7", "Z2xZ2xZ9"))]
    losses, residual, orders = [], [], []
    for i, name in enumerate(names):
        setting.progress(i / len(names), name)
        group = parse(name)
        for seed in (None, *seeds):
            optimizer = craft(group, "F6", seed=seed)
            losses.append(table_loss(*optimizer.weights, group))
            residual.append(residuals(optimizer).worst)
            if "x" not in name and group.order % 2:
                orders.append(optimizer.order - 3 * (group.order - 1))
    data = {"loss": losses, "residual": residual, "order − 3(d − 1)": orders, "printed loss": _printed_six(7)}
    return Measurement(data, {"groups": names}, seeds)


def _judge_six(data: Mapping[str, Any]) -> list[Criterion]:
    """Require zero loss and eq. (4) with the factor 2^{−1/3}; without it the loss is that of a network of zeros."""
    return [
        zero_loss(
            "z_F6 with ξ of modulus 1 is a global optimizer",
            "loss on Z7 with the printed ξ",
            data["printed loss"],
            "printed",
        ),
        zero_loss("z_F6 with ξ of modulus 2^{−1/3} has zero loss", "largest loss", data["loss"], "corrected"),
        zero_potential("and satisfies eq. (4)", "largest residual of eq. (4)", data["residual"], "corrected"),
        within(
            "ord(z_F6) = 3(d − 1) for odd d",
            "order − 3(d − 1)",
            data["order − 3(d − 1)"],
            0,
            0,
            reason="nodes are counted",
        ),
    ]


crafted_six = Check(_measure_six, _judge_six)


def _printed_six(d: int) -> float:
    """Compute the loss of Σ_k z̃_k ∗ z′_k with the printed ξ = (ω̄₈, ω₈, 1)."""
    group, w = cyclic(d), OMEGA_8
    total = Solution.zero(group)
    for k in range(1, (d + 1) // 2):
        total += order_three(group, k) * at_frequency(group, k, [w.conjugate(), w], [w, w.conjugate()], [1, 1])
    return table_loss(*total.weights, group)


def _measure_four(setting: Setting) -> Measurement:
    """Measure the constraint sets of the factors of z_F4 and of their product, its loss, and its two repairs."""
    seeds = setting.seeds_or((0,))
    names = setting.choose(quick=("Z5", "Z7", "Z8", "Z23", "Z4xZ6"), paper=tuple(f"Z{d}" for d in range(3, 102)))
    columns = ("factors", "R₊", "R_c", "R_⊛", "R_n", "loss", "repaired")
    data: dict[str, list[float]] = {name: [] for name in columns}
    for i, name in enumerate(names):
        setting.progress(i / len(names), name)
        group = parse(name)
        four = craft(group, "F4", seed=seeds[0])
        left, pairs = residuals(four), group.order - 1 - len(four.frequencies.real)
        repaired = [table_loss(*craft(group, kind, seed=seeds[0]).weights, group) for kind in ("F4+repair", "F4+F6")]
        row = (
            _factor_error(group),
            left.R_plus,
            left.R_c,
            left.R_conv,
            abs(left.R_n - 1 / (8**0.5 * group.order)),
            abs(table_loss(*four.weights, group) - 2 * pairs / group.order),
            max(repaired),
        )
        for column, value in zip(columns, row, strict=True):
            data[column].append(value)
    return Measurement(
        data,
        {"groups": names},
        seeds,
        note="The error of z_F4 is a constant output. Two more nodes in total, or one F6 among the F4, cancel it.",
    )


def _judge_four(data: Mapping[str, Any]) -> list[Criterion]:
    """Require the constraint sets of Corollary 3 and the values where R_n is violated."""
    return [
        zero_potential(
            "(7) and (8) satisfy their constraints with r_kkk = 1/√2d", "largest deviation", data["factors"]
        ),
        zero_potential("their product has r_kkk = 1/2d", "largest deviation from R₊", data["R₊"]),
        zero_potential("their product satisfies R_c", "largest |r| of R_c", data["R_c"]),
        zero_potential("their product satisfies R_⊛", "largest |r| of R_⊛", data["R_⊛"]),
        zero_potential("it does not satisfy R_n: |r_p0kk| = 1/√8 d", "largest deviation from 1/√8 d", data["R_n"]),
        zero_potential("almost optimal: its loss is 2(d − 1)/d for odd d", "largest deviation", data["loss"]),
        zero_loss("a repair of the constant makes the loss zero", "largest loss once repaired", data["repaired"]),
    ]


crafted_four = Check(_measure_four, _judge_four)


def _factor_error(group: Group) -> float:
    """Measure how far eqs. (7) and (8) are from r_kkk = 1/√2d and from their claimed zeros."""
    k = next(k for k in range(1, group.order) if k != group.inverse[k])
    minus = int(group.inverse[k])
    first, second = four_factors(group, k)
    r, s = cubic(first), cubic(second)
    goal = (2 * group.order) ** -0.5
    # Factor (8) removes r_{k,k,−k} and its conjugate r_{−k,−k,k}.
    zeros = [r[x, y, z] for x in (k, minus) for y in (k, minus) for z in (k, minus) if x != y]
    zeros += [s[k, k, minus], s[minus, minus, k]]
    convolution = quadratic(first)[:, 1:, :, 1:]
    return float(max(abs(r[k, k, k] - goal), abs(s[k, k, k] - goal), *np.abs(zeros), np.abs(convolution).max()))


def _measure_memorisation(setting: Setting) -> Measurement:
    """Measure loss and constraint sets of z_M = z_a ∗ z_b, with eq. (10) as printed and with a and b exchanged."""
    names = setting.choose(quick=("Z5", "Z6", "Z2xZ4"), paper=("Z5", "Z6", "Z11", "Z23", "Z4xZ6", "Z2xZ2xZ3"))
    columns = ("loss", "residual", "z_a", "z_b", "eq. (11)", "order − d²", "printed loss")
    data: dict[str, list[float]] = {name: [] for name in columns}
    for i, name in enumerate(names):
        setting.progress(i / len(names), name)
        group = parse(name)
        first, second = memorising_factors(group)
        product, optimizer = first * second, craft(group, "memorise")
        z, d = np.abs(product.z[:, 1:]), group.order
        swapped = Solution(group, second.z[[1, 0, 2]])
        row = (
            max(table_loss(*product.weights, group), table_loss(*optimizer.weights, group)),
            residuals(optimizer).worst,
            _outside_sets(first, "a"),
            _outside_sets(second, "b"),
            float(np.abs(z - np.array([1 / d, 1 / d, 1 / (2 * d)])[:, None, None]).max()),
            product.order - d**2,
            table_loss(*(first * swapped).weights, group),
        )
        for column, value in zip(columns, row, strict=True):
            data[column].append(value)
    return Measurement(data, {"groups": names})


def _judge_memorisation(data: Mapping[str, Any]) -> list[Criterion]:
    """Require zero loss with a and b exchanged in eq. (10), and the claimed sets, sizes and order."""
    return [
        zero_loss(
            "z_a ∗ z_b with eq. (10) as printed is a global optimizer", "largest loss", data["printed loss"], "printed"
        ),
        zero_loss("with a and b of eq. (10) exchanged it has zero loss", "largest loss", data["loss"], "corrected"),
        zero_potential("and satisfies eq. (4)", "largest residual of eq. (4)", data["residual"], "corrected"),
        zero_potential("z_a ∈ R_c(k₁≠k) ∩ R_n ∩ R_⊛(p=b or m≠k)", "largest |r| of these sets", data["z_a"]),
        zero_potential(
            "z_b ∈ R_c(k₂≠k) ∩ R_n ∩ R_⊛(p=a or m≠k)", "largest |r| of these sets", data["z_b"], "corrected"
        ),
        zero_potential("eq. (11): |z_a| = |z_b| = 1/d, |z_c| = 1/2d", "largest deviation", data["eq. (11)"]),
        within("ord(z_M) = d²", "order − d²", data["order − d²"], 0, 0, reason="nodes are counted"),
    ]


memorisation = Check(_measure_memorisation, _judge_memorisation)


def _outside_sets(factor: Solution, part: str) -> float:
    """Measure how far a factor is from R_c(k_p ≠ k) ∩ R_n ∩ R_⊛(the other part, or m ≠ k)."""
    d = factor.group.order
    own, other = (0, 1) if part == "a" else (1, 0)
    k = np.arange(1, d)
    r = cubic(factor)[1:, 1:, 1:]
    r = np.moveaxis(r, own, 0)
    r[np.arange(d - 1), :, np.arange(d - 1)] = 0
    q = quadratic(factor)[:, :, 1:, 1:]
    # Every k′ ≠ 0 with m − k′ ≠ 0: the solution has no k = 0.
    alive = factor.frequencies.minus[:, k] != 0
    q = np.where(alive[None, :, :, None], q, 0)
    norm = np.abs(q[:, 0]).max()
    same = q[own].copy()
    same[k, :, k - 1] = 0
    return float(max(np.abs(r).max(), norm, np.abs(q[other, 1:]).max(), np.abs(same[1:]).max()))
