"""Commands whose arguments belong to another program."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class Verbatim(TyperCommand):
    """A command that passes on all its arguments as they are, ``--`` and ``--help`` included, in ``context.args``."""

    # The type of the context depends on the version of typer.
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the arguments."""
        given = list(args)
        super().parse_args(ctx, [])
        ctx.args = given
        return []
