"""The build of a kernel that runs as a process in simulated time.

The sources are a Debian package, a folder or an archive; ``tree.toml`` lists the options and the few changes. A build
runs in a folder of its own and appears in the cache when it is complete. The same sources and the same compiler give the
same digest.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dumbbell.errors import MachineError, refusal
from dumbbell.files import make_folder, move, read_bytes, read_text, write_text
from dumbbell.kernel import DESCRIPTION, Kernel, cache

HERE = Path(__file__).parent

# Programs that a build calls, and the Debian packages that have them.
TOOLS: Mapping[str, str] = {
    "cc": "gcc",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "ld": "binutils",
    "strip": "binutils",
    "tar": "tar",
    "xz": "xz-utils",
}

# A build is the same on another day, by another user and on another machine.
REPRODUCIBLE = {
    "KBUILD_BUILD_TIMESTAMP": "1970-01-01",
    "KBUILD_BUILD_USER": "dumbbell",
    "KBUILD_BUILD_HOST": "dumbbell",
    "KBUILD_BUILD_VERSION": "1",
    "LC_ALL": "C",
}

# Files that a build compiles, about.
COMPILED = 1100
COMPILED_LINE = re.compile(r"\s+(HOST)?(CC|AS|AR|LD)\s")

# A series such as 6.12, whose sources a Debian package has.
SERIES = re.compile(r"[0-9]+\.[0-9]+")

# Where Debian has series that the release of this machine lacks, and the keys with which it signs them.
ARCHIVE = "http://deb.debian.org/debian"
SUITES = ("stable", "stable-backports", "testing", "unstable")
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

Progress = Callable[[int, int], None]


def build(
    tree: str,
    *,
    folder: Path | None = None,
    keep: Path | None = None,
    told: Callable[[str], None] = lambda _text: None,
    progress: Progress = lambda _done, _all: None,
) -> Kernel:
    """Build a kernel into the cache, and return it. It takes about five minutes of processor time.

    Parameters
    ----------
    tree
        A series such as ``"6.12"``, whose sources are those of Debian's package ``linux-source-6.12``, of the release of
        this machine or of a later one; or the folder or archive of a kernel's sources, which stay as they are.
    folder
        The cache, if it is another one.
    keep
        A new folder for the built tree, with which modules are compiled.
    told
        Called with a sentence about each step.
    progress
        Called with the number of compiled files and about that of all.

    Raises
    ------
    MachineError
        The machine lacks something, or the build failed.
    ScenarioError
        There are no such sources.
    ResultsError
        The cache could not be written.
    """
    place = folder or cache()
    if keep is not None and keep.exists():
        raise refusal("--keep", str(keep), "a folder that does not exist yet", problem="exists")
    _check_machine()
    make_folder(place)
    with tempfile.TemporaryDirectory(prefix=".build-", dir=place) as made:
        work = Path(made)
        sources, made_of = work / "tree", work / "kernel"
        for path in (sources, made_of, made_of / "root"):
            make_folder(path)
        _unpack(tree, sources, work, told)
        recipe = tomllib.loads(read_text(HERE / "tree.toml"))
        _edit(sources, recipe["edits"])
        told("configuring")
        congestion = _configure(sources, recipe)
        told("compiling")
        _compile(sources, progress, wants_modules=keep is not None)
        kernel = _collect(tree, sources, made_of, congestion)
        target = place / kernel.folder
        if not target.exists():
            move(made_of, target)
        if keep is not None:
            make_folder(keep.parent)
            _run("mv", str(sources), str(keep))
    return kernel


def _check_machine() -> None:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise MachineError("a kernel runs as a process on Linux on x86-64 only")
    missing = {tool: package for tool, package in TOOLS.items() if shutil.which(tool) is None}
    if missing:
        packages = " ".join(sorted(set(missing.values())))
        raise MachineError(
            f"building a kernel needs {', '.join(missing)}, which this machine lacks; in Debian: apt install {packages}"
        )


def _unpack(tree: str, sources: Path, work: Path, told: Callable[[str], None]) -> None:
    """Put the sources of a kernel into a folder."""
    given = Path(tree)
    if (given / "arch" / "um" / "Kconfig").is_file():
        told(f"copying {given}")
        _run("cp", "-a", "--reflink=auto", f"{given}/.", str(sources))
        _run("make", "-s", "-C", str(sources), "ARCH=um", "mrproper")
    elif given.is_file():
        told(f"unpacking {given}")
        _extract(given, sources)
    elif SERIES.fullmatch(tree):
        archive = _package(tree, work, told)
        told(f"unpacking {archive.name}")
        _extract(archive, sources)
    else:
        accepted = "a series such as 6.12, or the folder or archive of a kernel's sources"
        raise refusal("TREE", tree, accepted, problem="has no sources of a kernel")
    if not (sources / "arch" / "um" / "Kconfig").is_file():
        accepted = "the folder or archive of a kernel's sources, with arch/um"
        raise refusal("TREE", tree, accepted, problem="has no sources of a kernel")


def _extract(archive: Path, sources: Path) -> None:
    _run("tar", "--extract", "--file", str(archive), "--directory", str(sources), "--strip-components=1")


def _package(series: str, work: Path, told: Callable[[str], None]) -> Path:
    """Return the archive in Debian's package of sources: the installed one, or one fetched for this build."""
    name = f"linux-source-{series}"
    installed = Path(f"/usr/src/{name}.tar.xz")
    if installed.is_file():
        return installed
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise MachineError(
            f"{installed} is missing, and this is no Debian that could fetch it; give the folder of a kernel's sources"
        )
    told(f"fetching {name}")
    try:
        _run("apt-get", "-q", "download", name, folder=work)
    except MachineError:
        _fetch_from_archive(name, work, told)
    package = next(work.glob("*.deb"))
    _run("dpkg-deb", "--extract", str(package), str(work / "package"))
    return work / "package" / "usr" / "src" / f"{name}.tar.xz"


