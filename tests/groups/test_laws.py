"""A table that is not a group says which law fails and where; files and names fail with the fix."""

import subprocess
import sys

import numpy as np
import pytest

from firstlight.groups import Group, cyclic, from_permutations, from_table, parse, quaternion, symmetric


def _loop_of_order_five():
    """A Latin square of order 5 with identity where each element is its own inverse: not Z5, so no group."""
    return np.array([[0, 1, 2, 3, 4], [1, 0, 3, 4, 2], [2, 4, 0, 1, 3], [3, 2, 4, 0, 1], [4, 3, 1, 2, 0]])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[0, 1]], r"square \(M, M\).*got shape \(1, 2\)"),
        ([0, 1], r"square \(M, M\).*got shape \(2,\)"),
        (np.zeros((0, 0), dtype=int), r"M ≥ 1"),
        ([[0, 1], [1]], "whole numbers"),
        ([[0, 1], [1, 0.5]], r"whole numbers.*table\[1, 1\] = 0.5"),
        ([[0, 1], [1, float("nan")]], r"whole numbers.*table\[1, 1\] = nan"),
        ([["e", "a"], ["a", "e"]], "whole numbers"),
        ([[1, 2], [2, 1]], r"0…1, but table\[0, 1\] = 2; count from 0"),
        ([[0, 1], [1, -1]], r"table\[1, 1\] = -1"),
        ([[0, 1, 2], [2, 0, 1], [1, 2, 0]], r"no identity.*0 is one from the left only: 1·0 = 2"),
        ([[1, 0], [1, 0]], r"no identity.*the nearest, 0, has 0·0 = 1"),
        ((np.arange(4)[:, None] * np.arange(4)) % 4, r"element 0 has no inverse, an h with 0·h = h·0 = 1"),
        ([[0, 1, 2], [1, 0, 0], [2, 0, 1]], r"Latin square, row 1 repeats 0 \(1·1 = 1·2 = 0\)"),
        ([[0, 1, 2], [1, 0, 1], [2, 2, 0]], r"Latin square, row 1 repeats 1"),
    ],
)
def test_broken_tables_name_the_law_and_the_elements(table, message):
    with pytest.raises(ValueError, match=message):
        from_table(table)


def test_column_repeats_are_found_where_rows_are_permutations():
    table = [[0, 1, 2, 3], [1, 0, 3, 2], [2, 1, 0, 3], [3, 1, 2, 0]]
    with pytest.raises(ValueError, match=r"column 1 repeats 1 \(0·1 = 2·1 = 1\)"):
        from_table(table)


def test_associativity_failure_is_a_true_counterexample():
    table = _loop_of_order_five()
    with pytest.raises(ValueError, match="not associative") as caught:
        from_table(table)
    inside = str(caught.value).split("= (")[1].split(")")[0]
    g, h, k = map(int, inside.split(","))
    assert table[table[g, h], k] != table[g, table[h, k]]


def test_lights_test_agrees_with_brute_force():
    """Turn a 2×2 subsquare of Z2³ around: the result stays Latin, and is a group or not by all M³ triples."""
    verdicts = set()
    base = parse("Z2^3").table
    for seed in range(60):
        rng = np.random.default_rng(seed)
        table = base.copy()
        g, h, s = rng.integers(0, 8), rng.integers(0, 8), rng.integers(1, 8)
        rows, cols = [g, g ^ s], [h, h ^ s]
        if rng.random() < 0.8:
            table[np.ix_(rows, cols)] = table[np.ix_(rows, cols[::-1])]
        identity = any((table[e] == np.arange(8)).all() and (table[:, e] == np.arange(8)).all() for e in range(8))
        associative = (table[table] == table[:, table]).all()
        try:
            from_table(table)
            accepted = True
        except ValueError:
            accepted = False
        assert accepted == (identity and associative)
        verdicts.add(accepted)
    assert verdicts == {True, False}


@pytest.mark.parametrize("suffix", ["csv", "txt", "npy"])
def test_files_round_trip(tmp_path, suffix):
    table, path = quaternion().table, tmp_path / f"mine.{suffix}"
    if suffix == "npy":
        np.save(path, table)
    else:
        np.savetxt(path, table, delimiter="," if suffix == "csv" else " ", header="row g, column h: gh")
    group = from_table(path)
    assert group == quaternion() == from_table(str(path))
    assert group.name == "mine"
    assert repr(group) == "<Group 'mine' of order 8>"


