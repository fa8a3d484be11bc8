"""A labelled drawing of any network: routers in a row, hosts around the router they are at."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dumbbell import plots
from dumbbell.errors import refusal
from dumbbell.parts import plain
from dumbbell.plots.look import literal
from dumbbell.scenario import Data, Scenario
from dumbbell.topologies.network import Topology

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Pair = tuple[str, str]

# Inches of the drawing.
BETWEEN_ROUTERS = 2.3
BETWEEN_HOSTS = 0.62
TO_A_ROW_OF_HOSTS = 1.3
TO_A_COLUMN_OF_HOSTS = 1.9
LINE = 0.17
LETTER = 0.078

# Of more senders, or receivers, at one router the first two and the last are drawn.
MOST_OF_A_KIND = 4

INK, PALE, WIRE, TINT = "#333333", "#555555", "#9A9A9A", "#CFE8F7"

# Directions of the links to and from the router, for a host on each side of it.
ARROWS = {"left": "→←", "right": "←→", "above": "↓↑", "below": "↑↓"}


@dataclass(frozen=True)
class _Network:
    """The routers in their row, the router each host is at, and the links by the nodes they join."""

    routers: tuple[str, ...]
    router_of: Mapping[str, str]
    stamping: frozenset[str]
    links: Mapping[Pair, Data]

    def hops(self) -> dict[Pair, None]:
        """Return the routers that are joined, the left one first."""
        pairs: dict[Pair, None] = {}
        for start, end in self.links:
            if start in self.routers and end in self.routers:
                left, right = sorted((start, end), key=self.routers.index)
                pairs[left, right] = None
        return pairs


@dataclass(frozen=True)
class _Words:
    """Texts above and below the line between two routers, at the line of a host, and below the figure."""

    hops: Mapping[Pair, tuple[str, str]]
    access: Mapping[str, Mapping[str, Pair]]
    caption: str


@dataclass(frozen=True)
class _Place:
    """The position of a host; a host without a name represents those omitted."""

    host: str
    x: float
    y: float
    side: str


def draw(
    network: Topology | Scenario,
    *,
    labels: Mapping[str, str] | None = None,
    notes: Mapping[str, str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw a network: routers as squares in a row, hosts as circles around the router they are at.

    Rates and delays are at the links; if the directions differ, each has its arrow. Properties common to most
    access links, and all queues between routers, are listed once below. Links with losses are dashed, and nodes
    that stamp queueing times are tinted. Of more than four senders or receivers at one router, the first two and
    the last are drawn. Links are drawn in their initial state, with the times of their changes.

    Parameters
    ----------
    network
        A topology, or a scenario whose nodes and links are drawn. A node with one neighbour is a host,
        unless that neighbour is such a node too; all others are routers.
    labels
        Labels of hosts, by name, such as their traffic.
    notes
        Texts below the line between two routers, by the name of a link between them.
    title
        Text over the drawing.

    Returns
    -------
    Figure
        A matplotlib figure; `dumbbell.plots.to_svg` converts it to text.

    Raises
    ------
    ScenarioError
        There is no node, a label is for no host, or a note for no link between routers.

    Examples
    --------
    >>> from dumbbell import topologies
    >>> shape = topologies.dumbbell(pairs=1, rate="1.6 Mbit/s", delay="50 ms")
    >>> figure = draw(shape, labels={"s1": "Vegas"})
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['1.6 Mbit/s, 50 ms', 'r1', 'r2', 's1', 'Vegas', 'd1',
     'access links: 100 Mbit/s, 0.1 ms; queues between routers: 100 packets']
    """
    if not isinstance(network, Topology | Scenario):
        raise refusal("network", type(network).__name__, "a Topology or a Scenario", quoted=False)
    seen = _read(network)
    if not seen.routers:
        raise refusal("nodes", 0, "at least one node")
    between = {seen.links[way]["name"] for way in seen.links if set(way) <= set(seen.routers)}
    for field, given, known in (("labels", labels, set(seen.router_of)), ("notes", notes, between)):
        for name in given or {}:
            if name not in known:
                raise refusal(field, name, ", ".join(sorted(known)), names=known)
    words = _words(seen, notes or {})
    x_of = _row_of_routers(seen, words)
    places = [place for router in seen.routers for place in _around(seen, router, x_of[router])]
    return _painted(seen, words, x_of, places, labels or {}, title)


# --- network ---


