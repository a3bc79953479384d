"""`Criterion`: one row of a verdict — what a clause requires, what was measured, and whether it passed."""

from typing import Literal

from firstlight.records._base import Frozen
from firstlight.records._values import Value

CriterionForm = Literal["statement", "printed", "corrected", "precondition"]
"""What a criterion belongs to: both forms of the statement, one of them, or what makes a measurement usable."""


class Criterion(Frozen):
    """A clause of a statement as a number and its bound.

    **Fields:**

    - `clause`: the part of the statement, in words.
    - `quantity`: what was measured, in words.
    - `measured`: its value; the worst one where several cases or seeds were measured.
    - `required`: the bound, as text such as "≤ 1e-09".
    - `reason`: why this bound or tolerance.
    - `passed`: whether the bound holds; None if the clause was not tested.
    - `form`: whether the printed statement, the corrected one or both say it, or whether it is a precondition.
    - `seeds`: the seeds behind the number.
    - `spread`: smallest and largest value over cases and seeds.

    >>> Criterion(clause="E* = M/4", quantity="relative error", measured=0.0, required="≤ 1e-09", passed=True).form
    'statement'
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
