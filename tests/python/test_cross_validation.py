"""Cross-validation: loading peers and grids, running both sides, storing, evaluating, reporting."""

import json
import math
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import invoke, refused
from dumbbell import ScenarioError, campaign, crossvalidation
from dumbbell.crossvalidation import grid as grids
from dumbbell.crossvalidation import validation
from dumbbell.crossvalidation.loading import PACKAGE
from dumbbell.crossvalidation.running import COLUMNS
from dumbbell.quantities import bits_per_second
from small_peer import PEER, THEORY, write_peers

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cross-validation.md"


@pytest.fixture
def folder(tmp_path):
    return write_peers(tmp_path / "peers")


@pytest.fixture
def again(folder, tmp_path):
    """Run the cross-validation of the small peer, with results in one place."""

    def run(**options):
        return crossvalidation.cross_validate(
            "small", peers=folder, output=tmp_path / "out", quiet=True, **options
        )

    return run


def loaded(name):
    return sys.modules[f"{PACKAGE}.{name}"]


# Both sides


def test_what_differs_is_found_and_what_does_not_agrees(again):
    done = again()
    found = {one.name: one for one in done.criteria["small-grid"]}
    assert found["goodput within 1 %"].measured == "50 % (2 of 4 points)"
    assert not found["goodput within 1 %"].holds
    # One of two variants has a cwnd that differs by three segments.
    assert found["cwnd within one segment"].share == pytest.approx(0.5)
    assert found["cwnd within one segment"].holds
    # Both slow points disagree, and only one of them is traced.
    traced = found["disagreements traced to a stated difference"]
    assert (traced.share, traced.holds) == (0.5, False)
    points = pd.DataFrame(done.data["grids"][1]["points"]).set_index("point")
    assert points.loc["vegas, slow", "ratio"] == pytest.approx(1 / 0.9)
    assert points.loc["reno, fast", "ratio"] == 1.0
    assert list(points["n"]) == [3] * 4
    assert not done.holds
    assert done.failures == done.failed_cases == {}


@pytest.fixture
def small(again):
    """The small peer after it has run."""
    again(grids=["small-grid"])
    return loaded("small").PEER


@pytest.fixture
def traced_with(again, small, monkeypatch):
    """Return a function that runs the grid with counterfactuals of the small peer, and returns its points."""

    def points(counterfactuals):
        monkeypatch.setattr(type(small), "counterfactuals", lambda *_: counterfactuals, raising=False)
        # Loaded modules stay loaded, with the patched method.
        monkeypatch.setattr(validation, "load_peer", lambda *_: small)
        return pd.DataFrame(again(grids=["small-grid"]).data["grids"][0]["points"]).set_index("point")

    return points


def test_a_disagreement_is_traced_to_the_rule_that_removes_it(again, small, traced_with):
    class Changed(type(small)):
        def __init__(self, factor):
            self.factor = factor
            self.ran = []

        def identity(self):
            return f"small-1.0, times {self.factor}"

        def run(self, scenario, **asked):
            self.ran.append(scenario.name)
            done = super().run(scenario, **asked)
            done.flows["goodput_bps"] *= self.factor
            return done

    still, repaired = Changed(1.05), Changed(1 / 0.9)
    points = traced_with(
        [
            crossvalidation.Counterfactual(difference="what does not matter", peer=still),
            crossvalidation.Counterfactual(difference="a tenth is lost", peer=repaired),
            crossvalidation.Counterfactual(difference="what is not asked any more", peer=Changed(2.0)),
        ]
    )
    # Points explained by the grid are not run again, and nothing is run for points that agree.
    assert still.ran == repaired.ran == ["vegas slow"] * 3
    assert points.loc["vegas, slow", "explanation"].startswith("a tenth is lost (as ours: ")
    assert points.loc["vegas, slow", "ratio"] == pytest.approx(1 / 0.9)
    assert points.loc["reno, slow", "explanation"] == "it loses a tenth"
    assert points.loc["reno, fast", "explanation"] == ""
    # These runs are stored as well.
    again(grids=["small-grid"])
    assert len(still.ran) == len(repaired.ran) == 3


