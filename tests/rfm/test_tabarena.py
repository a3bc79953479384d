"""The TabArena adapter, on a stand-in for AutoGluon's base class with the calls that AutoGluon makes."""

import pickle
import sys
import types

import numpy as np
import pandas as pd
import pytest

from firstlight.rfm import _tabarena as tabarena
from firstlight.rfm import tabarena_model


class AbstractModel:
    """What AutoGluon's AbstractModel gives to a custom model."""

    def __init__(self, problem_type, hyperparameters=None):
        self.problem_type, self.params = problem_type, dict(hyperparameters or {})
        self._set_default_params()

    def _set_default_param_value(self, name, value):
        self.params.setdefault(name, value)

    def _get_model_params(self):
        return dict(self.params)

    def _get_default_auxiliary_params(self):
        return {"max_time_limit": None}

    def preprocess(self, X, **kwargs):
        return X

    def fit(self, **kwargs):
        self._fit(**kwargs)
        return self


@pytest.fixture
def model(monkeypatch):
    modules = {name: types.ModuleType(name) for name in ("autogluon", "autogluon.core", "autogluon.core.models")}
    modules["autogluon.core.models"].AbstractModel = AbstractModel
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(tabarena, "_made", {})
    return tabarena_model()


def test_the_model_fits_what_autogluon_gives(model):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.standard_normal(40), "k": pd.Categorical(rng.choice(["x", "y", "z"], 40))})
    X.loc[3, "a"] = np.nan
    y = pd.Series((X["k"] == "x").astype(int))
    fitted = model(problem_type="binary", hyperparameters={"iterations": 1}).fit(X=X, y=y, num_cpus=1, time_limit=9.0)
    assert fitted.model.predict_proba(X).shape == (40, 2)
    assert fitted.model.get_params()["random_state"] == 0
    number = model(problem_type="regression", hyperparameters={"iterations": 1}).fit(X=X, y=y.astype(float))
    assert number.model.predict(X).shape == (40,)
    assert fitted._get_default_auxiliary_params()["valid_raw_types"][-1] == "category"
    assert "max_time_limit" in fitted._get_default_auxiliary_params()
    assert model._estimate_memory_usage_static(X=X) > 0
    assert (pickle.loads(pickle.dumps(fitted)).model.predict(X) == fitted.model.predict(X)).all()


def test_without_autogluon_the_fix_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "autogluon.core.models", None)
    monkeypatch.setattr(tabarena, "_made", {})
    with pytest.raises(ImportError, match="needs AutoGluon, which was not found; run pip install tabarena"):
        tabarena_model()
