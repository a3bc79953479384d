"""Files of arrays beside the store, each named by the SHA-256 of its content."""

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
    """Return named arrays as the bytes of a safetensors file.

    >>> unpack(pack({"W": np.eye(2)[:, ::-1]}))["W"].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    from safetensors.numpy import save

    return save({name: _portable(name, array) for name, array in arrays.items()})


def unpack(content: bytes) -> dict[str, np.ndarray]:
    """Return the arrays that `pack` wrote; raise `ValueError` for other bytes."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return load(content)
    except (SafetensorError, AttributeError, TypeError, KeyError, OverflowError) as error:
        raise ValueError(f"not a whole safetensors file ({error})") from None


class Blobs:
    """The folder of content-addressed files; each file is written atomically."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str) -> Path:
        """Return the path of the file of this name, whether it exists or not."""
        # Names come from a file that may be forged; no name may lead out of the folder.
        if not _NAME.fullmatch(name):
            raise StoreError(f"{name!r} is not the name of a file of arrays; the store is damaged or forged.")
        return self.folder / name[:2] / name

    def put(self, content: bytes, suffix: str = SAFETENSORS) -> str:
        """Write the content, unless an intact file exists already, and return its name."""
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
        """Return the content, checked against its name."""
        problem = self.problem(name)
        if problem:
            raise StoreError(f"the file {self.path(name)} is {problem}; what it held cannot be read.")
        return self.path(name).read_bytes()

    def problem(self, name: str) -> str:
        """Return `"missing"` or `"damaged"`, or `""` if the content matches the name."""
        try:
            with self.path(name).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            return "missing"
        except OSError:
            return "damaged"
        return "" if digest == name.partition(".")[0] else "damaged"

    def remove(self, name: str) -> None:
        """Delete the file, if it exists."""
        self.path(name).unlink(missing_ok=True)

    def names(self) -> Iterator[str]:
        """Yield the names of all complete files."""
        for path in self.folder.glob("??/*"):
            if _NAME.fullmatch(path.name):
                yield path.name

    def sweep(self) -> list[Path]:
        """Delete the incomplete files of killed writers, and return their paths."""
        leftovers = list(self.folder.glob("??/.*"))
        for path in leftovers:
            path.unlink(missing_ok=True)
        return leftovers


def blobs_of(path: Path) -> Blobs:
    """Return the files that belong to the store at `path`."""
    return Blobs(path.with_name(f"{path.name}.blobs"))


def _portable(name: str, array: Any) -> np.ndarray:
    array = np.asarray(array)
    if array.dtype.kind not in "biuf" and array.dtype != np.complex64:
        raise ValueError(
            f"array {name!r} has dtype {array.dtype}, which a store cannot hold; "
            "convert it to real numbers, booleans or complex64"
        )
    # safetensors writes the memory as it is: a transposed view would silently be stored wrong.
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
