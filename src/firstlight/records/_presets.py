"""Published settings by name, as parts of a spec."""

import copy
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from firstlight._suggest import did_you_mean

_ADAMW = {
    "name": "adamw",
    "learning_rate": 1e-3,
    "weight_decay": 1.0,
    "beta1": 0.9,
    "beta2": 0.98,
    "schedule": {"warmup": 10},
}
_TRANSFORMER = {"kind": "transformer", "width": 128, "heads": 4, "mlp": 512, "activation": "relu", "bias": True}
_CROSS_ENTROPY = {"kind": "cross_entropy", "projection": "none"}

PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "nanda": {
            "task": {"kind": "group", "group": "Z113", "split": {"fraction": 0.3}},
            "model": _TRANSFORMER,
            "loss": _CROSS_ENTROPY,
            "optimizer": _ADAMW,
            "steps": 40_000,
            "recording": {"every": 100},
        },
        "power": {
            "task": {"kind": "group", "group": "Z97", "split": {"fraction": 0.5}},
            "model": _TRANSFORMER,
            "loss": _CROSS_ENTROPY,
            "optimizer": {**_ADAMW, "batch_size": 512},
            "steps": 100_000,
            "recording": {"every": 100},
        },
    }
)
"""Settings by name.

`nanda`: Nanda et al. 2023, the network, data and optimizer of their main run. `power`: Power et al. 2022, their data,
mini-batches and optimizer; their network has two layers with LayerNorm, this one has one layer without.
"""


def expand_preset(data: Mapping[str, Any], alternatives: Iterable[tuple[str, ...]]) -> dict[str, Any]:
    """Return a mapping of spec fields with its `preset` replaced by the fields that it stands for.

    **Arguments:**

    - `data`: fields of a spec; they take precedence over those of the preset. A part of another `kind` replaces the
      preset's part.
    - `alternatives`: fields of which a part holds at most one, so that naming one drops the preset's other.

    >>> expand_preset({"preset": "nanda", "steps": 5, "task": {"split": {"count": 9}}}, [("fraction", "count")])["task"]
    {'kind': 'group', 'group': 'Z113', 'split': {'count': 9}}
    """
    if "preset" not in data:
        return dict(data)
    name = data["preset"]
    if not isinstance(name, str) or name not in PRESETS:
        hint = did_you_mean(str(name), PRESETS)
        raise ValueError(f"preset: unknown preset {name!r}; {hint}The presets are {', '.join(PRESETS)}")
    rest = {key: value for key, value in data.items() if key != "preset"}
    return _merged(PRESETS[name], rest, tuple(alternatives))


def _merged(base: Mapping[str, Any], over: Mapping[str, Any], alternatives: tuple[tuple[str, ...], ...]) -> dict:
    if over.get("kind", base.get("kind")) != base.get("kind"):
        return dict(over)
    dropped = {other for names in alternatives for name in names if name in over for other in names if other != name}
    merged = {key: copy.deepcopy(value) for key, value in base.items() if key not in dropped}
    for key, value in over.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merged(merged[key], value, alternatives) if both else value
    return merged
