"""A scenario as the statements that the program for ns-3 reads."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dumbbell import Scenario
from dumbbell.errors import refusal
from dumbbell.quantities import bits_per_second, nanoseconds

from . import counterparts, differences
from .differences import Difference

ENDLESS = 2**64 - 1

# A queue of ns-3 counts in 32 bits.
UNLIMITED = "4294967295p"

# Unsent data kept in the send buffer, in segments: much to avoid frequent writes, but little if the source stops at a
# stated time, because ns-3 sends everything written before.
AHEAD = 256
AHEAD_OF_STOP = 4

FLOW_QUANTITIES = ("cwnd", "ssthresh", "seq_sent", "seq_acked", "delivered")
LINK_QUANTITIES = ("backlog", "drops")

LARGEST_SEED = 2**32 - 1


@dataclass(frozen=True, kw_only=True)
class FlowTimes:
    """The part of a flow needed to read its observations.

    Parameters
    ----------
    start, stop
        When it starts and stops, ns; a flow without a stop has None.
    mss, segment
        Payload of a segment in the scenario and in ns-3, bytes.
    """

    start: int
    stop: int | None
    mss: int
    segment: int


@dataclass(frozen=True, kw_only=True)
class Described:
    """A scenario ready to be run.

    Parameters
    ----------
    text
        The statements, one a line.
    flows, links
        Names in the order of their numbers.
    times
        One for each flow.
    window
        The measurement window, ns.
    periods
        By quantity: the name of a flow or link and the period its trace is sampled at, ns; None records every change.
    """

    text: str
    flows: tuple[str, ...]
    links: tuple[str, ...]
    times: tuple[FlowTimes, ...]
    window: tuple[int, int]
    periods: Mapping[str, Mapping[str, int | None]]


def described(scenario: Scenario, *, seed: int, run: int, without: Sequence[Difference] = ()) -> Described:
    """Return the description of a scenario for the program, and the differences in which it follows our rule.

    Raises
    ------
    ScenarioError
        ns-3 or its driver cannot express a field.
    """
    data = scenario.resolved()
    nodes = {node["name"]: index for index, node in enumerate(data["nodes"])}
    links = {link["name"]: index for index, link in enumerate(data["links"])}
    flows = {flow["name"]: index for index, flow in enumerate(data["flows"])}
    duration = nanoseconds(data["duration"], "duration")
    window = (
        nanoseconds(data["measure_from"], "measure_from"),
        nanoseconds(data.get("measure_until", data["duration"]), "measure_until"),
    )
    lines = [f"run {duration} {window[0]} {window[1]} {1 + seed % LARGEST_SEED} {run}", f"nodes {len(nodes)}"]
    for link in data["links"]:
        lines += _link(link, nodes)
    times = [_times(flow) for flow in data["flows"]]
    lines += _routes(data, nodes, links)
    lines += [one.statement for one in without]
    for flow, stated in zip(data["flows"], times, strict=True):
        lines += _flow(flow, stated, nodes, differences.CONTROLS if without else counterparts.CONTROLS)
    lines += [f"awaited {flows[name]}" for name in data["stop_when_complete"]]
    periods: dict[str, dict[str, int | None]] = {}
    for quantity, name, period in _probes(data, list(flows), list(links)):
        periods.setdefault(quantity, {})[name] = period
    lines += [
        f"probe {quantity} {(links if quantity in LINK_QUANTITIES else flows)[name]}"
        for quantity, names in periods.items()
        for name in names
    ]
    return Described(
        text="\n".join(lines) + "\n",
        flows=tuple(flows),
        links=tuple(links),
        times=tuple(times),
        window=(window[0], min(window[1], duration)),
        periods=periods,
    )


def _link(link: Mapping[str, Any], nodes: Mapping[str, int]) -> Iterator[str]:
    path = f"links.{link['name']}"
    if link["changes"]:
        raise refusal(f"{path}.changes", link["changes"], "no changes: ns-3's links keep rate and delay")
    if link.get("opportunities"):
        raise refusal(f"{path}.opportunities", "a table", "nothing: links of ns-3 have rates", quoted=False)
    for member in ("outages", "trace", "wifi"):
        if link.get(member):
            raise refusal(f"{path}.{member}", "a table", "nothing: ns-3 has no such links", quoted=False)
    rate = bits_per_second(link["rate"], f"{path}.rate")
    delay = nanoseconds(link["delay"], f"{path}.delay")
    limit = _limit(link["queue"], f"{path}.queue")
    yield f"link {nodes[link['from']]} {nodes[link['to']]} {rate} {delay} {limit}"
    kinds = [impairment["kind"] for impairment in link["impairments"]]
    for kind in kinds:
        if kinds.count(kind) > 1:
            raise refusal(f"{path}.impairments", kind, "each kind once")
    for impairment in link["impairments"]:
        yield _impairment(impairment, f"{path}.impairments")


def _impairment(impairment: Mapping[str, Any], path: str) -> str:
    kind = impairment["kind"]
    if kind == "bernoulli":
        return f"bernoulli {impairment['probability']!r}"
    if kind == "forced":
        return " ".join(["forced", *map(str, impairment["packets"])])
    if kind == "twostate":
        dwells = [str(nanoseconds(impairment[state], f"{path}.{state}")) for state in ("good", "bad")]
        chances = [repr(impairment[name]) for name in ("loss", "good_loss", "change")]
        return " ".join(["twostate", *dwells, *chances, impairment["clock"]])
    raise refusal(path, kind, "bernoulli, forced or twostate")


def _limit(queue: Mapping[str, Any], path: str) -> str:
    """Return the size of a queue of ns-3, which does not hold the packet in service."""
    text = queue["limit"]
    if text == "unlimited":
        return UNLIMITED
    if text.endswith("packets"):
        packets = int(text.split()[0]) - int(queue["counts_service"])
        if packets < 1:
            raise refusal(
                f"{path}.limit", text, "room for a packet: in ns-3 each one passes through the queue"
            )
        return f"{packets}p"
    if queue["counts_service"]:
        raise refusal(f"{path}.counts_service", True, "false with a limit in bytes")
    return f"{counterparts.size(text)}B"


def _routes(data: Mapping[str, Any], nodes: Mapping[str, int], links: Mapping[str, int]) -> Iterator[str]:
    """Yield the routes of all flows; a node of ns-3 has one for each destination."""
    by_name = {link["name"]: link for link in data["links"]}
    routes: dict[tuple[str, str], str] = {}
    for flow in data["flows"]:
        for field, origin, target in (("path", "from", "to"), ("reverse_path", "to", "from")):
            path = flow.get(field) or _shortest(data["links"], flow[origin], flow[target])
            for name in path:
                taken = routes.setdefault((by_name[name]["from"], flow[target]), name)
                if taken != name:
                    stated = f"flows.{flow['name']}.{field}"
                    raise refusal(stated, name, f"{taken}, as for other packets to {flow[target]}")
    for (_, target), name in routes.items():
        yield f"route {nodes[target]} {links[name]}"


def _shortest(links: Sequence[Mapping[str, Any]], origin: str, target: str) -> list[str]:
    """Return the shortest path in hops, of several the one whose links come first."""
    arrived: dict[str, list[str]] = {origin: []}
    waiting = deque([origin])
    while waiting and target not in arrived:
        here = waiting.popleft()
        for link in links:
            if link["from"] == here and link["to"] not in arrived:
                arrived[link["to"]] = [*arrived[here], link["name"]]
                waiting.append(link["to"])
    return arrived[target]


def _times(flow: Mapping[str, Any]) -> FlowTimes:
    path = f"flows.{flow['name']}"
    if "tcp" not in flow:
        raise refusal(f"{path}.source", flow["source"]["kind"], "a source over TCP")
    for field in ("restarts", "reroutes"):
        if flow[field]:
            raise refusal(f"{path}.{field}", flow[field], "none")
    if not isinstance(flow["start"], str):
        raise refusal(f"{path}.start", flow["start"], "a stated time, the same on both sides")
    mss, segment = counterparts.segment_of(flow["tcp"], f"{path}.tcp")
    stop = flow.get("stop")
    return FlowTimes(
        start=nanoseconds(flow["start"], f"{path}.start"),
        stop=None if stop is None else nanoseconds(stop, f"{path}.stop"),
        mss=mss,
        segment=segment,
    )


def _flow(
    flow: Mapping[str, Any], times: FlowTimes, nodes: Mapping[str, int], controls: Mapping[str, str]
) -> Iterator[str]:
    path = f"flows.{flow['name']}"
    control = controls[counterparts.control(flow["tcp"], f"{path}.tcp")]
    for name, value in counterparts.attributes(flow["tcp"], f"{path}.tcp").items():
        yield f"attribute {name} {value}"
    source = flow["source"]
    if source["kind"] == "greedy":
        size = ENDLESS
    elif source["kind"] == "transfer":
        whole, rest = divmod(counterparts.size(source["size"]), times.mss)
        size = whole * times.segment + -(-rest * times.segment // times.mss)
    else:
        raise refusal(f"{path}.source.kind", source["kind"], "greedy or transfer")
    ahead = (AHEAD if times.stop is None else AHEAD_OF_STOP) * times.segment
    stop = -1 if times.stop is None else times.stop
    ends = f"{nodes[flow['from']]} {nodes[flow['to']]}"
    sent = f"{size} {times.segment} {ahead}"
    yield f"flow {ends} {times.start} {stop} {sent} {control} {counterparts.RECOVERY}"


def _probes(
    data: Mapping[str, Any], flows: list[str], links: list[str]
) -> Iterator[tuple[str, str, int | None]]:
    """Yield quantity, name and period of what the driver can record."""
    for index, probe in enumerate(data["probes"]):
        period = None
        if probe.get("period") is not None:
            period = nanoseconds(probe["period"], f"probes.{index}.period")
        for quantity in probe["quantities"]:
            if quantity not in FLOW_QUANTITIES + LINK_QUANTITIES:
                continue
            of_links = quantity in LINK_QUANTITIES
            named = probe["links" if of_links else "flows"]
            for name in (links if of_links else flows) if "*" in named else named:
                yield quantity, name, period
