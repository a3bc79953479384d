"""Names, export and import of parameters."""

import equinox as eqx
import jax
import numpy as np
import pytest
from safetensors.numpy import load, save

from firstlight.models import Deep, TwoLayer, export_parameters, import_parameters, named_parameters

RNG = np.random.default_rng(0)


def two_layer() -> TwoLayer:
    return TwoLayer(RNG.normal(size=(4, 5)), RNG.normal(size=(5, 3)))


def deep() -> Deep:
    shapes = (4, 5), (5, 6), (6, 3)
    return Deep([RNG.normal(size=s) for s in shapes], [RNG.normal(size=s[1]) for s in shapes])


def test_names():
    assert list(named_parameters(two_layer())) == ["W", "V"]
    assert list(named_parameters(TwoLayer(np.eye(2), np.eye(2), np.ones(2), np.ones(2)))) == [
        "W",
        "V",
        "b",
        "c",
    ]
    names = named_parameters(deep())
    assert list(names) == ["weights.0", "weights.1", "weights.2", "biases.0", "biases.1", "biases.2"]
    assert names["weights.1"].shape == (5, 6)


@pytest.mark.parametrize("wide", [False, True], ids=["float32", "float64"])
def test_round_trip_through_safetensors_is_exact(wide: bool):
    with jax.enable_x64(wide):
        source, target = deep(), deep()
        flat = export_parameters(source)
        assert {value.dtype for value in flat.values()} == {np.dtype(np.float64 if wide else np.float32)}
        assert eqx.tree_equal(import_parameters(target, load(save(flat))), source)


def test_a_batch_of_models_round_trips_and_narrow_floats_are_widened():
    batch = jax.tree.map(lambda *leaves: np.stack(leaves), two_layer(), two_layer(), two_layer())
    batch = jax.tree.map(jax.numpy.asarray, batch)
    assert eqx.tree_equal(import_parameters(batch, export_parameters(batch)), batch)
    narrow = export_parameters(two_layer())
    with jax.enable_x64(True):
        wide = import_parameters(two_layer(), narrow)
        assert wide.W.dtype == np.float64
        assert np.array_equal(wide.W, narrow["W"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"W": np.ones((5, 4), np.float32)}, r"'W' must have shape \(4, 5\), got \(5, 4\)"),
        ({"V": None}, r"parameters \['V'\] are missing; the model has \['W', 'V'\], got \['W'\]"),
        ({"w": np.ones(2, np.float32)}, r"no parameters \['w'\]"),
        ({"WW": np.ones(2, np.float32)}, r"did you mean 'W'\? It has \['W', 'V'\]"),
        ({"W": np.ones((4, 5))}, r"'W' is float64 and the model float32; cast it"),
        ({"V": np.full((5, 3), np.nan, np.float32)}, r"'V' has 15 NaN or infinite entries"),
    ],
)
def test_bad_parameters_are_refused(change, message):
    model = two_layer()
    parameters = {k: v for k, v in {**export_parameters(model), **change}.items() if v is not None}
    with pytest.raises(ValueError, match=message):
        import_parameters(model, parameters)
