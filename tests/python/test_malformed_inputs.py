"""Malformed scenario files and command lines: each is refused in one sentence with exit code 2, or accepted for a reason.

The tables have at least one case of every kind of field. Files are changed from a valid one by address, as in
`bad_input`; what is not a table of fields, such as broken TOML, is text.
"""

from __future__ import annotations

import tomllib
from typing import Any, NamedTuple

import pytest
import tomli_w

from bad_input import Bad, spoilt
from command_line import error_of, invoke
from dumbbell import ScenarioError
from dumbbell.documents import MOST_PARTS, toml_of


class Refused(NamedTuple):
    """A value at an address, the path at the start of the message, and words that it must contain."""

    address: str
    value: Any
    path: str
    words: tuple[str, ...]


class Accepted(NamedTuple):
    """A value at an address that may look wrong, why it is accepted, and the start of the warning, if any."""

    address: str
    value: Any
    reason: str
    warning: str | None = None


def queue(**fields: Any) -> dict[str, Any]:
    return {"kind": "droptail", **fields}


def impairment(kind: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"kind": kind, **fields}]


LINK, FLOW = "links.r1-r2", "flows.fg"
IMPAIRED, CHANGED = f"{LINK}.impairments", f"{LINK}.changes"
TIME, RATE, SIZE = ('"50 ms"',), ('"1.6 Mbit/s"',), ("bytes",)
DATAGRAMS = {"tcp": None}


def datagrams(kind: str, **fields: Any) -> dict[str, Any]:
    return {"tcp": None, "source": {"kind": kind, **fields}}


