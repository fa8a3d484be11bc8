"""Wireshark's analysis of a capture, packet by packet, as a witness of ours."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

FIELDS = (
    "frame.time_epoch", "ip.src", "tcp.srcport", "ip.dst", "tcp.dstport", "tcp.len", "tcp.seq_raw", "tcp.ack_raw",
    "tcp.flags", "tcp.window_size_value", "tcp.analysis.retransmission", "tcp.analysis.out_of_order",
    "tcp.analysis.duplicate_ack", "tcp.analysis.zero_window", "tcp.analysis.keep_alive",
    "tcp.analysis.zero_window_probe", "tcp.analysis.initial_rtt",
)  # fmt: skip

FIN, SYN, RST, ACK = 1, 2, 4, 16


@dataclass(frozen=True)
class Packet:
    """A packet, and what Wireshark says of it."""

    time_s: float
    source: str
    destination: str
    length: int
    seq: int
    ack: int
    flags: int
    window: int
    is_retransmission: bool
    is_out_of_order: bool
    is_duplicate_ack: bool
    has_zero_window: bool
    is_keep_alive: bool
    is_window_probe: bool
    first_rtt_s: float | None

    @property
    def takes(self) -> int:
        """Sequence numbers that it takes."""
        return self.length + (1 if self.flags & (SYN | FIN) else 0)


def is_missing() -> bool:
    """Whether there is no ``tshark``."""
    return shutil.which("tshark") is None


def packets_of(capture: Path) -> list[Packet]:
    """Return the TCP packets of a capture, in its order."""
    command = [
        "tshark",
        "-n",
        "-r",
        str(capture),
        "-Y",
        "tcp",
        "-T",
        "fields",
        "-E",
        "separator=;",
        "-E",
        "occurrence=f",
    ]
    for field in FIELDS:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [_packet(line.split(";")) for line in done.stdout.splitlines()]


def _packet(cells: list[str]) -> Packet:
    known = dict(zip(FIELDS, cells, strict=True))
    has = {field: known[field] != "" for field in FIELDS}
    rtt = known["tcp.analysis.initial_rtt"]
    return Packet(
        time_s=float(known["frame.time_epoch"]),
        source=f"{known['ip.src']}:{known['tcp.srcport']}",
        destination=f"{known['ip.dst']}:{known['tcp.dstport']}",
        length=int(known["tcp.len"]),
        seq=int(known["tcp.seq_raw"]),
        ack=int(known["tcp.ack_raw"] or 0),
        flags=int(known["tcp.flags"], 16),
        window=int(known["tcp.window_size_value"]),
        is_retransmission=has["tcp.analysis.retransmission"],
        is_out_of_order=has["tcp.analysis.out_of_order"],
        is_duplicate_ack=has["tcp.analysis.duplicate_ack"],
        has_zero_window=has["tcp.analysis.zero_window"],
        is_keep_alive=has["tcp.analysis.keep_alive"],
        is_window_probe=has["tcp.analysis.zero_window_probe"],
        first_rtt_s=float(rtt) if rtt else None,
    )
