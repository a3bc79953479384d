"""`Criterion`: one row of a verdict — what a clause requires, what was measured, and whether it passed."""

import re
from typing import Any, Literal

from pydantic import model_validator

from firstlight.records._base import Frozen
from firstlight.records._values import Value

CriterionForm = Literal["statement", "printed", "corrected", "precondition"]
"""What a criterion belongs to: both forms of the statement, one of them, or what makes a measurement usable."""


_EXACT = {
    r"= .*": "exact: a count, a name or an order has no tolerance",
    r"[<>] [01]": "the clause itself, an order of two numbers; no tolerance",
    r"≥ 1": "the clause itself, all or at least one; no tolerance",
    r"≤ 0": "the clause itself, none; no tolerance",
}
"""Reasons of bounds that are the clause itself, by the form of the bound."""


class Criterion(Frozen):
    """A clause of a statement as a number and its bound.

    **Fields:**

    - `clause`: the part of the statement, in words.
    - `quantity`: what was measured, in words.
    - `measured`: its value; the worst one where several cases or seeds were measured.
    - `required`: the bound, as text such as "≤ 1e-09".
    - `reason`: why this bound or tolerance; filled in where the bound is the clause itself, such as a count.
    - `passed`: whether the bound holds; None if the clause was not tested.
    - `form`: whether the printed statement, the corrected one or both say it, or whether it is a precondition.
    - `seeds`: the seeds behind the number.
    - `spread`: smallest and largest value over cases and seeds.

    >>> Criterion(clause="E* = M/4", quantity="relative error", measured=0.0, required="≤ 1e-09", passed=True).form
    'statement'
    >>> Criterion(clause="irreps of S4", quantity="number", measured=5, required="= 5", passed=True).reason
    'exact: a count, a name or an order has no tolerance'
    """

    clause: str
    quantity: str
    measured: Value = None
    required: str
    reason: str = ""
    passed: bool | None
    form: CriterionForm = "statement"
    seeds: tuple[int, ...] = ()
    spread: Value = None

    @model_validator(mode="before")
    @classmethod
    def _give_reason(cls, values: Any) -> Any:
        """Fill in the reason of a bound that is the clause itself; a threshold or tolerance needs its own."""
        if not isinstance(values, dict) or values.get("reason") or values.get("passed") is None:
            return values
        required = str(values.get("required", ""))
        reason = next((words for form, words in _EXACT.items() if re.fullmatch(form, required, re.DOTALL)), "")
        return {**values, "reason": reason}
