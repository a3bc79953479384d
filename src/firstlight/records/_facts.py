"""Software versions and machine of a record; stored with the record, but not part of its identity."""

import functools
import os
import platform
from importlib import metadata

_PACKAGES = (
    "firstlight",
    "jax",
    "jaxlib",
    "equinox",
    "optax",
    "diffrax",
    "numpy",
    "scipy",
    "scikit-learn",
    "pandas",
    "pydantic",
    "safetensors",
    "torch",
)


def software_versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that affect numbers, without importing them.

    >>> {"python", "firstlight", "numpy"} <= software_versions().keys()
    True
    """
    return dict(_versions())


def machine_facts() -> dict[str, str | int]:
    """Return operating system, processor, cores and memory; no host or user name, because reports are shared.

    >>> sorted(machine_facts())
    ['cores', 'memory_bytes', 'processor', 'system']
    """
    return dict(_machine())


@functools.cache
def _versions() -> tuple[tuple[str, str], ...]:
    versions = [("python", platform.python_version())]
    for package in _PACKAGES:
        try:
            versions.append((package, metadata.version(package)))
        except metadata.PackageNotFoundError:
            continue
    return tuple(versions)


@functools.cache
def _machine() -> tuple[tuple[str, str | int], ...]:
    return (
        ("system", f"{platform.system()} {platform.release()}"),
        ("processor", _processor()),
        ("cores", _cores()),
        ("memory_bytes", _memory()),
    )


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux reports which cores a process may use
        return os.cpu_count() or 1


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
