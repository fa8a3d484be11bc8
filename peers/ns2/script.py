"""The Tcl script of a scenario, and the parts of scenarios that ns-2 cannot express."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from dumbbell import Flow, Scenario, topologies
from dumbbell.errors import refusal
from dumbbell.quantities import bits_per_second, nanoseconds
from dumbbell.scenario import Tcp

from . import rules
from .rules import AGENTS, Agent

PRELUDE = Path(__file__).with_name("prelude.tcl")
TUNING = "remove-all-packet-headers\nadd-packet-header IP TCP Flags"

# Datagrams need one header more.
DATAGRAMS = " RTP"

# What ns-2 counts in 32 bits.
UNLIMITED_PACKETS = 2**30
LARGEST_SEED = 2**31 - 1

# A generator seeded with s first draws s * DRAWN / 2**32 modulo 1, to a few parts in 2**32.
DRAWN = (1403580 - 810728) - (527612 - 1370589)

# Quantities of flows that a traced variable shows: its name, what is added to its value, and the unit of the sum, which
# is packets either way.
VARIABLES = {
    "cwnd": ("cwnd_", 0.0, "segments"),
    "cwnd_base": ("cwnd_", 0.0, "segments"),
    "ssthresh": ("ssthresh_", 0.0, "segments"),
    "seq_acked": ("ack_", 1.0, "bytes"),
}

# Only Vegas puts the inflation into the traced window.
INFLATED = ("vegas",)


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A trace that the script records.

    Parameters
    ----------
    quantity
        As a probe names it.
    name
        Of the flow or link.
    file
        Where the script writes it.
    variable
        The traced variable, or the empty text.
    shift, factor
        The quantity is the traced value plus the one times the other.
    first
        Its value when the flow starts; None if that is recorded.
    """

    quantity: str
    name: str
    file: str
    variable: str = ""
    shift: float = 0.0
    factor: float = 1.0
    first: float | None = None


@dataclass(frozen=True, kw_only=True)
class Script:
    """A script, and what its reader has to know of the scenario.

    Parameters
    ----------
    text
        The script.
    scenario
        The scenario, resolved.
    traces
        What it records.
    counts_links
        Whether it counts what passes the links.
    """

    text: str
    scenario: Mapping[str, Any]
    traces: tuple[Trace, ...]
    counts_links: bool

    @classmethod
    def of(cls, scenario: Scenario, *, seed: int, run: int, tuned: bool, counts_links: bool) -> Script:
        """Return the script of a scenario.

        Raises
        ------
        ScenarioError
            ns-2 cannot express something in the scenario.
        """
        writer = _Writer(scenario.resolved(), counts_links)
        lines = list(writer.lines(seed, run))
        text = PRELUDE.read_text(encoding="utf-8")
        if tuned:
            has_datagrams = any(flow.get("tcp") is None for flow in writer.scenario["flows"])
            text = f"{TUNING}{DATAGRAMS if has_datagrams else ''}\n{text}".replace(
                "set ns [new Simulator]\n", "set ns [new Simulator]\n$ns use-scheduler Splay\n", 1
            )
        return cls(
            text=text + "\n" + "\n".join(lines) + "\n",
            scenario=writer.scenario,
            traces=tuple(writer.traces),
            counts_links=counts_links,
        )


def seconds(text: str, field: str) -> str:
    """Return a time as a number of seconds that Tcl reads exactly."""
    return seconds_of(nanoseconds(text, field))


def seconds_of(time_ns: int) -> str:
    """Return a time in ns as a number of seconds that Tcl reads exactly."""
    whole, rest = divmod(time_ns, 10**9)
    return f"{whole}.{rest:09}"


def size_bytes(text: str) -> int:
    """Return a size of a resolved scenario, which is written in bytes."""
    return int(text.removesuffix(" bytes"))


def words(items: Sequence[object]) -> str:
    """Return a list as Tcl reads it."""
    return " ".join(_word(item) for item in items)


