"""The tables and probe files under the folder of the lab, each under an opaque id; a browser never names a path."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from firstlight.lab._form import FormError

LARGEST_FILE = 20_000_000
"""Bytes of the largest file that the bench reads; `firstlight rfm fit` reads larger ones."""

TABLES = (".csv", ".tsv", ".parquet", ".csv.gz", ".tsv.gz")
PROBES = (".safetensors",)

_MOST_FILES, _DEPTH = 500, 3
_MOST_ENTRIES = 20_000
"""Entries that are looked at, so that a whole home folder does not take long."""


@dataclass(frozen=True)
class File:
    """A file that the bench offers.

    **Attributes:**

    - `id`: the digest of its name, which the browser sends.
    - `name`: its name below the folder.
    - `path`: where it is, with every symbolic link followed.
    - `kind`: "table" or "probe".
    - `size`: bytes.
    - `stamp`: when it was changed, in nanoseconds.
    """

    id: str
    name: str
    path: Path
    kind: str
    size: int
    stamp: int


class Folder:
    """The folder that the lab was started with; it is read again for every question.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as path:
    ...     _ = Path(path, "iris.csv").write_text("a,b")
    ...     [(file.name, file.kind) for file in Folder(Path(path)).files()]
    [('iris.csv', 'table')]
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path).resolve()
        self._names: dict[str, str] = {}

    def files(self) -> list[File]:
        """Return the files in the order of their names; links that lead out of the folder are left out."""
        files: list[File] = []
        for path in islice(self._walk(self.path, _DEPTH), _MOST_ENTRIES):
            file = self._file(path) if path.name.lower().endswith((*TABLES, *PROBES)) else None
            if file is not None:
                files.append(file)
            if len(files) >= _MOST_FILES:
                break
        files.sort(key=lambda file: file.name)
        self._names |= {file.id: file.name for file in files}
        return files

    def find(self, id: str, kind: str) -> File:
        """Return the file with an id; a `FormError` says why there is none, or that it is too large."""
        file = next((file for file in self.files() if file.id == id and file.kind == kind), None)
        if file is None:
            name = self._names.get(id)
            gone = f"{name} is not in the folder any more" if name else "no file of the folder has this id"
            raise FormError({"file": f"{gone}; choose another file"})
        if file.size > LARGEST_FILE:
            raise FormError(
                {"file": f"{file.name} has {file.size:,} bytes; the bench reads at most {LARGEST_FILE:,}. "
                         "Use firstlight rfm fit for larger tables"}
            )  # fmt: skip
        return file

    def _walk(self, folder: Path, depth: int) -> Iterator[Path]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            return
        for entry in entries:
            if entry.name.startswith("."):
                continue
            # Folders behind links are not entered, so that no circle can arise.
            if entry.is_dir(follow_symlinks=False):
                if depth:
                    yield from self._walk(Path(entry.path), depth - 1)
            else:
                yield Path(entry.path)

    def _file(self, path: Path) -> File | None:
        try:
            real = path.resolve(strict=True)
            status = real.stat()
        except (OSError, RuntimeError):
            return None
        if not real.is_relative_to(self.path) or not real.is_file():
            return None
        name = path.relative_to(self.path).as_posix()
        kind = "probe" if name.lower().endswith(PROBES) else "table"
        id = hashlib.sha256(f"{kind}:{name}".encode("utf-8", "surrogatepass")).hexdigest()[:20]
        return File(id, name, real, kind, status.st_size, status.st_mtime_ns)
