"""The required content of an estimator file, checked so that a loaded estimator can predict."""

from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Len
from pydantic import Field

from firstlight.records._layout import Form, Tensor, check_tensors
from firstlight.rfm._encoding.encoding import Encoding
from firstlight.rfm._solvers.kernels import RANGES
from firstlight.rfm._state import encoding_of
from firstlight.rfm._updates import Normalize, Update

Label = bool | int | float | str
Share = Annotated[float, Ge(0), Le(1 + 1e-6)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
_LONGEST = 1 << 18
"""Largest size of a label in bytes, so that a forged dtype cannot exhaust the memory."""


class Words(Form):
    """Fitted attributes that are not arrays."""

    n_iter_: Annotated[int, Ge(0)]
    ridge_: Annotated[float, Ge(0), Field(allow_inf_nan=False)]
    bandwidth_: Annotated[float, Gt(0), Field(allow_inf_nan=False)]
    condition_: float
    captured_: float
    precision_: Literal["float32", "float64"]
    solver_: Literal["exact", "centers"]
    update_: Update | None
    normalize_: Normalize | None


class Step(Form):
    """A row of `history_`; non-finite numbers are null."""

    update: Update | None
    normalize: Normalize | None
    kernel: str
    bandwidth: float | None
    columns: Literal["all", "linked"]
    iteration: Annotated[int, Ge(0)]
    score: float | None
    error: float | None
    judged: Annotated[int, Ge(0)]
    ridge: float | None
    alignment: float | None
    change: float | None
    condition: float | None
    chosen: bool


class NumberForm(Form):
    """A column of numbers."""

    kind: Literal["number"]
    fill: Finite
    gaps: bool


class DateForm(Form):
    """A column of dates."""

    kind: Literal["date"]
    fill: Finite
    gaps: bool
    cycles: list[Literal["year", "week", "day"]]


class CategoryForm(Form):
    """A column of levels."""

    kind: Literal["category"]
    levels: list[str]
    missing: bool
    pooled: bool
    shares: list[Share]


class IgnoredForm(Form):
    """A column without any value in the fit."""

    kind: Literal["ignored"]


ColumnForm = Annotated[NumberForm | DateForm | CategoryForm | IgnoredForm, Field(discriminator="kind")]


class LabelsForm(Form):
    """One column of labels."""

    classes: Annotated[list[Label], Len(1)]
    dtype: str
    temperature: Annotated[float, Gt(0), Field(allow_inf_nan=False)]


class ClassWeight(Form):
    """An entry of the parameter `class_weight`."""

    label: Label
    weight: Finite


class Bin(Form):
    """A row of `calibration_`."""

    predicted: Share
    observed: Share
    rows: Annotated[float, Ge(0), Field(allow_inf_nan=False)]


Parameter = bool | int | float | str | None | list[bool] | list[int] | list[str]


class Header(Form):
    """All content except the arrays.

    `labels`, `calibration` and `class_weight` belong to a classifier, `one_dimensional` to a regressor.
    `class_weight` has the weights of each column of labels, if they are given one by one.
    """

    schema_: Annotated[Literal[3], Field(alias="schema")]
    estimator: Literal["RFMClassifier", "RFMRegressor"]
    kernel: Literal["laplace", "gaussian", "quadratic", "exponential"]
    params: dict[str, Parameter]
    words: Words
    history: Annotated[list[Step], Len(1)]
    names: list[str]
    columns: Annotated[list[ColumnForm], Len(1)]
    labels: Annotated[list[LabelsForm], Len(1)] | None = None
    calibration: list[Bin] | None = None
    class_weight: list[list[ClassWeight]] | None = None
    one_dimensional: bool | None = None

    @property
    def classifies(self) -> bool:
        """Whether the estimator is a classifier."""
        return self.estimator == "RFMClassifier"


def check(head: Header, arrays: dict[str, np.ndarray]) -> None:
    """Raise ValueError if header and arrays contradict each other or cannot come from a fit."""
    theirs = {"labels", "calibration"} if head.classifies else {"one_dimensional"}
    given = {name for name in ("labels", "calibration", "one_dimensional") if getattr(head, name) is not None}
    if given != theirs:
        raise ValueError(f"the header of an {head.estimator} has {', '.join(sorted(theirs))}; got {sorted(given)}")
    sizes = check_tensors(arrays, _declared(head))
    if min(sizes["m"], sizes["d"], sizes["c"]) < 1:
        raise ValueError(f"it must have at least one centre, one column and one output; got {sizes}")
    if head.names and len(head.names) != len(head.columns):
        raise ValueError(f"it must name all {len(head.columns)} columns or none; got {len(head.names)} names")
    if (width := len(encoding(head).owners)) != sizes["d"]:
        raise ValueError(f"its columns must be encoded as {sizes['d']} columns; got {width}")
    if head.params.get("kernel") not in ("auto", head.kernel):
        raise ValueError(
            f"its kernel must equal the parameter kernel={head.params.get('kernel')!r}; got {head.kernel!r}"
        )
    if sum(step.chosen for step in head.history) != 1:
        raise ValueError("exactly one row of its history must be the chosen one")
    _check_metric(arrays["feature_matrix_"])
    if head.classifies:
        _check_classes(head, arrays["prior"], sizes["c"])
    elif head.one_dimensional and sizes["c"] != 1:
        raise ValueError(f"one_dimensional means one output; got {sizes['c']}")


def encoding(head: Header) -> Encoding:
    """Return the encoding of the columns."""
    made = []
    for form in head.columns:
        if isinstance(form, CategoryForm):
            if len(form.shares) != len(form.levels) + form.missing + form.pooled or not form.shares:
                raise ValueError("a category must have a share for each level, gaps and rare levels; got others")
            if len(set(form.levels)) < len(form.levels):
                raise ValueError("the levels of a category must differ; got one twice")
        made.append(form.model_dump())
    return encoding_of(made)


def classes_of(form: LabelsForm) -> np.ndarray:
    """Return the classes as the array of the fit."""
    spelled, given = form.dtype, form.classes
    try:
        dtype = np.dtype(object) if spelled == "|O" else np.dtype(spelled)
    except (TypeError, ValueError):
        raise ValueError(f"the dtype of classes must be a type of labels; got {spelled!r}") from None
    kinds: dict[str, Any] = {"b": bool, "i": int, "u": int, "f": float, "U": str, "M": int, "m": int, "O": Label}
    if dtype.kind not in kinds or dtype.itemsize > _LONGEST:
        raise ValueError(f"the dtype of classes must be a type of labels; got {spelled!r}")
    # Python counts a bool as an int, but it is no numeric label.
    fits = all(isinstance(label, kinds[dtype.kind]) and (dtype.kind in "bO" or label is not True) for label in given)
    try:
        array = np.array(given, dtype=dtype)
        again = (array.view(np.int64) if dtype.kind in "mM" else array).tolist()
        if fits and again == given and np.array_equal(np.unique(array), array):
            return array
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"classes must be different labels of type {spelled!r} in increasing order; got others")


