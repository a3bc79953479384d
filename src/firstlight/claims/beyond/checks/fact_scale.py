"""Why the scale of M runs away under plain FACT-RFM: an exact recursion for log tr M."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_most, below
from firstlight.claims.fact.checks.rfm_scale import problem_of_degree
from firstlight.records import Criterion, figure
from firstlight.rfm import Rule, normalized

DEGREES = (2, 3, 4)
RECURSION = 1e-5
"""Error of the recursion: ridgeless solves with condition numbers up to 1e8, 64 × 1e8 × 2⁻⁵², times q, rounded up."""


def _measure(setting: Setting) -> Measurement:
    """Follow log tr M under the plain and the geometric update, and compare each step with the recursion."""
    seeds = setting.seeds_or(range(setting.choose(quick=2, paper=10)))
    runs: dict[str, list[dict[str, Any]]] = {}
    for q in DEGREES:
        for update in ("fact", "fact_geometric"):
            runs[f"q = {q}, {update}"] = [_follow(q, Rule(update, None), seed) for seed in seeds]
    series = [
        figure.Series(name, np.arange(len(values[0]["log trace"])), np.array(values[0]["log trace"]))
        for name, values in runs.items()
    ]
    shown = figure.curves(series, x="iteration", y="log tr M", title="The scale of M without normalisation")
    return Measurement({"runs": runs}, {"degrees": DEGREES, "ridge": 0.0, "rows": 10}, seeds, (shown,))


def _follow(q: int, rule: Rule, seed: int) -> dict[str, Any]:
    """Return log tr M over up to five iterations, and the largest error of the recursion."""
    solver, M = problem_of_degree(q, seed)
    exponent = -q if rule.update == "fact" else (1 - q) / 2
    M = normalized(M, "trace")
    logs, errors = [float(np.log(np.trace(M)))], []
    for _ in range(5):
        following = _next(solver, rule, M)
        unit = _next(solver, rule, M / np.trace(M))
        if following is None or unit is None or abs(logs[-1]) > 25:
            break
        logs.append(float(np.log(np.trace(following))))
        errors.append(abs(logs[-1] - exponent * logs[-2] - float(np.log(np.trace(unit)))))
        M = following
    return {"log trace": logs, "error": max(errors), "range": max(logs) - min(logs)}


def _next(solver: Any, rule: Rule, M: np.ndarray) -> np.ndarray | None:
    solver.load(M)
    return rule.next(M, solver.matrices(solver.solve(0.0)))


def _judge(data: Mapping[str, Any]) -> list[Criterion]:
    """Require the recursion to rounding, growth where its factor is above 1 in modulus, and rest where it is below."""
    runs = data["runs"]
    plain = [run["range"] for name, values in runs.items() if name.endswith("fact") for run in values]
    stable = [run["range"] for run in runs["q = 2, fact_geometric"]]
    limit = 3 * float(np.log(10))
    quantity = "range of log tr M over the iterations"
    return [
        *(
            at_most(
                f"log tr M′ = e·log tr M + log tr U(M/tr M), e = −q or (1 − q)/2: {name}",
                "largest error over the iterations",
                [run["error"] for run in values],
                RECURSION,
                reason="ridgeless solves with condition numbers up to 1e8, 64 × 1e8 × 2⁻⁵², times q",
            )
            for name, values in runs.items()
        ),
        above(
            "under the plain update the scale runs away for q ≥ 2",
            quantity,
            plain,
            limit,
            reason="three decades; a factor −q multiplies every deviation by at least 2 in modulus",
        ),
        below(
            "under the geometric update it stays for q = 2, where e = −1/2",
            quantity,
            stable,
            limit,
            reason="three decades; a factor −1/2 shrinks every deviation",
        ),
    ]


scale_runaway = Check(_measure, _judge)
