"""Names for people: what columns of results, addresses of scenarios and their values are called in figures and tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from dumbbell.judge.quantity import Quantity
from dumbbell.results import COLUMNS

_OF = {
    "rtt": "RTT",
    "delay": "one-way delay",
    "fct": "completion time",
    "slowdown": "slowdown",
    "wait": "queueing delay",
}
_PARTS = {
    "mean": "mean {}",
    "min": "minimum {}",
    "max": "maximum {}",
    "p50": "median {}",
    "p95": "95th percentile of {}",
    "p99": "99th percentile of {}",
}

LABELS: Mapping[str, str] = {
    **{f"{stem}_{part}": words.format(name) for stem, name in _OF.items() for part, words in _PARTS.items()},
    "bytes_delivered": "data delivered",
    "segments_retransmitted": "retransmissions",
    "bytes_retransmitted": "data retransmitted",
    "completion": "completion time",
    "connections_given_up": "connections given up",
    "fct": "completion time",
    "bitrate_mean": "mean bitrate",
    "bitrate_switches": "bitrate switches",
    "rebuffering": "stalled time",
    "startup": "time to start",
    "messages_late": "late messages",
    "messages_skipped": "skipped messages",
    "drops_queue": "drops at a full queue",
    "drops_early": "early drops",
    "drops_policer": "policer drops",
    "drops_impairment": "losses by impairments",
    "marks": "ECN marks",
    "backlog_mean": "mean queue length",
    "backlog_max": "maximum queue length",
    "wait_l_mean": "mean delay of the L4S queue",
    "wait_l_p99": "99th percentile of L4S delay",
    "wait_c_mean": "mean delay of the classic queue",
    "wait_c_p99": "99th percentile of classic delay",
    "cwnd": "congestion window",
    "cwnd_base": "congestion window",
    "ssthresh": "slow-start threshold",
    "flight_size": "data in flight",
    "srtt": "smoothed RTT",
    "rto": "retransmission timeout",
    "rtt": "RTT",
    "backlog": "queue length",
    "drops": "packets dropped so far",
    "wait": "queueing delay",
    "tcp": "congestion control",
    "loss": "loss probability",
    "name": "flow",
}
"""Labels of columns without the suffix of their unit, and of probed quantities; others are their name with spaces."""

SUFFIXES: Mapping[str, str] = {
    "_kbps": "kbit/s",
    "_mbps": "Mbit/s",
    "_gbps": "Gbit/s",
    "_bps": "bit/s",
    "_us": "µs",
    "_ms": "ms",
    "_s": "s",
    "_bytes": "bytes",
    "_packets": "packets",
    "_segments": "segments",
    "_bdp": "BDP",
    "_percent": "%",
}
"""Units that end the names of columns."""

FIELDS: Mapping[tuple[str, str], str] = {
    ("links", "queue.limit"): "buffer",
    ("links", "queue.kind"): "queue discipline",
    ("links", "queue"): "queue discipline",
    ("links", "rate"): "link rate",
    ("links", "delay"): "link delay",
    ("links", "probability"): "loss probability",
    ("flows", "tcp"): "congestion control",
    ("flows", "tcp.variant"): "congestion control",
    ("flows", "tcp.congestion"): "congestion control",
    ("flows", "tcp.recovery"): "loss recovery",
    ("flows", "start"): "start",
    ("flows", "source.rate"): "source rate",
    ("flows", "source.size"): "transfer size",
}
"""Labels of fields of a scenario, by the list they are in and the end of their address."""

UNITS: Mapping[str, Sequence[tuple[float, str]]] = {
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")),
}
"""For a unit of results, the units to show it in, each from this size of the largest value on."""

PROBES: Mapping[str, str] = {
    "cwnd": "segments",
    "cwnd_base": "segments",
    "ssthresh": "segments",
    "flight_size": "segments",
    "receive_window": "segments",
    "srtt": "s",
    "rto": "s",
    "rtt": "s",
    "wait": "s",
    "pacing_rate": "bit/s",
    "delivery_rate": "bit/s",
    "goodput": "bit/s",
    "delivered": "bytes",
    "backlog": "packets",
}
"""Units of probed quantities; ``goodput`` is that of ``delivered``."""

_SHARES = frozenset({"utilization"})
_COLUMNS = {column.name: column for table in ("transfers", "flows", "links") for column in COLUMNS[table]}


def without_suffix(column: str) -> tuple[str, str | None]:
    """Return the name of a column without the suffix of its unit, and the unit."""
    for suffix, unit in SUFFIXES.items():
        if column.endswith(suffix) and len(column) > len(suffix):
            return column.removesuffix(suffix), unit
    return column, None


def label_of(column: str) -> str:
    """Return what a column or a probed quantity is called, without its unit.

    Examples
    --------
    >>> label_of("rtt_p95_s"), label_of("links.r1-r2.queue.limit"), label_of("topology.rate")
    ('95th percentile of RTT', 'buffer', 'link rate')
    """
    head, _, rest = column.partition(".")
    if rest and head in ("links", "flows", "topology"):
        # A shape states fields of its links, with no name between.
        listed = "links" if head == "topology" else head
        for (group, end), label in FIELDS.items():
            if group == listed and f".{rest}".endswith(f".{end}"):
                return label
    # `own.` precedes the quantities of a congestion control of the user.
    last = column.rpartition(".")[2]
    stem, _ = without_suffix(last)
    return LABELS.get(last) or LABELS.get(stem) or stem.replace("_", " ")


def labels_of(columns: Iterable[str], given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the labels of some columns; those that would be equal also name the link or flow.

    Parameters
    ----------
    columns
        The columns.
    given
        Labels of the user's choice.
    """
    listed = list(dict.fromkeys(columns))
    found = {column: (given or {}).get(column) or label_of(column) for column in listed}
    counts = Counter(found.values())
    for column in listed:
        parts = column.split(".")
        if counts[label_of(column)] > 1 and len(parts) > 2 and column not in (given or {}):
            found[column] = f"{label_of(column)} of {parts[1]}"
    return found