def test_a_disagreement_may_be_traced_by_changing_our_side(traced_with):
    def a_tenth_less(scenario):
        rate = bits_per_second(scenario.resolved()["links"][0]["rate"], "rate")
        return scenario.with_values({"links.r1-r2.rate": f"{0.9 * rate:.0f} bit/s"})

    ran = len(loaded("small").RAN)
    points = traced_with(
        [
            crossvalidation.Counterfactual(difference="nothing", ours=lambda scenario: scenario),
            crossvalidation.Counterfactual(difference="a tenth is lost", ours=a_tenth_less),
        ]
    )
    assert points.loc["vegas, slow", "explanation"].startswith("a tenth is lost (ours then: ")
    assert points.loc["vegas, slow", "ratio"] == pytest.approx(1 / 0.9)
    # The peer runs nothing for that.
    assert [made for made in loaded("small").RAN[ran:] if made != "prepared"] == []


def test_a_disagreement_that_remains_under_our_rule_is_not_traced(small, traced_with):
    class Same(type(small)):
        def identity(self):
            return "small-1.0, the same"

    points = traced_with([crossvalidation.Counterfactual(difference="what does not matter", peer=Same())])
    assert points.loc["vegas, slow", "explanation"] == ""


def test_a_grid_may_have_only_our_side(again):
    done = again(grids=["formula"])
    assert [one["name"] for one in done.data["grids"]] == ["formula"]
    assert done.data["runs"] == 1
    assert done.data["cpu_s"]["peer"] == 0.0
    assert loaded("small").RAN == ["prepared"]
    assert done.holds


def test_the_report_is_complete(again):
    done = again()
    html = done.report.read_text(encoding="utf-8")
    for text in (
        "Dumbbell and Small 1.0",
        "small-1.0",
        campaign.engine_identity(),
        "one is added &lt;here&gt;",
        "Does a &lt;small&gt; grid agree?",
        "50 % (2 of 4 points)",
        "it loses a tenth",
        "no known reason",
        "Disagreeing points: 2 of 4",
        "No point of 1 disagrees.",
        "12 on both sides, 1 in Dumbbell only",
    ):
        assert text in html, text
    assert html.count("<svg") == 2
    assert not re.search(r'(src|href)="https?:', html)
    assert json.loads(done.results.read_text(encoding="utf-8")) == done.data


def test_cpu_times_are_those_of_both_sides(again):
    done = again()
    assert done.data["cpu_s"]["peer"] == 6.0
    assert 0.0 < done.data["cpu_s"]["ours"] < 60.0
    assert again().data["cpu_s"] == done.data["cpu_s"]


