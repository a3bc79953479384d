"""Questions that need JAX, answered by a worker: what a setting means, and what the theories forecast for it."""

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from firstlight import groups, runs
from firstlight.lab._fitting import columns
from firstlight.lab._forecast import forecast
from firstlight.lab._form import FormError, by_control, spec_of
from firstlight.lab._lenses import stored_reasons
from firstlight.lab._map import atlas, cost
from firstlight.lab._stage import theatre
from firstlight.lab._steps import staircase
from firstlight.records import GroupTask, RunSpec, SpecError, changed_fields, dump_toml, pin_arrays, run_id, run_title


def setting(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of a form with its forecast, or the problems of its controls.

    **Arguments:**

    - `given`: `form`, the controls; `data`, the folder of Cayley tables, or ''.

    >>> answer = setting({"form": {"group": "Z7", "width": "32"}, "data": ""})
    >>> answer["order"], answer["pairs"], setting({"form": {"group": "Z0"}, "data": ""})["problems"].keys()
    (7, [29, 49], dict_keys(['group']))
    """
    data = given["data"] or None
    try:
        spec = spec_of(given["form"])
        spec = pin_arrays(spec, data)
        task = spec.task
        if not isinstance(task, GroupTask):
            raise FormError({"group": "the lab trains on finite groups"})
        order = groups.of_task(task, data).order  # first: lenses ask for the group, and not for its folder
        spec = runs.with_lenses(spec)
        runs.check(spec, data)
        expected = runs.check_sizes(spec, data)
    except FormError as error:
        return {"problems": error.problems}
    except SpecError as error:
        return {"problems": by_control(error.problems)}
    except ValueError as error:
        return {"problems": {"group": str(error)}}
    share = task.split.fraction or 1.0
    if not 0 < int(share * order**2 * (1 + 1e-12)) < order**2:
        return {"problems": {"fraction": f"of the {order**2} pairs, at least one must be shown and one held out"}}
    return {
        "id": run_id(spec),
        "spec": json.loads(spec.model_dump_json()),
        "title": f"{run_title(spec)}, seed {spec.seed}",
        "order": order,
        "pairs": [int(share * order**2 * (1 + 1e-12)), order**2],
        "clock": spec.clock,
        "seconds": expected.seconds,
        "copies": copies(spec),
        "forecast": forecast(spec, data),
    }


def copies(spec: RunSpec) -> dict[str, str]:
    """Return the spec as TOML, as Python and as a command line.

    >>> copies(RunSpec(seed=3))["command"]
    'touch empty.toml && firstlight run empty.toml --set seed=3'
    """
    changed = changed_fields(spec)
    words = [word for path, value in _leaves(changed) for word in ("--set", f"{path}={_toml(value)}")]
    python = (
        "from firstlight import runs\n"
        "from firstlight.records import spec_from_mapping\n\n"
        f"spec = spec_from_mapping({changed!r})\n"
        "record = runs.run(spec)\n"
    )
    return {
        "toml": dump_toml(spec),
        "python": python,
        "command": f"touch empty.toml && firstlight run empty.toml {shlex.join(words)}".rstrip(),
    }


def _leaves(values: Mapping[str, Any], path: str = "") -> list[tuple[str, Any]]:
    leaves: list[tuple[str, Any]] = []
    for name, value in values.items():
        full = f"{path}.{name}" if path else name
        leaves += _leaves(value, full) if isinstance(value, Mapping) else [(full, value)]
    return leaves


def _toml(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


ANSWERS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "setting": setting,
    "reasons": stored_reasons,
    "theatre": theatre,
    "staircase": staircase,
    "columns": columns,
    "atlas": atlas,
    "sweep": cost,
}
