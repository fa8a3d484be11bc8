"""Compiles the example in C, for tests of libraries; a test whose compiler is missing is skipped."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dumbbell import library

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "c" / "aimd.c"

# As in the example and in docs/algorithms-in-c.md.
NATIVE = ["-O2", "-ffp-contract=off", "-shared", "-fPIC"]
WASM = [
    "--target=wasm32",
    "-O2",
    "-ffp-contract=off",
    "-ffreestanding",
    "-nostdlib",
    "-Wl,--no-entry,--export=dumbbell_library,--export-table,-z,stack-size=16384",
]


def _first(names: tuple[str, ...]) -> str | None:
    return next((found for name in names if (found := shutil.which(name))), None)


def native(folder: Path, source: str | None = None, name: str = "aimd.so") -> Path:
    """Return a shared library made of the example, or of another source."""
    compiler = _first(("cc", "gcc", "clang"))
    if compiler is None:
        pytest.skip("SKIPPED: libraries in C need the compiler cc")
    return _made([compiler, *NATIVE], folder, source, name)


def wasm(folder: Path, source: str | None = None, name: str = "aimd.wasm") -> Path:
    """Return a WebAssembly module made of the example, or of another source."""
    compiler = _first(("clang", "clang-16"))
    if compiler is None or _first(("wasm-ld", "wasm-ld-16")) is None:
        pytest.skip("SKIPPED: WebAssembly modules need clang and lld (Debian: clang-16 lld-16)")
    return _made([compiler, *WASM], folder, source, name)


def _made(command: list[str], folder: Path, source: str | None, name: str) -> Path:
    made, file = folder / name, EXAMPLE
    if source is not None:
        file = folder / f"{name}.c"
        file.write_text(source, "utf-8")
    subprocess.run([*command, "-I", library.include(), file, "-o", made], check=True, timeout=100)
    return made
