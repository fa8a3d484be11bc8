"""Linux kernels that run as processes in simulated time, for the transport ``linux``.

A kernel is a folder of the cache, named for its version and its digest: ``linux``, the configuration ``config``, the
program ``launch`` that starts it, the folder ``root`` with the agent that opens connections in it, and ``kernel.json``.
`dumbbell.kernel.build` makes one.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from dumbbell.files import matching, read_bytes

DESCRIPTION = "kernel.json"


@dataclass(frozen=True)
class Kernel:
    """A kernel of the cache.

    Parameters
    ----------
    version
        Its version, such as ``"6.12.117"``.
    digest
        Digest of its program, its configuration, and the programs of the guest.
    tree
        What it was built from.
    congestion
        The congestion controls that are built in.
    """

    version: str
    digest: str
    tree: str
    congestion: tuple[str, ...]

    @property
    def folder(self) -> str:
        """Name of its folder in the cache."""
        return f"{self.version}-{self.digest[:12]}"

    def to_json(self) -> str:
        """Return what ``kernel.json`` says of it."""
        return json.dumps(asdict(self), indent=1) + "\n"


def cache() -> Path:
    """Return the folder of kernels: ``DUMBBELL_KERNELS``, or ``dumbbell/kernels`` in the cache of the user."""
    stated = os.environ.get("DUMBBELL_KERNELS")
    if stated:
        return Path(stated)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "dumbbell" / "kernels"


def kernels(folder: Path | None = None) -> list[Kernel]:
    """Return the kernels of the cache, ordered by version.

    Parameters
    ----------
    folder
        The cache, if it is another one.

    Raises
    ------
    ResultsError
        The cache could not be read.
    """
    place = folder or cache()
    found = []
    for known in matching(place, "[0-9]*-*"):
        if not (known / DESCRIPTION).is_file():
            continue
        stated = json.loads(read_bytes(known / DESCRIPTION))
        found.append(Kernel(**{**stated, "congestion": tuple(stated["congestion"])}))
    return sorted(found, key=lambda kernel: (_numbers(kernel.version), kernel.digest))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("-")[0].split(".") if part.isdecimal())
