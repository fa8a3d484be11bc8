"""The kernel as a peer: its driver, its grids, and the reduction of its runs, none of which needs root."""

from __future__ import annotations

import dataclasses
import json
import sys
import threading

import numpy as np
import pandas as pd
import pytest

import dumbbell
from dumbbell import ScenarioError, crossvalidation, report, testbed
from dumbbell.crossvalidation import Counterfactual, PeerAbsent, PeerRun, load_grids
from dumbbell.errors import MachineError, RealTimeError
from dumbbell.quantities import nanoseconds
from dumbbell.traces import StepFunction

PEER = crossvalidation.load_peer("testbed")
GRIDS = {grid.name: grid for grid in load_grids(peer="testbed")}
# Loading another folder of peers, as other tests do, unloads this one.
BUDGET, DIFFERENCES, NETWORKS = (
    sys.modules[f"dumbbell_peers.{name}"]
    for name in ("testbed.budget", "testbed.differences", "grids._one_link")
)

TWINS = ("vegas", "newvegas", "vegasa", "code", "westwood", "westwoodp", "rovegas")
SINGLE = ("reno", "cubic", "bbr", *TWINS)


def cases(name):
    return GRIDS[name].cases(PEER)


def shortened(case, duration="6 s", start="2 s"):
    """Return a case that takes less time."""
    data = case.scenario.to_dict() | {"duration": duration, "measure_from": start}
    return dataclasses.replace(case, scenario=dumbbell.Scenario.from_dict(data))


def table(grid, chosen, change):
    """Return the results of cases whose two sides are our run, that of the peer with a change of its reduction."""
    rows = []
    for case in chosen:
        reduced = grid.reduce(case, dumbbell.run(case.scenario, seed=case.seed, run=case.run))
        for side, values in (("ours", reduced), ("peer", reduced | change(reduced))):
            kept = json.loads(json.dumps(values))
            rows.append({"key": case.key, "point": case.point, "side": side, **case.factors, **kept})
    found = pd.DataFrame(rows)
    found.attrs["peer"] = PEER.title
    return found


# The driver


def test_the_peer_has_grids_of_its_own():
    pairs = [*(f"reno-and-{name}" for name in (*TWINS, "cubic")), "cubic-and-bbr"]
    assert list(GRIDS) == [*SINGLE, *pairs]
    assert "single-flows" in {grid.name for grid in load_grids(peer="ns2")}
    with pytest.raises(ScenarioError, match="single-flows"):
        load_grids(["single-flows"], peer="testbed")


@pytest.mark.parametrize("variant", SINGLE)
def test_every_variant_has_a_table_that_the_simulator_accepts(variant):
    flow = cases(variant)[0].scenario.resolved()["flows"][0]
    assert flow["tcp"]["congestion"]["name"] == variant
    assert flow["tcp"]["handshake"] is True


def test_another_variant_is_refused():
    with pytest.raises(ScenarioError, match="htcp"):
        PEER.tcp("htcp")


def test_thresholds_of_single_flows_are_half_a_segment_from_the_differences_of_windows():
    # 3 Mbit/s over 10 ms: 2.5 packets of 1500 bytes in propagation, one in transmission, and an ACK of 52 bytes. The
    # difference of a window of 5 segments is 5 - 3.535 = 1.465, that of 6 is 2.465.
    congestion = PEER.tcp("vegas", base_packets=2.5 + 1.0 + 52 / 1500)["congestion"]
    assert (congestion["alpha"], congestion["beta"]) == (1.97, 2.97)


def test_the_band_of_a_single_flow_tolerates_two_packets_and_that_of_a_pair_the_noise_of_timers():
    # A packet of 1500 bytes takes 1.2 ms at 10 Mbit/s. At 200 Mbit/s, two of them would be 120 us; at 300, 80.
    for packet_us, tolerance in ((1200.0, "2400 us"), (60.0, "120 us"), (40.0, "100 us"), (None, "100 us")):
        assert PEER.tcp("code", packet_us=packet_us)["congestion"]["rtt_tolerance"] == tolerance
    assert "rtt_tolerance" not in PEER.tcp("vegas", packet_us=1200.0)["congestion"]