REFUSED = [
    # Of the scenario
    Refused("name", 3, "name", ("3", "a string")),
    Refused("name", ["a"], "name", ('["a"]', "a string")),
    Refused("duration", "5 sec", "duration", ('"5 sec"', "time")),
    Refused("duration", "-5 s", "duration", ('"-5 s"', "time")),
    Refused("duration", "5s5", "duration", ('"5s5"', "time")),
    Refused("duration", "", "duration", ('""', "time")),
    Refused("duration", "s", "duration", ('"s"', "time")),
    Refused("duration", "nan s", "duration", ('"nan s"', "time")),
    Refused("duration", True, "duration", ("true", "time")),
    Refused("duration", {"s": 5}, "duration", ('{"s":5}', "time")),
    Refused("duration", "1e30 s", "duration", ('"1e30 s"', "time")),
    Refused("measure_from", "5 s", "measure_from", ("5 s", "before measure_until and duration")),
    Refused("measure_from", "one second", "measure_from", ('"one second"', "time")),
    Refused("measure_until", "6 s", "measure_until", ("6 s", "up to the duration, 5 s")),
    Refused("measure_until", "0 s", "measure_from", ("0 s", "before measure_until")),
    Refused("stop_when_complete", "fg", "stop_when_complete", ('"fg"', "list")),
    Refused("stop_when_complete", ["fg"], "stop_when_complete", ('"fg"', "transfer")),
    Refused("stop_when_complete", ["gg"], "stop_when_complete", ('"gg"', "fg")),
    Refused("stop_when_complete", [1], "stop_when_complete.0", ("1", "a string")),
    Refused("nodes", "h1", "nodes", ('"h1"', "list")),
    Refused("nodes", [], "links.h1-r1.from", ('"h1"', "name of a node")),
    Refused("nodes", ["h1", 2], "nodes.1", ("2", "name")),
    Refused("links", {}, "links", ("{}", "list")),
    Refused("links", [], "probes.1.links", ('"r1-r2"', "the name of a link")),
    Refused("flows", [], "flows", ("an empty list", "at least one flow")),
    Refused("flows", "fg", "flows", ('"fg"', "list")),
    Refused("flows", ["fg"], "flows.0", ('"fg"', "table")),
    Refused("probes", {"quantities": ["cwnd"]}, "probes", ("quantities", "list")),
    Refused("seed", 3, "seed", ("this field", "duration")),
    Refused("Duration", "5 s", "Duration", ("this field", "`duration`")),
    # Of nodes
    Refused("nodes.h1", {"name": ""}, "nodes", ('""', "name")),
    Refused("nodes.h1.tick_phase", "soon", "nodes.h1.tick_phase", ('"soon"', '"random"')),
    Refused("nodes.h1.tick_phase", 3, "nodes.h1.tick_phase", ("3", '"random"')),
    Refused("nodes.h1.aqt", "yes", "nodes.h1.aqt", ('"yes"', "true")),
    Refused("nodes.h1.aqt", 1, "nodes.h1.aqt", ("1", "true")),
    Refused("nodes.h1.colour", "red", "nodes.h1.colour", ("this field", "tick_phase")),
    # Of links
    Refused(f"{LINK}.name", "", "links", ('""', "name")),
    Refused(f"{LINK}.name", 12, "links.1.name", ("12", "a string")),
    Refused(f"{LINK}.from", 7, f"{LINK}.from", ("7", "a string")),
    Refused(f"{LINK}.to", "R2", f"{LINK}.to", ('"R2"', "`r2`")),
    Refused(f"{LINK}.rate", "1.6 Mbps", f"{LINK}.rate", ('"1.6 Mbps"', "Mbit/s")),
    Refused(f"{LINK}.rate", 1_600_000, f"{LINK}.rate", ("1600000", "Mbit/s")),
    Refused(f"{LINK}.rate", "1,6 Mbit/s", f"{LINK}.rate", ('"1,6 Mbit/s"', "Mbit/s")),
    Refused(f"{LINK}.rate", "inf bit/s", f"{LINK}.rate", ('"inf bit/s"', "Mbit/s")),
    Refused(f"{LINK}.rate", "1e40 bit/s", f"{LINK}.rate", ('"1e40 bit/s"', "Mbit/s")),
    Refused(f"{LINK}.rate", None, f"{LINK}.rate", ("nothing", "required")),
    Refused(f"{LINK}.delay", "50", f"{LINK}.delay", ('"50"', "ms")),
    Refused(f"{LINK}.delay", None, f"{LINK}.delay", ("nothing", "required")),
    Refused(f"{LINK}.buffer", "5 packets", f"{LINK}.buffer", ("this field", "queue")),
    Refused(f"{LINK}.queue", "droptale", f"{LINK}.queue", ('"droptale"', "`droptail`")),
    Refused(f"{LINK}.queue", 5, f"{LINK}.queue", ("5", "droptail")),
    Refused(f"{LINK}.queue", {"limit": "5 packets"}, f"{LINK}.queue", ("droptail",)),
    Refused(f"{LINK}.queue", queue(limit="5"), f"{LINK}.queue.limit", ('"5"', "packets")),
    Refused(f"{LINK}.queue", queue(limit=5), f"{LINK}.queue.limit", ("5", "packets")),
    Refused(f"{LINK}.queue", queue(limit="-5 packets"), f"{LINK}.queue.limit", ('"-5 packets"', "packets")),
    Refused(f"{LINK}.queue", queue(limit="0 bytes"), f"{LINK}.queue.limit", ('"0 bytes"', "bytes")),
    Refused(f"{LINK}.queue", queue(limit="none"), f"{LINK}.queue.limit", ('"none"', "unlimited")),
    Refused(f"{LINK}.queue", queue(counts_service="no"), f"{LINK}.queue.counts_service", ('"no"', "true")),
    Refused(IMPAIRED, "bernoulli", IMPAIRED, ('"bernoulli"', "list")),
    Refused(IMPAIRED, ["bernouilli"], f"{IMPAIRED}.0", ('"bernouilli"', "`bernoulli`")),
    Refused(IMPAIRED, impairment("forced", packets=[0]), f"{IMPAIRED}.0.packets", ("[0]", "counted from 1")),
    Refused(IMPAIRED, impairment("forced", packets=[-1]), f"{IMPAIRED}.0.packets.0", ("-1", "whole number")),
    Refused(IMPAIRED, impairment("forced", packets=3), f"{IMPAIRED}.0.packets", ("3", "list")),
    Refused(
        IMPAIRED, impairment("bernoulli", probability="1 %"), f"{IMPAIRED}.0.probability", ('"1 %"', "number")
    ),
    Refused(
        IMPAIRED,
        impairment("bernoulli", probability=1.01),
        f"{IMPAIRED}.0.probability",
        ("1.01", "from 0 to 1"),
    ),
    Refused(IMPAIRED, impairment("bernoulli", rate=0.1), f"{IMPAIRED}.0.rate", ("this field", "probability")),
    Refused(
        IMPAIRED, impairment("twostate", good="0 s"), f"{IMPAIRED}.0.good", ('"0 s"', "at least 1 us")
    ),
    Refused(IMPAIRED, impairment("twostate", bad="10 ns"), f"{IMPAIRED}.0.bad", ("10 ns", "at least 1 us")),
    Refused(IMPAIRED, impairment("twostate", loss=2), f"{IMPAIRED}.0.loss", ("2", "from 0 to 1")),
    Refused(
        IMPAIRED, impairment("twostate", good_loss=-0.1), f"{IMPAIRED}.0.good_loss", ("-0.1", "from 0 to 1")
    ),
    Refused(IMPAIRED, impairment("twostate", change="often"), f"{IMPAIRED}.0.change", ('"often"', "number")),
    Refused(
        IMPAIRED, impairment("twostate", clock="packets"), f"{IMPAIRED}.0.clock", ('"packets"', "`packet`")
    ),
    Refused(CHANGED, [{"rate": "1 Mbit/s"}], f"{CHANGED}.0.at", ("nothing", "required")),
    Refused(CHANGED, [{"at": "1 s"}], CHANGED, ("at", "a rate or a delay")),
    Refused(
        CHANGED, [{"at": "2 s", "delay": "1 ms"}, {"at": "1 s", "delay": "2 ms"}], CHANGED, ("ascending",)
    ),
    Refused(CHANGED, [{"at": "1 s", "rate": "0 bit/s"}], f"{CHANGED}.0.rate", ('"0 bit/s"', "above 0")),
    Refused(CHANGED, [{"at": "1 s", "loss": 0.1}], f"{CHANGED}.0.loss", ("this field", "delay")),
    Refused(CHANGED, {"at": "1 s"}, CHANGED, ("list",)),
    # Of flows
    Refused(f"{FLOW}.name", "", "flows", ('""', "name")),
    Refused(f"{FLOW}.from", "h3", f"{FLOW}.from", ('"h3"', "h1, h2")),
    Refused(f"{FLOW}.to", ["h2"], f"{FLOW}.to", ('["h2"]', "a string")),
    Refused(f"{FLOW}.path", "h1-r1", f"{FLOW}.path", ('"h1-r1"', "list")),
    Refused(f"{FLOW}.path", [], f"{FLOW}.path", ("a path that ends at h1", "a path that ends at h2")),
    Refused(f"{FLOW}.reverse_path", ["h1-r1"], f"{FLOW}.reverse_path", ('"h1-r1"', "leaves h2")),
    Refused(f"{FLOW}.start", "now", f"{FLOW}.start", ('"now"', "time")),
    Refused(f"{FLOW}.start", 0, f"{FLOW}.start", ("0", "time")),
    Refused(f"{FLOW}.start", {"uniform": ["1 s"]}, f"{FLOW}.start.uniform", ('["1 s"]', "two times")),
    Refused(f"{FLOW}.start", {"uniform": "1 s"}, f"{FLOW}.start.uniform", ('"1 s"', "list")),
    Refused(f"{FLOW}.start", {"normal": ["1 s", "2 s"]}, f"{FLOW}.start.normal", ("this field", "uniform")),
    Refused(f"{FLOW}.stop", "0 s", f"{FLOW}.stop", ("0 s", "after the start")),
    Refused(f"{FLOW}.stop", "later", f"{FLOW}.stop", ('"later"', "time")),
    Refused(f"{FLOW}.restarts", [{"start": "2 s"}], f"{FLOW}.restarts.0.start", ("2 s", "which is required")),
    Refused(
        FLOW,
        {"stop": "1 s", "restarts": [{"start": "1 s"}]},
        f"{FLOW}.restarts.0.start",
        ("1 s", "after the previous stop"),
    ),
    Refused(
        FLOW,
        {"stop": "1 s", "restarts": [{"start": "3 s", "stop": "2 s"}]},
        f"{FLOW}.restarts.0.stop",
        ("2 s", "after the start"),
    ),
    Refused(
        FLOW, {"stop": "1 s", "restarts": [{"stop": "2 s"}]}, f"{FLOW}.restarts.0.start", ("required",)
    ),
    Refused(f"{FLOW}.reroutes", [{"at": "1 s"}], f"{FLOW}.reroutes", ("a path or a reverse path",)),
    Refused(
        f"{FLOW}.reroutes",
        [{"at": "1 s", "path": ["r1-r2"]}],
        f"{FLOW}.reroutes.0.path",
        ('"r1-r2"', "leaves h1"),
    ),
    Refused(f"{FLOW}.tcp", 5, f"{FLOW}.tcp", ("5",)),
    Refused(f"{FLOW}.tcp", "cubik", f"{FLOW}.tcp", ('"cubik"',)),
    Refused(f"{FLOW}.rate", "1 Mbit/s", f"{FLOW}.rate", ("this field", "source")),
    # Of sources
    Refused(f"{FLOW}.source", "gready", f"{FLOW}.source", ('"gready"', "`greedy`")),
    Refused(f"{FLOW}.source", {"kind": "greedy", "size": "1 MB"}, f"{FLOW}.source.size", ("this field",)),
    Refused(
        f"{FLOW}.source", {"kind": "transfer", "size": "1 packet"}, f"{FLOW}.source.size", ('"1 packet"', "kB")
    ),
    Refused(f"{FLOW}.source", {"kind": "transfer", "size": 1000}, f"{FLOW}.source.size", ("1000", "kB")),
    Refused(
        f"{FLOW}.source",
        {"kind": "tcplib", "interarrival": "0 s"},
        f"{FLOW}.source.interarrival",
        ('"0 s"', "above 0"),
    ),
    Refused(
        f"{FLOW}.source",
        {"kind": "tcplib", "size_multiplier": 0},
        f"{FLOW}.source.size_multiplier",
        ("0", "above 0"),
    ),
    Refused(
        f"{FLOW}.source",
        {"kind": "tcplib", "mix": {"www": 1.0}},
        f"{FLOW}.source.mix.www",
        ("this field", "telnet"),
    ),
    Refused(
        f"{FLOW}.source",
        {"kind": "tcplib", "mix": {"telnet": -1.0}},
        f"{FLOW}.source.mix.telnet",
        ("-1.0", "at least 0"),
    ),
    Refused(
        f"{FLOW}.source",
        {"kind": "tcplib", "mix": {"telnet": 0, "ftp": 0, "nntp": 0, "smtp": 0}},
        f"{FLOW}.source.mix",
        ("not all 0",),
    ),
    Refused(FLOW, datagrams("cbr", rate="0 bit/s"), f"{FLOW}.source.rate", ('"0 bit/s"', "above 0")),
    Refused(
        FLOW, datagrams("cbr", packet="70000 bytes"), f"{FLOW}.source.packet", ("70000 bytes", "65535 bytes")
    ),
    Refused(FLOW, datagrams("cbr", jitter=1.5), f"{FLOW}.source.jitter", ("1.5", "from 0 to 1")),
    Refused(
        FLOW,
        datagrams("cbr", rate="1e12 Mbit/s", packet="1 bytes"),
        f"{FLOW}.source.rate",
        ("one packet per nanosecond",),
    ),
    Refused(FLOW, datagrams("poisson", packet="0 bytes"), f"{FLOW}.source.packet", ('"0 bytes"', "65535")),
    Refused(FLOW, datagrams("onoff", on="0 s"), f"{FLOW}.source.on", ('"0 s"', "above 0")),
    Refused(FLOW, datagrams("onoff", off="never"), f"{FLOW}.source.off", ('"never"', "time")),
    Refused(FLOW, datagrams("video", frame_rate=0), f"{FLOW}.source.frame_rate", ("0", "0.001 to 1000000")),
    Refused(FLOW, datagrams("video", tail=0.7), f"{FLOW}.source.tail", ("0.7", "below 0.5")),
    Refused(FLOW, datagrams("video", memory="long"), f"{FLOW}.source.memory", ('"long"', "number")),
    Refused(FLOW, datagrams("video", smallest=2), f"{FLOW}.source.smallest", ("2", "at most 1")),
    Refused(FLOW, datagrams("frames", sizes=[]), f"{FLOW}.source.sizes", ("[]", "not all 0")),
    Refused(FLOW, datagrams("frames", sizes=["x"]), f"{FLOW}.source.sizes.0", ('"x"', "kB")),
    Refused(FLOW, datagrams("frames", start_frame=-1), f"{FLOW}.source.start_frame", ("-1", "whole number")),
    Refused(FLOW, {"tcp": "reno", "source": {"kind": "media"}}, f"{FLOW}.tcp", ("a table", "own datagrams")),
    # Of probes
    Refused("probes", [{"flows": ["fg"]}], "probes.0.quantities", ("nothing", "required")),
    Refused("probes", [{"flows": ["fg"], "quantities": []}], "probes.0.quantities", ("an empty list",)),
    Refused("probes", [{"flows": ["fg"], "quantities": "cwnd"}], "probes.0.quantities", ('"cwnd"', "list")),
    Refused(
        "probes", [{"flows": "fg", "quantities": ["cwnd"]}], "probes.0.flows", ('"fg"', "list")
    ),
    Refused("probes", [{"quantities": ["cwnd"]}], "probes.0.flows", ("nothing", "flows")),
    Refused(
        "probes", [{"flows": ["fg"], "quantities": ["backlog"]}], "probes.0.links", ("nothing", "links")
    ),
    Refused(
        "probes", [{"links": ["r2-r3"], "quantities": ["drops"]}], "probes.0.links", ('"r2-r3"', "r1-r2")
    ),
    Refused("probes.0.period", "-1 s", "probes.0.period", ('"-1 s"', "time")),
    Refused("probes.0.period", "1 ns", "probes.0.period", ("1 ns", "samples")),
    Refused("probes.0.every", "1 s", "probes.0.every", ("this field", "period")),
]  # fmt: skip

