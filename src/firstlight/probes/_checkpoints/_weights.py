"""The tensors of a checkpoint: read without running code, named as in the model, identified by a digest."""

import hashlib
import json
import pickle
from collections.abc import Mapping
from typing import Any

import torch

from firstlight.probes._checkpoints._find import Checkpoint

NESTED = ("state_dict", "model_state_dict", "model", "module", "weights")
"""Keys under which trainers save the state dict."""

STEPS = ("global_step", "step", "iteration", "iter", "epoch")
"""Keys under which trainers save the step."""

WRAPPERS = ("module.", "_orig_mod.")
"""Prefixes of `DataParallel`, `DistributedDataParallel` and `torch.compile`."""

Tensors = dict[str, torch.Tensor]


class CheckpointError(ValueError):
    """Raised for a checkpoint that cannot be read, or that is of another model."""


def read(checkpoint: Checkpoint) -> tuple[Tensors, tuple[int, str] | None]:
    """Return the tensors of a checkpoint by name, and the step that its content gives, if any.

    Safetensors files hold no code. Other files are loaded with `weights_only=True`, which refuses pickled objects.
    """
    tensors: Tensors = {}
    step = None
    for path in checkpoint.files:
        content, own = _safetensors(path) if path.suffix == ".safetensors" else _torch(path)
        tensors |= content
        step = step or own
    if not tensors:
        raise CheckpointError(f"{checkpoint.name} holds no tensor")
    return unwrapped_names(tensors), step


def digest(tensors: Mapping[str, torch.Tensor]) -> str:
    """Return the SHA-256 of names, types, shapes and bytes.

    >>> digest({"a": torch.zeros(2)}) == digest({"a": torch.zeros(2)}) != digest({"a": torch.zeros(1, 2)})
    True
    """
    whole = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        whole.update(f"{name}\0{tensor.dtype}\0{tuple(tensor.shape)}\0".encode())
        whole.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return whole.hexdigest()


def unwrapped_names(tensors: Tensors) -> Tensors:
    """Return the tensors without the prefixes that wrappers add to every name."""
    for prefix in WRAPPERS * 2:
        if tensors and all(name.startswith(prefix) for name in tensors):
            tensors = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
    return tensors


def load_into(model: torch.nn.Module, tensors: Tensors, name: str) -> None:
    """Copy a checkpoint's tensors into a model; raise unless they give every parameter.

    A tied weight that was saved once is enough. A common prefix, as a Lightning module adds, is removed.
    """
    own = dict(model.state_dict(keep_vars=True))
    tensors = _without_prefix(tensors, own)
    given = {id(own[key]) for key in tensors if key in own}
    parameters = {key: p for key, p in model.named_parameters(remove_duplicate=False) if key in own}
    if missing := [key for key, p in parameters.items() if id(p) not in given]:
        raise CheckpointError(
            f"{name} must give every parameter of the model; it lacks {_names(missing)}, and has "
            f"{_names(sorted(set(tensors) - set(own)))} besides: make_model must build the trained model"
        )
    if extra := [key for key, tensor in tensors.items() if key not in own and _is_weight(tensor)]:
        raise CheckpointError(
            f"{name} has the weights {_names(extra)}, which the model lacks: make_model must build the trained model"
        )
    _require_shapes(tensors, own, name)
    model.load_state_dict({key: tensor for key, tensor in tensors.items() if key in own}, strict=False)


def _require_shapes(tensors: Tensors, own: Mapping[str, Any], name: str) -> None:
    for key, tensor in tensors.items():
        if key in own and own[key] is not None and tuple(own[key].shape) != tuple(tensor.shape):
            raise CheckpointError(
                f"{name} has {key} of shape {tuple(tensor.shape)}, the model has {tuple(own[key].shape)}: make_model "
                "must build the trained model"
            )


def _without_prefix(tensors: Tensors, own: Mapping[str, Any]) -> Tensors:
    """Return the tensors under the model's names; a prefix common to the tensors that fit is removed."""
    if not own or set(tensors) & set(own):
        return tensors
    last = min(own, key=len)
    prefixes = [key.removesuffix(last) for key in tensors if key.endswith(f".{last}")]
    for prefix in prefixes:
        inner = {key.removeprefix(prefix): tensor for key, tensor in tensors.items() if key.startswith(prefix)}
        if set(inner) & set(own):
            return inner
    return tensors


def _is_weight(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() and tensor.ndim >= 2


def _names(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "") or "nothing"


def _safetensors(path: Any) -> tuple[Tensors, tuple[int, str] | None]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise CheckpointError(f"{path.name} is no whole safetensors file ({error})") from error
    return tensors, _step(metadata)


def _torch(path: Any) -> tuple[Tensors, tuple[int, str] | None]:
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        if "GLOBAL" not in str(error):
            raise CheckpointError(f"{path.name} is no whole file of tensors") from error
        raise CheckpointError(
            f"{path.name} holds Python objects, which loading would execute, so it is not read; save "
            "model.state_dict(), or a .safetensors file"
        ) from error
    except (RuntimeError, OSError, EOFError, ValueError, KeyError, IndexError, AttributeError) as error:
        reason = (str(error).splitlines() or ["it is empty"])[0].partition(". ")[0]
        raise CheckpointError(f"{path.name} is no whole file of tensors ({reason})") from error
    return _state_dict(content, path.name), _step(content)


def _state_dict(content: Any, name: str) -> Tensors:
    if isinstance(content, Mapping):
        inner = [content.get(key) for key in NESTED]
        for part in [*inner, content]:
            if isinstance(part, Mapping) and part and all(isinstance(t, torch.Tensor) for t in part.values()):
                return {str(key): tensor for key, tensor in part.items()}
    keys = list(content)[:5] if isinstance(content, Mapping) else type(content).__name__
    raise CheckpointError(f"{name} must hold a state dict, or one under {', '.join(NESTED)}; it holds {keys}")


def _step(content: Any) -> tuple[int, str] | None:
    for key in STEPS:
        value = content.get(key) if isinstance(content, Mapping) else None
        if isinstance(value, int) and not isinstance(value, bool):
            return value, "epoch" if key == "epoch" else "step"
        if isinstance(value, str) and value.isdigit():
            return int(value), "epoch" if key == "epoch" else "step"
    return None


def metadata_of(config: Any) -> dict[str, Any]:
    """Return the JSON of a file beside a checkpoint."""
    try:
        content = json.loads(config.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CheckpointError(f"{config.name} is no JSON ({error})") from error
    return content if isinstance(content, dict) else {}
