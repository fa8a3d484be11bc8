"""Benchmarks: turns and ratios, what is measured, absent peers, reports. Nothing is asserted about time."""

import json
import math
import re
from dataclasses import replace

import pytest

import dumbbell
from command_line import invoke, refused
from dumbbell import Scenario, ScenarioError, bench
from dumbbell.bench import Measured, Spread, Turns, against_peers, networks
from dumbbell.bench.cases import nearly_nothing
from dumbbell.bench.children import measure, measure_apart, measure_batch
from dumbbell.judge.criterion import at_least, at_most
from dumbbell.quantities import bits_per_second
from dumbbell.runs import cores

TINY = replace(
    bench.QUICK,
    batch_turns=1,
    least_cpu_s=0.001,
    flows=(3, 30),
    flows_s=2.0,
    windows=(10, 100),
    window_packets=2e4,
    hops=(1, 3),
    hops_s=3.0,
    traces=("none", "every change"),
    traces_s=3.0,
    hour_s=5.0,
    idle=(10, 1000),
    batches=(2, 4),
    batch_s=3.0,
)

# Simulators that cost what they say: each a start-up and so much for a packet.
PEERS = '''"""Two simulators that say what they cost."""
from dataclasses import dataclass

from dumbbell.bench import Measured
from dumbbell.quantities import nanoseconds
from dumbbell.crossvalidation import PeerAbsent


@dataclass(frozen=True, kw_only=True)
class Told:
    key: str
    peer: str
    title: str
    cost_s: float = 1e-3
    package: str = "small-package"
    models: str = "Nothing <at all>."
    installed: bool = True

    def version(self):
        if not self.installed:
            raise PeerAbsent(self.title, self.package, "no program on the path")
        return "small-1.0"

    def prepare(self):
        self.version()

    def tcp(self, variant):
        return {"variant": variant, "mss": "960 bytes", "headers": {"data": "40 bytes"}}

    def remark(self, variant):
        return f"Its own {variant}."

    def measure(self, scenario, runs):
        packets = 1000.0 * (nanoseconds(scenario.resolved()["duration"], "duration") > 1000)
        return Measured(runs=runs, packets=runs * packets, cpu_s=runs * (5.0 + self.cost_s * packets))


CONTENDERS = (
    Told(key="ns2", peer="ns2", title="Small"),
    Told(key="ns3", peer="ns3", title="Missing", installed=False),
)
'''


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "peers"
    place.mkdir()
    (place / "speed.py").write_text(PEERS, encoding="utf-8")
    return place


# Turns and ratios


def scripted(measured):
    """Return a function that answers with these measurements, one after another."""
    waiting = iter(measured)
    return lambda _: next(waiting)


def test_the_median_lies_between_the_two_in_the_middle():
    assert Spread.of([4.0, 1.0, 2.0, 3.0]) == Spread(low=1.0, median=2.5, high=4.0)
    assert Spread.of([7.0]) == Spread(low=7.0, median=7.0, high=7.0)
    assert Spread.of([1234.5, 2000.0, 3000.0]).text(1, 2.0) == ("4,000.0", "2,469.0 to 6,000.0")


def test_ratios_are_taken_turn_by_turn():
    # The machine is half as fast in the second turn, which both feel: the ratio is 2 in every turn.
    assert bench.ratios([200.0, 100.0, 220.0], [100.0, 50.0, 110.0]) == Spread(low=2.0, median=2.0, high=2.0)
    with pytest.raises(ValueError, match="shorter"):
        bench.ratios([1.0, 2.0], [1.0])


def test_start_up_is_subtracted_for_every_run():
    turns = Turns(
        run=lambda runs: Measured(
            runs=runs, packets=1000.0 * runs, cpu_s=runs * (0.2 + 0.3), events=4000.0 * runs
        ),
        nothing=lambda runs: Measured(runs=runs, packets=0.0, cpu_s=runs * 0.2),
        least_cpu_s=1.0,
    )
    turns.take()
    turns.take()
    # A run costs 0.3 s net, so four of them are the first to take a second.
    assert turns.runs == 4
    assert turns.start_up_s == pytest.approx(0.2)
    assert turns.cpu_s == pytest.approx([1.2, 1.2])
    assert turns.rates == pytest.approx([1000 / 0.3] * 2)
    assert turns.costs_ns == pytest.approx([3e5] * 2)
    assert (turns.packets_per_run, turns.events_per_packet) == (1000.0, 4.0)
    assert turns.fresh().measured == []


