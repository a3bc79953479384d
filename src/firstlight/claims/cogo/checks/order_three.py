"""Partial solutions of orders 1, 2 and 3 at one frequency (Lemma 2)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import least_squares, minimize

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_least, at_most, within
from firstlight.claims.cogo.checks._zero import zero_potential
from firstlight.groups import cyclic
from firstlight.records import Criterion
from firstlight.theories.cogo import Solution, table_loss
from firstlight.theories.cogo.lemmas import loss_terms, order_three, residuals

STOP = 1e-7
"""Relative change at which the search for solutions of orders 1 and 2 stops."""
NO_SOLUTION = 1e-3
"""Residual above which no solution was found; one would end near √STOP = 3e-4 or below."""
SOLVED, FORM = 1e-9, 1e-4
"""Error of constraints and norms after least squares stopped at 1e-12, and of z, whose square root is FORM/3."""
LEAST = 9 * (1 / 3) ** (2 / 3)
"""Least ‖z‖² of three nodes at one frequency with r_kkk = 1, that of z̃."""


def _measure(setting: Setting) -> Measurement:
    """Find the least residual of R_c with r_kkk = 1 for 1, 2 and 3 nodes at one frequency; test the form of order 3."""
    seeds = setting.seeds_or(range(setting.choose(quick=4, paper=40)))
    least = {str(order): min(_least_residual(order, seed) for seed in seeds) for order in (1, 2)}
    solutions = [_least_norm(seed) for seed in seeds]
    norms = np.array([np.sum(np.abs(z) ** 2) for z in solutions]) / LEAST
    smallest = [z for z, norm in zip(solutions, norms, strict=True) if norm < 1.001]
    group = cyclic(setting.choose(quick=7, paper=71))
    base = order_three(group, 1)
    flipped = _with_signs(base)
    half = sum((order_three(group, k) for k in range(1, (group.order + 1) // 2)), Solution.zero(group))
    terms, loss = loss_terms(half), table_loss(*half.weights, group)
    data = {
        "least residual": least,
        "residual of order 3": max(float(np.abs(_constraints(_flat(z), 3)).max()) for z in solutions),
        "least norm": float(norms.min()),
        "seeds of least norm": len(smallest),
        "distance from z̃ ∗ y": [_distance(z) for z in (*smallest, flipped.z[:, 1] * (6 * group.order / 3) ** (1 / 3))],
        "distance up to signs": [_distance_up_to_signs(z) for z in smallest],
        "with signs": {
            "R_c": residuals(flipped).R_c,
            "‖z‖² − ‖z̃‖²": flipped.norm2 - base.norm2,
            "R_n": residuals(flipped).R_n,
        },
        "z̃": {"R_n": residuals(base).R_n, "R_⊛ · 2d": residuals(base).R_conv * 2 * group.order},
        "loss": loss * 2 * group.order / (group.order - 1),
        "loss not from R_⊛": abs(loss - float(terms.convolution.sum())),
    }
    return Measurement(data, {"group": group.name}, seeds)


def _judge(data: Mapping[str, Any]) -> list[Criterion]:
    """Require what Lemma 2 says, with signs where the printed form leaves them out."""
    solved = "least squares stops at a relative change of 1e-12; the factor is 1000"
    form = "the norm is stationary in z, so that its error 1e-9 leaves √1e-9 = 3e-5 in z; the factor is 3"
    signs = data["with signs"]
    return [
        at_least(
            "seeds reach the least norm", "seeds of least norm", data["seeds of least norm"], 1, form="precondition"
        ),
        above(
            "solutions of order 1 or 2 in R_c have r_kkk = 0",
            "least distance from R_c with r_kkk = 1, orders 1 and 2",
            data["least residual"],
            NO_SOLUTION,
            reason="the search stops at a relative change of 1e-7; a solution would end near its root, 3e-4",
        ),
        at_most(
            "order 3 suffices", "residual of R_c with r_kkk = 1", data["residual of order 3"], SOLVED, reason=solved
        ),
        within("z̃ has the least norm", "least ‖z‖² over that of z̃", data["least norm"], 1, SOLVED, reason=solved),
        at_most(
            "all of order 3 of least norm are z̃ ∗ y",
            "largest distance from z̃ ∗ y, also of z̃ with the signs of b and c of a node changed",
            data["distance from z̃ ∗ y"],
            FORM,
            reason=form,
            form="printed",
        ),
        at_most(
            "all of order 3 of least norm are z̃ ∗ y up to signs of two parts of a node",
            "largest distance up to signs",
            data["distance up to signs"],
            FORM,
            reason=form,
            form="corrected",
        ),
        zero_potential("changing two signs keeps R_c", "largest |r| of R_c, signs changed", signs["R_c"], "corrected"),
        zero_potential(
            "changing two signs keeps the norm",
            "‖z‖² less that of z̃, signs changed",
            abs(signs["‖z‖² − ‖z̃‖²"]),
            "corrected",
        ),
        zero_potential(
            "all of order 3 are in R_n", "largest |r_p0kk|, signs of b and c changed", signs["R_n"], "printed"
        ),
        zero_potential("z̃ is in R_n", "largest |r_p0kk| of z̃", data["z̃"]["R_n"]),
        within(
            "z̃ is not in R_⊛",
            "largest |r| of R_⊛ of z̃, times 2d",
            data["z̃"]["R_⊛ · 2d"],
            1,
            SOLVED,
            reason="its three terms have one phase, so that their sum is 3/6d",
        ),
        within(
            "the loss of Σ z̃_k is (d − 1)/2d",
            "loss over (d − 1)/2d",
            data["loss"],
            1,
            SOLVED,
            form="corrected",
            reason="least squares stop at 1e-12; a thousand times that",
        ),
        zero_potential("all of it from R_⊛", "loss of other terms", data["loss not from R_⊛"], "corrected"),
    ]


orders_below_four = Check(_measure, _judge)


def _with_signs(solution: Solution) -> Solution:
    """Change the signs of b and c of the second node."""
    z = solution.z.copy()
    z[1:, :, 1] *= -1
    return Solution(solution.group, z)


_CONJUGATED = ((1, 1, 1), (1, 1, -1), (1, -1, 1), (-1, 1, 1))
"""Which of a, b, c is conjugated (−1) in r_kkk and in the other potentials of R_c."""


def _constraints(x: np.ndarray, order: int) -> np.ndarray:
    """Return r_kkk − 1 and the three other potentials of R_c at one frequency, real and imaginary parts (8,)."""
    z = (x[: 3 * order] + 1j * x[3 * order :]).reshape(3, order)
    r = [
        np.prod([part if s > 0 else part.conj() for part, s in zip(z, signs, strict=True)], 0).sum()
        for signs in _CONJUGATED
    ]
    r[0] -= 1
    return np.concatenate([np.real(r), np.imag(r)])


def _jacobian(x: np.ndarray, order: int) -> np.ndarray:
    """Return the derivative of `_constraints`, (8, 6 order)."""
    z = (x[: 3 * order] + 1j * x[3 * order :]).reshape(3, order)
    rows = []
    for signs in _CONJUGATED:
        a, b, c = (part if s > 0 else part.conj() for part, s in zip(z, signs, strict=True))
        slopes = np.stack([b * c, a * c, a * b])
        rows.append(np.concatenate([slopes.ravel(), (1j * np.array(signs)[:, None] * slopes).ravel()]))
    return np.concatenate([np.real(rows), np.imag(rows)])


def _start(order: int, seed: int) -> np.ndarray:
    return np.random.default_rng((seed, order)).standard_normal(6 * order)


def _solve(start: np.ndarray, order: int, tolerance: float = 1e-12) -> Any:
    """Solve the constraints by least squares."""
    derivative: Any = _jacobian
    stop = dict.fromkeys(("xtol", "ftol", "gtol"), tolerance)
    return least_squares(_constraints, start, jac=derivative, args=(order,), **stop)


def _least_residual(order: int, seed: int) -> float:
    """Return √Σ|r|² at the best point reached from a random start."""
    return float((2 * _solve(_start(order, seed), order, tolerance=STOP).cost) ** 0.5)


def _least_norm(seed: int) -> np.ndarray:
    """Minimise the norm of a solution of order 3; return z (3, 3)."""
    limits = {"type": "eq", "fun": _constraints, "jac": _jacobian, "args": (3,)}
    options = {"maxiter": 500, "ftol": 1e-15}
    start = _solve(_start(3, seed), 3).x
    smallest = minimize(
        lambda x: x @ x, start, jac=lambda x: 2 * x, constraints=limits, options=options, method="SLSQP"
    )
    x = _solve(smallest.x, 3).x
    return (x[:9] + 1j * x[9:]).reshape(3, 3)


def _flat(z: np.ndarray) -> np.ndarray:
    return np.concatenate([np.real(z).ravel(), np.imag(z).ravel()])


def _distance(z: np.ndarray) -> float:
    """Measure how far z (3, 3), with r_kkk = 1, is from z̃ ∗ y: equal moduli, and all parts turn alike by thirds."""
    scaled = z * 3 ** (1 / 3)
    turned = scaled / scaled[:, :1]
    return float(np.abs(np.abs(scaled) - 1).max() + np.abs(turned - turned[0]).max() + abs(turned[0].sum()))


def _distance_up_to_signs(z: np.ndarray) -> float:
    """Measure how far the squares of z, which have no signs, are from those of z̃ ∗ y."""
    squares = (z * 3 ** (1 / 3)) ** 2
    turned = squares / squares[:, :1]
    return float(np.abs(np.abs(squares) - 1).max() + np.abs(turned - turned[0]).max() + abs(turned[0].sum()))
