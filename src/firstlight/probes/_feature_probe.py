"""`FeatureProbe`: FACT, AGOP and eNFA of every layer, compared with its weights, in one pass over data."""

import contextlib
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, TypedDict, Unpack

import pandas as pd
import torch
from threadpoolctl import threadpool_limits

from firstlight.probes._accumulate import Accumulator, Reduction
from firstlight.probes._assess import assess
from firstlight.probes._compare import ALIGNMENTS
from firstlight.probes._decay import decays, step_direction
from firstlight.probes._layers import View
from firstlight.probes._result import ProbeResult

SMALL = 256
"""Matrices up to this size are decomposed on one thread."""

LossFunction = Callable[[Any, Any], torch.Tensor]

DECOUPLED = (
    "the optimizer's weight decay is decoupled from its gradient (AdamW), so plain FACT does not apply: the table uses "
    "−(1/wd)·Wᵀ⟨m̂/(√v̂ + ε)⟩ instead, if the optimizer's state or a Watch provides it"
)


def unwrapped(model: torch.nn.Module) -> torch.nn.Module:
    """Return the model inside `DataParallel`, `DistributedDataParallel` or `torch.compile`.

    >>> import torch
    >>> unwrapped(torch.nn.DataParallel(torch.nn.Linear(2, 1)))
    Linear(in_features=2, out_features=1, bias=True)
    """
    while True:
        if isinstance(model, torch.nn.parallel.DistributedDataParallel | torch.nn.DataParallel):
            model = model.module
        elif type(model).__name__ == "OptimizedModule":
            model = model.get_submodule("_orig_mod")
        else:
            return model


class ProbeOptions(TypedDict, total=False):
    """The keywords of `FeatureProbe` that `probe` and `Watch` pass on; the defaults are those of `FeatureProbe`."""

    reduction: Reduction
    outputs: int | Literal["auto", "exact"]
    backward: bool
    with_bias: bool
    rank: int | None
    splits: Mapping[str, int] | None
    training: bool
    alignment: Literal["pearson", "cosine"] | None
    keep_matrices: bool
    seed: int


