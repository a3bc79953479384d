"""Forged copies of a safetensors file: what a careless or hostile hand may change, drawn from a seed."""

import json
import struct

import numpy as np

DTYPES = ("F64", "F32", "F16", "BF16", "I64", "I32", "U8", "BOOL", "F8_E4M3", "XX")
DEEP = "[" * 50_000 + "]" * 50_000
VALUES = (
    None,
    True,
    -1,
    0,
    3,
    10**30,
    1e308,
    -1e308,
    float("nan"),
    float("inf"),
    "",
    "x",
    "\ud800",
    [],
    {},
    [[]],
    DEEP,
)


class Forger:
    """Draws one of the changes below, again and again."""

    def __init__(self, content: bytes, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        (size,) = struct.unpack("<Q", content[:8])
        self.content, self.data = content, content[8 + size :]
        self.header = json.loads(content[8 : 8 + size])

    def __call__(self) -> bytes:
        """The bytes of a forged file."""
        ways = (self.truncated, self.flipped, self.headless, self.rewritten, self.rewritten, self.metadata, self.words)
        return self._one((*ways, self.words, self.words, self.numbers, self.numbers))()

    def truncated(self) -> bytes:
        return self.content[: self.rng.integers(len(self.content))]

    def flipped(self) -> bytes:
        bytes_ = bytearray(self.content)
        for place in self.rng.integers(len(bytes_), size=self.rng.integers(1, 9)):
            bytes_[place] ^= 1 << self.rng.integers(8)
        return bytes(bytes_)

    def headless(self) -> bytes:
        size = self._one((0, 1, 2**20, 2**40, 2**63, 2**64 - 1))
        return struct.pack("<Q", size) + self._one((b"", b"{", b"garbage", DEEP.encode(), self.content[8:]))

    def rewritten(self) -> bytes:
        """A tensor dropped, renamed, swapped, repeated, or given another type or shape."""
        header = json.loads(json.dumps(self.header))
        names = [name for name in header if name != "__metadata__"]
        if not names:
            return self.truncated()
        first, second = self._one(names), self._one(names)
        way = self.rng.integers(6)
        if way == 0:
            del header[first]
        elif way == 1:
            header[self._one(("other", "", "lane.0.snapshot.x.0", first + ".x"))] = header.pop(first)
        elif way == 2:
            header[first], header[second] = header[second], header[first]
        elif way == 3:
            header[first]["dtype"] = self._one(DTYPES)
        elif way == 4:
            header[first]["shape"] = self._one(
                ([], [0], [1], [-1], [2**62, 4], header[first]["shape"][::-1], [0, 2**40])
            )
        else:
            header[first]["data_offsets"] = self._one(([0, 0], [0, 8], [8, 0], [0, 2**63]))
        return self._whole(header)

    def numbers(self) -> bytes:
        """Bytes of the arrays replaced by numbers that nothing was fitted to."""
        data = bytearray(self.data)
        for _ in range(self.rng.integers(1, 4)):
            if len(data) >= 8:
                place = 8 * self.rng.integers(len(data) // 8)
                value = float(self._one((np.nan, np.inf, -np.inf, 1e308, -1e308, -1.0, 0.0, 5e-324, 1e200)))
                data[place : place + 8] = self._one((struct.pack("<d", value), b"\xff" * 8, b"\x00" * 8))
        return self._whole(self.header, bytes(data))

    def metadata(self) -> bytes:
        """The words as text: absent, cut, deep, or with a key twice."""
        header = json.loads(json.dumps(self.header))
        texts = header.get("__metadata__", {})
        key = self._one(sorted(texts)) if texts else "x"
        text = texts.get(key, "")
        cut = text[: self.rng.integers(len(text) + 1)]
        forged = self._one(
            (
                None,
                "",
                cut,
                DEEP,
                '{"a":' * 50_000,
                "null",
                "[]",
                "3",
                '"\\ud800"',
                text.replace("{", '{"schema": 1, ', 1),
            )
        )
        texts.pop(key, None)
        if forged is not None:
            header["__metadata__"] = {**texts, key: forged}
        return self._whole(header)

    def words(self) -> bytes:
        """A value somewhere in the words dropped, added or replaced by one of another type or range."""
        header = json.loads(json.dumps(self.header))
        texts = header.get("__metadata__", {})
        key = self._one(sorted(texts)) if texts else "x"
        try:
            words = json.loads(texts.get(key, ""))
        except ValueError:
            return self.metadata()
        for _ in range(self.rng.integers(1, 3)):
            words = self._changed(words)
        header["__metadata__"] = {**texts, key: json.dumps(words)}
        return self._whole(header)

    def _changed(self, value, depth: int = 0):
        if isinstance(value, dict) and value and (depth == 0 or self.rng.random() < 0.8):
            key = self._one(sorted(value))
            way = self.rng.random()
            if way < 0.15:
                return {k: v for k, v in value.items() if k != key}
            if way < 0.25:
                return {**value, self._one(("__class__", "predict", "other")): self._one(VALUES)}
            return {**value, key: self._changed(value[key], depth + 1)}
        if isinstance(value, list) and value and self.rng.random() < 0.7:
            place = int(self.rng.integers(len(value)))
            if self.rng.random() < 0.2:
                return value[:place] + value[place + 1 :]
            if self.rng.random() < 0.2:
                return [*value, value[place]]
            return [*value[:place], self._changed(value[place], depth + 1), *value[place + 1 :]]
        return self._one(VALUES)

    def _whole(self, header, data: bytes | None = None) -> bytes:
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + (self.data if data is None else data)

    def _one(self, choices):
        return choices[int(self.rng.integers(len(choices)))]