def quantity_of(column: str, largest: float) -> Quantity:
    """Return the quantity of a column of results, in a unit that suits its values.

    Parameters
    ----------
    column
        A column of flows, links or transfers, a probed quantity, or a parameter of the user's.
    largest
        The largest absolute value, in the unit of the column.

    Examples
    --------
    >>> quantity_of("goodput_bps", 9.4e6).title, quantity_of("wait_mean_s", 0.02).title
    ('goodput [Mbit/s]', 'mean queueing delay [ms]')
    """
    label, known = label_of(column), _COLUMNS.get(column)
    if column in _SHARES:
        return Quantity(column=column, label=label, unit="%", most=1.0)
    known_unit = known.unit if known is not None else PROBES.get(column)
    if known_unit is None:
        # A parameter may be anything, in the unit that its name states.
        unit = without_suffix(column)[1]
        return Quantity(column=column, label=f"{label} [{unit}]" if unit else label, least=float("-inf"))
    unit = unit_for(known_unit, largest) if known_unit in UNITS else known_unit
    # Every quantity of the results is a size, a count or a time.
    return Quantity(column=column, label=label, unit="" if unit == "-" or unit in label else unit)


def unit_for(unit: str, largest: float) -> str:
    """Return the unit to show values in, of which the largest is given in a unit of results."""
    steps = UNITS.get(unit, ())
    fallback = steps[-1][1] if steps and unit == "s" else unit
    return next((shown for least, shown in steps if largest >= least), fallback)


def value_names(values: Iterable[Any]) -> dict[Hashable, str]:
    """Return a short name for each value of an axis: of a table its class, variant or kind, and where it differs.

    Parameters
    ----------
    values
        Texts, numbers, or tables as JSON text, as the frames show them.

    Examples
    --------
    >>> list(value_names(['{"kind": "red", "limit": "50 packets"}', "codel"]).values())
    ['red', 'codel']
    """
    listed = list(dict.fromkeys(values))
    tables = {value: _table(value) for value in listed}
    names = {
        value: _plain_name(value) if table is None else _table_name(table) for value, table in tables.items()
    }
    for name in set(names.values()):
        alike = [value for value in listed if names[value] == name]
        flat = {value: _flat(tables[value]) for value in alike}
        if len(alike) > 1:
            keys = list(dict.fromkeys(key for one in flat.values() for key in one))
            differing = [key for key in keys if len({one.get(key) for one in flat.values()}) > 1]
            for value in alike:
                stated = [
                    f"{key.rpartition('.')[2].replace('_', ' ')} {flat[value][key]}"
                    for key in differing
                    if key in flat[value] and not key.endswith("digest")
                ]
                names[value] = f"{name} ({', '.join(stated)})" if stated else name
    return names


def _table(value: Any) -> Any:
    """Return the table that a text states as JSON; ``None`` for other values."""
    if not isinstance(value, str) or not value.startswith(("{", "[")):
        return None
    try:
        found = json.loads(value)
    except ValueError:
        return None
    return found if isinstance(found, dict | list) and found else None


def _plain_name(value: Any) -> str:
    if value is None or value != value:  # NaN differs from itself
        return "default"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def _table_name(table: Any) -> str:
    """Return the name of a part of a scenario."""
    if isinstance(table, list):
        return ", ".join(_table_name(part) if isinstance(part, dict) else str(part) for part in table)
    if isinstance(external := table.get("external"), dict):
        # Of ``python:module.Class``, the class; of a library, its file.
        name = str(external.get("name", "own")).rpartition(":")[2]
        return name.rpartition("/")[2] if "/" in name else name.rpartition(".")[2]
    for key in ("congestion", "variant", "kind", "name", "external"):
        if key in table:
            found = table[key]
            return _table_name(found) if isinstance(found, dict) else str(found).rpartition(":")[2]
    return ", ".join(f"{key} {value}" for key, value in table.items())


def _flat(table: Any, path: str = "") -> dict[str, str]:
    """Return the leaves of a table by their path."""
    items = table.items() if isinstance(table, dict) else enumerate(table) if isinstance(table, list) else ()
    found: dict[str, str] = {}
    for key, value in items:
        at = f"{path}.{key}" if path else str(key)
        found |= _flat(value, at) if isinstance(value, dict | list) else {at: str(value)}
    return found