def _declared(head: Header) -> dict[str, Tensor]:
    precision = head.words.precision_
    largest = float(np.finfo(precision).max)
    far = RANGES[np.dtype(precision)]
    declared = {
        "_centres": Tensor(("m", "d"), (precision,), low=-far, high=far),
        "_beta": Tensor(("m", "c"), (precision,), low=-(largest**0.9), high=largest**0.9),
        "feature_matrix_": Tensor(("d", "d"), ("f",), low=-(largest**0.5), high=largest**0.5),
        "shift": Tensor(("d",)),
        "spread": Tensor(("d",), low=5e-324),
        "leaf_root": Tensor(("d", "d"), optional=True),
        "leaf_rows": Tensor(("k", "d"), (precision,), low=-far, high=far, optional=True),
        "leaf_gamma": Tensor(("k", "c"), (precision,), low=-(largest**0.9), high=largest**0.9, optional=True),
        "leaf_edges": Tensor(("edges",), ("i",), optional=True),
        "leaf_bandwidths": Tensor(("leaves",), low=1e-70, high=1e70, optional=True),
        "leaf_directions": Tensor(("nodes", "d"), optional=True),
        "leaf_thresholds": Tensor(("nodes",), optional=True),
        "variances": Tensor(("d",), low=0.0),
    }
    if head.classifies:
        return declared | {"prior": Tensor(("classes",), low=0.0, high=1 + 1e-6)}
    return declared | {
        "target_shift": Tensor(("c",)),
        "target_spread": Tensor(("c",), low=5e-324),
        "residuals": Tensor(("r", "c"), low=0.0),
        "levels": Tensor(("r", "c"), low=0.0, high=1.0),
    }


def _check_metric(M: np.ndarray) -> None:
    slack = 1e-3 * float(np.abs(M).max())
    if np.abs(M - M.T).max() > slack or M.diagonal().min() < -slack:
        raise ValueError("feature_matrix_ must be symmetric with no negative diagonal entry; got another matrix")


def _check_classes(head: Header, prior: np.ndarray, outputs: int) -> None:
    counts = [len(classes_of(form)) for form in head.labels or []]
    needed = sum(max(count - 1, 1) for count in counts)
    if (len(prior), outputs) != (sum(counts), needed):
        raise ValueError(
            f"{sum(counts)} classes need {sum(counts)} priors and {needed} outputs; got {len(prior)} and {outputs}"
        )
    for part in np.split(prior, np.cumsum(counts)[:-1]):
        if abs(float(part.sum()) - 1) > 1e-6:
            raise ValueError(f"the priors of the classes must sum to 1; got {part.sum():g}")
