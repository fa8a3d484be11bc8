"""Adversarial search: the space, the scenario of a point, objectives, reduction, and three known weaknesses."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

import dumbbell
from conftest import ROOT
from dumbbell import Scenario, ScenarioError
from dumbbell.cli import app
from dumbbell.search import DIMENSIONS, search
from dumbbell.search.dimensions import Range, space, written_bounds
from dumbbell.search.minimizing import minimized
from dumbbell.search.objectives import objective
from dumbbell.search.searching import JOURNAL
from dumbbell.search.subject import Subject

PLAIN = {dimension.name: dimension.plain for dimension in DIMENSIONS}


def test_only_stated_parts_and_dimensions_vary():
    dimensions = space(["rtt"], {"rate": 5, "competitor": ["reno", "cubic"]}, excluded={})
    varied = {dimension.name for dimension in dimensions if not dimension.is_fixed}
    assert varied == {"rtt", "competitor"}
    plain = {dimension.name: dimension.plain for dimension in dimensions}
    assert plain == PLAIN | {"rate": 5.0, "competitor": "reno"}


@pytest.mark.parametrize(
    ("bounds", "match"),
    [
        ({"rtt": [100, 10]}, "bounds.rtt: .*in order"),
        ({"rtt": [0, 10]}, "bounds.rtt: .*from 1"),
        ({"rtt": "long"}, "bounds.rtt: .*long"),
        ({"rttt": 10}, "bounds: .*rttt.*did you mean `rtt`"),
        ({"competitor": "vegas"}, "bounds.competitor: .*vegas"),
        ({"loss": True}, "bounds.loss"),
    ],
)
def test_bad_bounds_are_refused(bounds, match):
    with pytest.raises(ScenarioError, match=match):
        space(["rtt", "loss"], bounds, excluded={})
    with pytest.raises(ScenarioError, match=r"vary: .*delay"):
        space(["delay"], {}, excluded={})
    with pytest.raises(ScenarioError, match="at least one dimension"):
        space([], {}, excluded={})


@pytest.mark.parametrize("text", ["rtt", "rtt=", "=3", "rtt=nan", "rtt=1..inf"])
def test_badly_written_bounds_are_refused(text):
    with pytest.raises(ScenarioError, match="bound"):
        written_bounds([text])


def test_the_scenario_of_a_point_states_what_the_point_does():
    point = PLAIN | {
        "rate": 5.0,
        "rtt": 80.0,
        "buffer": 0.5,
        "loss": 1.5,
        "reroute": 100.0,
        "competitor": "cubic",
        "competitor_rtt": 0.5,
        "head_start": 10.0,
        "pulse_load": 10.0,
        "pulse_period": 2.0,
        "pulse_height": 1.5,
    }
    scenario = Subject.of("reno").scenario(point).resolved()
    links = {link["name"]: link for link in scenario["links"]}
    flows = {flow["name"]: flow for flow in scenario["flows"]}
    hop = links["r1-r2"]
    assert hop["rate"] == "5 Mbit/s"
    # 5 Mbit/s for 80 ms are 33 packets of 1500 bytes, half of which is 17.
    assert hop["queue"]["limit"] == "17 packets"
    assert hop["impairments"] == [{"kind": "bernoulli", "probability": 0.015}]
    # A quarter of the shortest round trip, 40 ms, and 100 ms more after 20 s.
    assert hop["delay"] == "10 ms"
    assert hop["changes"] == [{"at": "20 s", "delay": "110 ms"}]
    assert flows["subject"]["start"] == {"uniform": ["10 s", "11 s"]}
    assert flows["competitor"]["tcp"]["congestion"]["name"] == "cubic"
    # 10 % of 5 Mbit/s for 2 s are 125 kB, which leave at 7.5 Mbit/s.
    assert flows["pulses"]["source"]["sizes"] == ["125000 bytes"]
    assert flows["pulses"]["source"]["frame_rate"] == 0.5
    assert links["s3-r1"]["rate"] == "7500 kbit/s"


def test_objectives_follow_from_goodputs_and_delays():
    def rows(subject, competitor=0.0, rtt=0.06):
        return {
            "subject": {"goodput_bps": subject, "rtt_mean_s": rtt},
            "competitor": {"goodput_bps": competitor, "rtt_mean_s": rtt},
        }

    # Bursts of 20 % and a loss of 50 % leave 4 of 10 Mbit/s, of which 3 are used.
    point = PLAIN | {"pulse_load": 20.0, "loss": 50.0}
    assert objective("low-utilization").value(rows(3e6), point) == pytest.approx(0.25)
    # The second flow has 1 of 5 Mbit/s, 40 % of its half.
    point = PLAIN | {"competitor": "same"}
    assert objective("starvation").value(rows(4e6, 1e6), point) == pytest.approx(0.6)
    assert objective("starvation").value(rows(0.0, 0.0), point) == 0.0
    # 60 ms on a path of 40 ms; of 50 ms after a change.
    assert objective("delay").value(rows(1e6), PLAIN) == pytest.approx(0.5)
    assert objective("delay").value(rows(1e6), PLAIN | {"reroute": 10.0}) == pytest.approx(0.2)
    missing = {"subject": {"rtt_mean_s": None, "delay_mean_s": float("nan")}}
    assert objective("delay").value(missing, PLAIN) == 0.0
    # Without round-trip times: 70 ms on a path of 20 ms, 50 ms after a change, and 20 ms back.
    oneway = {"subject": {"rtt_mean_s": None, "delay_mean_s": 0.07}}
    assert objective("delay").value(oneway, PLAIN) == pytest.approx(1.25)
    assert objective("delay").value(oneway, PLAIN | {"reroute": 30.0}) == pytest.approx(2 / 7)
    with pytest.raises(ScenarioError, match=r"objective: .*did you mean `starvation`"):
        objective("starvations")


def test_what_does_not_matter_returns_to_the_plain_value():
    point = PLAIN | {"rtt": 123.4, "loss": 0.777, "pulse_load": 13.37, "pulse_period": 1.234, "rate": 3.21}

    # Bursts need a load of at least 12 % and a period of at least 1.2 s; nothing else has an effect.
    def means(points):
        return [min(at["pulse_load"] / 12, 1.0) * float(at["pulse_period"] >= 1.2) for at in points]

    small = minimized(point, DIMENSIONS, means, 1.0)
    # One digit gives 10 % and 1 s, which do not suffice; two give 13 % and 1.2 s.
    assert small == PLAIN | {"pulse_load": 13.0, "pulse_period": 1.2}


def test_parts_that_only_matter_together_are_kept():
    point = PLAIN | {"rtt": 100.0, "loss": 1.0, "buffer": 0.5}

    def means(points):
        return [float(at["rtt"] > 50 and at["loss"] > 0.5) for at in points]

    assert minimized(point, DIMENSIONS, means, 1.0) == PLAIN | {"rtt": 100.0, "loss": 1.0}


def found(folder, *arguments, **settings):
    return search(*arguments, output=folder, threads=2, **settings)


@pytest.mark.slow
def test_the_result_depends_on_seed_and_points_only(tmp_path):
    settings = {"vary": ["loss", "rtt"], "bounds": {"rate": 2}, "budget": 40}
    first = found(tmp_path / "a", "reno", "low-utilization", **settings)
    other = search("reno", "low-utilization", output=tmp_path / "b", threads=1, **settings)
    assert first.worst == other.worst
    assert first.value == other.value
    assert first.file.read_text("utf-8") == other.file.read_text("utf-8")
    assert found(tmp_path / "c", "reno", "low-utilization", seed=2, **settings).worst != first.worst
    # The same command again runs no point anew and gives the same.
    again = found(tmp_path / "a", "reno", "low-utilization", **settings)
    assert (again.worst, again.points) == (first.worst, 40)


@pytest.mark.slow
def test_a_killed_search_goes_on_to_the_same_result(tmp_path):
    settings = ["--vary", "loss,rtt", "--bound", "rate=2", "--budget", "48", "--threads", "1", "--json"]
    command = [sys.executable, "-m", "dumbbell.cli", "search", "reno", "--objective", "low-utilization"]
    folder = tmp_path / "killed"
    process = subprocess.Popen(
        [*command, *settings, "--output", str(folder)], stdout=subprocess.DEVNULL, cwd=ROOT
    )
    journal = folder / JOURNAL
    while process.poll() is None and not (journal.exists() and journal.stat().st_size > 6000):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    # A lock that a killed process leaves is only taken as stale after half a minute.
    for lock in folder.glob("*.lock*"):
        lock.unlink()
    settings = {"vary": ["loss", "rtt"], "bounds": {"rate": 2}, "budget": 48}
    resumed = found(folder, "reno", "low-utilization", **settings)
    whole = found(tmp_path / "whole", "reno", "low-utilization", **settings)
    assert (resumed.worst, resumed.value) == (whole.worst, whole.value)


def test_reno_is_throttled_by_periodic_bursts(tmp_path):
    # [kuzmanovic2003]: bursts with a mean rate below a fifth of the link leave Reno less than a third of the rest.
    bounds = {"rate": 2, "pulse_period": [0.5, 2.0]}
    done = found(tmp_path, "reno", "low-utilization", vary=["buffer", "pulses"], bounds=bounds, budget=48)
    assert done.value.low > 0.6
    assert done.plain_value.high < 0.2
    assert "pulse_load" in {change["name"] for change in done.changes}


def test_bbr_starves_reno_in_a_shallow_buffer(tmp_path):
    bounds = {"rate": 5, "competitor": "reno", "competitor_rtt": 1, "head_start": 0}
    done = found(tmp_path, "bbr", "starvation", vary=["buffer"], bounds=bounds, budget=24)
    assert done.value.low > 0.7
    assert done.point["buffer"] < 0.5
    run = dumbbell.run(done.file)
    goodput = {name: run.flow(name).goodput_bps for name in ("subject", "competitor")}
    assert goodput["subject"] > 4 * goodput["competitor"]


def test_vegas_is_caught_by_a_delay_that_grows(tmp_path):
    # The base RTT stays that of the old route, so the growth counts as a queue [mo1999].
    done = found(
        tmp_path, "vegas", "low-utilization", vary=["rtt", "buffer", "reroute"], bounds={"rate": 5}, budget=24
    )
    assert done.value.low > 0.6
    assert "reroute" in {change["name"] for change in done.changes}


def test_the_file_reproduces_the_scenario_and_says_what_was_found(tmp_path):
    done = found(tmp_path, "vegas:alpha=2", "low-utilization", vary=["reroute"], bounds={"rate": 2}, budget=8)
    assert Scenario.from_toml(done.file) == done.scenario
    comments = [line for line in done.file.read_text("utf-8").splitlines() if line.startswith("# ")]
    assert "vegas:alpha=2" in comments[0]
    record = json.loads((tmp_path / "search.json").read_text("utf-8"))
    assert record["value"]["estimate"] == done.value.estimate
    assert record["changes"][0]["name"] == "reroute"


class Small(dumbbell.Control):
    """A window of four segments."""

    segments: int = 4

    def start(self, setup):
        self.cwnd = self.segments * setup.mss

    def on_ack(self, ack):
        pass

    def on_congestion(self, congestion):
        pass


def test_a_control_in_python_is_a_subject(tmp_path):
    done = search(
        Small(segments=8),
        "low-utilization",
        vary=["rtt"],
        bounds={"rate": 2},
        budget=4,
        output=tmp_path,
        threads=1,
    )
    # 8 segments per 200 ms are 0.47 of 2 Mbit/s.
    assert done.subject.endswith("Small:segments=8")
    assert done.value.estimate > 0.3


def test_the_command_prints_what_it_found(tmp_path):
    command = ["search", "vegas", "--objective", "low-utilization", "--budget", "8", "--vary", "reroute"]
    command += ["--bound", "rate=2", "--output", str(tmp_path)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "low-utilization of vegas: 0." in done.output
    assert "reroute" in done.output
    assert str(tmp_path / "worst.toml") in done.output
    bounds = tmp_path / "bounds.toml"
    bounds.write_text("rate = 2\nreroute = [0, 200]\n", "utf-8")
    by_file = CliRunner().invoke(
        app, [*command[:8], "--bounds", str(bounds), "--output", str(tmp_path), "--json"]
    )
    assert json.loads(by_file.stdout)["objective"] == "low-utilization"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["vegass", "--objective", "delay"], "did you mean `vegas`"),
        (["vegas", "--objective", "fairness"], "objective"),
        (["vegas", "--objective", "delay", "--budget", "0"], "budget"),
        (["vegas", "--objective", "delay", "--budget", "soon"], "budget"),
        (["vegas", "--objective", "delay", "--vary", "delay"], "vary"),
        (["vegas", "--objective", "delay", "--bound", "rtt"], "bound"),
        (["vegas", "--objective", "delay", "--bounds", "missing.toml"], "missing.toml"),
        (["python:nowhere.Nothing", "--objective", "delay"], "imported"),
        (["vegas", "--objective", "starvation", "--bound", "competitor=none"], "competitor"),
    ],
)
def test_bad_input_of_the_command_is_one_line(arguments, message, tmp_path):
    done = CliRunner().invoke(app, ["search", *arguments, "--output", str(tmp_path)])
    assert done.exit_code == 2
    assert message in done.output
    assert done.output.startswith("error: ")


def test_the_page_lists_the_dimensions_with_their_bounds():
    page = (ROOT / "docs" / "search.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    for dimension in DIMENSIONS:
        (row,) = [row for row in rows if row.startswith(f"| {dimension.part} | `{dimension.name}`")]
        if isinstance(dimension, Range):
            assert row.endswith(f"| {dimension.plain:g} | {dimension.low:g} to {dimension.high:g} |")


@pytest.mark.parametrize(
    ("algorithm", "vary", "bounds", "at_least"),
    [
        # Its buffers of 64 kB are a quarter of 250 kB.
        ("smoltcp:cubic", ["rtt"], {"rate": 10, "rtt": [40, 200]}, 0.5),
        ("quinn:bbr", ["buffer"], {"rate": 2, "buffer": [0.2, 1]}, 0.1),
    ],
)
def test_the_path_on_which_a_stack_of_others_does_worst_is_found(tmp_path, algorithm, vary, bounds, at_least):
    done = found(tmp_path, algorithm, "low-utilization", vary=vary, bounds=bounds, budget=8)
    assert done.value.low > at_least > done.plain_value.high
    flow = dumbbell.run(done.file).scenario.resolved()["flows"][0]
    assert f"{flow['transport']['name']}:{flow['transport']['congestion']}" == algorithm
    assert "tcp" not in flow


def test_delays_of_a_stack_of_others_are_found_as_those_of_the_engine(tmp_path):
    settings = {"vary": ["buffer"], "bounds": {"rate": 2, "buffer": [1, 4]}, "budget": 4}
    theirs, ours = (found(tmp_path / name[0], name, "delay", **settings) for name in ("quinn:cubic", "cubic"))
    assert theirs.value.low > 1.5
    assert theirs.value.low == pytest.approx(ours.value.low, rel=0.3)
