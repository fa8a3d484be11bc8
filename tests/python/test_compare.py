"""Comparisons say what changed, pair runs that draw the same numbers, and judge differences by the one rule of intervals."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell import Campaign, Flow, IdenticalRunsWarning, Uniform, engine, kernel, topologies
from dumbbell.cli import app
from dumbbell.comparison import changes, pairing, rows
from dumbbell.errors import ScenarioError
from dumbbell.statistics import mean_difference, paired_difference
from dumbbell.testbed import RealTimeRun

BUILT = any(built.version.startswith("6.12.") for built in kernel.kernels())


def made(tcp="reno", start=("0 s", "1 s"), **values):
    shape = topologies.dumbbell(pairs=2, rate="1.6 Mbit/s", delay="20 ms")
    flows = [
        Flow(name=name, from_=f"s{k}", to=f"d{k}", tcp=tcp, start=Uniform(uniform=start))
        for k, name in enumerate(("a", "b"), 1)
    ]
    base = shape.scenario(name=f"two {tcp}", rules="classic", duration="4 s", flows=flows)
    return base.with_values(values)


def compared(a, b, **options):
    return dumbbell.compare(a, b, progress=False, **{"runs": 4, **options})


def row_of(found, of, quantity):
    return next(row for row in found.rows if (row.of, row.quantity) == (of, quantity))


@pytest.fixture(scope="module")
def both():
    return compared(made(), made("vegas"))


# What changed


def test_fields_that_differ_are_listed_by_their_addresses():
    found = changes.changes(made(), made(**{"links.r1-r2.queue.limit": "9 packets", "measure_from": "1 s"}))
    assert ("measure_from", "0 s", "1 s") in found
    assert [one.field for one in found] == ["measure_from", "links.r1-r2.queue.limit"]


def test_a_flow_that_one_side_lacks_is_one_change():
    one = made()
    fewer = replace(one, flows=one.flows[:1])
    [found] = changes.changes(one, fewer)
    assert (found.field, found.b) == ("flows.b", changes.ABSENT)
    assert found.a.startswith('{"name": "b"')
    assert len(found.a) < 150


def test_the_same_scenario_has_no_changes():
    assert changes.changes(made(), made()) == []


# Pairs


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ({}, ""),
        (
            {"flows.*.tcp": "cubic", "links.r1-r2.rate": "2 Mbit/s", "links.r1-r2.queue.limit": "9 packets"},
            "",
        ),
        ({"flows.b.start": {"uniform": ["0 s", "2 s"]}}, "flows.b.start"),
        # Only one side draws.
        ({"flows.b.start": "0 s"}, ""),
        ({"links.r1-r2.queue": "red"}, ""),
        ({"links.r1-r2.impairments": [{"kind": "bernoulli", "probability": 0.01}]}, ""),
    ],
)
def test_runs_are_pairs_if_what_both_sides_draw_is_stated_alike(other, expected):
    assert pairing.conflict(made(), made(**other)) == expected


def test_a_queue_that_draws_for_each_packet_must_be_the_same():
    red, other = made(**{"links.r1-r2.queue": "red"}), made(**{"links.r1-r2.queue": "pie"})
    assert pairing.conflict(red, other) == "links.r1-r2.queue"
    assert pairing.conflict(red, red.with_values({"flows.a.tcp": "vegas"})) == ""


def test_every_queue_is_known_to_draw_or_not():
    known = {entry["name"] for entry in engine.catalogue()["queues"]}
    assert known == {*pairing.DRAWING_QUEUES, *pairing.OTHER_QUEUES}


def test_pairs_have_students_interval_of_their_differences(both):
    row = row_of(both, "flow a", "goodput_bps")
    one, other = (dumbbell.run_many(made(tcp), runs=4, progress=False).flows for tcp in ("reno", "vegas"))
    sides = [flows[flows.name == "a"].goodput_bps.to_numpy() * 1e-6 for flows in (other, one)]
    expected = paired_difference(*sides)
    assert (row.difference, row.low, row.high) == pytest.approx(
        (expected.estimate, expected.low, expected.high)
    )
    assert (row.method, row.n, row.unit) == (rows.PAIRED, (4, 4), "Mbit/s")
    assert "compared in pairs" in both.notes[0]


def test_runs_that_draw_otherwise_are_independent_and_the_reason_is_said():
    found = compared(made(), made("vegas", start=("0 s", "2 s")))
    row = row_of(found, "flow a", "goodput_bps")
    flows = [
        dumbbell.run_many(one, runs=4, progress=False).flows
        for one in (made("vegas", start=("0 s", "2 s")), made())
    ]
    expected = mean_difference(*(side[side.name == "a"].goodput_bps.to_numpy() * 1e-6 for side in flows))
    assert row.method == rows.UNPAIRED
    assert (row.low, row.high) == pytest.approx((expected.low, expected.high))
    assert (
        found.notes[0]
        == "Runs are compared as independent: flows.a.start draws other random numbers on both sides."
    )


def test_other_seeds_are_independent():
    one, other = (dumbbell.run_many(made(), runs=3, seed=seed, progress=False) for seed in (1, 2))
    found = dumbbell.compare(one, other)
    assert "no seed and run number are on both sides" in found.notes[0]
    assert row_of(found, "flow a", "goodput_bps").method == rows.UNPAIRED


def test_a_scenario_takes_the_seeds_and_numbers_of_results():
    known = dumbbell.run_many(made(), runs=3, seed=9, progress=False)
    found = compared(known, made("vegas"), runs=None)
    assert [(job.seed, job.run) for job in found.runs[1].jobs] == [(9, 0), (9, 1), (9, 2)]
    assert row_of(found, "flow a", "goodput_bps").method == rows.PAIRED


# Findings


def sample(values):
    return np.array(values, dtype=float)


@pytest.mark.parametrize(
    ("a", "b", "paired", "finding"),
    [
        # Differences 9, 10, 11: mean 10, standard error 0.577, t(2) at 90 % is 2.92: 8.3 to 11.7.
        ([1, 2, 3], [10, 12, 14], True, "differs"),
        ([10, 12, 14], [1, 2, 3], True, "differs"),
        # Differences -1, 1: mean 0.
        ([1, 2], [0, 3], True, "no difference seen"),
        ([1, 2], [1, 2], True, "equal"),
        ([1, 1], [1, 1], False, "equal"),
        ([1, 1], [2, 2], False, "differs"),
        # Every pair differs by 1.
        ([1, 2], [2, 3], True, "differs"),
        ([1], [2], True, "undecided"),
        ([1], [1], True, "equal"),
        ([1, math.nan], [1, 2], True, "not measured"),
        ([1, 2, 3], [101, 102], False, "differs"),
    ],
)
def test_a_difference_is_found_by_its_interval(a, b, paired, finding):
    found, method, judged = rows.difference(sample(a), sample(b), paired=paired)
    assert judged == finding
    assert method
    if finding != "not measured":
        assert found.measured == pytest.approx(np.mean(b) - np.mean(a))


def test_a_value_that_a_run_lacks_is_said():
    _, method, _ = rows.difference(sample([1, math.nan]), sample([1, 2]), paired=True)
    assert method == "no value in 1 of 2 runs of A"


def test_sums_and_fairness_of_all_flows_are_compared(both):
    total, fair = row_of(both, "all flows", "goodput_bps"), row_of(both, "all flows", "jain")
    flows = [row_of(both, f"flow {name}", "goodput_bps") for name in "ab"]
    assert total.a == pytest.approx(sum(row.a for row in flows))
    assert 0.5 <= fair.a <= 1.0


def test_pooled_percentiles_are_compared_where_delays_are_recorded(both):
    assert not any(row.quantity.endswith("_pooled_s") for row in both.rows)
    found = compared(made(), made("vegas"), percentiles=True)
    row = row_of(found, "flow a", "rtt_p95_pooled_s")
    alone = found.runs[0].percentiles("rtt", [0.95], names=["a"])
    assert row.a == pytest.approx(alone.p95[0] * 1e3)
    assert row.method == "bootstrap over pairs"
    assert row.low <= row.difference <= row.high
    # Probes change no result.
    assert row_of(found, "flow a", "goodput_bps") == row_of(both, "flow a", "goodput_bps")


def test_a_scenario_that_asks_for_percentiles_is_recorded():
    found = compared(made(delay_percentiles=True), made("vegas", delay_percentiles=True), runs=2)
    assert row_of(found, "flow b", "rtt_p50_pooled_s").n == (2, 2)
    assert row_of(found, "flow b", "rtt_p50_s").label.endswith("mean over runs")


def test_replications_that_do_not_differ_are_pointed_out():
    fixed = made(**{"flows.*.start": "0 s", "nodes": [*made().nodes]})
    with pytest.warns(IdenticalRunsWarning):
        found = compared(fixed, fixed.with_values({"links.r1-r2.rate": "2 Mbit/s"}), runs=2)
    assert row_of(found, "flow a", "goodput_bps").method == "none: the runs of each side are equal"
    stored = found.runs
    with pytest.warns(IdenticalRunsWarning):
        dumbbell.compare(*stored)


# Sides


def test_single_runs_are_sides():
    one, other = dumbbell.run(made()), dumbbell.run(made("vegas"))
    found = dumbbell.compare(one, other)
    assert {row.finding for row in found.rows} <= {"undecided", "equal"}
    several = dumbbell.compare(
        [one, dumbbell.run(made(), run=1)], [other, dumbbell.run(made("vegas"), run=1)]
    )
    assert row_of(several, "flow a", "goodput_bps").n == (2, 2)


def test_saved_runs_and_campaigns_are_sides(tmp_path):
    dumbbell.run_many(made(), runs=2, progress=False).save(tmp_path / "saved")
    axes = {"links.r1-r2.queue.limit": ["5 packets", "20 packets"]}
    first, second = (
        Campaign(made(tcp), axes, runs=2, store=tmp_path / tcp).run(progress=False)
        for tcp in ("reno", "vegas")
    )
    found = dumbbell.compare(first, second)
    assert [row.point for row in found.rows if row.quantity == "jain"] == [
        {"links.r1-r2.queue.limit": limit} for limit in axes["links.r1-r2.queue.limit"]
    ]
    again = compared(str(tmp_path / "saved"), made(), runs=None)
    assert {row.finding for row in again.rows} == {"equal"}


def test_a_transport_of_others_is_a_side_like_any_scenario():
    """As the Linux kernel in simulated time is, which needs a build."""
    data = made().to_dict()
    for flow in data["flows"]:
        del flow["tcp"]
        flow["transport"] = {"name": "smoltcp"}
    found = compared(made(), data, runs=2)
    assert ("flows.a.transport", "null") in [(one.field, one.a) for one in found.changed["{}"]]
    assert row_of(found, "flow a", "goodput_bps").method == rows.PAIRED


@pytest.mark.skipif(not BUILT, reason="SKIPPED: needs a kernel: dumbbell kernel build")
def test_a_kernel_in_simulated_time_is_compared_with_the_engine():
    data = made(rules="linux").to_dict()
    for flow in data["flows"]:
        del flow["tcp"]
        flow["transport"] = {"name": "linux", "congestion": "reno"}
    found = compared(made(rules="linux"), data, runs=2)
    assert ("flows.a.transport", "null") in [(one.field, one.a) for one in found.changed["{}"]]
    assert row_of(found, "flow a", "rtt_mean_s").method == "no value in 2 of 2 runs of B"


def test_runs_in_real_time_are_compared_with_simulated_ones():
    simulated = [dumbbell.run(made(), run=number) for number in range(2)]
    real = [
        RealTimeRun(
            scenario=one.scenario, seed=1, run=one.run, arrow_links=one.arrow_links.drop_columns(["job"]),
            arrow_flows=one.arrow_flows.drop_columns(["job", "fingerprint", "simulated_s", "events"]),
            arrow_traces={}, summary=one.summary,
        )
        for one in simulated
    ]  # fmt: skip
    found = dumbbell.compare(simulated, real)
    assert row_of(found, "flow a", "goodput_bps").finding == "equal"
    assert found.drawn == (simulated[0], real[0])


def test_points_of_one_side_alone_are_said(tmp_path):
    limit = "links.r1-r2.queue.limit"
    first = dumbbell.sweep(made(), {limit: ["5 packets", "9 packets"]}, runs=2, progress=False)
    second = dumbbell.sweep(made(), {limit: ["5 packets", "7 packets"]}, runs=2, progress=False)
    found = dumbbell.compare(first, second)
    assert {row.point[limit] for row in found.rows} == {"5 packets"}
    assert sum("points are only in" in note for note in found.notes) == 2
    third = dumbbell.sweep(made(), {limit: ["8 packets", "7 packets"]}, runs=2, progress=False)
    with pytest.raises(ScenarioError, match="are points that A does not have"):
        dumbbell.compare(first, third)


@pytest.mark.parametrize(
    ("b", "options", "message"),
    [
        (5, {}, "b: int is not accepted; expected a scenario"),
        ([], {}, "b: list is not accepted"),
        (made(), {"runs": 0}, "runs: 0 is not accepted"),
        (made(), {"seed": -1}, "seed: -1 is not accepted"),
    ],
)
def test_what_is_no_side_is_refused(b, options, message):
    with pytest.raises(ScenarioError, match=message):
        compared(made(), b, **options)


def test_runs_and_seed_are_refused_where_nothing_is_run():
    one = dumbbell.run(made())
    with pytest.raises(
        ScenarioError, match="runs: 3 is not accepted; expected none, as both sides are results"
    ):
        dumbbell.compare(one, one, runs=3)


# What is shown


def test_a_flow_has_one_colour_and_the_second_side_is_dashed(both):
    for panel in both.picture.panels:
        assert panel.dashed == {name for name in panel.series if name.startswith("B: ")}
        assert all(panel.looks[f"A: {name[3:]}"] == panel.looks[name] for name in panel.dashed)


def test_a_panel_of_one_side_says_so_and_keeps_its_lines(both, monkeypatch):
    from dumbbell.plots import overlay, results

    def without_goodput_of_a(run):
        made = results.run_picture(run)
        is_a = run.scenario.name == "two reno"
        return replace(made, panels=[one for one in made.panels if not (is_a and one.title == "goodput")])

    monkeypatch.setattr(overlay, "run_picture", without_goodput_of_a)
    runs = {"A": dumbbell.run(made()), "B": dumbbell.run(made("vegas"))}
    panels = {panel.title: panel for panel in overlay.overlay(runs).panels}
    assert panels["goodput, only of B"].dashed == {"B: a", "B: b"}


def test_sides_of_one_name_are_told_apart_by_the_field_that_differs():
    found = compared(made(), made(**{"links.r1-r2.queue.limit": "9 packets"}), runs=2)
    assert found.picture.title.startswith("links.r1-r2.queue.limit: A ")
    assert found.picture.title.endswith(" B 9 packets")
    found = compared(made(), made(**{"links.r1-r2.queue": "codel"}), runs=2)
    assert found.picture.title == "links.r1-r2.queue: A droptail   B codel"


def test_the_picture_has_the_curves_of_both_sides(both):
    panels = {panel.title: panel for panel in both.picture.panels}
    assert list(panels["goodput"].series) == ["A: a", "A: b", "B: a", "B: b"]
    assert {"congestion window", "queue", "goodput"} <= panels.keys()


def test_the_page_and_its_data_are_written(both, tmp_path):
    page = both.save(tmp_path / "out").read_text("utf-8")
    for text in ("flows.a.tcp.congestion.name", "goodput [Mbit/s]", "no difference seen", "<svg", "Student"):
        assert text in page, text
    data = json.loads((tmp_path / "out" / "comparison.json").read_text("utf-8"))
    assert data == both.to_dict()
    assert data["results"][0].keys() >= {
        "of",
        "quantity",
        "a",
        "b",
        "difference",
        "low",
        "high",
        "n",
        "method",
        "finding",
    }
    assert data["a"]["engine"] == engine.identity()


def test_the_command_prints_changes_and_differences(tmp_path):
    (tmp_path / "a.toml").write_text(made().to_toml(), "utf-8")
    done = CliRunner().invoke(
        app,
        [
            "compare",
            str(tmp_path / "a.toml"),
            "--with",
            "flows.*.tcp=vegas",
            "--with",
            "measure_from=1 s",
            "--runs",
            "3",
        ],
    )
    assert done.exit_code == 0, done.output
    assert "flows.a.tcp.congestion.name" in done.stdout
    assert "measure_from" in done.stdout
    assert "goodput [Mbit/s]" in done.stdout
    assert f"B: {tmp_path / 'a.toml'} with flows.*.tcp=vegas, measure_from=1 s" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.toml"], "B: nothing is not accepted; expected another side, or --with"),
        (["a.toml", "--with", "duration"], 'expected an address and a value'),
        (["a.toml", "--with", "flows.a.tcpp=vegas"], "did you mean `tcp`"),
        (["saved", "--with", "duration=5 s"], "expected a scenario file, which it changes"),
        (["a.toml", "none.toml"], "No such file"),
    ],
)  # fmt: skip
def test_the_command_refuses_in_a_sentence(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.toml").write_text(made().to_toml(), "utf-8")
    dumbbell.run(made()).save(tmp_path / "saved")
    done = CliRunner().invoke(app, ["compare", *arguments])
    assert done.exit_code == 2
    [line] = done.stderr.splitlines()
    assert message in line


def test_versions_of_an_own_algorithm_are_compared(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in (1, 2):
        (tmp_path / f"version{number}.py").write_text(
            "import dumbbell\n\n\nclass Fixed(dumbbell.Control):\n    def on_ack(self, ack):\n"
            f"        self.cwnd = {number + 1} * ack.mss\n\n    def on_congestion(self, congestion):\n        pass\n", "utf-8",
        )  # fmt: skip
    (tmp_path / "a.toml").write_text(made().to_toml().replace('"reno"', '"python:version1.Fixed"'), "utf-8")
    done = CliRunner().invoke(
        app,
        ["compare", "a.toml", "--allow", "python:version1.Fixed", "--with", "flows.*.tcp=python:version2.Fixed",
         "--runs", "2", "--threads", "1", "--json"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert {
        "point": "{}",
        "field": "flows.a.tcp.external.name",
        "a": "python:version1.Fixed",
        "b": "python:version2.Fixed",
    } in (found["changes"])
    [total] = [
        row for row in found["results"] if (row["of"], row["quantity"]) == ("all flows", "goodput_bps")
    ]
    assert total["difference"] > 0
