"""Kinds of columns, and the values of a column as numbers or as named levels."""

import re
from datetime import date
from numbers import Real
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

Kind = Literal["number", "category", "date", "empty"]

_INFERRED: dict[str, Kind] = {
    "empty": "empty",
    "boolean": "number",
    "integer": "number",
    "floating": "number",
    "mixed-integer-float": "number",
    "decimal": "number",
    "datetime64": "date",
    "datetime": "date",
    "date": "date",
    "period": "date",
    "timedelta64": "number",
    "timedelta": "number",
}
_DAY = np.timedelta64(1, "D")

_ISO = re.compile(r"\d{4}([-/])\d{2}\1\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")
_OFFSET = r":\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})$"
_FIRST = 20
"""Cells that must be ISO dates before a whole column is tried."""


def as_frame(X: Any) -> Any:
    """Return X as a data frame, one typed column per column; None if X is not a table of two dimensions.

    >>> as_frame(np.array([["a", "1.5"], ["b", "2"]])).dtypes.tolist()[1]
    dtype('float64')
    """
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        return X
    array = np.asarray(X)
    if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
        # NumPy spells numbers beside text as text; as objects they remain numbers.
        array = np.asarray(X, dtype=object)
    if array.ndim != 2:
        return None
    frame = pd.DataFrame(array)
    if array.dtype.kind in "US":
        for name in frame:
            try:
                frame[name] = pd.to_numeric(frame[name])
            except (TypeError, ValueError):
                continue
    return frame


def is_numeric(X: Any) -> bool:
    """Return whether all cells of X are numbers or gaps, so that X is an array of floats as it stands.

    >>> is_numeric([[1, None], [2.0, 3]]), is_numeric([["a", 1]])
    (True, False)
    """
    import pandas as pd
    from scipy.sparse import issparse

    if issparse(X):
        return True
    if isinstance(X, pd.DataFrame):
        return all(dtype.kind in "fiubc" for dtype in X.dtypes)
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths
        return True
    if array.dtype.kind != "O":
        return array.dtype.kind not in "USMm" or array.ndim != 2
    try:
        array.astype(np.float64)
    except (TypeError, ValueError):
        return array.ndim != 2
    return True


def kind_of(column: Any) -> Kind:
    """Return what a column of a data frame holds; durations count as numbers.

    >>> import pandas as pd
    >>> kind_of(pd.Series(["a", None])), kind_of(pd.Series([True, False])), kind_of(pd.Series([None, None]))
    ('category', 'number', 'empty')
    """
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return "category" if column.notna().any() else "empty"
    if column.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: column {column.name!r}; give its real and imaginary parts")
    if not column.notna().any():
        return "empty"
    if column.dtype.kind in "fiubm":
        return "number"
    if column.dtype.kind == "M":
        return "date"
    inferred = pd.api.types.infer_dtype(column, skipna=True)
    if inferred == "string" and iso_dates(column) is not None:
        return "date"
    return _INFERRED.get(inferred, "category")


def iso_dates(column: Any) -> Any:
    """Return a column of text as dates, in UTC if one has an offset; None if a cell is no ISO date.

    >>> import pandas as pd
    >>> iso_dates(pd.Series(["2024-03-01", None, "2024/03/02 12:30"])).dt.day.tolist()
    [1.0, nan, 2.0]
    >>> iso_dates(pd.Series(["2024-02-31"])) is None
    True
    """
    import pandas as pd

    cells = column.dropna()
    if not len(cells) or not all(isinstance(cell, str) and _ISO.fullmatch(cell) for cell in cells.head(_FIRST)):
        return None
    if not cells.str.fullmatch(_ISO.pattern, na=False).all():
        return None
    zoned = bool(cells.str.contains(_OFFSET, regex=True).any())
    try:
        return pd.to_datetime(column.str.replace("/", "-"), format="ISO8601", utc=zoned)
    except ValueError:  # such as 2024-02-31, which is no date
        return None


def numbers(column: Any) -> Float[np.ndarray, " n"]:
    """Return the numbers of a column, NaN for gaps; durations become days.

    >>> import pandas as pd
    >>> numbers(pd.Series(pd.to_timedelta(["36h", None])))
    array([1.5, nan])
    """
    import pandas as pd

    if column.dtype.kind == "O" and pd.api.types.infer_dtype(column, skipna=True).startswith("timedelta"):
        column = pd.to_timedelta(column)
    if column.dtype.kind == "m":
        values = column.to_numpy(dtype="m8[ns]") / _DAY
    else:
        try:
            cells: Any = pd.to_numeric(column.astype(object))
            values = cells.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"column {column.name!r} held numbers in fit; got other cells ({error}); give numbers or gaps"
            ) from None
    if np.isinf(values).any():
        raise ValueError(
            f"Input X contains infinity in column {column.name!r}; replace it by a number or by a missing value"
        )
    return values


def days(column: Any) -> Float[np.ndarray, " n"]:
    """Return dates as days since 1970-01-01 in UTC, NaN for gaps.

    >>> import pandas as pd
    >>> days(pd.Series(pd.to_datetime(["1970-01-02 12:00", None])))
    array([1.5, nan])
    """
    import pandas as pd

    if pd.api.types.infer_dtype(column, skipna=True) == "period":
        column = pd.Series(pd.PeriodIndex(column).to_timestamp(), index=column.index, name=column.name)
    try:
        cells = column if column.dtype.kind == "M" else iso_dates(column)
        stamps = pd.to_datetime(column.astype(object) if cells is None else cells, utc=True)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {column.name!r} held dates in fit; got other cells ({error}); give dates") from None
    return (stamps.dt.tz_localize(None).to_numpy() - np.datetime64(0, "s")) / _DAY


def levels(column: Any) -> tuple[Int[np.ndarray, " n"], list[str]]:
    """Return the code of each cell, −1 for gaps, and the names of the levels.

    A number and its text are the same level, so that a column that a gap has turned from int to float has the same
    levels as before.

    >>> import pandas as pd
    >>> levels(pd.Series(["b", None, "a"], dtype="category"))
    (array([ 1, -1,  0]), ['a', 'b'])
    >>> levels(pd.Series([2.0, None, 1.5]))[1]
    ['2', '1.5']
    """
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        codes, values = column.cat.codes.to_numpy(), list(column.cat.categories)
    else:
        if column.dtype.kind == "O":
            column = column.astype(object)
        try:
            codes, values = pd.factorize(column)
        except TypeError:
            raise _not_a_cell(column) from None
    names = [_spelled(value, column) for value in values]
    unique = list(dict.fromkeys(names))
    if len(unique) < len(names):
        place = {name: i for i, name in enumerate(unique)}
        merged = np.array([*(place[name] for name in names), -1])
        codes = merged[codes]
    return np.asarray(codes, dtype=np.int64), unique


def _spelled(value: Any, column: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Real) and not isinstance(value, bool | np.bool_):
        number = float(value)
        return repr(int(number)) if number.is_integer() else repr(number)
    if isinstance(value, bool | np.bool_ | date | np.datetime64 | np.timedelta64) or type(value).__module__.startswith(
        "pandas"
    ):
        return str(value)
    raise _not_a_cell(column)


def _not_a_cell(column: Any) -> TypeError:
    known = (str, Real, bool, date, np.generic, type(None))
    other = next((type(value).__name__ for value in column if not isinstance(value, known)), "other objects")
    return TypeError(
        f"a cell of X must hold a number, a text, a boolean, a date or a duration; column {column.name!r} holds "
        f"{other} (the argument must be a string or a number); convert the column"
    )
