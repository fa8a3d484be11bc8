"""``dumbbell cite``: how to cite Dumbbell."""

from __future__ import annotations

from typing import Annotated

import typer

from dumbbell.citation import citation
from dumbbell.cli.refusals import say


def cite(
    form: Annotated[str, typer.Option("--format", metavar="NAME", help="bibtex, apa or cff.")] = "bibtex",
) -> None:
    """Print how to cite Dumbbell, as BibTeX by default."""
    say(citation(form))
