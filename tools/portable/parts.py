"""The parts that run under a setting: folders of numerical tests and doctests, and the quick claims of each paper."""

import hashlib
import platform
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEETH = "tests/claims/test_teeth.py"
VERDICT = f"{TEETH}::test_a_quick_claim_has_its_recorded_verdict_and_refuses_what_is_false"


@dataclass(frozen=True)
class Part:
    """A call of pytest.

    **Arguments:**

    - `name`: the name in the table.
    - `uses`: the libraries whose order of summation affects the results.
    - `targets`: paths or ids of tests.
    - `seconds`: expected time on two cores, for the first estimate of the time left.
    - `claims`: whether the tests are verdicts of quick claims.
    """

    name: str
    uses: frozenset[str]
    targets: tuple[str, ...]
    seconds: float
    claims: bool = False


def _folders(names: str, uses: str, seconds: float) -> Part:
    targets = [f"{top}/{name}" for name in names.split() for top in ("tests", "src/firstlight")]
    return Part(names, frozenset(uses.split()), tuple(targets), seconds)


# Tests of the command line, the store, sweeps, reports and plots compute no numbers, so they are left out.
# Few large parts, because each pytest process takes seconds to start.
FOLDERS: tuple[Part, ...] = (
    _folders("groups tasks", "blas", 40),
    _folders("models flow runs", "xla", 80),
    _folders("features theories", "xla blas", 140),
    _folders("rfm", "blas openmp threads", 40),
    _folders("probes", "aten", 30),
    Part(
        "canonical",
        frozenset({"xla", "blas"}),
        ("tests/test_canonical.py", "src/firstlight/_canonical.py", "tests/claims/test_portable.py"),
        15,
    ),
    # Pages print numbers, and a last digit that differs fails the test.
    Part("guides", frozenset({"xla", "blas", "aten"}), ("tests/test_guides.py", "tests/test_readme.py"), 40),
)
# Papers that are checked together, the libraries that their claims use, and seconds.
CLAIMS: tuple[tuple[str, str, float], ...] = (
    ("agf li2", "xla blas", 120),
    ("cogo manifold cross beyond", "xla blas", 120),
    ("fact", "blas openmp threads", 40),
)


def all_parts() -> tuple[Part, ...]:
    """Return every part: the folders, then the claims; claims that need torch are a separate part."""
    return FOLDERS + claim_parts()


@cache
def claim_parts() -> tuple[Part, ...]:
    """Return the quick claims, grouped by papers and by whether they need torch."""
    from firstlight import claims

    quick = [claim for claim in claims.all_claims() if "quick" in claim.scales]
    with_torch = [claim.id for claim in quick if "torch" in claim.needs]
    parts = [_claims("torch", "aten openmp", with_torch, 60)]
    for papers, uses, seconds in CLAIMS:
        names = [c.id for c in quick if c.paper in papers.split() and c.id not in with_torch]
        parts.append(_claims(papers, uses, names, seconds))
    return tuple(parts)


def _claims(label: str, uses: str, names: list[str], seconds: float) -> Part:
    targets = tuple(f"{VERDICT}[{name}]" for name in names)
    return Part(f"claims {label}", frozenset(uses.split()), targets, seconds, claims=True)


def digest(part: Part, root: Path = ROOT) -> str:
    """Hash everything that affects a part's results: the package, its tests, the versions and the processor."""
    helpers = [f"tests/{name}.py" for name in ("conftest", "tolerances", "canonical_samples")]
    shared = ["pyproject.toml", *helpers, "src", *(["docs", "README.md"] if part.name == "guides" else [])]
    own = [target.partition("::")[0] for target in part.targets]
    hashed = hashlib.sha256(repr((part.targets, _versions(), platform.processor(), platform.machine())).encode())
    for top in dict.fromkeys([*shared, *own]):
        path = root / top
        for file in sorted(path.rglob("*.*")) if path.is_dir() else [path]:
            if file.suffix in (".py", ".md", ".toml") and file.exists():
                hashed.update(f"{file.relative_to(root)}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return hashed.hexdigest()[:20]


@cache
def _versions() -> tuple[str, ...]:
    packages = sorted(f"{d.metadata['Name']} {d.version}" for d in metadata.distributions())
    return (platform.python_version(), *packages)
