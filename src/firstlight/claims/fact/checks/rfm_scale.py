"""The scale of M under FACT-RFM: exponents of the updates, and the drift that follows from them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, below, within
from firstlight.claims.fact.checks import _kernels
from firstlight.records import Criterion
from firstlight.rfm import ExactSolver, Kernel, Rule, normalized, updated

EXPONENT = 1e-6
"""Error of an exponent: ridgeless solves with condition numbers up to 1e8, 64 × 1e8 × 2⁻⁵²."""

DEGREES = (1, 2, 3, 4)


def power_kernel(q: int) -> Kernel:
    """Return the kernel k(t) = t^q."""

    class Power(Kernel):
        radial = False
        slopes_from_values = False

        def values(self, u: np.ndarray) -> None:
            u **= q

        def slopes(self, block: np.ndarray) -> None:
            block[...] = q * block ** (q - 1)

    return Power()


def problem_of_degree(q: int, seed: int) -> tuple[ExactSolver, np.ndarray]:
    """Return a ridgeless problem for k = t^q, and a metric. A kernel of degree 1 has rank d, so it gets d rows."""
    X, Y, M = _kernels.problem(seed, n=10, d=5)
    rows = slice(0, 5 if q == 1 else 10)
    return ExactSolver(X[rows], Y[rows], np.ones(len(X[rows])), power_kernel(q)), M


def _measure(setting: Setting) -> Measurement:
    """Measure exponents of FACT, AGOP and both updates under M → sM, and the drift of tr M over six iterations."""
    seed, s = setting.seeds_or((0,))[0], 1.7
    exponents: dict[str, dict[str, float]] = {}
    drift: dict[str, float] = {}
    for q in DEGREES:
        solver, M = problem_of_degree(q, seed)
        scaled = []
        for metric in (M, s * M):
            solver.load(metric)
            matrices = solver.matrices(solver.solve(0.0))
            steps = {u: updated(u, metric, matrices) for u in ("fact", "fact_geometric")}
            scaled.append([matrices.fact, matrices.agop, steps["fact"], steps["fact_geometric"]])
        names = ("FACT", "AGOP", "plain update", "geometric update")
        exponents[f"q = {q}"] = {
            name: float(np.log(np.trace(after) / np.trace(before)) / np.log(s))
            for name, before, after in zip(names, *scaled, strict=True)
        }
        if q in (2, 4):
            for update in ("fact", "fact_geometric"):
                for how in (None, "trace"):
                    drift[f"q = {q}, {update}, {how}"] = _drift(solver, Rule(update, how), normalized(M, "trace"))
    return Measurement({"exponents": exponents, "drift": drift}, {"degrees": DEGREES, "ridge": 0.0}, (seed,))


def _drift(solver: ExactSolver, rule: Rule, M: np.ndarray) -> float:
    """Return the decades between the largest and the smallest trace of M over six iterations, at most 99."""
    traces = [float(np.trace(M))]
    for _ in range(6):
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                solver.load(M)
                following = rule.next(M, solver.matrices(solver.solve(0.0)))
        except (ValueError, np.linalg.LinAlgError):
            following = None
        if following is None:
            return 99.0
        M = following
        traces.append(float(np.trace(M)))
    return min(float(np.log10(max(traces) / min(traces))), 99.0)


def _judge(data: Mapping[str, Any]) -> list[Criterion]:
    """Require the exponents to rounding, and drift exactly where an exponent is above 1 in modulus."""
    exponents, drift = data["exponents"], data["drift"]
    reason = "ridgeless solves with condition numbers up to 1e8, 64 × 1e8 × 2⁻⁵²"
    laws = {
        "FACT": ("FACT(sM) = s^(−q) FACT(M)", lambda q: -q),
        "AGOP": ("AGOP does not depend on s", lambda q: 0),
        "plain update": ("the plain update multiplies log s by −q", lambda q: -q),
        "geometric update": ("the geometric update multiplies log s by (1 − q)/2", lambda q: (1 - q) / 2),
    }
    criteria = []
    for name, (clause, law) in laws.items():
        errors = {f"q = {q}": exponents[f"q = {q}"][name] - law(q) for q in DEGREES}
        quantity = "exponent minus its law, q = 1, 2, 3, 4"
        criteria.append(within(clause, quantity, errors, 0, EXPONENT, reason=reason))
    apart = [drift[key] for key in ("q = 2, fact, None", "q = 4, fact, None", "q = 4, fact_geometric, None")]
    stable = [value for key, value in drift.items() if key.endswith("trace")] + [drift["q = 2, fact_geometric, None"]]
    quantity = "decades that tr M wanders in 6 iterations"
    return [
        *criteria,
        above(
            "the plain update diverges for q = 2, 4 and the geometric one for q = 4",
            quantity,
            apart,
            3,
            reason="|exponent| ≥ 3/2 multiplies an error of log s by 11 in six iterations",
        ),
        below(
            "the geometric update is stable for q = 2, and both are if the trace of M is kept",
            quantity,
            stable,
            1,
            reason="|exponent| ≤ 1/2 shrinks an error of log s",
        ),
    ]


scale_law = Check(_measure, _judge)
