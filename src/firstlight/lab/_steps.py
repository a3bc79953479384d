"""Staircases in workers: the desk predicts, the trainer solves gradient flow and reports it on the way."""

import math
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from pathlib import Path
from typing import Any

import numpy as np

from firstlight.lab._climb import Climb, climb_of
from firstlight.lab._form import FormError
from firstlight.lab._outcomes import pack_fits
from firstlight.lab._thin import thin
from firstlight.lab._worker import Channel, Control

WAIT_SECONDS = 0.25
"""Seconds within which a question is answered; a longer prediction goes on, and the page asks again."""

_REMEMBERED = 40
_SHOWN = 200
_UPDATE_SECONDS = 0.15


class Predictions:
    """Predictions by a thread, the newest question first; answers are remembered."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="staircase")
        self._known: OrderedDict[tuple[Any, ...], Future[Climb]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, form: Mapping[str, str], folder: str, seconds: float = WAIT_SECONDS) -> Climb | None:
        """Return the prediction of a form, or None while it is computed; a `FormError` says what is wrong."""
        key = (folder, *sorted(form.items()))
        with self._lock:
            if key not in self._known:
                # A slider asks for many scales; what has not begun is not wanted any more.
                for other, future in list(self._known.items()):
                    if future.cancel():
                        del self._known[other]
                self._known[key] = self._pool.submit(climb_of, dict(form), Path(folder) if folder else None)
                while len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
            future = self._known[key]
        try:
            return future.result(timeout=seconds)
        except NotYet:
            return None
        except BaseException:
            with self._lock:
                self._known.pop(key, None)
            raise


_PREDICTIONS = Predictions()


def staircase(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the prediction of a form as plain values, the problems of its controls, or that it is computed.

    **Arguments:**

    - `given`: `form`, the controls; `data`, the folder of pasted data, or ''.

    >>> answer = staircase({"form": {"case": "linear", "values": "2, 1"}, "data": ""})
    >>> while "computing" in answer:
    ...     answer = staircase({"form": {"case": "linear", "values": "2, 1"}, "data": ""})
    >>> [round(jump["time"], 6) for jump in answer["jumps"]]
    [0.5, 1.0]
    """
    try:
        case = _PREDICTIONS.get(given["form"], given["data"])
    except FormError as error:
        return {"problems": error.problems}
    except (ValueError, np.linalg.LinAlgError) as error:
        return {"problems": {"": str(error)}}
    return {"computing": True} if case is None else _answer(case)


def _answer(case: Climb) -> dict[str, Any]:
    steps, times = case.steps, case.times
    first, last = float(times[1]), float(times[-1])
    corners = np.repeat(np.clip(steps.jump_times, first, last), 2)
    return {
        "id": case.id,
        "title": case.title,
        "form": case.form,
        "eta": case.eta,
        "clock": case.clock,
        "jumps": [
            {"time": event.time, "flow_time": case.eta * event.time, "before": event.before, "after": event.after}
            for event in steps.events
        ],
        "stairs": {"time": [first, *corners.tolist(), last], "loss": np.repeat(steps.levels, 2).tolist()},
        "story": repr(steps).removeprefix("Staircase(").removesuffix(")"),
    }


class _Stopped(Exception):
    pass


def run_staircase(message: Mapping[str, Any], channel: Channel, control: Control) -> None:
    """Predict, solve gradient flow over the prediction, and send the record of both."""
    payload = message["payload"]
    try:
        start = time.monotonic()
        case = climb_of(payload["form"], Path(payload["data"]) if payload["data"] else None)
        watcher = _Watcher(case, channel, control)
        run = case.flow(case.times, watcher.saved)
        record = case.record(run, time.monotonic() - start)
    except _Stopped:
        # The page has the points so far; the queue need not carry them.
        channel.send({"event": "notes", "notes": {"curve": None}})
        end = {"event": "end", "state": "stopped", "message": "stopped; the flow begins again when it is run again"}
        channel.send(end)
        return
    except Exception as error:
        channel.send({"event": "end", "state": "failed", "message": f"{type(error).__name__}: {error}"})
        traceback.print_exc()
        return
    channel.send({"event": "notes", "notes": {"curve": None}})
    values, arrays = pack_fits((record,))
    channel.send({"event": "end", "state": "finished", "fits": values, "message": ""}, arrays)


class _Watcher:
    """Sends the curve so far, thinned, a few times a second; waits while paused, and ends a stopped flow."""

    def __init__(self, case: Climb, channel: Channel, control: Control) -> None:
        self._case, self._channel, self._control = case, channel, control
        self._times: list[float] = []
        self._losses: list[float] = []
        self._last, self._sent = float(case.times[-1]), 0.0

    def saved(self, t: float, loss: float) -> None:
        self._control.hold()
        if self._control.stopping.is_set():
            raise _Stopped
        if not math.isfinite(loss):
            raise FloatingPointError("the loss became infinite; use a smaller α or weaker data")
        if t > 0:
            self._times.append(t)
            self._losses.append(loss)
        if self._times and time.monotonic() - self._sent > _UPDATE_SECONDS:
            self._sent = time.monotonic()
            self._send()

    def _send(self) -> None:
        places = thin(self._losses, _SHOWN)
        times, losses = [self._times[place] for place in places], [self._losses[place] for place in places]
        predicted = self._case.steps.loss_at(times).tolist()
        curve = {"time": times, "loss": losses, "predicted": predicted}
        self._channel.send({"event": "notes", "notes": {"curve": curve}})
        # Times are spaced evenly on a logarithmic axis, and so is the work, about.
        done = len(self._times) / (len(self._case.times) - 1)
        self._channel.send({"event": "progress", "done": done, "total": 1.0, "message": f"time {self._times[-1]:.3g}"})
