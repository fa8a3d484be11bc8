"""Scenarios: builders, files, the schema, and what is refused."""

from __future__ import annotations

import ast
import dataclasses
import functools
import json
import math
import pickle
import re
import runpy
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dumbbell
from bad_input import CASES, Bad, spoilt
from dumbbell import (
    BsdTimer,
    DelayedAck,
    DropTail,
    Flow,
    Forced,
    Greedy,
    Link,
    NewRenoRecovery,
    Node,
    Probe,
    Scenario,
    ScenarioError,
    Tcp,
    Transfer,
    Uniform,
    Vegas,
    _engine,
    topologies,
)
from dumbbell import scenario as scenarios
from dumbbell.scenario import declared, stub

FULL = Tcp(
    variant="vegas",
    rules="bsd",
    congestion=Vegas(alpha=2, beta=4, fix_timeout=False),
    mss="1400 bytes",
    initial_window="2 segments",
    timer=BsdTimer(tick="100 ms", variation=2),
    delayed_ack=DelayedAck(segments=2, timer="100 ms"),
    mechanisms="ABCDEF",
)


def built() -> Scenario:
    return Scenario(
        name="built",
        rules="classic",
        duration="20 s",
        measure_from="1 s",
        stop_when_complete=["fg"],
        nodes=[Node(name="a", tick_phase="0 s"), "b"],
        links=[
            Link(
                name="a-b",
                from_="a",
                to="b",
                rate="2 Mbit/s",
                delay="10 ms",
                queue=DropTail(limit="20 packets", counts_service=True),
                impairments=[Forced(packets=[4, 5])],
            ),
            Link(name="b-a", from_="b", to="a", rate="2 Mbit/s", delay="10 ms"),
        ],
        flows=[
            Flow(
                name="fg",
                from_="a",
                to="b",
                path=["a-b"],
                start=Uniform(uniform=("0 s", "1 s")),
                tcp=FULL,
                source=Transfer(size="100 kB"),
            )
        ],
        probes=[Probe(flows=["fg"], quantities=["cwnd"], period="10 ms")],
    )


# Builders and plain data


def test_builders_and_plain_data_are_equivalent():
    scenario = built()
    again = Scenario.from_dict(scenario.to_dict())
    assert again == scenario
    assert hash(again) == hash(scenario)
    assert again.to_dict() == scenario.to_dict()
    assert again.hash == scenario.hash
    assert len(scenario.hash) == 16


def test_plain_data_is_read_into_builders():
    scenario = Scenario.from_dict(built().to_dict())
    assert scenario == built()
    assert scenario.links[0].queue == DropTail(limit="20 packets", counts_service=True)
    assert scenario.links[0].impairments == (Forced(packets=(4, 5)),)
    assert scenario.flows[0].tcp == FULL
    assert scenario.flows[0].start == Uniform(uniform=("0 s", "1 s"))
    assert scenario.nodes == (Node(name="a", tick_phase="0 s"), "b")


def test_the_same_meaning_written_differently_is_the_same_scenario(two_hosts_data):
    first = Scenario.from_dict(two_hosts_data)
    two_hosts_data["links"][1]["rate"] = "1600 kbit/s"
    two_hosts_data["duration"] = "5000 ms"
    two_hosts_data["flows"][0]["tcp"] = {"variant": "reno"}
    assert Scenario.from_dict(two_hosts_data) == first
    two_hosts_data["links"][1]["rate"] = "1601 kbit/s"
    assert Scenario.from_dict(two_hosts_data) != first
    assert first != "a scenario"


def test_toml_and_json_are_written_and_read_back(tmp_path):
    scenario = built()
    toml, json_file = tmp_path / "s.toml", tmp_path / "s.json"
    toml.write_text(scenario.to_toml(), encoding="utf-8")
    json_file.write_text(scenario.to_json(), encoding="utf-8")
    assert Scenario.from_toml(toml) == Scenario.from_json(json_file) == scenario
    assert Scenario.from_file(toml) == Scenario.from_file(json_file)
    assert tomllib.loads(scenario.to_toml()) == scenario.to_dict()


