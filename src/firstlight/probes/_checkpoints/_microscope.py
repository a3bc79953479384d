"""`probe_checkpoints`: every checkpoint of a training run probed in order, resumable."""

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import torch

from firstlight import _interrupts as interrupts
from firstlight.probes._checkpoints._find import Checkpoint, find, ordered
from firstlight.probes._checkpoints._history import CheckpointHistory, Moment
from firstlight.probes._checkpoints._lora import adapt, is_adapted, is_adapter, load_adapter, updates
from firstlight.probes._checkpoints._loss_key import loss_key
from firstlight.probes._checkpoints._moves import LearningRate, Moves
from firstlight.probes._checkpoints._weights import CheckpointError, Tensors, digest, load_into, metadata_of, read
from firstlight.probes._decay import Decay, decays
from firstlight.probes._feature_probe import DECOUPLED, LossFunction, ProbeOptions, unwrapped
from firstlight.probes._guards import reading, require_loss
from firstlight.probes._probe import probe
from firstlight.probes._result import ProbeResult
from firstlight.probes._samples import tensors as tensors_of
from firstlight.records import FileError, canonical_json

VERSION = 1
"""Version of stored results; a change of the numbers raises it, so that old results are not used."""

READING = 0.1
"""Share of the progress that reading all files counts for."""

Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Training:
    """What is known about the training, apart from the checkpoints.

    **Attributes:**

    - `weight_decay`: λ, as in `FeatureProbe`.
    - `make_optimizer`: function that makes the training's optimizer for a model, from which λ, its kind and the
      momentum are read.
    - `learning_rate`: learning rate of every step, a number or a function of the step.
    - `start`: the initial weights, as a state dict or a file, if the first checkpoint is not at step 0.
    """

    weight_decay: float | Mapping[str, float] | None = None
    make_optimizer: Callable[[torch.nn.Module], torch.optim.Optimizer] | None = None
    learning_rate: LearningRate | None = None
    start: Mapping[str, torch.Tensor] | str | os.PathLike[str] | None = None


def probe_checkpoints(
    checkpoints: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    make_model: Callable[[], torch.nn.Module],
    loader: Iterable[Any],
    loss: LossFunction | None = None,
    weight_decay: float | Mapping[str, float] | None = None,
    *,
    make_optimizer: Callable[[torch.nn.Module], torch.optim.Optimizer] | None = None,
    learning_rate: LearningRate | None = None,
    start: Mapping[str, torch.Tensor] | str | os.PathLike[str] | None = None,
    work: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **options: Unpack[ProbeOptions],
) -> CheckpointHistory:
    """Probe every checkpoint of a training run, in training order, on the same batches.

    Files are read without running code: safetensors, or state dicts with `weights_only=True`. A file that cannot be
    read is left out and named. Checkpoints with equal weights are found by their digest and named.

    **Arguments:**

    - `checkpoints`: a folder, whose files and subfolders are ordered by the numbers in their names, or a list in
      training order.
    - `make_model`: function that builds the trained model; the base model if the checkpoints are LoRA adapters.
    - `loader`: batches of the training data, the same at every iteration.
    - `loss`: as `loss_fn` of `FeatureProbe`.
    - `weight_decay`: as in `FeatureProbe`.
    - `make_optimizer`: function that makes the optimizer of the training for a model; λ, its kind and the momentum are
      read from it.
    - `learning_rate`: learning rate of every step, a number or a function of the step. With it, four checkpoints give
      the mean gradient along them, which tells drift from the noise of minibatches, also for AdamW.
    - `start`: the initial weights, as a state dict or a file; a checkpoint at step 0 if there is one.
    - `work`: folder for finished results; a second call with the same arguments continues from them.
    - `progress`: callback `progress(fraction, note)`.
    - `options`: other arguments of `FeatureProbe`.

    >>> import tempfile
    >>> from safetensors.torch import save_file
    >>> model, data = torch.nn.Linear(2, 1), [(torch.eye(2), torch.ones(2, 1))]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for step in (0, 5, 10):
    ...         save_file(model.state_dict(), f"{folder}/step{step}.safetensors")
    ...         _ = model.weight.data.add_(1.0)
    ...     history = probe_checkpoints(folder, lambda: torch.nn.Linear(2, 1), data, torch.nn.MSELoss(), 0.1)
    >>> history.steps, history.layers
    ((0, 5, 10), ('weight',))
    """
    _require(make_model, loader, loss, options)
    series, is_list = find(checkpoints)
    training = Training(weight_decay, make_optimizer, learning_rate, start)
    microscope = _Microscope(make_model, loader, loss, training, options, None if work is None else Path(work))
    left_out: dict[str, str] = {}
    if not is_list:
        series, left_out = ordered([microscope.dated(checkpoint) for checkpoint in series])
    if learning_rate is not None and any(checkpoint.clock != "step" for checkpoint in series):
        raise ValueError(
            f"learning_rate needs checkpoints that count steps, these count {series[-1].clock}s; name the files by "
            "their steps, or leave learning_rate out"
        )
    report = progress or (lambda fraction, note: None)
    series, digests = _read_all(series, left_out, report)
    doubtful = _doubtful(digests)
    moments: list[Moment] = []
    for i, checkpoint in enumerate(series):
        interrupts.check()
        report(READING + (1 - READING) * i / len(series), checkpoint.name)
        try:
            moments.append(microscope.look(checkpoint, moments, checkpoint.name in doubtful))
        except CheckpointError as error:
            left_out[checkpoint.name] = str(error)
    if not moments:
        raise ValueError(f"no checkpoint could be read: {next(iter(left_out.values()))}")
    report(1.0, f"{len(moments)} checkpoints")
    return CheckpointHistory(tuple(moments), left_out, microscope.untreated())