def test_the_start_up_is_the_median_over_the_turns():
    starts = [Measured(runs=1, packets=0.0, cpu_s=seconds) for seconds in (0.1, 0.9, 0.2)]
    runs = [Measured(runs=1, packets=1000.0, cpu_s=2.2)] * 3
    turns = Turns(run=scripted(runs), nothing=scripted(starts), least_cpu_s=0.5)
    for _ in range(3):
        turns.take()
    # The one slow start-up shifts no turn, and a run that is long enough is not made again to count how many are needed.
    assert turns.cpu_s == pytest.approx([2.0] * 3)
    assert math.isnan(turns.events_per_packet)


def test_a_run_that_delivers_nothing_is_an_error():
    turns = Turns(
        run=lambda runs: Measured(runs=runs, packets=0.0, cpu_s=1.0),
        nothing=lambda runs: Measured(runs=runs, packets=0.0, cpu_s=1.0),
        least_cpu_s=0.1,
    )
    with pytest.raises(RuntimeError, match="no packet"):
        turns.take()


def test_a_bound_is_kept_or_not():
    assert at_least("speed", 8.04, 8.0).holds
    assert not at_least("speed", 7.99, 8.0).holds
    kept = at_most("cost", 1.5, 1.5)
    assert (kept.wanted, kept.measured, kept.holds) == ("at most 1.5", "1.50", True)
    assert not at_most("cost", 1.51, 1.5).holds


# Cases and networks


def test_every_case_is_a_dumbbell():
    contender = bench.load_contenders()[0]
    for case in bench.CASES:
        data = case.scenario(contender.tcp(case.variant)).resolved()
        assert len(data["flows"]) == case.flows
        assert len(data["links"]) == 2 + 4 * case.flows
        assert data["probes"] == []
        bottleneck = next(link for link in data["links"] if link["name"] == "r1-r2")
        assert bits_per_second(bottleneck["rate"], "rate") == 1e6 * case.megabits
        assert bottleneck["queue"]["limit"] == f"{case.buffer} packets"
        # A Mbit/s carries 125 packets of 1,000 bytes in a second.
        assert case.utilization(case.megabits * 125 * case.duration_s) == pytest.approx(1.0)


def test_dumbbell_and_ns2_have_the_same_scenario():
    first, *others = bench.load_contenders()
    ours = bench.Dumbbell(like=first)
    for case in bench.CASES:
        assert case.scenario(ours.tcp(case.variant)) == case.scenario(first.tcp(case.variant))
        for other in others:
            changed = {
                flow["tcp"]["congestion"]["name"]
                for flow in case.scenario(other.tcp(case.variant), share=0.01).resolved()["flows"]
            }
            assert changed == {"reno"}


def test_all_networks_are_scenarios():
    for texts in (
        networks.many_flows(20, 1.0),
        networks.idle_flows(20),
        networks.long_window(100, 1e4, lossless=True),
        networks.row(3, 1.0, joined=True),
        networks.one_flow(1.0, traces="10 ms"),
    ):
        whole, nothing = (Scenario.from_dict(json.loads(text)) for text in texts)
        assert nearly_nothing(whole) == nothing


def test_an_idle_flow_has_sent_its_first_window_and_waits():
    scenario = Scenario.from_dict(json.loads(networks.idle_flows(20)[0]))
    probe = dumbbell.scenario.Probe(flows=["*"], quantities=["flight_size"])
    done = dumbbell.run(replace(scenario, probes=[probe]))
    assert list(done.flows["segments_sent"]) == [2] * 20
    assert list(done.flows["bytes_delivered"]) == [2 * 960] * 20
    assert list(done.flows["timeouts"]) == [0] * 20
    last = done.traces["flight_size"].groupby("name")["value"].last()
    assert list(last) == [2.0] * 20


