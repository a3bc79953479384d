"""The checkpoints of a folder in training order, found by their names. Needs no torch."""

import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

TORCH = (".pt", ".pth", ".bin", ".ckpt")
SUFFIXES = (".safetensors", *TORCH)

BESIDE = re.compile(r"^(optim|scheduler|scaler|rng_state|random_states|training_args|trainer_state)", re.IGNORECASE)
"""Files that trainers write beside the weights."""

INSIDE = ("adapter_model", "model", "pytorch_model", "consolidated", "weights")
"""Names of the weights in a folder that is one checkpoint, in the order in which they are looked for."""

UNDATED = "its step is unknown: neither its name nor its content has one; give a list of files in training order"
"""Why a checkpoint cannot be placed."""

_SHARD = re.compile(r"^(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})$")
_FIRST = re.compile(r"(^|[-_.])(init|initial|initialisation|initialization|start)$", re.IGNORECASE)
_NUMBER = r"[-_=. ]*(\d+)([kKmM](?![a-zA-Z]))?"
_CLOCKS = (
    ("step", re.compile(rf"(?:steps?|iter|iters|iteration|update){_NUMBER}", re.IGNORECASE)),
    ("epoch", re.compile(rf"(?:epochs?|ep){_NUMBER}", re.IGNORECASE)),
    ("step", re.compile(rf"(?:checkpoint|ckpt){_NUMBER}", re.IGNORECASE)),
    ("step", re.compile(rf"(?:^|.*[^\d]){_NUMBER}")),
)
_THOUSANDS = {"": 1, "k": 1000, "m": 1_000_000}


@dataclass(frozen=True)
class Checkpoint:
    """The files of one checkpoint.

    **Attributes:**

    - `name`: its name in the folder.
    - `files`: the file, or the shards of a large model in order.
    - `step`: when it was saved, or None if nothing says so.
    - `clock`: what `step` counts, "step" or "epoch".
    - `config`: the file that describes a LoRA adapter, if there is one.
    """

    name: str
    files: tuple[Path, ...]
    step: int | None = None
    clock: str = "step"
    config: Path | None = None


def step_of(name: str) -> tuple[int, str] | None:
    """Return the number in a name and what it counts; None without a number.

    >>> step_of("epoch=3-step=400.ckpt"), step_of("model_epoch_07.pt"), step_of("checkpoint-10k"), step_of("best.pt")
    ((400, 'step'), (7, 'epoch'), (10000, 'step'), None)
    """
    stem = name.removesuffix(Path(name).suffix) if Path(name).suffix in SUFFIXES else name
    for clock, pattern in _CLOCKS:
        match = pattern.search(stem)
        if match:
            return int(match.group(1)) * _THOUSANDS[(match.group(2) or "").lower()], clock
    return (0, "step") if _FIRST.search(stem) else None


