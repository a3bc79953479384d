"""Curves that grow in the terminal during a run; plain lines if there is no terminal."""

import sys
from typing import Any

from firstlight.cli._terminal import screen

_LINES_EVERY = 20


class Live:
    """Shows `flow.Progress` moments of one run: accuracy over epochs, and a line on its progress.

    The forecast, if there is one, is drawn over all epochs ahead, so that the curves grow towards it.
    """

    def __init__(self, forecast: Any = None) -> None:
        self._forecast = forecast
        self._total = 1
        self._rows: dict[int, dict[str, float]] = {}
        self._console = screen.out()
        self._view: Any = None

    def __call__(self, moment: Any) -> None:
        self._total = moment.total
        # Between two rows the engine repeats the newest row.
        if not moment.values or (step := int(moment.values["step"])) in self._rows:
            return
        self._rows[step] = {name: float(moment.values[name]) for name in _SHOWN if name in moment.values}
        # Until compilation is a small part of the time passed, the estimate would only frighten.
        line = self._line(step, moment.remaining if moment.done > 0.1 * moment.total else None)
        if self._view is not None:
            self._view.update(self._picture(line))
        elif step % _LINES_EVERY == 0:
            print(line, flush=True)

    def __enter__(self) -> "Live":
        if sys.stdout.isatty():
            from rich.live import Live as RichLive
            from rich.spinner import Spinner

            waiting = Spinner("dots", text=" preparing the network")
            self._view = RichLive(waiting, console=self._console, refresh_per_second=12)
            self._view.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._view is not None:
            if self._rows:
                self._view.update(self._picture(self._line(max(self._rows), None)))
            self._view.stop()

    def _picture(self, line: str) -> Any:
        from rich.text import Text

        from firstlight import plots
        from firstlight.records import figure

        steps = sorted(self._rows)
        series = [
            figure.Series(label, steps, [self._rows[step].get(name, float("nan")) for step in steps])
            for name, label in _SHOWN.items()
        ]
        if self._forecast is not None:
            ahead = [self._total * i / 200 for i in range(201)]
            for name, accuracy in self._forecast.expected(ahead).items():
                series.append(figure.Series(f"{_SHOWN[f'{name}_accuracy']}, forecast", ahead, accuracy))
        shown = figure.curves(series, x="epoch", y="accuracy")
        width = max(min(self._console.width - 2, 100), 24)
        height = max(min(self._console.height - 4, 18), 8)
        drawn = plots.terminal(
            shown, width=width, height=height, colour=True, x_limits=(0, self._total), y_limits=(0, 1)
        )
        return Text.from_ansi(f"{drawn}\n{line}")

    def _line(self, step: int, remaining: float | None) -> str:
        row = self._rows[step]
        accuracies = ", ".join(f"{label} {row[name]:6.1%}" for name, label in _SHOWN.items() if name in row)
        left = "" if remaining is None else f", at most {screen.duration(remaining)} left"
        return f"epoch {step:3d}: {accuracies}{left}"


_SHOWN = {"train_accuracy": "training pairs", "test_accuracy": "held-out pairs"}
