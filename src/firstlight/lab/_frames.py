"""Messages between server, recorder and workers: a JSON object and named arrays, with their lengths in front.

Arrays travel as safetensors, never as pickle, so that a message can be read without trusting its sender.
"""

import asyncio
import json
import math
import struct
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
from safetensors.numpy import load, save

from firstlight.lab._errors import LabError

Arrays = dict[str, np.ndarray]

LARGEST = 2**31
"""Bytes of the largest part of a message."""

_HEAD = struct.Struct(">QQ")


def encode(message: Mapping[str, Any], arrays: Mapping[str, np.ndarray] | None = None) -> bytes:
    """Return a message as bytes; NaN and infinities travel as JSON's extension.

    >>> decode(encode({"do": "stop"}, {"W": np.eye(2)}))[1]["W"].shape
    (2, 2)
    """
    text = json.dumps(message, separators=(",", ":")).encode()
    # safetensors keeps neither strides nor zero dimensions apart.
    blob = save({name: np.array(array, order="C") for name, array in arrays.items()}) if arrays else b""
    return _HEAD.pack(len(text), len(blob)) + text + blob


def decode(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return message and arrays; the inverse of `encode`."""
    text, blob = _lengths(data[: _HEAD.size])
    start = _HEAD.size + text
    return _parts(data[_HEAD.size : start], data[start : start + blob])


async def read_frame(reader: asyncio.StreamReader) -> tuple[dict[str, Any], Arrays] | None:
    """Return the next message of a stream, or None at its end."""
    try:
        text, blob = _lengths(await reader.readexactly(_HEAD.size))
        return _parts(await reader.readexactly(text), await reader.readexactly(blob))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def read_frame_from(file: IO[bytes]) -> tuple[dict[str, Any], Arrays] | None:
    """Return the next message of a pipe, or None at its end."""
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    text, blob = _lengths(head)
    parts = file.read(text), file.read(blob)
    return None if len(parts[0]) < text or len(parts[1]) < blob else _parts(*parts)


def without_gaps(value: Any) -> Any:
    """Return plain data in which NaN and infinities are None, as browsers need it.

    >>> without_gaps({"loss": [1.0, float("nan")]})
    {'loss': [1.0, None]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): without_gaps(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [without_gaps(part) for part in value]
    return value


def _lengths(head: bytes) -> tuple[int, int]:
    text, blob = _HEAD.unpack(head)
    if text > LARGEST or blob > LARGEST:
        raise LabError(f"a message has parts of at most {LARGEST:,} bytes; got {max(text, blob):,}")
    return text, blob


def _parts(text: bytes, blob: bytes) -> tuple[dict[str, Any], Arrays]:
    return json.loads(text), load(blob) if blob else {}
