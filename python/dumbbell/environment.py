"""The environment of results besides the engine: Python and the packages on which this one depends."""

from __future__ import annotations

import platform
import re
from importlib import metadata
from typing import Any

COMPUTING = ("numpy", "pandas", "pyarrow", "scipy")


def environment() -> dict[str, Any]:
    """Return the version of Python, the platform, and the versions of the packages that this one depends on."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: metadata.version(name) for name in _dependencies()},
    }


def computing() -> dict[str, str]:
    """Return the versions of the packages that compute."""
    return {name: metadata.version(name) for name in COMPUTING}


def environment_fact() -> tuple[str, str]:
    """Return a pair of name and value for the head of a report: Python and the packages that compute."""
    versions = ", ".join(f"{name} {version}" for name, version in computing().items())
    return "Python", f"{platform.python_version()}, {versions}"


def _dependencies() -> list[str]:
    """Return the names of the packages that this one depends on, without those of its extras."""
    try:
        stated = metadata.requires("dumbbell") or []
    except metadata.PackageNotFoundError:  # used from its sources
        return list(COMPUTING)
    return [re.split(r"[^\w.-]", one, maxsplit=1)[0] for one in stated if "extra ==" not in one]
