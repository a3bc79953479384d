"""The required content of an estimator file, checked so that a loaded estimator can predict."""

from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Len
from pydantic import Field

from firstlight.records._layout import Form, Tensor, check_tensors
from firstlight.rfm._solvers.kernels import RANGES
from firstlight.rfm._updates import Normalize, Update

Label = bool | int | float | str
Share = Annotated[float, Ge(0), Le(1 + 1e-6)]
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


class Header(Form):
    """All content except the arrays.

    `classes`, `classes_dtype` and `temperature` belong to a classifier, `one_dimensional` to a regressor.
    """

    schema_: Annotated[Literal[2], Field(alias="schema")]
    estimator: Literal["RFMClassifier", "RFMRegressor"]
    kernel: Literal["laplace", "gaussian", "quadratic", "exponential"]
    params: dict[str, bool | int | float | str | None]
    words: Words
    history: Annotated[list[Step], Len(1)]
    names: list[str]
    classes: Annotated[list[Label], Len(1)] | None = None
    classes_dtype: str | None = None
    temperature: Annotated[float, Gt(0), Field(allow_inf_nan=False)] | None = None
    one_dimensional: bool | None = None

    @property
    def classifies(self) -> bool:
        """Whether the estimator is a classifier."""
        return self.estimator == "RFMClassifier"


def check(head: Header, arrays: dict[str, np.ndarray]) -> None:
    """Raise ValueError if header and arrays contradict each other or cannot come from a fit."""
    theirs = {"classes", "classes_dtype", "temperature"} if head.classifies else {"one_dimensional"}
    given = {
        name
        for name in ("classes", "classes_dtype", "temperature", "one_dimensional")
        if getattr(head, name) is not None
    }
    if given != theirs:
        raise ValueError(f"the header of an {head.estimator} has {', '.join(sorted(theirs))}; got {sorted(given)}")
    sizes = check_tensors(arrays, _declared(head))
    if min(sizes["m"], sizes["d"], sizes["c"]) < 1:
        raise ValueError(f"it must have at least one centre, one column and one output; got {sizes}")
    if head.names and len(head.names) != sizes["d"]:
        raise ValueError(f"it must name all {sizes['d']} columns or none; got {len(head.names)} names")
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


def labels(head: Header) -> np.ndarray:
    """Return the classes as the array of the fit."""
    spelled, given = head.classes_dtype or "", head.classes or []
    try:
        dtype = np.dtype(object) if spelled == "|O" else np.dtype(spelled)
    except (TypeError, ValueError):
        raise ValueError(f"classes_dtype must be a type of labels; got {spelled!r}") from None
    kinds: dict[str, Any] = {"b": bool, "i": int, "u": int, "f": float, "U": str, "M": int, "m": int, "O": Label}
    if dtype.kind not in kinds or dtype.itemsize > _LONGEST:
        raise ValueError(f"classes_dtype must be a type of labels; got {spelled!r}")
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
    }
    if head.classifies:
        return declared | {"prior": Tensor(("classes",), low=0.0, high=1 + 1e-6)}
    return declared | {"target_shift": Tensor(("c",)), "target_spread": Tensor(("c",), low=5e-324)}


def _check_metric(M: np.ndarray) -> None:
    slack = 1e-3 * float(np.abs(M).max())
    if np.abs(M - M.T).max() > slack or M.diagonal().min() < -slack:
        raise ValueError("feature_matrix_ must be symmetric with no negative diagonal entry; got another matrix")


def _check_classes(head: Header, prior: np.ndarray, outputs: int) -> None:
    count = len(labels(head))
    if (len(prior), outputs) != (count, max(count - 1, 1)):
        raise ValueError(
            f"{count} classes need {count} priors and {max(count - 1, 1)} outputs; got {len(prior)} and {outputs}"
        )
    if abs(float(prior.sum()) - 1) > 1e-6:
        raise ValueError(f"the priors of the classes must sum to 1; got {prior.sum():g}")
