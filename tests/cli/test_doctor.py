"""The doctor says what there is, how fast it is, and how to get what is missing."""

from firstlight.claims import _needs as needs
from firstlight.cli import _exits as exits


def test_the_doctor_measures(cli):
    facts = cli("doctor", "--json").json
    assert facts["versions"]["firstlight"]
    assert facts["machine"]["cores"] >= 1
    assert all(rate > 0 for rate in facts["rates"].values())
    assert {"numpy float32 GEMM (GFLOP/s)", "jax float64 GEMM (GFLOP/s)", "memory copy (GB/s)"} <= facts["rates"].keys()


def test_the_doctor_names_what_is_missing(cli, monkeypatch):
    monkeypatch.setitem(needs.EXTRAS, "torch", "a_module_that_is_not_there")
    done = cli("doctor", "--no-measure")
    assert done.code == exits.OK
    assert "pip install 'firstlight[torch]'" in done.out
    assert "GEMM" not in done.out
