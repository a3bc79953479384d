"""A task to learn, and its split into training and test rows."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from firstlight.groups import Group
from firstlight.records import html_facts
from firstlight.tasks._inputs import Inputs, frozen
from firstlight.tasks._splitting import draw_rows, train_count

Targets = Int[np.ndarray, " N"] | Float[np.ndarray, "N m"]


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """N samples: inputs, targets and, if the targets are products in a finite group, the group.

    **Attributes:**

    - `name`: a short title.
    - `inputs`: X, gathered or dense.
    - `targets`: (N,) classes 0…outputs−1, or (N, outputs) real values of a regression.
    - `outputs`: number of classes or of regressed values, M.
    - `group`: the group whose product is the target, or None.
    - `encoding`: "onehot", "summed" or "template" (see `group_task`), else "dense".
    - `sampling`: (N,) probability p with which each row is drawn for training, or None for uniform.
    - `truth`: the targets before label noise, or None without label noise.
    - `class_names`: the user's names of the classes, or None.

    >>> from firstlight.tasks import group_task
    >>> group_task("Z7")
    Task('Z7': 49 rows, inputs of dimension 14, 7 classes)
    """

    name: str
    inputs: Inputs
    targets: Targets
    outputs: int
    group: Group | None = None
    encoding: str = "dense"
    sampling: Float[np.ndarray, " N"] | None = None
    truth: Targets | None = None
    class_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("targets", "truth"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _checked_targets(name, value, len(self.inputs), self.outputs))
        if self.sampling is not None:
            object.__setattr__(self, "sampling", _checked_sampling(self.sampling, len(self.inputs)))

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def is_classification(self) -> bool:
        """Whether the targets are classes."""
        return self.targets.ndim == 1

    def split(
        self,
        fraction: float | None = None,
        count: int | None = None,
        seed: int = 0,
        stratified: bool = False,
    ) -> "Split":
        """Draw the training rows; all other rows are test rows.

        **Arguments:**

        - `fraction`: train on ⌊fraction·N⌋ rows; fraction=1 trains on all rows and leaves no test rows.
        - `count`: the number of training rows, instead of `fraction`.
        - `seed`: seed of the draw; unless stratified, a smaller draw is a subset of a larger draw.
        - `stratified`: whether every class gets its share of the training rows.

        >>> from firstlight.tasks import group_task
        >>> group_task("Z71").split(fraction=0.4, seed=1)
        Split('Z71': 2016 training rows, 3025 test rows)
        """
        size = train_count(len(self), fraction, count)
        if stratified and not self.is_classification:
            raise ValueError(f"stratified needs classes, but {self.name!r} is a regression; use stratified=False")
        classes = self.targets if stratified else None
        train = draw_rows(size, len(self), seed, classes, self.sampling)
        return Split(self, train, np.setdiff1d(np.arange(len(self)), train, assume_unique=True))

    def describe(self) -> str:
        """Return a description of the task, a line per fact.

        >>> from firstlight.tasks import group_task
        >>> print(group_task("S3", label_noise=0.1).describe())
        task      S3, label noise 0.1
        rows      36
        inputs    dimension 12, onehot
        targets   6 classes
        group     S3, order 6, not Abelian
        noise     4 rows with a wrong target
        """
        return "\n".join(f"{key:<9} {value}" for key, value in self._facts().items())

    def _kind(self) -> str:
        if self.is_classification:
            return f"{self.outputs} classes"
        return f"regression of {self.outputs} value{'s' if self.outputs > 1 else ''}"

    def _facts(self) -> dict[str, str]:
        names = f": {', '.join(self.class_names[:8])}" if self.class_names else ""
        facts = {
            "task": self.name,
            "rows": f"{len(self):,}",
            "inputs": f"dimension {self.inputs.dim}, {self.encoding}",
            "targets": self._kind() + names + (", …" if self.class_names and len(self.class_names) > 8 else ""),
        }
        if self.group is not None:
            law = "Abelian" if self.group.is_abelian else "not Abelian"
            facts["group"] = f"{self.group.name}, order {self.group.order}, {law}"
        if self.truth is not None:
            wrong = (self.truth != self.targets).reshape(len(self), -1).any(axis=1).sum()
            facts["noise"] = f"{wrong} rows with a wrong target"
        if self.sampling is not None:
            facts["sampling"] = f"p from {self.sampling.min():.3g} to {self.sampling.max():.3g}"
        return facts

    def __repr__(self) -> str:
        shape = f"{len(self)} rows, inputs of dimension {self.inputs.dim}"
        return f"Task({self.name!r}: {shape}, {self._kind()})"

    def _repr_html_(self) -> str:
        return html_facts(self._facts())


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """A task with its training and test rows.

    **Attributes:**

    - `task`: the whole task.
    - `train`: sorted indices of the training rows.
    - `test`: sorted indices of the test rows; empty only when all rows train.

    >>> from firstlight.tasks import group_task
    >>> split = group_task("Z5").split(fraction=0.6)
    >>> split.train_inputs.rows.shape, split.test_targets.shape
    ((15, 2), (10,))
    """

    task: Task
    train: Int[np.ndarray, " n_train"]
    test: Int[np.ndarray, " n_test"]

    def __post_init__(self) -> None:
        for name in ("train", "test"):
            object.__setattr__(self, name, _checked_rows(name, getattr(self, name), len(self.task)))
        if len(self.train) == 0:
            raise ValueError("a split needs training rows, got none")
        if len(self.test) == 0 and not self.is_full:
            raise ValueError("a split with no test rows must train on all rows; add test rows, or use fraction=1")
        both = np.intersect1d(self.train, self.test, assume_unique=True)
        if both.size:
            raise ValueError(f"training and test rows must differ, got {both[:5].tolist()} in both")

    @property
    def is_full(self) -> bool:
        """Whether all rows of the task are training rows."""
        return len(self.train) == len(self.task)

    @property
    def train_inputs(self) -> Inputs:
        """X of the training rows."""
        return self.task.inputs.take(self.train)

    @property
    def train_targets(self) -> Targets:
        """Targets of the training rows, label noise included."""
        return self.task.targets[self.train]

    @property
    def test_inputs(self) -> Inputs:
        """X of the test rows."""
        return self.task.inputs.take(self.test)

    @property
    def test_targets(self) -> Targets:
        """Targets of the test rows, without label noise, so that the test measures the rule."""
        truth = self.task.targets if self.task.truth is None else self.task.truth
        return truth[self.test]

    def __repr__(self) -> str:
        return f"Split({self.task.name!r}: {len(self.train)} training rows, {len(self.test)} test rows)"

    def _repr_html_(self) -> str:
        share = len(self.train) / len(self.task)
        sizes = {"train": f"{len(self.train):,} rows ({share:.1%})", "test": f"{len(self.test):,} rows"}
        return html_facts({**self.task._facts(), **sizes})


def _checked_targets(name: str, targets: np.ndarray, rows: int, outputs: int) -> np.ndarray:
    targets = np.asarray(targets)
    if len(targets) != rows:
        raise ValueError(f"{name} must have one entry per row, {rows}, got {len(targets)}")
    if targets.ndim == 1:
        if targets.size and not 0 <= targets.min() <= targets.max() < outputs:
            raise ValueError(f"classes must lie in 0…{outputs - 1}, got values from {targets.min()} to {targets.max()}")
        return frozen(targets.astype(np.int32))
    if targets.shape != (rows, outputs) or not np.isfinite(targets).all():
        raise ValueError(f"{name} must be finite, of shape ({rows}, {outputs}), got shape {targets.shape}")
    return frozen(targets)


def _checked_sampling(sampling: np.ndarray, rows: int) -> np.ndarray:
    p = np.asarray(sampling, float)
    if p.shape != (rows,) or not np.isfinite(p).all() or p.min() < 0 or p.sum() <= 0:
        raise ValueError(
            f"sampling must be {rows} finite numbers ≥ 0, one per row and not all 0, got shape {p.shape} "
            f"with smallest value {p.min(initial=np.inf)}"
        )
    return frozen(p / p.sum())


def _checked_rows(name: str, rows: np.ndarray, total: int) -> np.ndarray:
    rows = np.unique(np.asarray(rows, np.intp))
    if rows.size and not 0 <= rows[0] <= rows[-1] < total:
        raise ValueError(f"{name} rows must lie in 0…{total - 1}, got values from {rows[0]} to {rows[-1]}")
    return frozen(rows)
