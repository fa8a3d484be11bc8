"""``dumbbell shell``: a program behind an emulated link. This process becomes the binary ``dumbbell-shell``."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import typer

from dumbbell.binary import Binary
from dumbbell.cli.refusals import note
from dumbbell.errors import MachineError

UNAVAILABLE = 3  # the machine lacks something

BINARY = Binary(name="dumbbell-shell", what="the shell", variable="DUMBBELL_SHELL")


def shell(context: typer.Context) -> NoReturn:
    """Run a program, or a shell, behind an emulated link: dumbbell shell [OPTIONS] [-- COMMAND].

    Needs Linux and root. dumbbell shell --help lists the options of the link.
    """
    try:
        binary = BINARY.find("kernel", told=note)
    except MachineError as error:
        note(f"error: {error}")
        raise typer.Exit(UNAVAILABLE) from None
    sys.stdout.flush()
    os.execv(binary, [BINARY.name, *context.args])