def _word(item: object) -> str:
    if isinstance(item, Mapping):
        return "{" + words([part for pair in item.items() for part in pair]) + "}"
    if isinstance(item, list | tuple):
        return "{" + words(item) + "}"
    if isinstance(item, bool):
        return str(int(item))
    text = str(item)
    if text and all(character.isalnum() or character in "-_./" for character in text):
        return text
    # Within braces nothing is substituted; a brace or a backslash is not left to chance.
    if any(character in text for character in "{}\\\n"):
        raise refusal("name", text, "names without braces, backslashes and line ends")
    return "{" + text + "}"


class _Writer:
    """Writes the lines of one script."""

    def __init__(self, scenario: dict[str, Any], counts_links: bool) -> None:
        self.scenario = scenario
        self.counts_links = counts_links
        self.traces: list[Trace] = []
        self.links = {link["name"]: link for link in scenario["links"]}
        self.paths = {
            flow["name"]: (
                self._path(flow, "path", flow["from"], flow["to"]),
                self._path(flow, "reverse_path", flow["to"], flow["from"]),
            )
            for flow in scenario["flows"]
        }

    def lines(self, seed: int, run: int) -> Iterator[str]:
        scenario = self.scenario
        probed = _probed(scenario)
        for node in scenario["nodes"]:
            if node["aqt"]:
                raise refusal(f"nodes.{node['name']}.aqt", "true", "false: ns-2 has no queueing-time option")
            yield words(["node", node["name"]])
        for link in scenario["links"]:
            yield from self._link(link)
        for number, link in enumerate(scenario["links"]):
            if ("backlog", link["name"]) in probed or self._has_limit(link):
                if not self.counts_links:
                    continue
                file = f"backlog.{number}"
                yield words(["trace_backlog", link["name"], file])
                self.traces.append(Trace(quantity="backlog", name=link["name"], file=file))
        yield "set variables [open variables w]"
        yield self._seeded(2 * run, seed)
        for number, flow in enumerate(scenario["flows"]):
            yield from self._flow(number, flow, probed)
        # From then on the generator serves loss models and sources of datagrams.
        yield self._seeded(2 * run + 1, seed)
        for link in scenario["links"]:
            yield from self._impairments(link)
        for flow in scenario["flows"]:
            yield from self._start(flow)
        for name in scenario["stop_when_complete"]:
            yield f"set awaited({_plain(name)}) 1"
        yield f'$ns at {seconds(scenario["measure_from"], "measure_from")} "snapshot from"'
        if "measure_until" in scenario:
            yield f'$ns at {seconds(scenario["measure_until"], "measure_until")} "snapshot until"'
        yield f'$ns at {seconds(scenario["duration"], "duration")} "finish"'
        yield "$ns run"

    def _seeded(self, run: int, seed: int) -> str:
        """Return the command that seeds the generator of all random numbers when the run begins."""
        return f'$ns at 0.0 "$defaultRNG seed {1 + (seed * 1_000_003 + run) % (LARGEST_SEED - 1)}"'

    def _has_limit(self, link: Mapping[str, Any]) -> bool:
        return str(link["queue"]["limit"]) != "unlimited"

    def _link(self, link: Mapping[str, Any]) -> Iterator[str]:
        field = f"links.{link['name']}"
        if link["changes"]:
            raise refusal(f"{field}.changes", str(link["changes"]), "no changes of a link", quoted=False)
        if link.get("opportunities"):
            raise refusal(
                f"{field}.opportunities", "a table", "nothing: links of ns-2 have rates", quoted=False
            )
        for member in ("outages", "trace", "wifi"):
            if link.get(member):
                raise refusal(f"{field}.{member}", "a table", "nothing: ns-2 has no such links", quoted=False)
        queue = link["queue"]
        limit = UNLIMITED_PACKETS
        if self._has_limit(link):
            count, unit = queue["limit"].split()
            least = 2 if queue["counts_service"] else 1
            if unit != "packets" or int(count) < least:
                raise refusal(f"{field}.queue.limit", queue["limit"], f"a limit in packets, at least {least}")
            limit = int(count) + (0 if queue["counts_service"] else 1)
        bandwidth = bits_per_second(link["rate"], f"{field}.rate")
        delay = seconds(link["delay"], f"{field}.delay")
        counted = int(self.counts_links)
        yield words(["link", link["name"], link["from"], link["to"], bandwidth, delay, limit, counted])

    def _impairments(self, link: Mapping[str, Any]) -> Iterator[str]:
        field = f"links.{link['name']}.impairments"
        if len(link["impairments"]) > 1:
            raise refusal(field, f"{len(link['impairments'])} of them", "at most one on a link", quoted=False)
        for impairment in link["impairments"]:
            kind = impairment["kind"]
            if kind == "forced":
                if any(link["name"] in back for _, back in self.paths.values()):
                    raise refusal(
                        f"{field}.0.packets",
                        impairment["packets"],
                        "a link without acknowledgements, which ns-2 counts as well",
                    )
                ordinals = [packet - 1 for packet in sorted(impairment["packets"])]
                if not ordinals:
                    continue
                model = f"forced {_word(ordinals)}"
            elif kind == "bernoulli":
                model = f"bernoulli {impairment['probability']!r}"
            elif kind == "twostate":
                if impairment["clock"] != "packet":
                    raise refusal(f"{field}.0.clock", impairment["clock"], "packet, as ns-2 does it")
                dwells = [seconds(impairment[state], f"{field}.0.{state}") for state in ("good", "bad")]
                chances = [repr(impairment[chance]) for chance in ("good_loss", "loss", "change")]
                # Packets meet the model a propagation delay later than with us.
                ends = seconds_of(
                    nanoseconds(impairment["good"], f"{field}.0.good") + nanoseconds(link["delay"], "delay")
                )
                model = " ".join(["two_state", *dwells, *chances, ends])
            else:
                raise refusal(f"{field}.0.kind", kind, "forced, bernoulli or twostate")
            yield f"impair {_word(link['name'])} [{model}]"

    def _path(self, flow: Mapping[str, Any], field: str, start: str, goal: str) -> tuple[str, ...]:
        """Return the links from one node to another, which ns-2 chooses by the number of hops."""
        before: dict[str, str] = {}
        shortest: dict[str, int] = {start: 0}
        waiting = deque([start])
        while waiting:
            here = waiting.popleft()
            for link in self.links.values():
                if link["from"] == here and link["to"] not in shortest:
                    shortest[link["to"]] = shortest[here] + 1
                    before[link["to"]] = link["name"]
                    waiting.append(link["to"])
        path: list[str] = []
        here = goal
        while here != start:
            name = before[here]
            path.append(name)
            here = self.links[name]["from"]
        path.reverse()
        stated = flow.get(field)
        if stated is not None and list(stated) != path:
            raise refusal(
                f"flows.{flow['name']}.{field}", list(stated), f"the shortest path: {', '.join(path)}"
            )
        return tuple(path)

    def _flow(self, number: int, flow: Mapping[str, Any], probed: set[tuple[str, str]]) -> Iterator[str]:
        name, field = flow["name"], f"flows.{flow['name']}"
        for part in ("restarts", "reroutes"):
            if flow[part]:
                raise refusal(f"{field}.{part}", f"{len(flow[part])} of them", "none", quoted=False)
        if not isinstance(flow["start"], str):
            raise refusal(f"{field}.start", str(flow["start"]), "a stated time", quoted=False)
        if flow.get("tcp") is None:
            yield from self._datagrams(flow)
            return
        variant, agent = _agent(flow["tcp"], field)
        table = flow["tcp"]
        mss = size_bytes(table["mss"])
        settings = _settings(table, agent, f"{field}.tcp", mss)
        sink, sink_settings = _sink(table, agent, field)
        yield words(
            [
                "connection", name, flow["from"], flow["to"], agent.agent, sink, settings, sink_settings,
                _segments(table["initial_ssthresh"], mss),
                self._phase(flow),
            ]
        )  # fmt: skip
        variables = []
        for quantity, (variable, shift, unit) in VARIABLES.items():
            hidden = "cwnd_base" if variant in INFLATED else "cwnd"
            if (quantity, name) not in probed or quantity == hidden:
                continue
            variables.append(variable)
            first = {
                "cwnd_": _segments(table["initial_window"], mss),
                "ssthresh_": _segments(table["initial_ssthresh"], mss),
                "ack_": -1,
            }[variable]
            factor = float(mss) if unit == "bytes" else 1.0
            self.traces.append(
                Trace(
                    quantity=quantity,
                    name=name,
                    file="variables",
                    variable=variable,
                    shift=shift,
                    factor=factor,
                    first=float(first),
                )
            )
        if variables:
            yield f"trace_variables {_word(name)} $variables {_word(variables)}"
        if ("seq_sent", name) in probed:
            file = f"sent.{number}"
            first_link = self.paths[name][0][0]
            yield f"trace_packets {_word(first_link)} [open {file} w]"
            self.traces.append(Trace(quantity="seq_sent", name=name, file=file, factor=float(mss)))

    def _phase(self, flow: Mapping[str, Any]) -> int:
        """Return the seed with which the agent's clock ticks at the node's phase; 0 leaves it to chance."""
        node = next(node for node in self.scenario["nodes"] if node["name"] == flow["from"])
        if node["tick_phase"] == "random":
            return 0
        tick = nanoseconds(flow["tcp"]["timer"]["granularity"], "granularity")
        phase = nanoseconds(node["tick_phase"], f"nodes.{node['name']}.tick_phase")
        # The agent ticks when the time plus what it drew is a multiple of the tick.
        drawn = (-phase % tick) / tick
        step = DRAWN / 2**32
        candidates = (round((drawn + turns) / step) for turns in range(1, 200))
        return min(candidates, key=lambda seed: abs(seed * step % 1.0 - drawn))

    def _datagrams(self, flow: Mapping[str, Any]) -> Iterator[str]:
        name, source, field = flow["name"], flow["source"], f"flows.{flow['name']}.source"
        kind = source["kind"]
        if kind not in ("cbr", "poisson"):
            raise refusal(f"{field}.kind", kind, "cbr or poisson")
        packet = size_bytes(source["packet"])
        rate = bits_per_second(source["rate"], f"{field}.rate")
        if kind == "cbr":
            if source["jitter"] > 0:
                raise refusal(f"{field}.jitter", source["jitter"], "0")
            generator = "CBR"
            settings: dict[str, object] = {"packetSize_": packet, "rate_": rate, "random_": 0}
        else:
            # Bursts of a packet each, sent in no time, with exponential pauses.
            gap = 8 * packet / rate
            generator = "Exponential"
            settings = {"packetSize_": packet, "burst_time_": 0, "idle_time_": repr(gap), "rate_": 10**15}
        stop = flow.get("stop")
        yield words(
            [
                "datagrams", name, flow["from"], flow["to"], generator, packet, settings,
                seconds(flow["start"], "start"), seconds(stop, "stop") if stop else "",
            ]
        )  # fmt: skip

    def _start(self, flow: Mapping[str, Any]) -> Iterator[str]:
        if flow.get("tcp") is None:
            return
        name, source, field = flow["name"], flow["source"], f"flows.{flow['name']}"
        stop = flow.get("stop")
        packets: object = ""
        if source["kind"] == "transfer":
            size = size_bytes(source["size"])
            mss = size_bytes(flow["tcp"]["mss"])
            if size % mss:
                raise refusal(f"{field}.source.size", source["size"], f"a multiple of the mss of {mss} bytes")
            packets = size // mss
            yield words(["note_completion", name])
        elif source["kind"] != "greedy":
            raise refusal(f"{field}.source.kind", source["kind"], "greedy or transfer")
        yield words(
            [
                "transmit",
                name,
                seconds(flow["start"], "start"),
                seconds(stop, "stop") if stop else "",
                packets,
            ]
        )