def _fetch_from_archive(name: str, work: Path, told: Callable[[str], None]) -> None:
    """Fetch a package that the release of this machine lacks, as it is signed by Debian; nothing is installed."""
    told(f"fetching {name} from Debian {', '.join(SUITES)}")
    if not KEYRING.is_file():
        raise MachineError(f"fetching {name} needs {KEYRING}; in Debian: apt install {KEYRING.stem}")
    place = work / "apt"
    for folder in (place / "lists" / "partial", place / "archives" / "partial"):
        make_folder(folder)
    sources = place / "sources.list"
    lines = [f"deb [signed-by={KEYRING}] {ARCHIVE} {suite} main\n" for suite in SUITES]
    write_text(sources, "".join(lines))
    settings = {
        "Dir::Etc::SourceList": sources,
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State": place,
        "Dir::State::Status": "/dev/null",
        "Dir::Cache": place,
        "Acquire::Languages": "none",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        "APT::Sandbox::User": "root",
    }
    options = [f"--option={name}={value}" for name, value in settings.items()]
    _run("apt-get", "-q", "update", *options)
    try:
        _run("apt-get", "-q", "download", name, *options, folder=work)
    except MachineError as error:
        raise MachineError(
            f"{error}; for another series, give the folder or archive of a kernel's sources"
        ) from error


def _edit(sources: Path, edits: Sequence[Mapping[str, Any]]) -> None:
    for edit in edits:
        path = sources / edit["file"]
        text = read_text(path) if path.is_file() else ""
        if edit["before"] in text:
            write_text(path, text.replace(edit["before"], edit["after"], 1))
        elif edit.get("later", True):
            raise MachineError(
                f"{edit['file']} of this tree is not what is to be changed there: {edit['why']}"
            )


def _configure(sources: Path, recipe: Mapping[str, Any]) -> tuple[str, ...]:
    """Configure a tree, and return the congestion controls that it has."""
    on = [*recipe["options"], *recipe["congestion"].values()]
    values = {**dict.fromkeys(on, "y"), **recipe["values"]}
    write_text(sources / "wanted", "".join(f"CONFIG_{option}={value}\n" for option, value in values.items()))
    _run("make", "-s", "ARCH=um", "KCONFIG_ALLCONFIG=wanted", "allnoconfig", folder=sources)
    lines = read_text(sources / ".config").splitlines()
    missing = [option for option in recipe["options"] if f"CONFIG_{option}=y" not in lines]
    if missing:
        raise MachineError(f"this tree lacks the options {', '.join(missing)}")
    known = [name for name, option in recipe["congestion"].items() if f"CONFIG_{option}=y" in lines]
    return ("reno", *known)


def _compile(sources: Path, progress: Progress, *, wants_modules: bool) -> None:
    targets = ["linux", "modules"] if wants_modules else ["linux"]
    command = ["make", "ARCH=um", f"-j{len(os.sched_getaffinity(0))}", *targets]
    environment = {**os.environ, **REPRODUCIBLE}
    said: list[str] = []
    done = 0
    with subprocess.Popen(
        command,
        cwd=sources,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as make:
        assert make.stdout is not None
        try:
            for line in make.stdout:
                if COMPILED_LINE.match(line):
                    done += 1
                    progress(done, max(COMPILED, done))
                else:
                    said.append(line)
        except BaseException:
            make.terminate()
            raise
    if make.returncode != 0:
        raise _failure(command, "".join(said))


def _collect(tree: str, sources: Path, folder: Path, congestion: tuple[str, ...]) -> Kernel:
    """Put everything that a guest needs into a folder, and return its description."""
    _run("strip", "-o", str(folder / "linux"), str(sources / "linux"))
    write_text(folder / "config", read_text(sources / ".config"))
    for name, program in (("agent.c", "root/init"), ("launch.c", "launch")):
        flags = ("-O2", "-static", "-s", "-Wl,--build-id=none")
        _run("cc", *flags, "-o", str(folder / program), name, folder=HERE)
    for mount_point in ("proc", "mnt", "dev"):
        make_folder(folder / "root" / mount_point)
    digest = hashlib.sha256()
    for part in ("linux", "config", "launch", "root/init"):
        digest.update(hashlib.sha256(read_bytes(folder / part)).digest())
    version = _run("make", "-s", "ARCH=um", "kernelversion", folder=sources).strip()
    kernel = Kernel(version, digest.hexdigest(), tree, congestion)
    write_text(folder / DESCRIPTION, kernel.to_json())
    return kernel


def _run(*command: str, folder: Path | None = None) -> str:
    """Run a program, and return what it prints."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **REPRODUCIBLE},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        raise _failure(command, done.stderr or done.stdout)
    return done.stdout


def _failure(command: Sequence[str], said: str) -> MachineError:
    """Return the error that a program failed, with the first line that looks like its reason."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    reasons = [line for line in lines if re.search(r"error|cannot|\bE:|No such|not found", line)]
    reason = next(iter(reasons or lines), "it does not say why")
    return MachineError(f"`{' '.join(command[:4])}` failed: {reason}")
