"""Variants that both sides have: our tables with ns-3's rules, and the ns-3 settings for a table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from dumbbell import Scenario
from dumbbell.errors import refusal
from dumbbell.quantities import nanoseconds

HEADER = 42
"""Bytes of headers around a payload: 2 of PPP, 20 of IP, 20 of TCP."""

# Limits of the fields that hold a window in ns-3; a window scaled by 2**14 ends below 1 GiB.
LARGEST_THRESHOLD = 2**32 - 1
LARGEST_BUFFER = 2**29

# ns-3's names by ours.
CONTROLS = {"reno": "ns3::TcpNewReno", "nsvegas": "ns3::TcpVegas", "westwoodp": "ns3::TcpWestwood"}

RECOVERY = "ns3::TcpClassicRecovery"
"""Which of ns-3's recoveries is used: with SACK it is that of RFC 6675."""

STATED: dict[str, Any] = {
    "rules": "ns3",
    "mss": "958 bytes",
    "initial_window": "2 segments",
    "receive_buffer": "unlimited",
    "send_buffer": "unlimited",
    "delayed_ack": "off",
}
"""What scenarios of ns-3 state by default: payload, windows and acknowledgements. The rest is the preset's."""

OWN: dict[str, dict[str, Any]] = {
    "newreno": {},
    "vegas": {"initial_ssthresh": "2 segments", "congestion": {"beta": 3}},
    "westwoodp": {},
}
"""What else scenarios of a variant state."""

VARIANTS = tuple(OWN)

VARIANT_OF = {"reno": "newreno", "nsvegas": "vegas", "westwoodp": "westwoodp"}

# Fields that ns-3 is set to; all others have to be as in the variant's own table.
SET = {
    "congestion",
    "mss",
    "headers",
    "initial_window",
    "initial_ssthresh",
    "receive_buffer",
    "send_buffer",
    "timer",
    "delayed_ack",
}
SET_OF_HEADERS = {"data"}
SET_OF_TIMER = {"granularity", "minimum", "initial"}
SET_OF_CONGESTION = {"reno": set[str](), "nsvegas": {"alpha", "beta", "gamma"}, "westwoodp": {"filter"}}

# Names of ns-3's filters of Westwood's samples, by the weight of the past in ours.
FILTERS = {0.0: "None", 0.9: "Tustin"}


def table(variant: str, **changes: Any) -> dict[str, Any]:
    """Return the ``tcp`` table that states the rules of ns-3 for a variant, with some fields changed."""
    if variant not in OWN:
        raise refusal("variant", variant, f"one of {', '.join(OWN)}", names=OWN)
    return {**STATED, "variant": variant, **OWN[variant], **changes}


@lru_cache(maxsize=len(OWN))
def _resolved(variant: str) -> dict[str, Any]:
    """Return a variant's own table with every default stated."""
    link = {"rate": "1 Mbit/s", "delay": "0 s"}
    scenario = Scenario.from_dict(
        {
            "duration": "1 s",
            "rules": "classic",
            "nodes": ["a", "b"],
            "links": [
                {"name": "ab", "from": "a", "to": "b", **link},
                {"name": "ba", "from": "b", "to": "a", **link},
            ],
            "flows": [{"name": "f", "from": "a", "to": "b", "tcp": table(variant)}],
        }
    )
    resolved: dict[str, Any] = scenario.resolved()["flows"][0]["tcp"]
    return resolved


def _check(stated: Mapping[str, Any], wanted: Mapping[str, Any], free: set[str], path: str) -> None:
    """Refuse fields that ns-3 is not set to and that differ from the rules it has."""
    for field, value in wanted.items():
        if field not in free and stated.get(field) != value:
            shown = value if isinstance(value, str) else str(value).lower()
            raise refusal(f"{path}.{field}", stated.get(field), f"{shown}, which is ns-3's rule")
    for field in stated:
        if field not in wanted:
            raise refusal(f"{path}.{field}", stated[field], "nothing: ns-3 has no such rule")


def control(tcp: Mapping[str, Any], path: str) -> str:
    """Return our name of the congestion control of a resolved ``tcp`` table that ns-3 can express.

    Raises
    ------
    ScenarioError
        A field is neither a rule of ns-3 nor one that it can be set to.
    """
    congestion = tcp["congestion"]
    name: str = congestion["name"]
    if name not in CONTROLS:
        raise refusal(f"{path}.congestion.name", name, f"one of {', '.join(CONTROLS)}, which ns-3 has")
    wanted = _resolved(VARIANT_OF[name])
    _check(tcp, wanted, SET, path)
    _check(congestion, wanted["congestion"], SET_OF_CONGESTION[name], f"{path}.congestion")
    _check(tcp["timer"], wanted["timer"], SET_OF_TIMER, f"{path}.timer")
    _check(tcp["headers"], wanted["headers"], SET_OF_HEADERS, f"{path}.headers")
    return name


