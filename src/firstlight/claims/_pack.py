"""A paper, and the pack by which another package registers the claims of one."""

from dataclasses import dataclass
from pathlib import Path

from firstlight.claims._claim import Claim

GROUP = "firstlight.claims"
"""Entry-point group under which a package registers its `Pack`."""


@dataclass(frozen=True)
class Paper:
    """A source of claims. Claims between two papers have the key `cross`, new ones `beyond`.

    **Arguments:**

    - `key`: the first part of its claims' ids.
    - `title`: the title, as printed.
    - `topic`: what it is about.
    - `evidence`: folder of the recorded evidence; None for that of this package.
    """

    key: str
    title: str
    topic: str
    evidence: Path | None = None


@dataclass(frozen=True)
class Pack:
    """The claims of a paper in a package of its own, registered as an entry point of `firstlight.claims`.

    **Arguments:**

    - `paper`: key, title, topic, and the folder of its recorded evidence.
    - `claims`: its claims; `check` names `"package.module:name"`.
    - `docs`: a page in Markdown for readers.

    >>> Pack(Paper("mine", "My paper", "sums"), (Claim("your.lemma-1", "", "", "", "m:f"),))
    Traceback (most recent call last):
    ...
    ValueError: the claims of mine have ids that start with 'mine.'; got ['your.lemma-1']
    """

    paper: Paper
    claims: tuple[Claim, ...]
    docs: Path | None = None

    def __post_init__(self) -> None:
        if strangers := [claim.id for claim in self.claims if claim.paper != self.paper.key]:
            key = self.paper.key
            raise ValueError(f"the claims of {key} have ids that start with '{key}.'; got {strangers}")
