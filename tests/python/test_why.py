"""Why a sender did what it did: causes, numbers, errors, the command and the page."""

from __future__ import annotations

import json
import re

import pytest

import dumbbell
from command_line import invoke
from dumbbell import Control, ControlError, ScenarioError
from dumbbell.cli import progress


@pytest.fixture(scope="module")
def result(two_hosts):
    return dumbbell.run(two_hosts)


@pytest.fixture(scope="module")
def found(result):
    return result.why("fg")


class Counting(Control):
    """Reno's increase with a count of acknowledgements."""

    probes = ("acks",)

    def start(self, setup):  # noqa: ARG002 - the signature of Control
        self.acks = 0

    def on_ack(self, ack):
        self.acks += 1
        if not ack.in_recovery:
            self.cwnd = ack.grown(self.cwnd, ack.mss * ack.mss / self.cwnd)

    def on_congestion(self, congestion):
        self.cwnd = max(congestion.flight_size / 2, congestion.mss)


starts = 0


class Moody(Counting):
    """Differs between runs."""

    def start(self, setup):
        super().start(setup)
        global starts
        starts += 1
        self.cwnd += starts * setup.mss


@pytest.fixture
def file(two_hosts, tmp_path):
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps(two_hosts.to_dict()))
    return path


def test_counts_agree_with_those_of_the_run(result, found):
    events, row = found.events, result.flow("fg")
    kinds = events["kind"].value_counts()
    assert kinds["retransmission"] == row.segments_retransmitted > 0
    assert kinds.get("timeout", 0) == row.timeouts
    assert kinds.get("fast_retransmit", 0) == row.fast_retransmits
    sent = events[events["kind"].isin(["sent", "retransmission"])]
    assert sent["segments"].sum() == row.segments_sent
    assert events[events["kind"] == "retransmission"]["cause"].notna().all()
    assert events["time_s"].is_monotonic_increasing


def test_decisions_join_up(found):
    decisions = found.events[found.events["kind"] == "decision"]
    # What one decision leaves is what the next one finds.
    assert (decisions["cwnd_bytes"].iloc[:-1].values == decisions["cwnd_before_bytes"].iloc[1:].values).all()


def test_a_part_of_a_run_has_its_entries_only(result, found):
    part = result.why("fg", at="3 s", window="1 s")
    times = found.events["time_s"]
    assert len(part) == ((times >= 2.5) & (times <= 3.5)).sum() > 0
    assert part.window_s == (2.5, 3.5)
    assert result.why("fg", at="0 s").window_s == (0.0, 0.1)


@pytest.mark.parametrize("algorithm", ["vegas", "bbr"])
def test_quantities_of_the_algorithm_are_columns(two_hosts, algorithm):
    scenario = two_hosts.with_values({"flows.fg.tcp": algorithm, "probes": None})
    why = dumbbell.run(scenario).why("fg", at="1 s", window="2 s")
    assert why.quantities
    for name in why.quantities:
        assert {name, f"{name}_before"} <= set(why.events.columns)
    assert any(name in str(why) for name in why.quantities)


def test_a_control_in_python_is_explained(two_hosts):
    scenario = two_hosts.with_values({"flows.fg.tcp": Counting(), "probes": None})
    why = dumbbell.run(scenario).why("fg")
    acks = why.events[why.events["kind"] == "decision"]["own.acks"]
    assert acks.is_monotonic_increasing
    assert acks.max() > 100


def test_a_control_that_depends_on_something_else_is_told(two_hosts):
    scenario = two_hosts.with_values({"flows.fg.tcp": Moody(), "probes": None})
    with pytest.raises(ControlError, match="repeated to explain it, and differs"):
        dumbbell.run(scenario).why("fg")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"flow": "gf"}, "flow: "),
        ({"flow": 3}, "flow: "),
        ({"flow": "fg", "at": "999 s"}, "at: .*ends after"),
        ({"flow": "fg", "at": "-1 s"}, "at: "),
        ({"flow": "fg", "at": "noon"}, "at: "),
        ({"flow": "fg", "at": 3}, "at: "),
        ({"flow": "fg", "at": "1 s", "window": "0 s"}, "window: .*above 0"),
        ({"flow": "fg", "at": "1 s", "window": "-1 s"}, "window: "),
        ({"flow": "fg", "window": "1 s"}, "window: .*`at` to be given"),
    ],
)
def test_what_is_not_in_the_run_is_refused(result, arguments, message):
    with pytest.raises(ScenarioError, match=message):
        result.why(**arguments)


def test_a_flow_of_datagrams_has_no_journal(two_hosts):
    scenario = two_hosts.with_values(
        {"flows.fg.tcp": None, "flows.fg.source": {"kind": "cbr", "rate": "100 kbit/s"}, "probes": None}
    )
    with pytest.raises(ScenarioError, match="datagrams"):
        dumbbell.run(scenario).why("fg")


def test_the_command_prints_a_table_or_json(file, result):
    shown = invoke("why", file, "--flow", "fg", "--at", "5s")
    assert shown.exit_code == 0, shown.output
    assert "ACK" in shown.output
    assert "RTT" in shown.output
    printed = invoke("why", file, "--flow", "fg", "--at", "5s", "--window", "1 s", "--json")
    document = json.loads(printed.stdout)
    assert document["fingerprint"] == result.fingerprint
    assert len(document["events"]) == len(result.why("fg", at="5 s", window="1 s"))
    assert all(value is not None for event in document["events"] for value in event.values())


