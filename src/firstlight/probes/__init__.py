"""The feature matrices of FACT for your PyTorch model: which layers have converged to what their loss asks for.

>>> import torch
>>> from firstlight import probes
>>> torch.manual_seed(0) and None
>>> model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
>>> data = [(torch.randn(16, 3), torch.randn(16, 1)) for _ in range(4)]
>>> result = probes.probe(model, data, torch.nn.MSELoss(), weight_decay=1e-2)
>>> list(result.table().index)
['0.weight', '2.weight']

PyTorch is an optional extra: `pip install 'firstlight[torch]'`. This package imports without it, and without JAX.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from firstlight.probes._checkpoints._history import CheckpointHistory
    from firstlight.probes._checkpoints._microscope import probe_checkpoints
    from firstlight.probes._feature_probe import FeatureProbe
    from firstlight.probes._integrations import huggingface_callback, lightning_callback
    from firstlight.probes._probe import probe
    from firstlight.probes._result import LayerReport, ProbeResult
    from firstlight.probes._verdict import Verdict, judge
    from firstlight.probes._watch import Watch

_HOME = {
    "CheckpointHistory": "_checkpoints._history",
    "FeatureProbe": "_feature_probe",
    "LayerReport": "_result",
    "ProbeResult": "_result",
    "Verdict": "_verdict",
    "Watch": "_watch",
    "huggingface_callback": "_integrations",
    "judge": "_verdict",
    "lightning_callback": "_integrations",
    "probe": "_probe",
    "probe_checkpoints": "_checkpoints._microscope",
}

__all__ = [
    "CheckpointHistory",
    "FeatureProbe",
    "LayerReport",
    "ProbeResult",
    "Verdict",
    "Watch",
    "huggingface_callback",
    "judge",
    "lightning_callback",
    "probe",
    "probe_checkpoints",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'firstlight.probes' has no attribute {name!r}; it has {', '.join(__all__)}")
    try:
        module = importlib.import_module(f"firstlight.probes.{_HOME[name]}")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(
            f"firstlight.probes.{name} needs PyTorch, which is not installed; install it with "
            "pip install 'firstlight[torch]'"
        ) from error
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
