"""Units as people spell them, and what the engine calls them: near misses for quantities it refused."""

from __future__ import annotations

import re

from dumbbell.errors import ScenarioError

# Spellings in lower case, by the unit of the engine. The micro sign and the Greek letter are different characters.
SPELLINGS = {
    "Gbit/s": ("gbps", "gbit", "gb/s", "gbits/s"),
    "Mbit/s": ("mbps", "mbit", "mb/s", "mbits/s"),
    "kbit/s": ("kbps", "kbit", "kb/s", "kbits/s"),
    "bit/s": ("bps", "bit", "bits/s", "b/s"),
    "bytes": ("byte", "b"),
    "kB": ("kb", "kbyte", "kbytes"),
    "MB": ("mb", "mbyte", "mbytes"),
    "KiB": ("kib",),
    "MiB": ("mib",),
    "s": ("sec", "secs", "second", "seconds"),
    "ms": ("msec", "msecs", "millisecond", "milliseconds"),
    "us": ("\u00b5s", "\u03bcs", "usec", "usecs", "microsecond", "microseconds"),
    "ns": ("nsec", "nanosecond", "nanoseconds"),
    "min": ("m", "minute", "minutes", "mins"),
    "h": ("hour", "hours", "hr", "hrs"),
    "packets": ("packet", "pkt", "pkts"),
    "segments": ("segment", "seg", "segs"),
}

QUANTITY = re.compile(r'"([0-9][0-9.eE+-]*) *([^"0-9 ][^" ]*)"')
BARE = re.compile(r'"?([0-9]+(?:\.[0-9]+)?)"?')


def suggest_unit(error: ScenarioError) -> None:
    """Add to an error the quantity that was probably meant, if the value is one with a unit spelt otherwise.

    Parameters
    ----------
    error
        An error of the engine, whose message and suggestion are completed in place. Only units that the error itself
        names as accepted are suggested.
    """
    if getattr(error, "suggestion", None) is not None:
        return
    value, accepted = str(getattr(error, "value", "")), str(getattr(error, "accepted", ""))
    meant = _meant(value, accepted)
    if meant is not None:
        error.suggestion = meant
        error.args = (f"{error} (did you mean `{meant}`?)",)


def _meant(value: str, accepted: str) -> str | None:
    bare = BARE.fullmatch(value)
    if bare and re.match(r"a (positive )?time\b", accepted):
        return f"{bare[1]} s"
    quantity = QUANTITY.fullmatch(value)
    if not quantity:
        return None
    amount, spelt = quantity[1], quantity[2].lower()
    named = set(re.findall(r"[A-Za-z/]+", accepted))
    for unit, spellings in SPELLINGS.items():
        if unit.endswith("bit/s") and "B" in quantity[2]:
            # Bytes per second, as in MB/s.
            continue
        if unit in named and (spelt in spellings or spelt == unit.lower()):
            return f"{amount} {unit}"
    return None