def test_bad_files(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no Cayley table at .*gone\.csv"):
        from_table(tmp_path / "gone.csv")
    (tmp_path / "t.json").write_text("[[0]]")
    with pytest.raises(ValueError, match=r"\.csv, \.txt or \.npy file, got t\.json"):
        from_table(tmp_path / "t.json")
    (tmp_path / "ragged.csv").write_text("0,1\n1\n")
    with pytest.raises(ValueError, match="row 0 has 2 entries and row 1 has 1"):
        from_table(tmp_path / "ragged.csv")
    (tmp_path / "words.csv").write_text("e,a\na,e\n")
    with pytest.raises(ValueError, match=r"row 0 is not all numbers .*'e'.*leave out headers"):
        from_table(tmp_path / "words.csv")
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="not a plain NumPy array"):
        from_table(tmp_path / "objects.npy")
    (tmp_path / "spreadsheet.csv").write_bytes("\ufeff0;1\r\n1;0\r\n".encode())
    assert from_table(tmp_path / "spreadsheet.csv") == cyclic(2)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Dik3", "did you mean 'Dic3'"),
        ("Sym4", "did you mean 'S4'"),
        ("Quaternion", "did you mean 'Q8'"),
        ("dihedral7", "did you mean 'D7'"),
        ("cyclc12", "did you mean 'Z12'"),
        ("Z5xW6", r"unknown group 'W6' in 'Z5xW6'.*Known names"),
        ("", "unknown group ''"),
        ("Z99999999999", "unknown group 'Z99999999999'; Known names"),
        ("Z0", "n ≥ 1, got n = 0"),
        ("S9", "order 362880, but Cayley tables stop at order 5040"),
        ("S999999999", "order over 10"),
        ("Z2^13", "order 8192"),
        ("Z2^0", "at least 1"),
        ("Q10", "order 4n with n ≥ 2"),
        ("F15", "p prime and q ≥ 2 dividing"),
        ("SL2(4)", "prime p, got p = 4"),
    ],
)
def test_unknown_or_impossible_names(name, message):
    with pytest.raises(ValueError, match=message):
        parse(name)


# Annotations refuse these first wherever they are checked, as they are in this process.
_WITHOUT_ANNOTATIONS = """
import numpy as np
from firstlight import groups, models, tasks
Z3 = groups.cyclic(3)
for call in (
    lambda: groups.Group(np.array([[0, 1.9], [1.2, 0]])), lambda: groups.from_permutations([[1.5, 0.2]]),
    lambda: groups.cyclic(2.5), lambda: groups.sl2("3"), lambda: groups.frobenius(7, 1.5),
    lambda: tasks.group_task("Z3", factors=2.5), lambda: models.power(2.5),
    lambda: tasks.group_task("Z3").split(fraction="0.5"),
):
    try:
        call()
    except ValueError as error:
        print(error)
print(groups.isotypic_energies(Z3, [1.0, 1.0, 1.0]).round(9).tolist())
"""


def test_values_of_the_wrong_type_are_explained():
    done = subprocess.run([sys.executable, "-c", _WITHOUT_ANNOTATIONS], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "a Cayley table holds whole numbers only, counted from 0, but table[0, 1] = 1.9",
        "generator 0 holds whole numbers only, counted from 0, but entry [0] = 1.5",
        "cyclic(n) needs a whole number, got 2.5",
        "sl2(p) needs a whole number, got '3'",
        "frobenius(p, q) needs a whole number, got 1.5",
        "factors must be a whole number of at least 2, got 2.5; 2 is g₁g₂",
        "power<q> needs an integer exponent q of at least 1, got 2.5; write e.g. 'power3'",
        "fraction must lie in (0, 1], got '0.5'; 0.4 trains on 40 % of the rows",
        "[3.0, 0.0]",
    ]


def test_other_bad_arguments():
    with pytest.raises(ValueError, match=r"generator 1 must be a permutation of 0…2 .* got \[1, 2, 3\]"):
        from_permutations([[1, 2, 0], [1, 2, 3]])
    with pytest.raises(ValueError, match="at least one generator"):
        from_permutations([])
    with pytest.raises(ValueError, match="more than 5040 elements"):
        from_permutations([[1, 2, 3, 4, 5, 6, 7, 0], [1, 0, 2, 3, 4, 5, 6, 7]])
    with pytest.raises(ValueError, match=r"leave moduli out"):
        Group(symmetric(3).table, moduli=(6,))
    with pytest.raises(ValueError, match="order 2 needs 2 labels, got 1"):
        Group(cyclic(2).table, labels=("e",))
    with pytest.raises(ValueError, match="S3 is not Abelian"):
        _ = symmetric(3).abelian_moduli
