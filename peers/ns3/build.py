"""Building the program that runs a scenario in ns-3, once for each version of it and of the libraries."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
from functools import lru_cache
from pathlib import Path

from dumbbell.crossvalidation import PeerAbsent

TITLE = "ns-3"
PACKAGE = "libns3-dev"

SOURCE = Path(__file__).with_name("program.cc")
SOURCES = (SOURCE, Path(__file__).with_name("our_rules.h"))
LIBRARIES = ("ns3-point-to-point", "ns3-internet", "ns3-network", "ns3-core")

# Where a program is kept once it is built, below the user's cache folder.
CACHE = Path("dumbbell", "ns3")

_building = threading.Lock()


def version() -> str:
    """Return the version of the libraries, as ``"ns-3.37"``.

    Raises
    ------
    PeerAbsent
        There are no libraries to link with, or no compiler.
    """
    return f"ns-3.{_library().suffix.removeprefix('.')}"


def program() -> Path:
    """Return the program, building it if necessary.

    Raises
    ------
    PeerAbsent
        There are no libraries to link with, or no compiler.
    RuntimeError
        The compiler refuses the program.
    """
    library = _library()
    digest = hashlib.blake2b(b"".join(file.read_bytes() for file in SOURCES), digest_size=8)
    digest.update(f"{library.name} {library.stat().st_mtime_ns}".encode())
    base = os.environ.get("XDG_CACHE_HOME")
    place = (Path(base) if base else Path.home() / ".cache") / CACHE
    built = place / f"program-{digest.hexdigest()}"
    with _building:
        if not built.is_file():
            place.mkdir(parents=True, exist_ok=True)
            _compile(built)
    return built


def _compile(built: Path) -> None:
    """Compile next to the program's place and move it there: two processes may build at the same time."""
    with tempfile.TemporaryDirectory(dir=built.parent) as folder:
        fresh = Path(folder, "program")
        command = ["g++", "-std=c++17", "-O2", "-o", str(fresh), str(SOURCE)]
        command += [f"-l{name}" for name in LIBRARIES]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"the program for {TITLE} cannot be built: {done.stderr.strip()}")
        fresh.replace(built)


@lru_cache(maxsize=1)
def _library() -> Path:
    """Return the file of ns-3's core library, whose name ends with the version."""
    if shutil.which("g++") is None:
        raise PeerAbsent(TITLE, f"{PACKAGE} and g++", "no compiler g++")
    name = f"lib{LIBRARIES[0]}.so"
    command = ["g++", f"-print-file-name={name}"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    if found == name:
        raise PeerAbsent(TITLE, PACKAGE, f"no library {name}")
    return Path(found).resolve()
