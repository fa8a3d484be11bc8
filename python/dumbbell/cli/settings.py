"""``--set ADDRESS=VALUE``: values of a scenario file that are changed for one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dumbbell import permission
from dumbbell.errors import refusal

ACCEPTED = 'an address and a value, such as flows.f.tcp=bbr or links.r1-r2.rate="5 Mbit/s"'


def changes(texts: Sequence[str] | None, option: str = "--set") -> dict[str, Any]:
    """Return values by address, as `Scenario.with_values` takes them.

    A value is one of TOML, such as ``true``, ``3`` or ``{ kind = "codel" }``; any other text stands for itself.
    Code that is a value is allowed to be loaded.

    Parameters
    ----------
    texts
        What the option was given.
    option
        Its name, for errors.

    Raises
    ------
    ScenarioError
        A text has no address or no value, or states an address again.

    Examples
    --------
    >>> changes(["flows.f.tcp=bbr", "duration=5 s", "links.r1-r2.queue={ kind = 'codel' }"])
    {'flows.f.tcp': 'bbr', 'duration': '5 s', 'links.r1-r2.queue': {'kind': 'codel'}}
    """
    found: dict[str, Any] = {}
    for text in texts or ():
        address, equals, value = (part.strip() for part in text.partition("="))
        if not address or not equals or not value:
            raise refusal(option, text, ACCEPTED)
        if address in found:
            raise refusal(option, text, f"one value of {address}")
        found[address] = _value(value)
        if value.startswith(permission.PREFIXES):
            # An argument of the caller is permission.
            permission.allow(value)
    return found


def _value(text: str) -> Any:
    """Return the value of TOML that a text is, or the text."""
    # Most runs change nothing.
    import tomllib

    try:
        read = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return text
    value = read.get("value")
    # Lines of further keys and times of day are no values of a scenario.
    is_value = len(read) == 1 and isinstance(value, str | int | float | list | dict)
    return value if is_value else text