def test_a_bounded_window_loses_nothing_and_an_unbounded_one_does():
    def drops(lossless):
        text, _ = networks.long_window(100, 1e5, lossless=lossless)
        return int(dumbbell.run(Scenario.from_dict(json.loads(text))).links["drops_queue"].sum())

    assert drops(True) == 0
    assert drops(False) > 0


# Children


def test_a_child_reports_what_the_engine_reports():
    text, nothing = networks.row(2, 3.0, joined=True)
    child = measure(text, runs=3, payload=960, flows=["f"])
    done = dumbbell.run(Scenario.from_dict(json.loads(text)))
    assert child.runs == 3
    assert child.packets == 3 * done.flow("f").bytes_delivered / 960
    assert child.events == 3 * done.events
    assert 0.0 < child.cpu_s < 60.0
    assert 1e6 < child.peak_bytes < 1e9
    assert measure(nothing, runs=1, payload=960).packets == 0.0
    assert measure_batch(text, runs=2, threads=2).wall_s > 0.0
    assert measure_apart(text, runs=1, processes=2) > 0.0


def test_a_child_that_fails_says_why():
    with pytest.raises(RuntimeError, match="duration"):
        measure(json.dumps({"duration": "soon"}), runs=1, payload=960)


# bench peers


def test_what_simulators_cost_is_what_the_report_says(folder, tmp_path):
    done = bench.bench_peers(
        cases=["one-10"], turns=2, share=0.01, least_cpu_s=0.002, folder=folder, output=tmp_path, quiet=True
    )
    ours, small = done.data["cases"][0]["contenders"]
    assert (ours["title"], small["title"]) == ("Dumbbell", "Small")
    # A thousand packets a second, whatever the start-up of five seconds.
    assert small["packets_per_cpu_s"]["median"] == pytest.approx(1000.0)
    assert small["start_up_s"] == 5.0
    assert small["utilization"] == pytest.approx(1000 * 8000 / (10e6 * 2.4))
    assert small["ratio"]["median"] == pytest.approx(ours["packets_per_cpu_s"]["median"] / 1000.0)
    assert 500 < ours["packets_per_run"] < 3000
    assert ours["ratio"] is None
    by_name = {one.name: one for one in done.criteria}
    kept = by_name["times as fast as Small: 1 NewReno flow, 10 Mbit/s, buffer 100"]
    assert kept.holds == (small["ratio"]["median"] >= 8.0)
    missing = by_name["times as fast as Missing: 1 NewReno flow, 10 Mbit/s, buffer 100"]
    assert missing.holds is None
    assert "small-package" in missing.measured
    assert "small-package" in done.absent["Missing"]
    html = done.report.read_text(encoding="utf-8")
    for text in (
        "Missing was skipped",
        "package small-package",
        "Nothing &lt;at all&gt;.",
        "Its own newreno.",
        "Method",
        "A trial",
        "1,000",
    ):
        assert text in html, text
    assert html.count("<svg") == 1
    assert not re.search(r'(src|href)="https?:', html)
    assert json.loads(done.results.read_text(encoding="utf-8")) == done.data


def test_contenders_take_turns(folder, tmp_path, monkeypatch):
    order = []
    take = Turns.take

    def noted(self):
        order.append(self.run.func.__self__.title)
        take(self)

    monkeypatch.setattr(Turns, "take", noted)
    bench.bench_peers(
        cases=["one-10"], turns=3, share=0.01, least_cpu_s=0.001, folder=folder, output=tmp_path, quiet=True
    )
    assert order == ["Dumbbell", "Small"] * 3


def test_an_absent_peer_that_was_requested_is_exit_code_3(folder, tmp_path):
    command = ["bench", "peers", "--peer", "ns3", "--peers", folder, "--output", tmp_path]
    assert "small-package" in refused(*command, code=3)
    assert not (tmp_path / "bench-peers").exists()


def test_an_absent_peer_that_was_not_requested_is_omitted_with_a_warning(folder, tmp_path, monkeypatch):
    tiny = replace(bench.CASES[0], duration_s=1.0)
    monkeypatch.setattr(against_peers, "named", lambda _: (tiny,))
    result = invoke("bench", "peers", "--turns", 1, "--peers", folder, "--output", tmp_path)
    assert result.exit_code == 0, result.output
    assert "Missing is SKIPPED" in result.stderr
    assert "not measured: Missing is not installed" in " ".join(result.stdout.split())
    printed = invoke("bench", "peers", "--turns", 1, "--peers", folder, "--output", tmp_path, "--json")
    assert set(json.loads(printed.stdout)["absent"]) == {"Missing"}


