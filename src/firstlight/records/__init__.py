"""Specs, records and the store. Plain data, no JAX.

Names load on first use, so that the command line starts without NumPy or pydantic:

>>> from firstlight.records import RunSpec, run_id
>>> run_id(RunSpec())[:12]
'143757514795'
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from firstlight.records._bundle import BundledRun, read_bundle, write_bundle
    from firstlight.records._canonical import canonical_json, sha256
    from firstlight.records._claim import ClaimRecord, ClaimScale
    from firstlight.records._criterion import Criterion, CriterionForm
    from firstlight.records._dashboards import DashboardError, export_mlflow, export_tensorboard
    from firstlight.records._duel import DuelEntry, DuelRate, DuelRecord, DuelWidth
    from firstlight.records._explain import SpecError
    from firstlight.records._facts import machine_facts, software_versions
    from firstlight.records._fit import STAIRCASE, FitRecord
    from firstlight.records._identity import SPEC_VERSION, changed_fields, digest_arrays, pin_arrays, run_id
    from firstlight.records._layout import FileError
    from firstlight.records._learned import LEARNED, first_row
    from firstlight.records._models import DeepModel, EmbeddingModel, ModelSpec, TransformerModel, TwoLayerModel
    from firstlight.records._notebook import html_facts
    from firstlight.records._phase import PhaseAxis, PhaseCell, PhaseRecord
    from firstlight.records._presets import PRESETS
    from firstlight.records._probe import LayerCourse, ProbedCheckpoint, ProbedLayer, ProbeRecord, UpdateCourse
    from firstlight.records._run import RunRecord
    from firstlight.records._spec import (
        ArraysTask,
        GroupTask,
        Loss,
        Optimizer,
        ParityTask,
        Recording,
        RunSpec,
        Schedule,
        SplitSpec,
        Stop,
    )
    from firstlight.records._specfile import apply_overrides, dump_toml, load_spec, spec_from_mapping
    from firstlight.records._status import ClaimVerdict, RunStatus
    from firstlight.records._store import (
        IntegrityReport,
        RepairReport,
        RunHandle,
        Store,
        StoreError,
        check_store,
        repair_store,
    )
    from firstlight.records._table import Table
    from firstlight.records._theory_verdict import Agreement, TheoryVerdict
    from firstlight.records._titles import model_title, run_title, task_title
    from firstlight.records.figure import FigureData

_HOMES = {
    "_spec": (
        "ArraysTask",
        "GroupTask",
        "Loss",
        "Optimizer",
        "ParityTask",
        "Recording",
        "RunSpec",
        "Schedule",
        "SplitSpec",
        "Stop",
    ),
    "_models": (
        "DeepModel",
        "EmbeddingModel",
        "ModelSpec",
        "TransformerModel",
        "TwoLayerModel",
    ),
    "_presets": ("PRESETS",),
    "_status": (
        "RunStatus",
        "ClaimVerdict",
    ),
    "_duel": (
        "DuelEntry",
        "DuelRate",
        "DuelRecord",
        "DuelWidth",
    ),
    "_phase": (
        "PhaseAxis",
        "PhaseCell",
        "PhaseRecord",
    ),
    "_explain": ("SpecError",),
    "_layout": ("FileError",),
    "_specfile": (
        "apply_overrides",
        "dump_toml",
        "load_spec",
        "spec_from_mapping",
    ),
    "_identity": (
        "SPEC_VERSION",
        "changed_fields",
        "digest_arrays",
        "pin_arrays",
        "run_id",
    ),
    "_canonical": (
        "canonical_json",
        "sha256",
    ),
    "_facts": (
        "machine_facts",
        "software_versions",
    ),
    "_notebook": ("html_facts",),
    "_table": ("Table",),
    "_learned": (
        "LEARNED",
        "first_row",
    ),
    "_run": ("RunRecord",),
    "_theory_verdict": (
        "Agreement",
        "TheoryVerdict",
    ),
    "_claim": (
        "ClaimRecord",
        "ClaimScale",
    ),
    "_bundle": (
        "BundledRun",
        "read_bundle",
        "write_bundle",
    ),
    "_dashboards": (
        "DashboardError",
        "export_mlflow",
        "export_tensorboard",
    ),
    "_criterion": (
        "Criterion",
        "CriterionForm",
    ),
    "_fit": (
        "STAIRCASE",
        "FitRecord",
    ),
    "_probe": (
        "LayerCourse",
        "ProbeRecord",
        "ProbedCheckpoint",
        "ProbedLayer",
        "UpdateCourse",
    ),
    "_titles": (
        "model_title",
        "run_title",
        "task_title",
    ),
    "figure": ("FigureData",),
    "_store": (
        "IntegrityReport",
        "RepairReport",
        "RunHandle",
        "Store",
        "StoreError",
        "check_store",
        "repair_store",
    ),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "LEARNED",
    "PRESETS",
    "SPEC_VERSION",
    "STAIRCASE",
    "Agreement",
    "ArraysTask",
    "BundledRun",
    "ClaimRecord",
    "ClaimScale",
    "ClaimVerdict",
    "Criterion",
    "CriterionForm",
    "DashboardError",
    "DeepModel",
    "DuelEntry",
    "DuelRate",
    "DuelRecord",
    "DuelWidth",
    "EmbeddingModel",
    "FigureData",
    "FileError",
    "FitRecord",
    "GroupTask",
    "IntegrityReport",
    "LayerCourse",
    "Loss",
    "ModelSpec",
    "Optimizer",
    "ParityTask",
    "PhaseAxis",
    "PhaseCell",
    "PhaseRecord",
    "ProbeRecord",
    "ProbedCheckpoint",
    "ProbedLayer",
    "Recording",
    "RepairReport",
    "RunHandle",
    "RunRecord",
    "RunSpec",
    "RunStatus",
    "Schedule",
    "SpecError",
    "SplitSpec",
    "Stop",
    "Store",
    "StoreError",
    "Table",
    "TheoryVerdict",
    "TransformerModel",
    "TwoLayerModel",
    "UpdateCourse",
    "apply_overrides",
    "canonical_json",
    "changed_fields",
    "check_store",
    "digest_arrays",
    "dump_toml",
    "export_mlflow",
    "export_tensorboard",
    "first_row",
    "html_facts",
    "load_spec",
    "machine_facts",
    "model_title",
    "pin_arrays",
    "read_bundle",
    "repair_store",
    "run_id",
    "run_title",
    "sha256",
    "software_versions",
    "spec_from_mapping",
    "task_title",
    "write_bundle",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        names = ", ".join(__all__)
        raise AttributeError(f"module 'firstlight.records' has no attribute {name!r}; it has {names}")
    return getattr(importlib.import_module(f"firstlight.records.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