@pytest.mark.parametrize(
    "options",
    [
        ["--flow", "gf"],
        ["--flow", "fg", "--at", "999s"],
        ["--flow", "fg", "--at=-1s"],
        ["--flow", "fg", "--at", "1s", "--window", "0s"],
        ["--flow", "fg", "--html", "page.pdf"],
    ],
)
def test_bad_options_are_one_line(file, options):
    shown = invoke("why", file, *options)
    assert shown.exit_code == 2
    assert shown.output.count("\n") == 1
    assert shown.output.startswith("error: ")


def test_the_page_needs_no_network_and_a_name_is_no_markup(two_hosts, tmp_path):
    named = two_hosts.with_values({"name": "</script><b>", "probes": None})
    page = tmp_path / "pages" / "why.html"
    dumbbell.run(named).why("fg", at="5 s", window="4 s").save(page)
    text = page.read_text()
    assert "showEntriesAround" in text
    assert "</script><b>" not in text
    assert not re.search(r"<(script|link)[^>]+(src|href)=", text)


def test_a_page_of_too_many_entries_is_refused(found, monkeypatch):
    monkeypatch.setattr("dumbbell.plots.why.MOST_ENTRIES", 10)
    with pytest.raises(ScenarioError, match="too many for a page"):
        found.to_html()


def test_a_notebook_shows_the_first_entries(found):
    assert found._repr_html_().count("<tr>") == 41
    assert "more entries" in found._repr_html_()


# Limits and progress of a run


def test_probes_that_record_too_much_are_refused(two_hosts, monkeypatch):
    scenario = two_hosts.with_values({"probes": [{"flows": ["fg"], "quantities": ["seq_sent"]}]})
    monkeypatch.setenv("DUMBBELL_MAX_SAMPLES", "100")
    with pytest.raises(ScenarioError, match=r"probes: .*at most 100 samples.*DUMBBELL_MAX_SAMPLES"):
        dumbbell.run(scenario)
    with pytest.raises(ScenarioError, match="at most 100 samples"):
        dumbbell.run_many(scenario, runs=3, progress=False, warn=False)
    periodic = two_hosts.with_values(
        {"probes": [{"flows": ["fg"], "quantities": ["cwnd"], "period": "1 ms"}]}
    )
    with pytest.raises(ScenarioError, match="at most 100 samples"):
        dumbbell.run(periodic)


def test_more_packets_in_flight_than_allowed_are_refused(two_hosts, monkeypatch):
    monkeypatch.setenv("DUMBBELL_MAX_IN_FLIGHT", "3")
    with pytest.raises(ScenarioError, match=r"flows: .*at most 3 packets in flight.*DUMBBELL_MAX_IN_FLIGHT"):
        dumbbell.run(two_hosts)


def test_a_window_of_which_memory_holds_a_part_is_refused(two_hosts, monkeypatch):
    monkeypatch.setenv("DUMBBELL_MAX_IN_FLIGHT", "1000000")
    whole = {"mss": "1 bytes", "initial_window": "4 GB", "receive_buffer": "unlimited"}
    with pytest.raises(ScenarioError, match=r'flows: "?1[01].* packets in flight .* at most 1000000 packets'):
        dumbbell.run(two_hosts.with_values({"flows.fg.tcp": whole, "probes": None}))


@pytest.mark.parametrize("name", ["DUMBBELL_MAX_SAMPLES", "DUMBBELL_MAX_IN_FLIGHT"])
@pytest.mark.parametrize("stated", ["0", "-1", "many", "1.5", ""])
def test_a_limit_that_is_no_number_is_refused(two_hosts, monkeypatch, name, stated):
    monkeypatch.setenv(name, stated)
    with pytest.raises(ScenarioError, match=name):
        dumbbell.run(two_hosts)


def test_a_run_tells_its_progress(two_hosts):
    told = []
    scenario = two_hosts.with_values({"duration": "3000 s", "probes": None})
    dumbbell.run(scenario, progress=lambda reached, end: told.append((reached, end)))
    assert told
    assert all(end == 3000.0 and 0.0 <= reached <= end for reached, end in told)
    assert [reached for reached, _ in told] == sorted(reached for reached, _ in told)


def test_an_exception_of_the_progress_ends_the_run(two_hosts):
    def fail(_reached, _end):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        dumbbell.run(two_hosts.with_values({"duration": "3000 s", "probes": None}), progress=fail)
    with pytest.raises(ScenarioError, match="progress: "):
        dumbbell.run(two_hosts, progress=3)


def test_the_rest_of_a_run_takes_its_recent_pace():
    pace = progress.Pace()
    assert pace.left(100.0) is None
    # 1 s per s for 10 s, then 4 s per s for 10 s: 50 of 100 s are simulated, and the rest takes 50 / 4 s.
    for second in range(1, 11):
        pace.see(float(second), float(second))
    assert pace.left(100.0) == 90.0
    for second in range(11, 21):
        pace.see(float(second), 10.0 + 4.0 * (second - 10))
    assert pace.left(100.0) == 12.5


def test_progress_in_words():
    clock, pace = progress._Clock(), progress.Pace()
    assert progress._progress(clock, pace, 1.0, progress.SIMULATED, is_at_most=False) == "starting"
    clock(25.0, 100.0)
    assert (
        progress._progress(clock, pace, 10.0, progress.SIMULATED, is_at_most=False)
        == "25 of 100 s simulated, 30 s left"
    )
    assert progress._progress(clock, progress.Pace(), 10.0, progress.SIMULATED, is_at_most=True).endswith(
        "at most 30 s left"
    )
