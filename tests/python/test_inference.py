"""From a capture to a scenario: what a fit returns, what it says that it cannot tell, and its command."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import dumbbell
from command_line import invoke, refused
from dumbbell import Scenario, ScenarioError, testbed
from dumbbell.inference import calibration, distance, policer, truth
from dumbbell.inference.estimate import STILL_S, estimate, mode
from dumbbell.inference.fitted import fit, fit_connection, proportion
from dumbbell.inference.fitting import CONTROLS, Search
from dumbbell.inference.measuring import calibrated
from dumbbell.inference.path import Ends, Path
from dumbbell.inference.reading import read
from dumbbell.inference.simulate import Candidate, Simulator

FEW = ("cubic", "reno", "bbr")

# 10 Mbit/s, 40 ms: 33 packets of 1500 bytes on the path.
RATE, RTT, BUFFER = 10e6, 0.04, 20


def captured(
    folder, name, control="cubic", *, queue=None, tcp=None, source=None, duration="6 s", losses=None
):
    """Return the capture of one flow at its sender, and its run, on a path of `RATE` and `RTT`."""
    bottleneck = {"name": "bottleneck", "from": "r", "to": "b", "rate": "10 Mbit/s", "delay": "20 ms"}
    bottleneck["queue"] = queue or {"kind": "droptail", "limit": f"{BUFFER} packets"}
    if losses:
        bottleneck["impairments"] = [losses]
    fast = {"rate": "10 Gbit/s", "delay": "0 s"}
    links = [
        {"name": "access", "from": "a", "to": "r", **fast},
        bottleneck,
        {"name": "back", "from": "b", "to": "r", "rate": "10 Gbit/s", "delay": "20 ms"},
        {"name": "home", "from": "r", "to": "a", **fast},
    ]
    flow = {"name": "flow", "from": "a", "to": "b", "tcp": {"congestion": control, **(tcp or {})}}
    flow["source"] = source or {"kind": "greedy"}
    scenario = Scenario.of(
        {"duration": duration, "rules": "linux", "nodes": ["a", "r", "b"], "links": links, "flows": [flow]}
    )
    path = folder / f"{name}.pcapng"
    return path, dumbbell.run(scenario, pcap=path, node="a")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("captures")


@pytest.fixture(scope="module")
def overflowing(folder):
    return captured(folder, "overflowing")[0]


@pytest.fixture(scope="module")
def found(overflowing):
    return fit(overflowing, controls=FEW, progress=False)


def test_a_full_queue_tells_rate_round_trip_time_buffer_and_algorithm(found):
    assert found.intervals["rate_bps"].value == pytest.approx(RATE, rel=0.005)
    assert found.intervals["base_rtt_s"].value == pytest.approx(RTT, rel=0.005)
    assert abs(found.intervals["buffer_packets"].value - BUFFER) <= 1
    assert (found.discipline, found.kind) == ("droptail", "full queue")
    assert found.controls[0].control == found.control == "cubic"
    assert not found.is_of_none


def test_the_capture_alone_tells_rate_round_trip_time_and_buffer(overflowing):
    seen = read(overflowing)
    one = estimate(seen)
    assert one.rate_bps == pytest.approx(RATE, rel=1e-4)
    assert one.base_rtt_s == pytest.approx(RTT, rel=1e-3)
    assert (one.buffer_packets, one.has_overflowed) == (BUFFER, True)
    # Without a handshake, the smallest round-trip time of data less its serialization is as good.
    assert estimate(replace(seen, handshake_rtt_s=np.nan)).base_rtt_s == pytest.approx(RTT, rel=1e-3)


def test_intervals_contain_the_truth_and_their_value(found):
    for name, value in (("rate_bps", RATE), ("base_rtt_s", RTT), ("buffer_packets", BUFFER)):
        one = found.intervals[name]
        assert one.low <= one.value <= one.high
        assert one.contains(value), (name, one)
    assert not found.intervals["buffer_packets"].contains(3 * BUFFER)


def test_a_buffer_that_never_overflowed_has_a_lower_bound_and_says_so(folder):
    path, run = captured(folder, "deep", queue={"kind": "droptail", "limit": "2000 packets"}, duration="3 s")
    one = fit(path, controls=FEW, progress=False)
    buffer = one.intervals["buffer_packets"]
    assert buffer.high == np.inf
    # What was in the queue at the end has left no acknowledgement.
    longest = run.link("bottleneck").backlog_max_packets
    assert 0.85 * longest <= buffer.value <= longest
    assert any("lower bound" in text for text in one.flags)


def test_a_flow_that_the_receiver_limits_is_flagged(folder):
    path, _ = captured(folder, "limited", tcp={"receive_buffer": "20 segments"}, duration="4 s")
    one = fit(path, controls=FEW, progress=False)
    assert any("receive window" in text for text in one.flags)
    assert one.intervals["rate_bps"].value == pytest.approx(RATE, rel=0.005)
    assert one.ends.window_bytes == 20 * 1448


@pytest.mark.parametrize(
    ("kind", "queue"),
    [
        ("codel", {"kind": "codel", "strict": True}),
        ("pie", {"kind": "pie"}),
        ("policer", {"kind": "policer", "rate": "4 Mbit/s", "burst": "60 kB"}),
    ],
)
def test_disciplines_are_told_apart(folder, kind, queue):
    path, _ = captured(folder, kind, queue=queue, duration="10 s")
    one = fit(path, controls=FEW, progress=False)
    assert one.discipline == kind
    rate = 4e6 if kind == "policer" else RATE
    assert one.intervals["rate_bps"].value == pytest.approx(rate, rel=0.01)


def test_random_losses_are_those_at_a_queue_that_was_not_full(folder):
    path, run = captured(
        folder, "random", "bbr", losses={"kind": "bernoulli", "probability": 0.005}, duration="8 s"
    )
    seen = read(path)
    early = estimate(seen).is_early
    drops = run.link("bottleneck").drops_impairment
    assert seen.is_lost.sum() == pytest.approx(drops + run.link("bottleneck").drops_queue, rel=0.05)
    assert early.sum() == pytest.approx(drops, rel=0.3)
    one = fit(path, controls=FEW, progress=False)
    assert one.control == "bbr"
    assert one.intervals["loss"].low <= 0.005 <= one.intervals["loss"].high


def test_the_scenario_of_a_fit_is_near_what_was_captured_and_others_are_not(overflowing):
    seen = read(overflowing)
    simulator = Simulator(seen=seen, ends=Ends.of(seen), base_rtt_s=RTT)
    right = Path(rate_bps=RATE, base_rtt_s=RTT, buffer_packets=BUFFER)
    wrong = Path(rate_bps=RATE, base_rtt_s=RTT, buffer_packets=3 * BUFFER)
    near, far, other = simulator.distances(
        [Candidate(path=right, control="cubic"), Candidate(path=wrong, control="cubic"),
         Candidate(path=right, control="bbr")]
    )  # fmt: skip
    assert near < 0.02
    assert far > 5 * near
    assert other > 5 * near


def test_the_distance_of_a_flow_from_itself_is_zero(overflowing):
    shape = distance.shape_of_capture(read(overflowing))
    assert distance.distance(shape, shape, RTT) == 0.0
    assert distance.distance(shape, None, RTT) == 1.0


def test_the_nearest_simulation_lies_over_the_capture(found):
    panels = {panel.title: panel.series for panel in found.plot().panels}
    seen, simulated = panels["retransmissions"]["capture"], panels["retransmissions"]["simulation"]
    assert seen[1][-1] == simulated[1][-1] > 0
    goodput = panels["goodput"]
    assert np.allclose(goodput["capture"][1], goodput["simulation"][1], rtol=0.02)


def test_of_several_runs_the_nearest_counts(overflowing):
    search = Search(seen=read(overflowing, 1), controls=["bbr"])
    tried = search.run()
    runs = {}
    for candidate, found in search.simulator.known.items():
        runs.setdefault(candidate.path, []).append((found, candidate.run))
    assert any(len({found for found, _ in some}) > 1 for some in runs.values())
    assert all((one.distance, one.run) == min(runs[one.path]) for one in tried)


def test_a_fit_of_arrays_has_nothing_to_lie_over(overflowing):
    seen = read(overflowing, 1)
    with pytest.raises(ScenarioError, match=r"capture: none is not accepted; expected a fit of a capture"):
        fit_connection(seen, controls=FEW, progress=False).plot()


def test_what_if_is_what_a_run_with_the_change_reaches(folder, found):
    predicted = found.what_if({"tcp": "bbr"})
    _, real = captured(folder, "changed", "bbr")
    goodput = predicted["goodput_bps"]
    assert goodput.value == pytest.approx(real.flow("flow").goodput_bps, rel=0.05)
    assert goodput.low <= goodput.value <= goodput.high
    wait = real.link("bottleneck").wait_mean_s
    assert predicted["queueing_s"].value == pytest.approx(wait, rel=0.2, abs=0.002)
    # The range over paths leaves out the error of models; the interval is wider by what calibration knows of that.
    assert goodput.is_calibrated
    assert goodput.low < goodput.over_paths[0] <= goodput.over_paths[1] < goodput.high
    deeper = found.what_if({"buffer": "4 BDP"})["queueing_s"]
    assert deeper.value > 2 * deeper.as_it_was
    assert not deeper.is_calibrated
    assert (deeper.low, deeper.high) == deeper.over_paths


@pytest.mark.parametrize(
    "change", [{"tpc": "bbr"}, {}, {"tcp": "nothing"}, {"buffer": "3 apples"}, {"queue": "quque"}]
)
def test_an_unknown_change_is_refused_with_what_is_accepted(found, change):
    with pytest.raises(ScenarioError, match="; expected "):
        found.what_if(change)


def test_the_scenario_is_written_with_intervals_beside_values(found):
    text = found.to_toml()
    assert "# rate: 10 Mbit/s (" in text
    assert "# buffer: " in text
    assert Scenario.from_text(text) == found.scenario


def test_a_connection_that_cannot_be_fitted_is_refused(folder, overflowing):
    with pytest.raises(ScenarioError, match=r"^flow: 2 is not accepted; expected a connection from 1 to 1"):
        read(overflowing, 2)
    with pytest.raises(ScenarioError, match=r"^controls: \"cubik\".*did you mean `cubic`"):
        fit(overflowing, controls=["cubik"], progress=False)
    path, _ = captured(folder, "short", source={"kind": "transfer", "size": "20 kB"})
    with pytest.raises(ScenarioError, match="at least 20"):
        read(path)
    with pytest.raises(OSError, match="accepted: a pcap"):
        read(folder)


def test_the_mode_is_the_densest_value():
    # Three of five values are within 0.1 % of 10.
    value, share = mode(np.array([9.995, 10.0, 10.005, 5.0, 20.0]))
    assert value == pytest.approx(10.0)
    assert share == pytest.approx(0.6)


def test_an_interval_of_a_proportion_is_that_of_wilson():
    # 10 of 100, z = 1.645: centre (0.1 + 0.01353) / 1.02706, half 1.645 / 1.02706 sqrt(0.0009 + 0.00006764).
    one = proportion(10, 100)
    assert one.low == pytest.approx(0.0607, abs=2e-4)
    assert one.high == pytest.approx(0.1604, abs=2e-4)
    assert proportion(0, 100).low == 0.0


SIMULATED = calibration.Setting(kind="full queue", hosts="simulated", noise_s=0.0, serialization_s=1e-3)
REAL = replace(SIMULATED, hosts="real", noise_s=2e-5)


def test_a_factor_is_the_conformal_quantile():
    # Of 19 scores, the 18th: (19 + 1) 0.9 = 18.
    assert calibration.quantile([float(number) for number in range(1, 20)]) == 18.0
    # Of 5, 6 * 0.9 = 5.4 would be the sixth: the largest.
    assert calibration.quantile([1.0, 5.0, 2.0, 3.0, 4.0]) == 5.0
    assert calibration.score(SIMULATED, "buffer_packets", 20.0, 10.0, 9.0, 12.0) == pytest.approx(0.8)
    assert calibration.score(SIMULATED, "rate_bps", 10.0, 10.0, 9.0, 12.0) == 0.0


def test_errors_with_real_hosts_are_in_units_of_how_much_their_delays_vary():
    # 40 us beside a noise of 20 us, and 2 % of a packet's time is 2 % of a rate.
    assert calibration.score(REAL, "base_rtt_s", 0.01, 0.01004, 0.01004, 0.01004) == pytest.approx(2.0)
    assert calibration.score(REAL, "rate_bps", 1e7, 1.02e7, 1.02e7, 1.02e7) == pytest.approx(
        0.02 / 1.02 / 0.02
    )
    # Packets of others, and of a policer, say nothing of hosts.
    other = replace(REAL, kind="competitors")
    assert calibration.score(other, "base_rtt_s", 0.01, 0.02, 0.02, 0.02) == pytest.approx(0.5)


def test_the_noise_of_hosts_is_that_of_the_spaces_between_acknowledgements(overflowing):
    seen = read(overflowing)
    assert estimate(seen).noise_s < STILL_S
    draw = np.random.default_rng(1)
    shaken = replace(seen, ack_s=np.sort(seen.ack_s + draw.normal(0.0, 3e-5, len(seen.ack_s))))
    # The median of a difference of two: 0.674 sqrt(2) 30 us.
    assert estimate(shaken).noise_s == pytest.approx(0.6745 * np.sqrt(2.0) * 3e-5, rel=0.15)


def test_packets_of_others_are_seen_behind_the_noise_of_hosts(folder, overflowing):
    case = truth.case(1, 14, stack="simulator")
    assert case.kind == "competitors"
    path = folder / "others.pcapng"
    dumbbell.run(case.scenario, seed=case.seed, pcap=path, node="a")
    draw = np.random.default_rng(1)
    for seen, competes in ((read(path), True), (read(overflowing), False)):
        late = seen.ack_s + draw.exponential(1e-5, len(seen.ack_s))
        one = estimate(replace(seen, ack_s=np.maximum.accumulate(late)))
        assert one.noise_s > STILL_S
        assert one.competes is competes
        assert one.rate_bps == pytest.approx(case.rate_bps if competes else RATE, rel=0.005)


def test_an_algorithm_is_none_of_these_if_few_known_ones_were_as_far(found):
    as_far, count = calibration.known_as_far(found.setting, found.distance)
    assert 0 < as_far <= count
    assert found.p_value == pytest.approx((as_far + 1) / (count + 1))
    far = replace(found, likelihoods=tuple(replace(one, distance=0.9) for one in found.likelihoods))
    assert far.known_as_far[0] == 0
    assert far.is_of_none
    assert far.controls


def test_calibration_has_factors_for_each_kind_and_hosts():
    for hosts in calibration.HOSTS:
        for kind in calibration.KINDS:
            setting = replace(SIMULATED, hosts=hosts, kind=kind)
            assert calibration.factor(setting, "goodput_bps") > 0.0
            # Wilson's interval alone contains the truth too rarely: some losses at a full queue look random.
            assert kind in calibration.LOOSE or calibration.factor(setting, calibration.LOSS) > 0.0
            assert calibration.known_as_far(setting, 0.0)[1] >= 6
    known = {"judged": "full queue", "hosts": "real", "stack": "testbed", "nearest": 0.01}
    rows = [known | {"scores": {"rate_bps": 0.01 * number}} for number in range(1, 20)]
    # A simulated host that a policer makes look real counts for neither.
    rows += [known | {"stack": "linux", "scores": {"rate_bps": 0.9}}] * 20
    before = {"captures": {}, "distances": {}, "factors": {"simulated": {"policer": {"rate_bps": 0.5}}}}
    made = calibrated(rows, before)
    assert made["factors"]["real"]["full queue"] == {"rate_bps": 0.18}
    # Kinds with too few captures take the factor of all whose errors have the same unit.
    assert made["factors"]["real"]["random loss"] == {"rate_bps": 0.18}
    assert made["factors"]["real"]["policer"] == {}
    # Other hosts are as they were.
    assert made["factors"]["simulated"] == before["factors"]["simulated"]


def test_a_base_round_trip_time_is_uncertain_by_the_options_of_a_handshake():
    known = calibration.interval(SIMULATED, "base_rtt_s", 0.04, 0.04, 0.04)
    assert known.high - 0.04 >= 24 / 1500 * SIMULATED.serialization_s
    assert 0.04 - known.low >= 24 / 1500 * SIMULATED.serialization_s


def test_a_policer_is_the_bucket_that_tells_lost_packets_from_others(folder):
    queue = {"kind": "policer", "rate": "4 Mbit/s", "burst": "30 kB"}
    path, _ = captured(folder, "bucket", queue=queue, duration="8 s")
    seen = read(path)
    one, *others = policer.buckets(seen)
    assert one.wrong < 0.02
    rates = sorted(other.rate_bps for other in (one, *others))
    assert 0.995 * rates[0] <= 4e6 <= 1.005 * rates[-1]
    assert one.burst_bytes == pytest.approx(30_000, abs=1500)


def test_a_queue_is_no_policer_although_it_loses_the_same_packets(overflowing):
    # A queue of 20 packets loses what a bucket of 20 packets does, but delays what it does not lose.
    assert policer.buckets(read(overflowing)) == ()


def test_truth_is_drawn_from_seed_and_number():
    one = truth.case(2, 3, stack="simulator")
    assert one.scenario == truth.case(2, 3, stack="simulator").scenario
    assert one.scenario != truth.case(3, 3, stack="simulator").scenario
    kinds = [truth.case(2, number, stack="simulator").kind for number in range(len(truth.KINDS))]
    assert kinds == list(truth.KINDS)
    other = one.with_control("bbr").to_dict()["flows"][0]
    assert other["tcp"]["congestion"] == "bbr"
    assert other["source"] == one.scenario.to_dict()["flows"][0]["source"]
    real = [truth.case(2, number, stack="testbed") for number in range(len(truth.REAL_KINDS))]
    assert [one.kind for one in real] == list(truth.REAL_KINDS)
    assert all(testbed.load_bps(one.scenario) <= testbed.BUDGET_BPS for one in real)
    with pytest.raises(ScenarioError, match=r"^kind: \"clear\".*did you mean `clean`"):
        truth.case(2, 3, kind="clear")


def test_all_controls_are_of_the_environment_of_linux():
    known = {one["name"] for one in dumbbell.catalogue()["variants"] if one["environments"].get("linux")}
    assert set(CONTROLS) <= known
    assert set(truth.CONTROLS["simulator"]) <= known


def test_the_command_prints_and_writes_what_was_found(overflowing, tmp_path):
    done = invoke(
        "fit", overflowing, "--controls", "cubic,reno", "--what-if", "tcp=bbr", "--output", tmp_path, "--json"
    )
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert record["control"] == "cubic"
    assert record["what_if"][0]["changes"] == {"tcp": "bbr"}
    assert json.loads((tmp_path / "fit.json").read_text(encoding="utf-8")) == record
    Scenario.from_toml(tmp_path / "fitted.toml")
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert all(text in page for text in ("Capture and simulation", "what if tcp=bbr", "base round-trip time"))
    shown = invoke("fit", overflowing, "--controls", "cubic", "--what-if", "buffer=1 BDP").stdout
    assert "bottleneck: droptail" in shown
    assert "what if buffer=1 BDP" in shown


@pytest.mark.parametrize("option", [["--what-if", "tpc=bbr"], ["--what-if", "tcp"], ["--controls", "cubik"]])
def test_the_command_refuses_what_it_does_not_know(overflowing, option):
    assert "expected" in refused("fit", overflowing, *option)