def _read(network: Topology | Scenario) -> _Network:
    nodes = [{"name": node} if isinstance(node, str) else node for node in plain(network.nodes, "nodes")]
    links = {(link["from"], link["to"]): link for link in plain(network.links, "links")}
    neighbours: dict[str, list[str]] = {node["name"]: [] for node in nodes}
    for pair in links:
        for one, other in (pair, pair[::-1]):
            if other not in neighbours[one]:
                neighbours[one].append(other)
    router_of = {
        name: others[0]
        for name, others in neighbours.items()
        if len(others) == 1 and len(neighbours[others[0]]) > 1
    }
    routers = [name for name in neighbours if name not in router_of]
    return _Network(
        routers=_in_a_row({name: [n for n in neighbours[name] if n in routers] for name in routers}),
        router_of=router_of,
        stamping=frozenset(node["name"] for node in nodes if node.get("aqt")),
        links=links,
    )


def _in_a_row(joined: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return routers from one end to the other if they are a chain, else as they come."""
    row = [name for name, others in joined.items() if len(others) <= 1][:1]
    while row and (onward := [name for name in joined[row[-1]] if name not in row]):
        row.append(onward[0])
    return tuple(row) if len(row) == len(joined) else tuple(joined)


# --- texts ---


def _words(seen: _Network, notes: Mapping[str, str]) -> _Words:
    noted = {frozenset(way): notes[link["name"]] for way, link in seen.links.items() if link["name"] in notes}
    both = {pair: _both_ways(seen, pair) for pair in seen.hops()}
    queues = {fields["queue"] for fields in both.values()}
    everywhere = len(queues) == 1 and all(there == back for there, back in queues)
    common = next(iter(queues)) if everywhere else ("", "")
    hops = {}
    for pair, fields in both.items():
        rates = tuple(
            ", ".join(filter(None, way)) for way in zip(fields["rate"], fields["delay"], strict=True)
        )
        below = [
            _both_directions(fields["queue"], "→←") if fields["queue"] != common else "",
            _both_directions(fields["losses"], "→←"),
            _both_directions(fields["changes"], "→←"),
            noted.get(frozenset(pair), ""),
        ]
        hops[pair] = (_both_directions((rates[0], rates[1]), "→←"), "\n".join(filter(None, below)))
    access = {host: _both_ways(seen, (host, router)) for host, router in seen.router_of.items()}
    usual = _usual(list(access.values()))
    own = {
        host: {name: ways for name, ways in fields.items() if any(ways) and ways != usual.get(name)}
        for host, fields in access.items()
    }
    shared = ", ".join(filter(None, (_in_words(ways) for ways in usual.values())))
    unless = " unless stated" if any(own.values()) else ""
    caption = [
        f"access links: {shared}{unless}" if shared else "",
        f"queues between routers: {common[0].removeprefix('queue ')}" if any(common) else "",
        "tinted nodes stamp queueing times" if seen.stamping else "",
    ]
    return _Words(hops=hops, access=own, caption="; ".join(filter(None, caption)))


def _both_ways(seen: _Network, pair: Pair) -> dict[str, Pair]:
    """Return the descriptions of the links between two nodes, forward and back."""
    ways = [seen.links.get(way) for way in (pair, pair[::-1])]
    router_to_router = set(pair) <= set(seen.routers)
    said = [
        {
            "rate": way["rate"],
            "delay": way["delay"],
            "queue": _queue(way.get("queue"), unlimited="queue unlimited" if router_to_router else ""),
            "losses": _losses(way.get("impairments")),
            "changes": _changes(way.get("changes")),
        }
        if way is not None
        else {}
        for way in ways
    ]
    return {name: (said[0].get(name, ""), said[1].get(name, "")) for name in said[0] or said[1]}


def _queue(queue: Any, unlimited: str) -> str:
    stated = {"kind": queue} if isinstance(queue, str) else queue or {}
    if stated.get("kind", "droptail") != "droptail":
        return f"queue {stated['kind']}"
    limit = stated.get("limit", "unlimited")
    return unlimited if limit == "unlimited" else f"queue {limit}"


def _losses(impairments: Any) -> str:
    kinds = [item if isinstance(item, str) else item["kind"] for item in impairments or []]
    return f"{' and '.join(kinds)} loss" if kinds else ""


def _changes(changes: Any) -> str:
    return f"changes at {', '.join(change['at'] for change in changes)}" if changes else ""


def _usual(said: Sequence[Mapping[str, Pair]]) -> dict[str, Pair]:
    """Return, for each quantity, the value shared by at least half of the hosts, if any."""
    usual = {}
    for name in said[0] if said else ():
        value, count = Counter(fields[name] for fields in said).most_common(1)[0]
        if 2 * count >= len(said):
            usual[name] = value
    return usual


def _both_directions(ways: Pair, arrows: str) -> str:
    """Describe both directions of a link: once if they are equal, otherwise each with its arrow."""
    if ways[0] == ways[1]:
        return ways[0]
    return "\n".join(f"{arrow} {way}" for arrow, way in zip(arrows, ways, strict=True) if way)


def _in_words(ways: Pair) -> str:
    if ways[0] == ways[1]:
        return ways[0]
    directions = ("to the router", "from the router")
    return ", ".join(f"{way} {direction}" for way, direction in zip(ways, directions, strict=True) if way)


# --- layout ---


def _side(seen: _Network, router: str) -> str:
    """Return the positions of the hosts of a router: beside it at the ends of the row, otherwise above and below."""
    if len(seen.routers) == 1:
        return ""
    return {seen.routers[0]: "left", seen.routers[-1]: "right"}.get(router, "")


def _kinds(seen: _Network, router: str) -> tuple[list[str], list[str]]:
    """Return the senders and the receivers at a router that are drawn, with an empty name for a gap."""
    here = [host for host, at in seen.router_of.items() if at == router]
    receivers = [host for host in here if host.startswith("d")]
    return _few([host for host in here if host not in receivers]), _few(receivers)


def _few(hosts: list[str]) -> list[str]:
    return [*hosts[:2], "", hosts[-1]] if len(hosts) > MOST_OF_A_KIND else hosts


def _row_of_routers(seen: _Network, words: _Words) -> dict[str, float]:
    """Return the places of the routers, far enough apart for hosts and texts between them."""
    width = [
        0.0 if _side(seen, router) else BETWEEN_HOSTS * max(map(len, _kinds(seen, router)), default=0)
        for router in seen.routers
    ]
    x_of = {seen.routers[0]: 0.0}
    for index, pair in enumerate(zip(seen.routers, seen.routers[1:], strict=False)):
        text = max(map(_text_width, words.hops.get(pair, ())), default=0.0) + 0.7
        x_of[pair[1]] = x_of[pair[0]] + max(BETWEEN_ROUTERS, text, (width[index] + width[index + 1]) / 2)
    return x_of


def _around(seen: _Network, router: str, x: float) -> list[_Place]:
    """Return the places of the hosts at a router."""
    senders, receivers = _kinds(seen, router)
    side = _side(seen, router)
    if side:
        # Hosts of a pair from left to right face each other.
        column = senders + receivers if side == "left" else receivers + senders
        away = x + (-TO_A_COLUMN_OF_HOSTS if side == "left" else TO_A_COLUMN_OF_HOSTS)
        middle = (len(column) - 1) / 2
        return [_Place(host, away, (middle - i) * BETWEEN_HOSTS, side) for i, host in enumerate(column)]
    return [
        _Place(host, x + (i - (len(row) - 1) / 2) * BETWEEN_HOSTS, y, name)
        for row, y, name in ((senders, TO_A_ROW_OF_HOSTS, "above"), (receivers, -TO_A_ROW_OF_HOSTS, "below"))
        for i, host in enumerate(row)
    ]


def _text_width(text: str) -> float:
    return LETTER * max((len(line) for line in text.split("\n")), default=0)


# --- drawing ---


def _painted(
    seen: _Network,
    words: _Words,
    x_of: Mapping[str, float],
    places: Sequence[_Place],
    labels: Mapping[str, str],
    title: str | None,
) -> Figure:
    beside = {
        side: max([0.0, *(_text_width(labels.get(place.host, "")) for place in places if place.side == side)])
        for side in ("left", "right")
    }
    xs = [*x_of.values(), *(place.x for place in places)]
    left, right = min(xs) - 0.4 - beside["left"], max(xs) + 0.4 + beside["right"]
    caption = textwrap.wrap(words.caption, max(20, int((right - left) / LETTER)))
    below = max(0.3 + LINE * (1 + text.count("\n")) for _, text in [*words.hops.values(), ("", "")])
    top = max([0.6, *(place.y + 0.5 for place in places), *(_arc(x_of, pair) + 0.5 for pair in words.hops)])
    bottom = min([-below, *(place.y - 0.5 for place in places)])
    floor = bottom - LINE * (len(caption) + 0.5 if caption else 0)
    figure, grid = plots.figure(width=right - left, height=top - floor + (0.3 if title else 0.0))
    ax: Axes = grid[0, 0]
    ax.set_axis_off()
    ax.grid(visible=False)
    ax.set_xlim(left, right)
    ax.set_ylim(floor, top)
    for pair, (above, under) in words.hops.items():
        _paint_hop(ax, seen, pair, x_of, above, under)
    for router, x in x_of.items():
        _paint_node(ax, seen, router, x, 0.0, "square,pad=0.55")
    for place in places:
        _paint_host(ax, seen, words, place, x_of, labels.get(place.host, ""))
    if caption:
        ax.text(
            (left + right) / 2,
            bottom,
            literal("\n".join(caption)),
            ha="center",
            va="top",
            fontsize=8,
            color=PALE,
        )
    if title:
        ax.set_title(literal(title), fontsize=10)
    return figure


def _arc(x_of: Mapping[str, float], pair: Pair) -> float:
    """Return the height of the line between two routers, which passes over routers between them."""
    order = list(x_of)
    neighbours = order.index(pair[1]) - order.index(pair[0]) == 1
    return 0.0 if neighbours else 0.5 + 0.1 * (x_of[pair[1]] - x_of[pair[0]])


def _paint_hop(
    ax: Axes, seen: _Network, pair: Pair, x_of: Mapping[str, float], above: str, under: str
) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    (start, end), height = (x_of[pair[0]], x_of[pair[1]]), _arc(x_of, pair)
    middle = (start + end) / 2
    colour, dashes = (plots.COLOURS[1], "--") if _loses(seen, pair) else (plots.COLOURS[0], "-")
    path = Path([(start, 0.0), (middle, 2 * height), (end, 0.0)], [Path.MOVETO, Path.CURVE3, Path.CURVE3])
    ax.add_patch(PathPatch(path, fill=False, edgecolor=colour, linewidth=2.6, linestyle=dashes, zorder=1))
    ax.text(middle, height + 0.09, literal(above), ha="center", va="bottom", fontsize=9, color=INK)
    if under:
        ax.text(middle, height - 0.09, literal(under), ha="center", va="top", fontsize=8, color=PALE)


def _paint_host(
    ax: Axes, seen: _Network, words: _Words, place: _Place, x_of: Mapping[str, float], label: str
) -> None:
    beside = place.side in ("left", "right")
    if not place.host:
        ax.text(place.x, place.y, "⋮" if beside else "…", ha="center", va="center", fontsize=12, color=PALE)
        return
    router = seen.router_of[place.host]
    lossy = _loses(seen, (place.host, router))
    ax.plot(
        [place.x, x_of[router]],
        [place.y, 0.0],
        color=plots.COLOURS[1] if lossy else WIRE,
        linestyle="--" if lossy else "-",
        linewidth=1.3,
        zorder=1,
    )
    own = [_both_directions(ways, ARROWS[place.side]) for ways in words.access[place.host].values()]
    if beside and len(own) > 1 and "\n" not in own[0] + own[1]:
        own[:2] = [f"{own[0]}, {own[1]}"]
    if own:
        x, y = place.x + 0.4 * (x_of[router] - place.x), 0.6 * place.y
        paper = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        ax.text(
            x,
            y,
            literal("\n".join(own)),
            ha="center",
            va="center",
            fontsize=7,
            color=PALE,
            bbox=paper,
            zorder=2,
        )
    _paint_node(
        ax, seen, place.host, place.x, place.y, "circle,pad=0.35" if len(place.host) < 4 else "round,pad=0.35"
    )
    if label:
        x, y, across, up = {
            "left": (place.x - 0.3, place.y, "right", "center"),
            "right": (place.x + 0.3, place.y, "left", "center"),
            "above": (place.x, place.y + 0.25, "center", "bottom"),
            "below": (place.x, place.y - 0.25, "center", "top"),
        }[place.side]
        ax.text(x, y, literal(label), ha=across, va=up, fontsize=8, color=INK)


def _paint_node(ax: Axes, seen: _Network, name: str, x: float, y: float, shape: str) -> None:
    fill = TINT if name in seen.stamping else "white"
    box = {"boxstyle": shape, "facecolor": fill, "edgecolor": INK}
    ax.text(x, y, literal(name), ha="center", va="center", fontsize=9, color=INK, bbox=box, zorder=3)


def _loses(seen: _Network, pair: Pair) -> bool:
    return any(seen.links[way].get("impairments") for way in (pair, pair[::-1]) if way in seen.links)
