"""`FitRecord`: the scores of an estimator fitted to a table."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from firstlight.records._base import Digest, Record, utc_now
from firstlight.records._canonical import sha256
from firstlight.records._facts import machine_facts, software_versions
from firstlight.records._figures import Figures, figure_digests
from firstlight.records._values import Value

STAIRCASE = "AGF staircase"
"""The estimator of a record in which AGF predicts a loss curve and gradient flow measures it."""


class FitRecord(Record):
    """An estimator's name and parameters, the digest of the data, and the scores.

    **Fields:**

    - `data`: the digest of the table.
    - `scores`: `mean` and `deviation` of the score over the folds, `folds` one by one, and the name of the `metric`.
    - `seconds`: the mean time of one fit.
    - `message`: one line on the table.
    - `figures`: figures of the fitted model.

    A record of the estimator `STAIRCASE` has in `scores` the predicted and the measured jumps and levels.

    >>> record = FitRecord(estimator="RFMClassifier", params={"depth": 5}, data="0" * 64, scores={"auc": 0.9})
    >>> FitRecord.from_json(record.to_json()) == record
    True
    """

    estimator: Annotated[str, Field(min_length=1)]
    params: dict[str, Value] = Field(default_factory=dict)
    data: Digest
    scores: dict[str, Value] = Field(default_factory=dict)
    seconds: Annotated[float, Field(ge=0)] = 0.0
    created: str = Field(default_factory=utc_now)
    versions: dict[str, str] = Field(default_factory=software_versions)
    machine: dict[str, str | int] = Field(default_factory=machine_facts)
    message: str = ""
    figures: Figures = ()

    ADDED_FIELDS: ClassVar[frozenset[str]] = frozenset({"figures"})

    @property
    def id(self) -> str:
        """SHA-256 of the estimator, its parameters and the data; scores and times do not count."""
        return sha256({"estimator": self.estimator, "params": self.params, "data": self.data})

    def _words(self) -> str:
        mean, metric = self.scores.get("mean"), self.scores.get("metric", "score")
        return f"{self.id[:12]} {self.estimator}" + (f": {metric} {mean:.4g}" if isinstance(mean, float) else "")

    def _hashed(self, **replaced: Any) -> Any:
        return super()._hashed(figures=figure_digests(self.figures), **replaced)
