"""Operators of the mutation run on snippets, and draws that a seed fixes."""

import ast
import sys

import pytest

from tools.mutate import __main__ as command
from tools.mutate import mutants, recording
from tools.mutate.operators import changed, changes
from tools.mutate.recording import Recording, split


def made(expression: str) -> set[tuple[str, str]]:
    """Operator and expression after it, for every change of `return expression`."""
    source = f"def f():\n    return {expression}\n"
    lines = {(c.operator, changed(source, c).splitlines()[1].removeprefix("    return ")) for c in changes(source)}
    return {(operator, ast.unparse(ast.parse(line, mode="eval"))) for operator, line in lines}


@pytest.mark.parametrize(
    ("expression", "operator", "after"),
    [
        ("a + b", "arithmetic", "a - b"),
        ("a - b", "dropped term", "a"),
        ("a * b ** c", "arithmetic", "a / b ** c"),
        ("x ** k", "arithmetic", "x * k"),
        ("A @ B", "order of a product", "B @ A"),
        ("a < b", "comparison", "a <= b"),
        ("a >= b", "comparison", "a > b"),
        ("a < b < c", "comparison", "a < b <= c"),
        ("x[0]", "constant", "x[1]"),
        ("2.0", "constant", "4.0"),
        ("2.0", "constant", "0.0"),
        ("3", "constant", "2"),
        ("True", "constant", "False"),
        ("a and b", "boolean", "a or b"),
        ("not a", "boolean", "a"),
        ("-a", "sign", "a"),
        ("a if b else c", "condition", "c if b else a"),
        ("f(x, axis=1)", "dropped keyword", "f(x)"),
        ("f(x, axis=1)", "constant", "f(x, axis=2)"),
        ("np.argmax(x)", "name", "np.argmin(x)"),
        ("x.max()", "name", "x.min()"),
        ("min(a, b)", "name", "max(a, b)"),
        ("np.sqrt(x)", "unwrapped", "x"),
        ("x.conj()", "unwrapped", "x"),
        ("x.T", "transpose", "x"),
        ("z.real", "name", "z.imag"),
    ],
)
def test_each_operator_on_a_snippet(expression, operator, after):
    assert (operator, after) in made(expression)


QUIET = '''"""Text with 1 + 1."""

CONSTANT = 1 + 1


def f(x: Float[A, "2 + 2"] = 1 + 1, *, y: int = 3) -> Float[A, "n+1"]:
    """One is 1 + 1."""
    if wrong:
        raise ValueError(f"{x + 1} is 2 too many, use {2 * x}")
    name = f"{x:.3f} and {x + 1}"
    warnings.warn("2", stacklevel=2)
    z: Literal[1] = name
    pairs = zip(x, z, strict=True)
    array = np.array(z, copy=False, order="F") if isinstance(z, int | float) else f(z)
    return pairs, array


class C:
    size = 1 + 1

    def __repr__(self):
        return str(1 + 1)
'''


def test_what_a_formula_does_not_depend_on_is_left_alone():
    assert [change.operator for change in changes(QUIET)] == ["condition"]


def test_a_change_replaces_its_expression_and_nothing_else():
    source = "def f(λ, x):\n    a = λ * (x + 1)  # λ first\n    return a\n"
    (change,) = (c for c in changes(source) if c.text == "(x - 1)")
    assert changed(source, change) == "def f(λ, x):\n    a = λ * ((x - 1))  # λ first\n    return a\n"
    mutant = mutants.mutant("f.py", source, change)
    assert (mutant.before, mutant.after) == ("a = λ * (x + 1) # λ first", "a = λ * ((x - 1)) # λ first")


def test_draws_are_reproducible_and_larger_ones_begin_like_smaller_ones(monkeypatch):
    file, other = "src/firstlight/features/_matrices/powers.py", "src/firstlight/features/_arrays.py"
    monkeypatch.setattr(mutants, "sources", lambda: [recording.ROOT / file, recording.ROOT / other])
    covered = Recording({"test": 1.0}, {file: {line: {"test"} for line in range(1, 200)}})
    few, many = (mutants.draw(covered, count, seed=0) for count in (5, 12))
    assert many[:5] == few == mutants.draw(covered, 5, seed=0)
    assert few != mutants.draw(covered, 5, seed=1)
    assert {mutant.file for mutant in many} == {file}
    assert len({(mutant.change.start, mutant.change.end) for mutant in many}) == 12


def test_lines_of_a_shared_fixture_count_for_every_test_that_uses_it(monkeypatch, tmp_path):
    monkeypatch.setattr(recording, "STATE", tmp_path)
    (tmp_path / "coverage").mkdir()
    path = recording.ROOT / "tests" / "tools" / "test_mutate.py"
    source = str(recording.ROOT / "src" / "module.py")
    name = "tests/tools/test_mutate.py"
    part = {
        "seconds": {f"{name}::slow": 2.0, f"{name}::quick": 1.0, f"{name}::other": 1.0},
        "shared": {f"{name}::slow": ["fixture x"], f"{name}::quick": ["fixture x"]},
        "lines": {"fixture x": {source: [3]}, f"{name}::slow": {source: [4]}, f"{name}::other": {source: [5]}},
    }
    split(part, "digest", [path])
    whole = recording._merged([recording._cache(path, "digest")])
    assert whole.covering("src/module.py", 3) == [f"{name}::quick", f"{name}::slow"]
    assert whole.covering("src/module.py", 4, 5) == [f"{name}::other", f"{name}::slow"]


def test_every_equivalent_mutant_is_one_and_has_a_reason():
    """An entry whose line has changed since is stale."""
    for (file, before, after), reason in mutants.equivalents().items():
        text = (recording.ROOT / file).read_text(encoding="utf-8")
        assert any(
            (m.before, m.after) == (before, after) for m in (mutants.mutant(file, text, c) for c in changes(text))
        )
        assert len(reason) > 20


@pytest.mark.parametrize("moment", ["record", "try_all"])
def test_ctrl_c_ends_with_the_score_so_far_and_its_exit_code(monkeypatch, tmp_path, capsys, moment):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "STATE", tmp_path)
    monkeypatch.setattr(command, "record", lambda jobs: Recording())
    monkeypatch.setattr(command, moment, interrupted)
    monkeypatch.setattr(sys, "argv", ["mutate"])
    assert command.main() == 130
    out, err = capsys.readouterr()
    assert err == "stopped; run the same command again to resume\n"
    assert "0 of 0 mutants tried" in out
