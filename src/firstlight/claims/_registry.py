"""The registry of all claims. A paper's statements are imported on first use."""

import functools
import importlib
from collections.abc import Sequence
from fnmatch import fnmatchcase

from firstlight import _plugins
from firstlight._suggest import did_you_mean
from firstlight.claims._claim import Claim
from firstlight.claims._pack import GROUP, Pack, Paper

PAPERS: tuple[Paper, ...] = (
    Paper(
        "li2",
        "Li₂: A Framework on Dynamics of Feature Emergence and Delayed Generalization",
        "grokking in three stages: lazy, independent, interactive",
    ),
    Paper(
        "cogo",
        "Crafting Global Optimizers to Reasoning Tasks via Algebraic Objects in Neural Nets",
        "global optimizers built algebraically: a semi-ring of solutions, monomial potentials",
    ),
    Paper(
        "agf",
        "Alternating Gradient Flows: A Theory of Feature Learning in Two-layer Neural Networks",
        "staircase losses from small initialisation",
    ),
    Paper(
        "fact",
        "FACT: the Features At Convergence Theorem for neural networks",
        "what weights satisfy at convergence",
    ),
    Paper(
        "manifold",
        "The Geometry of Grokking: Norm Minimization on the Zero-Loss Manifold",
        "norm minimisation on the zero-loss manifold",
    ),
    Paper("cross", "Between the papers", "where two of the theories meet"),
    Paper("beyond", "Beyond the papers", "what was found while the papers were made executable"),
)


@functools.cache
def packs() -> tuple[Pack, ...]:
    """Return the packs that other installed packages register; one whose key is taken is a `ValueError`."""
    installed = []
    for name, pack in _plugins.registered(GROUP):
        if not isinstance(pack, Pack):
            raise ValueError(f"the entry point {name!r} of {GROUP} must be a firstlight.claims.Pack; got {pack!r}")
        installed.append(pack)
    keys = [paper.key for paper in PAPERS] + [pack.paper.key for pack in installed]
    if len(set(keys)) < len(keys):
        raise ValueError(f"every paper needs a key of its own; got {', '.join(keys)}")
    return tuple(installed)


def papers() -> tuple[Paper, ...]:
    """Return the papers of this package and of the installed packs."""
    return (*PAPERS, *(pack.paper for pack in packs()))


def paper_of(id: str) -> Paper | None:
    """Return the paper of a claim's id, or None if no registered paper has the key."""
    key = id.partition(".")[0]
    return next((paper for paper in papers() if paper.key == key), None)


class UnknownClaim(ValueError):
    """A pattern that matches no claim."""


@functools.cache
def paper_claims(paper: str) -> tuple[Claim, ...]:
    """Return the claims of one paper, in the order of the paper."""
    for pack in packs():
        if pack.paper.key == paper:
            return pack.claims
    claims = importlib.import_module(f"firstlight.claims.{paper}").CLAIMS
    if strangers := [claim.id for claim in claims if claim.paper != paper]:
        raise ValueError(f"the claims of {paper} have ids that start with '{paper}.'; got {strangers}")
    return claims


def all_claims() -> tuple[Claim, ...]:
    """Return every registered claim.

    >>> len({claim.id for claim in all_claims()}) == len(all_claims())
    True
    """
    return tuple(claim for paper in papers() for claim in paper_claims(paper.key))


def find(patterns: Sequence[str] = ()) -> tuple[Claim, ...]:
    """Return the claims that match any pattern: a paper, an id, or an id with `*`; all claims without a pattern.

    >>> [claim.id for claim in find(["cogo.lemma-3"])]
    ['cogo.lemma-3']
    >>> find(["cogo.lema-3"])
    Traceback (most recent call last):
    ...
    firstlight.claims._registry.UnknownClaim: no claim matches 'cogo.lema-3'; did you mean 'cogo.lemma-3'? ...
    """
    known = all_claims()
    wanted = {claim.id for pattern in patterns for claim in _match(pattern, known)}
    return tuple(claim for claim in known if not patterns or claim.id in wanted)


def _match(pattern: str, known: tuple[Claim, ...]) -> list[Claim]:
    text = pattern.strip().lower()
    matches = [claim for claim in known if text == claim.paper or fnmatchcase(claim.id, text)]
    if matches:
        return matches
    keys = [paper.key for paper in papers()]
    if text in keys:
        raise UnknownClaim(f"no claim of {text} is registered yet; `firstlight claims list` shows the registered ones")
    hint = did_you_mean(text, [*keys, *(claim.id for claim in known)])
    raise UnknownClaim(f"no claim matches {pattern!r}; {hint}`firstlight claims list` shows them all")
