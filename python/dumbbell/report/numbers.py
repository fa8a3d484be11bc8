"""Numbers as reports show them, with a true minus sign."""

from __future__ import annotations

import math

MINUS = "−"


def number(value: float | None, *, digits: int = 3) -> str:
    """Return a number for reading: `digits` significant ones, at least the whole part; an empty text for NaN or none."""
    if value is None or math.isnan(value):
        return ""
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{min(decimals, 4)}f}"
    return text.replace("-", MINUS) if float(text) != 0 else "0"


def fixed(value: float, digits: int = 1) -> str:
    """Return a number with so many decimals; nothing rounds to a negative zero."""
    return signed(value, digits).removeprefix("+")


def signed(value: float, digits: int = 1) -> str:
    """Return a number with its sign and so many decimals; nothing rounds to a signed zero."""
    text = f"{value:+.{digits}f}".replace("-", MINUS)
    return text[1:] if float(f"{value:.{digits}f}") == 0 else text


def percent(share: float, digits: int = 0) -> str:
    """Return a share from 0 to 1 in percent, as ``12 %``."""
    return f"{fixed(100 * share, digits)} %"