def test_a_share_is_spread_over_the_grid_and_always_the_same(folder):
    grid = crossvalidation.load_grids(["small-grid"], folder)[0]
    scenario = (
        crossvalidation.load_grids(["formula"], folder)[0]
        .cases(crossvalidation.load_peer("small", folder))[0]
        .scenario
    )
    cases = [
        crossvalidation.Case(
            key=f"{i} {run}", point=str(i), factors={"inner": i % 10}, scenario=scenario, run=run
        )
        for i in range(200)
        for run in range(2)
    ]
    kept = grids.thinned(grid, cases, 0.1)
    points = sorted({int(case.point) for case in kept})
    assert len(points) == 20
    assert len(kept) == 40
    assert [point // 10 for point in points] == list(range(20))
    assert len({point % 10 for point in points}) > 5
    assert grids.thinned(grid, cases, 0.1) == kept
    assert grids.thinned(grid, cases, 1.0) == cases
    assert len({case.point for case in grids.thinned(grid, cases, 0.0001)}) == 1


def test_a_share_is_stated_in_the_report(again):
    done = again(share=0.5, grids=["small-grid"])
    assert done.data["grids"][0]["cases"] == 6
    html = done.report.read_text(encoding="utf-8")
    assert "Only these grids were run: small-grid." in html
    assert "about 50 % of the points" in html


# The store


def test_a_second_cross_validation_repeats_nothing_and_a_fresh_one_everything(again):
    first = again()
    ran, reduced = loaded("small").RAN, loaded("grids.small_grid").REDUCED
    assert (len(ran), len(reduced)) == (1 + 12, 24)
    second = again()
    assert (len(ran), len(reduced)) == (2 + 12, 24)
    assert second.data["runs_kept_from_before"] == second.data["runs"] == 25
    assert second.data["grids"] == first.data["grids"]
    third = again(fresh=True)
    assert (len(ran), len(reduced)) == (3 + 24, 48)
    assert third.data["grids"] == first.data["grids"]


def test_runs_of_a_share_are_reused_by_the_whole_grid(again):
    assert again(share=0.5).data["runs"] == 13
    assert again().data["runs_kept_from_before"] == 13


def test_another_peer_or_another_reduction_repeats_the_affected_runs(again, folder):
    def changed(path, old, new):
        file = folder / path
        file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
        # Compiled modules are distinguished by whole seconds and size, which this change may share with the previous one.
        shutil.rmtree(file.parent / "__pycache__", ignore_errors=True)
        for name in [name for name in sys.modules if name.startswith(PACKAGE)]:
            del sys.modules[name]

    again()
    changed("small/__init__.py", "driver 1", "driver 2")
    assert again().data["runs_kept_from_before"] == 13
    changed("grids/small_grid.py", "goodput_bps", "throughput_bps")
    assert again(grids=["small-grid"]).data["runs_kept_from_before"] == 0
    assert again(grids=["formula"]).data["runs_kept_from_before"] == 1
    # The imports of a grid are part of its reduction.
    changed("grids/_shapes.py", "np.arange(0.1", "np.arange(0.2")
    assert again().data["runs_kept_from_before"] == 0


def test_a_damaged_part_is_reported_and_its_runs_are_repeated(again, tmp_path, capsys):
    first = again()
    assert first.data["warnings"] == []
    assert first.data["environment"]["packages"]["numpy"] == np.__version__
    part = next(path for path in (tmp_path / "out" / "cache").rglob("*.parquet") if "ours" in path.parts)
    part.write_bytes(part.read_bytes()[:-1])
    capsys.readouterr()
    second = again()
    assert capsys.readouterr().err.startswith(f"warning: {part}: is damaged")
    assert len(second.data["warnings"]) == 1
    assert second.data["runs_kept_from_before"] < first.data["runs"]
    assert second.data["grids"] == first.data["grids"]


def test_cases_that_share_a_run_are_run_once(again, monkeypatch, folder):
    grid = crossvalidation.load_grids(["small-grid"], folder)[0]
    cases = type(grid).cases

    def doubled(self, peer):
        once = cases(self, peer)
        return once + [
            crossvalidation.Case(
                key=f"{case.key} again",
                point=case.point,
                factors=case.factors,
                scenario=case.scenario,
                run=case.run,
            )
            for case in once
        ]

    monkeypatch.setattr(type(grid), "cases", doubled)
    done = again(grids=["small-grid"])
    assert done.data["runs"] == 24
    assert {point["n"] for point in done.data["grids"][0]["points"]} == {6}


@pytest.mark.slow
def test_a_killed_cross_validation_resumes(folder, tmp_path):
    """Each run of the peer takes some time; runs finished a second before the kill are not repeated."""
    log = tmp_path / "log"
    waits = f"""import time
        time.sleep(0.25)
        with open({str(log)!r}, "a") as file:
            print(scenario.name, run, file=file)
        done = dumbbell.run("""
    slow = PEER.replace("done = dumbbell.run(", waits)
    (folder / "small" / "__init__.py").write_text(slow, encoding="utf-8")
    command = [
        sys.executable, "-m", "dumbbell.cli", "cross-validate", "small", "--peers", str(folder),
        "--output", str(tmp_path / "out"), "--threads", "1", "--json",
    ]  # fmt: skip
    for stop in (signal.SIGKILL, signal.SIGINT):
        before = len(log.read_text(encoding="utf-8").splitlines()) if log.exists() else 0
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline and (
                not log.exists() or len(log.read_text(encoding="utf-8").splitlines()) < before + 6
            ):
                time.sleep(0.02)
            process.send_signal(stop)
            _out, err = process.communicate(timeout=30)
        finally:
            process.kill()
            process.communicate()
    assert process.returncode == 2
    assert re.search(r"interrupted; \d+ of 25 runs are kept", err)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    findings = json.loads(done.stdout)
    assert findings["runs"] == 25
    assert findings["runs_kept_from_before"] >= 13 + 2 + 6
    ran = log.read_text(encoding="utf-8").splitlines()
    assert len(set(ran)) == 12
    # A kill loses the runs of the last second and those in progress; an interrupt loses nothing.
    assert len(ran) <= 12 + 6


def test_two_cross_validations_do_not_write_to_one_store(again, folder, tmp_path):
    again()
    store = next((tmp_path / "out" / "cache").rglob("ours"))
    place = next(path for path in store.iterdir())
    with (
        campaign.Store(store, COLUMNS, identity=place.name.rsplit("-", 1)[0]),
        pytest.raises(ScenarioError, match="another process"),
    ):
        again()


# Errors


def test_an_absent_peer_is_one_line_and_exit_code_3(folder, tmp_path):
    (folder / "small" / "__init__.py").write_text(
        PEER.replace("INSTALLED = True", "INSTALLED = False"), encoding="utf-8"
    )
    result = invoke("cross-validate", "small", "--peers", folder, "--output", tmp_path / "out")
    assert result.exit_code == 3
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert lines == [
        "error: Small is not installed (no program small on the PATH); the Debian package is small-package"
    ]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["smal"], "did you mean `small`"),
        (["grids"], "is not a known peer"),
        (["small", "--grid", "formla"], "did you mean `formula`"),
        (["small", "--share", "0"], "share"),
        (["small", "--share", "1.5"], "share"),
        (["small", "--threads", "0"], "threads"),
        (["small", "--peers", "no/such/folder"], "is not a folder"),
    ],
)
def test_impossible_requests_are_refused(folder, tmp_path, args, text):
    assert text in refused("cross-validate", "--peers", folder, "--output", tmp_path / "out", *args)


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        (
            "small/__init__.py",
            "import nothing_of_that_name",
            "No module named 'nothing_of_that_name' (line 1 of",
        ),
        ("small/__init__.py", "class PEER:\n    name = 'x'", "has no title, package, variants"),
        ("grids/formula.py", "x = (", "SyntaxError"),
        ("grids/formula.py", "", "has no GRID"),
        ("grids/other.py", THEORY, "is a duplicate"),
    ],
)
def test_what_cannot_be_loaded_is_named(folder, again, path, text, message):
    (folder / path).write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match=re.escape(message)):
        again()


