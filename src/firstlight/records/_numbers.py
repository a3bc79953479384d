"""Types of the numbers in a spec: strict, finite and bounded."""

from numbers import Real as RealNumber
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

LARGEST = 2**63 - 1
"""The largest whole number in a spec: the largest signed 64-bit integer, the limit of array sizes."""


def _whole(value: Any) -> Any:
    if isinstance(value, RealNumber) and not isinstance(value, bool) and value == value // 1:
        number = int(value)  # type: ignore[arg-type]
        if abs(number) > LARGEST:
            raise ValueError(f"whole numbers must lie between ±{LARGEST}, the range of 64 bits")
        return number
    return value


def _real(value: Any) -> Any:
    try:
        return float(value) if isinstance(value, RealNumber) and not isinstance(value, bool) else value
    except OverflowError:
        return float("inf")


# Strict: numeric fields reject "500" and true, but accept NumPy scalars and 1e3.
Whole = Annotated[int, BeforeValidator(_whole), Field(strict=True)]
Real = Annotated[float, BeforeValidator(_real), Field(strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Positive = Annotated[Real, Field(gt=0)]
NonNegative = Annotated[Real, Field(ge=0)]
Count = Annotated[Whole, Field(gt=0)]
Fraction = Annotated[Real, Field(gt=0, le=1)]
