"""The numpydoc of the estimators names every parameter and every fitted attribute, and nothing else."""

import inspect
import re

import numpy as np
import pandas as pd
import pytest

from firstlight.rfm import RFMClassifier, RFMRegressor


def entries(estimator, section):
    """name -> (type, description) of a numpydoc section of a class docstring."""
    text = inspect.cleandoc(estimator.__doc__)
    body = re.search(rf"^{section}\n-+\n(.*?)(?=\n\n\S|\Z)", text, re.MULTILINE | re.DOTALL).group(1)
    parts = re.split(r"^(\w+) : (.+)$", body, flags=re.MULTILINE)
    assert parts[0] == "", f"{section} of {estimator.__name__} has text before its first entry"
    return {name: (kind, text) for name, kind, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)}


@pytest.fixture(params=[RFMClassifier, RFMRegressor])
def estimator(request):
    return request.param


def test_every_parameter_is_documented_with_its_default(estimator):
    documented = entries(estimator, "Parameters")
    defaults = {name: p.default for name, p in inspect.signature(estimator).parameters.items()}
    assert list(documented) == list(defaults)
    for name, default in defaults.items():
        shown = f'"{default}"' if isinstance(default, str) else str(default)
        assert documented[name][0].endswith(f", default={shown}")


def test_every_fitted_attribute_is_documented(estimator):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((30, 3)), columns=["a", "b", "c"])
    model = estimator(iterations=1).fit(X, rng.integers(2, size=30))
    stored = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    computed = {
        name
        for name, value in inspect.getmembers(estimator, inspect.isdatadescriptor)
        if name.endswith("_") and not name.startswith("_")
    }
    assert set(entries(estimator, "Attributes")) == stored | computed


@pytest.mark.parametrize("section", ["Parameters", "Attributes"])
def test_every_entry_has_a_type_and_an_indented_description(estimator, section):
    for name, (kind, text) in entries(estimator, section).items():
        lines = text.strip("\n").splitlines()
        assert kind.strip(), name
        assert lines, name
        assert all(line.startswith("    ") for line in lines), name
        assert text.strip().endswith("."), name
