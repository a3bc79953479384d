"""Exports for TensorBoard and MLflow, read back by the real libraries; `make test-integrations` installs them."""

import importlib
import os

import pytest

from firstlight import runs
from firstlight.records import DashboardError, Store, export_mlflow, export_tensorboard, spec_from_mapping
from firstlight.records._dashboards import _mlflow

REQUIRED = os.environ.get("FIRSTLIGHT_INTEGRATIONS") == "1"


def needs(*modules: str) -> None:
    """Skip the test if a module is missing, unless this is `make test-integrations`."""
    for module in modules:
        importlib.import_module(module) if REQUIRED else pytest.importorskip(module)


@pytest.fixture(scope="module")
def record():
    spec = spec_from_mapping({"task": {"group": "Z5"}, "model": {"width": 16}, "steps": 60, "seed": 3})
    return runs.run(spec, progress="off")


@pytest.fixture
def store(tmp_path, record):
    with Store(tmp_path / "runs.sqlite", "rw") as opened:
        opened.put_run(record)
    return tmp_path / "runs.sqlite"


def events(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (place,) = folder.iterdir()
    accumulator = EventAccumulator(str(place), size_guidance={"scalars": 0})
    return accumulator.Reload()


def test_tensorboard_reads_every_curve_once_however_often_it_is_written(record, tmp_path):
    needs("tensorboard")
    first = export_tensorboard(record, tmp_path / "logs")
    assert export_tensorboard(record, tmp_path / "logs") == first
    read = events(tmp_path / "logs")
    assert sorted(read.Tags()["scalars"]) == sorted(record.table.scalars())
    for name, column in record.table.scalars().items():
        points = read.Scalars(name)
        assert [point.step for point in points] == record.table.step.tolist()
        # TensorBoard stores float32.
        assert [point.value for point in points] == pytest.approx(column.tolist(), rel=2**-23)
        times = [point.wall_time for point in points]
        assert times == sorted(times)
        assert times[-1] - times[0] == pytest.approx(record.seconds, abs=1e-3)


def test_a_run_that_was_trained_again_replaces_its_event_file(record, tmp_path):
    needs("tensorboard")
    export_tensorboard(record, tmp_path / "logs")
    later = record.model_copy(update={"created": "2100-01-01T00:00:00+00:00"})
    path = export_tensorboard(later, tmp_path / "logs")
    (path.parent / "events.out.tfevents.1.of-another-program").touch()
    export_tensorboard(later, tmp_path / "logs")
    assert sorted(file.name for file in path.parent.iterdir()) == sorted(
        [path.name, "events.out.tfevents.1.of-another-program"]
    )


def test_tensorboard_shows_the_fields_of_the_spec(record, tmp_path):
    needs("tensorboard")
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    export_tensorboard(record, tmp_path / "logs")
    contents = events(tmp_path / "logs").PluginTagToContent("hparams")
    start = HParamsPluginData.FromString(contents["_hparams_/session_start_info"]).session_start_info
    assert start.hparams["task.group"].string_value == "Z5"
    assert start.hparams["model.width"].number_value == 16
    assert start.hparams["seed"].number_value == 3
    end = HParamsPluginData.FromString(contents["_hparams_/session_end_info"]).session_end_info
    assert end.end_time_secs - start.start_time_secs == pytest.approx(record.seconds, abs=1e-3)


@pytest.fixture
def uri(tmp_path, monkeypatch):
    needs("mlflow", "sqlalchemy", "alembic")
    monkeypatch.chdir(tmp_path)  # MLflow puts artifacts of a local database here
    return f"sqlite:///{tmp_path}/mlflow.db"


def exported(uri):
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("firstlight")
    return client, client.search_runs([experiment.experiment_id])


@pytest.mark.slow
def test_mlflow_has_params_metrics_and_the_spec_once(record, uri):
    run = export_mlflow(record, uri)
    assert export_mlflow(record, uri) == run
    client, (stored,) = exported(uri)
    assert stored.info.status == "FINISHED"
    assert stored.data.params["task.group"] == "Z5"
    assert stored.data.params["seed"] == "3"
    assert stored.data.tags["firstlight.id"] == record.id
    for name, column in record.table.scalars().items():
        history = sorted(client.get_metric_history(run, name), key=lambda metric: metric.step)
        assert [metric.step for metric in history] == record.table.step.tolist()
        assert [metric.value for metric in history] == column.tolist()
    assert [file.path for file in client.list_artifacts(run)] == ["spec.toml"]


@pytest.mark.slow
def test_a_run_that_was_sent_in_part_is_sent_again(record, uri, monkeypatch):
    def stopped(values, size):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_mlflow, "_parts", stopped)
        with pytest.raises(KeyboardInterrupt):
            export_mlflow(record, uri)
    assert len(exported(uri)[1]) == 1
    run = export_mlflow(record, uri)
    _, (stored,) = exported(uri)
    assert stored.info.run_id == run
    assert "firstlight.complete" in stored.data.tags


def test_an_mlflow_that_does_not_answer_is_one_line(record, monkeypatch):
    needs("mlflow")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(DashboardError, match=r"MLflow at http://127\.0\.0\.1:1 did not accept run"):
        export_mlflow(record, "http://127.0.0.1:1")


def test_a_missing_library_is_named(record, monkeypatch, tmp_path):
    import builtins

    real = builtins.__import__

    def without(name, *rest, **more):
        if name.partition(".")[0] in ("tensorboard", "mlflow"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DashboardError, match=r"needs the package tensorboard; install .*firstlight\[dashboards\]"):
        export_tensorboard(record, tmp_path)
    with pytest.raises(DashboardError, match="needs the package mlflow"):
        export_mlflow(record, "sqlite:///x.db")


def test_the_command_exports_all_runs_or_the_named_ones(store, tmp_path, capsys):
    needs("tensorboard")
    from firstlight.cli import main

    assert main(["runs", "export", "--tensorboard", str(tmp_path / "logs"), "--store", str(store)]) == 0
    assert "1 run exported: tensorboard --logdir" in " ".join(capsys.readouterr().out.split())
    assert len(list((tmp_path / "logs").iterdir())) == 1
    assert main(["runs", "export", "abc", "--store", str(store)]) == 2
    assert "export needs the id of a run and a folder; got 1 words" in capsys.readouterr().err
