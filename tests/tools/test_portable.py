"""`make test-portable`: reports are counted, settings say why they are skipped, a second call goes on."""

import dataclasses
import os
import subprocess
import sys

import pytest

from firstlight import claims
from tools.portable import drive as driving
from tools.portable.__main__ import arguments, chosen, main, matching
from tools.portable.drive import affected, drive, pytest_runner, rows
from tools.portable.parts import FOLDERS, ROOT, Part, all_parts, digest
from tools.portable.pythons import installed, python_settings, requirements, without_torch
from tools.portable.results import Result, State, read_report
from tools.portable.settings import (
    SETTINGS,
    Setting,
    Used,
    environment_of,
    pinned,
    processor_flags,
    really_used,
    refused,
    unsupported,
)

BY_NAME = {setting.name: setting for setting in SETTINGS}
FULL = frozenset({"sse4_2", "avx", "avx2", "fma", "avx512f", "avx512vl"})
PARTS = [Part("a", frozenset({"blas"}), ("tests/a",), 10), Part("b", frozenset({"xla", "blas"}), ("tests/b",), 20)]

REPORT = """<testsuites><testsuite>
  <testcase classname="tests.a" name="test_good"/>
  <testcase classname="tests.a" name="test_bad"><failure message="no"/></testcase>
  <testcase classname="tests.b" name="test_broken"><error message="fixture"/></testcase>
  <testcase classname="tests.b" name="test_left_out"><skipped message="no data"/></testcase>
</testsuite></testsuites>"""


def test_a_report_is_counted(tmp_path):
    (tmp_path / "r.xml").write_text(REPORT)
    result = read_report(tmp_path / "r.xml", "d", 1.26, 1)
    assert result == Result("d", 1, 2, 1, 1.3, ("tests.a::test_bad", "tests.b::test_broken"))
    assert not result.green


@pytest.mark.parametrize("content", [None, "", "<testsuites/>"], ids=["missing", "empty", "no test"])
def test_a_run_without_tests_is_red(tmp_path, content):
    if content is not None:
        (tmp_path / "r.xml").write_text(content)
    assert not read_report(tmp_path / "r.xml", "d", 1, 4).green
    assert not read_report(tmp_path / "r.xml", "d", 1, 0).green


def test_every_target_names_a_file_and_a_test_that_exist():
    for part in all_parts():
        for target in part.targets:
            path, _, test = target.partition("::")
            assert (ROOT / path).exists(), target
            assert not test or f"def {test.partition('[')[0]}(" in (ROOT / path).read_text(), target


def test_a_failure_that_no_test_names_is_red(tmp_path):
    (tmp_path / "r.xml").write_text('<testsuites><testsuite><testcase name="t"/></testsuite></testsuites>')
    result = read_report(tmp_path / "r.xml", "d", 1, 3)
    assert (result.green, result.failures) == (False, ("pytest ended with exit code 3 after 1 tests",))


@pytest.mark.parametrize(
    ("name", "machine", "flags", "reason"),
    [
        ("XLA AVX512", "x86_64", FULL - {"avx512f"}, "the processor has no avx512f"),
        ("XLA AVX", "aarch64", frozenset(), "the setting needs an x86 processor; this processor is aarch64"),
        ("OpenBLAS Haswell", "x86_64", frozenset({"avx"}), "the processor has no avx2 and no fma"),
        ("OpenBLAS Prescott", "x86_64", frozenset(), ""),
        ("OpenBLAS SkylakeX", "x86_64", FULL, ""),
        ("one core", "arm64", frozenset(), ""),
    ],
)
def test_a_processor_that_lacks_the_instructions_says_so(name, machine, flags, reason):
    assert unsupported(BY_NAME[name], machine, flags) == reason


@pytest.mark.parametrize(
    ("name", "used", "reason"),
    [
        ("OpenBLAS Prescott", {"kernels": ("Katmai",)}, ""),
        ("OpenBLAS Prescott", {"kernels": ("SkylakeX",)}, "OpenBLAS uses SkylakeX instead"),
        ("OpenBLAS Zen", {"kernels": ()}, "NumPy and SciPy do not use OpenBLAS here"),
        ("ATen default", {"aten": "AVX512"}, "ATen uses AVX512 instead"),
        ("ATen default", {}, "torch is not installed"),
        ("XLA AVX", {"complaint": "unknown"}, "unknown"),
    ],
)
def test_a_library_that_does_not_obey_is_named(name, used, reason):
    assert refused(BY_NAME[name], Used("x86_64", FULL, **used)) == reason


def test_what_is_really_used_is_shown():
    used = Used("x86_64", FULL, ("Katmai",), "DEFAULT", 1, (1,), "3.12.1")
    shown = {name: really_used(setting, used) for name, setting in BY_NAME.items()}
    assert shown["XLA AVX"] == "AVX of AVX512"
    assert shown["OpenBLAS Prescott"] == "kernel Katmai"
    assert shown["ATen default"] == "capability DEFAULT"
    assert shown["OMP_NUM_THREADS=1"] == "OpenMP on 1 thread"
    assert shown["one core"].startswith("1 of ")


