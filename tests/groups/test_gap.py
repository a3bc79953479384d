"""Character tables against GAP, on our own conjugacy classes."""

import ast
import shutil
import subprocess

import numpy as np
import pytest

from firstlight.groups import Group, character_table, from_permutations, parse

NAMES = ["S4", "A5", "SL2(3)", "F21", "F20", "D5", "D8", "Q8", "Dic3", "Z2xZ6", "S5", "SL2(5)", "Q8xS3"]
EXTRA = {"M9-like": [[1, 2, 0, 4, 5, 3, 7, 8, 6], [0, 3, 6, 1, 4, 7, 2, 5, 8], [0, 2, 1, 6, 8, 7, 3, 5, 4]]}

SCRIPT = """
Show := function(gens, reps)
  local G, e;
  G := Group(List(gens, PermList), ());
  e := Exponent(G);
  Print([e, List(Irr(G), chi -> List(reps, r -> CoeffsCyc((PermList(r))^chi, e)))], "@");
end;;
"""


def right_regular(group: Group, g: int) -> str:
    """x ↦ xg, counted from 1: GAP's permutations act from the right, so this is a homomorphism."""
    return str((group.table[:, g] + 1).tolist())


@pytest.fixture(scope="module")
def gap_tables():
    if shutil.which("gap") is None:
        pytest.skip("GAP is not installed (Debian: apt install gap-core)")
    groups = {name: parse(name) for name in NAMES}
    groups |= {name: from_permutations(generators) for name, generators in EXTRA.items()}
    calls = []
    for group in groups.values():
        generators = ",".join(right_regular(group, g) for g in group.generators)
        representatives = ",".join(right_regular(group, int(c[0])) for c in group.classes)
        calls.append(f"Show([{generators}], [{representatives}]);;")
    done = subprocess.run(
        ["gap", "-q", "-A"],
        input=SCRIPT + "\n".join(calls),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    lines = done.stdout.replace("\\\n", "").replace("\n", "").split("@")[:-1]
    return {name: (group, ast.literal_eval(line)) for (name, group), line in zip(groups.items(), lines, strict=True)}


@pytest.mark.parametrize("name", [*NAMES, *EXTRA])
def test_character_table_is_that_of_gap(gap_tables, name):
    group, (exponent, coefficients) = gap_tables[name]
    assert exponent == group.exponent
    theirs = np.array(coefficients, dtype=float) @ np.exp(2j * np.pi * np.arange(exponent) / exponent)
    ours = character_table(group)
    distances = np.abs(ours[:, None] - theirs[None]).max(axis=-1)
    partner = distances.argmin(axis=1)
    assert sorted(partner) == list(range(len(ours)))
    assert distances.min(axis=1).max() < 1e-10
