"""``dumbbell shell``: a program behind an emulated link. This process becomes the binary ``dumbbell-shell``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import typer

from dumbbell.binary import Binary
from dumbbell.cli.refusals import note
from dumbbell.errors import MachineError

UNAVAILABLE = 3  # the machine lacks something

BINARY = Binary(name="dumbbell-shell", what="the shell", variable="DUMBBELL_SHELL")


def shell(arguments: Sequence[str]) -> NoReturn:
    """Become the binary, with these arguments."""
    try:
        binary = BINARY.find("kernel", told=note)
    except MachineError as error:
        note(f"error: {error}")
        raise typer.Exit(UNAVAILABLE) from None
    sys.stdout.flush()
    os.execv(binary, [BINARY.name, *arguments])
