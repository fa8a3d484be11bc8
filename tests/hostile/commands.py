"""Runs the command line in forks of a process that has imported it: hundreds of commands take a second of CPU each otherwise.

A fork has its own session without a terminal, and its own standard streams, limits and working directory. Whatever is
left of its session when it has ended is an orphan.
"""

from __future__ import annotations

import os
import pickle
import resource
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# One thread each: a fork has the thread that forks, and no other.
SINGLE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MPLBACKEND": "agg"}

# Programs that a checkout would build first.
UNBUILT = {"DUMBBELL_SHELL": "/nowhere", "DUMBBELL_TESTBED": "/nowhere"}

IMPORTED = (
    "dumbbell.campaign", "dumbbell.cli.bench", "dumbbell.cli.bundle", "dumbbell.cli.campaign", "dumbbell.cli.catalogue",
    "dumbbell.cli.compare",
    "dumbbell.cli.cross_validate", "dumbbell.cli.evaluate", "dumbbell.cli.inspect", "dumbbell.cli.new", "dumbbell.cli.reproduce",
    "dumbbell.cli.search", "dumbbell.cli.simulate", "dumbbell.cli.start", "dumbbell.cli.testbed", "dumbbell.cli.trace",
    "dumbbell.cli.why", "matplotlib.backends.backend_agg", "optuna.storages.journal", "optuna.samplers",
    "pyarrow.parquet", "pyarrow.csv", "cloudpickle",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command line and its surroundings.

    Parameters
    ----------
    arguments
        What follows ``dumbbell``.
    folder
        The working directory.
    stdin, stdout, stderr
        A file, or ``None`` for a closed stream, or ``"|"`` for a pipe that nobody reads.
    environment
        Changes of the environment.
    memory
        Bytes of address space beyond those of a process that has only started.
    signals
        Signals and the files that exist when they are sent.
    timeout_s
        When the command counts as hanging, in seconds in which it has a core or waits for something else.
    """

    arguments: Sequence[str]
    folder: str
    stdin: str | None
    stdout: str | None
    stderr: str | None
    environment: Mapping[str, str | None] = field(default_factory=dict)
    memory: int | None = None
    signals: Sequence[tuple[int, str]] = ()
    timeout_s: float = 20.0


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a command ended.

    Parameters
    ----------
    code
        Exit code; that of the signal, negative, if one has ended it.
    is_late
        Whether it had to be killed.
    orphans
        The command lines of the processes that it left behind.
    """

    code: int
    is_late: bool
    orphans: Sequence[str]


class Zygote:
    """The process that has imported the command line."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", "import commands; commands.serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **SINGLE, **UNBUILT, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    def run(self, command: Command) -> Ended:
        """Run a command to its end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        pickle.dump(command, self._process.stdin)
        self._process.stdin.flush()
        ended: Ended = pickle.load(self._process.stdout)
        return ended

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=20)


def serve() -> None:
    """Run the commands that arrive on standard input, until it ends."""
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    for name in IMPORTED:
        __import__(name)
    while True:
        try:
            command = pickle.load(asked)
        except EOFError:
            return
        pickle.dump(_run(command), answers)
        answers.flush()


def _run(command: Command) -> Ended:
    # The reading end of a pipe that nobody reads is closed in the child alone: here, it would be closed too early.
    child = os.fork()
    if child == 0:
        _become(command)
    begin, waiting, is_late = time.monotonic(), list(command.signals), False
    starved_s: dict[str, float] = {}
    watched = os.pidfd_open(child)
    while not select.select([watched], [], [], 0.01 if waiting else 1.0)[0]:
        if waiting and Path(waiting[0][1]).exists() and _catches(child, waiting[0][0]):
            os.kill(child, waiting.pop(0)[0])
        # A busy machine is no fault of the command.
        starved_s |= _starved_s(child)
        if time.monotonic() - begin - max(starved_s.values(), default=0.0) > command.timeout_s:
            is_late = True
            os.kill(child, signal.SIGKILL)
    os.close(watched)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return Ended(code=code, is_late=is_late, orphans=_orphans(child))


def _starved_s(process: int) -> dict[str, float]:
    """Return for how long each thread of a process has waited for a core, s."""
    found = {}
    for thread in Path(f"/proc/{process}/task").glob("*"):
        try:
            found[thread.name] = int(thread.joinpath("schedstat").read_text().split()[1]) / 1e9
        except OSError:
            continue
    return found


def _catches(process: int, number: int) -> bool:
    """Return whether a process has a handler of a signal."""
    status = Path(f"/proc/{process}/status").read_text()
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (number - 1) & 1)


def _orphans(session: int) -> list[str]:
    """Return the command lines of the processes of a session, after some time to end, and end them."""
    deadline = time.monotonic() + 1.0
    while (left := _members(session)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for process in left:
        os.kill(process, signal.SIGKILL)
    return list(left.values())


def _members(session: int) -> dict[int, str]:
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                state, _, _, of = folder.joinpath("stat").read_text().rpartition(")")[2].split()[:4]
                if int(of) == session and state != "Z":
                    found[int(folder.name)] = folder.joinpath("cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
    return found


def _become(command: Command) -> None:
    """Be the command, and end as its interpreter would."""
    code = 70
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # The tests may run where they are ignored, as under nohup.
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        os.chdir(command.folder)
        for name, value in command.environment.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)
        sys.stdin = _opened(0, command.stdin, os.O_RDONLY)
        sys.stdout = _opened(1, command.stdout, os.O_WRONLY)
        sys.stderr = _opened(2, command.stderr, os.O_WRONLY)
        sys.argv = ["dumbbell", *command.arguments]
        if command.memory is not None:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            limit = pages * resource.getpagesize() + command.memory
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        from dumbbell.cli import main

        code = _ended(main)
    finally:
        os._exit(code)


def _opened(number: int, path: str | None, mode: int) -> Any:
    if path is None:
        os.close(number)
        return None
    if path == "|":
        reading, opened = os.pipe()
        os.close(reading)
    else:
        opened = os.open(path, mode)
    os.dup2(opened, number)
    if opened != number:
        os.close(opened)
    # Messages are written line by line.
    buffering = 1 if number == 2 else -1
    return open(number, "r" if mode == os.O_RDONLY else "w", buffering, encoding="utf-8", closefd=False)


def _ended(main: Any) -> int:
    """Return the exit code that the interpreter would have."""
    code = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        code = 1
        if sys.stderr is not None:
            traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                getattr(stream, "buffer", stream).flush()
        except OSError:
            # The exit code of an interpreter that cannot write at its end.
            code = 120
    return code
