"""Bundles: finished runs as immutable files on any shared filesystem, without a lock and without a database."""

import hashlib
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from firstlight._files import create_atomically, sync_folder, write_atomically
from firstlight.records._canonical import canonical_json
from firstlight.records._identity import run_id
from firstlight.records._layout import FileError, Form, parse_form, read_tensors, reading
from firstlight.records._run import RunRecord
from firstlight.records._store._blobs import pack

SUFFIX = ".bundle.safetensors"
_KEY = "firstlight.bundle"
_VERSION = 1
_WHAT = "a whole bundle of runs"
_FIX = "delete it and submit the sweep again to train its points, or copy it again from where it was written"
_MOST_BYTES = 2**30
"""Largest size of a record in a bundle: a forged file must not fill the memory."""

Weights = Mapping[str, Mapping[str, np.ndarray]]
"""Named arrays under names such as `final`."""


@dataclass(frozen=True)
class BundledRun:
    """A run with its weights, as a bundle holds it."""

    record: RunRecord
    weights: Weights


class BundledEntry(Form):
    """What the header of a bundle says of a run: its id, how it ended, and two digests.

    **Fields:**

    - `id`, `status`, `seconds`: of the run.
    - `digest`: of the whole record.
    - `result`: of its numbers alone, equal for a run and its repetition.
    """

    id: str
    status: str
    seconds: float
    digest: str
    result: str


class _Header(Form):
    version: int
    runs: list[BundledEntry]


def write_bundle(folder: str | os.PathLike[str], runs: Sequence[BundledRun]) -> Path:
    """Write runs as one file below one of 256 subfolders of `folder`; return its path.

    A single run is named by its id, several by the digest of their ids. The file appears whole or not at all. A file
    with the same numbers is left as it is, and an unreadable one is replaced. A file with other numbers stays too: the
    new one gets a longer name, so that `sweeps.gather` can report both. This holds for jobs that write at the same
    moment as well: the first file stays.
    """
    if not runs:
        raise ValueError("a bundle holds at least one run; got none")
    runs = [_with_digests(run) for run in runs]
    entries = [_entry(run) for run in runs]
    name = bundle_name([entry.id for entry in entries])
    results = {entry.id: entry.result for entry in entries}
    other = hashlib.sha256(canonical_json(results).encode()).hexdigest()
    place = Path(folder) / name[:2]
    path = place / f"{name}{SUFFIX}"
    if not _write_or_compare(path, runs, entries, results):
        path = place / f"{name}-{other[:12]}{SUFFIX}"
        _write_or_compare(path, runs, entries, results)
    return path


def _write_or_compare(
    path: Path, runs: Sequence[BundledRun], entries: Sequence[BundledEntry], results: Mapping[str, str]
) -> bool:
    """Write a bundle unless there is a whole one; return whether the file then holds these numbers."""
    earlier = _results(path)
    if not earlier:
        content = _packed(runs, entries)
        if not create_atomically(path, content):
            earlier = _results(path)  # another job may have written it since
            if not earlier:
                write_atomically(path, content)
        sync_folder(path.parent)
    return not earlier or earlier == results


def bundle_name(ids: Sequence[str]) -> str:
    """Return the name of the bundle of these runs: the id of a single run, else a digest of all ids."""
    return ids[0] if len(ids) == 1 else hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()


