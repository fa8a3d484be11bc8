"""Texts of users, such as names of flows, on their way to a terminal or a picture."""

from __future__ import annotations

import codecs
import re

# Control characters except the line feed, directions of writing, separators of lines, and halves of surrogate pairs.
UNPRINTABLE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)

# What the package itself prints beyond ASCII.
PLAIN = {"–": "-", "—": "-", "…": "...", "×": "x", "→": "->", "§": "par. ", "µ": "u", "μ": "u", "─": "-"}


def printable(text: str) -> str:
    r"""Return a text with control characters as escapes, so that it cannot command a terminal.

    Line feeds are kept. The escapes are those of JSON, so a JSON document remains one.

    Parameters
    ----------
    text
        Any text.

    Examples
    --------
    >>> printable("\x1b[31mred")
    '\\u001b[31mred'
    """
    return UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Return the replacement for an unencodable character, a similar one or an escape; an error handler of `codecs`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    shown = "".join(
        PLAIN.get(character) or character.encode("ascii", "backslashreplace").decode("ascii")
        for character in missing
    )
    return shown, error.end


codecs.register_error("dumbbell", in_ascii)