def find(checkpoints: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> tuple[list[Checkpoint], bool]:
    """Return the checkpoints of a folder by their names, or those of a list as given; and whether they are a list.

    A checkpoint is a file, the shards of one model, or a subfolder with weights. In a list a step that the names do not
    give, or that does not rise, is the position in the list.
    """
    if isinstance(checkpoints, str | os.PathLike):
        folder = Path(checkpoints)
        if not folder.is_dir():
            raise ValueError(f"a folder of checkpoints, or a list of files, is required; there is no folder {folder}")
        found_here = _in_folder(folder)
        if not found_here:
            raise ValueError(
                f"{folder} holds no checkpoint: files {', '.join(SUFFIXES)}, or subfolders with model.safetensors, "
                "adapter_model.safetensors or pytorch_model.bin are required"
            )
        return found_here, False
    given = [_given(Path(path)) for path in checkpoints]
    if not given:
        raise ValueError("a list of checkpoints must not be empty; give files or folders in training order")
    return _steps_of_list(given), True


def ordered(checkpoints: Iterable[Checkpoint]) -> tuple[list[Checkpoint], dict[str, str]]:
    """Return checkpoints in training order, and the reason for each that was left out because it has no step."""
    known = [checkpoint for checkpoint in checkpoints if checkpoint.step is not None]
    unknown = [checkpoint for checkpoint in checkpoints if checkpoint.step is None]
    clocks = {checkpoint.clock for checkpoint in known if checkpoint.step}
    if len(clocks) > 1:
        some = {clock: next(c.name for c in known if c.clock == clock) for clock in ("step", "epoch")}
        raise ValueError(
            f"the checkpoints must count one thing; {some['step']} counts steps and {some['epoch']} counts epochs: "
            "give a list of files in training order"
        )
    if not known:
        names = ", ".join(checkpoint.name for checkpoint in unknown[:3])
        raise ValueError(f"no checkpoint has a step in its name ({names}); give a list of files in training order")
    return sorted(known, key=lambda c: (c.step or 0, _natural(c.name))), {c.name: UNDATED for c in unknown}


def _steps_of_list(given: list[Checkpoint]) -> list[Checkpoint]:
    steps = [checkpoint.step for checkpoint in given]
    rising = None not in steps and len({c.clock for c in given if c.step}) < 2
    rising = rising and all((a or 0) < (b or 0) for a, b in pairwise(steps))
    if not rising:
        given = [replace(checkpoint, step=i, clock="position") for i, checkpoint in enumerate(given)]
    names = [checkpoint.name for checkpoint in given]
    if len(set(names)) < len(names):
        given = [replace(checkpoint, name=str(checkpoint.files[0])) for checkpoint in given]
    return given


def _in_folder(folder: Path) -> list[Checkpoint]:
    entries = sorted(folder.iterdir(), key=lambda path: _natural(path.name))
    checkpoints = [made for path in entries if path.is_dir() and (made := _subfolder(path)) is not None]
    return checkpoints + _files([path for path in entries if path.is_file()])


def _files(paths: Sequence[Path]) -> list[Checkpoint]:
    shards: dict[str, list[Path]] = {}
    checkpoints = []
    for path in paths:
        if path.suffix not in SUFFIXES or BESIDE.match(path.name) or path.name.startswith("."):
            continue
        match = _SHARD.match(path.stem)
        if match:
            shards.setdefault(match["stem"], []).append(path)
        else:
            checkpoints.append(_stepped(path.name, (path,)))
    return checkpoints + [_stepped(stem, tuple(sorted(parts))) for stem, parts in shards.items()]


def _subfolder(folder: Path) -> Checkpoint | None:
    for stem in INSIDE:
        for suffix in SUFFIXES:
            whole = folder / f"{stem}{suffix}"
            parts = (whole,) if whole.is_file() else tuple(sorted(folder.glob(f"{stem}-?????-of-?????{suffix}")))
            if parts:
                return _stepped(folder.name, parts)
    rest = _files([path for path in sorted(folder.iterdir()) if path.is_file()])
    return _stepped(folder.name, rest[0].files) if len(rest) == 1 else None


def _given(path: Path) -> Checkpoint:
    if path.is_dir():
        checkpoint = _subfolder(path)
        if checkpoint is None:
            raise ValueError(f"the folder {path} must hold the weights of one checkpoint; it holds none, or several")
        return checkpoint
    if not path.is_file():
        raise ValueError(f"a checkpoint must be a file or a folder; there is no {path}")
    if path.suffix not in SUFFIXES:
        raise ValueError(f"a checkpoint must be one of {', '.join(SUFFIXES)}; got {path.name}")
    return _stepped(path.name, (path,))


def _stepped(name: str, files: tuple[Path, ...]) -> Checkpoint:
    config = files[0].parent / "adapter_config.json"
    known = step_of(name) or _state_beside(files[0].parent if name == files[0].parent.name else None)
    step, clock = known or (None, "step")
    return Checkpoint(name, files, step, clock, config if config.is_file() else None)


def _state_beside(folder: Path | None) -> tuple[int, str] | None:
    """Return the step that the Hugging Face Trainer wrote beside the weights."""
    if folder is None or not (folder / "trainer_state.json").is_file():
        return None
    try:
        step = json.loads((folder / "trainer_state.json").read_text(encoding="utf-8")).get("global_step")
    except (ValueError, AttributeError):
        return None
    return (step, "step") if isinstance(step, int) else None


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts numbers in names by their value."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name)]
