"""From a capture to a scenario: what a fit returns, what it says that it cannot tell, and its command."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import dumbbell
from command_line import invoke, refused
from dumbbell import Scenario, ScenarioError
from dumbbell.inference import calibration, distance, truth
from dumbbell.inference.estimate import estimate, mode
from dumbbell.inference.fitted import fit, fit_connection, proportion
from dumbbell.inference.fitting import CONTROLS
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
    deeper = found.what_if({"buffer": "4 BDP"})["queueing_s"]
    assert deeper.value > 2 * deeper.as_it_was


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


def test_a_factor_is_the_conformal_quantile():
    # Of 19 scores, the 18th: (19 + 1) 0.9 = 18.
    assert calibration.quantile([float(number) for number in range(1, 20)]) == 18.0
    # Of 5, 6 * 0.9 = 5.4 would be the sixth: the largest.
    assert calibration.quantile([1.0, 5.0, 2.0, 3.0, 4.0]) == 5.0
    assert calibration.score("buffer_packets", 20.0, 10.0, 9.0, 12.0) == pytest.approx(0.8)
    assert calibration.score("rate_bps", 10.0, 10.0, 9.0, 12.0) == 0.0


def test_calibration_has_factors_for_each_kind():
    for kind in calibration.KINDS:
        assert set(calibration.factors()[kind]) <= {*calibration.PARAMETERS, calibration.LOSS}
        assert calibration.factors()[kind]["rate_bps"] >= 0.0
        # Wilson's interval alone contains the truth too rarely: some losses at a full queue look random.
        assert calibration.factors()[kind][calibration.LOSS] > 0.0
    rows = [{"judged": "full queue", "scores": {"rate_bps": 0.01 * number}} for number in range(1, 20)]
    made = calibrated(rows, 1, "linux")
    assert made["factors"]["full queue"] == {"rate_bps": 0.18}
    # Kinds with too few captures take the factor of all.
    assert made["factors"]["policer"] == {"rate_bps": 0.18}


def test_truth_is_drawn_from_seed_and_number():
    one = truth.case(2, 3, stack="simulator")
    assert one.scenario == truth.case(2, 3, stack="simulator").scenario
    assert one.scenario != truth.case(3, 3, stack="simulator").scenario
    kinds = [truth.case(2, number, stack="simulator").kind for number in range(len(truth.KINDS))]
    assert kinds == list(truth.KINDS)
    other = one.with_control("bbr").to_dict()["flows"][0]
    assert other["tcp"]["congestion"] == "bbr"
    assert other["source"] == one.scenario.to_dict()["flows"][0]["source"]
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
