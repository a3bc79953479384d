"""What a run takes is known before it is built, is near what it then takes, and is refused where there is no room."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from firstlight import groups, runs
from firstlight.records import RunSpec, SpecError, spec_from_mapping
from firstlight.runs import _limits
from firstlight.runs._estimate import flops_per_second

SMALL = {"task": {"group": "Z5"}, "model": {"width": 8}, "steps": 20}


def refusal(spec: dict, **options) -> str:
    start = time.process_time()
    with pytest.raises(SpecError) as caught:
        runs.resolve(spec_from_mapping(spec), **options)
    assert time.process_time() - start < 2
    assert len(str(caught.value).encode()) <= 2048
    return str(caught.value)


@pytest.fixture
def memory(monkeypatch):
    """Sets how much memory there is."""
    return lambda count: monkeypatch.setattr(_limits, "available_memory", lambda: count)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"model": {"width": 10**8}}, "model.width: the run needs about 1.2 TB of memory (weights 1.2 TB); 24 GB are"),
        ({"snapshots": 10**9, "steps": 10**6, "recording": {"every": 2}}, "snapshots: the run needs about 2.6 TB"),
        ({"task": {"group": "Z5000"}}, "task.group: the run needs about 1.6 TB of memory (outputs 1.5 TB"),
        ({"steps": 10**8, "recording": {"points": 10**8}}, "recording.points: the run needs about"),
        ({"steps": 5 * 10**6, "recording": {"every": 1}}, "recording: the run records 5,000,001 rows, and at most 1,0"),
        ({"model": {"kind": "deep", "widths": [1] * 1001}}, "model.widths: 1,001 layers, and at most 1,000"),
        ({"steps": 2**31 - 1, "model": {"width": 10**5}, "recording": {"points": 9}}, "steps: the run takes about"),
        ({"task": {"kind": "parity", "dimension": 10**5, "samples": 10**6}}, "task.samples: the run needs about"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_numbers_and_the_way_out(memory, spec, message):
    memory(24 * 10**9)
    said = refusal(spec)
    assert message in said
    assert said.splitlines()[0].endswith("--allow-large (allow_large=True) tries anyway")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"steps": 10**12}, "steps: must be at most 2,147,483,647, since steps are counted in 32 bits"),
        ({"optimizer": {"schedule": {"warmup": 2**31}}}, "optimizer.schedule.warmup: must be at most"),
        ({"model": {"width": 10**17}}, "more than a processor can address"),
        ({"task": {"factors": 10**9}}, "task: factors must be at most 25, got 1000000000"),
        ({"task": {"group": "Z1", "factors": 10**9}}, "task: factors must be at most 25"),
        ({"task": {"factors": 9}}, "task: 9 factors of Z71 make over 10^16 rows"),
    ],
)
def test_what_no_machine_can_count_is_refused_in_any_case(spec, message):
    assert message in refusal(spec, allow_large=True)


@pytest.mark.parametrize("field", ["model.width", "steps", "optimizer.schedule.warmup", "task.factors", "snapshots"])
def test_numbers_beyond_64_bits_are_refused_by_the_spec(field):
    *tables, name = field.split(".")
    for number in (2**63, 10**30, 1e300, -(2**63)):
        spec: dict = {name: number}
        for table in reversed(tables):
            spec = {table: spec}
        with pytest.raises(SpecError, match=rf"^{field}: whole numbers must lie between ±9223372036854775807"):
            spec_from_mapping(spec)


def test_a_large_group_is_refused_before_its_table_is_made(memory, monkeypatch):
    memory(10**9)
    monkeypatch.setattr(groups, "parse", lambda name: pytest.fail("the table was made"))
    assert "task.group: the run needs" in refusal({"task": {"group": "Z5000"}})


def test_allow_large_tries_all_the_same(memory):
    memory(1000)
    assert "1000 B are available" in refusal(SMALL).replace("1.0 kB", "1000 B")
    assert runs.resolve(spec_from_mapping(SMALL), allow_large=True).model.W.shape == (10, 8)
    assert runs.run(spec_from_mapping(SMALL), allow_large=True, progress="off").status == "finished"
    failed, tried = (runs.run_many([spec_from_mapping(SMALL)], progress="off", allow_large=a)[0] for a in (False, True))
    assert (failed.status, tried.status) == ("failed", "finished")
    assert "of memory" in failed.message
    memory(None)
    runs.resolve(spec_from_mapping(SMALL))


def test_an_allocation_that_fails_is_an_error_not_the_end_of_the_process():
    code = (
        "import resource; from firstlight import runs; from firstlight.records import RunSpec, SpecError\n"
        "resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))\n"
        "try: runs.resolve(RunSpec.model_validate({'model': {'width': 10**8}}), allow_large=True)\n"
        "except SpecError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "model: no memory to draw weights of shape (142, 100000000)" in done.stdout


def test_a_disk_that_is_too_small_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(_limits, "free_disk", lambda path: 1000)
    said = refusal({**SMALL, "snapshots": 3}, store=tmp_path / "store.sqlite")
    assert "snapshots: the run writes about" in said
    assert "1.0 kB are free where the store is. Use a smaller snapshots or model.width, or choose" in said
    assert "model.width: the run writes about" in refusal(SMALL, store=tmp_path / "store.sqlite")


def test_arrays_are_measured_by_the_headers_of_their_file(memory, tmp_path):
    np.savez(tmp_path / "mine.npz", X=np.zeros((1000, 50)), y=np.arange(1000) % 2)
    spec = {"task": {"kind": "arrays", "path": str(tmp_path / "mine.npz")}, "model": {"width": 8}}
    assert 1e6 < runs.estimate(spec_from_mapping(spec)).memory["data"] < 4e6
    memory(10**5)
    assert "the run needs about" in refusal(spec)


def test_more_of_anything_takes_more():
    base = runs.estimate(spec_from_mapping(SMALL))
    assert base.seconds > 0
    assert base.bytes > 0
    larger = (
        {"model": {"width": 80}},
        {"task": {"group": "Z50"}},
        {"steps": 2000},
        {"task": {"group": "Z5", "factors": 4}},
    )
    for change in larger:
        more = runs.estimate(spec_from_mapping({**SMALL, **change}))
        assert more.seconds > base.seconds
        assert more.bytes > base.bytes
    snapshots = runs.estimate(spec_from_mapping({**SMALL, "snapshots": 2}))
    assert snapshots.disk - base.disk == 2 * 4 * (10 * 8 + 8 * 5)
    assert runs.estimate(RunSpec()).rows == 51


def test_the_products_of_muon_are_counted():
    deep = {"task": {"group": "Z5"}, "model": {"kind": "deep", "widths": [2048, 2048]}, "steps": 1000}
    adam, muon = (
        runs.estimate(spec_from_mapping({**deep, "optimizer": {"name": name, "batch_size": 8}})).seconds
        for name in ("adam", "muon")
    )
    # Five steps of three products of square matrices, 2n³ flops each.
    assert muon - adam > 1000 * 5 * 3 * 2 * 2048**3 / flops_per_second()


def test_the_rate_is_measured_on_one_thread_of_blas(monkeypatch):
    threads: set[int] = set()
    product = np.matmul

    def counted(a, b):
        threads.update(part["num_threads"] for part in threadpool_info() if part["user_api"] == "blas")
        return product(a, b)

    monkeypatch.setattr(np, "matmul", counted)
    with threadpool_limits(2, user_api="blas"):
        flops_per_second.__wrapped__()
    assert threads == {1}


MEASURE = """
import json
from firstlight import runs
from firstlight.records import spec_from_mapping

def spec(width):
    return spec_from_mapping({"task": {"group": "Z23", "split": {"count": 60}}, "model": {"width": width}, "steps": 2})

def peak():
    # ru_maxrss would begin with that of the process which started this one.
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))

runs.run(spec(300), progress="off")
start, measured = peak(), []
for width in (60_000, 200_000):
    runs.run(spec(width), progress="off")
    measured.append([peak() - start, runs.estimate(spec(width)).bytes])
print(json.dumps(measured))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_memory_is_estimated_to_a_factor_of_two():
    done = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, timeout=280, check=True)
    for measured, expected in json.loads(done.stdout):
        assert 0.5 < measured / expected < 2
