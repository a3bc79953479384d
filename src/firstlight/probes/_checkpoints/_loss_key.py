"""What tells one loss from another, so that stored results are used only for the loss that gave them."""

import functools
import inspect
import types
import uuid
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from firstlight.probes._checkpoints._weights import digest

DEEPEST = 8
"""Objects nested deeper than this are not compared, and their results not reused."""


def loss_key(loss: Any) -> str:
    """Return a text that is equal for losses that compute the same: code, settings, closures, buffers.

    An object that cannot be read gives a new text each time, so that its results are computed again.

    >>> loss_key(torch.nn.HuberLoss(delta=1.0)) == loss_key(torch.nn.HuberLoss(delta=1.0))
    True
    >>> loss_key(torch.nn.HuberLoss(delta=1.0)) == loss_key(torch.nn.HuberLoss(delta=0.05))
    False
    """
    return repr(_facts(loss, 0))


def _facts(value: Any, depth: int) -> Any:
    inner = functools.partial(_facts, depth=depth + 1)
    if depth > DEEPEST:
        return uuid.uuid4().hex
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | torch.dtype | torch.device):
        return repr(value)
    if isinstance(value, torch.Tensor | np.ndarray):
        tensor = torch.as_tensor(value).detach()
        return [str(tensor.dtype), list(tensor.shape), digest({"": tensor})]
    if isinstance(value, Mapping):
        return [[inner(key), inner(item)] for key, item in value.items()]
    if isinstance(value, list | tuple | set | frozenset):
        return [type(value).__name__, *map(inner, value)]
    if isinstance(value, functools.partial):
        return ["partial", inner(value.func), inner(value.args), inner(value.keywords)]
    if isinstance(value, types.ModuleType):
        return value.__name__
    if isinstance(value, types.MethodType):
        return [inner(value.__func__), inner(value.__self__)]
    if isinstance(value, types.FunctionType):
        return _function_facts(value, inner)
    if isinstance(value, types.BuiltinFunctionType) or inspect.isclass(value):
        return [_name(value), _text(value)]
    if isinstance(value, torch.nn.Module):
        settings = {name: item for name, item in vars(value).items() if not name.startswith("_")}
        state = dict(value.state_dict(keep_vars=True)) | dict(value.named_buffers())
        return [
            _name(type(value)),
            _text(type(value)),
            inner(settings),
            inner(state),
            inner(dict(value.named_children())),
        ]
    if hasattr(value, "__dict__"):
        return [_name(type(value)), _text(type(value)), inner(vars(value))]
    return uuid.uuid4().hex


def _function_facts(function: types.FunctionType, inner: Any) -> list[Any]:
    """Return code, defaults, closure, and the module's variables that the code names."""
    used = {name: function.__globals__[name] for name in function.__code__.co_names if name in function.__globals__}
    own = {name: item for name, item in used.items() if not _is_library(item)}
    cells = [cell.cell_contents for cell in function.__closure__ or () if cell is not None]
    code = function.__code__
    return [
        _name(function),
        code.co_code.hex(),
        repr([constant for constant in code.co_consts if not isinstance(constant, types.CodeType)]),
        inner(function.__defaults__),
        inner(function.__kwdefaults__),
        inner(cells),
        inner(own),
    ]


def _is_library(value: Any) -> bool:
    """Tell whether an object is a module, or comes from an installed package, whose version decides what it does."""
    if isinstance(value, types.ModuleType):
        return True
    return (getattr(value, "__module__", None) or "").partition(".")[0] in ("torch", "numpy", "builtins", "math")


def _name(value: Any) -> str:
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__name__)}"


def _text(value: Any) -> str:
    """Return the source of a class of the user; '' for one that is built in."""
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):
        return ""
