"""The store: one SQLite file and a folder of arrays, safe against a writer killed at any moment."""

from firstlight.records._store._errors import StoreError
from firstlight.records._store._integrity import IntegrityReport, check_store
from firstlight.records._store._path import locate, require_name
from firstlight.records._store._repair import RepairReport, repair_store
from firstlight.records._store._store import Store
from firstlight.records._store._stream import RunHandle

__all__ = [
    "IntegrityReport",
    "RepairReport",
    "RunHandle",
    "Store",
    "StoreError",
    "check_store",
    "locate",
    "repair_store",
    "require_name",
]
