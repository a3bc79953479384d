"""Specs that no sensible person writes, drawn from a seed, and what becomes of them.

Run as a module (`python -m tests.runs.hostile COUNT SEED`) it takes COUNT specs through file, overrides and `resolve`
under a limit on memory, and prints how they ended as JSON.
"""

import faulthandler
import json
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from firstlight.records import RunSpec, SpecError, apply_overrides, load_spec

SECONDS, BYTES = 5.0, 2048
MEMORY = 8 * 2**30

NUMBERS = (0, -1, 1, 2, 3, 7, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, 10**8, 10**9, 10**12, 10**18, 10**30)
REALS = (0.0, -0.0, 0.5, 1.0, 1e-300, 1e300, 5e-324, -1.5, float("inf"), float("-inf"), float("nan"), 1e3)
WORDS = (
    "", " ", "Z5", "Z0", "Z5000", "Z1", "S5", "A4", "D7", "Q8", "F21", "SL2(3)", "Z2^12", "Z1^999999999", "Z999999999",
    "Z5x", "xxx", "x" * 5000, "Z2x" * 3000 + "Z2", "quadratic", "relu", "quadratc", "norms", "li2", "fact", "agf",
    "cogo", "manifold", "deep", "two_layer", "parity", "group", "arrays", "sgd", "muon", "adam", "summed", "template",
    "cosine", "train_loss", "test_accuracy", "\ud800", "a\udfffb", "\x00", "\n\n", "é" * 900, "🜁" * 900,
    "../../etc/passwd", "nowhere.npz", "true", "NaN", "1e999", "{}", "[[[", "'", '"', "\\",
)  # fmt: skip
KEYS = (
    "",
    "kind",
    "width",
    "widths",
    "x" * 3000,
    "\ud800",
    "a.b",
    "\n",
    "é",
    "__class__",
    "W",
    "V",
    "0",
    "model",
    "task",
)


def leaves(model: type[BaseModel] = RunSpec, prefix: str = "") -> list[str]:
    """The dotted fields of every kind of spec, tables included."""
    names = []
    for name, field in model.model_fields.items():
        names.append(prefix + name)
        for part in parts(field.annotation):
            names += leaves(part, f"{prefix}{name}.")
    return list(dict.fromkeys(names))


def parts(annotation: Any) -> list[type[BaseModel]]:
    """The models inside a type."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [part for inner in getattr(annotation, "__args__", ()) for part in parts(inner)]


FIELDS = leaves()


def value(random: random.Random, depth: int = 0) -> Any:
    """Any value a file can hold."""
    kind = random.random()
    if kind < 0.35:
        return random.choice(NUMBERS) if random.random() < 0.7 else random.randint(-(10**6), 10**6)
    if kind < 0.5:
        return random.choice(REALS)
    if kind < 0.75:
        return random.choice(WORDS)
    if kind < 0.8:
        return random.choice((True, False, None))
    if kind < 0.9 and depth < 4:
        few = random.choice((0, 1, 2, 3, 3, 3, 400)) if depth < 2 else 2
        return [value(random, depth + 1) for _ in range(few)]
    if kind < 0.985 and depth < 4:
        keys = [random.choice((*KEYS, *FIELDS)).rpartition(".")[2] for _ in range(random.choice((0, 1, 2, 3)))]
        return {key: value(random, depth + 1) for key in keys}
    if kind < 0.99:
        return nested(random.choice((50, 200)), random.random() < 0.5)
    few = [random.choice((*NUMBERS, *WORDS[:6]))]
    return few * random.choice((10, 20_000))


def nested(depth: int, in_lists: bool) -> Any:
    """Lists in lists or tables in tables."""
    inner: Any = 1
    for _ in range(depth):
        inner = [inner] if in_lists else {"a": inner}
    return inner


def near(random: random.Random) -> dict[str, Any]:
    """A spec that would be small and right, with a few fields of it replaced."""
    spec: dict[str, Any] = {"task": {"group": "Z5"}, "model": {"width": 8}, "steps": 20}
    for _ in range(random.choice((0, 1, 1, 1, 2, 2, 3))):
        table, *path = spec, *random.choice(FIELDS).split(".")
        for key in path[:-1]:
            table = table.setdefault(key, {}) if isinstance(table, dict) else {}
            table = table if isinstance(table, dict) else {}
        table[path[-1]] = value(random)
    return spec


def override(random: random.Random) -> str:
    """A word after `--set`."""
    field = random.choice((*FIELDS, *FIELDS, *KEYS, "a." * 600 + "b", "stop.0.observable", "model.widths.0"))
    given = value(random, 3)
    text = random.choice((str(given), json.dumps(given, default=str), random.choice(WORDS), "[" * 2000, "9" * 6000))
    return f"{field}={text}" if random.random() < 0.95 else text


def written(random: random.Random) -> tuple[str, bytes]:
    """A file of a spec: its suffix and its bytes, at times damaged."""
    spec: Any = near(random) if random.random() < 0.9 else value(random)
    suffix, text = ".json", json.dumps(spec)
    if random.random() < 0.01:
        text = random.choice(("[", '{"a":')) * random.choice((900, 5000, 200_000))
    if random.random() < 0.15:
        suffix, pairs = ".toml", [(f, value(random, 3)) for f in random.sample(FIELDS, 2)]
        text = "\n".join(f"{field} = {json.dumps(given)}" for field, given in pairs)
    content = text.encode("utf-8", "surrogatepass")
    if random.random() < 0.05:
        place = random.randrange(len(content) + 1)
        content = content[:place] + bytes(random.choices(range(256), k=3)) + content[place:]
    return suffix, content


def outcome(folder: Path, random: random.Random) -> tuple[str, int]:
    """How one spec ends (resolved or refused) and the bytes of its message; any other error is raised."""
    from firstlight import runs

    suffix, content = written(random)
    overrides = [override(random) for _ in range(random.choice((0, 0, 1, 2)))]
    file = folder / f"spec{suffix}"
    file.write_bytes(content)
    try:
        spec = apply_overrides(load_spec(file), overrides)
        runs.resolve(spec)
    except SpecError as error:
        return "refused", len(str(error).encode("utf-8", "strict"))
    return "resolved", 0


def attack(count: int, seed: int) -> dict[str, Any]:
    """The counts of outcomes, the slowest call, the longest message and every error that is nobody's fault but ours."""
    ended: Counter[str] = Counter()
    slowest, longest, broken = 0.0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            source = random.Random(f"{seed}/{i}")
            faulthandler.dump_traceback_later(120, exit=True)
            start = time.process_time()
            try:
                how, size = outcome(Path(folder), source)
            except Exception as error:
                how, size = "broken", 0
                broken.append(f"{seed}/{i}: {type(error).__name__}: {str(error)[:200]}")
            seconds = time.process_time() - start
            if seconds > SECONDS or size > BYTES:
                broken.append(f"{seed}/{i}: {seconds:.1f} s, {size} bytes")
            ended[how] += 1
            slowest, longest = max(slowest, seconds), max(longest, size)
    faulthandler.cancel_dump_traceback_later()
    return {"ended": dict(ended), "slowest": slowest, "longest": longest, "broken": broken}


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    print(json.dumps(attack(int(sys.argv[1]), int(sys.argv[2]))))
