"""Criteria: a clause, a measured number and its bound. The comparison decides, never the check."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from firstlight.records import Criterion, CriterionForm
from firstlight.records._values import plain

Numbers = float | Sequence[Any] | np.ndarray | Mapping[str, Any]
"""One number, or the numbers of several cases or seeds (nested tables and lists are flattened)."""


def at_most(
    clause: str,
    quantity: str,
    value: Numbers,
    limit: float,
    *,
    reason: str = "",
    form: CriterionForm = "statement",
    seeds: Iterable[int] = (),
) -> Criterion:
    """Require value ≤ limit; of several values, the largest decides.

    **Arguments:**

    - `clause`: the part of the statement, in words.
    - `quantity`: what was measured.
    - `value`: the number, or the numbers of several cases or seeds.
    - `limit`: the bound.
    - `reason`: why this bound.
    - `form`: `"statement"`, `"printed"`, `"corrected"` or `"precondition"`.
    - `seeds`: the seeds behind the number.

    >>> at_most("flow is gradient ascent", "relative error", [1e-12, 3e-12], 1e-10, reason="rounding").passed
    True
    """
    numbers = flatten(value)
    worst = _worst(numbers, np.max)
    return _row(clause, quantity, numbers, worst, f"≤ {limit:g}", bool(worst <= limit), reason, form, seeds)


def below(
    clause: str,
    quantity: str,
    value: Numbers,
    limit: float,
    *,
    reason: str = "",
    form: CriterionForm = "statement",
    seeds: Iterable[int] = (),
) -> Criterion:
    """Require value < limit; of several values, the largest decides. Arguments as in `at_most`.

    >>> below("memorises only", "test accuracy", 0.4, 0.4).passed
    False
    """
    numbers = flatten(value)
    worst = _worst(numbers, np.max)
    return _row(clause, quantity, numbers, worst, f"< {limit:g}", bool(worst < limit), reason, form, seeds)


def at_least(
    clause: str,
    quantity: str,
    value: Numbers,
    limit: float,
    *,
    reason: str = "",
    form: CriterionForm = "statement",
    seeds: Iterable[int] = (),
) -> Criterion:
    """Require value ≥ limit; of several values, the smallest decides. Arguments as in `at_most`.

    >>> at_least("generalises", "test accuracy", [1.0, 0.97], 0.95, seeds=(0, 1)).measured
    0.97
    """
    numbers = flatten(value)
    worst = _worst(numbers, np.min)
    return _row(clause, quantity, numbers, worst, f"≥ {limit:g}", bool(worst >= limit), reason, form, seeds)


def above(
    clause: str,
    quantity: str,
    value: Numbers,
    limit: float,
    *,
    reason: str = "",
    form: CriterionForm = "statement",
    seeds: Iterable[int] = (),
) -> Criterion:
    """Require value > limit; of several values, the smallest decides. Arguments as in `at_most`.

    >>> above("Muon is ahead of Adam", "difference in standard errors", 3.1, 3).passed
    True
    """
    numbers = flatten(value)
    worst = _worst(numbers, np.min)
    return _row(clause, quantity, numbers, worst, f"> {limit:g}", bool(worst > limit), reason, form, seeds)


def within(
    clause: str,
    quantity: str,
    value: Numbers,
    target: float,
    tolerance: float,
    *,
    reason: str = "",
    form: CriterionForm = "statement",
    seeds: Iterable[int] = (),
) -> Criterion:
    """Require |value − target| ≤ tolerance; of several values, the farthest decides. Other arguments as in `at_most`.

    >>> row = within("the prefactor falls like 1/K", "power of K", -2.1, -1.0, 0.2, form="printed")
    >>> row.required, row.passed
    ('-1 ± 0.2', False)
    """
    numbers = flatten(value)
    farthest = float(numbers[np.argmax(np.abs(numbers - target))]) if _usable(numbers) else float("nan")
    passed = bool(abs(farthest - target) <= tolerance)
    return _row(clause, quantity, numbers, farthest, f"{target:g} ± {tolerance:g}", passed, reason, form, seeds)


def equals(
    clause: str,
    quantity: str,
    value: Any,
    expected: Any,
    *,
    reason: str = "",
    form: CriterionForm = "statement",
    seeds: Iterable[int] = (),
) -> Criterion:
    """Require exact equality: counts, names, orders. Floating-point numbers belong in `within`.

    >>> equals("irreps of S4", "dimensions", [1, 1, 2, 3, 3], [1, 1, 2, 3, 3]).passed
    True
    """
    value, expected = plain(value), plain(expected)
    undefined = value is None or any(isinstance(x, float) and np.isnan(x) for x in np.atleast_1d(_leaves(value)))
    return Criterion(
        clause=clause,
        quantity=quantity,
        measured=float("nan") if undefined else value,
        required=f"= {_text(expected)}",
        reason=reason,
        passed=not undefined and value == expected,
        form=form,
        seeds=tuple(int(seed) for seed in seeds),
    )


def untested(clause: str, why: str, *, form: CriterionForm = "statement") -> Criterion:
    """Name a clause that this check does not test, so that the verdict is at most `partial`.

    >>> untested("no other maxima exist", "a search cannot show it").passed is None
    True
    """
    return Criterion(clause=clause, quantity="", required=f"not tested: {why}", passed=None, form=form)


def flatten(value: Any) -> np.ndarray:
    """Return all numbers of nested tables and lists as one array; None counts as NaN.

    >>> flatten({"a": [1, 2], "b": {"c": 3.5}}).tolist()
    [1.0, 2.0, 3.5]
    """
    return np.array([float("nan") if leaf is None else float(leaf) for leaf in _leaves(plain(value))], float)


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _usable(numbers: np.ndarray) -> bool:
    return len(numbers) > 0 and not np.isnan(numbers).any()


def _worst(numbers: np.ndarray, reduce: Any) -> float:
    """Return the deciding number; NaN if any number is missing, so that the verdict becomes inconclusive."""
    return float(reduce(numbers)) if _usable(numbers) else float("nan")


def _row(
    clause: str,
    quantity: str,
    numbers: np.ndarray,
    measured: float,
    required: str,
    passed: bool,
    reason: str,
    form: CriterionForm,
    seeds: Iterable[int],
) -> Criterion:
    spread = [float(numbers.min()), float(numbers.max())] if len(numbers) > 1 and _usable(numbers) else None
    return Criterion(
        clause=clause,
        quantity=quantity,
        measured=float(measured),
        required=required,
        reason=reason,
        passed=passed and not np.isnan(measured),
        form=form,
        seeds=tuple(int(seed) for seed in seeds),
        spread=spread,
    )


def _text(value: Any) -> str:
    return ", ".join(f"{item}" for item in value) if isinstance(value, list) else f"{value}"