def bundle_paths(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the bundles below a folder, by name, without reading them; temporary files are left out."""
    root = Path(folder)
    if not root.is_dir():
        raise FileError(f"bundles are in a folder with subfolders 00 to ff; there is no folder {root}")
    for place in sorted(entry.name for entry in os.scandir(root) if entry.is_dir() and len(entry.name) == 2):
        with os.scandir(root / place) as entries:
            # A pipe or a device would block whoever reads it.
            names = [entry.name for entry in entries if entry.name.endswith(SUFFIX) and entry.is_file()]
        for name in sorted(names, key=lambda name: name.replace("-", "~")):  # the first of its name comes first
            if not name.startswith("."):
                yield root / place / name


def bundles_named(folder: str | os.PathLike[str], name: str) -> list[Path]:
    """Return the bundles of this name below a folder: the first, and those with other numbers."""
    place = Path(folder) / name[:2]
    first = place / f"{name}{SUFFIX}"
    return [first, *sorted(place.glob(f"{name}-*{SUFFIX}"))] if first.is_file() else []


def read_header(path: str | os.PathLike[str]) -> tuple[BundledEntry, ...]:
    """Return what a bundle holds, from its header alone."""
    from safetensors import SafetensorError, safe_open

    with reading(path, _WHAT, _FIX):
        if not Path(path).is_file():
            raise ValueError("there is no such file")
        try:
            with safe_open(os.fspath(path), framework="numpy") as file:
                metadata = file.metadata() or {}
        except (SafetensorError, OSError) as error:
            raise ValueError(f"its header cannot be read ({error})") from None
        return tuple(_header(metadata).runs)


def read_bundle(path: str | os.PathLike[str]) -> tuple[BundledRun, ...]:
    """Return the runs of a bundle, each checked against its digest; nothing in the file is executed."""
    with reading(path, _WHAT, _FIX):
        try:
            metadata, arrays = read_tensors(path)
        except OSError as error:
            raise ValueError(f"it cannot be read ({error})") from None
        runs = []
        for place, entry in enumerate(_header(metadata).runs):
            run = BundledRun(_record(arrays, place), _weights(arrays, place))
            if run.record.id != run_id(run.record.spec):  # a record of another spec version may carry any id
                raise ValueError(f"the id {entry.id[:12]} is not that of its spec in this version of firstlight")
            if _entry(run) != entry:
                raise ValueError(f"run {entry.id[:12]} does not match its digest")
            if _digests(run.weights) != run.record.weights:
                raise ValueError(f"the weights of run {entry.id[:12]} do not match their digests")
            runs.append(run)
        return tuple(runs)


def _with_digests(run: BundledRun) -> BundledRun:
    """Name the weights in the record by the digests that a store will give them."""
    record = RunRecord.model_validate({**dict(run.record), "weights": _digests(run.weights)})
    return BundledRun(record, run.weights)


def _digests(weights: Weights) -> dict[str, str]:
    return {name: hashlib.sha256(pack(arrays)).hexdigest() for name, arrays in weights.items()}


def _entry(run: BundledRun) -> BundledEntry:
    record = run.record
    return BundledEntry(
        id=record.id,
        status=record.status,
        seconds=record.seconds,
        digest=record.digest,
        result=record.result_digest,
    )


def _results(path: Path) -> dict[str, str]:
    """Return the digests of a bundle's numbers by id; empty if it is not there or cannot be read."""
    if not path.is_file():
        return {}
    try:
        return {entry.id: entry.result for entry in read_header(path)}
    except FileError:
        return {}


def _header(metadata: Mapping[str, str]) -> _Header:
    header = parse_form(_Header, metadata.get(_KEY), _KEY)
    if header.version != _VERSION:
        raise ValueError(f"this version reads bundles of version {_VERSION}; got {header.version}")
    if not header.runs:
        raise ValueError("it must hold at least one run; got none")
    return header


def _packed(runs: Sequence[BundledRun], entries: Sequence[BundledEntry]) -> bytes:
    from safetensors.numpy import save

    arrays: dict[str, np.ndarray] = {}
    for place, run in enumerate(runs):
        text = zlib.compress(run.record.to_json().encode(), level=6)
        arrays[f"{place}/record"] = np.frombuffer(text, np.uint8)
        for name, tensors in run.weights.items():
            for key, array in tensors.items():
                arrays[f"{place}/weights/{name}/{key}"] = np.ascontiguousarray(array)
    header = _Header(version=_VERSION, runs=list(entries))
    return save(arrays, metadata={_KEY: canonical_json(header.model_dump())})


def _record(arrays: Mapping[str, np.ndarray], place: int) -> RunRecord:
    packed = arrays.get(f"{place}/record")
    if packed is None or packed.dtype != np.uint8:
        raise ValueError(f"it must hold the array '{place}/record' of bytes")
    try:
        unpacking = zlib.decompressobj()
        text = unpacking.decompress(packed.tobytes(), _MOST_BYTES)
        if not unpacking.eof:
            raise ValueError(f"record {place} is cut off or larger than {_MOST_BYTES} bytes")
        return RunRecord.from_json(text.decode())
    except (zlib.error, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"record {place} cannot be read ({error})") from None


def _weights(arrays: Mapping[str, np.ndarray], place: int) -> dict[str, dict[str, np.ndarray]]:
    weights: dict[str, dict[str, np.ndarray]] = {}
    start = f"{place}/weights/"
    for key, array in arrays.items():
        if key.startswith(start):
            name, _, rest = key.removeprefix(start).partition("/")
            weights.setdefault(name, {})[rest] = array
    return weights