@pytest.mark.parametrize(
    ("options", "near"),
    [
        (["--case", "one-1"], "one-10"),
        (["--peer", "ns4"], "ns2"),
        (["--turns", "0"], "turns"),
    ],
)
def test_what_is_not_known_is_refused(tmp_path, options, near):
    assert near in refused("bench", "peers", *options, "--output", tmp_path)


def test_a_folder_without_simulators_is_refused(tmp_path):
    (tmp_path / "speed.py").write_text('"""Nothing."""\n', encoding="utf-8")
    with pytest.raises(ScenarioError, match="CONTENDERS"):
        bench.load_contenders(tmp_path)


@pytest.mark.parametrize("contender", bench.load_contenders(), ids=lambda one: one.key)
def test_the_peers_of_the_checkout_run_a_small_case(contender):
    try:
        contender.prepare()
    except dumbbell.crossvalidation.PeerAbsent as absent:
        pytest.skip(f"it is not run: {absent}")
    case = bench.CASES[0]
    done = contender.measure(case.scenario(contender.tcp(case.variant), share=0.01), 1)
    ours = bench.Dumbbell(like=contender).measure(case.scenario(contender.tcp(case.variant), share=0.01), 1)
    assert done.packets == pytest.approx(ours.packets, rel=0.1)
    assert done.cpu_s > 0.0
    assert done.packets == pytest.approx(round(done.packets), abs=0.01) or contender.peer == "ns3"


# bench scale


def test_all_sizes_are_measured_and_drawn(tmp_path):
    done = bench.bench_scale(plan=TINY, output=tmp_path, quiet=True)
    sweeps = {sweep["sweep"]: sweep["points"] for sweep in done.data["sweeps"]}
    assert {name: len(points) for name, points in sweeps.items()} == {
        "flows": 2,
        "windows": 4,
        "hops": 4,
        "traces": 2,
        "hour": 1,
    }
    for points in sweeps.values():
        for point in points:
            spread = point["cpu_ns_per_packet"]
            assert 0.0 < spread["low"] <= spread["median"] <= spread["high"]
            assert point["packets_per_run"] > 0
            assert point["peak_bytes"] > 0
    # Links that one link feeds have no event of their own; where datagrams join they take in with one what has arrived.
    alone, joined = (
        [point["events_per_packet"] for point in sweeps["hops"] if point["series"] == name]
        for name in ("no datagrams", "datagrams at every link")
    )
    assert alone[1] == pytest.approx(alone[0], rel=0.1)
    assert joined[1] > joined[0]
    assert joined[1] > alone[1]
    assert [one.holds for one in done.criteria][:2] == [None, None]
    batches = done.data["run_many"]
    assert [batch["runs"] for batch in batches] == ([2, 4] if cores() > 1 else [])
    for batch in batches:
        assert batch["gain"]["median"] == pytest.approx(batch["one_s"][0] / batch["two_s"][0])
        assert batch["granted"]["median"] == pytest.approx(batch["one_s"][0] / batch["apart_s"][0])
    html = done.report.read_text(encoding="utf-8")
    assert html.count("<svg") == 4
    for text in ("A trial", "An idle flow has an open connection", "Method", "every change"):
        assert text in html, text
    assert json.loads(done.results.read_text(encoding="utf-8")) == done.data


def test_scale_is_a_command(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "QUICK", TINY)
    result = invoke("bench", "scale", "--quick", "--output", tmp_path)
    assert result.exit_code == 0, result.output
    for text in ("Number of flows", "A long run", "run_many", "report: "):
        assert text in result.stdout
    assert ("Two threads and one" in result.stdout) == (cores() > 1)
    printed = json.loads(invoke("bench", "scale", "--quick", "--json", "--output", tmp_path).stdout)
    assert bool(printed["run_many"]) == (cores() > 1)
