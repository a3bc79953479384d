"""Specs, records and the store. Plain data, no JAX.

Names load on first use, so that the command line starts without NumPy or pydantic:

>>> from firstlight.records import RunSpec, run_id
>>> run_id(RunSpec())[:12]
'143757514795'
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from firstlight.records._canonical import canonical_json, sha256
    from firstlight.records._claim import ClaimRecord, ClaimScale
    from firstlight.records._criterion import Criterion, CriterionForm
    from firstlight.records._explain import SpecError
    from firstlight.records._facts import machine_facts, software_versions
    from firstlight.records._fit import FitRecord
    from firstlight.records._identity import SPEC_VERSION, changed_fields, digest_arrays, pin_arrays, run_id
    from firstlight.records._layout import FileError
    from firstlight.records._learned import LEARNED, first_row
    from firstlight.records._probe import ProbedLayer, ProbeRecord
    from firstlight.records._run import RunRecord
    from firstlight.records._spec import (
        ArraysTask,
        DeepModel,
        GroupTask,
        Loss,
        Optimizer,
        ParityTask,
        Recording,
        RunSpec,
        Schedule,
        SplitSpec,
        Stop,
        TwoLayerModel,
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
    from firstlight.records._titles import run_title, task_title
    from firstlight.records.figure import FigureData

_HOMES = {
    "_spec": (
        "ArraysTask",
        "DeepModel",
        "GroupTask",
        "Loss",
        "Optimizer",
        "ParityTask",
        "Recording",
        "RunSpec",
        "Schedule",
        "SplitSpec",
        "Stop",
        "TwoLayerModel",
    ),
    "_status": (
        "RunStatus",
        "ClaimVerdict",
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
    "_criterion": (
        "Criterion",
        "CriterionForm",
    ),
    "_fit": ("FitRecord",),
    "_probe": (
        "ProbeRecord",
        "ProbedLayer",
    ),
    "_titles": (
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
    "SPEC_VERSION",
    "Agreement",
    "ArraysTask",
    "ClaimRecord",
    "ClaimScale",
    "ClaimVerdict",
    "Criterion",
    "CriterionForm",
    "DeepModel",
    "FigureData",
    "FileError",
    "FitRecord",
    "GroupTask",
    "IntegrityReport",
    "Loss",
    "Optimizer",
    "ParityTask",
    "ProbeRecord",
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
    "TwoLayerModel",
    "apply_overrides",
    "canonical_json",
    "changed_fields",
    "check_store",
    "digest_arrays",
    "dump_toml",
    "first_row",
    "load_spec",
    "machine_facts",
    "pin_arrays",
    "repair_store",
    "run_id",
    "run_title",
    "sha256",
    "software_versions",
    "spec_from_mapping",
    "task_title",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        names = ", ".join(__all__)
        raise AttributeError(f"module 'firstlight.records' has no attribute {name!r}; it has {names}")
    return getattr(importlib.import_module(f"firstlight.records.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
