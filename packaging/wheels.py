"""Build the wheels that users install, with everything in them that is used without a checkout.

Run by ``make wheels``; ``docs/releases.md`` says what a wheel has on each platform. One wheel serves every Python from 3.11 on
(the stable ABI). The wheels of Linux are linked against the oldest C library that their policy allows, by the linker of Zig.
Their programs are linked statically, so that they run everywhere. The wheels of macOS and Windows are built there, as local
ones: to link them takes the libraries of these systems (.github/workflows/wheels.yml).
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "python" / "dumbbell" / "programs"
"""Where the package looks for the programs that it was installed with."""
STUB = ROOT / "python" / "dumbbell" / "scenario" / "builders.pyi"
"""What type checkers know of the parts of scenarios; made from the schema by an engine."""
NAMES = ("dumbbell-shell", "dumbbell-testbed")
CRATE = "dumbbell-testbed"


@dataclass(frozen=True, kw_only=True)
class Target:
    """A platform that a wheel is built for.

    Parameters
    ----------
    triple
        The target of the Rust compiler.
    policy
        The oldest Linux that the wheel runs on, as auditwheel names it.
    """

    triple: str
    policy: str

    def has_programs(self) -> bool:
        """Return whether the programs of `shell` and `testbed` can be built here for this platform."""
        return self.triple == f"{platform.machine()}-unknown-linux-gnu" and sys.platform == "linux"


TARGETS = {
    "linux-x86_64": Target(triple="x86_64-unknown-linux-gnu", policy="manylinux2014"),
    "linux-aarch64": Target(triple="aarch64-unknown-linux-gnu", policy="manylinux2014"),
}
LOCAL = "local"
"""The platform of this machine, for use on it alone: nothing is linked for older systems, and builds are shared with tests."""


def run(command: Sequence[str | Path], more: Mapping[str, str] | None = None) -> None:
    """Run a command in the checkout, with further environment variables; exit with its code if it fails."""
    print("$", *command, flush=True)
    # maturin asks the first python3 of the path for Zig.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    variables = {**os.environ, "PATH": path, "PYO3_PYTHON": sys.executable, **(more or {})}
    done = subprocess.run(list(map(str, command)), cwd=ROOT, env=variables, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def missing_of_twins() -> str:
    """Return what the eBPF programs of the testbed need and this machine lacks; empty if nothing."""
    for program in (os.environ.get("CLANG", "clang-16"), "pkg-config"):
        if shutil.which(program) is None:
            return program
    for library in ("libelf", "zlib"):
        if subprocess.run(["pkg-config", "--exists", library], check=False).returncode:
            return f"the development files of {library}"
    return ""


def build_programs(profile: str, triple: str) -> Path:
    """Build the programs of `shell` and `testbed`, and return their folder: linked statically for a target, else for here."""
    missing = missing_of_twins()
    if missing:
        print(
            f"SKIPPED: the testbed is built without its eBPF programs: {missing} is missing", file=sys.stderr
        )
    feature = "kernel" if missing else "static" if triple else "twins"
    more = {"RUSTFLAGS": "-C target-feature=+crt-static"} if triple else {}
    if feature == "static":
        more["LIBBPF_SYS_LIBRARY_PATH"] = _archives()
    run(
        [
            *(
                "cargo",
                "build",
                "--locked",
                "--quiet",
                "--profile",
                profile,
                "--features",
                f"{CRATE}/{feature}",
            ),
            *(["--package", CRATE, "--target", triple] if triple else ["--workspace"]),
            *(part for name in NAMES for part in ("--bin", name)),
        ],
        more,
    )
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / triple / {"dev": "debug"}.get(profile, profile)


def _archives() -> str:
    """Return the folder of the archives of libelf and zlib."""
    found = subprocess.run(
        ["pkg-config", "--variable=libdir", "libelf"], check=True, capture_output=True, text=True
    )
    return found.stdout.strip()


@contextmanager
def programs(folder: Path | None) -> Iterator[None]:
    """Put the programs of a folder into the package while a wheel is built; none without a folder."""
    shutil.rmtree(PROGRAMS, ignore_errors=True)
    if folder is not None:
        PROGRAMS.mkdir()
        for name in NAMES:
            shutil.copy2(folder / name, PROGRAMS / name)
            subprocess.run(["strip", PROGRAMS / name], check=False)
    try:
        yield
    finally:
        shutil.rmtree(PROGRAMS, ignore_errors=True)


def build(name: str, profile: str, output: Path) -> None:
    """Build the wheel of a platform of `TARGETS`, or the local one."""
    maturin: list[str | Path] = [
        Path(sys.executable).parent / "maturin",
        "build",
        "--locked",
        "--quiet",
        "--out",
        output,
    ]
    if name == LOCAL:
        folder = build_programs(profile, "") if sys.platform == "linux" else None
        with programs(folder):
            run([*maturin, "--profile", profile, *(["--compatibility", "linux"] if folder else [])])
        return
    target = TARGETS[name]
    run(["rustup", "target", "add", target.triple])
    folder = build_programs("release", target.triple) if target.has_programs() else None
    if folder is None:
        print(
            f"SKIPPED: the wheel of {name} is built without the programs of shell and testbed",
            file=sys.stderr,
        )
    with programs(folder):
        run(
            [
                *(*maturin, "--profile", profile, "--zig"),
                *("--target", target.triple, "--compatibility", target.policy),
            ]
        )


def main() -> None:
    """Build the wheels that the arguments name."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = [*TARGETS, LOCAL, "all"]
    here = f"{sys.platform}-{platform.machine()}"
    here = here if here in TARGETS else LOCAL
    parser.add_argument(
        "platforms",
        nargs="*",
        default=[here],
        metavar="PLATFORM",
        help=f"{', '.join(TARGETS)}; all of them (all); or this machine alone (local); default: {here}",
    )
    parser.add_argument("--profile", default="fast", help="profile of Cargo for the engine; default: fast")
    parser.add_argument(
        "--output", type=Path, default=ROOT / "results" / "wheels", help="folder for the wheels"
    )
    stated = parser.parse_args()
    for name in stated.platforms:
        if name not in known:
            parser.error(f"PLATFORM is {name}; accepted are {', '.join(known)}")
    if not STUB.is_file():
        parser.error(
            f"{STUB} is missing; `make wheels` makes it, or an engine: python -m dumbbell.scenario.stub"
        )
    names = list(TARGETS) if "all" in stated.platforms else stated.platforms
    for name in names:
        build(name, stated.profile, stated.output)
    for wheel in sorted(stated.output.glob("*.whl")):
        print(f"{wheel}  {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
