"""Base classes of specs and records: frozen, closed to unknown fields, plain JSON, compared by content."""

from datetime import UTC, datetime
from html import escape
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from firstlight.records._canonical import canonical_json, sha256
from firstlight.records._notebook import html_figure


class Frozen(BaseModel):
    """A frozen pydantic model that rejects unknown fields."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True, ser_json_inf_nan="strings"
    )


R = TypeVar("R", bound="Record")


class Record(Frozen):
    """A frozen model with an exact JSON round trip; NaN and infinities are written as words.

    Two records are equal if their digests are, so a record with a NaN equals its copy.
    """

    ADDED_FIELDS: ClassVar[frozenset[str]] = frozenset()
    """Fields added after the first stores were written; an empty one leaves the digest as it was before."""

    @property
    def digest(self) -> str:
        """SHA-256 of the record's content, as 64 hexadecimal digits."""
        return sha256(self._hashed())

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def _hashed(self, **replaced: Any) -> Any:
        """Return the values that the digest covers; `replaced` gives short values in place of large fields."""
        empty = {name for name in self.ADDED_FIELDS if not getattr(self, name)}
        short = {name: value for name, value in replaced.items() if name not in empty}
        return {**self.model_dump(exclude={*empty, *short}), **short}

    def __repr__(self) -> str:
        words = self._words()
        return f"<{type(self).__name__} {words}>" if words else f"<{type(self).__name__}>"

    def __str__(self) -> str:
        return repr(self)

    def _words(self) -> str:
        """Return the record in one short line, for its `repr`; its whole content is `to_json()`."""
        return self.digest[:12]

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>" + "".join(map(html_figure, getattr(self, "figures", ())[:1]))

    def to_json(self) -> str:
        """Return the record as canonical JSON: sorted keys, shortest exact floats."""
        return canonical_json(self.model_dump())

    @classmethod
    def from_json(cls: type[R], text: str) -> R:
        """Return the record that `to_json` wrote."""
        return cls.model_validate_json(text)


Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def utc_now() -> str:
    """Return the current time as ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
