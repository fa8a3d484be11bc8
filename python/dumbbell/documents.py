"""Parsing of TOML and JSON that a user wrote: whatever is wrong with a document is said in one sentence."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any, Literal

from dumbbell.errors import refusal

Form = Literal["toml", "json"]

MOST_PARTS = 100
"""Largest number of parts of a key: the time that the parser takes grows with the square."""

_PART = r"""(?:[\w-]+|"(?:\\.|[^"\\\n])*+"|'[^'\n]*+')"""

# Strings of several lines and comments are skipped; they may contain anything.
_SKIPPED = r"""["]{3}(?:\\.|[^\\])*?["]{3}|'{3}.*?'{3}|#[^\n]*+"""

TOKENS = re.compile(
    rf"{_SKIPPED}|(?P<key>{_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{MOST_PARTS},}}+)|{_PART}", re.DOTALL
)


def parsed(text: str, form: Form, source: str) -> Any:
    """Return what a document contains.

    Parameters
    ----------
    text
        The document.
    form
        Its format.
    source
        What an error names, such as the file.

    Raises
    ------
    ScenarioError
        The text is no such document, has a number of thousands of digits, or is nested too deeply.
    """
    long_key = _line_of_long_key(text) if form == "toml" else None
    if long_key is not None:
        found = f"a key of more than {MOST_PARTS} parts in line {long_key}"
        raise refusal(source, found, "a TOML document", problem="is nested too deeply", quoted=False)
    try:
        return json.loads(text) if form == "json" else tomllib.loads(text)
    except RecursionError:
        problem, why = "is nested too deeply", "hundreds of tables or lists in each other"
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        problem, why = "could not be parsed", str(error)
    except ValueError:
        # Python reads no longer ones, since the time that takes grows with the square.
        problem, why = "could not be parsed", "a number of more than 4300 digits"
    raise refusal(source, why, f"a {form.upper()} document", problem=problem, quoted=False)


def _line_of_long_key(text: str) -> int | None:
    """Return the number of the line with a key of too many parts; ``None`` if there is none."""
    if not any(line.count(".") >= MOST_PARTS for line in text.splitlines()):
        return None
    keys = (token.start("key") for token in TOKENS.finditer(text) if token["key"])
    return next((text.count("\n", 0, start) + 1 for start in keys), None)


def toml_of(content: bytes, source: str) -> dict[str, Any]:
    """Return the table of a TOML document in UTF-8; see `parsed`."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refusal(
            source, str(error), "a TOML document in UTF-8", problem="could not be parsed", quoted=False
        ) from None
    table: dict[str, Any] = parsed(text, "toml", source)
    return table
