"""The settings, their effect on this machine, and the reasons to skip them."""

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

# XLA's names, and the flag of /proc/cpuinfo that a processor needs for them.
X86_FLAGS = {"SSE4_2": "sse4_2", "AVX": "avx", "AVX2": "avx2", "AVX512": "avx512f"}
# The processor features that a kernel of OpenBLAS executes.
KERNEL_FLAGS = {
    "Haswell": ("avx2", "fma"),
    "Zen": ("avx2", "fma"),
    "SkylakeX": ("avx512f", "avx512vl"),
    "Sandybridge": ("avx",),
    "Prescott": (),  # SSE3, which every x86-64 processor since 2005 has
}
# Builds with few kernels accept several names and report the first name of the kernel in use.
ALIASES = {"Prescott": ("Katmai", "Coppermine", "Northwood", "Banias"), "Zen": ("Haswell",)}


@dataclass(frozen=True)
class Setting:
    """An environment for the tests.

    **Arguments:**

    - `name`: the name in the table.
    - `affects`: the libraries that compute differently under the setting; only parts that use such a library run.
    - `environment`: the environment variables to set.
    - `cores`: run on this many cores; 0 leaves the choice to the system.
    - `python`: the interpreter; by default the current interpreter.
    """

    name: str
    affects: frozenset[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    cores: int = 0
    python: str = sys.executable


@dataclass(frozen=True)
class Used:
    """The report of a process under a setting: `flags` of the processor, BLAS kernels, ATen's capability, cores."""

    machine: str
    flags: frozenset[str]
    kernels: tuple[str, ...] = ()
    aten: str = ""
    cores: int = 0
    openmp: tuple[int, ...] = ()
    python: str = ""
    complaint: str = ""


def _xla(isa: str) -> Setting:
    return Setting(f"XLA {isa}", frozenset({"xla"}), {"XLA_FLAGS": f"--xla_cpu_max_isa={isa}"})


def _openblas(kernel: str) -> Setting:
    return Setting(f"OpenBLAS {kernel}", frozenset({"blas"}), {"OPENBLAS_CORETYPE": kernel})


SETTINGS: tuple[Setting, ...] = (
    *map(_xla, X86_FLAGS),
    *map(_openblas, KERNEL_FLAGS),
    Setting("ATen default", frozenset({"aten"}), {"ATEN_CPU_CAPABILITY": "default"}),
    Setting("one core", frozenset({"xla", "aten", "threads"}), cores=1),
    Setting("OMP_NUM_THREADS=1", frozenset({"aten", "openmp"}), {"OMP_NUM_THREADS": "1"}),
)

# OpenBLAS prefers OPENBLAS_NUM_THREADS to OMP_NUM_THREADS, so OpenMP here means torch and scikit-learn.
_REPORT = """
import importlib.util, json, os, platform, sys
import numpy, scipy.linalg, sklearn.metrics.pairwise
aten = ""
if "aten" in sys.argv and importlib.util.find_spec("torch"):
    import torch
    aten = torch.backends.cpu.get_cpu_capability()
if "xla" in sys.argv:
    import jax
    jax.numpy.ones(3).sum().block_until_ready()
from threadpoolctl import threadpool_info
libraries = threadpool_info()
cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
print(json.dumps({
    "kernels": sorted({i["architecture"] for i in libraries if i["internal_api"] == "openblas"}),
    "openmp": sorted({i["num_threads"] for i in libraries if i["user_api"] == "openmp"}),
    "aten": aten, "cores": cores, "python": platform.python_version(),
}))
"""


def environment_of(setting: Setting, folder: Path) -> dict[str, str]:
    """Return the whole environment of a process under the setting.

    Settings that change what XLA compiles have their own cache of programs; the other settings share a cache.
    """
    variables = {variable for other in SETTINGS for variable in other.environment}
    inherited = {name: value for name, value in os.environ.items() if name not in variables}
    own = "XLA_FLAGS" in setting.environment or setting.cores or setting.python != sys.executable
    cache = folder / "xla" / (setting.name.replace(" ", "-") if own else "default")
    fixed = {"JAX_PLATFORMS": "cpu", "JAX_COMPILATION_CACHE_DIR": str(cache.resolve())}
    return {**inherited, **fixed, **setting.environment}


def pinned(setting: Setting) -> list[str]:
    """Return the words of a command that starts the setting's interpreter on its number of cores.

    A `preexec_fn` would fork this process, which JAX forbids once JAX runs.
    """
    if not setting.cores:
        return [setting.python]
    chosen = sorted(os.sched_getaffinity(0))[: setting.cores]
    bind = (
        f"import os, sys; os.sched_setaffinity(0, {chosen}); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    )
    return [setting.python, "-c", bind]


def processor_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """Return the processor's features from the kernel, `lscpu` or `sysctl`; empty if none of them reports any."""
    if cpuinfo.exists():
        text = cpuinfo.read_text(errors="replace")
    elif command := next((c for c in ("lscpu", "sysctl") if shutil.which(c)), None):
        arguments = [command] if command == "lscpu" else [command, "machdep.cpu"]
        text = subprocess.run(arguments, capture_output=True, text=True).stdout
    else:
        return frozenset()
    lines = [line.partition(":")[2] for line in text.splitlines() if "flags" in line.lower() or "features" in line]
    words = " ".join(lines).lower().replace(".", "_").replace("avx1_0", "avx").split()
    return frozenset(words)


def probe(setting: Setting, folder: Path) -> Used:
    """Start a process under the setting and return its report of the libraries in use."""
    machine, flags = platform.machine(), processor_flags()
    if setting.cores and not hasattr(os, "sched_setaffinity"):
        return Used(machine, flags, complaint="this system cannot bind a process to a core")
    done = subprocess.run(
        [*pinned(setting), "-c", _REPORT, *sorted(setting.affects)],
        env=environment_of(setting, folder),
        capture_output=True,
        text=True,
    )
    if "Unknown CPU ISA" in done.stderr:
        return Used(machine, flags, complaint="this version of XLA does not know the instruction set")
    if done.returncode != 0:
        return Used(machine, flags, complaint=(done.stderr.strip().splitlines() or ["no process starts"])[-1])
    report = json.loads(done.stdout.splitlines()[-1])
    return Used(
        machine,
        flags,
        tuple(report["kernels"]),
        report["aten"],
        report["cores"],
        tuple(report["openmp"]),
        report["python"],
    )


def unsupported(setting: Setting, machine: str, flags: frozenset[str]) -> str:
    """Return why the processor cannot execute the setting, or ''; checked before a process starts."""
    kernel, isa = setting.environment.get("OPENBLAS_CORETYPE"), setting.environment.get("XLA_FLAGS", "")
    needed = KERNEL_FLAGS[kernel] if kernel else (X86_FLAGS[isa.partition("=")[2]],) if isa else None
    if needed is None:
        return ""
    if machine.lower() not in ("x86_64", "amd64", "i686"):
        return f"the setting needs an x86 processor; this processor is {machine}"
    absent = [flag for flag in needed if flag not in flags]
    return f"the processor has no {' and no '.join(absent)}" if absent else ""


def refused(setting: Setting, used: Used) -> str:
    """Return why the libraries do not follow the setting, or ''."""
    if used.complaint:
        return used.complaint
    kernel = setting.environment.get("OPENBLAS_CORETYPE")
    if kernel and not used.kernels:
        return "NumPy and SciPy do not use OpenBLAS here"
    if kernel and not set(used.kernels) <= {kernel, *ALIASES.get(kernel, ())}:
        return f"OpenBLAS uses {', '.join(used.kernels)} instead"
    if "ATEN_CPU_CAPABILITY" in setting.environment and used.aten != "DEFAULT":
        return f"ATen uses {used.aten} instead" if used.aten else "torch is not installed"
    return ""


def really_used(setting: Setting, used: Used) -> str:
    """Return what the setting uses on this machine, for the table."""
    if "OPENBLAS_CORETYPE" in setting.environment:
        return f"kernel {', '.join(used.kernels)}"
    if isa := setting.environment.get("XLA_FLAGS", ""):
        best = [name for name, flag in X86_FLAGS.items() if flag in used.flags][-1]
        return f"{isa.partition('=')[2]} of {best}"
    if "ATEN_CPU_CAPABILITY" in setting.environment:
        return f"capability {used.aten}"
    if "OMP_NUM_THREADS" in setting.environment:
        return f"OpenMP on {', '.join(map(str, used.openmp)) or 'no'} thread"
    if setting.cores:
        return f"{used.cores} of {os.cpu_count()} cores"
    return f"Python {used.python}"