TEXTS = [
    ("no text at all", "", ("duration", "required")),
    ("a key without a value", "duration =\n", ("line 1", "a scenario in TOML")),
    ("a value without quotes", "duration = 5 s\n", ("line 1", "a scenario in TOML")),
    ("a bracket that stays open", 'duration = "5 s"\nnodes = ["a"\n', ("line", "a scenario in TOML")),
    ("a field twice", 'duration = "5 s"\nduration = "6 s"\n', ("line 2", "a scenario in TOML")),
    ("a table for a list", '[links]\nname = "a"\n', ("links", "list")),
    ("a date", "duration = 2026-01-01\n", ("duration", '"2026-01-01"', "time")),
    ("a number that is none", "duration = nan\n", ("duration", '"NaN"', "time")),
    ("a misspelt table", '[[flow]]\nname = "a"\n', ("flow", "`flows`")),
    ("JSON in a TOML file", '{"duration": "5 s"}\n', ("line 1", "a scenario in TOML")),
    ("a tab in a key", 'dura\ttion = "5 s"\n', ("line 1", "a scenario in TOML")),
    ("an integer beyond 64 bits", "duration = 99999999999999999999\n", ("line 1", "a scenario in TOML")),
]

ACCEPTED = [
    Accepted("name", "", "a name is for people"),
    Accepted("duration", "5.0e0 s", "a quantity is any decimal number"),
    Accepted("duration", "  5   s ", "spaces do not change a quantity"),
    Accepted("duration", "5s", "the space between number and unit may be left out"),
    Accepted("measure_until", "5 s", "the window may end with the run"),
    Accepted("nodes.h1.tick_phase", "0 s", "clocks may tick from the origin on"),
    Accepted(f"{LINK}.delay", "0 s", "a link may take no time"),
    Accepted(f"{LINK}.queue", queue(limit="1 packets"), "the smallest queue"),
    Accepted(
        f"{LINK}.queue", queue(limit="500 bytes"), "small packets fit", f"{LINK}.queue.limit: 500 bytes"
    ),
    Accepted(IMPAIRED, [], "an empty list states nothing"),
    Accepted(IMPAIRED, impairment("bernoulli", probability=1), "a link may lose everything"),
    Accepted(IMPAIRED, impairment("forced", packets=[10**12]), "a packet that does not come is not lost"),
    Accepted(CHANGED, [{"at": "9 s", "delay": "1 ms"}], "a sweep may shorten runs", f"{CHANGED}.0.at: 9 s"),
    Accepted(f"{FLOW}.start", "5 s", "a sweep may shorten runs", f"{FLOW}.start: 5 s"),
    Accepted(
        f"{FLOW}.start", {"uniform": ["0 s", "9 s"]}, "it starts in some runs", f"{FLOW}.start.uniform: 9 s"
    ),
    Accepted(f"{FLOW}.start", {"uniform": ["1 s", "1 s"]}, "a span without length is a time"),
    Accepted(f"{FLOW}.stop", "9 s", "the run ends first, as for a flow without a stop"),
    Accepted(
        f"{FLOW}.reroutes",
        [{"at": "9 s", "path": ["h1-r1", "r1-r2", "r2-h2"]}],
        "a sweep may shorten runs",
        f"{FLOW}.reroutes.0.at: 9 s",
    ),
    Accepted(f"{FLOW}.source", {"kind": "transfer", "size": "0.5 bytes"}, "sizes are rounded to whole bytes"),
    Accepted("probes", [], "nothing is recorded"),
    Accepted("probes.0.period", "9 s", "a period longer than the run has one sample, at the start"),
    Accepted(
        "probes",
        [{"links": ["*"], "quantities": ["losses"]}],
        "a sweep may leave impairments out",
        "probes.0.quantities: losses for *",
    ),
    Accepted(
        "probes",
        [{"flows": ["fg"], "links": ["r1-r2"], "quantities": ["cwnd"]}],
        "what is recorded is stated",
        "probes.0.links: r1-r2",
    ),
]

