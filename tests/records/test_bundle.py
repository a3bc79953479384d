"""Bundles: a run comes back as it was written, and a file that is not what was written is refused in words."""

import os
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file

from firstlight.records import FileError, RunRecord, RunSpec, Table, _bundle
from firstlight.records._bundle import (
    BundledRun,
    bundle_name,
    bundle_paths,
    bundles_named,
    read_bundle,
    read_header,
    write_bundle,
)


def run(seed: int, value: float = 1.0, *, status: str = "finished", weights: bool = True) -> BundledRun:
    table = Table([0, 10], {"loss": [2.0, value]})
    record = RunRecord(spec=RunSpec(seed=seed), status=status, steps=10, seconds=0.5, table=table)
    arrays = {"final": {"W": np.full((2, 3), value), "V": np.arange(6.0).reshape(3, 2).T}} if weights else {}
    return BundledRun(record, arrays)


def edited(path, change) -> None:
    """Write a bundle again after `change(metadata, arrays)`, as a forger would."""
    with safe_open(path, framework="numpy") as file:
        metadata, arrays = dict(file.metadata()), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    change(metadata, arrays)
    save_file(arrays, path, metadata)


@given(seeds=st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=4, unique=True), weights=st.booleans())
def test_runs_come_back_with_their_weights(tmp_path_factory, seeds, weights):
    folder = tmp_path_factory.mktemp("bundles")
    runs = [run(seed, seed / 7, weights=weights) for seed in seeds]
    path = write_bundle(folder, runs)
    assert path.parent.name == path.name[:2] == bundle_name([r.record.id for r in runs])[:2]
    back = read_bundle(path)
    for before, after in zip(runs, back, strict=True):
        assert after.record.table == before.record.table
        assert after.record.model_copy(update={"weights": {}}) == before.record
        for name, arrays in before.weights.items():
            assert {key: array.tolist() for key, array in after.weights[name].items()} == {
                key: array.tolist() for key, array in arrays.items()
            }
    assert [entry.id for entry in read_header(path)] == [r.record.id for r in runs]
    assert list(bundle_paths(folder)) == [path]


def test_equal_numbers_are_written_once_and_other_numbers_beside_them(tmp_path):
    first = write_bundle(tmp_path, [run(1)])
    stamp = first.stat().st_mtime_ns
    assert write_bundle(tmp_path, [run(1)]) == first
    assert first.stat().st_mtime_ns == stamp
    other = write_bundle(tmp_path, [run(1, 3.0)])
    assert other != first
    assert write_bundle(tmp_path, [run(1, 3.0)]) == other
    assert bundles_named(tmp_path, run(1).record.id) == [first, other]


def test_of_two_jobs_that_write_at_once_the_first_file_stays(tmp_path, monkeypatch):
    packed, numbers = _bundle._packed, iter([2.0, 1.0])

    def overtaken(*arguments):
        with monkeypatch.context() as patch:
            patch.setattr(_bundle, "_packed", packed)
            write_bundle(tmp_path, [run(1, next(numbers))])
        return packed(*arguments)

    monkeypatch.setattr(_bundle, "_packed", overtaken)
    mine = write_bundle(tmp_path, [run(1, 1.0)])  # another job writes 2.0 first, and then 1.0 too
    first, other = bundles_named(tmp_path, run(1).record.id)
    assert mine == other
    assert [read_bundle(path)[0].record.table["loss"][-1] for path in (first, other)] == [2.0, 1.0]


@pytest.mark.parametrize("links", [True, False])
def test_of_many_that_write_at_once_no_numbers_are_lost(tmp_path, monkeypatch, links):
    if not links:
        monkeypatch.setattr(os, "link", _no_links)
    count = 12 if links else 1
    start = threading.Barrier(count)

    def write(number):
        start.wait()
        return write_bundle(tmp_path, [run(1, float(number % 3))])

    with ThreadPoolExecutor(count) as pool:
        paths = list(pool.map(write, range(count)))
    found = {read_bundle(path)[0].record.table["loss"][-1] for path in bundles_named(tmp_path, run(1).record.id)}
    assert found == {float(number % 3) for number in range(count)}
    assert set(paths) == set(bundle_paths(tmp_path))
    assert len(set(paths)) == len(found)
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".partial")]


