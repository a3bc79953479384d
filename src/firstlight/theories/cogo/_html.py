"""HTML of a solution for notebooks."""

from html import escape

from firstlight.theories.cogo._potentials import residuals
from firstlight.theories.cogo._solution import Solution

_TOLERANCE = 1e-9
_NAMES = {
    "R_plus": "R₊: r_kkk = 1/2d",
    "R_c": "R_c: other r_{k₁k₂k} = 0",
    "R_n": "R_n: r_{p0k′k} = 0",
    "R_conv": "R_⊛: r_{pmk′k} = 0, m ≠ 0",
}


def solution_html(solution: Solution) -> str:
    """Return a table of the constraint sets with a solution's residuals."""
    rows = []
    for name, value in vars(residuals(solution)).items():
        holds = "holds" if value <= _TOLERANCE else "does not hold"
        rows.append(f"<tr><td>{_NAMES[name]}</td><td>{holds}</td><td>{value:.1e}</td></tr>")
    head = "<tr><th>constraint set</th><th></th><th>largest residual</th></tr>"
    return f"<table><caption>{escape(repr(solution)[1:-1])}</caption>{head}{''.join(rows)}</table>"