def test_a_case_that_the_peer_refuses_does_not_affect_the_others(folder, tmp_path):
    (folder / "small" / "__init__.py").write_text(
        PEER.replace("REFUSED = []", 'REFUSED = ["vegas slow"]'), encoding="utf-8"
    )
    out = tmp_path / "out"
    result = invoke("cross-validate", "small", "--peers", folder, "--output", out, "--json")
    assert result.exit_code == 2
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 3
    assert "error: small-grid: vegas, slow, run 0: ValueError: cannot express this (line " in result.stderr
    found = json.loads(result.stdout)["grids"][1]
    assert len(found["points"]) == 3
    assert len(found["failed_cases"]) == 3
    finished = [one for one in found["criteria"] if one["name"] == "runs completed by the peer"]
    assert [(one["measured"], one["holds"]) for one in finished] == [("75 % (9 of 12 cases)", False)]
    assert "Cases in which the peer failed: 3 of 12" in (
        out / "cross-validation-small" / "index.html"
    ).read_text("utf-8")
    # They are run again the next time; the others are kept.
    again = json.loads(invoke("cross-validate", "small", "--peers", folder, "--output", out, "--json").stdout)
    assert (again["runs"], again["runs_kept_from_before"]) == (22, 22)


@pytest.mark.parametrize("part", ["cases", "reduce", "judge", "sections"])
def test_a_grid_that_fails_does_not_affect_the_others(again, folder, monkeypatch, part):
    grid = crossvalidation.load_grids(["formula"], folder)[0]

    def failing(*_args):
        raise ZeroDivisionError("nothing to divide")

    monkeypatch.setattr(type(grid), part, failing)
    done = again()
    assert list(done.failures) == ["formula"]
    assert "ZeroDivisionError: nothing to divide" in done.failures["formula"]
    assert [one["name"] for one in done.data["grids"]] == ["small-grid"]
    assert "formula was not evaluated" in done.report.read_text(encoding="utf-8")
    assert not done.holds


