"""Whether a file is a capture."""

from __future__ import annotations

import os
from pathlib import Path

BEGINNINGS = (
    b"\n\r\r\n",
    b"\xa1\xb2\xc3\xd4",
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2<M",
    b"M<\xb2\xa1",
    b"\x1f\x8b",
)
"""How captures begin: pcapng, pcap in either byte order, and either of them compressed with gzip."""


def is_capture(path: str | os.PathLike[str]) -> bool:
    """Return whether a regular file begins as a capture does; no file does not."""
    place = Path(path)
    if not place.is_file():
        return False
    with place.open("rb") as opened:
        return opened.read(4).startswith(BEGINNINGS)
