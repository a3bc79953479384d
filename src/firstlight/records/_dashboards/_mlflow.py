"""Runs for an MLflow server or folder."""

import os
import re
from collections.abc import Iterator
from typing import Any

from firstlight.records._dashboards._flat import DashboardError, fields, label, missing, moments, numbers, started
from firstlight.records._run import RunRecord
from firstlight.records._specfile import dump_toml

_ID, _DONE = "firstlight.id", "firstlight.complete"
"""Tags: the id of a run, and the digest of its record once all of it was sent."""

_METRICS, _PARAMS, _LETTERS = 1000, 100, 6000
"""What MLflow accepts at once, and the length of a value."""


def export_mlflow(record: RunRecord, uri: str | os.PathLike[str], experiment: str = "firstlight") -> str:
    """Send a run to MLflow and return MLflow's id of it; a run that is there already is left as it is.

    Fields of the spec become params, recorded columns become metrics, and `spec.toml` is a text artifact. A run that
    was sent in part, because the export was stopped, is deleted and sent again.

    **Arguments:**

    - `record`: the run.
    - `uri`: MLflow's tracking URI, such as `http://localhost:5000` or `sqlite:///mlflow.db`.
    - `experiment`: name of the experiment, created if it does not exist.
    """
    try:
        from mlflow.entities import Param
        from mlflow.exceptions import MlflowException
        from mlflow.tracking import MlflowClient
    except ImportError:
        raise missing("mlflow", "dashboards") from None
    try:
        client = MlflowClient(tracking_uri=os.fspath(uri))
        place = client.get_experiment_by_name(experiment)
        own = client.create_experiment(experiment) if place is None else place.experiment_id
        if known := _earlier(client, own, record):
            return known
        begin = round(started(record) * 1000)
        tags = {_ID: record.id, "firstlight.status": record.status, "mlflow.note.content": _note(record)}
        run = client.create_run(own, start_time=begin, tags=tags, run_name=label(record)).info.run_id
        params = [Param(name, str(value)[:_LETTERS]) for name, value in fields(record).items()]
        for part in _parts(params, _PARAMS):
            client.log_batch(run, params=part)
        for part in _parts(list(_metrics(record)), _METRICS):
            client.log_batch(run, metrics=part)
        client.log_text(run, dump_toml(record.spec), "spec.toml")
        client.set_tag(run, _DONE, record.digest)
        state = "FINISHED" if record.status == "finished" else "FAILED"
        client.set_terminated(run, state, end_time=begin + round(record.seconds * 1000))
        return run
    except (MlflowException, OSError) as error:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        said = f"MLflow at {os.fspath(uri)} did not accept run {record.id[:12]}: {first}"
        raise DashboardError(_without_password(said)) from None


def _earlier(client: Any, experiment: str, record: RunRecord) -> str:
    """Return the id of a complete export of this record; delete others."""
    known = ""
    for run in client.search_runs([experiment], f"tags.`{_ID}` = '{record.id}'"):
        if not known and run.data.tags.get(_DONE) == record.digest:
            known = run.info.run_id
        else:
            client.delete_run(run.info.run_id)
    return known


def _metrics(record: RunRecord) -> Iterator[Any]:
    from mlflow.entities import Metric

    for step, wall_time, values in moments(record):
        for name, value in values.items():
            yield Metric(name, value, round(wall_time * 1000), step)
    end = round((started(record) + record.seconds) * 1000)
    for name, value in numbers(record.summary).items():
        if not name.startswith("final."):
            yield Metric(f"summary.{name}", value, end, record.steps)


def _without_password(text: str) -> str:
    """Hide the name and password of addresses, because messages end in logs.

    >>> _without_password("MLflow at https://me:secret@host:5000 did not answer")
    'MLflow at https://…@host:5000 did not answer'
    """
    return re.sub(r"://[^/\s]*@", "://…@", text)


def _note(record: RunRecord) -> str:
    return str(record.summary.get("story") or record.message or record.status)


def _parts(values: list[Any], size: int) -> Iterator[list[Any]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