def _no_links(source, target):
    raise OSError(95, "Operation not supported")


def test_an_unreadable_bundle_is_replaced(tmp_path):
    path = write_bundle(tmp_path, [run(1)])
    path.write_bytes(path.read_bytes()[:200])
    assert write_bundle(tmp_path, [run(1)]) == path
    assert len(read_bundle(path)) == 1


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.9, 0.999])
def test_a_truncated_bundle_is_refused_whatever_is_left(tmp_path, share):
    path = write_bundle(tmp_path, [run(1), run(2)])
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    for read in (read_header, read_bundle):
        with pytest.raises(FileError, match=r"is not a whole bundle of runs: .*; delete it and submit the sweep again"):
            read(path)


def test_a_flipped_bit_anywhere_is_found(tmp_path):
    path = write_bundle(tmp_path, [run(1)])
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.choice(len(content), 120, replace=False):
        broken = bytearray(content)
        broken[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(broken))
        try:
            (back,) = read_bundle(path)
        except FileError:
            continue
        # A bit of the header's padding, or of the compression's own checks, may change nothing.
        assert back.record.digest == read_header(path)[0].digest
        assert back.weights["final"]["W"].tolist() == run(1).weights["final"]["W"].tolist()


def change_weights(metadata, arrays):
    arrays["0/weights/final/W"] = arrays["0/weights/final/W"] + 1


def drop_weights(metadata, arrays):
    del arrays["0/weights/final/W"], arrays["0/weights/final/V"]


def other_record(metadata, arrays):
    text = zlib.decompress(arrays["0/record"].tobytes()).decode().replace('"steps":10', '"steps":11')
    arrays["0/record"] = np.frombuffer(zlib.compress(text.encode()), np.uint8)


def other_status(metadata, arrays):
    metadata["firstlight.bundle"] = metadata["firstlight.bundle"].replace("finished", "diverged")


def newer_version(metadata, arrays):
    metadata["firstlight.bundle"] = metadata["firstlight.bundle"].replace('"version":1', '"version":2')


def no_header(metadata, arrays):
    metadata.clear()


def bomb(metadata, arrays):
    packer = zlib.compressobj(9)
    parts = [packer.compress(b"\0" * 2**24) for _ in range(2)]
    arrays["0/record"] = np.frombuffer(b"".join([*parts, packer.flush()]), np.uint8)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (change_weights, "the weights of run .* do not match their digests"),
        (drop_weights, "the weights of run .* do not match their digests"),
        (other_record, "does not match its digest"),
        (other_status, "does not match its digest"),
        (newer_version, "this version reads bundles of version 1; got 2"),
        (no_header, "its metadata must hold 'firstlight.bundle'; got none"),
        (bomb, "is cut off or larger than 16777216 bytes"),
    ],
)
def test_a_forged_bundle_is_refused_with_the_reason(tmp_path, monkeypatch, change, words):
    monkeypatch.setattr(_bundle, "_MOST_BYTES", 2**24)
    path = write_bundle(tmp_path, [run(1)])
    edited(path, change)
    with pytest.raises(FileError, match=words):
        read_bundle(path)


def test_temporary_files_pipes_and_strangers_are_passed_over(tmp_path):
    path = write_bundle(tmp_path, [run(1)])
    (path.parent / f".{path.name}.x.partial").write_bytes(b"half")
    (path.parent / "notes.txt").write_text("mine")
    os.mkfifo(path.parent / "0.bundle.safetensors")
    (tmp_path / "logs").mkdir()
    assert list(bundle_paths(tmp_path)) == [path]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileError, match=r"there is no folder .*nowhere"):
        list(bundle_paths(tmp_path / "nowhere"))
    with pytest.raises(FileError, match="there is no such file"):
        read_header(tmp_path / "nothing")
    with pytest.raises(ValueError, match="a bundle holds at least one run; got none"):
        write_bundle(tmp_path, [])
