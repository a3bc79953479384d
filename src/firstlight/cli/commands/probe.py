"""`firstlight probe`: the checkpoints of a PyTorch training run, layer by layer over training time."""

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from firstlight import _interrupts as interrupts
from firstlight.cli import _exits as exits
from firstlight.cli import _signals as signals
from firstlight.cli._terminal import screen
from firstlight.cli.commands._options import JsonOption, StoreOption, WaitOption, store_path

_NEEDED = ("make_model", "loader")

_CALLERS = ("_call", "_loss", "_feed", "_fresh", "_result", "_fingerprint", "_rate_sum")
"""Functions of firstlight that call the user's code."""


def probe(
    folder: Annotated[Path, Parameter(help="Folder of checkpoints: .safetensors, .pt, or a subfolder for each.")],
    /,
    *,
    factory: Annotated[
        str,
        Parameter(
            help="module:function or file.py:function, which returns a dict of arguments of "
            "firstlight.probes.probe_checkpoints: make_model, loader, loss, weight_decay, ..."
        ),
    ],
    weight_decay: Annotated[float | None, Parameter(help="λ of the training, if the factory does not give it.")] = None,
    learning_rate: Annotated[
        float | None, Parameter(help="Learning rate of every step, if the factory does not give it.")
    ] = None,
    report: Annotated[Path | None, Parameter(help="Where the page goes [default: FOLDER.probe.html, here].")] = None,
    work: Annotated[
        Path, Parameter(help="Folder for finished checkpoints; the same command continues from them.")
    ] = Path(".firstlight/probes"),
    name: Annotated[
        str, Parameter(show_default=False, help="A name for the model, used as title [default: the folder's].")
    ] = "",
    seed: Annotated[int, Parameter(help="Seed of torch, NumPy and Python before the factory is called.")] = 0,
    store: StoreOption = None,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
) -> int:
    """Probe every checkpoint of a training run and show each layer over training time. The factory is your own code."""
    if not folder.is_dir():
        raise exits.UserError(f"there is no folder {folder}; give the folder that holds the checkpoints")
    title = name or folder.resolve().name
    page, store_file = report or Path(f"{folder.resolve().name}.probe.html"), store_path(store)
    arguments = _arguments(factory, seed)
    for key, value in (("weight_decay", weight_decay), ("learning_rate", learning_rate)):
        if value is not None:
            arguments[key] = value
    history = _history(folder, factory, arguments | {"work": work})
    from firstlight.report import write
    from firstlight.runs import writing

    record = history.record(title)
    with interrupts.deferred():
        write(page, record, title=f"{title}: layers over training")
        with writing(store_file, wait=wait) as opened:
            opened.put_probe(record)
    if json:
        screen.print_json(record.model_dump(exclude={"figures"}))
    else:
        _print_history(history)
        screen.say(f"report: {page}")
    return exits.DIFFERS if history.damaged else exits.OK


def _history(folder: Path, factory: str, arguments: dict[str, Any]) -> Any:
    from firstlight import probes
    from firstlight.cli._terminal.progress import Bar

    signals.resumes(lambda: f"finished checkpoints are in {arguments['work']}; run the same command again to continue")
    with Bar("%") as bar:

        def progress(fraction: float, note: str) -> None:
            bar.update(100 * fraction, 100, note)
            bar.remark(f"{note} ({fraction:.0%} done)", bar.remaining)

        try:
            return probes.probe_checkpoints(folder, **arguments, progress=progress)
        except (ValueError, KeyboardInterrupt):
            raise
        except Exception as error:
            if not _from_users_code(error):
                raise
            raise exits.UserError(f"the code of --factory {factory} raised {_described(error)}") from error


def _arguments(factory: str, seed: int) -> dict[str, Any]:
    """Return what the user's function returns, after seeding all random numbers."""
    if importlib.util.find_spec("torch") is None:
        raise exits.UserError("firstlight probe needs PyTorch: pip install 'firstlight[torch]'")
    from firstlight.probes._guards import seed_all

    function = _function(factory)
    seed_all(seed)
    try:
        arguments = function()
    except Exception as error:
        raise exits.UserError(f"--factory {factory} raised {_described(error)}") from error
    if not isinstance(arguments, Mapping) or not set(_NEEDED) <= set(arguments):
        got = sorted(map(str, arguments)) if isinstance(arguments, Mapping) else type(arguments).__name__
        raise exits.UserError(
            f"--factory: {factory} must return a dict with {' and '.join(_NEEDED)}, and what else "
            f"probes.probe_checkpoints takes, such as loss and weight_decay; it returned {got}"
        )
    return dict(arguments)


def _function(factory: str) -> Any:
    place, _, attribute = factory.rpartition(":")
    if not place or not attribute:
        raise exits.UserError(f"--factory: module:function or file.py:function is required, got {factory!r}")
    try:
        module = _from_file(Path(place)) if place.endswith(".py") else _imported(place)
    except exits.UserError:
        raise
    except Exception as error:
        raise exits.UserError(f"--factory: importing {place} raised {_described(error)}") from error
    function = getattr(module, attribute, None)
    if not callable(function):
        raise exits.UserError(f"--factory: {place} has no function {attribute}")
    return function


def _imported(name: str) -> Any:
    # As with python -m, modules of the working folder can be imported.
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    return importlib.import_module(name)


def _from_file(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path) if path.is_file() else None
    if spec is None or spec.loader is None:
        raise exits.UserError(f"--factory: there is no file {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.resolve().parent))
    spec.loader.exec_module(module)
    return module


def _described(error: Exception) -> str:
    """Return an error of the user's code with the line where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    text = next((line for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {text}{place}; --debug shows the traceback"


def _from_users_code(error: Exception) -> bool:
    """Return whether an error was raised inside the user's model, loss, data or functions, not in firstlight."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    modules = [frame.f_globals.get("__name__", "").partition(".")[0] for frame in frames]
    last = max((i for i, module in enumerate(modules) if module == "firstlight"), default=len(frames) - 1)
    return last < len(frames) - 1 and frames[last].f_code.co_name in _CALLERS


def _print_history(history: Any) -> None:
    for sentence in history.story():
        screen.say(sentence)
    last = history.moments[-1].result
    rows = [
        (layer.name, *(_cell(layer.alignments[m]) for m in ("FACT", "√AGOP")), _cell(layer.effective_rank),
         _cell(layer.moved), layer.verdict.state)
        for layer in last.layers
    ]  # fmt: skip
    screen.say(f"\nat {history.moments[-1].name}:")
    screen.print_table(("layer", "FACT", "√AGOP", "effective rank", "moved", "verdict"), rows)


def _cell(value: float) -> str:
    return "–" if value != value else f"{value:.3g}"
