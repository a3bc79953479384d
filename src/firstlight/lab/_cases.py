"""The settings of the staircase room: five cases, a form of short names for each, and what is wrong with a form."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firstlight.lab._form import FormError
from firstlight.lab._pasted import read_pasted

DATASETS = {
    "corner": "two corners: 2·max(x₁, 0) − max(x₂, 0)",
    "pair": "two targets: 3·tanh x₁ and tanh x₂",
}
"""Data sets of the network case, with their names for the menu."""

ACTIVATIONS = ("relu", "tanh", "quadratic", "linear")


@dataclass(frozen=True)
class Control:
    """A control of the form.

    **Attributes:**

    - `name`: the short name in the address.
    - `label`: the words beside the control.
    - `help`: one sentence for a reader who has not read the paper.
    - `kind`: "text", "number", "slider", "template", "data", or the choices of a menu.
    - `least`, `most`: limits of a number.
    - `whole`: whether the number is whole.
    """

    name: str
    label: str
    help: str
    kind: Any = "number"
    least: float = 0.0
    most: float = math.inf
    whole: bool = False


CONTROLS = (
    Control("alpha", "Scale α of the first weights", "Smaller weights wait longer and jump more sharply.", "slider"),
    Control("values", "Strengths", "One number for each feature to learn, separated by commas.", "text"),
    Control("template", "Template", "Draw the wave that the network must learn to shift.", "template"),
    Control("dataset", "Data set", "Small inputs with one target.", DATASETS),
    Control("data", "Your own data", "One example per line; the last columns are the targets.", "data"),
    Control("targets", "Target columns", "How many of the last columns are targets.", "number", 1, 5, True),
    Control("samples", "Examples", "Random inputs that are drawn.", "number", 2, 2000, True),
    Control("context", "Examples in a prompt", "How many examples the attention sees.", "number", 1, 1000, True),
    Control("width", "Hidden units", "Heads, for attention.", "number", 1, 40, True),
    Control("activation", "Activation", "The nonlinearity of a hidden unit.", ACTIVATIONS),
    Control("seed", "Seed", "Which weights and inputs are drawn.", "number", 0, 2**32 - 1, True),
)
"""The controls in the order of the page."""


@dataclass(frozen=True)
class Kind:
    """A case that AGF solves.

    **Attributes:**

    - `title`: its name on the page.
    - `what`: one sentence on what is learned.
    - `defaults`: the controls that it has, with their first values.
    - `alphas`: the smallest and the largest α.
    """

    title: str
    what: str
    defaults: dict[str, str]
    alphas: tuple[float, float]


_WAVES = "1.5, 0.65, -0.1, 0.1, -0.65, -1.5, -0.65, 0.1, -0.1, 0.65"
"""The waves of frequency 1 (size 5) and 3 (size 2.5) modulo 10, rounded."""

KINDS = {
    "diagonal": Kind(
        "Diagonal network",
        "Sparse regression y = (u ∘ v)·x: coefficients wake up one after the other.",
        {"alpha": "1e-6", "values": "3, -2, 1, 0.5", "samples": "40", "data": "", "seed": "0"},
        (1e-100, 0.5),
    ),
    "linear": Kind(
        "Linear network",
        "Two linear layers learn one singular mode of the data after another.",
        {"alpha": "1e-6", "values": "4, 2, 1, 0.5", "width": "8", "data": "", "targets": "1", "seed": "0"},
        (1e-30, 0.3),
    ),
    "attention": Kind(
        "Attention",
        "Linear attention learns regression from examples in its prompt, one principal component at a time.",
        {"alpha": "0.01", "values": "1, 0.5, 0.33, 0.25", "context": "32", "width": "5", "seed": "0"},
        (1e-4, 0.2),
    ),
    "modular": Kind(
        "Modular addition",
        "A quadratic network adds modulo p, with your template in place of a one-hot code; it learns waves in turn.",
        {"alpha": "0.05", "template": _WAVES, "width": "16", "seed": "0"},
        (1e-3, 0.3),
    ),
    "network": Kind(
        "Network on data",
        "A two-layer network with ReLU (or another activation) on a small data set, or on yours.",
        {"alpha": "1e-3", "dataset": "corner", "activation": "relu", "data": "", "targets": "1", "width": "8",
         "seed": "0"},
        (1e-20, 0.3),
    ),
}  # fmt: skip
"""The cases by their names in the address."""

_MOST_VALUES = 12
_TEMPLATE = (5, 24)
_NETWORK_ROWS, _NETWORK_COLUMNS = 500, 20


def default_case(case: str = "diagonal") -> dict[str, str]:
    """Return the form of a new page.

    >>> default_case("attention")["context"]
    '32'
    """
    return {"case": case, **KINDS[case].defaults}


def whole_form(form: Mapping[str, str]) -> dict[str, str]:
    """Return the form with the defaults of its case, without controls that the case does not have.

    >>> whole_form({"case": "modular", "context": "3"})["width"]
    '16'
    """
    case = form.get("case", "diagonal")
    if case not in KINDS:
        raise FormError({"case": f"choose one of {', '.join(KINDS)}"})
    names = KINDS[case].defaults
    return default_case(case) | {name: str(value).strip() for name, value in form.items() if name in names}


def parse_case(form: Mapping[str, str], folder: Path | None) -> dict[str, Any]:
    """Return the values of a whole form; a `FormError` says which control is wrong, and why.

    **Arguments:**

    - `form`: the controls as text.
    - `folder`: the folder of pasted data.

    >>> parse_case(default_case("linear"), None)["values"]
    array([4. , 2. , 1. , 0.5])
    >>> parse_case(default_case("diagonal") | {"alpha": "7"}, None)
    Traceback (most recent call last):
    firstlight.lab._form.FormError: alpha: must lie between 1e-100 and 0.5 for this case; got 7
    """
    form = whole_form(form)
    case = form["case"]
    problems: dict[str, str] = {}
    parsed: dict[str, Any] = {"case": case}
    for control in CONTROLS:
        if control.name in form:
            try:
                parsed[control.name] = _value(control, form[control.name], case, folder)
            except ValueError as error:
                problems[control.name] = str(error)
    if not problems and parsed.get("data") is not None:
        problems |= _data_problems(case, parsed["data"], parsed.get("targets", 1))
    if problems:
        raise FormError(problems)
    return parsed


def _value(control: Control, text: str, case: str, folder: Path | None) -> Any:
    if control.kind == "slider":
        return _alpha(text, *KINDS[case].alphas)
    if control.kind == "text":
        return _strengths(text, case)
    if control.kind == "template":
        return _template(text)
    if control.kind == "data":
        return read_pasted(folder, text) if text else None
    if control.kind == "number":
        return _number(control, text)
    if text not in control.kind:
        raise ValueError(f"choose one of {', '.join(control.kind)}")
    return text


def _alpha(text: str, least: float, most: float) -> float:
    try:
        alpha = float(text)
    except ValueError:
        raise ValueError(f"must be a number such as 1e-6; got {text[:40]!r}") from None
    if not least <= alpha <= most:
        raise ValueError(f"must lie between {least:g} and {most:g} for this case; got {text[:40]}")
    return alpha


def _number(control: Control, text: str) -> int:
    if not re.fullmatch(r"[+-]?\d{1,12}", text):
        raise ValueError(f"must be a whole number; got {text[:40]!r}")
    value = int(text)
    if not control.least <= value <= control.most:
        raise ValueError(f"must lie between {control.least:g} and {control.most:.0f}; got {text[:40]}")
    return value


def numbers_of(text: str) -> np.ndarray:
    """Return numbers that are separated by commas or spaces; `ValueError` names what is no number.

    >>> numbers_of("3, -2 1")
    array([ 3., -2.,  1.])
    """
    words = re.findall(r"[^\s,;]+", text)
    try:
        values = np.array([float(word) for word in words])
    except ValueError:
        wrong = next(word for word in words if not _is_number(word))
        raise ValueError(f"numbers are needed; {wrong[:40]!r} is none") from None
    if not np.isfinite(values).all():
        raise ValueError("every number must be finite")
    return values


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _strengths(text: str, case: str) -> np.ndarray:
    values = numbers_of(text)
    if not 1 <= len(values) <= _MOST_VALUES:
        raise ValueError(f"give from 1 to {_MOST_VALUES} numbers; got {len(values)}")
    if case == "attention" and not (values > 0).all():
        raise ValueError("variances of the inputs are needed, all above 0")
    if not values.any():
        raise ValueError("all strengths are zero, so there is nothing to learn; give at least one other number")
    if np.abs(values).max() > 100 or np.abs(values[values != 0]).min() < 0.01:
        raise ValueError("strengths other than 0 must lie between 0.01 and 100 in size")
    return values


def _template(text: str) -> np.ndarray:
    values = numbers_of(text)
    if not _TEMPLATE[0] <= len(values) <= _TEMPLATE[1]:
        raise ValueError(f"a template has from {_TEMPLATE[0]} to {_TEMPLATE[1]} numbers; got {len(values)}")
    if np.abs(values).max() > 100:
        raise ValueError("a template has numbers of at most 100 in size")
    if np.ptp(values) < 1e-3:
        raise ValueError("the template is flat, so there is no wave to learn; draw one, or press Three waves")
    return values


def _data_problems(case: str, data: np.ndarray, targets: int) -> dict[str, str]:
    rows, columns = data.shape
    if columns <= targets:
        return {"targets": f"the data have {columns} columns; leave at least one for the inputs"}
    if case == "network" and (rows > _NETWORK_ROWS or columns > _NETWORK_COLUMNS):
        limits = f"{_NETWORK_ROWS} rows and {_NETWORK_COLUMNS} columns"
        return {"data": f"a network takes at most {limits} in the lab; got {rows} rows and {columns} columns"}
    if not data[:, -targets:].any():
        return {"data": "every target is zero, so there is nothing to learn"}
    return {}