def test_flags_are_read_from_the_kernel_or_from_commands(tmp_path, monkeypatch):
    (tmp_path / "cpuinfo").write_text("model name : x\nflags\t\t: sse4_2 avx avx2\n")
    assert processor_flags(tmp_path / "cpuinfo") >= {"sse4_2", "avx", "avx2"}
    monkeypatch.setattr("shutil.which", lambda command: None)
    assert processor_flags(tmp_path / "nothing") == frozenset()


def test_instruction_sets_share_no_compiled_program_and_inherit_no_other_setting(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Zen")
    environments = {name: environment_of(setting, tmp_path) for name, setting in BY_NAME.items()}
    caches = {name: variables["JAX_COMPILATION_CACHE_DIR"] for name, variables in environments.items()}
    assert len({cache for name, cache in caches.items() if "XLA" in name or name == "one core"} | {""}) == 6
    assert len({caches[name] for name in ("OpenBLAS Zen", "ATen default", "OMP_NUM_THREADS=1")}) == 1
    assert "OPENBLAS_CORETYPE" not in environments["XLA AVX"]
    assert environments["XLA AVX"]["XLA_FLAGS"] == "--xla_cpu_max_isa=AVX"


def test_a_kernel_that_another_setting_runs_is_skipped(monkeypatch):
    monkeypatch.setattr(driving, "processor_flags", lambda: FULL)
    monkeypatch.setattr(driving.platform, "machine", lambda: "x86_64")
    settings = [BY_NAME["OpenBLAS Haswell"], BY_NAME["OpenBLAS Zen"], BY_NAME["XLA AVX"]]
    table = rows(settings, lambda setting: Used("x86_64", FULL, ("Haswell",)))
    reasons = [row.skipped for row in table]
    assert reasons == ["", "this build uses the kernel Haswell, as for OpenBLAS Haswell", ""]


class FakeRunner:
    """Answers from a table of red parts, and counts."""

    def __init__(self, red=(), interrupt=None):
        self.red, self.interrupt, self.calls = set(red), interrupt, []

    def __call__(self, setting, part, source):
        if self.interrupt == part.name:
            raise KeyboardInterrupt
        self.calls.append(part.name)
        bad = part.name in self.red
        return Result(source, passed=1 - bad, failed=int(bad), seconds=5.0, failures=("t",) * bad)


def state_and_table(tmp_path):
    setting = Setting("BLAS", frozenset({"blas"}))
    return State(tmp_path / "state.json"), [driving.Row(setting)]


def test_a_second_call_runs_what_was_red_and_what_is_missing(tmp_path):
    first, quiet = FakeRunner(interrupt="b"), lambda line: None
    state, table = state_and_table(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        drive(table, PARTS, state, first, quiet)
    state, table = state_and_table(tmp_path)
    second = FakeRunner(red={"b"})
    drive(table, PARTS, state, second, quiet)
    assert (first.calls, second.calls, table[0].green) == (["a"], ["b"], False)
    state, table = state_and_table(tmp_path)
    third, lines = FakeRunner(), []
    drive(table, PARTS, state, third, lines.append)
    assert (third.calls, table[0].green) == (["b"], True)
    assert lines == ["1 parts to run, 1 already green on this source", "[1/1, 5 s left] BLAS: b"]
    assert State(tmp_path / "state.json", fresh=True).results == {}


def test_a_result_of_other_source_is_not_taken(tmp_path):
    state, _ = state_and_table(tmp_path)
    state.put("BLAS", "a", Result("old", passed=1, seconds=7))
    assert state.get("BLAS", "a", "new") is None
    assert state.expected_seconds("XLA", "a", 3) == 7


def test_a_damaged_state_names_the_way_out(tmp_path):
    (tmp_path / "state.json").write_text('{"BLAS": {"a": 1}}')
    with pytest.raises(SystemExit, match=r"is not a state file of this command .* run with --fresh"):
        State(tmp_path / "state.json")


def test_the_digest_of_the_guides_follows_the_pages(tmp_path):
    (tmp_path / "docs").mkdir()
    guides = next(part for part in FOLDERS if part.name == "guides")
    before = digest(guides, tmp_path)
    (tmp_path / "docs" / "a.md").write_text(">>> 1")
    assert digest(guides, tmp_path) != before


def test_every_test_file_with_a_tolerance_is_part_of_it():
    covered = [ROOT / target for part in all_parts() for target in (t.partition("::")[0] for t in part.targets)]
    line = "from tests.tolerances import rounding\n"
    numerical = [file for file in (ROOT / "tests").rglob("test_*.py") if f"\n{line}" in file.read_text("utf-8")]
    assert len(numerical) > 10
    assert [file for file in numerical if not any(file.is_relative_to(place) for place in covered)] == []


def test_a_child_is_bound_to_its_cores_without_a_fork_of_this_process():
    setting = dataclasses.replace(BY_NAME["one core"], cores=int(hasattr(os, "sched_setaffinity")))
    code = "import os, sys; print(len(getattr(os, 'sched_getaffinity', lambda pid: [0])(0)), sys.argv[1:])"
    done = subprocess.run([*pinned(setting), "-c", code, "a b"], capture_output=True, text=True, check=True)
    assert done.stdout == "1 ['a b']\n"


def test_an_environment_of_another_python_is_made_again_when_its_releases_change(tmp_path):
    (tmp_path / "pyproject.toml").write_text("1")
    (tmp_path / "constraints.txt").write_text("2")
    digests = {installed(None, tmp_path), installed("constraints.txt", tmp_path)}
    (tmp_path / "constraints.txt").write_text("3")
    assert len(digests | {installed("constraints.txt", tmp_path)}) == 3


def test_the_digest_follows_the_package_and_the_tests_of_the_part(tmp_path):
    (tmp_path / "src").mkdir()
    for folder in ("a", "b"):
        (tmp_path / "tests" / folder).mkdir(parents=True)
        (tmp_path / "tests" / folder / "test_x.py").write_text("1")
    before = [digest(part, tmp_path) for part in PARTS]
    (tmp_path / "tests" / "b" / "test_x.py").write_text("2")
    after_tests = [digest(part, tmp_path) for part in PARTS]
    assert [x == y for x, y in zip(before, after_tests, strict=True)] == [True, False]
    (tmp_path / "src" / "m.py").write_text("3")
    assert all(digest(part, tmp_path) != old for part, old in zip(PARTS, after_tests, strict=True))


def test_every_part_is_there_and_some_setting_affects_it():
    parts = all_parts()
    assert all((ROOT / target).exists() for part in FOLDERS for target in part.targets)
    reached = {part.name for setting in SETTINGS for part in affected(setting, parts)}
    assert reached == {part.name for part in parts}
    assert [part.name for part in affected(BY_NAME["ATen default"], parts)] == ["probes", "guides", "claims torch"]
    other = Setting("Python 9.9", frozenset({"xla", "blas", "threads", "openmp"}), python="python9.9")
    assert {part.name for part in affected(other, parts)} == {part.name for part in parts if "aten" not in part.uses}
    verdicts = [target for part in parts if part.claims for target in part.targets]
    quick = [claim.id for claim in claims.all_claims() if "quick" in claim.scales]
    assert sorted(verdict.partition("[")[2][:-1] for verdict in verdicts) == sorted(quick)


def test_pytest_runs_a_part_and_its_report_is_read(tmp_path):
    test = tmp_path / "test_one.py"
    test.write_text(
        "import os\ndef test_core(): assert os.environ['OPENBLAS_CORETYPE'] == 'Zen'\ndef test_red(): assert 0"
    )
    setting = dataclasses.replace(BY_NAME["OpenBLAS Zen"], cores=int(hasattr(os, "sched_setaffinity")))
    part = Part("one", frozenset({"blas"}), (str(test), "--rootdir", str(tmp_path), "-c", "/dev/null"), 1)
    result = pytest_runner(tmp_path / "work", 1)(setting, part, "d")
    assert (result.passed, result.failed, len(result.failures)) == (1, 1, 1)
    assert "test_red" in (tmp_path / "work" / "logs" / "OpenBLAS-Zen" / "one.txt").read_text()


def test_names_that_match_nothing_are_refused():
    assert matching(["XLA AVX", "one core"], ["avx"], "setting") == ["XLA AVX"]
    with pytest.raises(SystemExit, match="no setting contains 'avx3'; choose from XLA AVX"):
        matching(["XLA AVX"], ["avx3"], "setting")
    settings, parts = chosen(arguments(["--only", "aten", "--parts", "probes"]))
    assert ([s.name for s in settings], [p.name for p in parts]) == (["ATen default"], ["probes"])


def test_the_list_runs_nothing(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["portable", "--list", "--only", "ATen"])
    assert main() == 0
    assert capsys.readouterr().out.split() == ["ATen", "default:", "probes,", "guides,", "claims", "torch"]


def test_other_versions_of_python_do_without_torch(tmp_path, capsys):
    needed = requirements(ROOT / "pyproject.toml")
    assert any(requirement.startswith("pytest-xdist") for requirement in needed)
    assert not any(requirement.startswith(("torch", "firstlight", "ruff")) for requirement in needed)
    models = next(part for part in FOLDERS if "models" in part.name)
    assert "--ignore=tests/models/test_initialisation.py" in without_torch(models)
    assert python_settings(["9.9"], tmp_path) == []
    assert "Python 9.9 is skipped: no python9.9 on the path" in capsys.readouterr().err