COMMANDS = [
    (["run"], "FILE"),
    (["run", "FILE", "FILE"], "unexpected extra argument"),
    (["run", "FILE", "--seed"], "--seed"),
    (["run", "FILE", "--seed", "-1"], "--seed"),
    (["run", "FILE", "--seed", "1.5"], "--seed"),
    (["run", "FILE", "--run", "first"], "--run"),
    (["run", "FILE", "--seed", str(2**64)], "--seed"),
    (["run", "FILE", "--jsn"], "--jsn"),
    (["run", "FILE", "--trace"], "--trace"),
    (["simulate", "FILE"], "simulate"),
    (["list", "queues", "sources"], "unexpected extra argument"),
    (["reproduce"], "PAPER"),
    (["reproduce", "vegas-revisited", "--threads", "two"], "--threads"),
    (["cross-validate"], "PEER"),
    (["cross-validate", "ns2", "--share", "half"], "--share"),
    (["bench", "fast"], "fast"),
]

REFUSED_COMMANDS = [
    (["list", "queue"], ("queue", "`queues`")),
    (["run", "none.toml"], ("none.toml", "no such file")),
    (["reproduce", "no-such-paper"], ("no-such-paper",)),
    (["reproduce", "vegas-revisited", "--runs", "0"], ("runs", "0")),
    (["reproduce", "vegas-revisited", "--runs", str(2**64)], ("runs", str(2**64), "from 2 to 10000")),
    (["reproduce", "vegas-revisited", "--threads", "0"], ("threads", "0")),
    (["reproduce", "vegas-revisited", "--threads", str(2**64)], ("threads", str(2**64), "from 1 to 4096")),
    (["evaluate", "reno", "--seeds", "-1"], ("seeds", "-1", "from 2 to 10000")),
    (["evaluate", "reno", "--seeds", str(2**64)], ("seeds", str(2**64), "from 2 to 10000")),
    (["evaluate", "reno", "--threads", str(2**64)], ("threads", str(2**64), "from 1 to 4096")),
    (["cross-validate", "ns4"], ("ns4",)),
    (["cross-validate", "ns2", "--share", "0"], ("share", "0")),
    (["cross-validate", "ns2", "--share", "1.5"], ("share", "1.5")),
    (["cross-validate", "ns2", "--threads", "0"], ("threads", "0")),
    (["cross-validate", "ns2", "--threads", str(2**64)], ("threads", str(2**64), "from 1 to 4096")),
    (["cross-validate", "ns2", "--grid", "no-such-grid"], ("no-such-grid",)),
    (["bench", "peers", "--turns", "0"], ("turns", "0")),
    (["bench", "peers", "--turns", str(2**64)], ("turns", str(2**64), "from 1 to 1000")),
]


