"""Records are frozen, round-trip through JSON bit for bit, and are known by their content."""

import json
import pickle
import subprocess
import sys
from types import FunctionType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from pydantic import ValidationError

import firstlight.records as records
from firstlight.records import (
    ClaimRecord,
    FitRecord,
    RunRecord,
    RunSpec,
    Table,
    TheoryVerdict,
    figure,
    machine_facts,
    run_id,
    sha256,
    software_versions,
)
from firstlight.records._values import plain

FIGURE = figure.curves([figure.Series("loss", [0, 1], [1.0, 0.5])], x="step", y="loss")
VERDICT = TheoryVerdict(theory="li2", agrees="yes", sentence="Prediction and measurement agree.")
numbers = st.floats(width=64)
names = st.text(min_size=1).filter(lambda name: name not in ("step", "__metadata__"))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def tables(draw):  # the parts; a checked constructor may not run inside a strategy
    rows = draw(st.integers(0, 4))
    columns = draw(st.dictionaries(names, st.lists(numbers, min_size=rows, max_size=rows), max_size=3))
    if draw(st.booleans()):
        dtype = draw(st.sampled_from(["f4", "f8", "i4", "u1", "?"]))
        flat = draw(st.lists(st.integers(0, 1), min_size=rows * 6, max_size=rows * 6))
        columns["array"] = np.array(flat).reshape(rows, 2, 3).astype(dtype)
    return draw(st.lists(st.integers(0, 2**40), min_size=rows, max_size=rows)), columns


@given(tables(), st.dictionaries(st.text(), values, max_size=3), numbers)
def test_a_run_survives_json_bit_for_bit(parts, summary, seconds):
    table = Table(*parts)
    seconds = abs(seconds) if np.isfinite(seconds) else 0.0
    record = RunRecord(spec=RunSpec(seed=3), status="diverged", table=table, summary=summary, seconds=seconds)
    copy = RunRecord.from_json(record.to_json())
    assert (copy, copy.digest, copy.to_json()) == (record, record.digest, record.to_json())
    assert RunRecord.model_validate_json(record.model_dump_json()) == record
    assert copy.table == table == pickle.loads(pickle.dumps(table)) == Table.from_arrays(table.arrays)
    assert all(copy.table[name].dtype == table[name].dtype for name in table.columns)


@given(values, values)
def test_a_claim_and_a_fit_survive_json(measured, expected):
    claim = ClaimRecord(
        id="agf.figure-5",
        paper="agf",
        title="Staircase",
        status="fails",
        expected_verdict="holds",
        scale="quick",
        statement="…",
        measured=measured,
        expected=expected,
        tolerance={"relative": 1e-3},
        seeds=(0, 1),
        figures=("ab" * 32,),
    )
    assert ClaimRecord.from_json(claim.to_json()) == claim
    assert not claim.as_expected
    fit = FitRecord(estimator="RFMRegressor", params={"p": measured}, data="0" * 64, scores={"r2": expected})
    again = fit.model_copy(update={"seconds": 1.0, "scores": {}})
    assert FitRecord.from_json(fit.to_json()) == fit != again
    assert fit.id == again.id


def test_what_is_not_a_number_is_still_a_number_after_json():
    record = RunRecord(
        spec=RunSpec(),
        status="diverged",
        table=Table([0, 1, 2], {"loss": [np.inf, -np.inf, np.nan]}),
        summary={"final": float("nan"), "worst": np.float32("inf")},
    )
    copy = RunRecord.from_json(record.to_json())
    np.testing.assert_array_equal(copy.table["loss"], [np.inf, -np.inf, np.nan])
    assert np.isnan(copy.summary["final"])
    assert copy.summary["worst"] == np.inf


@given(arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=4)))
def test_the_figures_and_verdicts_of_a_run_survive_json(matrix):
    curve = figure.curves([figure.Series("loss", [0, 1], np.float32([0.1, np.nan]))], x="step", y="loss")
    shown = (figure.heatmap(matrix, x="a", y="b", value="c"), figure.panels([curve, curve]))
    record = RunRecord(spec=RunSpec(), status="finished", figures=shown, verdicts=(VERDICT,))
    copy = RunRecord.from_json(record.to_json())
    assert copy == record
    assert copy.figures == record.figures
    np.testing.assert_array_equal(copy.figures[0].arrays["matrix"], matrix)
    assert copy.figures[1] == shown[1]
    assert copy.verdicts == (VERDICT,)
    for changed in ({"figures": shown[:1]}, {"verdicts": ()}):
        assert record.model_copy(update=changed).digest != record.digest
        assert record.model_copy(update=changed).result_digest == record.result_digest


@pytest.mark.parametrize("change", [{"arrays": {}}, {"header": {}}, {"header": None}, {"more": 1}])
def test_a_figure_that_is_not_whole_is_refused(change):
    values = json.loads(RunRecord(spec=RunSpec(), status="finished", figures=(FIGURE,)).to_json())
    values["figures"][0].update(change)
    with pytest.raises(ValidationError, match="figure"):
        RunRecord.model_validate(values)


