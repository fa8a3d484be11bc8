"""The command line: ``dumbbell init``, ``run``, ``why``, ``campaign``, ``list``, ``shell``, ``testbed``, and others.

Exit codes: 0, success; 2, the input was rejected with a one-line message, or the command was interrupted from the
keyboard; 143 and 129, it was interrupted by SIGTERM or SIGHUP; 1, an error of the package itself. ``cross-validate`` and
``bench peers`` also use 3: the other simulator is not installed; ``testbed``: the machine lacks something, such as root;
and ``shell``: the machine cannot emulate a link. Otherwise, ``shell`` has the exit code of its program.
``cross-validate --strict`` exits with 1 if a criterion does not hold, ``evaluate --strict`` if an item fails or is worse
than the baselines, and ``testbed`` if a run failed. User input never causes a traceback.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.commands import Commands
from dumbbell.cli.refusals import UNFINISHED, end_outputs, note, open_outputs
from dumbbell.cli.signals import exit_code, interrupt_by_signals

__all__ = ["app", "main"]

# Exit code of Typer for an interruption before the command begins.
INTERRUPTED_EARLY = 130

app = typer.Typer(
    cls=Commands,
    name="dumbbell",
    help="A laboratory for TCP congestion control. Begin with `dumbbell init` and `dumbbell run scenario.toml --plot "
    "picture.png`; `dumbbell list` says what a scenario can name.",
    epilog="Files and folders to be written: missing folders are made, files are replaced whole, symbolic links are "
    "followed, pipes and devices are written to.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from dumbbell.cli import catalogue

        catalogue.show_version()
        raise typer.Exit


@app.callback()
def dumbbell_group(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Take the options of the command itself."""


def _leave_working_folder() -> None:
    """Take the working folder off the path, where libraries would find packages that they try to import.

    `python -m dumbbell` begins the path with it.
    """
    first = Path(sys.path[0]) if sys.path else None
    # The folder may have been removed, but "." is always there.
    if not sys.flags.safe_path and first is not None and first.exists() and first.samefile("."):
        del sys.path[0]


def main() -> None:
    """Run the command line; the entry point of the ``dumbbell`` script."""
    _leave_working_folder()
    open_outputs()
    outputs = sys.stdout, sys.stderr
    try:
        interrupt_by_signals()
        # The name by which completions are asked for, also with `python -m dumbbell`.
        app(prog_name="dumbbell")
    except OSError as error:
        # The help does not fit on the disk.
        if not end_outputs(0):
            note(f"error: {error.strerror}")
        sys.exit(UNFINISHED)
    except MemoryError:
        note("error: not enough memory to begin")
        code = UNFINISHED
    except KeyboardInterrupt:
        code = INTERRUPTED_EARLY
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
        if isinstance(ended.__context__, BrokenPipeError):
            # Nobody reads the help to its end. Typer has wrapped the outputs, and takes it for an error.
            sys.stdout, sys.stderr = outputs
            code = 0
    if code == INTERRUPTED_EARLY:
        note("interrupted")
        code = exit_code()
    sys.exit(end_outputs(code))