FIELDS = (
    "name", "duration", "stop_when_complete", "measure_from", "measure_until", "nodes", "links", "flows", "probes",
    "tick_phase", "aqt", "from", "to", "rate", "delay", "queue", "limit", "counts_service", "impairments", "changes", "path",
    "reverse_path", "start", "stop", "restarts", "reroutes", "tcp", "source", "quantities", "period",
)  # fmt: skip


def ids(cases):
    return [f"{number}: {case.address} = {case.value}"[:70] for number, case in enumerate(cases)]


def written(tmp_path, data, case):
    path = tmp_path / "malformed.toml"
    bad = Bad(what="", address=case.address, value=case.value)
    path.write_text(tomli_w.dumps(spoilt(data, bad)), encoding="utf-8")
    return path


@pytest.mark.parametrize("case", REFUSED, ids=ids(REFUSED))
def test_a_malformed_field_is_refused_by_path_value_and_what_is_accepted(tmp_path, two_hosts_data, case):
    path = written(tmp_path, two_hosts_data, case)
    line = error_of(invoke("run", path))
    assert line.startswith(f"error: {path}: {case.path}")
    assert " is not accepted; expected " in line
    for word in case.words:
        assert word in line


@pytest.mark.parametrize(("what", "text", "words"), TEXTS, ids=[what for what, *_ in TEXTS])
def test_a_malformed_file_is_refused_in_one_sentence(tmp_path, what, text, words):
    path = tmp_path / "malformed.toml"
    path.write_text(text, encoding="utf-8")
    line = error_of(invoke("run", path))
    assert line.startswith(f"error: {path}: ")
    for word in words:
        assert word in line


