"""Why a theory does not describe a run."""

from collections.abc import Mapping
from typing import Any

from firstlight import groups, runs
from firstlight.records import GroupTask, RunSpec, spec_from_mapping


def reasons(spec: RunSpec) -> dict[str, str]:
    """Return why a theory does not describe a run, for each theory that does not."""
    known = runs.lenses()
    return {name: reason for name in runs.THEORY_LENSES if (reason := known[name].reason_not_applicable(spec))}


def stored_reasons(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the reasons for a run of the store.

    **Arguments:**

    - `given`: `spec`, its plain values; `data`, the folder of Cayley tables, or ''.

    >>> stored_reasons({"spec": {"task": {"group": "S3"}}, "data": ""})["cogo"]
    'it needs an Abelian group, and S3 is not one'
    """
    spec = spec_from_mapping(given["spec"])
    if isinstance(spec.task, GroupTask):
        groups.of_task(spec.task, given["data"] or None)  # first: lenses ask for the group, and not for its folder
    return reasons(spec)