def _require(make_model: Any, loader: Iterable[Any], loss_fn: Any, options: ProbeOptions) -> None:
    if isinstance(make_model, torch.nn.Module) or not callable(make_model):
        given = "a model" if isinstance(make_model, torch.nn.Module) else repr(make_model)
        raise ValueError(f"make_model must be a function that builds the model, got {given}; give lambda: build()")
    try:
        require_loss(loss_fn)
    except TypeError as error:
        raise ValueError(str(error)) from None
    if isinstance(loader, Iterator):
        raise ValueError(
            "loader must be iterable again for every checkpoint, got an iterator, which ends after the first; give a "
            "list or a DataLoader"
        )
    if unknown := [name for name in options if name not in ProbeOptions.__annotations__]:
        raise ValueError(
            f"probe_checkpoints has no argument {unknown[0]!r}; besides its own it takes "
            f"{', '.join(ProbeOptions.__annotations__)}"
        )


def _read_all(
    series: Sequence[Checkpoint], left_out: dict[str, str], report: Progress
) -> tuple[list[Checkpoint], dict[str, str]]:
    """Read every checkpoint once; return those that are whole, and the digests of their weights by name."""
    digests = {}
    for i, checkpoint in enumerate(series):
        interrupts.check()
        report(READING * i / len(series), f"reading {checkpoint.name}")
        try:
            digests[checkpoint.name] = digest(read(checkpoint)[0])
        except CheckpointError as error:
            left_out[checkpoint.name] = str(error)
    return [checkpoint for checkpoint in series if checkpoint.name in digests], digests


def _doubtful(digests: Mapping[str, str]) -> set[str]:
    """Return the checkpoints whose weights are also those of another one that is not next to it.

    Training does not return to exactly the same weights, so at least one of them is not what its name says. Neither is
    used to measure moves between other checkpoints.
    """
    places: dict[str, list[int]] = {}
    for i, own in enumerate(digests.values()):
        places.setdefault(own, []).append(i)
    names = list(digests)
    return {names[i] for same in places.values() if same[-1] - same[0] >= len(same) for i in same}