@pytest.mark.parametrize("case", ACCEPTED, ids=ids(ACCEPTED))
def test_what_looks_malformed_is_accepted_for_a_reason(tmp_path, two_hosts_data, case):
    result = invoke("run", written(tmp_path, two_hosts_data, case), "--json")
    assert result.exit_code == 0, (case.reason, result.output)
    lines = result.stderr.splitlines()
    if case.warning is None:
        assert lines == [], case.reason
    else:
        assert len(lines) == 1, case.reason
        assert lines[0].startswith(f"warning: {case.warning}"), case.reason


@pytest.mark.parametrize(("args", "word"), COMMANDS, ids=[" ".join(args) for args, _ in COMMANDS])
def test_a_malformed_command_line_names_the_part_with_exit_code_2(tmp_path, two_hosts, args, word):
    path = tmp_path / "two-hosts.toml"
    path.write_text(two_hosts.to_toml(), encoding="utf-8")
    result = invoke(*[path if argument == "FILE" else argument for argument in args])
    assert result.exit_code == 2
    errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1, result.stderr
    assert word in errors[0]
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("args", "words"), REFUSED_COMMANDS, ids=[" ".join(args) for args, _ in REFUSED_COMMANDS]
)
def test_a_command_with_a_value_out_of_range_is_refused_in_one_sentence(tmp_path, monkeypatch, args, words):
    monkeypatch.chdir(tmp_path)
    line = error_of(invoke(*args))
    for word in words:
        assert word in line


