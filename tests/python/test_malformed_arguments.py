"""Arguments of Python functions that no scenario states: each wrong one is refused in a sentence that names it."""

from __future__ import annotations

import itertools
import re
from typing import Any, NamedTuple

import numpy as np
import pytest

import dumbbell
from dumbbell import Campaign, Job, Scenario, ScenarioError, topologies

SCENARIO = "a Scenario, the name of a scenario file, or a table of fields"


class Call(NamedTuple):
    """A call with one wrong argument, and words that the error must contain."""

    what: str
    call: Any
    words: tuple[str, ...]


def named(value: object) -> str:
    """Return the representation of a value without its address, which differs between the processes of the tests."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def containing_itself() -> dict[str, Any]:
    table: dict[str, Any] = {}
    table["nodes"] = [table]
    return table


def deep(levels: int) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for _ in range(levels):
        table = {"name": table}
    return table


NO_SCENARIOS = [
    None,
    3,
    1.5,
    True,
    object(),
    b"scenario.toml",
    dumbbell.run,
    Scenario,
    {1, 2},
    range(2),
    np.zeros(2),
]
NO_WHOLE_NUMBERS = [
    "1", "", 1.5, -1, 2**64, 10**5000, True, False, [1], {"a": 1}, np.float64(1.0), np.array([1, 2]), object(), b"1",
    float("nan"), float("inf"), 1j,
]  # fmt: skip
NO_COUNTS = [*NO_WHOLE_NUMBERS, 0, 10**12, np.int64(0)]
NO_FILES = [3, 1.5, True, None, [], "a\0b", "", b"store", object()]
NO_TABLES = [3, "name", ["name"], None, 1.5, object()]

CALLED = {
    "run": lambda _, value: dumbbell.run(value),
    "run_many": lambda _, value: dumbbell.run_many([value]),
    "Job": lambda _, value: Job(value),
    "Scenario.of": lambda _, value: Scenario.of(value),
}
SEEDED = {
    "run seed": ("seed", lambda s, value: dumbbell.run(s, seed=value)),
    "run run": ("run", lambda s, value: dumbbell.run(s, run=value)),
    "Job seed": ("seed", lambda s, value: Job(s, value)),
    "Job run": ("run", lambda s, value: Job(s, 1, value)),
    "run_many seed": ("seed", lambda s, value: dumbbell.run_many(s, seed=value)),
    "Campaign seed": ("seed", lambda s, value: Campaign(s, seed=value, store="unused")),
}
COUNTED = {
    "run_many runs": ("runs", lambda s, value: dumbbell.run_many(s, runs=value)),
    "run_many threads": ("threads", lambda s, value: dumbbell.run_many(s, threads=value)),
    "Campaign.run threads": ("threads", lambda s, value: Campaign(s, store="unused").run(threads=value)),
}
NAMED = {
    "Campaign store": ("store", lambda s, value: Campaign(s, store=value)),
    "from_file": ("file", lambda _, value: Scenario.from_file(value)),
    "from_toml": ("file", lambda _, value: Scenario.from_toml(value)),
    "from_json": ("file", lambda _, value: Scenario.from_json(value)),
}

PRODUCTS = [
    *(
        Call(f"{what}: {named(value)}", lambda s, f=call, v=value: f(s, v), ("scenario", SCENARIO))
        for (what, call), value in itertools.product(CALLED.items(), NO_SCENARIOS)
    ),
    *(
        Call(f"{what}: {type(value)!s}", lambda s, f=call, v=value: f(s, v), (name, "whole number"))
        for (what, (name, call)), value in itertools.product(SEEDED.items(), NO_WHOLE_NUMBERS)
    ),
    *(
        Call(f"{what}: {type(value)!s}", lambda s, f=call, v=value: f(s, v), (name, "whole number"))
        for (what, (name, call)), value in itertools.product(COUNTED.items(), NO_COUNTS)
    ),
    *(
        Call(f"{what}: {named(value)}", lambda s, f=call, v=value: f(s, v), (name, "the name of a f"))
        for (what, (name, call)), value in itertools.product(NAMED.items(), NO_FILES)
    ),
    *(
        Call(f"with_values: {named(value)}", lambda s, v=value: s.with_values(v), ("values", "by address"))
        for value in NO_TABLES
    ),
    *(
        Call(
            f"from_dict: {named(value)}",
            lambda _, v=value: Scenario.from_dict(v),
            ("scenario", "a table of fields"),
        )
        for value in NO_TABLES
    ),
]

SINGLE = [
    Call("a network without flows", lambda _: dumbbell.run(shape()), ("scenario", "Topology", SCENARIO)),
    Call("a table without fields", lambda _: dumbbell.run({}), ("duration", "required")),
    Call("a table with an unknown field", lambda _: dumbbell.run({"colour": 1}), ("colour", "duration")),
    Call("jobs with runs", lambda s: dumbbell.run_many([Job(s)], runs=2), ("runs", "a Job")),
    Call("jobs with a seed", lambda s: dumbbell.run_many([Job(s)], seed=2), ("seed", "a Job")),
    Call("progress", lambda s: dumbbell.run_many(s, progress="yes"), ("progress", "function")),
    Call("finished", lambda s: dumbbell.run_many(s, finished=3), ("finished", "function")),
    Call(
        "threads with a cluster", lambda s: Campaign(s, store="x").run("tcp://a:1", threads=2), ("threads",)
    ),
    Call("a table in itself", lambda _: dumbbell.run(containing_itself()), ("nodes[0]", "levels")),
    Call("a deep table", lambda _: Scenario.from_dict(deep(100_000)), ("name.name", "levels")),
    Call("a deep value", lambda s: s.with_values({"name": deep(1000)}), ("name", "levels")),
    Call("an address of an item", lambda s: s.with_values({1: 2}), ("values", "1", "links.r1-r2.rate")),
    Call("a long address", lambda s: s.with_values({"a." * 100_000: 2}), ("address", "64 steps")),
    Call("an empty address", lambda s: s.with_values({"": 2}), ("address", "joined by dots")),
    Call("half a character", lambda s: s.with_values({"name": "\ud800"}), ("name", "Unicode")),
    Call("a large number", lambda s: s.with_values({"duration": 10**400}), ("duration", "64 bits")),
    Call("an endless number", lambda s: s.with_values({"duration": 10**5000}), ("duration", "64 bits")),
    Call("bytes", lambda s: s.with_values({"name": b"abc"}), ("name", "text")),
    Call("not a number", lambda s: s.with_values({"duration": float("nan")}), ("duration", "finite")),
    Call("many replications", lambda s: Campaign(s, runs=10**12, store="x"), ("runs", "at most 10000000")),
    Call("axes of a list", lambda s: Campaign(s, ["a"], store="x"), ("axes", "table of lists")),
    Call(
        "an axis of text",
        lambda s: Campaign(s, {"duration": "1 s"}, store="x"),
        ("axes.duration", "list"),
    ),
    Call("an axis without values", lambda s: Campaign(s, {"duration": []}, store="x"), ("axes.duration",)),
    Call("a drawing of a number", lambda _: topologies.draw(3), ("network", "Topology")),
    Call("a drawing of nothing", lambda _: topologies.draw(None), ("network", "NoneType")),
]


def shape():
    return topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="10 ms")


@pytest.mark.parametrize("case", PRODUCTS + SINGLE, ids=[case.what[:60] for case in PRODUCTS + SINGLE])
def test_a_wrong_argument_is_refused_by_name_and_what_is_accepted(two_hosts, tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScenarioError) as refused:
        case.call(two_hosts)
    text = str(refused.value)
    for word in (*case.words, "; expected "):
        assert word in text
    assert len(text) < 1000
    assert list(tmp_path.iterdir()) == []


def test_the_products_are_large():
    assert len(PRODUCTS) + len(SINGLE) > 250


@pytest.mark.parametrize(
    ("address", "value", "meant"),
    [
        ("links.r1-r2.rate", "10 Mbps", "10 Mbit/s"),
        ("links.r1-r2.rate", "1.6mbit", "1.6 Mbit/s"),
        ("links.r1-r2.rate", "3 Gbps", "3 Gbit/s"),
        ("links.r1-r2.rate", "3 bps", "3 bit/s"),
        ("links.r1-r2.rate", "10 MBps", None),
        ("links.r1-r2.rate", "10 parsecs", None),
        ("links.r1-r2.delay", "10 \u00b5s", "10 us"),
        ("links.r1-r2.delay", "10 \u03bcs", "10 us"),
        ("links.r1-r2.delay", "2 sec", "2 s"),
        ("links.r1-r2.delay", "5 MS", "5 ms"),
        ("links.r1-r2.delay", "5 packets", None),
        ("duration", "1 minute", "1 min"),
        ("duration", 5, "5 s"),
        ("flows.fg.start", 1, "1 s"),
        ("flows.fg.start", "1", "1 s"),
        ("flows.fg.tcp.mss", "1400 byte", "1400 bytes"),
    ],
)
def test_a_unit_spelt_otherwise_is_suggested(two_hosts, tmp_path, address, value, meant):
    with pytest.raises(ScenarioError) as refused:
        two_hosts.with_values({address: value})
    assert getattr(refused.value, "suggestion", None) == meant
    assert (f"(did you mean `{meant}`?)" in str(refused.value)) == (meant is not None)
    if meant is not None:
        # What is suggested is accepted.
        two_hosts.with_values({address: meant})


def test_a_scenario_is_run_from_a_file_a_table_or_itself(two_hosts, tmp_path):
    file = tmp_path / "two-hosts.toml"
    file.write_text(two_hosts.to_toml(), encoding="utf-8")
    expected = dumbbell.run(two_hosts).fingerprint
    for given in (file, str(file), two_hosts.to_dict()):
        assert dumbbell.run(given).fingerprint == expected
        for jobs in (given, [given]):
            assert dumbbell.run_many(jobs, runs=2, progress=False, warn=False).flows.run.tolist() == [0, 1]
    assert Job(file).scenario == two_hosts
    with pytest.raises(FileNotFoundError):
        dumbbell.run(tmp_path / "none.toml")


def test_whole_numbers_of_numpy_are_accepted(two_hosts):
    run = dumbbell.run(two_hosts, seed=np.uint64(5), run=np.int32(2))
    assert (type(run.seed), run.seed, type(run.run), run.run) == (int, 5, int, 2)
    assert len(dumbbell.run_many(two_hosts, runs=np.int64(2), threads=np.int8(1), warn=False)) == 2


def test_a_trace_that_was_not_recorded_says_how_to_record_it(two_hosts):
    for traces in (dumbbell.run(two_hosts).traces, dumbbell.run_many(two_hosts, progress=False).traces):
        with pytest.raises(
            KeyError, match=r"no trace of 'srtt'.*recorded: .*cwnd.*Probe\(quantities=\['srtt'\]\)"
        ):
            traces["srtt"]
        assert traces.get("srtt") is None
        assert set(traces) == {"cwnd", "backlog"}