def _plain(name: str) -> str:
    """Return a name as the index of an array in the text of a command."""
    if any(character in name for character in '()$[]{}"\\ \t\n;'):
        raise refusal("stop_when_complete", name, "names without brackets, quotes and blanks")
    return name


def _probed(scenario: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Return what probes record: pairs of a quantity and the name of a flow or link."""
    found: set[tuple[str, str]] = set()
    for probe in scenario["probes"]:
        for part in ("flows", "links"):
            named = probe.get(part, [])
            names = [item["name"] for item in scenario[part]] if "*" in named else named
            found.update((quantity, name) for quantity in probe["quantities"] for name in names)
    return found


def _segments(window: str, mss: int) -> int:
    """Return a window in whole segments."""
    if window == "unlimited":
        return UNLIMITED_PACKETS
    amount, unit = window.split()
    segments = float(amount) if unit == "segments" else size_bytes(window) / mss
    return math.floor(segments)


@lru_cache(maxsize=256)
def _expected(variant: str) -> dict[str, Any]:
    """Return the resolved ``tcp`` table of ns-2's rules for a variant."""
    shape = topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="1 ms")
    flow = Flow(name="f", from_="s1", to="d1", tcp=Tcp.from_dict(rules.tcp(variant)))
    table: dict[str, Any] = shape.scenario(rules="classic", duration="1 s", flows=[flow]).resolved()["flows"][
        0
    ]["tcp"]
    return table