def test_a_byte_order_mark_is_ignored(tmp_path):
    file = tmp_path / "s.toml"
    file.write_bytes(b"\xef\xbb\xbf" + built().to_toml().encode())
    assert Scenario.from_toml(file) == built()


def test_the_resolved_form_states_every_default_and_means_the_same():
    resolved = built().resolved()
    assert resolved["flows"][0]["tcp"]["mechanisms"]["A"] is True
    assert resolved["flows"][0]["tcp"]["send_buffer"]
    assert Scenario.from_dict(resolved).canonical_json == built().canonical_json


def test_scenarios_and_builders_are_frozen():
    scenario = built()
    with pytest.raises(dataclasses.FrozenInstanceError):
        scenario.duration = "1 s"
    with pytest.raises(dataclasses.FrozenInstanceError):
        FULL.mss = "1 bytes"
    assert isinstance(scenario.links, tuple)
    assert isinstance(Forced(packets=[1]).packets, tuple)


def test_builders_take_keywords_only():
    with pytest.raises(TypeError):
        Node("a")


def test_scenarios_can_be_pickled():
    assert pickle.loads(pickle.dumps(built())) == built()


def test_numpy_numbers_become_plain_numbers():
    tcp = Tcp(
        congestion=Vegas(alpha=np.float64(1.5), fix_timeout=np.bool_(True)),
        recovery=NewRenoRecovery(max_burst=np.int64(3)),
    )
    data = tcp.to_dict()
    assert type(data["congestion"]["alpha"]) is float
    assert data["congestion"]["fix_timeout"] is True
    assert type(data["recovery"]["max_burst"]) is int


@pytest.mark.parametrize("value", [math.nan, math.inf, b"bytes", object()])
def test_what_is_no_plain_data_is_refused(value):
    with pytest.raises(ScenarioError) as caught:
        Vegas(alpha=value).to_dict()
    assert caught.value.field == "alpha"


@pytest.mark.parametrize("data", [[], "text", None, 3])
def test_a_scenario_is_a_table(data):
    with pytest.raises(ScenarioError):
        Scenario.from_dict(data)


# Changed values


def test_values_are_changed_by_address():
    scenario = built().with_values(
        {
            "duration": "10 s",
            "rules": "classic",
            "links.a-b.delay": "20 ms",
            "links.*.rate": "3 Mbit/s",
            "links.a-b.queue": DropTail(limit="5 packets"),
            "flows.fg.tcp.mechanisms.A": False,
            "flows.fg.tcp.congestion.alpha": np.float64(1.0),
            "nodes.b.tick_phase": "0 s",
            "probes.0.period": None,
        }
    )
    resolved = scenario.resolved()
    assert resolved["duration"] == "10 s"
    assert scenario.links[0].delay == "20 ms"
    assert [link.rate for link in scenario.links] == ["3 Mbit/s"] * 2
    assert scenario.links[0].queue == DropTail(limit="5 packets")
    assert resolved["flows"][0]["tcp"]["mechanisms"] == {letter: letter in "BCDEF" for letter in "ABCDEFGHIJ"}
    assert resolved["flows"][0]["tcp"]["congestion"]["alpha"] == 1.0
    assert resolved["flows"][0]["tcp"]["congestion"]["beta"] == 4.0
    assert scenario.nodes[1] == Node(name="b", tick_phase="0 s")
    assert scenario.probes[0].period is None
    assert built().links[0].delay == "10 ms"


def test_one_switch_of_a_preset_keeps_the_others(two_hosts):
    vegas = two_hosts.with_values({"flows.fg.tcp": "vegas"})
    without = vegas.with_values({"flows.fg.tcp.mechanisms.A": False})
    before = vegas.resolved()["flows"][0]["tcp"]
    after = without.resolved()["flows"][0]["tcp"]
    assert after == {**before, "mechanisms": {**before["mechanisms"], "A": False}}
    assert without.with_values({"flows.fg.tcp.mechanisms.A": True}) == vegas


