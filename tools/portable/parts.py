"""What runs under a setting: folders of numerical tests with their doctests, and the quick claims of each paper."""

import hashlib
import platform
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
REGISTRY = "tests/claims/test_registry.py"
VERDICT = f"{REGISTRY}::test_quick_claims_have_their_expected_verdict"


@dataclass(frozen=True)
class Part:
    """A call of pytest.

    **Arguments:**

    - `uses`: the libraries whose sums its results depend on.
    - `targets`: paths or ids of tests.
    - `seconds`: what it takes on two cores, for the first estimate of the time left.
    - `claims`: whether its tests are verdicts of quick claims.
    """

    name: str
    uses: frozenset[str]
    targets: tuple[str, ...]
    seconds: float
    claims: bool = False


def _folder(name: str, uses: str, seconds: float) -> Part:
    return Part(name, frozenset(uses.split()), (f"tests/{name}", f"src/firstlight/{name}"), seconds)


# Tests of the command line, the store, sweeps, reports and plots compute nothing, and do not run.
FOLDERS: tuple[Part, ...] = (
    _folder("groups", "blas", 20),
    _folder("tasks", "blas", 10),
    _folder("models", "xla", 15),
    _folder("features", "xla blas", 20),
    _folder("flow", "xla", 40),
    _folder("theories/agf", "xla blas", 30),
    _folder("theories/cogo", "xla blas", 15),
    _folder("theories/fact", "xla blas", 15),
    _folder("theories/li2", "xla blas", 40),
    _folder("theories/manifold", "xla blas", 20),
    _folder("runs", "xla", 15),
    _folder("rfm", "blas openmp threads", 30),
    _folder("probes", "aten", 20),
)
PAPERS = {"agf": "xla blas", "li2": "xla blas", "fact": "blas openmp threads", "cogo": "xla blas"}
PAPERS |= {"manifold": "xla blas", "cross": "xla blas"}
SECONDS = {"agf": 60.0, "li2": 60.0, "fact": 40.0, "fact torch": 30.0, "cogo": 30.0, "manifold": 30.0, "cross": 20.0}


def all_parts() -> tuple[Part, ...]:
    """Every part: the folders, then the claims of each paper; those that need torch are parts of their own."""
    return FOLDERS + claim_parts()


@cache
def claim_parts() -> tuple[Part, ...]:
    """The quick claims, by paper and by whether they need torch."""
    from firstlight import claims

    ids: dict[tuple[str, str], list[str]] = {}
    for claim in claims.all_claims():
        if "quick" in claim.scales:
            ids.setdefault((claim.paper, "torch" if "torch" in claim.needs else ""), []).append(claim.id)
    parts = []
    for (paper, extra), names in ids.items():
        label = f"{paper} {extra}".strip()
        uses = "aten" if extra else PAPERS.get(paper, "xla blas")
        targets = tuple(f"{VERDICT}[{name}]" for name in names)
        parts.append(Part(f"claims {label}", frozenset(uses.split()), targets, SECONDS.get(label, 30.0), claims=True))
    return tuple(parts)


def digest(part: Part, root: Path = ROOT) -> str:
    """Hash all that a part's results depend on: the package, its tests, the versions and the processor."""
    shared = ["pyproject.toml", "tests/conftest.py", "tests/tolerances.py", "src"]
    own = [target.partition("::")[0] for target in part.targets]
    hashed = hashlib.sha256(repr((part.targets, _versions(), platform.processor(), platform.machine())).encode())
    for top in dict.fromkeys([*shared, *own]):
        path = root / top
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if file.exists():
                hashed.update(f"{file.relative_to(root)}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return hashed.hexdigest()[:20]


@cache
def _versions() -> tuple[str, ...]:
    packages = sorted(f"{d.metadata['Name']} {d.version}" for d in metadata.distributions())
    return (platform.python_version(), *packages)
