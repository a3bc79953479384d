"""LoRA adapters on a frozen base: W = W₀ + s·BA with trained A (r, in) and B (out, r).

A checkpoint of an adapter holds A and B alone. They are layers of the model like any other, x → Ax → BAx; W₀ is frozen,
so the loss does not train it and FACT does not apply to it.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from firstlight.probes._checkpoints._weights import CheckpointError, Tensors

_BASE = "base_model.model."
_UNSUPPORTED = ("lora_magnitude_vector", "lora_embedding_A", "lora_embedding_B")


@dataclass(frozen=True)
class Update:
    """What an adapter adds to a frozen weight.

    **Attributes:**

    - `name`: name of the adapted module.
    - `rank`: r, the largest possible rank of BA.
    - `size`: ‖s·BA‖/‖W₀‖.
    - `effective_rank`: (Σσ²)²/Σσ⁴ over the singular values σ of BA; NaN if BA = 0.
    """

    name: str
    rank: int
    size: float
    effective_rank: float


class Adapted(torch.nn.Module):
    """A linear module with frozen weights and a low-rank update: base(x) + s·B(Ax)."""

    def __init__(self, base: torch.nn.Module, inputs: int, outputs: int, rank: int, scale: float) -> None:
        super().__init__()
        like = next(base.parameters())
        self.base_layer, self.scale = base, scale
        self.lora_A = torch.nn.Linear(inputs, rank, bias=False).to(like)
        self.lora_B = torch.nn.Linear(rank, outputs, bias=False).to(like)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base_layer(x) + self.scale * self.lora_B(self.lora_A(x))


def is_adapter(tensors: Mapping[str, torch.Tensor]) -> bool:
    """Return whether a checkpoint holds LoRA matrices."""
    return any(".lora_A." in name or ".lora_embedding_A" in name for name in tensors)


def is_adapted(model: torch.nn.Module) -> bool:
    """Return whether a model already has LoRA matrices, as one that the library peft made."""
    return any(".lora_A." in name for name, _ in model.named_parameters())


def plain_name(name: str) -> str:
    """Return a parameter's name without what peft adds to it.

    >>> plain_name("base_model.model.h.0.q.lora_A.default.weight")
    'h.0.q.lora_A.weight'
    """
    name = name.removeprefix(_BASE).replace(".modules_to_save", "").replace(".original_module", ".original")
    name = re.sub(r"\.(lora_[AB])\.[^.]+\.weight$", r".\1.weight", name)
    return re.sub(r"\.default(?=\.(weight|bias)$)", "", name)


def adapt(model: torch.nn.Module, tensors: Mapping[str, torch.Tensor], config: Mapping[str, Any]) -> torch.nn.Module:
    """Freeze a base model and put the low-rank updates of a checkpoint beside its linear modules."""
    names = {plain_name(name): tensor for name, tensor in tensors.items()}
    if other := [name for name in names if any(part in name for part in _UNSUPPORTED)]:
        raise CheckpointError(
            f"the adapter has {other[0]}, which only the library peft applies; let make_model return the peft model"
        )
    if "lora_alpha" not in config:
        raise CheckpointError(
            "an adapter needs lora_alpha, which scales BA, from adapter_config.json beside it; give that file, or let "
            "make_model return the adapted model"
        )
    model.requires_grad_(False)
    for name, A in names.items():
        if not name.endswith(".lora_A.weight"):
            continue
        place = name.removesuffix(".lora_A.weight")
        base = _module(model, place)
        inputs, outputs = _sizes(base, place)
        if (A.shape[1], names[f"{place}.lora_B.weight"].shape[0]) != (inputs, outputs):
            raise CheckpointError(f"the adapter of {place} is for other sizes than the model's {inputs} → {outputs}")
        parent, _, own = place.rpartition(".")
        setattr(model.get_submodule(parent), own, Adapted(base, inputs, outputs, A.shape[0], _scale(config, place, A)))
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in names)
    return model


def load_adapter(model: torch.nn.Module, tensors: Tensors, name: str) -> None:
    """Copy the matrices of an adapter into an adapted model; its frozen weights stay."""
    own: dict[str, torch.nn.Parameter] = {}
    for key, parameter in model.named_parameters():
        if ".original_module" not in key:
            own[plain_name(key)] = parameter
    given = {plain_name(key): tensor for key, tensor in tensors.items()}
    if extra := [key for key in given if key not in own]:
        raise CheckpointError(f"{name} has {extra[0]}, which the adapted model lacks; make_model must build the base")
    if missing := [key for key in own if ".lora_" in key and key not in given]:
        raise CheckpointError(f"{name} lacks {missing[0]} of the adapted model; all checkpoints must be of one adapter")
    for key, tensor in given.items():
        if own[key].shape != tensor.shape:
            raise CheckpointError(
                f"{name} has {key} of shape {tuple(tensor.shape)}, the adapted model has {tuple(own[key].shape)}"
            )
    with torch.no_grad():
        for key, tensor in given.items():
            own[key].copy_(tensor)


def updates(model: torch.nn.Module) -> Iterator[Update]:
    """Yield what each adapter adds to its frozen weight; BA is never formed."""
    for name, module in model.named_modules():
        A, B, scale = _factors(module)
        base = getattr(module, "base_layer", None)
        if A is None or B is None or base is None:
            continue
        # The singular values of BA are those of R_B·R_Aᵀ with B = Q_B·R_B and Aᵀ = Q_A·R_A.
        inner = torch.linalg.qr(B.double(), mode="r")[1] @ torch.linalg.qr(A.double().T, mode="r")[1].T
        square = torch.linalg.svdvals(inner).square()
        total, fourth = float(square.sum()), float(square.square().sum())
        size = float(torch.linalg.vector_norm(base.weight.detach().double()))
        relative = abs(scale) * math.sqrt(total) / size if size > 0 else math.inf
        yield Update(name, int(A.shape[0]), relative, total**2 / fourth if fourth > 0 else math.nan)


def _factors(module: torch.nn.Module) -> tuple[torch.Tensor | None, torch.Tensor | None, float]:
    """Return A, B and the scale of an adapted module, ours or peft's with one adapter."""
    A, B, scale = (getattr(module, name, None) for name in ("lora_A", "lora_B", "scale"))
    if isinstance(A, torch.nn.ModuleDict) and isinstance(B, torch.nn.ModuleDict) and len(A) == 1:
        adapter = next(iter(A))
        A, B, scale = A[adapter], B[adapter], getattr(module, "scaling", {}).get(adapter)
    if not (isinstance(A, torch.nn.Linear) and isinstance(B, torch.nn.Linear) and isinstance(scale, float | int)):
        return None, None, 0.0
    return A.weight.detach(), B.weight.detach(), float(scale)


def _module(model: torch.nn.Module, name: str) -> torch.nn.Module:
    try:
        return model.get_submodule(name)
    except AttributeError as error:
        raise CheckpointError(f"the adapter is for {name}, which the model of make_model lacks") from error


def _sizes(module: torch.nn.Module, name: str) -> tuple[int, int]:
    if isinstance(module, torch.nn.Linear):
        return module.in_features, module.out_features
    if type(module).__name__ == "Conv1D":  # of transformers, whose weight is (in, out)
        inputs, outputs = module.get_parameter("weight").shape
        return inputs, outputs
    raise CheckpointError(
        f"the adapter is for {name}, a {type(module).__name__}; linear modules are read as they are. Let make_model "
        "return the peft model"
    )


def _scale(config: Mapping[str, Any], name: str, A: torch.Tensor) -> float:
    """Return lora_alpha/r, or lora_alpha/√r if the adapter was made so."""
    alpha = float(config["lora_alpha"])
    for pattern, value in (config.get("alpha_pattern") or {}).items():
        if re.match(rf"(.*\.)?({pattern})$", name):
            alpha = float(value)
    rank = A.shape[0]
    return alpha / (math.sqrt(rank) if config.get("use_rslora") else rank)
