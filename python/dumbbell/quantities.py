"""Numbers behind quantities that are written with their unit, read by the engine itself.

The engine defines units, spelling and rounding.
"""

from __future__ import annotations

from typing import Literal

from dumbbell import _engine
from dumbbell.errors import ScenarioError, refusal

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3}


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
    """Return a rate such as ``"1.6 Mbit/s"`` in whole bits per second, at least 1; see `nanoseconds`."""
    rate = _number(text, field, "rate")
    if rate == 0:
        raise refusal(field, text, 'a rate above 0, such as "1.6 Mbit/s"')
    return rate


def size_bytes(text: str, field: str) -> int:
    """Return a size such as ``"1 KiB"`` in whole bytes; see `nanoseconds`."""
    return _number(text, field, "size")


def written_time(time_ns: int) -> str:
    """Return the text of a time given in nanoseconds, at least 0, that names it exactly.

    Examples
    --------
    >>> written_time(62_500_000), written_time(1_500), written_time(0)
    ('62.5 ms', '1.5 us', '0 s')
    """
    for unit, factor in _NANOSECONDS.items():
        whole, rest = divmod(time_ns, factor)
        if whole or time_ns == 0:
            digits = f"{rest:0{len(str(factor)) - 1}}".rstrip("0")
            return f"{whole}.{digits} {unit}" if digits else f"{whole} {unit}"
    return f"{time_ns} ns"


def _number(text: str, field: str, kind: Literal["time", "rate", "size"]) -> int:
    if not isinstance(text, str):
        raise refusal(field, text, f"a {kind} with its unit, as text")
    try:
        return _engine.parse_quantity(text, kind)
    except ScenarioError as error:
        raise refusal(field, text, str(error.accepted)) from None