# Fields that a setting of every agent follows.
FREE = (
    "mss", "headers.data", "headers.ack", "initial_window", "initial_ssthresh", "receive_buffer", "delayed_ack",
    "timer.granularity", "timer.minimum", "timer.maximum", "timer.initial",
)  # fmt: skip


def _agent(table: Mapping[str, Any], field: str) -> tuple[str, Agent]:
    """Return the variant a resolved ``tcp`` table states and its agent; refuse what ns-2 does otherwise."""
    congestion, recovery = table["congestion"]["name"], table["recovery"]["kind"]
    variant = recovery.removeprefix("ns2") if congestion == "reno" else congestion
    if variant not in AGENTS:
        raise refusal(f"{field}.tcp.congestion", congestion, f"one of {', '.join(AGENTS)}", names=AGENTS)
    agent = AGENTS[variant]
    free = {*FREE, *agent.free}
    expected = dict(_flat(_expected(variant)))
    for path, value in _flat(table):
        if path not in expected:
            raise refusal(f"{field}.tcp.{path}", _shown(value), "nothing: ns-2 has no such rule")
    for path, wanted in expected.items():
        found: Any = table
        for part in path.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        if found != wanted and path not in free:
            raise refusal(f"{field}.tcp.{path}", _shown(found), f"{_shown(wanted)}, as ns-2 does it")
    return variant, agent


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping) and key != "delayed_ack":
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _settings(table: Mapping[str, Any], agent: Agent, field: str, mss: int) -> dict[str, object]:
    """Return the instance variables of an agent."""
    header = size_bytes(table["headers"]["data"])
    timer = table["timer"]
    settings: dict[str, object] = {
        "packetSize_": mss + header,
        "useHeaders_": False,
        "syn_": False,
        "delay_growth_": False,
        "window_": _segments(table["receive_buffer"], mss),
        "windowInit_": _segments(table["initial_window"], mss),
        "tcpTick_": seconds(timer["granularity"], f"{field}.timer.granularity"),
        "minrto_": seconds(timer["minimum"], f"{field}.timer.minimum"),
        "maxrto_": seconds(timer["maximum"], f"{field}.timer.maximum"),
        "rtxcur_init_": seconds(timer["initial"], f"{field}.timer.initial"),
    }
    for path, setting in agent.free.items():
        found: Any = table
        for part in path.split("."):
            found = found[part]
        if isinstance(found, float):
            if found != round(found):
                raise refusal(f"{field}.{path}", found, "a whole number, as ns-2 has it")
            found = round(found)
        settings[setting] = found
    return settings


def _sink(table: Mapping[str, Any], agent: Agent, field: str) -> tuple[str, dict[str, object]]:
    """Return the class of the receiver and its instance variables."""
    settings: dict[str, object] = {"packetSize_": size_bytes(table["headers"]["ack"])}
    delayed = table["delayed_ack"]
    if delayed == "off":
        return agent.sink, settings
    if delayed["segments"] != 2 or delayed["on_tick"]:
        raise refusal(f"{field}.tcp.delayed_ack", str(delayed), "two segments and no ticks", quoted=False)
    # Without a handshake the first packet is data like any other.
    settings["SYN_immediate_ack_"] = False
    settings["interval_"] = seconds(delayed["timer"], f"{field}.tcp.delayed_ack.timer")
    return f"{agent.sink}/DelAck", settings
