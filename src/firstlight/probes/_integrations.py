"""`Watch` inside PyTorch Lightning and the Hugging Face Trainer; neither library is imported before it is asked for."""

import importlib
from collections.abc import Iterable
from typing import Any

from firstlight.probes._feature_probe import LossFunction
from firstlight.probes._result import SHOWN, ProbeResult
from firstlight.probes._watch import Watch


def _logged(found: ProbeResult) -> dict[str, float]:
    return {f"features/{layer.name}/{name}": layer.alignments[name] for layer in found.layers for name in SHOWN}


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(f"this callback needs {package}, which is not installed: pip install {package}") from error


def lightning_callback(loss_fn: LossFunction, batches: Iterable[Any], every: int = 100, **options: Any) -> Any:
    """A Lightning `Callback` that probes every `every` optimizer steps and logs `features/<layer>/<measure>`.

    Its `watch` has the results. The first optimizer is the one read; options are those of `Watch`.

    ```python
    callback = probes.lightning_callback(torch.nn.functional.mse_loss, batches, every=100)
    lightning.Trainer(callbacks=[callback]).fit(module, loader)
    callback.watch.history()
    ```
    """
    base = _library("lightning.pytorch").Callback

    class FeatureCallback(base):
        """Counts optimizer steps, not batches, which gradient accumulation tells apart."""

        watch: Watch | None = None

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            def log(step: int, found: ProbeResult) -> None:
                pl_module.log_dict(_logged(found))

            optimizer = trainer.optimizers[0]
            self.watch = Watch(pl_module, loss_fn, batches, optimizer, every=every, on_probe=log, **options)

        def on_train_batch_end(self, trainer: Any, pl_module: Any, *rest: Any, **more: Any) -> None:
            if self.watch is not None and trainer.global_step > self.watch.steps:
                self.watch.step()

    return FeatureCallback()


def huggingface_callback(batches: Iterable[dict[str, Any]], every: int = 100, **options: Any) -> Any:
    """A `TrainerCallback` that probes every `every` steps; alignments and verdicts go to the Trainer's log history.

    Its `watch` has the results.

    **Arguments:**

    - `batches`: dicts of keywords for the model, labels included, so that it returns its own loss: a few fixed,
      collated batches of the training data. Options are those of `Watch`.

    ```python
    Trainer(model, arguments, train_dataset=data, callbacks=[probes.huggingface_callback(batches)]).train()
    ```
    """
    base = _library("transformers").TrainerCallback

    class FeatureCallback(base):
        """Reads the optimizer that accelerate may have wrapped."""

        watch: Watch | None = None

        def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            def log(step: int, found: ProbeResult) -> None:
                states = {f"features/{layer.name}/verdict": layer.verdict.state for layer in found.layers}
                state.log_history.append({"step": step, **_logged(found), **states})

            optimizer = getattr(given["optimizer"], "optimizer", given["optimizer"])
            self.watch = Watch(given["model"], None, batches, optimizer, every=every, on_probe=log, **options)

        def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            if self.watch is not None:
                self.watch.step()

    return FeatureCallback()
