"""The verdict of a claim, derived from its criteria by one function for all claims."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.records import ClaimVerdict, Criterion
from firstlight.records._values import plain


def verdict(criteria: Sequence[Criterion], *, missing: Sequence[str] = ()) -> ClaimVerdict:
    """Derive the verdict from criteria and from what was not tested.

    * A NaN, a pass that rests on infinity, or a precondition that fails (such as convergence): `inconclusive`.
    * Every criterion of the printed statement passes: `holds`.
    * A printed one fails, one of the corrected statement was tested, and all of these pass: `holds-as-corrected`.
    * Otherwise `fails`.
    * `holds` and `holds-as-corrected` become `partial` if a clause was not tested or `missing` is not empty.

    **Arguments:**

    - `criteria`: the rows; `form` says which statement a row belongs to.
    - `missing`: sizes and data sets of the paper that were not tested, see `differences`.

    >>> from firstlight.claims import at_most, within
    >>> printed = within("E* = M/16", "E* on Z7", 1.75, 0.4375, 1e-9, form="printed")
    >>> corrected = within("E* = M/4", "E* on Z7", 1.75, 1.75, 1e-9, form="corrected")
    >>> verdict([printed, corrected]), verdict([printed]), verdict([printed, corrected], missing=["width: 64"])
    ('holds-as-corrected', 'fails', 'partial')
    """
    forms = {row.form for row in criteria}
    if "corrected" in forms and "printed" not in forms:
        raise ValueError("a criterion of the corrected statement needs that of the printed one, which it replaces")
    tested = [row for row in criteria if row.passed is not None]
    judged = [row for row in tested if row.form != "precondition"]
    if not judged or any(_undefined(row) for row in tested):
        return "inconclusive"
    if any(row.form == "precondition" and not row.passed for row in tested):
        return "inconclusive"
    printed = all(row.passed for row in judged if row.form in ("statement", "printed"))
    corrected = any(row.form == "corrected" for row in judged)
    if not printed and not (corrected and all(row.passed for row in judged if row.form != "printed")):
        return "fails"
    if missing or len(tested) < len(criteria):
        return "partial"
    return "holds" if printed else "holds-as-corrected"


def differences(setting: Mapping[str, Any], paper_setting: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a line for each printed field of the paper's setting that a measurement did not use.

    A field whose printed value is None was not printed; any choice is accepted.

    >>> differences({"width": 64, "seeds": 15}, {"width": 1024, "seeds": 15, "learning rate": None})
    ('width: 64; in the paper 1024',)
    """
    lines = []
    for field, printed in plain(paper_setting).items():
        used = plain(setting.get(field))
        if printed is not None and used != printed:
            lines.append(f"{field}: {'not stated' if used is None else _text(used)}; in the paper {_text(printed)}")
    return tuple(lines)


def _undefined(row: Criterion) -> bool:
    """Tell whether a criterion decides nothing: NaN, or a pass that rests on infinity on either side."""
    value = row.measured
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    is_infinite = (isinstance(value, float) and math.isinf(value)) or "inf" in row.required.split()
    return bool(row.passed) and is_infinite


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