def test_one_parameter_of_a_preset_keeps_the_others(two_hosts):
    vegas = two_hosts.with_values({"flows.fg.tcp": "vegas"})
    changed = vegas.with_values({"flows.fg.tcp.congestion.alpha": 2, "flows.fg.tcp.timer.minimum": "200 ms"})
    before, after = (s.resolved()["flows"][0]["tcp"] for s in (vegas, changed))
    assert after["congestion"] == {**before["congestion"], "alpha": 2.0}
    assert after["timer"] == {**before["timer"], "minimum": "200 ms"}


@pytest.mark.parametrize(
    "address", ["flows.gf.start", "links.a-b.delays", "probes.7.period", "duration.unit"]
)
def test_an_unknown_address_is_refused(address):
    with pytest.raises(ScenarioError):
        built().with_values({address: "1 s"})


# The schema


@cache
def validator() -> jsonschema.Validator:
    schema = dumbbell.schema()
    cls = jsonschema.validators.validator_for(schema)
    cls.check_schema(schema)
    return cls(schema)


def test_examples_are_valid_by_the_schema_and_by_the_engine(examples):
    assert len(examples) >= 4
    for path in examples:
        validator().validate(tomllib.loads(path.read_text(encoding="utf-8")))
        scenario = Scenario.from_toml(path)
        validator().validate(scenario.to_dict())
        validator().validate(scenario.resolved())


def test_the_dictionary_of_the_fuzzer_has_what_scenarios_say(examples):
    program = runpy.run_path(str(Path(__file__).resolve().parents[2] / "fuzz" / "words.py"))
    words = {json.loads(line) for line in program["dictionary"]()}
    assert {"whole_decrease", "cubic", "fqcodel", " Mbit/s", "[[flows]]"} <= words

    def fields(value):
        if isinstance(value, dict):
            return set(value) | set().union(*map(fields, value.values()))
        return set().union(*map(fields, value)) if isinstance(value, list) else set()

    said = set().union(*(fields(Scenario.from_toml(path).to_dict()) for path in examples))
    assert said <= words


def test_builders_write_what_the_schema_accepts():
    validator().validate(built().to_dict())


def test_the_schema_rejects_unknown_fields(two_hosts_data):
    two_hosts_data["links"][0]["colour"] = "red"
    with pytest.raises(jsonschema.ValidationError):
        validator().validate(two_hosts_data)


