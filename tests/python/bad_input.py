"""Every kind of bad input once: the change of a valid scenario, and what the error must name.

Read by the tests of scenarios and by those of the command line.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple


class Bad(NamedTuple):
    """One piece of bad input.

    `address` is where the value is set; `field` is a part of the path the error has to name (the last step of
    the address unless stated); `names` are texts the error has to contain.
    """

    what: str
    address: str
    value: Any
    field: str | None = None
    names: tuple[str, ...] = ()
    suggestion: str | None = None

    @property
    def expected_field(self) -> str:
        return self.field if self.field is not None else self.address.rpartition(".")[2]


CASES = [
    # Unknown or misspelt fields and names
    Bad("misspelt field of the scenario", "duratoin", "3 s", suggestion="duration"),
    Bad("unknown field of the scenario", "colour", "red"),
    Bad("misspelt field of a link", "links.r1-r2.dealy", "3 ms", suggestion="delay"),
    Bad("misspelt field of a queue", "links.r1-r2.queue.limits", "3 packets", suggestion="limit"),
    Bad("misspelt field of a flow", "flows.fg.stopp", "3 s", suggestion="stop"),
    Bad("misspelt field of tcp", "flows.fg.tcp.mechanism", "AB", suggestion="mechanisms"),
    Bad("misspelt field of a congestion control", "flows.fg.tcp.congestion.alhpa", 1, suggestion="alpha"),
    Bad("misspelt field of a source", "flows.fg.source.sise", "1 MB"),
    Bad("misspelt field of a probe", "probes.0.quantity", ["cwnd"], suggestion="quantities"),
    Bad("misspelt field of a node", "nodes.h1.tick_fase", "0 s", suggestion="tick_phase"),
    Bad("misspelt variant", "flows.fg.tcp.variant", "newrenno", suggestion="newreno"),
    Bad("misspelt variant, short form", "flows.fg.tcp", "vegass", suggestion="vegas"),
    Bad("misspelt congestion control", "flows.fg.tcp.congestion.name", "vegaz", suggestion="vegas"),
    Bad("misspelt recovery", "flows.fg.tcp.recovery", "newrene", suggestion="newreno"),
    Bad("misspelt rules", "flows.fg.tcp.rules", "bsdd", suggestion="bsd"),
    Bad("misspelt queue", "links.r1-r2.queue.kind", "droptial", suggestion="droptail"),
    Bad("misspelt source", "flows.fg.source.kind", "greddy", suggestion="greedy"),
    Bad(
        "misspelt quantity of a flow", "probes.0.quantities", ["cwmd"], field="quantities", suggestion="cwnd"
    ),
    Bad("quantity of a link asked of a flow", "probes.0.quantities", ["backlog"], field="links"),
    Bad("unknown mechanism", "flows.fg.tcp.mechanisms", "ABX"),
    # Wrong units and types
    Bad("time without a unit", "duration", "5"),
    Bad("time as a bare number", "duration", 5),
    Bad("rate as a time", "links.r1-r2.rate", "5 s", names=("Mbit/s",)),
    Bad("time as a rate", "links.r1-r2.delay", "5 Mbit/s", names=("ms",)),
    Bad("unknown unit", "links.r1-r2.delay", "5 parsecs", names=("ms",)),
    Bad("limit in segments", "links.r1-r2.queue.limit", "5 segments", names=("packets",)),
    Bad("size in packets", "flows.fg.tcp.mss", "2 packets", names=("bytes",)),
    Bad("text for a switch", "flows.fg.tcp.timestamps", "yes", names=("true",)),
    Bad("number for a name", "name", 7),
    Bad("text for a list", "links", "r1-r2"),
    Bad("list for a table", "flows.fg.source", [1, 2]),
    Bad(
        "fraction for a count",
        "links.r1-r2.impairments",
        [{"kind": "forced", "packets": [1.5]}],
        field="packets",
    ),
    # Impossible values
    Bad("zero duration", "duration", "0 s"),
    Bad("zero rate", "links.r1-r2.rate", "0 bit/s"),
    Bad("negative rate", "links.r1-r2.rate", "-1 Mbit/s"),
    Bad("negative delay", "links.r1-r2.delay", "-5 ms"),
    Bad("infinite delay", "links.r1-r2.delay", "inf s"),
    Bad("endless delay", "links.r1-r2.delay", "1e300 s"),
    Bad("queue without room", "links.r1-r2.queue.limit", "0 packets"),
    Bad("policer faster than its link", "links.r1-r2.queue", {"kind": "policer", "rate": "1 Gbit/s"}, "rate"),
    Bad("policer below a packet", "links.r1-r2.queue", {"kind": "policer", "burst": "100 bytes"}, "burst"),
    Bad(
        "thresholds turned round",
        "links.r1-r2.queue",
        {"kind": "red", "minimum": "9 packets", "maximum": "3 packets"},
        "maximum",
    ),
    Bad("target above the interval", "links.r1-r2.queue", {"kind": "codel", "target": "1 s"}, "target"),
    Bad("no flow queues", "links.r1-r2.queue", {"kind": "fqcodel", "queues": 0}, "queues"),
    Bad("half a packet", "links.r1-r2.queue.limit", "1.5 packets"),
    Bad(
        "probability above one",
        "links.r1-r2.impairments",
        [{"kind": "bernoulli", "probability": 1.5}],
        "probability",
    ),
    Bad(
        "negative probability",
        "links.r1-r2.impairments",
        [{"kind": "bernoulli", "probability": -1}],
        "probability",
    ),
    Bad("zero mss", "flows.fg.tcp.mss", "0 bytes"),
    Bad(
        "initial window below one segment", "flows.fg.tcp.initial_window", "0.5 segments", names=("segment",)
    ),
    Bad("receive buffer below one segment", "flows.fg.tcp.receive_buffer", "100 bytes", names=("segment",)),
    Bad(
        "alpha above beta",
        "flows.fg.tcp.congestion",
        {"name": "vegas", "alpha": 4, "beta": 2},
        "alpha",
        ("beta",),
    ),
    Bad("negative gamma", "flows.fg.tcp.congestion", {"name": "vegas", "gamma": -1}, "gamma"),
    Bad("Vegas's switches without Vegas", "flows.fg.tcp.mechanisms", "A", names=("vegas",)),
    Bad("delayed ACK of one segment", "flows.fg.tcp.delayed_ack", {"segments": 1}, "segments"),
    Bad("timer that never ticks", "flows.fg.tcp.timer", {"kind": "bsd", "tick": "0 s"}, "tick"),
    Bad("empty transfer", "flows.fg.source", {"kind": "transfer", "size": "0 bytes"}, "size"),
    Bad("source without a kind", "flows.fg.source", {"size": "1 MB"}, "source", ("transfer",)),
    Bad("scenario without a duration", "duration", None, "duration", ("required",)),
    Bad("link without a rate", "links.r1-r2.rate", None, "links.r1-r2", ("rate",)),
    Bad("flow without a destination", "flows.fg.to", None, "flows.fg", ("to",)),
    Bad("stop before start", "flows.fg", {"start": "3 s", "stop": "2 s"}, "stop", ("start",)),
    Bad("start window turned round", "flows.fg.start", {"uniform": ["3 s", "2 s"]}),
    Bad(
        "stop before the latest start",
        "flows.fg",
        {"start": {"uniform": ["1 s", "3 s"]}, "stop": "2 s"},
        "stop",
    ),
    Bad(
        "measurement that ends before it begins",
        "",
        {"measure_from": "4 s", "measure_until": "3 s"},
        "measure",
    ),
    Bad("measurement after the end", "measure_from", "50 s"),
    Bad("sampling without a period", "probes.1.period", "0 s"),
    Bad("random phase misspelt", "nodes.h1.tick_phase", "rnadom"),
    # References between parts
    Bad("link from an unknown node", "links.r1-r2.from", "r9", names=("r1",)),
    Bad("link to itself", "links.r1-r2.to", "r1"),
    Bad("flow to an unknown node", "flows.fg.to", "h9", names=("h2",)),
    Bad("flow to itself", "flows.fg.to", "h1"),
    Bad("unreachable destination", "links.r1-r2.to", "h1", field="fg", names=("h2",)),
    Bad("no reverse path", "links.r2-r1.to", "h2", field="fg", names=("h1",)),
    Bad("path of an unknown link", "flows.fg.path", ["h1-r1", "r1-r9", "r2-h2"], names=("r1-r9",)),
    Bad("path with a gap", "flows.fg.path", ["h1-r1", "r2-h2"]),
    Bad("path that ends elsewhere", "flows.fg.path", ["h1-r1", "r1-r2"]),
    Bad("probe of an unknown flow", "probes.0.flows", ["gf"], field="flows", names=("fg",)),
    Bad("probe of an unknown link", "probes.1.links", ["r1-r9"], field="links", names=("r1-r2",)),
    Bad(
        "events of connections on a period",
        "probes.0",
        {"quantities": ["tcp_events"], "period": "1 s"},
        "period",
    ),
    Bad("probe of nothing", "probes.0", {"flows": None}, "probes"),
    Bad("flow's quantity of a link only", "probes.1.quantities", ["cwnd"], field="flows"),
    Bad("waiting for an unknown flow", "stop_when_complete", ["gf"], names=("fg",)),
    Bad("two nodes of one name", "nodes", ["h1", "r1", "r2", "h2", "h1"], names=("h1",)),
    Bad("two links of one name", "links.r2-h2.name", "r1-r2", field="links", names=("r1-r2",)),
    Bad(
        "media over TCP",
        "flows.fg.source",
        {"kind": "media", "rate": "1 Mbit/s", "packet": "1000 bytes"},
        "tcp",
    ),
]


def spoilt(data: dict[str, Any], bad: Bad) -> dict[str, Any]:
    """Return the scenario with the bad value; tables are merged into items, ``None`` removes a field."""
    spoilt_data = copy.deepcopy(data)
    *steps, last = bad.address.split(".") if bad.address else [""]
    at: Any = spoilt_data
    for step in steps:
        at = _inner(at, step)
    if isinstance(at, list):
        at = _inner(at, last)
        at.update(bad.value)
    elif last == "":
        at.update(bad.value)
    elif bad.value is None:
        del at[last]
    else:
        at[last] = bad.value
    return _without_none(spoilt_data)


def _inner(at: Any, step: str) -> Any:
    if isinstance(at, list):
        for index, item in enumerate(at):
            if item == step:
                at[index] = {"name": step}
            if at[index] == step or (isinstance(at[index], dict) and at[index].get("name") == step):
                return at[index]
        return at[int(step)]
    if step == "tcp" and isinstance(at.get(step), str):
        at[step] = {"variant": at[step]}
    if step == "congestion":
        at.setdefault(step, {"name": "vegas"})
    return at[step]


def _without_none(table: dict[str, Any]) -> dict[str, Any]:
    return {key: _plain(item) for key, item in table.items() if item is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return _without_none(value)
    return [_plain(item) for item in value] if isinstance(value, list) else value