def test_the_throughput_of_a_single_vegasa_tolerates_half_a_packet():
    single = PEER.tcp("vegasa", base_packets=3.5, packet_us=12_000.0)["congestion"]
    assert (single["alpha"], single["beta"], single["rtt_tolerance"]) == (1.0, 2.0, "6000 us")
    pair = PEER.tcp("vegasa")["congestion"]
    assert pair["rtt_tolerance"] == "100 us"
    assert not {"alpha", "beta"} & pair.keys()


def test_differences_of_a_single_vegasa_are_halfway_between_whole_numbers():
    # 1 Mbit/s over 10 ms: 0.833 packets of 12 ms in propagation, one in transmission, and an ACK, together 1.868. The path
    # becomes longer by 0.632 packets, a half of that in each direction.
    path = NETWORKS.Path(rate_mbps=1, rtt_ms=10, buffer_bdp=4.0)
    assert path.with_half_a_packet().base_packets == pytest.approx(2.5)
    links = cases("vegasa")[0].scenario.resolved()["links"]
    assert [nanoseconds(link["delay"], "delay") for link in links] == [8_792_000, 8_792_000]


def test_without_what_it_needs_the_peer_is_absent(monkeypatch):
    lacks = testbed.Check(check="root", status="missing", detail="user 1000", remedy="run with sudo")
    warns = testbed.Check(check="real-time priority", status="warning", detail="refused", remedy="")
    monkeypatch.setattr(testbed, "doctor", lambda: [warns, lacks])
    peer = type(PEER)()
    with pytest.raises(PeerAbsent) as absent:
        peer.version()
    assert str(absent.value) == (
        "Linux in real time cannot be a peer on this machine: root is missing: user 1000; run with sudo"
    )
    monkeypatch.setattr(testbed, "doctor", lambda: [warns])
    assert peer.version().startswith("Linux ")


def test_without_a_binary_the_peer_is_absent(monkeypatch):
    def none(*_args, **_more):
        raise MachineError("the testbed cannot run: no cargo")

    monkeypatch.setattr(testbed, "identity", none)
    with pytest.raises(PeerAbsent, match="no cargo"):
        PEER.prepare()


def flows(**more):
    return pd.DataFrame([{"name": "f1", "late_over_1ms": 0.02, "late_max_us": 60e3, **more}])


@dataclasses.dataclass
class Done:
    disturbed: bool
    repeats: int = 2
    flows: pd.DataFrame = dataclasses.field(default_factory=flows)
    links: pd.DataFrame = dataclasses.field(default_factory=pd.DataFrame)
    traces: dict = dataclasses.field(default_factory=dict)


def test_a_run_that_stays_disturbed_fails_and_is_repeated_later(monkeypatch):
    scenario = cases("reno")[0].scenario
    monkeypatch.setattr(testbed, "run", lambda *_args, **_more: Done(disturbed=True))
    with pytest.raises(RealTimeError, match=r"each of 3 runs: 2 % .* the latest 60 ms"):
        PEER.run(scenario)
    monkeypatch.setattr(testbed, "run", lambda *_args, **_more: Done(disturbed=False))
    assert isinstance(PEER.run(scenario), PeerRun)


def test_a_budget_admits_who_fits_in_turn():
    budget, order, started = BUDGET.Budget(100.0), [], threading.Event()

    def user(name, part):
        with budget.held(part):
            order.append((name, budget.free))

    with budget.held(70.0):
        # The large part waits, and the small one behind it waits for its turn.
        large = threading.Thread(target=user, args=("large", 500.0))
        small = threading.Thread(target=user, args=("small", 10.0))
        large.start()
        while budget._next_turn < 2:
            started.wait(0.01)
        small.start()
        started.wait(0.1)
        assert (order, budget.free) == ([], 30.0)
    large.join(10.0)
    small.join(10.0)
    assert order == [("large", 0.0), ("small", 90.0)]
    assert budget.free == 100.0


def test_runs_cost_their_duration_and_hold_the_rate_of_their_link(monkeypatch):
    case = cases("reno-and-vegas")[0]
    assert PEER.cost(case.scenario) == 60.0
    held = []
    peer = type(PEER)(budget=BUDGET.Budget(100.0))

    def run(*_args, **_more):
        held.append(100.0 - peer.budget.free)
        return Done(disturbed=False)

    monkeypatch.setattr(testbed, "run", run)
    peer.run(case.scenario)
    assert held == [4.0]


# Differences


