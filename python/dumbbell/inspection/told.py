"""What is found in a capture, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

LIMITS = {
    "application": (
        "limited_by_application",
        "the application had nothing to send",
        "Look at the program that sends, or at what it waits for; the network is not what holds it back.",
    ),
    "receiver": (
        "limited_by_receiver",
        "the receive window was full",
        "The receiver reads too slowly, or its buffer is smaller than rate times round-trip time.",
    ),
    "slow start": (
        "limited_by_slow_start",
        "the window was still growing from its start",
        "The transfer is too short for the path: a larger initial window or a longer connection helps, not a faster link.",
    ),
    "congestion": (
        "limited_by_congestion",
        "the congestion control held back",
        "It fills what it believes to be the path; the rate of the path, competing traffic or earlier losses set the limit.",
    ),
    "recovery": (
        "limited_by_recovery",
        "losses were repaired",
        "Something on the path loses packets, or reorders them; compare retransmissions by kind.",
    ),
    "idle": (
        "idle",
        "nothing was in flight",
        "One end waited for the other, or for its user: look at what was transferred before and after the pauses.",
    ),
}
"""For each limit its column, what it is, and where to look further."""

MENTIONED = 0.1
"""A limit of a smaller share of the time is not mentioned."""

PAUSES = {
    "sender": (
        "the sender paused with nothing in flight",
        "The sender paused, and no data of the other end ended its pauses: look at the program that sends, and what it "
        "waits for.",
    ),
    "other end": (
        "the sender waited for data of the other end",
        "The sender had answered all that it had been asked: look at what the other end does before it asks for more.",
    ),
}
"""Whose pauses they were, if they were those of one end for `OF_ONE_END` of the time: what happened, and where to look."""

OF_ONE_END = 0.8


def rate(bps: float) -> str:
    """Return a rate with three digits, such as ``9.57 Mbit/s``."""
    for size, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bps >= size:
            return f"{bps / size:.3g} {unit}"
    return f"{bps:.3g} bit/s"


def size(count: float) -> str:
    """Return a number of bytes with three digits, such as ``11.9 MB``."""
    for most, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= most:
            return f"{count / most:.3g} {unit}"
    return f"{count:.0f} bytes"


def time(seconds: float | None) -> str:
    """Return a time with three digits, such as ``40.5 ms``; a dash if it is missing."""
    if seconds is None:
        return "–"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1.0 else f"{seconds:.3g} s"


def counted(connections: int) -> str:
    """Return a number of connections in words."""
    return "1 connection" if connections == 1 else f"{connections} connections"


def limits_of(row: Mapping[str, Any]) -> list[tuple[str, float, str, str]]:
    """Return what limited a connection, longest first: limit, share of its time, what it is, and where to look further."""
    found = [(limit, row[column] or 0.0, what, where) for limit, (column, what, where) in LIMITS.items()]
    idle, waited = row["idle"] or 0.0, row["idle_for_other_end"] or 0.0
    for end, part in (("sender", idle - waited), ("other end", waited)):
        if idle > 0.0 and part >= OF_ONE_END * idle:
            found[-1] = ("idle", idle, *PAUSES[end])
    return sorted((one for one in found if one[1] > 0.0), key=lambda one: -one[1])


def sentence(row: Mapping[str, Any]) -> str:
    """Return how much a connection delivered how fast, and what limited it."""
    head = f"Connection {row['connection']} delivered {size(row['bytes_delivered'])} in {time(row['duration_s'])}"
    if row["goodput_bps"] is not None:
        head += f" ({rate(row['goodput_bps'])})"
    told = [
        f"for {share * 100:.0f} % of its time {what}"
        for _, share, what, _ in limits_of(row)
        if share >= MENTIONED
    ]
    return f"{head}; {', '.join(told)}." if told else f"{head}."


def advice(row: Mapping[str, Any]) -> str:
    """Return where to look further; empty if nothing limited the connection."""
    found = limits_of(row)
    return found[0][3] if found else ""


def _yes(value: bool | None) -> str:
    return "unknown" if value is None else "yes" if value else "no"


def facts(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what a connection is and did, as pairs of a heading and a text."""
    known = {
        "sender": "at the sender",
        "receiver": "at the receiver",
        "between": "on the way between both ends",
    }
    scale = row["window_scale"]
    handshake = "not in the capture" if row["handshake_rtt_s"] is None else time(row["handshake_rtt_s"])
    if row["syns_retransmitted"]:
        handshake += f"; {row['syns_retransmitted']} SYNs retransmitted"
    options = [
        f"MSS {row['mss_bytes'] or 'unknown'}",
        f"SACK {_yes(row['sack'])}",
        f"timestamps {_yes(row['timestamps'])}",
        f"ECN {_yes(row['ecn'])}",
        f"window scale {'unknown' if scale is None else scale}",
    ]
    return [
        ("data", f"{row['name']}, opened by {row['opened_by']}"),
        ("captured", known.get(row["captured_at"], "at an unknown place")),
        ("handshake", handshake),
        ("options", ", ".join(options)),
        ("ended", {"fin": "by FIN", "reset": "by a reset"}.get(row["end"], "not within the capture")),
        (
            "RTT",
            f"minimum {time(row['rtt_min_s'])}, mean {time(row['rtt_mean_s'])}, maximum {time(row['rtt_max_s'])}",
        ),
        ("delivered", f"{size(row['bytes_delivered'])} in {time(row['duration_s'])}"),
        *(
            [("rates", f"goodput {rate(row['goodput_bps'])}, throughput {rate(row['throughput_bps'])}")]
            if row["goodput_bps"] is not None
            else []
        ),
        ("retransmitted", _retransmitted(row)),
        ("acknowledgements", _acknowledgements(row)),
        ("receive window", _window(row)),
    ]


