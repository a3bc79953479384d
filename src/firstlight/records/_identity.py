"""The identity of a run.

The id of a run is the SHA-256 of the canonical JSON of the spec's fields that differ from their defaults,
with `SPEC_VERSION`. A field added later, with a default that keeps the old behaviour, therefore changes no id.
The label `name` and the software versions do not count. A user's arrays and Cayley tables count by digest, not by
path or by the name of the group.
"""

import hashlib
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from firstlight._files import DATA_VARIABLE, data_directory
from firstlight.records._base import Frozen
from firstlight.records._canonical import sha256
from firstlight.records._cayley import digest_cayley, read_cayley
from firstlight.records._explain import SpecError
from firstlight.records._spec import ArraysTask, GroupTask, RunSpec

SPEC_VERSION = 1
"""Increased when a default or a meaning in the spec changes; every id then changes too."""


def run_id(spec: RunSpec) -> str:
    """Return the identity of a run, as 64 hexadecimal digits.

    >>> run_id(RunSpec())[:12], run_id(RunSpec(name="mine"))[:12], run_id(RunSpec(seed=1))[:12]
    ('143757514795', '143757514795', '037816581282')
    """
    fields = changed_fields(pin_arrays(spec))
    fields.pop("name", None)
    if isinstance(spec.task, ArraysTask):
        fields["task"].pop("path")
    elif isinstance(spec.task, GroupTask) and spec.task.table is not None:
        fields["task"].pop("table")
        fields["task"].pop("group", None)
    return sha256({"schema": SPEC_VERSION, "spec": fields})


def changed_fields(spec: Frozen) -> dict[str, Any]:
    """Return the fields of a spec that differ from their defaults: the smallest mapping that gives the same spec.

    >>> from firstlight.records import DeepModel
    >>> changed_fields(RunSpec(seed=3, model=DeepModel(residual=True)))
    {'model': {'kind': 'deep', 'residual': True}, 'seed': 3}
    """
    return _changed(spec, type(spec))


def pin_arrays(spec: RunSpec, data: str | os.PathLike[str] | None = None) -> RunSpec:
    """Return the spec with the digest of its arrays or of its Cayley table filled in.

    The file is read only if the digest is missing, so a stored spec stays readable without its data.

    **Arguments:**

    - `data`: the folder of arrays, see `find_arrays`.
    """
    task = spec.task
    if isinstance(task, ArraysTask) and not task.digest:
        digest = digest_arrays(find_arrays(task.path, data))
    elif isinstance(task, GroupTask) and task.table is not None and not task.digest:
        digest = _digest_of_table(task.table, data)
    else:
        return spec
    return spec.model_copy(update={"task": task.model_copy(update={"digest": digest})})


def _digest_of_table(path: str, data: str | os.PathLike[str] | None) -> str:
    try:
        file = find_arrays(path, data, field="task.table").absolute()
        state = file.stat()
        return _digest_of_file(file, state.st_mtime_ns, state.st_size)
    except (ValueError, OSError) as error:
        if isinstance(error, SpecError):
            raise
        raise SpecError([f"task.table: {error}"]) from None


@lru_cache(maxsize=64)
def _digest_of_file(file: Path, changed: int, size: int) -> str:
    # A sweep pins the same table at every point.
    return digest_cayley(read_cayley(file))


def find_arrays(path: str, data: str | os.PathLike[str] | None = None, field: str = "task.path") -> Path:
    """Return the file itself, or the file of that name in the data folder.

    **Arguments:**

    - `path`: the file that a spec names.
    - `data`: the folder; by default the environment variable `FIRSTLIGHT_DATA`.
    - `field`: the field of the spec, for errors.
    """
    folder = data_directory(data)
    places = [Path(path)] + ([folder / path] if folder else [])
    for place in places:
        if _exists(place):
            return place
    looked = f"; also looked in {folder}" if folder else f"; give its folder with --data or {DATA_VARIABLE}"
    raise SpecError([f"{field}: there is no file {path!r} here{looked}"])


def digest_arrays(source: str | os.PathLike[str] | Mapping[str, Any]) -> str:
    """Return the SHA-256 of named arrays (names, types, shapes and numbers), given directly or as an `.npz` file.

    The digest does not depend on byte order, memory layout or compression, and nothing is unpickled.

    >>> import numpy as np
    >>> a = np.arange(6.0).reshape(2, 3)
    >>> same = digest_arrays({"X": a.astype(">f8", order="F")})
    >>> digest_arrays({"X": a}) == same != digest_arrays({"X": a.T})
    True
    """
    import numpy as np

    if not isinstance(source, Mapping):
        return digest_arrays(load_arrays(source))
    sha = hashlib.sha256()
    for name in sorted(source):
        array = np.asarray(source[name])
        array = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
        sha.update(f"{len(name.encode())}:{name}{array.dtype.str}{array.shape}".encode())
        sha.update(array.reshape(-1).view(np.uint8).data if array.size else b"")
    return sha.hexdigest()


def load_arrays(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the named arrays of an `.npz` file; nothing is unpickled."""
    import numpy as np

    shown = os.fspath(path)
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        problem = "there is no such file"
    except AttributeError:
        problem = "it holds a single array, not named ones"
    except Exception as error:  # a damaged archive raises various errors of zip, zlib or the header parser
        problem = str(error).splitlines()[0] if str(error) else type(error).__name__
    fix = "give an .npz file with arrays X and y, saved without pickle"
    raise SpecError([f"task.path: cannot read {shown!r} ({problem}); {fix}"])


def _changed(model: Frozen, usual: type[Frozen]) -> dict[str, Any]:
    changed = {}
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        default = field.default_factory() if field.default_factory else field.default  # type: ignore[call-arg]
        is_default = not field.is_required() and value == default
        if is_default and not (name == "kind" and type(model) is not usual):
            continue
        changed[name] = _plain(value, type(default) if isinstance(default, Frozen) else type(value))
    return changed


def _plain(value: Any, usual: type) -> Any:
    if isinstance(value, Frozen):
        return _changed(value, usual)
    if isinstance(value, tuple):
        return [_plain(item, type(item)) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item, type(item)) for key, item in value.items()}
    # −0.0 and 0.0 are equal and get the same id.
    return value + 0.0 if isinstance(value, float) else value


def _exists(place: Path) -> bool:
    try:
        return place.exists()
    except (OSError, ValueError):  # a name that no file can have: too long, or with a null byte
        return False