def test_late_links_vary_around_their_lateness_and_repeat():
    scenario = cases("code")[0].scenario
    late = DIFFERENCES.late(scenario)
    assert late.hash == DIFFERENCES.late(scenario).hash != scenario.hash
    for link, exact in zip(late.resolved()["links"], scenario.resolved()["links"], strict=True):
        delays = np.array([nanoseconds(change["delay"], "delay") for change in link["changes"]])
        lateness = (delays - nanoseconds(exact["delay"], "delay")) / 1e3
        assert 3.1 < np.median(lateness) < 3.9
        assert 75.0 < np.quantile(lateness, 0.99) < 140.0
    first, second = ([change["delay"] for change in link["changes"][:3]] for link in late.resolved()["links"])
    assert first != second


@pytest.mark.parametrize(("tolerance", "rises"), [("100 us", True), (None, False)])
def test_a_band_rises_with_late_links_unless_it_tolerates_them(tolerance, rises):
    """On exact links, CODE compares equal times; on late ones, its band rises as in the kernel."""
    case = shortened(next(case for case in cases("code") if "10 Mbit/s, 70 ms" in case.key), "20 s", "5 s")
    data = case.scenario.to_dict()
    if tolerance:
        data["flows"][0]["tcp"]["congestion"]["rtt_tolerance"] = tolerance
    scenario = dumbbell.Scenario.from_dict(data)
    exact, late = (
        dumbbell.run(each).links.set_index("name").loc["a-b", "backlog_mean_packets"]
        for each in (scenario, DIFFERENCES.late(scenario))
    )
    assert (late > 1.2 * exact) == rises
    assert rises or late == pytest.approx(exact, rel=0.02)


def test_packets_that_leave_during_a_stall_arrive_at_its_end():
    scenario = shortened(cases("vegas")[0], "200 s", "5 s").scenario
    stalled = DIFFERENCES.stalled(scenario)
    assert stalled.hash == DIFFERENCES.stalled(scenario).hash != scenario.hash
    stalls = []
    for link, exact in zip(stalled.resolved()["links"], scenario.resolved()["links"], strict=True):
        delay = nanoseconds(exact["delay"], "delay")
        changes = np.array(
            [
                (nanoseconds(change["at"], "at"), nanoseconds(change["delay"], "delay"))
                for change in link["changes"]
            ]
        )
        steps = changes.reshape(-1, 9, 2)
        ends = steps[:, :, 0] + steps[:, :, 1] - delay
        np.testing.assert_array_equal(ends, np.repeat(ends[:, :1], 9, axis=1))
        np.testing.assert_array_equal(steps[:, 8, 1], delay)
        stalls.append((steps[:, 0, 0], ends[:, 0]))
    (starts, ends), (others, _) = stalls
    np.testing.assert_array_equal(starts, others)
    # 1.8 stalls per second of 2 ms: three standard deviations of 360 stalls.
    assert abs(len(starts) - 360) < 57
    assert abs(np.mean(ends - starts) / 1e6 - 2.0) < 0.16
    assert np.all(starts[1:] > ends[:-1])


def test_stalls_end_slow_starts_that_watch_the_delay():
    """A delay of two packets' time is above gamma: slow start ends early, and a long path is not filled in time."""
    case = next(case for case in cases("vegas") if "30 Mbit/s, 100 ms" in case.key)
    exact, stalled = (
        dumbbell.run(scenario).flows["goodput_bps"][0]
        for scenario in (case.scenario, DIFFERENCES.stalled(case.scenario))
    )
    assert stalled < 0.99 * exact


def test_a_counterfactual_changes_one_side():
    with pytest.raises(ValueError, match="one of peer and ours"):
        Counterfactual(difference="none")
    with pytest.raises(ValueError, match="one of peer and ours"):
        Counterfactual(difference="both", peer=PEER, ours=DIFFERENCES.late)


# Grids


def test_single_flows_cover_the_stated_paths():
    paths = NETWORKS.covering()
    assert len(paths) >= 40
    assert {path.rate_mbps for path in paths} >= {1, 50}
    assert {path.rtt_ms for path in paths} >= {10, 100}
    assert {path.buffer_bdp for path in paths} == {0.5, 1.0, 2.0, 4.0}
    assert min(path.buffer for path in paths) >= NETWORKS.LEAST_BUFFER
    for name in SINGLE:
        points = pd.Series([case.point for case in cases(name)]).value_counts()
        assert len(points) == len(paths)
        assert (points == 5).all()


