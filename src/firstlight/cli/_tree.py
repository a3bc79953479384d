"""The tree of commands. Importing it imports nothing heavy: each command loads what it needs when it runs."""

from typing import Any

from cyclopts import App
from cyclopts.help import DefaultFormatter, PlainFormatter

import firstlight
from firstlight.cli.commands import (
    claims,
    data,
    demo,
    doctor,
    duel,
    lab,
    predict,
    probe,
    report,
    reproduce,
    rfm,
    run,
    runs,
    store,
    sweep,
    sweeps,
)

_EPILOGUE = """\
Exit codes: 0 done and as expected · 1 a verdict differs, a run failed or a check found damage · 2 the command
or its input cannot be used · 3 a bug · 130 interrupted · 143 terminated. `--debug` adds the traceback to an
error. Runs, claims, fits and probes are stored in .firstlight/store.sqlite, or where FIRSTLIGHT_STORE or
`--store` says."""

_NARROW = 64


class _Layout:
    """Frames on a wide screen; below `_NARROW` columns plain lines, in which the longest words have room."""

    def __call__(self, console: Any, options: Any, panel: Any) -> None:
        (PlainFormatter() if console.width < _NARROW else DefaultFormatter())(console, options, panel)

    def render_usage(self, console: Any, options: Any, usage: Any) -> None:
        DefaultFormatter().render_usage(console, options, usage)

    def render_description(self, console: Any, options: Any, description: Any) -> None:
        DefaultFormatter().render_description(console, options, description)


app = App(
    name="firstlight",
    help_formatter=_Layout(),
    help="A laboratory for how neural networks come to learn features.",
    help_epilogue=_EPILOGUE,
    version=firstlight.__version__,
    version_flags=["--version"],
    help_flags=["--help", "-h"],
    suppress_keyboard_interrupt=False,
)
# In the order in which a newcomer meets them.
app.command(demo.demo, sort_key=1)
app.command(lab.lab, sort_key=1)
app.command(predict.predict, sort_key=1.5)
app.command(run.run, sort_key=2)
app.command(sweep.sweep, sort_key=3)
app.command(sweeps.app)
app.command(duel.duel, sort_key=3)
app.command(runs.app)
app.command(reproduce.reproduce, sort_key=5)
app.command(claims.app)
app.command(rfm.app)
app.command(probe.probe, sort_key=6)
app.command(report.report, sort_key=7)
app.command(store.app)
app.command(data.data, sort_key=9)
app.command(doctor.doctor, sort_key=10)
# The paragraph on exit codes and stores belongs to the first page of help only.
for _command in app:
    if not _command.startswith("-"):
        app[_command].help_epilogue = ""