class FeatureProbe:
    """Accumulate FACT, AGOP and eNFA of every weight matrix of a model over batches.

    The model does not change: no hooks, no `.grad`, no random numbers drawn, buffers and modes restored.

    **Arguments:**

    - `model`: any `torch.nn.Module`.
    - `loss_fn`: `loss_fn(outputs, targets)` returns a scalar. Without it the model is called with the batch as keywords
      and must return `.loss` and `.logits`.
    - `weight_decay`: λ of L + (λ/2)‖θ‖², a number for all parameters or a mapping by parameter name. A loss with
      λ'‖θ‖² has λ = 2λ'.
    - `optimizer`: the optimizer of the training, from which λ and its kind (L2 or decoupled) are read.
    - `reduction`: how the loss combines samples: "mean" averages them; "sum" adds them, and the data set's loss is the
      sum over all batches; "steps" if the objective is the average over batches of any loss (for example a sum, trained
      in batches). `step(…, weight=)` gives a batch another weight in a mean.
    - `outputs`: "exact" AGOP, a number of random projections, or "auto": exact up to 16 outputs, else one projection.
    - `backward`: whether to compute the matrices on the layers' output side too.
    - `with_bias`: whether to treat layers as [W b] on inputs [h; 1].
    - `rank`: project layers onto this many leading directions of W (alignment is then the cosine).
    - `splits`: name → number of equal row blocks of a fused weight, such as 3 for a qkv projection.
    - `training`: whether to probe in training mode (dropout, batch statistics) instead of evaluation mode.
    - `alignment`: "pearson" or "cosine".
    - `keep_matrices`: whether to store the matrices in the result.
    - `seed`: seed of the random projections.

    >>> import torch
    >>> model = torch.nn.Linear(2, 1, bias=False)
    >>> with FeatureProbe(model, torch.nn.MSELoss(), weight_decay=0.1) as probe:
    ...     probe.step(torch.eye(2), torch.ones(2, 1))
    >>> probe.result().samples
    2
    """

    def __init__(
        self,
        model: torch.nn.Module,
        loss_fn: LossFunction | None = None,
        weight_decay: float | Mapping[str, float] | None = None,
        *,
        optimizer: torch.optim.Optimizer | None = None,
        reduction: Reduction = "mean",
        outputs: int | Literal["auto", "exact"] = "auto",
        backward: bool = False,
        with_bias: bool = False,
        rank: int | None = None,
        splits: Mapping[str, int] | None = None,
        training: bool = False,
        alignment: Literal["pearson", "cosine"] | None = None,
        keep_matrices: bool = False,
        seed: int = 0,
    ) -> None:
        model = unwrapped(model)
        if reduction not in ("mean", "sum", "steps"):
            raise ValueError(f"reduction must be one of mean, sum, steps; got {reduction!r}")
        if not (outputs in ("auto", "exact") or (isinstance(outputs, int) and outputs > 0)):
            raise ValueError(f"outputs must be 'auto', 'exact' or a number of projections above 0; got {outputs!r}")
        if rank is not None and (rank < 1 or backward):
            raise ValueError(f"rank must be above 0 and excludes backward=True; got rank={rank}, {backward=}")
        if alignment not in (None, *ALIGNMENTS):
            raise ValueError(f"alignment must be one of {', '.join(ALIGNMENTS)}; got {alignment!r}")
        self.model, self.loss_fn, self.optimizer = model, loss_fn, optimizer
        self.decays = decays(model, weight_decay, optimizer)
        self.backward, self.training = backward, training
        # Pearson's correlation of entries changes with the basis, and `rank` rotates it.
        self.alignment = alignment or ("pearson" if rank is None else "cosine")
        self.keep_matrices = keep_matrices
        self._sums = Accumulator(
            model,
            reduction=reduction,
            outputs=outputs,
            keep_outputs=backward,
            view=View(with_bias, rank, dict(splits or {})),
            seed=seed,
        )

    def __enter__(self) -> "FeatureProbe":
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def step(self, inputs: Any, targets: Any = None, *, weight: float | None = None) -> None:
        """Add a batch: its inputs (a tensor, a tuple of arguments or a dict of keywords) and targets."""
        with self._untouched(), torch.inference_mode(False), torch.enable_grad():
            versions = {name: p._version for name, p in self.model.named_parameters()}
            outputs, loss = self._forward(_mapped(_tracked, inputs), _mapped(_tracked, targets))
            for name, parameter in self.model.named_parameters():
                if parameter._version != versions.get(name, parameter._version):
                    raise ValueError(
                        f"the model's forward pass changes {name} (an Embedding with max_norm does that), which FACT "
                        "does not cover; probe the model without it"
                    )
            self._sums.add(outputs, loss, weight)

    def result(
        self,
        *,
        budgets: Mapping[str, float] | float | None = None,
        moved: Mapping[str, float] | None = None,
        directions: Mapping[str, torch.Tensor] | None = None,
    ) -> ProbeResult:
        """Compare the accumulated matrices with the weights.

        **Arguments:**

        - `budgets`: wd·Σlr/(1 − momentum) of the training so far, one number or a mapping by parameter name.
        - `moved`: relative change of the weights since initialisation, by parameter name.
        - `directions`: for AdamW, mean step directions by parameter name, instead of the optimizer's current one.
        """
        sums = self._sums
        if sums.plan is None:
            raise ValueError("no batch was probed; call step(x, y) for every batch of a loader that is not empty")
        names = {id(parameter): name for name, parameter in self.model.named_parameters()}
        layers = list(sums.layers())
        widest = max((max(moments.W.shape[1:]) for moments in layers), default=0)
        reports = []
        # On small matrices LAPACK threads spend most of their time waiting for each other.
        with threadpool_limits(1 if widest <= SMALL else None, user_api="blas"):
            for moments in layers:
                name, bias = names[id(moments.layer.parameter)], moments.layer.bias
                budget = budgets.get(name, math.nan) if isinstance(budgets, Mapping) else budgets
                reports.append(
                    assess(
                        moments,
                        self.decays[id(moments.layer.parameter)],
                        bias_decay=None if bias is None else self.decays[id(bias)],
                        direction=self._direction(moments.layer.parameter, (directions or {}).get(name)),
                        alignment=self.alignment,
                        backward=self.backward,
                        budget=math.nan if budget is None else float(budget),
                        moved=(moved or {}).get(name, math.nan),
                        keep_matrices=self.keep_matrices,
                    )
                )
        if any(report.rule == "decoupled" for report in reports):
            warnings.warn(DECOUPLED, stacklevel=2)
        return ProbeResult(tuple(reports), dict(sums.plan.untreated), sums.samples, self.alignment)

    def table(self) -> pd.DataFrame:
        """Return `result().table()`."""
        return self.result().table()

    def _direction(self, parameter: torch.nn.Parameter, given: torch.Tensor | None) -> torch.Tensor | None:
        """Return AdamW's mean direction: `given`, else the optimizer's current direction."""
        if given is None and self.optimizer is not None and self.decays[id(parameter)].rule == "decoupled":
            return step_direction(self.optimizer, parameter)
        return given

    @contextlib.contextmanager
    def _untouched(self) -> Iterator[None]:
        """Restore modes, buffers and random states on exit, also after an exception."""
        modes = [(module, module.training) for module in self.model.modules()]
        buffers = [
            (module._buffers, name, buffer, buffer.clone())
            for module, _ in modes
            for name, buffer in module._buffers.items()
            if buffer is not None
        ]
        devices = {p.device for p in self.model.parameters() if p.device.type not in ("cpu", "meta")}
        kind = next(iter(devices)).type if devices else "cuda"
        with torch.random.fork_rng([d.index or 0 for d in devices], enabled=True, device_type=kind):
            self.model.train(self.training)
            try:
                yield
            finally:
                for module, mode in modes:
                    module.training = mode
                for home, name, buffer, old in buffers:
                    buffer.data.copy_(old)
                    home[name] = buffer

    def _forward(self, inputs: Any, targets: Any) -> tuple[torch.Tensor, torch.Tensor]:
        if isinstance(inputs, Mapping):
            output = self.model(**inputs)
        else:
            output = self.model(*inputs) if isinstance(inputs, tuple | list) else self.model(inputs)
        if self.loss_fn is None:
            if getattr(output, "loss", None) is None or getattr(output, "logits", None) is None:
                raise ValueError(
                    "without loss_fn the model must return .loss and .logits (give labels in the batch); it returned "
                    f"{type(output).__name__}. Give FeatureProbe a loss_fn(outputs, targets)"
                )
            return output.logits, output.loss
        outputs = output.get("logits") if isinstance(output, Mapping) else getattr(output, "logits", output)
        loss = self.loss_fn(output, targets)
        if loss.grad_fn is None:
            raise ValueError("the loss has no gradient: every parameter is frozen, or the model detaches its outputs")
        if not isinstance(outputs, torch.Tensor) or outputs.grad_fn is None:
            raise ValueError(
                f"the model returned {type(output).__name__}; AGOP needs a tensor of outputs with a gradient. Wrap the "
                "model so that it returns a tensor, or a dict or object whose logits are a tensor"
            )
        if loss.ndim:
            raise ValueError(
                f"loss_fn must return a scalar, got a tensor of shape {tuple(loss.shape)}; use reduction='mean'"
            )
        return outputs, loss


