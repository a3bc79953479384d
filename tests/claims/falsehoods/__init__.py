"""False data for every judge: each function takes measured data and returns data that contradict the claim.

`FALSEHOODS` of a paper's module maps a claim's id to functions by name. `test_teeth.py` demands that none of them
gives a verdict of holds, holds-as-corrected or partial, and that every claim has at least one.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Any

Data = dict[str, Any]
Falsehood = Callable[[Data], Data]

LABELS = ("seed", "seeds", "width", "widths")
"""Entries that name a run and are not measured."""


def put(path: str | tuple[str, ...], value: Any) -> Falsehood:
    """Replace the entry at a path such as "deviations/modulus" or, for names with a slash, ("|x̂|²/p", "0").

    A function is applied to the entry.
    """

    def falsify(data: Data) -> Data:
        changed = copy.deepcopy(data)
        *folders, last = path.split("/") if isinstance(path, str) else path
        place: Any = changed
        for name in folders:
            place = place[int(name) if isinstance(place, list) else name]
        key: Any = int(last) if isinstance(place, list) else last
        place[key] = value(place[key]) if callable(value) else value
        return changed

    return falsify


def everywhere(change: Callable[[float], float]) -> Falsehood:
    """Apply a function to every number of the data; booleans and the labels of runs stay."""

    def falsify(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: item if key in LABELS else falsify(item) for key, item in value.items()}
        if isinstance(value, list):
            return [falsify(item) for item in value]
        return change(value) if isinstance(value, int | float) and not isinstance(value, bool) else value

    return falsify