def test_whether_a_check_raised_is_a_field_and_earlier_records_have_it_in_their_evidence():
    words = {"id": "li2.lemma-1", "paper": "li2", "title": "", "scale": "quick", "statement": "…"}
    words |= {"status": "inconclusive", "expected_verdict": "inconclusive"}
    earlier = ClaimRecord.model_validate(words | {"evidence": "the check raised KeyError: 'E'"})
    assert earlier.raised
    assert not earlier.as_expected
    assert earlier.digest == earlier.model_copy(update={"raised": True}).digest
    later = ClaimRecord.model_validate(words | {"evidence": "KeyError: 'E'", "raised": True})
    assert later.raised
    assert ClaimRecord.from_json(later.to_json()).raised
    assert later.digest != later.model_copy(update={"raised": False}).digest


def test_a_record_is_frozen_and_carries_its_own_id():
    record = RunRecord(spec=RunSpec(seed=5), status="finished", table=Table([0], {"loss": [1.0]}))
    assert record.id == run_id(record.spec)
    with pytest.raises(ValidationError, match="frozen"):
        record.status = "failed"
    with pytest.raises(ValueError, match="read-only"):
        record.table["loss"][0] = 2.0
    with pytest.raises(ValidationError, match=r"id must be that of the spec, .* or left out; got aaaa"):
        RunRecord(spec=RunSpec(), status="finished", id="a" * 64)
    with pytest.raises(ValidationError, match="status"):
        RunRecord(spec=RunSpec(), status="done")


def test_the_result_digest_forgets_time_and_place_and_nothing_else():
    table = Table([0, 5], {"loss": [1.0, 0.5]})
    a = RunRecord(spec=RunSpec(), status="finished", steps=5, table=table, seconds=1.0)
    b = a.model_copy(update={"seconds": 9.0, "created": "2000-01-01", "machine": {}})
    c = a.model_copy(update={"table": Table([0, 5], {"loss": [1.0, np.nextafter(0.5, 1)]})})
    assert a.result_digest == b.result_digest != c.result_digest
    assert len({a.digest, b.digest, c.digest}) == 3


def test_a_table_says_what_is_wrong_with_a_column():
    with pytest.raises(ValueError, match=r"column 'loss' needs 2 rows, one per step; got shape .3,."):
        Table([0, 1], {"loss": [1, 2, 3]})
    with pytest.raises(ValueError, match="column 'loss' must hold real numbers; got complex128"):
        Table([0], {"loss": [1j]})
    with pytest.raises(ValueError, match="'step' is the index"):
        Table([0], {"step": [0]})
    with pytest.raises(ValueError, match="column 'w' changes shape between rows"):
        Table.from_rows([(0, {"w": np.zeros(2)}), (1, {"w": np.zeros(3)})])
    with pytest.raises(KeyError, match="no column 'acc'; the columns are loss"):
        Table([0], {"loss": [0]})["acc"]


def test_rows_become_columns_and_what_is_absent_is_nan():
    table = Table.from_rows([(0, {"a": 1}), (3, {"b": np.float32(2), "a": True})])
    np.testing.assert_array_equal(table["b"], [np.nan, 2.0])
    assert Table.from_rows(table.rows()) == table


def test_plain_values_refuse_what_json_cannot_say():
    assert plain({"a": np.bool_(True), 2: (np.int8(3), np.array([[0.5]]))}) == {"a": True, "2": [3, [[0.5]]]}
    with pytest.raises(ValueError, match="a record holds numbers, text, lists and tables of them; got object"):
        plain(object())


def test_facts_name_the_software_and_the_machine_but_not_their_owner():
    assert software_versions()["numpy"] == np.__version__
    facts = machine_facts()
    assert facts["cores"] >= 1
    assert facts["memory_bytes"] > 2**20


def test_every_public_name_is_there_and_documented():
    for name in records.__all__:
        public = getattr(records, name)
        assert public.__doc__ or not isinstance(public, type | FunctionType), name
    with pytest.raises(AttributeError, match=r"has no attribute 'RunSpecs'; it has .*ArraysTask"):
        records.RunSpecs  # noqa: B018


def test_importing_records_loads_nothing_heavy():
    code = """
import sys
import firstlight.records
light = {"numpy", "pydantic", "pandas", "safetensors"} & sys.modules.keys()
from firstlight.records import RunSpec, Store, apply_overrides
heavy = {"pandas", "safetensors", "jax", "jaxtyping", "scipy", "torch", "matplotlib"} & sys.modules.keys()
print(sorted(light), sorted(heavy))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] == "[] []"


def test_a_record_from_before_there_were_tracebacks_figures_and_verdicts_keeps_its_digest():
    record = RunRecord(spec=RunSpec(), status="failed", message="no room")
    later = {"traceback": "Traceback", "figures": (FIGURE,), "verdicts": (VERDICT,)}
    old = sha256({**record.model_dump(exclude={"table", *later}), "table": record.table.digest})
    assert record.digest == old
    for name, value in later.items():
        assert record.model_copy(update={name: value}).digest != old
    fit = FitRecord(estimator="RFMRegressor", data="0" * 64)
    assert fit.digest == sha256(fit.model_dump(exclude={"figures"})) != fit.model_copy(update={"figures": (FIGURE,)})
