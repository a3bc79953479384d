"""A laboratory for how neural networks come to learn features.

Subpackages load on first use, so ``import firstlight`` is fast:

>>> import firstlight
>>> firstlight.groups.cyclic(5).order
5
"""

import importlib
from types import ModuleType

__version__ = "0.2.0"

_SUBPACKAGES = (
    "claims",
    "features",
    "flow",
    "groups",
    "models",
    "plots",
    "probes",
    "records",
    "report",
    "rfm",
    "runs",
    "sweeps",
    "tasks",
    "theories",
)

__all__ = ["__version__", *_SUBPACKAGES]


def __getattr__(name: str) -> ModuleType:
    if name in _SUBPACKAGES:
        return importlib.import_module(f"firstlight.{name}")
    raise AttributeError(f"module 'firstlight' has no attribute {name!r}; it has {', '.join(_SUBPACKAGES)}")


def __dir__() -> list[str]:
    return sorted(__all__)
