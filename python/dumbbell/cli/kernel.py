"""``dumbbell kernel``: Linux kernels that run as processes in simulated time."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.options import JsonList
from dumbbell.cli.refusals import guarded, note, say, say_json
from dumbbell.cli.tables import Column, print_table
from dumbbell.cli.testbed import UNAVAILABLE, fail
from dumbbell.durations import LINE_S
from dumbbell.errors import MachineError
from dumbbell.kernel import Kernel, cache, kernels
from dumbbell.kernel.build import Progress, build

commands = typer.Typer(
    help="Build the Linux kernels of the transport `linux`, which run as processes in simulated time.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)

COLUMNS = (
    Column("version", "version"),
    Column("digest", "digest"),
    Column("tree", "tree"),
    Column("congestion controls", "congestion"),
)

# Series of the kernel that is built by default: the one that the documentation measures.
DEFAULT_TREE = "6.12"


def _record(kernel: Kernel) -> dict[str, str]:
    return {
        "version": kernel.version,
        "digest": kernel.digest[:12],
        "tree": kernel.tree,
        "congestion": " ".join(kernel.congestion),
    }


@commands.command("list", short_help="List the kernels that are built.")
@guarded
def show(json_output: JsonList = False) -> None:
    """List the kernels that are built, each with its congestion controls."""
    found = kernels()
    if json_output:
        say_json([vars(kernel) for kernel in found], indent=2)
    elif found:
        print_table(COLUMNS, [_record(kernel) for kernel in found])
    else:
        note(f"there is no kernel in {cache()}; `dumbbell kernel build {DEFAULT_TREE}` makes one")


@commands.command("build", short_help="Build a kernel.")
@guarded
def make(
    tree: Annotated[
        str,
        typer.Argument(
            metavar="TREE",
            help="A series whose sources Debian has, such as 6.12 or 6.1, or the folder or archive of a kernel's sources.",
        ),
    ] = DEFAULT_TREE,
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep",
            metavar="DIR",
            help="Keep the built tree in this new folder, to compile modules with it.",
        ),
    ] = None,
) -> None:
    """Build a kernel; it takes about five minutes of processor time, and 2 GB of the disk meanwhile.

    The kernel is kept in DUMBBELL_KERNELS, by default in dumbbell/kernels of the user's cache. Modules are compiled with
    make -C DIR ARCH=um M=FOLDER modules, where DIR is that of --keep.
    """
    try:
        with _progress() as progress:
            kernel = build(tree, keep=keep, told=note, progress=progress)
    except MachineError as error:
        fail(error, UNAVAILABLE)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted: the build was stopped; nothing was kept") from None
    say(f"Linux {kernel.version} with digest {kernel.digest[:12]} is in {cache() / kernel.folder}")


@contextmanager
def _progress() -> Iterator[Progress]:
    """Show how many files are compiled: on a terminal always, elsewhere in a line every half minute."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(file=sys.stderr, highlight=False)
    if console.is_terminal:
        with Bar(console=console, transient=True) as bar:
            task = bar.add_task("compiling", total=None)
            yield lambda done, total: bar.update(task, total=total, completed=done)
        return
    last = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_S:
            last = time.monotonic()
            note(f"compiling: {done} of about {total} files")

    yield tell
