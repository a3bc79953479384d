"""Files beside the store, each named by the SHA-256 of its content."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firstlight._files import sync_folder, write_atomically
from firstlight.records._store._errors import StoreError

SAFETENSORS = ".safetensors"
_NAME = re.compile(r"[0-9a-f]{64}\.[A-Za-z0-9]+")


def pack(arrays: Mapping[str, Any]) -> bytes:
    """Named arrays as the bytes of a safetensors file.

    >>> unpack(pack({"W": np.eye(2)[:, ::-1]}))["W"].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    from safetensors.numpy import save

    return save({name: _portable(name, array) for name, array in arrays.items()})


def unpack(content: bytes) -> dict[str, np.ndarray]:
    """The inverse of `pack`; a `ValueError` says that the bytes are something else."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return load(content)
    except (SafetensorError, AttributeError, TypeError, KeyError, OverflowError) as error:
        raise ValueError(f"not a whole safetensors file ({error})") from None


class Blobs:
    """The folder of content-addressed files. A file appears under its name whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str) -> Path:
        """Where the file of this name is or would be."""
        # Names come from a file that anyone may have written: none may lead out of the folder.
        if not _NAME.fullmatch(name):
            raise StoreError(f"{name!r} is not the name of a file of arrays; the store is damaged or forged.")
        return self.folder / name[:2] / name

    def put(self, content: bytes, suffix: str = SAFETENSORS) -> str:
        """Write the content, unless it is there and sound already, and return its name."""
        name = hashlib.sha256(content).hexdigest() + suffix
        if self.problem(name):
            path = self.path(name)
            is_new = not path.parent.exists()
            try:
                write_atomically(path, content)
                # The rename itself must reach the disk before a row that names the file does.
                for folder in (path.parent, self.folder) if is_new else (path.parent,):
                    sync_folder(folder)
            except OSError as error:
                raise StoreError(f"cannot write {path} ({error.strerror}); the record was not written.") from None
        return name

    def read(self, name: str) -> bytes:
        """The content, checked against its name."""
        problem = self.problem(name)
        if problem:
            raise StoreError(f"the file {self.path(name)} is {problem}; what it held cannot be read.")
        return self.path(name).read_bytes()

    def problem(self, name: str) -> str:
        """`"missing"` or `"damaged"`, or nothing when the content matches the name."""
        try:
            with self.path(name).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            return "missing"
        except OSError:
            return "damaged"
        return "" if digest == name.partition(".")[0] else "damaged"

    def remove(self, name: str) -> None:
        """Delete the file, if it is there."""
        self.path(name).unlink(missing_ok=True)

    def names(self) -> Iterator[str]:
        """All whole files."""
        for path in self.folder.glob("??/*"):
            if _NAME.fullmatch(path.name):
                yield path.name

    def sweep(self) -> list[Path]:
        """Delete the files that killed writers left half written."""
        leftovers = list(self.folder.glob("??/.*"))
        for path in leftovers:
            path.unlink(missing_ok=True)
        return leftovers


def blobs_of(path: Path) -> Blobs:
    """The files that belong to the store at `path`."""
    return Blobs(path.with_name(f"{path.name}.blobs"))


def _portable(name: str, array: Any) -> np.ndarray:
    array = np.asarray(array)
    if array.dtype.kind not in "biuf" and array.dtype != np.complex64:
        raise ValueError(
            f"array {name!r} has dtype {array.dtype}, which a store cannot hold; "
            "convert it to real numbers, booleans or complex64"
        )
    # safetensors writes memory as it lies: a transposed view would be stored wrong without a word.
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
