"""Parsing of TOML and JSON that a user wrote: whatever is wrong with a document is said in one sentence."""

from __future__ import annotations

import json
import tomllib
from typing import Any, Literal

from dumbbell.errors import refusal

__all__ = ["Form", "parsed", "toml_of"]

Form = Literal["toml", "json"]


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
