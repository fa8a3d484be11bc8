"""Numbers behind quantities that are written with their unit, read by the engine itself.

The engine defines units, spelling and rounding. This module passes it the text in a minimal scenario and reads the
whole number from the canonical form.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from dumbbell import _engine
from dumbbell.errors import ScenarioError, refusal

# The canonical form is a whole number of the largest of these units that divides it.
_FACTORS = {
    "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1,
    "Gbit/s": 10**9, "Mbit/s": 10**6, "kbit/s": 10**3, "bit/s": 1,
    "bytes": 1,
}  # fmt: skip


def nanoseconds(text: str, field: str) -> int:
    """Return a time in whole nanoseconds, at least 0.

    Parameters
    ----------
    text
        A time with its unit, as ``"50 ms"``.
    field
        Where it was found, for the error.

    Raises
    ------
    ScenarioError
        The text is no time.

    Examples
    --------
    >>> nanoseconds("1.5 ms", "delay")
    1500000
    """
    return _number(text, field, "time")


def bits_per_second(text: str, field: str) -> int:
    """Return a rate in whole bits per second, at least 1.

    Parameters
    ----------
    text
        A rate with its unit, as ``"1.6 Mbit/s"``.
    field
        Where it was found, for the error.

    Raises
    ------
    ScenarioError
        The text is no rate.
    """
    return _number(text, field, "rate")


def size_bytes(text: str, field: str) -> int:
    """Return a size in whole bytes.

    Parameters
    ----------
    text
        A size with its unit, as ``"1 KiB"``.
    field
        Where it was found, for the error.

    Raises
    ------
    ScenarioError
        The text is no size.
    """
    return _number(text, field, "size")


def written_time(time_ns: int) -> str:
    """Return the text of a time given in nanoseconds, at least 0, that names it exactly.

    Examples
    --------
    >>> written_time(62_500_000), written_time(1_500), written_time(0)
    ('62.5 ms', '1.5 us', '0 s')
    """
    for unit in ("s", "ms", "us"):
        whole, rest = divmod(time_ns, _FACTORS[unit])
        if whole or time_ns == 0:
            digits = f"{rest:0{len(str(_FACTORS[unit])) - 1}}".rstrip("0")
            return f"{whole}.{digits} {unit}" if digits else f"{whole} {unit}"
    return f"{time_ns} ns"


def _number(text: str, field: str, kind: str) -> int:
    if not isinstance(text, str):
        raise refusal(field, text, f"a {kind} with its unit, as text")
    try:
        amount, unit = _canonical(text, kind).split()
    except ScenarioError as error:
        raise refusal(field, text, str(error.accepted)) from None
    return int(amount) * _FACTORS[unit]


@lru_cache(maxsize=4096)
def _canonical(text: str, kind: str) -> str:
    """Return the engine's spelling of a quantity."""
    link = {"name": "ab", "from": "a", "to": "b", "rate": "1 bit/s", "delay": "0 s"}
    source = {"kind": "cbr", "packet": "1000 bytes"}
    table, key = {"time": (link, "delay"), "rate": (link, "rate"), "size": (source, "packet")}[kind]
    table[key] = text
    back = {"name": "ba", "from": "b", "to": "a", "rate": "1 bit/s", "delay": "0 s"}
    scenario: dict[str, Any] = {
        "duration": "1 s",
        "nodes": ["a", "b"],
        "links": [link, back],
        "flows": [{"name": "f", "from": "a", "to": "b", "source": source}],
    }
    read = json.loads(_engine.normalize(json.dumps(scenario), "json"))
    found = read["flows"][0]["source"] if table is source else read["links"][0]
    return str(found[key])
