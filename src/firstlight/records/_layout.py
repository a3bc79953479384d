"""Declared contents of array files (names, types, shapes), and the check of a file against them.

A reader declares its file as a `Form` (the JSON header) and a table of `Tensor`s, and opens it inside `reading`.
A file that does not match raises a `FileError` with the required content, the received content and a fix.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from firstlight.records._parsing import parse_json
from firstlight.records._shorten import shorten


class FileError(ValueError):
    """Raised for a file with wrong content; the message has the required and the received content and a fix."""


class Form(BaseModel):
    """A JSON header with exactly the declared fields and types; values are never converted."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


@dataclass(frozen=True)
class Tensor:
    """The declaration of one array of a file.

    **Arguments:**

    - `shape`: lengths, or names of lengths, which must agree between all arrays of the file.
    - `dtypes`: allowed kinds ("f", "iu") or full names ("float32").
    - `finite`: whether NaN and infinities are rejected.
    - `low`: the smallest allowed entry.
    - `high`: the largest allowed entry.
    - `optional`: whether the array may be absent.
    """

    shape: tuple[int | str, ...]
    dtypes: tuple[str, ...] = ("f",)
    finite: bool = True
    low: float = -np.inf
    high: float = np.inf
    optional: bool = False


F = TypeVar("F", bound=Form)


@contextmanager
def reading(path: str | os.PathLike[str], what: str, fix: str) -> Iterator[None]:
    """Turn a `ValueError` inside this context into a `FileError` with the file, the required content and a fix."""
    try:
        yield
    except FileError:
        raise
    except ValueError as error:
        raise FileError(f"{os.fspath(path)} is not {what}: {shorten(str(error), 600)}; {fix}") from None


def read_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Return the metadata and all arrays of a safetensors file; raise `ValueError` if it cannot be read."""
    from safetensors import SafetensorError, safe_open

    # Reading from a pipe or a device could block forever.
    if Path(path).exists() and not Path(path).is_file():
        raise ValueError("a safetensors file is required; got a folder, a pipe or a device")
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            return file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, AttributeError, TypeError, KeyError, OverflowError) as error:
        # NumPy has no bfloat16 and no 8-bit floats; safetensors then fails with one of several exceptions.
        raise ValueError(f"a whole safetensors file is required ({type(error).__name__}: {error})") from None


def parse_form(form: type[F], text: str | None, key: str) -> F:
    """Parse and check the JSON header `text`, which was under `key` in the metadata of a file."""
    return filled(form, parse_header(text, key))


def parse_header(text: str | None, key: str) -> Any:
    """Parse the JSON header `text`, which was under `key` in the metadata of a file."""
    if text is None:
        raise ValueError(f"its metadata must hold {key!r}; got none")
    return parse_json(text)


def filled(form: type[F], value: Any) -> F:
    """Return the form with the fields of `value`; raise `ValueError` for the first field that does not fit."""
    try:
        return form.model_validate(value)
    except ValidationError as error:
        raise ValueError(_first_problem(error)) from None


def check_tensors(arrays: Mapping[str, np.ndarray], declared: Mapping[str, Tensor]) -> dict[str, int]:
    """Check arrays against their declarations and return the named lengths.

    >>> line = {"x": Tensor(("n",)), "y": Tensor(("n",))}
    >>> check_tensors({"x": np.zeros(3), "y": np.ones(3)}, line)
    {'n': 3}
    >>> check_tensors({"x": np.zeros(3), "y": np.ones(4)}, line)
    Traceback (most recent call last):
    ValueError: array 'y' must have shape (n = 3); got (4)
    """
    if missing := [name for name, tensor in declared.items() if not tensor.optional and name not in arrays]:
        raise ValueError(f"it must hold the arrays {_list(missing)}; got {_list(arrays)}")
    if unknown := [name for name in arrays if name not in declared]:
        raise ValueError(f"it may hold the arrays {_list(declared)}; got {_list(unknown)} as well")
    sizes: dict[str, int] = {}
    for name, tensor in declared.items():
        if name in arrays:
            _check(name, arrays[name], tensor, sizes)
    return sizes


def _check(name: str, array: np.ndarray, tensor: Tensor, sizes: dict[str, int]) -> None:
    label = f"array {shorten(repr(name), 80)}"
    if not {array.dtype.kind, array.dtype.name} & set(tensor.dtypes):
        words = {"f": "floats", "i": "integers", "u": "unsigned integers", "b": "booleans", "c": "complex numbers"}
        wanted = " or ".join(words.get(kind, kind) for kind in tensor.dtypes)
        raise ValueError(f"{label} must hold {wanted}; got {array.dtype}")
    lengths = [sizes.get(n, n) if isinstance(n, str) else n for n in tensor.shape]
    if array.ndim != len(lengths) or any(
        isinstance(n, int) and n != m for n, m in zip(lengths, array.shape, strict=True)
    ):
        raise ValueError(f"{label} must have shape ({_shape(tensor.shape, sizes)}); got ({_shape(array.shape, {})})")
    for symbol, length in zip(tensor.shape, array.shape, strict=True):
        # The same name twice in one shape, as in (d, d), is checked here.
        if isinstance(symbol, str) and sizes.setdefault(symbol, length) != length:
            raise ValueError(f"{label} must have shape ({_shape(tensor.shape, {})}); got ({_shape(array.shape, {})})")
    if tensor.finite and not np.isfinite(array).all():
        bad = array.size - int(np.isfinite(array).sum())
        raise ValueError(f"{label} must be finite; got {bad} entries that are NaN or infinite")
    known = array[~np.isnan(array)] if array.dtype.kind in "fc" else array
    if array.dtype.kind in "iuf" and known.size and not (tensor.low <= known.min() and known.max() <= tensor.high):
        raise ValueError(
            f"{label} must lie from {tensor.low:g} to {tensor.high:g}; got {known.min():g} to {known.max():g}"
        )


def _shape(lengths: tuple[int | str, ...], sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{n} = {sizes[n]}" if n in sizes else str(n) for n in lengths)  # type: ignore[index]


def _list(names: Any) -> str:
    return shorten(", ".join(map(repr, names)) or "none", 200)


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    place = ".".join(map(str, problem["loc"]))
    given = "" if problem["type"] == "missing" else f" (got {shorten(repr(problem['input']), 80)})"
    return f"field {shorten(place, 80)!r} of the header: {problem['msg']}{given}"
