"""Estimator files of earlier versions; `files/` was written by version 0.1."""

import json
from pathlib import Path

import numpy as np
import pytest

from firstlight import rfm
from tests.tolerances import rounding

FILES = Path(__file__).parent / "files"


@pytest.fixture(scope="module")
def expected():
    return json.loads((FILES / "predictions-0.1.json").read_text())


@pytest.mark.parametrize("name", ["regressor", "classifier"])
def test_files_of_version_0_1_predict_as_they_did(expected, name, tmp_path):
    model = rfm.load(FILES / f"{name}-0.1.safetensors")
    predict = model.predict if name == "regressor" else model.predict_proba
    # 24 coefficients are summed; their squares show the largest term.
    room = rounding(np.abs(model._beta).max(), 24) + rounding(1.0, 24)
    np.testing.assert_allclose(predict(expected["rows"]), expected[name], rtol=0, atol=room)
    again = rfm.load(model.save(tmp_path / "again.safetensors"))
    assert (again.predict(expected["rows"]) == model.predict(expected["rows"])).all()
    assert again.get_params() == model.get_params()
    assert model.history_["chosen"].sum() == 1


def test_what_version_0_1_did_not_write_is_named(expected):
    model = rfm.load(FILES / "regressor-0.1.safetensors")
    np.testing.assert_allclose(model.feature_importances_, expected["importances"], rtol=rounding(1.0, 3))
    with pytest.raises(ValueError, match="no leave-one-out residuals"):
        model.predict_interval(expected["rows"])


def test_other_schemas_are_refused(tmp_path):
    from safetensors.numpy import save_file

    save_file({"shift": np.zeros(1)}, tmp_path / "new.safetensors", {"firstlight.rfm": json.dumps({"schema": 9})})
    with pytest.raises(ValueError, match=r"schema.*or fit the estimator again"):
        rfm.load(tmp_path / "new.safetensors")