class _Microscope:
    """The model into which checkpoints are loaded one by one, and the weights of the last ones."""

    def __init__(
        self,
        make_model: Callable[[], torch.nn.Module],
        loader: Iterable[Any],
        loss: LossFunction | None,
        training: Training,
        options: ProbeOptions,
        work: Path | None,
    ) -> None:
        self._make_model, self._loader, self._loss, self._training = make_model, loader, loss, training
        self._options, self._work = options, work
        self._model: torch.nn.Module | None = None
        self._moves = Moves(training.learning_rate)
        self._start_known = training.start is not None
        self._begin = ""
        self._data = ""
        self._past: list[str] = []
        self._last: ProbeResult | None = None

    def dated(self, checkpoint: Checkpoint) -> Checkpoint:
        """Return the checkpoint with the step in its content, if its name has none."""
        if checkpoint.step is not None:
            return checkpoint
        try:
            _, known = read(checkpoint)
        except CheckpointError:
            return checkpoint
        return checkpoint if known is None else replace(checkpoint, step=known[0], clock=known[1])

    def look(self, checkpoint: Checkpoint, before: Sequence[Moment], doubtful: bool) -> Moment:
        """Probe one checkpoint, or take its stored result; a doubtful one does not count for those that follow."""
        tensors, _ = read(checkpoint)
        own = digest(tensors)
        model = self._loaded(tensors, checkpoint)
        step = checkpoint.step or 0
        if not before:
            self._start_known = self._start_known or (step == 0 and checkpoint.clock != "position")
            self._begin = f"{checkpoint.clock} {step}"
        self._moves.add(step, model)
        result = self._result(model, own)
        self._last = result
        moment = Moment(
            name=checkpoint.name,
            step=step,
            clock=checkpoint.clock,
            digest=own,
            same_as=next((moment.name for moment in before if moment.digest == own), ""),
            result=result,
            since_previous=self._moves.since_previous(),
            updates=tuple(updates(model)),
        )
        if doubtful:
            self._moves.forget_last()
        else:
            self._past = [*self._past[-3:], own]
        return moment

    def untreated(self) -> dict[str, str]:
        """Return the parameters without a result, each with the reason."""
        return {} if self._last is None else dict(self._last.untreated)

    def _loaded(self, tensors: Tensors, checkpoint: Checkpoint) -> torch.nn.Module:
        first = self._model is None
        model = self._fresh(tensors, checkpoint) if self._model is None else self._model
        (load_adapter if is_adapter(tensors) else load_into)(model, tensors, checkpoint.name)
        self._model = model
        if first and self._training.start is not None:
            self._begin_at(model, self._training.start)
        return model

    def _fresh(self, tensors: Tensors, checkpoint: Checkpoint) -> torch.nn.Module:
        model = self._make_model()
        if not isinstance(model, torch.nn.Module):
            raise ValueError(f"make_model must return a torch.nn.Module, got {type(model).__name__}")
        model = unwrapped(model)
        if is_adapter(tensors) and not is_adapted(model):
            return adapt(model, tensors, {} if checkpoint.config is None else metadata_of(checkpoint.config))
        return model

    def _begin_at(self, model: torch.nn.Module, start: Any) -> None:
        """Take distances from given initial weights."""
        if isinstance(start, str | os.PathLike):
            initial, _ = read(Checkpoint(Path(start).name, (Path(start),)))
        else:
            initial = dict(start)
        current = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        (load_adapter if is_adapter(initial) else load_into)(model, initial, "start")
        self._moves.start = {name: p.detach().clone() for name, p in model.named_parameters() if p.ndim >= 2}
        model.load_state_dict(current)

    def _result(self, model: torch.nn.Module, own: str) -> ProbeResult:
        optimizer = None if self._training.make_optimizer is None else self._training.make_optimizer(model)
        by_id = decays(model, self._training.weight_decay, optimizer)
        by_name = {name: by_id[id(parameter)] for name, parameter in model.named_parameters()}
        if self._work is not None and not self._data:
            self._data = _fingerprint(self._loader)
        path = None if self._work is None else self._work / f"{self._key(model, own, by_name)}.safetensors"
        if path is not None and path.is_file():
            try:
                return ProbeResult.load(path)
            except FileError:  # damaged: probe again and replace it
                pass
        moves = self._moves
        known = {
            "moved": moves.since_start(),
            "since": "" if self._start_known else self._begin,
            "steadiness": moves.steadiness(),
            "budgets": moves.budgets(by_name),
            "paths": moves.paths(by_name),
            "directions": moves.directions(by_name),
        }
        with warnings.catch_warnings():
            # It would repeat for every checkpoint; the evidence says what is missing, if anything.
            warnings.filterwarnings("ignore", message=DECOUPLED[:40])
            decay = self._training.weight_decay
            result = probe(model, self._loader, self._loss, decay, optimizer=optimizer, known=known, **self._options)
        if path is not None:
            with interrupts.deferred():
                result.save(path)
        return result

    def _key(self, model: torch.nn.Module, own: str, by_name: Mapping[str, Decay]) -> str:
        """Return a digest of everything that the result depends on; only earlier checkpoints count."""
        facts = {
            "version": VERSION,
            "weights": own,
            "past": [*self._past, digest(self._moves.start) if self._start_known else self._begin],
            "model": [str(model), [[name, list(p.shape)] for name, p in model.named_parameters()]],
            "frozen": digest({name: p for name, p in model.named_parameters() if not p.requires_grad}),
            "data": self._data,
            "loss": loss_key(self._loss),
            "decay": {name: [d.value, d.rule, d.gain, d.sign] for name, d in by_name.items()},
            "budgets": self._moves.budgets(by_name),
            "options": {name: str(value) for name, value in self._options.items()},
        }
        return hashlib.sha256(canonical_json(json.loads(json.dumps(facts))).encode()).hexdigest()


def _fingerprint(loader: Iterable[Any]) -> str:
    """Return a digest of all batches."""
    whole = hashlib.sha256(str(len(loader) if isinstance(loader, Sized) else "").encode())
    with reading(loader):
        for batch in loader:
            whole.update(digest({str(i): tensor for i, tensor in enumerate(tensors_of(batch))}).encode())
    return whole.hexdigest()