def size(text: str) -> int:
    """Return the bytes of a size as a resolved scenario writes it, ``"958 bytes"``."""
    return int(text.removesuffix(" bytes"))


def segment_of(tcp: Mapping[str, Any], path: str) -> tuple[int, int]:
    """Return the payload of a segment in the scenario and in ns-3, in bytes; on the wire both are equal."""
    mss = size(tcp["mss"])
    segment = mss + size(tcp["headers"]["data"]) - HEADER
    if segment <= HEADER:
        raise refusal(f"{path}.mss", tcp["mss"], f"segments of more than {2 * HEADER} bytes on the wire")
    return mss, segment


def attributes(tcp: Mapping[str, Any], path: str) -> dict[str, str]:
    """Return the attributes that set ns-3 to a resolved ``tcp`` table, all of them for every variant.

    Raises
    ------
    ScenarioError
        A value cannot be expressed.
    """
    mss, segment = segment_of(tcp, path)

    def segments(field: str) -> float:
        text = str(tcp[field])
        if text == "unlimited":
            return float("inf")
        if text.endswith("segments"):
            return float(text.split()[0])
        return size(text) / mss

    initial = segments("initial_window")
    if initial != int(initial):
        raise refusal(f"{path}.initial_window", tcp["initial_window"], "a whole number of segments")
    threshold = min(segments("initial_ssthresh") * segment, LARGEST_THRESHOLD)
    # ns-3 crashes at a loss when the advertised window is full, so the send buffer is what bounds the window.
    window = min(segments("receive_buffer"), segments("send_buffer"), LARGEST_BUFFER // segment)
    buffer = int(window) * segment
    delayed = tcp["delayed_ack"]
    if delayed != "off" and delayed["on_tick"]:
        raise refusal(f"{path}.delayed_ack.on_tick", True, "false: ns-3 has a timer for each delay")
    timer = tcp["timer"]
    return {
        "ns3::TcpSocket::SegmentSize": str(segment),
        "ns3::TcpSocket::InitialCwnd": str(int(initial)),
        "ns3::TcpSocket::InitialSlowStartThreshold": str(int(threshold)),
        "ns3::TcpSocket::SndBufSize": str(buffer),
        "ns3::TcpSocket::RcvBufSize": str(2 * buffer),
        "ns3::TcpSocket::DelAckCount": "1" if delayed == "off" else str(delayed["segments"]),
        "ns3::TcpSocket::DelAckTimeout": "200ms" if delayed == "off" else _time(delayed["timer"], path),
        "ns3::TcpSocket::TcpNoDelay": "true",
        "ns3::TcpSocket::ConnTimeout": _time(timer["initial"], path),
        "ns3::TcpSocket::DataRetries": "1000",
        "ns3::TcpSocketBase::Sack": "true",
        "ns3::TcpSocketBase::Timestamp": "false",
        "ns3::TcpSocketBase::MinRto": _time(timer["minimum"], path),
        "ns3::TcpSocketBase::ClockGranularity": _time(timer["granularity"], path),
        **_estimator(tcp["congestion"]),
        **_parameters(tcp["congestion"], f"{path}.congestion"),
    }


def _time(text: str, path: str) -> str:
    return f"{nanoseconds(text, path)}ns"


def _estimator(congestion: Mapping[str, Any]) -> dict[str, str]:
    # ns-3 hands its congestion controls the smoothed RTT; a gain of one makes that the newest sample.
    gain = "1" if congestion["name"] == "nsvegas" else "0.125"
    return {"ns3::RttMeanDeviation::Alpha": gain}


def _parameters(congestion: Mapping[str, Any], path: str) -> dict[str, str]:
    """Return the attributes of a congestion control alone."""
    if congestion["name"] == "westwoodp":
        if congestion["filter"] not in FILTERS:
            raise refusal(f"{path}.filter", congestion["filter"], "0.9, or 0 for none")
        return {
            "ns3::TcpWestwood::ProtocolType": "WestwoodPlus",
            "ns3::TcpWestwood::FilterType": FILTERS[congestion["filter"]],
        }
    if congestion["name"] == "nsvegas":
        return {
            f"ns3::TcpVegas::{name.capitalize()}": str(congestion[name])
            for name in ("alpha", "beta", "gamma")
        }
    return {}