def tables(schema: dict[str, Any], node: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the object schemas among the alternatives of `node`."""
    if "$ref" in node:
        target: Any = schema
        for step in node["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        return tables(schema, target)
    alternatives = node.get("anyOf", []) + node.get("oneOf", []) + node.get("allOf", [])
    found = [table for alternative in alternatives for table in tables(schema, alternative)]
    return [*found, node] if "properties" in node else found


def at(schema: dict[str, Any], *steps: str) -> list[dict[str, Any]]:
    """Return the object schemas of a field; lists are stepped into."""
    found = tables(schema, schema)
    for step in steps:
        inner = [table["properties"][step] for table in found if step in table["properties"]]
        found = [table for node in inner for table in tables(schema, node.get("items", node))]
    return found


@pytest.mark.registry
def test_every_kind_at_every_place_has_a_class():
    for name, found in declared.FAMILIES.items():
        for place in found.places:
            tables = at(dumbbell.schema(), *place.split("."))
            kinds = {table["properties"].get(found.tag, {}).get("const") for table in tables} - {None}
            assert kinds == {kind for of, kind in declared.kinds().values() if of == name}
            assert set(found.irregular) <= kinds


@pytest.mark.parametrize("name", sorted(set(declared.names()) - set(declared.FAMILIES)))
def test_a_class_has_the_fields_of_the_schema_and_documents_them(name):
    cls, tag = declared.class_of(name), declared.tag_of(name)
    found = at(dumbbell.schema(), *declared.place_of(name).split("."))
    # A link in a short form is written out as links.
    found = [table for table in found if "duplex" not in table["properties"]]
    if tag is not None:
        found = [table for table in found if table["properties"].get(tag[0], {}).get("const") == tag[1]]
    # Sizes are at several places.
    assert {frozenset(table["properties"]) for table in found} == {frozenset(found[0]["properties"])}
    assert set(cls.names()) == set(found[0]["properties"]) - {tag and tag[0]}
    required = {
        item.name.rstrip("_") for item in dataclasses.fields(cls) if item.default is dataclasses.MISSING
    }
    assert required == set(found[0]["required"]) - {tag and tag[0]}
    for attribute in cls.names().values():
        assert re.search(rf"\n{attribute}\n    [A-Z]", cls.__doc__), f"{name}.{attribute} is not documented"


def test_a_scenario_has_the_fields_of_the_schema_and_documents_them():
    # A topology is written out as nodes and links.
    assert set(Scenario.names()) == set(dumbbell.schema()["properties"]) - {"topology"}
    assert all(attribute in Scenario.__doc__ for attribute in Scenario.names().values())


def test_what_a_part_must_state_has_no_default():
    with pytest.raises(TypeError, match="'from_' and 'to'"):
        Flow(name="fg")
    with pytest.raises(TypeError, match="'times'"):
        dumbbell.Opportunities()
    with pytest.raises(ScenarioError, match="is not a field of DropTail"):
        DropTail.from_dict({"limits": "5 packets"})


def test_parts_are_frozen_values_that_can_be_pickled():
    part = Link(name="l", from_="a", to="b", rate="1 Mbit/s", delay="1 ms", queue=DropTail(limit="5 packets"))
    assert pickle.loads(pickle.dumps(part)) == part == dataclasses.replace(part)
    assert hash(part) == hash(dataclasses.replace(part)) != hash(dataclasses.replace(part, delay="2 ms"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        part.delay = "2 ms"


def test_threads_get_the_same_classes_and_parts(tmp_path, two_hosts_data, monkeypatch):
    # No class has been made yet.
    monkeypatch.setattr(declared, "_part", functools.cache(declared._part.__wrapped__))
    path = tmp_path / "scenario.toml"
    path.write_text(tomli_w.dumps(two_hosts_data))
    scenario = Scenario.from_file(path)
    together = threading.Barrier(8)

    def look(_number):
        together.wait()
        return dumbbell.scenario.Vegas, scenario.nodes, scenario.flows

    with ThreadPoolExecutor(8) as pool:
        classes, *_ = seen = list(zip(*pool.map(look, range(8)), strict=True))
    assert len(set(classes)) == 1
    assert all(len(set(map(repr, values))) == 1 for values in seen)


@pytest.mark.registry
def test_the_stub_names_every_class_with_its_fields():
    written = ast.parse(stub.text())
    classes = {node.name: node for node in written.body if isinstance(node, ast.ClassDef)}
    assert set(classes) == set(declared.names())
    for name in set(declared.names()) - set(declared.FAMILIES):
        stated = {item.target.id for item in classes[name].body if isinstance(item, ast.AnnAssign)}
        assert stated == set(declared.class_of(name).names().values())


def test_a_value_of_a_flow_behind_a_group_is_set_at_its_own_place(two_hosts_data):
    [flow] = two_hosts_data["flows"]
    group = Flow(name="web", count=3, from_=flow["from"], to=flow["to"], tcp="reno")
    vegas = {"name": "fg", "from": flow["from"], "to": flow["to"], "tcp": "vegas"}
    scenario = Scenario.from_dict({**two_hosts_data, "flows": [group.to_dict(), vegas]})
    changed = scenario.with_values({"flows.fg.tcp.mechanisms.B": False, "flows.web.tcp.delayed_ack": "off"})
    flows = {flow["name"]: flow for flow in changed.resolved()["flows"]}
    assert list(flows) == ["web-1", "web-2", "web-3", "fg"]
    assert flows["fg"]["tcp"]["congestion"]["name"] == "vegas"
    assert not flows["fg"]["tcp"]["mechanisms"]["B"]
    assert {flows[f"web-{number}"]["tcp"]["delayed_ack"] for number in (1, 2, 3)} == {"off"}
    assert Scenario.from_text(changed.to_toml()) == changed


def test_parts_of_a_file_are_made_when_they_are_asked_for(tmp_path, two_hosts_data):
    path = tmp_path / "scenario.toml"
    path.write_text(tomli_w.dumps(two_hosts_data))
    scenario = Scenario.from_file(path)
    result = dumbbell.run(scenario)
    assert "flows" not in scenario.__dict__
    again = pickle.loads(pickle.dumps(scenario))
    assert scenario.flows == Scenario.from_dict(two_hosts_data).flows == again.flows
    assert scenario.to_dict() == Scenario.from_dict(two_hosts_data).to_dict()
    assert result.fingerprint == dumbbell.run(again).fingerprint
    with pytest.raises(AttributeError, match="'colour'"):
        _ = scenario.colour


@pytest.mark.registry
def test_the_catalogue_names_everything_with_summary_and_parameters():
    catalogue = dumbbell.catalogue()
    assert {
        "algorithms",
        "recoveries",
        "queues",
        "sources",
        "impairments",
        "timers",
        "rules",
        "probes",
    } <= set(catalogue)
    for kind, entries in catalogue.items():
        assert entries, kind
        for entry in entries:
            assert entry["name"]
            assert entry.get("summary") or entry.get("description"), (kind, entry["name"])
            parameters = [entry] if kind == "tcp" else entry.get("parameters") or []
            for parameter in parameters:
                assert {"name", "default", "unit", "accepted", "description", "source"} <= set(parameter)


# Bad input


@pytest.mark.parametrize("bad", CASES, ids=[bad.what for bad in CASES])
def test_bad_input_names_field_value_and_what_is_accepted(two_hosts_data, bad):
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_dict(spoilt(two_hosts_data, bad))
    error = caught.value
    text = str(error)
    assert "\n" not in text
    assert bad.expected_field in error.field
    assert error.accepted
    assert error.accepted in text
    assert error.field in text
    assert error.value in text
    if bad.suggestion is not None:
        assert error.suggestion == bad.suggestion
        assert bad.suggestion in text
    for name in bad.names:
        assert name in text


VALUES = st.recursive(
    st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["1 s", "2 packets", "vegas", "*", "h1"]),
    lambda inner: (
        st.lists(inner | st.none(), max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=5,
)
FIELDS = sorted({bad.address for bad in CASES} - {"", "flows.fg", "probes.0"})


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(address=st.sampled_from(FIELDS), value=VALUES)
def test_any_value_anywhere_is_a_scenario_or_refused(two_hosts_data, address, value):
    try:
        scenario = Scenario.from_dict(spoilt(two_hosts_data, Bad("any", address, value)))
    except ScenarioError as refused:
        scenario, error = None, refused
    if scenario is None:
        assert error.accepted
        assert error.field in str(error)
    else:
        assert Scenario.from_dict(scenario.resolved()) == scenario
        assert Scenario.from_dict(tomllib.loads(scenario.to_toml())) == scenario


def test_a_scenario_is_valid_before_the_bad_value_is_inserted(two_hosts_data):
    Scenario.from_dict(two_hosts_data)


def test_a_builder_in_the_wrong_place_is_refused():
    shape = topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="1 ms")
    with pytest.raises(ScenarioError) as caught:
        shape.scenario(
            name="x",
            rules="classic",
            duration="1 s",
            flows=[Flow(name="f", from_="s1", to="d1", tcp="reno", source=DropTail())],
        )
    assert "source" in caught.value.field
    with pytest.raises(ScenarioError):
        shape.scenario(name="x", rules="classic", duration="1 s", flows=[Greedy()])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.toml", b""),
        ("empty.json", b""),
        ("broken.toml", b"name = \n"),
        ("broken.json", b'{"name": '),
        ("list.json", b"[1, 2]"),
        ("number.json", b"7"),
        ("nan.json", b'{"duration": NaN}'),
        ("surrogate.json", b'{"name": "\\ud800"}'),
        ("table.csv", b"a,b\n1,2\n"),
        ("binary.toml", bytes(range(256))),
        ("zeros.toml", bytes(100)),
        ("latin.toml", 'name = "\xe9"'.encode("latin-1")),
        ("utf16.toml", 'name = "x"'.encode("utf-16")),
        ("deep.json", b"[" * 100_000),
        ("deep.toml", b"a = " + b"[" * 100_000),
        ("twice.toml", b'name = "a"\nname = "b"\n'),
        ("date.toml", b"duration = 2020-01-01\n"),
        ("infinite.toml", b"duration = inf\n"),
        ("other.toml", b'[project]\nname = "x"\n'),
    ],
)
def test_files_that_are_not_scenarios_are_refused(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_file(path)
    assert caught.value.accepted
    assert len(str(caught.value)) < 600


def test_a_file_that_cannot_be_read_stays_an_oserror(tmp_path):
    with pytest.raises(FileNotFoundError):
        Scenario.from_file(tmp_path / "none.toml")
    with pytest.raises(IsADirectoryError):
        Scenario.from_file(tmp_path)


def test_refusals_of_either_side_have_the_same_attributes(two_hosts_data):
    two_hosts_data["duration"] = "3 parsecs"
    with pytest.raises(ScenarioError) as engine:
        Scenario.from_dict(two_hosts_data)
    with pytest.raises(ScenarioError) as python:
        built().with_values({"flows.gf.start": "1 s"})
    for error in (engine.value, python.value):
        assert isinstance(error, ValueError)
        assert isinstance(error.field, str)
        assert isinstance(error.value, str)
        assert isinstance(error.accepted, str)
        assert error.suggestion is None or isinstance(error.suggestion, str)
        assert "; expected " in str(error)


def test_a_file_too_large_for_a_scenario_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(scenarios, "LARGEST_FILE_BYTES", 10)
    path = tmp_path / "large.toml"
    path.write_text(built().to_toml(), encoding="utf-8")
    with pytest.raises(ScenarioError, match="too large for a scenario"):
        Scenario.from_toml(path)


def test_json_text_of_a_scenario_is_json():
    assert json.loads(built().to_json()) == built().to_dict()


def test_a_table_in_python_names_a_trace_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative name counts from the working directory; whatever is wrong with the file is named."""
    monkeypatch.chdir(tmp_path)
    trace = tmp_path / "cellular.up"
    trace.write_text("0\n5\n12\n", encoding="utf-8")
    for name in ("cellular.up", str(trace)):
        data = built().to_dict()
        data["links"][0]["opportunities"] = {"file": name, "size": "1500 bytes"}
        opportunities = Scenario.from_dict(data).to_dict()["links"][0]["opportunities"]
        assert opportunities == {"times": [0, 5, 12], "size": "1500 bytes"}
        assert Scenario.of(data) == Scenario.from_dict(data)
    trace.write_text("0\nx\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"cellular\.up, line 2"):
        Scenario.from_dict(data)
    trace.unlink()
    with pytest.raises(FileNotFoundError):
        Scenario.from_dict(data)


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_a_link_names_a_trace_file(tmp_path: Path, suffix: str) -> None:
    """Its times are read from the folder of the scenario; whatever is wrong with it is named."""
    data = built().to_dict()
    data["links"][0]["opportunities"] = {"file": "cellular.up", "size": "1500 bytes"}
    file = tmp_path / f"traced{suffix}"
    file.write_text(tomli_w.dumps(data) if suffix == ".toml" else json.dumps(data), encoding="utf-8")
    trace = tmp_path / "cellular.up"
    trace.write_text("0\n5\n5\n12\n", encoding="utf-8")
    opportunities = Scenario.from_file(file).to_dict()["links"][0]["opportunities"]
    assert opportunities == {"times": [0, 5, 5, 12], "size": "1500 bytes"}
    for text, message in (("0\n5\n3\n", "cellular.up, line 3"), ("0\nx\n", "cellular.up, line 2")):
        trace.write_text(text, encoding="utf-8")
        with pytest.raises(ScenarioError, match=message):
            Scenario.from_file(file)
    trace.unlink()
    with pytest.raises(FileNotFoundError):
        Scenario.from_file(file)


def test_the_engine_reads_a_scenario_once(monkeypatch, tmp_path):
    readings = []

    def reading(text, form):
        readings.append(form)
        return engine_stated(text, form)

    engine_stated = _engine.Stated
    monkeypatch.setattr(_engine, "Stated", reading)
    scenario = built()
    assert readings.pop() == "json"
    (tmp_path / "scenario.toml").write_text(scenario.to_toml())
    assert dumbbell.run(tmp_path / "scenario.toml").scenario.hash == scenario.hash
    assert readings.pop() == "toml"
    assert Scenario.from_dict(scenario.to_dict()).warnings == scenario.warnings
    scenario.with_values({"duration": "2 s"})
    assert readings == ["json", "json"]


# Short forms


def in_short_form(**link: Any) -> dict[str, Any]:
    wan = {"from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "1 ms", "duplex": True} | link
    return {
        "duration": "5 s",
        "nodes": ["a", "b"],
        "links": [{name: value for name, value in wan.items() if value is not None}],
        "flows": [{"name": "f", "from": "a", "to": "b", "tcp": "reno"}],
    }


def test_links_in_short_form_are_links_one_by_one_however_they_are_read():
    data = in_short_form(duplex={"queue": "codel"})
    for read in (Scenario.from_dict(data), Scenario(**data), Scenario.from_text(json.dumps(data))):
        assert [(link.name, link.from_, link.queue) for link in read.links] == [
            ("a-b", "a", None),
            ("b-a", "b", "codel"),
        ]
        slower = read.with_values({"links.b-a.rate": "2 Mbit/s"})
        assert [link.rate for link in slower.links] == ["1 Mbit/s", "2 Mbit/s"]
        assert Scenario.from_text(read.to_toml()) == read
        assert pickle.loads(pickle.dumps(read)) == read


def test_a_link_with_a_trace_needs_no_rate(tmp_path, monkeypatch):
    (tmp_path / "cellular.down").write_text("1\n2\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    data = in_short_form(rate=None, opportunities={"file": "cellular.down"})
    for read in (Scenario.from_dict(data), Scenario(**data), Scenario.from_text(json.dumps(data))):
        assert {link["rate"] for link in read.resolved()["links"]} == {"12032 kbit/s"}
        assert read.links[1].to_dict()["opportunities"] == {"times": [1, 2]}


@pytest.mark.parametrize(
    "data",
    [
        in_short_form(duplex={"queue": {"kind": "droptail", "limit": "50 ms"}, "name": "up"}),
        in_short_form(name="wan", duplex=False),
        {
            "duration": "5 s",
            "flows": [{"name": "f", "from": "s1", "to": "d1"}],
            "topology": {
                "kind": "chain",
                "hops": [{"rate": "1 Mbit/s", "delay": "1 ms", "queue": "codel"}],
                "pairs": [[1, 2]],
                "rtt": ["20 ms"],
                "access_impairments": {"s1-r1": [{"kind": "bernoulli", "probability": 0.1}]},
            },
        },
    ],
)
def test_short_forms_are_valid_by_the_schema(data):
    validator().validate(data)
    ends = {name: data["flows"][0][name] for name in ("name", "from", "to")}
    Scenario.from_dict({**data, "flows": [{**ends, "source": "cbr"}]})


def test_the_schema_rejects_short_forms_with_unknown_fields_or_kinds():
    wrong = [
        in_short_form(duplex={"queues": "codel"}),
        in_short_form(duplx=True),
        in_short_form(queue="codl"),
    ]
    topology = {"duration": "5 s", "flows": in_short_form()["flows"]}
    wrong += [{**topology, "topology": {"kind": "dumbell"}}, topology]
    for data in wrong:
        with pytest.raises(jsonschema.ValidationError):
            validator().validate(data)


def test_limits_in_bdp_follow_the_values_of_a_sweep():
    queue = {"kind": "droptail", "limit": "1 BDP"}
    base = Scenario.from_dict(in_short_form(delay="30 ms", queue=queue))
    faster = base.with_values({"links.*.rate": "4 Mbit/s"})
    limits = [one.resolved()["links"][0]["queue"]["limit"] for one in (base, faster)]
    # 1 Mbit/s x 60 ms = 7500 bytes.
    assert limits == ["5 packets", "20 packets"]
    assert base.links[0].queue.limit == "1 BDP"
    assert [text.partition(" (")[0] for text in faster.derived_limits] == [
        "a-b: 1 BDP = 20 packets of 1500 bytes",
        "b-a: 1 BDP = 20 packets of 1500 bytes",
    ]
