"""The command line in forks of one process, a folder of valid inputs, and what must hold however a command ends."""

from __future__ import annotations

import re
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import inputs
import pytest
from commands import Command, Ended, Zygote

# What only a fault of our own says.
FAULTS = (
    "Traceback",
    "panicked",
    "internal error",
    "Exception ignored",
    "Fatal Python error",
    "RuntimeWarning",
)

# A terminal obeys these; line feeds end lines.
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")

# How a command ends that was interrupted by a signal, besides by Ctrl-C.
SIGNALLED = (129, 143)


@dataclass(frozen=True)
class Said:
    """A command that has ended, and what it said."""

    ended: Ended
    stdout: str
    stderr: str

    @property
    def code(self) -> int:
        code: int = self.ended.code
        return code


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    started = Zygote()
    yield started
    started.close()


@pytest.fixture(scope="session")
def valid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a valid input of each kind."""
    folder = tmp_path_factory.mktemp("valid")
    inputs.write(folder)
    return folder


@pytest.fixture
def folder(valid: Path, tmp_path: Path) -> Path:
    """A copy of the folder of valid inputs, which a test may spoil."""
    copy = tmp_path / "work"
    shutil.copytree(valid, copy, symlinks=True)
    return copy


Call = Callable[..., Said]


@pytest.fixture
def call(zygote: Zygote, folder: Path, tmp_path: Path) -> Call:
    """Return a function that runs a command in the folder, and checks what holds for all."""

    def special() -> dict[Path, int]:
        return {
            path: stat.S_IFMT(mode)
            for path in tmp_path.rglob("*")
            if not (stat.S_ISREG(mode := path.lstat().st_mode) or stat.S_ISDIR(mode))
        }

    def run(
        *arguments: str,
        stdin: str | None = "empty",
        stdout: str | None = "stdout",
        stderr: str | None = "stderr",
        environment: Mapping[str, str | None] | None = None,
        signals: Sequence[tuple[int, str]] = (),
        leaves_partial: bool = False,
        **limits: Any,
    ) -> Said:
        streams = {}
        for name, given in (("stdin", stdin), ("stdout", stdout), ("stderr", stderr)):
            path = tmp_path / given if given not in (None, "|") else given
            if isinstance(path, Path) and (given == name or given == "empty"):
                path.write_text("")
            streams[name] = None if path is None else str(path)
        before = special()
        command = Command(
            arguments=arguments,
            folder=str(folder),
            environment=environment or {},
            signals=[(number, str(folder / file)) for number, file in signals],
            **streams,
            **limits,
        )
        ended = zygote.run(command)
        said = Said(
            ended,
            *(
                (tmp_path / name).read_text("utf-8", errors="replace") if given == name else ""
                for name, given in (("stdout", stdout), ("stderr", stderr))
            ),
        )
        hold(said, is_heard=stderr == "stderr")
        # Devices, pipes and links are as before.
        assert {path: special().get(path) for path in before} == before
        assert leaves_partial or not list(folder.rglob("*.partial"))
        return said

    return run


def hold(said: Said, *, is_heard: bool = True) -> None:
    """Check what holds however a command ends."""
    text = said.stdout + said.stderr
    assert not said.ended.is_late, "it hangs"
    assert not said.ended.orphans
    assert said.code >= 0, f"ended by signal {-said.code}: {text}"
    for fault in FAULTS:
        assert fault not in text, text
    assert not CONTROLS.search(said.stderr), text
    if said.code not in (0, *SIGNALLED) and is_heard:
        errors = [line for line in said.stderr.splitlines() if line.lower().startswith("error: ")]
        assert len(errors) == 1, text


def refused(said: Said, *words: str) -> None:
    """Check that a command was refused in a sentence with some words."""
    assert said.code == 2, (said.code, said.stdout, said.stderr)
    for word in words:
        assert word in said.stderr, said.stderr
