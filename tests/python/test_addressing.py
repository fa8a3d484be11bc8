"""Addresses inside a scenario's plain data."""

from __future__ import annotations

import pytest

from dumbbell import ScenarioError
from dumbbell.addressing import set_value, value_at


def data():
    return {
        "nodes": ["h1", {"name": "h2", "tick_phase": "0 s"}],
        "links": [{"name": "a-b", "queue": "droptail"}, {"name": "b.c", "delay": "1 ms"}],
        "flows": [{"name": "fg", "tcp": "vegas"}, {"name": "bg", "tcp": {"mechanisms": "AC"}}],
        "probes": [{"quantities": ["cwnd"]}],
    }


def test_a_field_of_an_item_is_addressed_by_the_items_name():
    edited = data()
    set_value(edited, "links.a-b.delay", "20 ms")
    assert edited["links"][0]["delay"] == "20 ms"


def test_the_longest_name_that_fits_is_taken():
    edited = data()
    set_value(edited, "links.b.c.delay", "2 ms")
    assert edited["links"][1] == {"name": "b.c", "delay": "2 ms"}


def test_items_without_a_name_are_addressed_by_index():
    edited = data()
    set_value(edited, "probes.0.period", "10 ms")
    assert edited["probes"] == [{"quantities": ["cwnd"], "period": "10 ms"}]


def test_a_star_addresses_every_item():
    edited = data()
    set_value(edited, "flows.*.stop", "3 s")
    assert [flow["stop"] for flow in edited["flows"]] == ["3 s", "3 s"]


@pytest.mark.parametrize(
    ("address", "container", "written"),
    [
        ("flows.fg.tcp.mss", ("flows", 0, "tcp"), {"variant": "vegas", "mss": 1}),
        ("nodes.h1.tick_phase", ("nodes", 0), {"name": "h1", "tick_phase": 1}),
        ("links.a-b.queue.limit", ("links", 0, "queue"), {"kind": "droptail", "limit": 1}),
        (
            "flows.fg.tcp.congestion.alpha",
            ("flows", 0, "tcp"),
            {"variant": "vegas", "congestion": {"alpha": 1}},
        ),
    ],
)
def test_a_short_form_on_the_path_of_an_address_is_written_out(address, container, written):
    edited = data()
    set_value(edited, address, 1)
    found = edited
    for step in container:
        found = found[step]
    assert found == written


def test_setting_one_mechanism_keeps_the_others():
    edited = data()
    set_value(edited, "flows.bg.tcp.mechanisms.B", True)
    switches = edited["flows"][1]["tcp"]["mechanisms"]
    assert [letter for letter, on in switches.items() if on] == ["A", "B", "C"]
    assert "".join(switches) == "ABCDEFGHIJ"


def test_a_default_on_the_path_of_an_address_is_written_out():
    edited = data()
    resolved = data()
    resolved["flows"][0]["tcp"] = {
        "mechanisms": {"A": True, "B": True},
        "timer": {"kind": "bsd", "tick": "500 ms"},
    }
    set_value(edited, "flows.fg.tcp.mechanisms.A", False, resolved)
    set_value(edited, "flows.fg.tcp.timer.tick", "100 ms", resolved)
    assert edited["flows"][0]["tcp"] == {
        "variant": "vegas",
        "mechanisms": {"A": False, "B": True},
        "timer": {"kind": "bsd", "tick": "100 ms"},
    }
    assert resolved["flows"][0]["tcp"]["mechanisms"]["A"] is True


def test_none_removes_a_field():
    edited = data()
    set_value(edited, "nodes.h2.tick_phase", None)
    set_value(edited, "nodes.h2.tick_phase", None)
    assert edited["nodes"][1] == {"name": "h2"}


def test_values_are_read_by_the_same_addresses():
    assert value_at(data(), "links.b.c.delay") == "1 ms"
    assert value_at(data(), "flows.*.name") == ["fg", "bg"]
    assert value_at(data(), "probes.0.quantities.0") == "cwnd"


@pytest.mark.parametrize(
    ("address", "field", "suggestion"),
    [
        ("flows.fgg.tcp", "flows", "fg"),
        ("links.a-c.rate", "links", "a-b"),
        ("probes.1.period", "probes", None),
        ("flows..tcp", "flows", None),
        ("", "address", None),
        ("flows.", "flows", None),
        ("links.b.c.delay.unit", "links.b.c.delay", None),
    ],
)
def test_an_unknown_address_is_refused(address, field, suggestion):
    with pytest.raises(ScenarioError) as caught:
        set_value(data(), address, 1)
    assert caught.value.field == field
    assert caught.value.suggestion == suggestion
    assert caught.value.accepted


@pytest.mark.parametrize("address", ["flow.fg", "flows.fg.tpc", "links.b.c.delay.unit"])
def test_reading_an_unknown_address_is_refused(address):
    with pytest.raises(ScenarioError):
        value_at(data(), address)