def probe(
    model: torch.nn.Module,
    batches: Iterable[Any],
    loss_fn: LossFunction | None = None,
    weight_decay: float | Mapping[str, float] | None = None,
    *,
    optimizer: torch.optim.Optimizer | None = None,
    known: Mapping[str, Any] | None = None,
    **options: Unpack[ProbeOptions],
) -> ProbeResult:
    """Probe a model over a `DataLoader` or any iterable of batches.

    **Arguments:**

    - `model`: any `torch.nn.Module`.
    - `batches`: pairs (inputs, targets), or dicts of keywords for the model.
    - `loss_fn`: as in `FeatureProbe`.
    - `weight_decay`: as in `FeatureProbe`.
    - `optimizer`: as in `FeatureProbe`.
    - `known`: arguments of `FeatureProbe.result`, such as budgets.
    - `options`: other arguments of `FeatureProbe`.

    >>> import torch
    >>> model = torch.nn.Linear(2, 1, bias=False)
    >>> result = probe(model, [(torch.eye(2), torch.ones(2, 1))], torch.nn.MSELoss(), weight_decay=0.1)
    >>> result["weight"].inputs, result["weight"].outputs
    (2, 1)
    """
    with FeatureProbe(model, loss_fn, weight_decay, optimizer=optimizer, **options) as feature_probe, _unread(batches):
        device = next((p.device for p in model.parameters()), torch.device("cpu"))
        for batch in batches:
            batch = _mapped(lambda tensor: tensor.to(device), batch)
            if isinstance(batch, Mapping):
                feature_probe.step(batch)
            elif isinstance(batch, tuple | list) and len(batch) == 2:
                feature_probe.step(batch[0], batch[1])
            else:
                raise ValueError(
                    f"a batch must be a pair (inputs, targets) or a dict of keywords, got {type(batch).__name__}; loop "
                    "over the loader yourself and call FeatureProbe.step"
                )
    return feature_probe.result(**(known or {}))


@contextlib.contextmanager
def _unread(batches: Iterable[Any]) -> Iterator[None]:
    """Restore the random state of a `DataLoader`, which draws seeds and orders when it is iterated."""
    generator = batches.generator if isinstance(batches, torch.utils.data.DataLoader) else None
    state = None if generator is None else generator.get_state()
    with torch.random.fork_rng(devices=[]):
        try:
            yield
        finally:
            if generator is not None and state is not None:
                generator.set_state(state)


def _mapped(change: Callable[[torch.Tensor], torch.Tensor], batch: Any) -> Any:
    """Apply a function to every tensor in a batch, and keep the structure of the batch."""
    if isinstance(batch, torch.Tensor):
        return change(batch)
    if isinstance(batch, Mapping):
        return {key: _mapped(change, value) for key, value in batch.items()}
    return type(batch)(_mapped(change, item) for item in batch) if type(batch) in (tuple, list) else batch


def _tracked(tensor: torch.Tensor) -> torch.Tensor:
    """Copy a tensor made in inference mode, which cannot enter a graph; return other tensors unchanged."""
    return tensor.clone() if tensor.is_inference() else tensor