@pytest.mark.parametrize("name", list(GRIDS))
def test_cases_are_concrete_and_reproducible(name):
    made, again = cases(name), cases(name)
    assert len({case.key for case in made}) == len(made)
    assert len({case.run for case in made}) == len(made)
    assert [case.scenario.hash for case in made] == [case.scenario.hash for case in again]
    starts = [flow["start"] for case in made for flow in case.scenario.resolved()["flows"]]
    assert all(0 <= nanoseconds(start, "start") <= 1e9 for start in starts)
    assert len(set(starts)) > 0.9 * len(starts)


def test_a_peer_without_the_variant_has_no_cases():
    other = dataclasses.make_dataclass("Other", [("variants", tuple, ("reno",))])()
    assert GRIDS["code"].cases(other) == []
    assert GRIDS["reno-and-code"].cases(other) == []


def test_windows_are_compared_in_whole_segments():
    # The twin of Westwood+ keeps fractions of a segment.
    case = shortened(cases("westwoodp")[3 * 5])
    run = dumbbell.run(case.scenario, run=case.run)
    reduced = GRIDS["westwoodp"].reduce(case, run)
    window = StepFunction.of(run.traces["cwnd_base"], "f1")
    assert reduced["window"] == StepFunction(window.time, np.floor(window.value)).mean(2.0, 6.0)
    assert reduced["window"] < window.mean(2.0, 6.0)
    assert all(sample is None or isinstance(sample, int) for sample in reduced["samples"])


@pytest.mark.parametrize("column", ["goodput", "window", "backlog", "retransmitted"])
def test_each_quantity_decides_alone(column):
    grid = GRIDS["reno"]
    chosen = [shortened(case) for case in cases("reno")[60:62] + cases("reno")[110:112]]
    alike = table(grid, chosen, lambda _reduced: {})
    assert all(criterion.holds for criterion in grid.judge(alike).criteria)
    apart = table(grid, chosen, lambda reduced: {column: 1.15 * reduced[column] + 4.0})
    failed = [criterion.name for criterion in grid.judge(apart).criteria if not criterion.holds]
    names = {"goodput": "goodput", "window": "mean window", "backlog": "mean backlog"}
    assert len(failed) == 1
    assert failed[0].startswith(names.get(column, "segments sent again"))


def test_a_small_difference_of_a_small_queue_is_agreement():
    grid = GRIDS["vegas"]
    chosen = [shortened(case) for case in cases("vegas")[60:62]]
    for shift, holds in ((0.4, True), (0.6, False)):
        results = table(grid, chosen, lambda reduced, shift=shift: {"backlog": reduced["backlog"] + shift})
        results.loc[results["side"] == "ours", "backlog"] = 1.0
        results.loc[results["side"] == "peer", "backlog"] = 1.0 + shift
        assert grid.judge(results).criteria[2].holds is holds


def test_shares_of_pairs_agree_if_their_intervals_overlap():
    grid = GRIDS["reno-and-vegas"]
    chosen = [shortened(case) for case in cases("reno-and-vegas")[:4]]
    results = table(grid, chosen, lambda _reduced: {})
    assert grid.judge(results).criteria[0].holds
    peer = results["side"] == "peer"
    results.loc[peer, "share"] = results.loc[peer, "share"] + 0.5
    agreement = grid.judge(results)
    assert not agreement.criteria[0].holds
    assert agreement.points["agrees"].tolist() == [False]


@pytest.mark.parametrize("name", ["reno", "reno-and-vegas"])
def test_sections_show_figures_and_the_lateness(name):
    grid = GRIDS[name]
    chosen = [shortened(case) for case in cases(name)[:: len(cases(name)) // 4][:4]]
    chosen += [shortened(case) for case in cases(name) if "10 Mbit/s, 20 ms" in case.key][:2]
    results = table(grid, chosen, lambda _reduced: {"late_p99_us": 120.0, "repeats": 0.0})
    blocks = grid.sections(results, grid.judge(results))
    section = report.Section(anchor="g", title=grid.title, blocks=blocks)
    page = report.render_page(title="t", subtitle="s", facts=[], sections=[section], notice="")
    assert "120 µs in the median" in page
    assert "<svg" in page
