"""Canonical JSON, so that equal values have equal hashes on every machine."""

import hashlib
import json
import math
from typing import Any


def canonical_json(value: Any) -> str:
    """Return JSON with sorted keys, no spaces, shortest exact floats, and NaN and ±∞ as words.

    >>> canonical_json({"b": 1e-2, "a": (1, float("inf"))})
    '{"a":[1,"Infinity"],"b":0.01}'
    """
    try:
        return _dumps(value)
    except ValueError:  # NaN and infinities are rare, and looking for them first is slow
        return _dumps(_finite(value))


def sha256(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON, as 64 hexadecimal digits.

    >>> sha256({})[:8]
    '44136fa3'
    """
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def _dumps(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
