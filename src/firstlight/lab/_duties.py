"""What a worker does: train a run, check a claim, answer a question. Only workers import this module, and JAX."""

import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from firstlight import _interrupts as interrupts
from firstlight._files import cache_directory
from firstlight.lab._answers import ANSWERS
from firstlight.lab._fitting import fit_table, open_probe
from firstlight.lab._outcomes import pack_claim
from firstlight.lab._steps import run_staircase
from firstlight.lab._sweeping import train_points
from firstlight.lab._training import train_run, warm_up
from firstlight.lab._worker import Channel, Control

Duty = Callable[[Mapping[str, Any], Channel, Control], None]


def prepare(role: str) -> None:
    """Load JAX with a cache of compiled programs; a training worker also compiles the programs of the default run."""
    import jax

    folder = cache_directory() / "compiled"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
    except OSError:
        pass  # a cache is optional
    if role == "train":
        warm_up()
    elif role == "desk":
        ANSWERS["setting"]({"form": {}, "data": ""})


def answer(message: Mapping[str, Any], channel: Channel, control: Control) -> None:
    """Answer a question of the server."""
    try:
        result = ANSWERS[message["what"]](message["given"])
        channel.send({"answer": message["n"], "result": result})
    except Exception as error:
        channel.send({"answer": message["n"], "error": f"{type(error).__name__}: {error}"})


def check_claim(message: Mapping[str, Any], channel: Channel, control: Control) -> None:
    """Check a claim at quick scale and report its progress."""
    from firstlight import claims

    def report(fraction: float, note: str = "") -> None:
        control.hold()
        interrupts.check()
        channel.send({"event": "progress", "done": fraction, "total": 1.0, "message": note})

    try:
        claim = claims.find([message["payload"]["claim"]])[0]
        setting = claims.Setting("quick", progress=report, work=Path(message["work"]))
        record, figures = claims.verify(claim, setting)
    except KeyboardInterrupt:
        words = "stopped; the check begins again when it is started"
        channel.send({"event": "end", "state": "stopped", "message": words})
        return
    except Exception as error:
        channel.send({"event": "end", "state": "failed", "message": f"{type(error).__name__}: {error}"})
        traceback.print_exc()
        return
    values, arrays = pack_claim(record, figures)
    channel.send({"event": "end", "state": "finished", "claim": values, "message": record.status}, arrays)


DUTIES: dict[str, Duty] = {
    "ask": answer,
    "run": train_run,
    "claim": check_claim,
    "staircase": run_staircase,
    "sweep": train_points,
    "fit": fit_table,
    "probe": open_probe,
}