KEY = "a" + ".a" * MOST_PARTS


@pytest.mark.parametrize(
    "text",
    [
        f"{KEY} = 1",
        f"[{KEY}]",
        f"[[{KEY}]]",
        f"x = {{{KEY} = 1}}",
        f"{KEY.replace('a', 'a-b')} = 1",
        f"{KEY.replace('.', ' . ')} = 1",
        KEY.replace("a", '"a b"') + " = 1",
        KEY.replace("a", "'a.b'") + " = 1",
        f'x = """\n{KEY}"""\n{KEY}.a = 1',
        "a" + ".a" * 100_000 + " = 1",
    ],
    ids=lambda text: text[:20],
)
def test_a_key_of_too_many_parts_is_refused_by_its_line(text):
    line = 4 if '"""' in text else 2
    with pytest.raises(ScenarioError) as refused:
        toml_of(f"b = 1\n{text}\n".encode(), "some.toml")
    assert str(refused.value) == (
        f"some.toml: a key of more than {MOST_PARTS} parts in line {line} is nested too deeply; expected a TOML document"
    )


@pytest.mark.parametrize(
    "text",
    [
        KEY.removesuffix(".a") + " = 1",
        f'x = "{KEY}"',
        f'x = "\\"{KEY}"',
        f"x = '{KEY}'",
        f'x = """\n"{KEY}\\""""',
        f"x = '''\n'{KEY}'''",
        f"# {KEY}",
        "x = [" + "0.1, " * MOST_PARTS + "]",
    ],
)
def test_what_resembles_a_key_of_many_parts_is_read(text):
    assert toml_of(text.encode(), "some.toml") == tomllib.loads(text)


def test_the_tables_are_long_and_have_every_kind_of_field():
    assert len(REFUSED) + len(TEXTS) + len(ACCEPTED) + len(COMMANDS) + len(REFUSED_COMMANDS) >= 120
    addressed = {step for case in REFUSED for step in case.path.split(".")}
    for field in FIELDS:
        assert field in addressed, field
