"""Valid inputs of each kind, and the ways in which a file is damaged."""

from __future__ import annotations

import os
import random
import stat
from collections.abc import Callable
from pathlib import Path

SCENARIO = """\
name = "small"
duration = "2 s"
rules = "classic"
nodes = ["a", "b"]

[[links]]
name = "a-b"
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "10 ms"

[[links]]
name = "b-a"
from = "b"
to = "a"
rate = "2 Mbit/s"
delay = "10 ms"

[[flows]]
name = "f"
from = "a"
to = "b"
tcp = "reno"
start = { uniform = ["0 s", "1 s"] }

[[probes]]
flows = ["f"]
quantities = ["cwnd"]
"""

JSON = """\
{"duration": "2 s", "rules": "classic", "nodes": ["a", "b"],
 "links": [{"name": "a-b", "from": "a", "to": "b", "rate": "2 Mbit/s", "delay": "10 ms"},
           {"name": "b-a", "from": "b", "to": "a", "rate": "2 Mbit/s", "delay": "10 ms"}],
 "flows": [{"name": "f", "from": "a", "to": "b", "tcp": "reno"}]}
"""

CAMPAIGN = """\
base = "scenario.toml"
runs = 2

[axes]
"links.a-b.rate" = ["1 Mbit/s", "2 Mbit/s"]
"""

MODULE = """\
import dumbbell


class Own(dumbbell.Control):
    def on_ack(self, ack):
        self.cwnd = ack.grown(self.cwnd, ack.mss * ack.mss / self.cwnd)

    def on_congestion(self, congestion):
        self.cwnd = congestion.loss_window if congestion.restarts else max(self.cwnd / 2, 2 * congestion.mss)
"""

WITH_TRACE = SCENARIO.replace('rate = "2 Mbit/s"', 'opportunities = { file = "trace.down" }', 1)
WITH_MODULE = SCENARIO.replace('tcp = "reno"', 'tcp = "python:own.Own"')

FILES = {
    "scenario.toml": SCENARIO,
    "scenario.json": JSON,
    "campaign.toml": CAMPAIGN,
    "bounds.toml": "rate = [1, 20]\n",
    "trace.down": "1\n2\n5\n7\n9\n",
    "rates.csv": "time_s,rate_mbps\n0,5\n1,5\n2,1\n",
    "with-trace.toml": WITH_TRACE,
    "with-module.toml": WITH_MODULE,
    "own.py": MODULE,
}


def write(folder: Path) -> None:
    """Write all inputs to a folder."""
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")


Damage = Callable[[Path], None]


def _content(change: Callable[[bytes], bytes]) -> Damage:
    def damage(file: Path) -> None:
        file.write_bytes(change(file.read_bytes()))

    return damage


def _missing(file: Path) -> None:
    file.unlink()


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _link(file: Path) -> None:
    file.unlink()
    file.symlink_to("nothing")


def _loop(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.name)


def _zeros(file: Path) -> None:
    """Put a device in its place that can be read without an end."""
    file.unlink()
    os.mknod(file, stat.S_IFCHR | 0o666, os.makedev(1, 5))


def _pipe(file: Path) -> None:
    """Put a pipe in its place that nothing is written to."""
    file.unlink()
    os.mkfifo(file)


NOISE = random.Random(1).randbytes(3000)

# How a file is damaged that a user has named. Only binary files may hold noise.
DAMAGES: dict[str, Damage] = {
    "missing": _missing,
    "a folder": _folder,
    "a link to nothing": _link,
    "a link to itself": _loop,
    "an endless device": _zeros,
    "an idle pipe": _pipe,
    "empty": _content(lambda _: b""),
    "only a line end": _content(lambda _: b"\n"),
    "only a byte order mark": _content(lambda _: b"\xef\xbb\xbf"),
    "a NUL": _content(lambda data: data[:7] + b"\0" + data[7:]),
    "many NULs": _content(lambda _: bytes(5000)),
    "noise": _content(lambda _: NOISE),
    "invalid UTF-8": _content(lambda data: data[:3] + b"\xff\xfe\xc3" + data[3:]),
    "half a surrogate": _content(lambda data: data[:3] + b"\xed\xa0\x80" + data[3:]),
    "UTF-16": _content(lambda data: data.decode().encode("utf-16")),
    "escape sequences": _content(lambda data: b"\x1b]0;owned\x07\x1b[31m" + data),
    "a picture": _content(lambda _: b"\x89PNG\r\n\x1a\n" + NOISE),
    "a number of 5000 digits": _content(lambda _: b"duration = " + b"9" * 5000 + b"\n"),
    "only 5000 digits": _content(lambda _: b"9" * 5000),
    "a long line": _content(lambda _: b"a" * 1_000_000),
    "nested lists": _content(lambda _: b"duration = " + b"[" * 20_000),
    "closed nested lists": _content(lambda _: b"duration = " + b"[" * 20_000 + b"]" * 20_000),
    "nested tables": _content(lambda _: b"a = " + b"{a = " * 5_000),
    "a deep key": _content(lambda _: b"a" + b".a" * 20_000 + b" = 1\n"),
    "nested JSON": _content(lambda _: b'{"duration": ' * 20_000),
    "2^64": _content(lambda _: b"18446744073709551616\n"),
    "99999999999999": _content(lambda _: b"99999999999999\n"),
    "a negative number": _content(lambda _: b"-5\n"),
    "not a number": _content(lambda _: b"nan\n"),
}
