"""A program that creates and fills stores on a disk that takes no more, and prints what became of them as JSON."""

import contextlib
import json
import resource
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from firstlight.records import Store, StoreError, check_store
from tests.records.store_worker import spec, train, whole


@contextmanager
def limited(size: int) -> Iterator[None]:
    """No file grows beyond `size` bytes, as on a full disk (`EFBIG`; Python ignores the signal)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def filled(folder: Path, free: int) -> Iterator[None]:
    """No more than `free` bytes are left on the disk of `folder`."""
    ballast = folder / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        file.write(b"\0" * max(shutil.disk_usage(folder).free - free, 0))
    try:
        yield
    finally:
        ballast.unlink()


def attempt(path: Path, room) -> dict:
    """Create and fill a store with little room, then go on with plenty; what was said and what was lost."""
    said, error = [], ""
    try:
        with room, Store(path, "rw") as store:
            for seed in range(1, 200):
                train(store, seed) if seed % 2 == 0 else store.put_run(*whole(seed))
                said.append(seed)
    except StoreError as problem:
        error = str(problem)
    created = path.exists()
    leftovers = [file.name for file in path.parent.glob(".*")]
    sound = check_store(path).lines()[0] if created else ""
    with Store(path, "rw") as store:
        finished = {record.spec.seed for record in store.runs("finished")}
        lost = sorted(set(said) - finished)
        train(store, 1000)
        again = store.run_status(spec(1000))
    ok = check_store(path).ok
    return {
        "error": error,
        "written": len(said),
        "created": created,
        "leftovers": leftovers,
        "sound": sound,
        "lost": lost,
        "again": again,
        "ok": ok,
    }


def main(folder: Path, how: str, sizes: list[int]) -> None:
    rooms = {"limit": limited, "fill": lambda size: filled(folder, size)}
    outcomes = []
    for size in sizes:
        place = folder / str(size)
        place.mkdir()
        outcomes.append(attempt(place / "runs.sqlite", rooms[how](size)) | {"size": size})
        shutil.rmtree(place)
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], [int(word) for word in sys.argv[3:]])
