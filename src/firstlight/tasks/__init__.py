"""Tasks to learn: data, encodings and splits.

>>> from firstlight import tasks
>>> split = tasks.group_task("Z71").split(fraction=0.4, seed=0)
>>> split
Split('Z71': 2016 training rows, 3025 test rows)
>>> split.train_inputs.dim
142
"""

from firstlight.tasks._arrays import from_arrays
from firstlight.tasks._group import ENCODINGS, group_task, tuple_count
from firstlight.tasks._images import grey_images, whitened
from firstlight.tasks._inputs import DenseInputs, IndexInputs, Inputs
from firstlight.tasks._parity import sparse_parity
from firstlight.tasks._regression import Contexts, in_context_regression, linear_regression
from firstlight.tasks._splitting import train_count
from firstlight.tasks._task import Split, Targets, Task

__all__ = [
    "ENCODINGS",
    "Contexts",
    "DenseInputs",
    "IndexInputs",
    "Inputs",
    "Split",
    "Targets",
    "Task",
    "from_arrays",
    "grey_images",
    "group_task",
    "in_context_regression",
    "linear_regression",
    "sparse_parity",
    "train_count",
    "tuple_count",
    "whitened",
]