def test_a_grid_without_a_case_for_the_peer_is_named(again, folder, monkeypatch):
    grid = crossvalidation.load_grids(["small-grid"], folder)[0]
    monkeypatch.setattr(type(grid), "cases", lambda _self, _peer: [])
    done = again()
    assert done.criteria["small-grid"] == ()
    assert "no case for this peer" in done.report.read_text(encoding="utf-8")


def test_two_cases_of_one_key_are_an_error(again, folder, monkeypatch):
    grid = crossvalidation.load_grids(["small-grid"], folder)[0]
    cases = type(grid).cases
    monkeypatch.setattr(type(grid), "cases", lambda self, peer: cases(self, peer) * 2)
    assert "two cases have the key" in again().failures["small-grid"]


def test_duplicate_columns_are_an_error(again, folder, monkeypatch):
    grid = crossvalidation.load_grids(["small-grid"], folder)[0]
    monkeypatch.setattr(type(grid), "reduce", lambda _self, _case, _run: {"variant": 1, "side": 2})
    assert "the columns side, variant are duplicates" in again().failures["small-grid"]


def test_strict_requires_every_criterion(folder, tmp_path):
    def code(*args):
        return invoke(
            "cross-validate", "small", "--peers", folder, "--output", tmp_path / "out", *args
        ).exit_code

    assert code() == 0
    assert code("--strict") == 1
    assert code("--strict", "--grid", "formula") == 0


def test_a_selection_of_grids_has_its_own_page(folder, tmp_path):
    out = tmp_path / "out"

    def pages(*args):
        assert invoke("cross-validate", "small", "--peers", folder, "--output", out, *args).exit_code == 0
        return {path.parent.name: path.read_bytes() for path in out.glob("*/index.html")}

    whole = pages()
    assert set(whole) == {"cross-validation-small"}
    parts = pages("--grid", "formula")
    parts = pages("--share", "0.5") | parts
    parts = pages("--grid", "formula", "--share", "0.5") | parts
    assert set(parts) == {
        "cross-validation-small",
        "cross-validation-small-formula",
        "cross-validation-small-50-percent",
        "cross-validation-small-formula-50-percent",
    }
    assert parts["cross-validation-small"] == whole["cross-validation-small"]


def test_the_criteria_are_printed_as_a_table(folder, tmp_path):
    result = invoke("cross-validate", "small", "--peers", folder, "--output", tmp_path / "out")
    assert result.exit_code == 0
    rows = [re.split(r"\s{2,}", line.strip()) for line in result.stdout.splitlines()]
    assert ["grid", "criterion", "wanted", "measured", "holds"] in rows
    assert ["small-grid", "goodput within 1 %", "95 % of the points", "50 % (2 of 4 points)", "no"] in rows
    assert (
        f"report: {(tmp_path / 'out' / 'cross-validation-small' / 'index.html').resolve()}" in result.stdout
    )
    assert "25 runs" in result.stdout


# Agreement


def table(**sides):
    """Return results of points of some replications: ``p=([ours…], [peer…])``."""
    return pd.DataFrame(
        [
            {"key": f"{point} {run}", "point": point, "side": side, "factor": point.upper(), "x": value}
            for point, both in sides.items()
            for side, values in zip(("ours", "peer"), both, strict=True)
            for run, value in enumerate(values)
        ]
    )


def test_the_interval_of_a_ratio_is_fiellers():
    found = crossvalidation.ratios(
        table(a=([22.0, 23.0, 25.0], [20.0, 21.0, 22.0])), "x", factors=["factor"], confidence=0.90
    ).iloc[0]
    # The doctest of `statistics.paired_ratio`.
    assert (found["point"], found["factor"], found["n"]) == ("a", "A", 3)
    assert found["ratio"] == pytest.approx(70 / 63)
    assert (found["low"], found["high"]) == (
        pytest.approx(1.0695, abs=1e-5),
        pytest.approx(1.14768, abs=1e-5),
    )


