"""Train the points of a sweep in a worker, batch by batch; the recorder writes them as soon as a batch has ended."""

import contextlib
import shutil
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight import _interrupts as interrupts
from firstlight import runs
from firstlight.lab._outcomes import pack_runs
from firstlight.lab._places import Places
from firstlight.lab._worker import Channel, Control
from firstlight.records import RunRecord, RunSpec, SpecError, Store
from firstlight.sweeps import sweep_from_mapping
from firstlight.sweeps._atlas import family_id
from firstlight.sweeps._batches import cut

CHECKPOINT_SECONDS = 5.0


def train_points(message: Mapping[str, Any], channel: Channel, control: Control) -> None:
    """Train the points of a sweep that the store does not have; a batch that was stopped goes on from its checkpoint.

    The order of batches follows the compiled programs. Finished points are never trained again, failed ones are.
    """
    done, total = 0, 0
    try:
        sweep = sweep_from_mapping(message["payload"]["sweep"])
        specs = sweep.expand(message["data"])
        left = _left(specs, message["store"])
        done, total = len(specs) - len(left), len(specs)
        notes = {"family": family_id(specs[0]), "sweep": message["payload"]["sweep"]}
        channel.send({"event": "notes", "notes": notes})
        channel.send({"event": "progress", "done": done, "total": total, "message": ""})
        folder = Places(Path(message["store"])).sweep_checkpoint(message["id"])
        failed = ""
        for batch in cut(left, 1):
            control.hold()
            records = _trained(batch.specs, message["data"], folder)
            done += len(records)
            points, arrays = pack_runs(records)
            channel.send({"event": "points", "points": points, "done": done, "total": total}, arrays)
            shutil.rmtree(folder, ignore_errors=True)
            with contextlib.suppress(OSError):
                folder.parent.rmdir()
            failed = failed or next((record.message for record in records if record.status == "failed"), "")
    except KeyboardInterrupt:
        words = f"{done} of {total} points are in the store; Resume trains the rest"
        channel.send({"event": "end", "state": "stopped", "message": words})
        return
    except SpecError as error:
        channel.send({"event": "end", "state": "failed", "message": "; ".join(error.problems)})
        return
    except Exception as error:
        channel.send({"event": "end", "state": "failed", "message": f"{type(error).__name__}: {error}"})
        traceback.print_exc()
        return
    words = f"points failed, such as: {failed}" if failed else ""
    channel.send({"event": "end", "state": "failed" if failed else "finished", "message": words})


def _left(specs: Sequence[RunSpec], store: str) -> list[RunSpec]:
    with Store(store) as opened:
        return [spec for spec in specs if opened.run_status(spec) not in runs.OVER]


def _trained(specs: Sequence[RunSpec], data: str, folder: Path) -> list[RunRecord]:
    interrupts.check()
    options = {"progress": "off", "keep_weights": False, "checkpoint_seconds": CHECKPOINT_SECONDS}
    return [outcome.record for outcome in runs.compute(specs, data=data, checkpoints=folder, **options)]