def _retransmitted(row: Mapping[str, Any]) -> str:
    count, sent = row["segments_retransmitted"], row["segments_sent"]
    if not count:
        return f"none of {sent} segments"
    kinds = [
        f"{row[f'retransmitted_{kind}']} {name}"
        for kind, name in (
            ("fast", "fast"),
            ("probe", "probes"),
            ("timeout", "after a timeout"),
            ("other", "other"),
        )
        if row[f"retransmitted_{kind}"]
    ]
    text = f"{count} of {sent} segments ({count / sent:.2%}): {', '.join(kinds)}"
    if row["retransmitted_spurious"]:
        text += f"; {row['retransmitted_spurious']} were not needed"
    return f"{text}; {row['fast_retransmits']} fast recoveries, {row['timeouts']} timeouts"


def _acknowledgements(row: Mapping[str, Any]) -> str:
    parts = [
        f"{row['duplicate_acks']} duplicates",
        f"{row['dsacks']} that report a duplicate segment (DSACK)",
    ]
    if row["out_of_order"]:
        parts.append(f"{row['out_of_order']} segments arrived out of order")
    if row["ce_marks"]:
        parts.append(f"{row['ce_marks']} segments marked by ECN")
    return ", ".join(parts)


def _window(row: Mapping[str, Any]) -> str:
    text = f"{row['zero_windows']} segments with a window of zero, {row['window_probes']} probes of it"
    return f"{text}; filled {row['receive_window_limited']} times"


def limits(row: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return what limited a connection, longest first: limit, share in per cent, and what it is."""
    return [(limit, f"{share * 100:.1f}", what) for limit, share, what, _ in limits_of(row)]


def warnings_of(row: Mapping[str, Any]) -> list[str]:
    """Return what the capture cannot tell of a connection, or tells wrongly."""
    return list(_warnings_of(row))


def _warnings_of(row: Mapping[str, Any]) -> Iterator[str]:
    mss, largest = row["mss_bytes"], row["largest_segment_bytes"]
    if mss and largest and largest > mss:
        yield (
            f"Segments of up to {size(largest)} were captured before the network card split them, or after it had joined them "
            f"(offloading): numbers of segments are those of the host, not those of the network."
        )
    if not row["segments_sent"] and row["bytes_delivered"]:
        yield "Only acknowledgements were captured: what was retransmitted, and when, is unknown."
    elif row["bytes_missing"]:
        yield (
            f"{size(row['bytes_missing'])} were acknowledged and are not in the capture, which has lost packets: retransmissions "
            f"may be missing, too."
        )
    if row["segments_sent"] and not row["bytes_delivered"]:
        yield "No acknowledgement of data was captured: round-trip times and what limited the sender are unknown."
    if row["window_scale"] is None:
        yield (
            "The capture begins after the handshake: options and the scale of windows are unknown, so that a full receive "
            "window is not recognized."
        )
    if row["captured_twice"]:
        yield f"{row['captured_twice']} segments were captured twice, and count once."
    if row["captured_at"] in ("receiver", "between"):
        yield (
            "It was not captured at the sender: data in flight is seen up to a round-trip time late, and what was lost before "
            "the capture is not seen at all."
        )


def warnings_of_capture(counts: Mapping[str, int], damage: str | None) -> list[str]:
    """Return what could not be read of a capture."""
    texts = {
        "damaged": "packets could not be read",
        "cut_tail": "packet at the end is cut",
        "fragments": "packets are fragments, of which only the first of each packet is read",
        "backwards": "packets are older than the one before them in the file",
        "untimed": "packets have no time, and got that of the packet before",
        "omitted": "segments belong to connections beyond those that are listed",
    }
    found = [f"{counts[name]} {text}" for name, text in texts.items() if counts.get(name)]
    return [f"{text}: {damage}." if damage and "could not" in text else f"{text}." for text in found]
