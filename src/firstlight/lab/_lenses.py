"""Why a theory does not describe a run that the page starts."""

from firstlight import runs
from firstlight.records import RunSpec


def reasons(spec: RunSpec) -> dict[str, str]:
    """Return why a theory does not describe a run, for each theory that does not."""
    known = runs.lenses()
    return {name: reason for name in runs.THEORY_LENSES if (reason := known[name].reason_not_applicable(spec))}
