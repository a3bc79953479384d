"""Event files for TensorBoard."""

import io
import os
import re
from pathlib import Path
from typing import Any

from firstlight._files import write_atomically
from firstlight.records._dashboards._flat import fields, label, missing, moments, started
from firstlight.records._run import RunRecord


def export_tensorboard(record: RunRecord, folder: str | os.PathLike[str]) -> Path:
    """Write the curves and the fields of a run as an event file; return its path.

    The file is `<folder>/<title, seed, id>/events.out.tfevents.<time>.firstlight`. Exporting a run again replaces it,
    also if the run was trained again at another time, so no curve is drawn twice. `tensorboard --logdir <folder>` shows
    scalars and, under HPARAMS, the fields.

    **Arguments:**

    - `record`: the run.
    - `folder`: the log directory.
    """
    try:
        from tensorboard.compat.proto import event_pb2
        from tensorboard.summary.writer.record_writer import RecordWriter
    except ImportError:
        raise missing("tensorboard", "dashboards") from None
    Event = _names(event_pb2).Event
    content = io.BytesIO()
    writer = RecordWriter(content)
    begin = started(record)
    writer.write(Event(wall_time=begin, file_version="brain.Event:2").SerializeToString())
    for summary in _hyperparameters(record):
        writer.write(Event(wall_time=begin, summary=summary).SerializeToString())
    for step, wall_time, values in moments(record):
        writer.write(Event(wall_time=wall_time, step=step, summary=_scalars(values)).SerializeToString())
    place = Path(folder) / re.sub(r"[^\w.,=+ -]", "_", label(record))
    path = write_atomically(place / f"events.out.tfevents.{int(begin):010d}.firstlight", content.getvalue())
    for earlier in place.glob("events.out.tfevents.*.firstlight"):
        if earlier != path:
            earlier.unlink(missing_ok=True)
    return path


def _names(module: Any) -> Any:
    """Return a module that protobuf fills while it is imported, so that a type checker sees no names in it."""
    return module


def _scalars(values: dict[str, float]) -> Any:
    from tensorboard.compat.proto import summary_pb2

    Summary = _names(summary_pb2).Summary
    return Summary(value=[Summary.Value(tag=name, simple_value=value) for name, value in values.items()])


def _hyperparameters(record: RunRecord) -> list[Any]:
    """Return the two summaries that TensorBoard's table of hyperparameters reads."""
    from tensorboard.compat.proto import summary_pb2
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2

    Summary, api, data = _names(summary_pb2).Summary, _names(api_pb2), _names(plugin_data_pb2)
    begin = data.SessionStartInfo(start_time_secs=started(record))
    for name, value in fields(record).items():
        if isinstance(value, bool):
            begin.hparams[name].bool_value = value
        elif isinstance(value, int | float):
            begin.hparams[name].number_value = value
        else:
            begin.hparams[name].string_value = str(value)
    status = api.STATUS_SUCCESS if record.status == "finished" else api.STATUS_FAILURE
    end = data.SessionEndInfo(status=status, end_time_secs=started(record) + record.seconds)
    contents = {
        metadata.SESSION_START_INFO_TAG: data.HParamsPluginData(session_start_info=begin),
        metadata.SESSION_END_INFO_TAG: data.HParamsPluginData(session_end_info=end),
    }
    return [
        Summary(value=[Summary.Value(tag=tag, metadata=metadata.create_summary_metadata(content))])
        for tag, content in contents.items()
    ]
