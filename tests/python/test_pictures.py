"""Pictures of results: what they show, and where they can be drawn."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dumbbell
from command_line import invoke
from dumbbell import Job, Probe, ScenarioError, lab, statistics, topologies
from dumbbell.cli import progress
from dumbbell.plots import Panel, curves, notebook, time_series
from dumbbell.plots.capacity import capacity_of
from dumbbell.runs import RunTables
from dumbbell.traces import StepFunction


@pytest.fixture(scope="module")
def result(two_hosts):
    return dumbbell.run(two_hosts)


@pytest.fixture(scope="module")
def runs(two_hosts):
    jobs = [
        Job(
            two_hosts.with_values(
                {"links.r1-r2.rate": rate, "flows.fg.tcp": tcp, "flows.fg.start": {"uniform": ["0 s", "1 s"]}}
            ),
            run=run,
            parameters={"rate": rate, "tcp": tcp},
        )
        for rate in ("900 kbit/s", "2 Mbit/s")
        for tcp in ("reno", "vegas")
        for run in range(4)
    ]
    return dumbbell.run_many(jobs, progress=False)


def panel(picture, start):
    (found,) = [one for one in picture.panels if one.title.startswith(start)]
    return found


# One run


def test_a_run_shows_windows_queues_goodput_and_losses(result):
    picture = result.plot()
    assert [one.title for one in picture.panels] == [
        "congestion window: fg", "queue", "goodput: fg", "losses",
    ]  # fmt: skip
    assert panel(picture, "congestion window").labels == ("time [s]", "cwnd [segments]")


def test_what_was_recorded_is_drawn_as_it_is_and_holds_to_the_end(result):
    recorded = StepFunction.of(result.traces["cwnd"])
    x, y = result.plot("cwnd").panels[0].series["fg"]
    assert x[:-1].tolist() == recorded.time.tolist()
    assert (x[-1], y[-1]) == (5.0, recorded.value[-1])
    assert recorded.time[-1] < 5.0


def test_the_window_of_a_picture_has_no_inflation_of_recovery(two_hosts):
    run = dumbbell.run(
        two_hosts.with_values({"probes": [{"flows": ["fg"], "quantities": ["cwnd", "cwnd_base"]}]})
    )
    inflated, base = (StepFunction.of(run.traces[name]) for name in ("cwnd", "cwnd_base"))
    _, y = panel(run.plot(), "congestion window").series["fg"]
    assert y.max() == base.value.max() < inflated.value.max()


def test_a_picture_draws_what_the_path_holds_and_carries(result):
    # 1.6 Mbit/s times 100.4 ms are 13.4 packets of 1500 bytes; the buffer holds ten more.
    references = panel(result.plot(), "congestion window").references
    assert references == pytest.approx({"BDP 13": 13.39, "BDP + buffer 23": 23.39}, abs=0.02)
    assert panel(result.plot(), "goodput").references == {"link rate 1.6": 1.6}
    ax = result.plot().figure.axes[0]
    assert [text.get_text() for text in ax.texts] == list(references)
    assert ax.get_ylim()[1] > 23.39
    assert "for comparison: BDP 13, BDP + buffer 23" in str(result.plot())


def test_a_link_has_a_colour_that_no_algorithm_beside_it_has(two_hosts):
    named = two_hosts.with_values({"flows.fg.name": "reno", "probes": None})
    figure = dumbbell.run(named).plot(names=["reno", "r1-r2", "h1-r1"]).figure
    colours = {line.get_label(): line.get_color() for ax in figure.axes for line in ax.lines}
    shown = [colours[name] for name in ("reno", "r1-r2", "h1-r1")]
    assert len(set(shown)) == 3


def test_a_run_is_drawn_in_a_style(result):
    assert result.plot(style="dark").figure.get_facecolor()[0] < 0.2
    with pytest.raises(ScenarioError, match=r"style: .*did you mean `paper`"):
        result.plot(style="papr")


def test_panels_over_time_have_the_same_limits(result):
    axes = result.plot().figure.axes
    assert len({ax.get_xlim() for ax in axes}) == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("changes", [{"at": "1 s", "rate": "1 Mbit/s"}]),
        ("outages", [{"from": "1 s", "until": "1.1 s"}]),
        ("opportunities", {"times": [1, 2, 4]}),
        ("trace", {"kind": "lte", "rate": "2 Mbit/s"}),
    ],
)
def test_a_path_that_changes_has_no_capacity(two_hosts, field, value):
    assert capacity_of(two_hosts, ["fg"]) is not None
    assert capacity_of(two_hosts.with_values({f"links.r1-r2.{field}": value}), ["fg"]) is None


def test_goodput_in_a_bin_never_exceeds_the_link(two_hosts):
    # Holes are open for long: without SACK, each loss of many takes a round trip.
    harsh = two_hosts.with_values({"flows.fg.tcp": "newreno", "duration": "20 s", "probes": None})
    for limit in ("10 packets", "40 packets"):
        run = dumbbell.run(harsh.with_values({"links.r1-r2.queue.limit": limit}))
        assert run.flow("fg").segments_retransmitted > 0
        _, y = panel(run.plot(), "goodput").series["fg"]
        assert y.max() <= 1.6


def test_what_a_closed_hole_delivers_is_spread_over_the_time_it_was_open():
    time, size = np.array([0.0, 1.0, 2.0, 5.0, 6.0]), np.array([0.0, 100.0, 200.0, 500.0, 600.0])
    rate = time_series.arriving(time, size, np.array([0.0, 2.0, 4.0, 6.0]))
    assert rate.tolist() == [800.0, 800.0, 800.0]
    # Nothing comes after the last record.
    assert time_series.arriving(time, size, np.array([6.0, 8.0])).tolist() == [0.0]


def test_what_was_not_recorded_is_sampled_in_the_same_run(result, two_hosts):
    silent = dumbbell.run(two_hosts.with_values({"probes": None}))
    assert silent.arrow_traces == {}
    x, y = silent.plot("cwnd").panels[0].series["fg"]
    assert len(x) > 1000
    np.testing.assert_array_equal(y, StepFunction.of(result.traces["cwnd"]).at(x))
    assert silent.arrow_traces == {}


def test_the_goodput_of_a_picture_adds_up_to_what_was_delivered(result):
    x, y = panel(result.plot(), "goodput").series["fg"]
    assert len(x) == 50
    width = x[1] - x[0]
    assert (y * width).sum() * 1e6 / 8 == pytest.approx(result.flow("fg").bytes_delivered, rel=0.01)


def test_the_losses_of_a_picture_are_those_of_the_links(result):
    _, y = panel(result.plot(), "losses").series["r1-r2"]
    assert y[-1] == result.link("r1-r2").drops_queue > 0


def test_names_choose_flows_and_links(result):
    picture = result.plot(names=["fg", "h1-r1", "r1-r2"])
    assert list(panel(picture, "queue").series) == ["h1-r1", "r1-r2"]
    assert [one.title for one in result.plot(names=["r1-r2"]).panels] == ["queue: r1-r2", "losses: r1-r2"]


def test_a_run_in_real_time_shows_what_it_recorded_of_the_chosen_flows(two_hosts):
    flows = [replace(two_hosts.flows[0], name=name) for name in ("one", "other")]
    probes = [Probe(flows=["*"], quantities=["cwnd"]), Probe(flows=["other"], quantities=["srtt"])]
    simulated = dumbbell.run(replace(two_hosts, flows=flows, probes=probes, stop_when_complete=()))
    names = ("scenario", "seed", "run", "arrow_flows", "arrow_links", "arrow_traces", "summary")
    recorded = RunTables(**{name: getattr(simulated, name) for name in names})
    # The queue was not recorded and cannot be sampled; the windows are those of the chosen flow.
    (shown,) = recorded.plot(names=["one"]).panels
    assert shown.title == "congestion window: one"
    # Of what was not recorded of the chosen flow, there are others.
    assert list(recorded.plot("srtt", names=["one"]).panels[0].series) == ["other"]
    with pytest.raises(ScenarioError, match="was not recorded"):
        recorded.plot("flight_size")


def test_a_source_of_datagrams_has_goodput_and_no_window(two_hosts):
    source = {"kind": "cbr", "rate": "2 Mbit/s", "packet": "1000 bytes"}
    run = dumbbell.run(
        two_hosts.with_values({"probes": None, "flows.fg.tcp": None, "flows.fg.source": source})
    )
    assert [one.title for one in run.plot().panels] == ["queue: r1-r2", "goodput: fg", "losses: r1-r2"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"quantity": "cwmd"}, ("quantity", "did you mean `cwnd`")),
        ({"quantity": 3}, ("quantity", "cwnd")),
        ({"quantity": "tcp_events"}, ("quantity", "cwnd")),
        ({"quantity": "w_max"}, ("w_max", "was not recorded")),
        ({"quantity": "run.png"}, ('"run.png"', 'run.plot().save("run.png")')),
        ({"quantity": "out/run.HTML"}, ('run.plot().save("out/run.HTML")',)),
        ({"names": ["fgg"]}, ("names", "fg")),
        ({"names": "fg"}, ("names", "a list")),
        ({"names": [3]}, ("names", "a list")),
    ],
)
def test_a_wrong_picture_of_a_run_is_refused(result, arguments, words):
    with pytest.raises(ScenarioError) as refused:
        result.plot(**arguments)
    for word in words:
        assert word in str(refused.value)


class Counting(dumbbell.Control):
    """Additive increase that exposes its reactions to congestion."""

    probes = ("cuts",)

    def start(self, setup):  # noqa: ARG002 - the signature of Control
        self.cuts = 0

    def on_ack(self, ack):
        self.cwnd = ack.grown(self.cwnd, ack.mss * ack.mss / self.cwnd)

    def on_congestion(self, congestion):
        self.cuts += 1
        self.cwnd = congestion.loss_window


@pytest.fixture(scope="module")
def own(two_hosts):
    scenario = two_hosts.with_values({"flows.fg.tcp": Counting()})
    probes = [Probe(flows=["fg"], quantities=["own.cuts"])]
    return replace(scenario, probes=probes)


def test_a_quantity_of_an_own_control_that_the_run_recorded_is_drawn(own, result):
    recorded = dumbbell.run(own)
    (drawn,) = recorded.plot("own.cuts").panels
    assert drawn.labels == ("time [s]", "own.cuts")
    assert drawn.series["fg"][1].tolist()[-1] == recorded.traces["own.cuts"]["value"].iloc[-1]
    assert recorded.plot("own.cuts", names=["fg"]).panels[0].title == "own.cuts: fg"
    with pytest.raises(ScenarioError, match=r"names.*did not record own\.cuts; expected fg"):
        recorded.plot("own.cuts", names=["r1-r2"])
    with pytest.raises(ScenarioError, match=r"did you mean `own\.cuts`"):
        recorded.plot("own.cut")
    with pytest.raises(ScenarioError, match=r'"own\.cuts" is not accepted'):
        result.plot("own.cuts")


def test_run_writes_traces_of_quantities_of_own_controls(own, tmp_path):
    file = tmp_path / "own.toml"
    file.write_text(own.to_toml(), encoding="utf-8")
    done = invoke("run", file, "--trace", tmp_path / "traces")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "traces" / "own.cuts.png").stat().st_size > 1000
    assert len(pd.read_parquet(tmp_path / "traces" / "own.cuts.parquet")) > 1


def test_a_trace_figure_holds_the_last_value_to_the_end(result):
    made = curves.trace_figure("cwnd", result.traces["cwnd"], end_s=9.0)
    (line,) = made.axes[0].get_lines()
    assert line.get_xdata()[-1] == 9.0
    assert line.get_ydata()[-1] == line.get_ydata()[-2]


def test_a_long_curve_is_thinned_and_keeps_its_extremes():
    y = np.zeros(1_000_000)
    y[123_456], y[765_432] = 5.0, -7.0
    one = Panel(title="t", x_label="x", y_label="y", series={"a": (np.arange(1e6), y)})
    x, thin = one.thinned["a"]
    assert len(x) < 5000
    assert (thin.max(), thin.min(), x[0], x[-1]) == (5.0, -7.0, 0.0, 999_999.0)
    assert (np.diff(x) > 0).all()


# Many runs


def test_runs_show_means_with_intervals_against_their_parameters(runs):
    one = runs.plot().panels[0]
    assert one.labels == ("rate [Mbit/s]", "goodput [Mbit/s]")
    assert set(one.series) == {"reno", "vegas"}
    x, y = one.series["reno"]
    assert x.tolist() == [0.9, 2.0]
    sample = runs.flows.query("rate == '2 Mbit/s' and tcp == 'reno'").goodput_bps.to_numpy() / 1e6
    expected = statistics.mean_interval(sample)
    assert y[1] == pytest.approx(expected.estimate)
    low, high = one.intervals["reno"]
    assert (low[1], high[1]) == pytest.approx((expected.low, expected.high))


def test_columns_of_links_and_names_can_be_axes(runs):
    one = runs.plot(x="tcp", y="utilization", hue="rate", names=["r1-r2"]).panels[0]
    assert list(one.ticks) == ["reno", "vegas"]
    assert set(one.series) == {"900 kbit/s", "2 Mbit/s"}
    expected = runs.links[runs.links.name == "r1-r2"].groupby(["tcp", "rate"]).utilization.mean()
    assert one.y_unit == "%"
    assert one.series["2 Mbit/s"][1] == pytest.approx(
        [100 * expected["reno", "2 Mbit/s"], 100 * expected["vegas", "2 Mbit/s"]]
    )


def test_runs_without_parameters_show_their_flows(two_hosts):
    runs = dumbbell.run_many(two_hosts, runs=2, progress=False, warn=False)
    assert list(runs.plot().panels[0].ticks) == ["fg"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"x": "rates"}, ("x: ", "did you mean `rate`")),
        ({"y": "goodput"}, ("y: ", "goodput_bps")),
        ({"y": "name"}, ("y: ", "a column of numbers")),
        ({"hue": "colour"}, ("hue: ", "tcp")),
        ({"names": ["gf"]}, ("names: ", "fg")),
    ],
)
def test_a_wrong_picture_of_runs_is_refused(runs, arguments, words):
    with pytest.raises(ScenarioError) as refused:
        runs.plot(**arguments)
    for word in words:
        assert word in str(refused.value)


# Where pictures are drawn


@pytest.mark.parametrize(
    ("ending", "start"),
    [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF"), ("html", b"<!DOCTYPE html>")],
)
def test_a_picture_is_saved_in_the_format_of_its_name(result, runs, tmp_path, ending, start):
    for name, picture in (("run", result.plot()), ("runs", runs.plot())):
        path = tmp_path / "new" / f"{name}.{ending}"
        picture.save(path)
        assert path.read_bytes().startswith(start)


def test_a_page_needs_no_network_and_shows_names_as_they_are(two_hosts):
    name = "</script><b>&"
    values = {"name": name, "flows.fg.name": name, "probes": None}
    text = dumbbell.run(two_hosts.with_values(values)).plot().to_html()
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", text)
    assert "<title>&lt;/script&gt;&lt;b&gt;&amp;, seed 1, run 0</title>" in text
    assert "<b>" not in text.replace("Bokeh", "").split("<main>")[0].split("<h1>")[1]
    assert '"</script><b>' not in text


def test_print_draws_with_characters_that_fit(result, runs, monkeypatch):
    for columns in (50, 100):
        monkeypatch.setenv("COLUMNS", str(columns))
        for picture in (result.plot(), runs.plot()):
            lines = str(picture).splitlines()
            assert max(map(len, lines)) <= columns
            assert "\x1b" not in str(picture)
    text = str(result.plot())
    for word in ("congestion window: fg: cwnd [segments] over time [s]", "queue", "goodput", "losses", "┤"):
        assert word in text
    assert "reno" in str(runs.plot())
    assert "\n" not in repr(runs.plot())


@pytest.mark.parametrize("name", ["out.jpg", "out", "out.htm", 3, None, ""])
def test_another_ending_is_refused(result, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScenarioError, match="picture: "):
        result.plot("cwnd").save(name)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_is_named_with_the_command_that_installs_it(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "bokeh.embed", None)
    with pytest.raises(ScenarioError, match=rf"bokeh: {sys.executable} -m pip install 'dumbbell\[plots\]'"):
        result.plot("cwnd").to_html()


def test_print_shows_the_numbers_of_curves_without_the_package_that_draws(result, runs, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotext", None)
    for picture in (result.plot(), runs.plot()):
        text = str(picture)
        assert f"{sys.executable} -m pip install 'dumbbell[plots]'" in text
        for one in picture.panels:
            assert one.labels[1] in text
    assert "greatest" in str(result.plot())
    assert "reno: " in str(runs.plot())


def test_results_scenarios_and_topologies_show_themselves_in_a_notebook(result, runs, two_hosts):
    assert result._repr_html_().count("data:image/png;base64,") == 1
    assert "r1-r2" in result._repr_html_()
    assert "16 of 16 runs" in runs._repr_html_()
    for shown in (
        two_hosts._repr_html_(),
        topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="1 ms")._repr_html_(),
    ):
        assert '<svg style="max-width:100%;height:auto" ' in shown
    assert "greedy" in two_hosts._repr_html_()
    assert dumbbell.run(two_hosts).plot("cwnd")._repr_png_().startswith(b"\x89PNG")


def test_a_run_in_a_notebook_opens_in_the_lab_if_its_address_is_stated(result, monkeypatch):
    assert "Open in the lab" not in result._repr_html_()
    monkeypatch.setenv(lab.ADDRESS, 'https://example.org/lab/"')
    link = f"https://example.org/lab/&quot;#v=1&amp;seed={result.seed}&amp;run={result.run}&amp;toml="
    assert f'<a href="{link}' in result._repr_html_()
    monkeypatch.setattr(lab, "MOST_CHARACTERS", 10)
    assert "Open in the lab" not in result._repr_html_()


def test_names_are_no_markup_in_a_notebook(two_hosts):
    named = two_hosts.with_values({"name": "<i>", "flows.fg.name": "<b>\x07", "probes": None})
    for shown in (named._repr_html_(), dumbbell.run(named)._repr_html_()):
        assert "<i>" not in shown
        assert "<b>\x07" not in shown
        assert "&lt;i&gt;" in shown


def test_a_notebook_does_not_repeat_a_long_run(two_hosts, monkeypatch):
    silent = dumbbell.run(two_hosts.with_values({"probes": None}))
    monkeypatch.setattr(notebook, "MOST_EVENTS", silent.events - 1)
    assert "data:image" not in silent._repr_html_()
    assert "plot()" in silent._repr_html_()


# The command line


@pytest.mark.parametrize("ending", ["png", "html"])
def test_run_draws_a_picture_where_asked(file, tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    done = invoke("run", file, "--plot", path)
    assert done.exit_code == 0, done.output
    assert path.stat().st_size > 1000
    assert f"wrote {path}" in done.stderr


def test_run_draws_in_the_terminal(file):
    done = invoke("run", file, "--plot", "-")
    assert done.exit_code == 0, done.output
    assert "cwnd [segments] over time [s]" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_picture_of_another_format_is_refused_before_the_run(file, tmp_path):
    done = invoke("run", file, "--plot", tmp_path / "out.pgn")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "did you mean `png`" in done.stderr


def test_columns_that_say_nothing_are_listed_instead_of_shown(file):
    done = invoke("run", file)
    head, _, left_out = done.stdout.rpartition("0 or missing everywhere: ")
    assert left_out.strip() == "completed s, early drops, policer drops, impairment drops, marks"
    assert "policer" not in head
    assert max(map(len, head.splitlines())) < 105


def replaced(file, text):
    """Replace a file at once: who watches it never finds a part of it."""
    new = file.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(file)


def test_a_watched_file_runs_again_when_it_changes(file, two_hosts):
    process = subprocess.Popen(
        [sys.executable, "-m", "dumbbell.cli", "run", str(file), "--watch"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        for name in ("two hosts", "error: ", "edited"):
            shown = []
            while not (shown and shown[-1].startswith("watching ")):
                shown.append(process.stdout.readline())
                assert shown[-1], shown
            assert any(line.startswith(name) for line in shown), shown
            if name == "two hosts":
                replaced(file, "duration = 5")
            elif name == "error: ":
                replaced(file, two_hosts.with_values({"name": "edited"}).to_toml())
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 2
    assert "Traceback" not in rest


def test_a_long_run_says_that_it_runs(capsys, monkeypatch):
    monkeypatch.setattr(progress, "QUIET_S", 0.01)
    monkeypatch.setattr(progress, "LINE_S", 0.05)
    with progress.running(sys.stderr):
        time.sleep(0.4)
    assert "running for 0 s" in capsys.readouterr().err
    with progress.running(sys.stderr):
        pass
    assert capsys.readouterr().err == ""