def test_pairs_are_compared_replication_by_replication():
    """Both sides vary strongly between replications, and differ little from each other."""
    results = table(a=([30.1, 40.2, 50.0, 59.9, 70.1], [30.0, 40.0, 50.1, 60.0, 70.0])).sample(
        frac=1.0, random_state=1
    )
    paired = crossvalidation.ratios(results, "x").iloc[0]
    apart = crossvalidation.ratios(results, "x", paired=False).iloc[0]
    assert paired["high"] - paired["low"] < 0.05
    assert apart["high"] - apart["low"] > 0.5
    assert crossvalidation.differences(results, "x").iloc[0][["low", "high"]].abs().max() < 1.0
    assert crossvalidation.differences(results, "x", paired=False).iloc[0]["high"] > 15.0


def test_a_single_replication_has_no_interval():
    found = crossvalidation.ratios(table(a=([3.0], [2.0])), "x").iloc[0]
    assert found["ratio"] == 1.5
    assert math.isnan(found["low"])
    assert math.isnan(found["high"])


@pytest.mark.parametrize(
    ("ours", "peer", "ratio"),
    [
        ([0.0, 0.0], [0.0, 0.0], 1.0),
        ([1.0, 2.0], [0.0, 0.0], math.inf),
        ([1.0, 2.0], [1.0, math.nan], math.nan),
    ],
)
def test_ratios_to_nothing_and_to_the_unknown(ours, peer, ratio):
    found = crossvalidation.ratios(table(a=(ours, peer)), "x")
    assert found["ratio"][0] == pytest.approx(ratio, nan_ok=True)
    assert bool(crossvalidation.within(found, 0.05)[0]) == (ratio == 1.0)


def test_a_bound_counts_as_within():
    found = crossvalidation.ratios(table(a=([1.01], [1.0]), b=([0.99], [1.0]), c=([1.0101], [1.0])), "x")
    assert crossvalidation.within(found, 0.01).tolist() == [True, True, False]


def test_overlap_is_that_of_the_intervals_of_both_means():
    found = crossvalidation.differences(
        table(
            a=([1.0, 3.0], [2.0, 4.0]),
            b=([1.0, 1.1, 1.2], [5.0, 5.1, 5.2]),
            c=([1.0], [1.0]),
            d=([1.0], [1.1]),
            e=([math.nan], [1.1]),
        ),
        "x",
    )
    assert found["overlap"].tolist() == [True, False, True, False, False]
    assert found["difference"][1] == pytest.approx(-4.0)
    assert crossvalidation.within(found, 1.0, "difference").tolist() == [True, False, True, True, False]


def test_a_criterion_holds_from_its_aim_on_and_not_without_points():
    holds = [crossvalidation.counted("x", agreeing, 20, aim=0.95).holds for agreeing in (18, 19, 20)]
    assert holds == [False, True, True]
    assert not crossvalidation.counted("x", 0, 0, aim=0.0).holds
    # Truncated, not rounded: 94.99 % is not 95 %.
    assert crossvalidation.counted("x", 9499, 10000, aim=0.95).measured == "94.9 % (9499 of 10000 samples)"


def test_traces_are_step_functions():
    trace = pd.DataFrame(
        {"time_s": [0.0, 1.0, 1.0, 0.5], "name": ["a", "a", "a", "b"], "value": [1.0, 2.0, 3.0, 7.0]}
    )
    assert crossvalidation.sampled(trace, [0.0, 0.99, 1.0, 5.0], "a").tolist() == [1.0, 1.0, 3.0, 3.0]
    assert np.isnan(crossvalidation.sampled(trace, [0.4], "b")).all()
    assert np.isnan(crossvalidation.sampled(trace.iloc[:0], [0.4])).all()


def test_the_distance_of_two_traces():
    first = pd.DataFrame({"time_s": [0.0, 1.0, 2.0], "value": [1.0, 2.0, 4.0]})
    second = pd.DataFrame({"time_s": [0.5, 1.0, 2.5], "value": [1.0, 2.0, 7.0]})
    found = crossvalidation.largest_distance(first, second, [0.2, 0.7, 1.2, 2.2, 2.7], bound=2.0)
    # Before 0.5 s the second has no value.
    assert found == crossvalidation.Distance(largest=3.0, share=0.75, index=4, n=4)
    empty = crossvalidation.largest_distance(first, second.iloc[:0], [0.2, 0.7], bound=1.0)
    assert (empty.n, empty.index) == (0, -1)
    assert math.isnan(empty.share)


