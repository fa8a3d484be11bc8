"""What a scenario needs of the engine, and which of it the engine's catalogue lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from dumbbell import engine

from .assumptions import Assumptions
from .scenarios import cases

# What a component is called, by the section of the catalogue.
WORDS = {
    "algorithms": "congestion control",
    "recoveries": "loss recovery",
    "slow_starts": "slow start",
    "queues": "queue discipline",
    "impairments": "impairment",
    "sources": "source",
    "probes": "probe",
}

# The field that names a component, by the section of the catalogue.
TAGS = {"algorithms": "name", "slow_starts": "name"}


@cache
def _known() -> Mapping[str, Mapping[str, frozenset[str]]]:
    """Return the parameters of each component, by section and name."""
    catalogue = engine.catalogue()
    return {
        section: {
            entry["name"]: frozenset(parameter["name"] for parameter in entry.get("parameters", ()))
            for entry in catalogue[section]
        }
        for section in WORDS
    }


@cache
def _tcp() -> Mapping[str, Mapping[str, Any]]:
    return {parameter["name"]: parameter for parameter in engine.catalogue()["tcp"]}


@cache
def _fields_of_a_link() -> frozenset[str]:
    """Return the fields of a link in the schema of scenarios, whose first form of a link is the full one."""
    links: dict[str, Any] = engine.schema()["properties"]["links"]["items"]["anyOf"][0]
    return frozenset(links["properties"])


def _component(section: str, given: str | Mapping[str, Any]) -> Iterator[str]:
    tag = TAGS.get(section, "kind")
    table: Mapping[str, Any] = {tag: given} if isinstance(given, str) else given
    name = str(table[tag])
    known = _known()[section]
    if name not in known:
        yield f"the {WORDS[section]} `{name}`"
        return
    for parameter in table:
        if parameter != tag and parameter not in known[name]:
            yield f"the parameter `{parameter}` of the {WORDS[section]} `{name}`"


def _connection(tcp: Mapping[str, Any]) -> Iterator[str]:
    known = _tcp()
    for field, value in tcp.items():
        if field in ("rules", "variant"):
            continue
        if field not in known:
            yield f"the parameter `{field}` of TCP"
        elif field == "congestion":
            yield from _component("algorithms", value)
        elif field == "recovery":
            yield from _component("recoveries", value)
        elif field == "ecn" and f"{value}" not in known[field]["accepted"]:
            yield f"the kind `{value}` of ECN feedback"
        elif field == "window":
            for rule, given in value.items():
                if rule not in known[field]["default"]:
                    yield f"the window rule `{rule}`"
                elif rule == "slow_start":
                    yield from _component("slow_starts", given)


def _each(data: Mapping[str, Any]) -> Iterator[str]:
    for link in data["links"]:
        for field in sorted(set(link) - _fields_of_a_link()):
            yield f"the field `{field}` of links"
        if "queue" in link:
            yield from _component("queues", link["queue"])
        for impairment in link.get("impairments", ()):
            yield from _component("impairments", impairment)
    for flow in data["flows"]:
        if "tcp" in flow:
            yield from _connection(flow["tcp"])
        yield from _component("sources", flow["source"])
    known = _known()["probes"]
    for probe in data.get("probes", ()):
        for quantity in probe["quantities"]:
            if quantity not in known:
                yield f"the probe `{quantity}`"


def missing(data: Mapping[str, Any]) -> str:
    """Return what the engine lacks for a scenario, in words; empty if it can run.

    Parameters
    ----------
    data
        The scenario as plain data.
    """
    return ", ".join(dict.fromkeys(_each(data)))


@cache
def lacking() -> Mapping[str, str]:
    """Return what the engine lacks, by the name of a scenario that it cannot run."""
    found = {case.key: missing(case.data) for case in cases(Assumptions(), quick=False)}
    return {key: lack for key, lack in found.items() if lack}
