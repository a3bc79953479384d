"""Callbacks that run `Watch` inside PyTorch Lightning and the Hugging Face Trainer; both are imported on demand."""

import importlib
import inspect
import math
from collections.abc import Iterable
from typing import Any, Unpack

from firstlight.probes._feature_probe import LossFunction, ProbeOptions
from firstlight.probes._result import SHOWN, ProbeResult
from firstlight.probes._watch import Watch


def _logged(result: ProbeResult) -> dict[str, float]:
    """Return what loggers plot: the alignments that are defined, and 1 or 0 for converged or not."""
    values = {}
    for layer in result.layers:
        values |= {f"features/{layer.name}/{name}": layer.alignments[name] for name in SHOWN}
        values[f"features/{layer.name}/converged"] = float(layer.verdict.state == "converged")
    return {name: value for name, value in values.items() if math.isfinite(value)}


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(f"this callback needs {package}, which is not installed: pip install {package}") from error


def lightning_callback(
    loss_fn: LossFunction, batches: Iterable[Any], every: int = 100, **options: Unpack[ProbeOptions]
) -> Any:
    """Return a Lightning `Callback` that probes every `every` optimizer steps.

    It logs `features/<layer>/<measure>`, and its `watch` holds the results. λ is read from the first optimizer.
    `options` are those of `Watch`.

    ```python
    callback = probes.lightning_callback(torch.nn.functional.mse_loss, batches, every=100)
    lightning.Trainer(callbacks=[callback]).fit(module, loader)
    callback.watch.history()
    ```
    """
    base = _library("lightning.pytorch").Callback

    class FeatureCallback(base):
        """Counts optimizer steps, not batches: they differ under gradient accumulation."""

        watch: Watch | None = None

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            def log(step: int, result: ProbeResult) -> None:
                pl_module.log_dict(_logged(result))

            optimizer = trainer.optimizers[0]
            self.watch = Watch(pl_module, loss_fn, batches, optimizer, every=every, on_probe=log, **options)

        def on_train_batch_end(self, trainer: Any, pl_module: Any, *rest: Any, **more: Any) -> None:
            if self.watch is not None and trainer.global_step > self.watch.steps:
                self.watch.step()

    return FeatureCallback()


def huggingface_callback(
    batches: Iterable[dict[str, Any]], every: int = 100, *, trainer: Any = None, **options: Unpack[ProbeOptions]
) -> Any:
    """Return a `TrainerCallback` that probes every `every` steps.

    It logs `features/<layer>/<measure>` through the Trainer, so that TensorBoard, W&B and the log history have them,
    and its `watch` holds the results with the verdicts.

    **Arguments:**

    - `batches`: a few fixed, collated batches of the training data, as dicts of keywords for the model. They include
      labels, so that the model returns its own loss.
    - `every`: steps between probes.
    - `trainer`: the Trainer that logs; the one that calls the callback if None.
    - `options`: options of `Watch`.

    ```python
    Trainer(model, arguments, train_dataset=data, callbacks=[probes.huggingface_callback(batches)]).train()
    ```
    """
    base = _library("transformers").TrainerCallback

    class FeatureCallback(base):
        """Probes after optimizer steps, and hands the numbers to the Trainer."""

        watch: Watch | None = None

        def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            owner = trainer or _caller(_library("transformers").Trainer)

            def log(step: int, result: ProbeResult) -> None:
                if owner is None:
                    state.log_history.append({"step": step, **_logged(result)})
                else:
                    owner.log(_logged(result))

            self.watch = Watch(given["model"], None, batches, given["optimizer"], every=every, on_probe=log, **options)

        def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            if self.watch is not None:
                self.watch.step()

    return FeatureCallback()


def _caller(kind: type) -> Any:
    """Return the nearest object of a class among the callers; None without one.

    The Trainer calls its callbacks without a reference to itself, and only its `log` reaches all loggers.
    """
    frame = inspect.currentframe()
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, kind):
            return owner
        frame = frame.f_back
    return None