def test_distances_of_cases_and_their_shares():
    results = pd.DataFrame(
        {
            "key": ["a", "a", "b", "b"],
            "point": ["p", "p", "q", "q"],
            "side": ["ours", "peer"] * 2,
            "variant": "reno",
            "cwnd": [[1.0, 2.0, None], [1.0, 4.0, 3.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.5]],
        }
    )
    found = crossvalidation.distances(results, "cwnd", bound=1.0, factors=["variant"])
    assert found["within"].tolist() == [1, 3]
    assert found["n"].tolist() == [2, 3]
    assert found["largest"].tolist() == [2.0, 0.5]
    assert crossvalidation.shares(found)["share"].tolist() == [0.5, 1.0]
    assert crossvalidation.shares(found, by="variant")["share"].tolist() == [0.8]


# Tables and figures


def test_tables_and_figures_name_both_sides_and_mark_what_is_beyond_the_bound():
    results = table(a=([22.0, 23.0, 25.0], [20.0, 21.0, 22.0]), b=([1.0, 2.0], [1.0, 2.0]))
    results.attrs["peer"] = "Small 1.0"
    ratios = crossvalidation.ratios(results, "x", factors=["factor"])
    shown = crossvalidation.comparison_table(
        ratios, caption="c", factors=["factor"], quantity="x [s]", bound=0.05
    )
    assert [column.title for column in shown.columns] == ["factor", "Dumbbell", "Small 1.0", "ratio", "n"]
    assert [row[3].tone for row in shown.rows] == ["bad", ""]
    assert shown.rows[0][3].detail.count(" to ") == 1
    differences = crossvalidation.differences(results, "x", factors=["factor"])
    shown = crossvalidation.comparison_table(
        differences, caption="c", factors=["factor"], quantity="x [s]", bound=0.05
    )
    assert [row[3].text for row in shown.rows] == ["2.33", "0.00"]
    for figure in (
        crossvalidation.scatter(ratios, label="x", caption="c", bound=0.05, log=True),
        crossvalidation.scatter(differences, label="x", caption="c", bound=0.05, by="factor"),
        crossvalidation.ratio_figure(
            ratios.assign(rate=[1.0, 10.0]),
            x="rate",
            x_label="rate",
            label="x",
            caption="c",
            log_x=True,
            bound=0.05,
        ),
    ):
        assert "Small 1.0" in figure.svg
        assert "Dumbbell" in figure.svg


def test_overlays_are_drawn_of_known_cases():
    results = pd.DataFrame(
        {"key": ["a", "a"], "side": ["ours", "peer"], "at": [[0.0, 1.0]] * 2, "w": [[1.0, 2.0], [None, 3.0]]}
    )
    assert (
        "a</text>" in crossvalidation.overlays(results, "w", "at", keys=["a"], label="cwnd", caption="c").svg
    )
    for keys in (["b"], []):
        with pytest.raises(ScenarioError, match="keys"):
            crossvalidation.overlays(results, "w", "at", keys=keys, label="cwnd", caption="c")


# The documentation page


@pytest.mark.slow
def test_the_peer_and_the_grid_of_the_page_work_as_shown(tmp_path):
    page = PAGE.read_text(encoding="utf-8")
    files = re.findall(r"^`peers/(\S+)`\n\n```py\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    assert [path for path, _ in files] == ["mirror/__init__.py", "grids/buffers.py"]
    for path, text in files:
        file = tmp_path / "peers" / path
        file.parent.mkdir(parents=True)
        file.write_text(text, encoding="utf-8")
    done = crossvalidation.cross_validate(
        "mirror", peers=tmp_path / "peers", output=tmp_path, share=0.5, quiet=True
    )
    assert done.failures == done.failed_cases == {}
    assert [(one.name, one.share) for one in done.criteria["buffers"]] == [
        ("goodput within 1 %", 1.0),
        ("cwnd within one segment", 1.0),
    ]
    assert done.data["runs"] == 12


def test_the_page_names_every_option():
    page = PAGE.read_text(encoding="utf-8")
    shown = set(re.findall(r"^\| `(--\w+)", page, flags=re.MULTILINE))
    assert shown == set(re.findall(r"(?m)^\s*(--\w+)", invoke("cross-validate", "--help").stdout))
