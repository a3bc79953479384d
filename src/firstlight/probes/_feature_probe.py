"""`FeatureProbe`: FACT, AGOP and eNFA of every layer, compared with its weights, in one pass over data."""

import contextlib
import functools
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, TypedDict

import pandas as pd
import torch

from firstlight.probes._accumulate import Accumulator, Batch, LayerMoments, Reduction
from firstlight.probes._assess import Known, assess
from firstlight.probes._compare import ALIGNMENTS
from firstlight.probes._decay import decays, plain_optimizer, step_direction
from firstlight.probes._guards import (
    label_weight,
    require_loss,
    require_reduction,
    same_random_states,
    taken,
    target_weight,
)
from firstlight.probes._layers import View
from firstlight.probes._path import Path, drift
from firstlight.probes._result import ProbeResult
from firstlight.probes._samples import tensors

SMALL = 512
"""Matrices up to this size are decomposed on one thread."""

FEW_SAMPLES = 2
"""Samples on which a weight is scaled, to see whether its scale matters."""

SAME = 1e-3
"""Relative difference up to which a model gives the same outputs for some samples as for the whole batch."""

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
    batch_dim: int | None
    backward: bool
    with_bias: bool
    rank: int | None
    splits: Mapping[str, int] | None
    training: bool
    alignment: Literal["pearson", "cosine"] | None
    roots: bool
    keep_matrices: bool
    groups: int | None
    expected: int | None
    distributed: bool
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
    - `outputs`: "exact" AGOP over all samples and outputs; a number of random projections of the outputs; or "auto":
      random samples of each batch, and above 16 outputs random projections, until AGOP's error is below 5 %.
    - `batch_dim`: axis of the outputs that counts samples; inferred if None, and an error if that is ambiguous.
    - `backward`: whether to compute the matrices on the layers' output side too.
    - `with_bias`: whether to treat layers as [W b] on inputs [h; 1].
    - `rank`: project layers onto this many leading directions of W (alignment is then the cosine).
    - `splits`: name → number of equal row blocks of a fused weight, such as 3 for a qkv projection.
    - `training`: whether to probe in training mode (dropout, batch statistics) instead of evaluation mode. Modules that
      you froze stay in evaluation mode.
    - `alignment`: "pearson" or "cosine".
    - `roots`: whether to compute √FACT·FACTᵀ, √AGOP and √eNFA, which need eigenvalues.
    - `keep_matrices`: whether to store the matrices in the result.
    - `groups`: groups of batches for the error bars; 8 if their sums fit in 1 GiB, and 0 for none.
    - `expected`: number of batches in the pass, if known; "auto" then spends less on the first ones.
    - `distributed`: whether `result` adds the sums of all processes of `torch.distributed`; all must call it.
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
        batch_dim: int | None = None,
        backward: bool = False,
        with_bias: bool = False,
        rank: int | None = None,
        splits: Mapping[str, int] | None = None,
        training: bool = False,
        alignment: Literal["pearson", "cosine"] | None = None,
        roots: bool = True,
        keep_matrices: bool = False,
        groups: int | None = None,
        expected: int | None = None,
        distributed: bool = False,
        seed: int = 0,
    ) -> None:
        model = unwrapped(model)
        require_loss(loss_fn)
        if reduction not in ("mean", "sum", "steps"):
            raise ValueError(f"reduction must be one of mean, sum, steps; got {reduction!r}")
        if not (outputs in ("auto", "exact") or (isinstance(outputs, int) and outputs > 0)):
            raise ValueError(f"outputs must be 'auto', 'exact' or a number of projections above 0; got {outputs!r}")
        if rank is not None and (rank < 1 or backward):
            raise ValueError(f"rank must be above 0 and excludes backward=True; got rank={rank}, {backward=}")
        if alignment not in (None, *ALIGNMENTS):
            raise ValueError(f"alignment must be one of {', '.join(ALIGNMENTS)}; got {alignment!r}")
        self.model, self.loss_fn = model, loss_fn
        self.optimizer = None if optimizer is None else plain_optimizer(optimizer)
        self.decays = decays(model, weight_decay, optimizer)
        self.backward, self.training = backward, training
        # Pearson's correlation of entries changes with the basis, and `rank` rotates it.
        self.alignment = alignment or ("pearson" if rank is None else "cosine")
        self.keep_matrices, self.roots, self.reduction = keep_matrices, roots, reduction
        self.distributed, self._reduced = distributed, False
        self._first: Any = None
        self._sums = Accumulator(
            model,
            reduction=reduction,
            outputs=outputs,
            keep_outputs=backward,
            view=View(with_bias, rank, dict(splits or {})),
            seed=seed,
            batch_dim=batch_dim,
            groups=groups,
            expected=expected,
        )

    def __enter__(self) -> "FeatureProbe":
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def step(self, inputs: Any, targets: Any = None, *, weight: float | None = None) -> None:
        """Add a batch: its inputs (a tensor, a tuple of arguments or a dict of keywords) and targets."""
        with self._untouched(), torch.inference_mode(False), torch.enable_grad():
            versions = {name: p._version for name, p in self.model.named_parameters()}
            inputs, targets = mapped(_tracked, inputs), mapped(_tracked, targets)
            output = self._call(inputs)
            outputs, loss = self._loss(output, targets)
            for name, parameter in self.model.named_parameters():
                if parameter._version != versions.get(name, parameter._version):
                    raise ValueError(
                        f"the model's forward pass changes {name} (an Embedding with max_norm does that), which FACT "
                        "does not cover; probe the model without it"
                    )
            if self._first is None and outputs.numel():
                if self.loss_fn is not None:
                    require_reduction(self.loss_fn, output, targets, float(loss.detach()), self.reduction)
                self._first = inputs
            if weight is None and self.reduction == "mean":
                if self.loss_fn is not None:
                    weight = target_weight(self.loss_fn, targets)
                elif isinstance(inputs, Mapping):
                    weight = label_weight(outputs, inputs.get("labels"), float(loss.detach()))
            if weight == 0:
                return  # no target of the batch counts, and its mean is 0/0
            rerun = None if self.training else functools.partial(self._rerun, inputs, outputs.detach())
            self._sums.add(Batch(outputs, loss, inputs, targets, rerun), weight)

    def result(
        self,
        *,
        budgets: Mapping[str, float] | float | None = None,
        moved: Mapping[str, float] | None = None,
        directions: Mapping[str, torch.Tensor] | None = None,
        paths: Mapping[str, Path] | None = None,
        since: str = "",
        steadiness: Mapping[str, float] | None = None,
    ) -> ProbeResult:
        """Compare the accumulated matrices with the weights.

        **Arguments:**

        - `budgets`: wd·Σlr/(1 − momentum) of the training so far, one number or a mapping by parameter name.
        - `moved`: relative change of the weights since initialisation, by parameter name.
        - `directions`: for AdamW, mean step directions by parameter name, instead of the optimizer's current one.
        - `paths`: means of the weights along the last steps, by parameter name.
        - `since`: the checkpoint from which `moved` counts, such as "step 100", if the initialisation is unknown.
        - `steadiness`: cosine of the last two moves between checkpoints, by parameter name.
        """
        sums = self._sums
        if sums.plan is None:
            raise ValueError("no batch was probed; call step(x, y) for every batch of a loader that is not empty")
        if self.distributed and not self._reduced:
            sums.reduce()
            self._reduced = True
        names = {id(parameter): name for name, parameter in self.model.named_parameters()}
        reports = []
        device = next(self.model.parameters()).device.type
        with (
            torch.autocast(device, enabled=False),
            _threads(max((min(layer.weights().shape[1:]) for layer in sums.plan.layers), default=0)),
        ):
            for moments in sums.layers():
                name, bias = names[id(moments.layer.parameter)], moments.layer.bias
                budget = budgets.get(name, math.nan) if isinstance(budgets, Mapping) else budgets
                path = (paths or {}).get(name)
                known = Known(
                    budget=math.nan if budget is None else float(budget),
                    moved=(moved or {}).get(name, math.nan),
                    direction=self._direction(moments.layer.parameter, (directions or {}).get(name)),
                    drift=None if path is None else drift(path, replace(moments.layer, bias=None, basis=None).matrix),
                    since=since,
                    steadiness=(steadiness or {}).get(name, math.nan),
                )
                if not moments.invariant and _suspicious(moments) and self._changes_no_output(name):
                    moments = replace(moments, invariant=True)
                reports.append(
                    assess(
                        moments,
                        self.decays[id(moments.layer.parameter)],
                        known,
                        bias_decay=None if bias is None else self.decays[id(bias)],
                        alignment=self.alignment,
                        backward=self.backward,
                        keep_matrices=self.keep_matrices,
                        roots=self.roots,
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
            (module._buffers, name, buffer, None if buffer is None else buffer.clone())
            for module, _ in modes
            for name, buffer in module._buffers.items()
        ]
        devices = {p.device for p in self.model.parameters() if p.device.type not in ("cpu", "meta")}
        kind = next(iter(devices)).type if devices else "cuda"
        fork = torch.random.fork_rng([d.index or 0 for d in devices], enabled=True, device_type=kind)
        with same_random_states(), fork:
            self._set_mode()
            try:
                yield
            finally:
                for module, mode in modes:
                    module.training = mode
                for home, name, buffer, old in buffers:
                    if buffer is not None and old is not None:
                        buffer.data.copy_(old)
                    home[name] = buffer

    def _set_mode(self) -> None:
        if not self.training:
            self.model.eval()
        elif not self.model.training:
            self.model.train()
            for module in self.model.modules():
                own = list(module.parameters(recurse=False))
                if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and own:
                    module.train(any(p.requires_grad for p in own))

    def _call(self, inputs: Any) -> Any:
        try:
            if isinstance(inputs, Mapping):
                return self.model(**inputs)
            return self.model(*inputs) if isinstance(inputs, tuple | list) else self.model(inputs)
        except NotImplementedError as error:
            raise ValueError(
                f"{type(self.model).__name__} defines no forward(), which a probe has to call ({error}); define "
                "forward, or probe the network inside it"
            ) from error

    def _loss(self, output: Any, targets: Any) -> tuple[torch.Tensor, torch.Tensor]:
        if self.loss_fn is None:
            if getattr(output, "loss", None) is None or getattr(output, "logits", None) is None:
                raise ValueError(
                    "without loss_fn the model must return .loss and .logits (give labels in the batch); it returned "
                    f"{type(output).__name__}. Give FeatureProbe a loss_fn(outputs, targets)"
                )
            return output.logits, output.loss
        outputs = _outputs(output)
        loss = self.loss_fn(output, targets)
        if not isinstance(loss, torch.Tensor):
            raise TypeError(f"loss_fn must return a tensor, got {type(loss).__name__}; give an instance, not a class")
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

    def _rerun(self, inputs: Any, outputs: torch.Tensor, axis: int, rows: torch.Tensor) -> torch.Tensor | None:
        """Return the outputs of some samples, with their graph; None if they cannot be computed by themselves."""
        part, cut = taken(inputs, axis, outputs.shape[axis], rows)
        if not cut:
            return None
        again = _outputs(self._call(part))
        expected = outputs.index_select(axis, rows.to(outputs.device))
        if again.shape != expected.shape:
            return None
        allowed = SAME * float(expected.abs().max()) * (100 if again.dtype in (torch.float16, torch.bfloat16) else 1)
        return again if float((again.detach() - expected).abs().max()) <= allowed else None

    def _changes_no_output(self, name: str) -> bool:
        """Return whether scaling a weight leaves the outputs of the first few samples as they were."""
        if self._first is None:
            return False
        samples = max((len(tensor) for tensor in tensors(self._first)), default=1)
        inputs, _ = taken(self._first, 0, samples, torch.arange(min(samples, FEW_SAMPLES)))
        weight = dict(self.model.named_parameters())[name]
        arguments = () if isinstance(inputs, Mapping) else inputs if isinstance(inputs, tuple | list) else (inputs,)
        keywords = dict(inputs) if isinstance(inputs, Mapping) else {}
        with self._untouched(), torch.no_grad():
            plain, scaled = (
                _outputs(torch.func.functional_call(self.model, changes, tuple(arguments), keywords))
                for changes in ({}, {name: 1.5 * weight})
            )
        return float((scaled - plain).abs().max()) <= SAME * float(plain.abs().max())


def _outputs(output: Any) -> Any:
    return output.get("logits") if isinstance(output, Mapping) else getattr(output, "logits", output)


def _suspicious(moments: LayerMoments) -> bool:
    """Return whether ⟨W, ∂L/∂W⟩ vanishes, as it does for every W whose scale changes no output."""
    if moments.gradient is None:
        return False
    per_output = (moments.W * moments.gradient).sum(1).double()
    size = float(torch.linalg.vector_norm(moments.W) * torch.linalg.vector_norm(moments.gradient))
    total = abs(float(per_output.sum()))
    return size > 0 and total <= 1e-2 * size and total <= 0.1 * float(torch.linalg.vector_norm(per_output))


@contextlib.contextmanager
def _threads(widest: int) -> Iterator[None]:
    """Limit torch to one thread for small decompositions, whose threads spend most of their time waiting."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1 if widest <= SMALL else threads)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def mapped(change: Callable[[torch.Tensor], torch.Tensor], batch: Any) -> Any:
    """Apply a function to every tensor in a batch, and keep the structure of the batch."""
    if isinstance(batch, torch.Tensor):
        return change(batch)
    if isinstance(batch, Mapping):
        return {key: mapped(change, value) for key, value in batch.items()}
    return type(batch)(mapped(change, item) for item in batch) if type(batch) in (tuple, list) else batch


def _tracked(tensor: torch.Tensor) -> torch.Tensor:
    """Copy a tensor made in inference mode, which cannot enter a graph; return other tensors unchanged."""
    return tensor.clone() if tensor.is_inference() else tensor
