"""The claims of the paper are evaluated correctly: on synthetic results, on replays of the engine, on scripted runs."""

import itertools
import json
import math
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dumbbell
from dumbbell import campaign, claims, papers

PAPER = papers.load("vegas-revisited", Path(__file__).resolve().parents[2] / "papers")
MODULE = type(PAPER).__module__
SETTINGS = papers.Settings(quick=True)


def part(name):
    return sys.modules[f"{MODULE}.{name}"]


@pytest.fixture(scope="module")
def made_up():
    """Results with the paper's own cell means and spread: nearly everything is reproduced."""
    printed, scenarios = part("printed"), part("scenarios")
    random = np.random.default_rng(1)
    frames = []

    def add(key, throughput, retransmitted, spread, count=50):
        def draw(mean, sd):
            # Standardized, so that means and spread are exactly those of the paper.
            x = random.standard_normal(count)
            return mean + sd * (x - x.mean()) / x.std(ddof=1)

        frame = pd.DataFrame({name: np.zeros(count) for name in PAPER.columns})
        frame["throughput"], frame["retransmitted"] = (
            draw(throughput, spread[0]),
            draw(retransmitted, spread[1]),
        )
        frame["duration"] = 1024 / frame["throughput"]
        frame.insert(0, "key", key)
        frame.insert(1, "seed", 1)
        frames.append(frame)

    columns = {
        (column.metric, column.load, background): column
        for table, background in itertools.product(printed.EFFECT_TABLES, scenarios.BACKGROUNDS)
        for column in [printed.effect_column(table, background)]
    }
    for load, background, cell in itertools.product(scenarios.LOADS, scenarios.BACKGROUNDS, printed.CELLS):
        throughput = columns["throughput", load, background]
        retransmitted = columns.get(("retransmissions", load, background))
        add(
            f"table/cell{cell}|{background}|{load}",
            throughput.cell_mean(cell),
            retransmitted.cell_mean(cell) if retransmitted else 100.0,
            (throughput.s_e(), retransmitted.s_e() if retransmitted else 1.0),
        )
    one, two = printed.foreground_table("I"), printed.foreground_table("II")
    for foreground, background, load in part("plan").released_configurations():
        name = {"cell000": "reno"}.get(foreground, foreground)
        column = one.columns.index((load, background))
        add(
            f"table/{foreground}|{background}|{load}",
            one.rows[name][column],
            two.rows[name][column],
            (1.0, 1.0),
        )
    return pd.concat(frames, ignore_index=True)


def judged(results, observed=None):
    return {
        finding.claim.id: finding
        for finding in claims.judge(
            PAPER.claims(), PAPER.evidence(papers.Settings(), results, observed or {})
        )
    }


def test_every_claim_of_the_paper_occurs_once():
    listed = PAPER.claims()
    assert len(listed) == len({claim.id for claim in listed}) == 675
    assert Counter(claim.kind for claim in listed) == {
        "value": 417, "sign": 140, "ordering": 64, "ratio": 34, "shape": 20,
    }  # fmt: skip
    assert all(claim.statement and claim.source and claim.scenario for claim in listed)


def test_the_papers_own_numbers_reproduce_the_tables(made_up):
    findings = judged(made_up)
    printed = ("VR-T", "VR-CELL", "VR-SE", "VR-FLIP", "VR-RAT")
    tables = [
        finding
        for name, finding in findings.items()
        if name.startswith(printed) and finding.claim.scenario != "table-3"
    ]
    assert len(tables) == 506
    missed = [finding.claim.id for finding in tables if not finding.holds]
    assert missed == []


def test_the_papers_own_numbers_reproduce_the_text_on_the_tables(made_up):
    findings = judged(made_up)
    about_tables = [
        finding
        for name, finding in findings.items()
        if name.startswith("VR-Q")
        and finding.claim.scenario.startswith("table-")
        and finding.measured is not None
    ]
    assert len(about_tables) > 60
    # Synthetic results of released Vegas replace the paired runs, which have independent noise.
    missed = {finding.claim.id for finding in about_tables if not finding.holds}
    assert missed == set()


def test_marks_are_judged_with_the_papers_replications_however_many_runs_there_are(made_up):
    marks = [name for name, finding in judged(made_up).items() if finding.claim.units == "flag"]
    assert len(marks) >= 70
    four_times = pd.concat([made_up] * 4)
    single, many = judged(made_up), judged(four_times)
    for name in marks:
        # Where effect and half-width are equal up to rounding, either mark is right.
        if 0.05 < (single[name].support or 1.0) < 0.95:
            continue
        assert many[name].measured == single[name].measured
    narrow, wide = (PAPER.evidence(papers.Settings(), rows, {}) for rows in (four_times, made_up))
    few, more = (evidence.phases("thr", "low", "reno") for evidence in (wide, narrow))
    assert more.half_width[0] == pytest.approx(few.half_width[0] / 2, rel=0.02)
    assert more.hw_one_sided[0] == pytest.approx(few.hw_one_sided[0], rel=0.02)


def test_a_repetition_of_the_paper_has_its_means_and_its_spread():
    ceiling = part("ceiling")
    generator = np.random.default_rng(1)
    runs = pd.concat([ceiling.repetition(generator) for _ in range(20)])
    reno = runs[runs["key"] == "table/cell000|reno|low"]
    assert reno["throughput"].mean() == pytest.approx(73.38, abs=1.0)
    assert reno["retransmitted"].std() == pytest.approx(5.92, rel=0.1)
    released = runs[runs["key"] == "table/vegas|vegas|high"]
    assert released["throughput"].mean() == pytest.approx(29.2, abs=0.7)


@pytest.mark.slow
def test_sampling_in_the_paper_allows_less_than_all_of_its_orderings(made_up):
    findings = claims.judge(PAPER.claims(), PAPER.evidence(papers.Settings(), made_up, {}))
    allowed = PAPER.ceilings(findings)
    assert 80 < allowed["orderings"] < 95
    # The printed values are too few, and their tolerances too wide, for sampling to cost one of them.
    assert 90 < allowed["values"] <= 100


def test_other_numbers_are_not_reproduced(made_up):
    wrong = made_up.assign(throughput=made_up["throughput"] * 2)
    findings = judged(wrong)
    assert findings["VR-T1-01"].verdict == "not-reproduced"
    assert findings["VR-T6R-02"].verdict == "not-reproduced"
    assert "outside our 90 % interval" in findings["VR-T1-01"].why
    swapped = made_up.assign(throughput=200 - made_up["throughput"])
    assert judged(swapped)["VR-Q-01"].verdict == "not-reproduced"


def test_what_was_not_run_is_not_checkable_and_says_why(made_up):
    finding = judged(made_up)["VR-Q-72"]
    assert finding.verdict == "not-checkable"
    assert "no runs of seven/" in finding.why
    assert json.loads(json.dumps(finding.to_dict()))["measured"] is None


def test_the_worked_example_is_exact(made_up):
    findings = judged(made_up)
    assert findings["VR-EX-01"].measured == pytest.approx(88.32, abs=1e-9)
    assert all(findings[f"VR-EX-0{number}"].verdict == "reproduced" for number in (1, 2, 3, 4, 5, 7))


def test_shares_and_errors_add_to_a_hundred(made_up):
    findings = judged(made_up)
    sums = [finding for name, finding in findings.items() if name.endswith("-18") and name.startswith("VR-T")]
    assert len([finding for finding in sums if finding.claim.units == "%"]) == 10
    for finding in sums:
        if finding.claim.units == "%":
            assert finding.measured == pytest.approx(100.0, abs=1e-9)


def test_the_effects_are_those_of_the_factorial_package(made_up):
    evidence = PAPER.evidence(papers.Settings(), made_up, {})
    for metric, load, background in (
        ("thr", "low", "reno"),
        ("rtx", "high", "vegasfix"),
        ("thr", "wan", "reno"),
    ):
        ours, theirs = evidence.phases(metric, load, background), evidence.analysis(metric, load, background)
        for term in part("printed").TERMS:
            assert ours.terms[term][0] == pytest.approx(theirs.effects[term.replace("_", ":")], rel=1e-9)
            assert ours.percent[term][0] == pytest.approx(
                theirs.percent[term.replace("_", ":")], rel=1e-9, abs=1e-9
            )
        assert ours.s_e[0] == pytest.approx(theirs.s_e, rel=1e-9)
        assert ours.hw_one_sided[0] == pytest.approx(theirs.hw_one_sided, rel=1e-9)
        assert ours.hw_two_sided[0] == pytest.approx(theirs.hw_two_sided, rel=1e-9)


def test_the_printed_numbers_are_consistent():
    printed = part("printed")
    for table, background in itertools.product(printed.EFFECT_TABLES, ("reno", "vegasfix")):
        column = printed.effect_column(table, background)
        assert sum(column.percent.values()) == pytest.approx(100, abs=0.015)
        for term in printed.TERMS:
            assert (abs(column.effect[term]) <= column.half_width) == (term in column.not_significant)
        # 1.284 is the quantile at 0.90 with 392 degrees of freedom; at 0.95 it is 1.649.
        assert column.half_width / column.s_q() == pytest.approx(1.284, abs=0.02)


def test_table_three_replays_exactly():
    findings = judged(pd.DataFrame({"key": [], "seed": [], **{name: [] for name in PAPER.columns}}))
    replay = [
        finding for name, finding in findings.items() if name.startswith("VR-T3-") and name != "VR-T3-25"
    ]
    assert len(replay) == 24
    assert {finding.verdict for finding in replay} == {"reproduced"}


def test_configurations_draw_their_own_numbers_and_pairs_common_ones():
    plan = PAPER.plan(SETTINGS)
    seeds = {}
    for run in plan:
        seeds.setdefault(run.key, run.seed)
    tables = [seed for key, seed in seeds.items() if key.startswith("table/")]
    assert len(set(tables)) == len(tables) == 54
    assert len({seed for key, seed in seeds.items() if key.startswith("pair/") and key.endswith("|low")}) == 1
    assert len({(run.scenario.hash, run.seed, run.run) for run in plan}) <= len(plan)


def test_a_full_reproduction_runs_the_papers_replications():
    counts = Counter(run.key for run in PAPER.plan(papers.Settings()))
    assert {count for key, count in counts.items() if key.startswith("table/")} == {50}


@pytest.fixture(scope="module")
def looked():
    """The results of the traced runs, with few long ones."""
    plan = [run for run in part("observations").plan(SETTINGS) if run.stage in ("scripted runs", "figure 2")]
    runs = dumbbell.run_many([dumbbell.Job(run.scenario, run.seed, run.run) for run in plan], progress=False)
    frame = PAPER.reduce(runs)
    frame.insert(0, "key", [run.key for run in plan])
    return frame


@pytest.mark.parametrize(
    "claim",
    [
        "VR-Q-13", "VR-Q-16", "VR-Q-17", "VR-Q-18", "VR-Q-19", "VR-Q-20", "VR-Q-21", "VR-Q-22", "VR-Q-23", "VR-Q-24",
        "VR-Q-103", "VR-Q-104", "VR-Q-131", "VR-Q-132",
    ],
)  # fmt: skip
def test_the_engine_does_in_scripted_runs_what_the_paper_describes(looked, claim):
    assert judged(looked, PAPER.observe(SETTINGS, None))[claim].verdict == "reproduced"


def test_windows_keep_to_the_thresholds_in_figure_two(looked):
    evidence = PAPER.evidence(SETTINGS, looked, {})
    measured, thresholds = evidence.observation("figure_2"), evidence.observation("thresholds")
    assert thresholds["cuts"] > 20
    assert thresholds["cuts_agree"] == thresholds["growths_agree"] == 1.0
    assert measured["window"].shape == (10, 5)
    assert measured["share"].sum(axis=1) == pytest.approx(1.0)
    assert not math.isnan(measured["queued"].sum())


def test_what_traces_show_survives_the_store(looked, tmp_path):
    wanted = looked.assign(hash=looked.index.astype(str), seed=1, run=0).drop(columns="key")
    with campaign.Store(tmp_path, PAPER.columns) as store:
        store.add(wanted)
    with campaign.Store(tmp_path, PAPER.columns) as store:
        kept = store.frame().assign(key=looked["key"])
    conclude = part("observations").conclude
    before, after = conclude(looked), conclude(kept)
    assert repr(after) == repr(before)


def test_the_literal_reading_has_the_configurations_and_seeds_of_the_tables():
    plan = part("plan").plan(papers.Settings(quick=False, runs=20))
    groups = {
        group: [(run.key.removeprefix(group), run.seed, run.run) for run in plan if run.key.startswith(group)]
        for group in ("table/", "literal/")
    }
    assert groups["literal/"] == groups["table/"] != []
    assert not any(run.key.startswith("literal/") for run in part("plan").plan(SETTINGS))


def test_the_hosts_of_a_side_may_share_an_ethernet():
    base = replace(part("assumptions").calibrated(), shared_ethernet=True)
    scenario = part("scenarios").experiment("cell000", "reno", "low", base).to_dict()
    ends = {link["name"]: link for link in scenario["links"]}
    assert {"h1-e1", "h2-e1", "e1-r1", "r2-e2", "e2-h3", "e2-h4"} <= set(ends)
    assert ends["e1-r1"]["rate"] == ends["r1-e1"]["rate"] == "10 Mbit/s"
    assert ends["r2-e2"]["queue"]["limit"] == ends["r1-e1"]["queue"]["limit"] == "10 packets"
    assert ends["e1-r1"]["queue"]["limit"] == ends["h1-e1"]["queue"]["limit"] == "unlimited"
    # The links of one host alone.
    scenarios = part("scenarios")
    assert set(scenarios.access_links("h2", base)) <= set(ends)
    assert scenarios.access_links("h2", part("assumptions").calibrated()) == ("h2-r1", "r1-h2")


def test_released_vegas_lacks_the_other_corrections_but_not_that_of_base_rtt():
    released, corrected = (
        part("scenarios").tcp(name, part("assumptions").calibrated())["congestion"]
        for name in ("vegas", "vegasfix")
    )
    fixes = ("fix_timeout", "fix_base_rtt", "fix_invariant")
    assert [released[fix] for fix in fixes] == [False, True, False]
    assert [corrected[fix] for fix in fixes] == [True, True, True]


def test_the_literal_reading_has_the_first_and_the_smallest_timeout_of_the_specification():
    timer = part("scenarios").tcp("reno", part("assumptions").LITERAL)["timer"]
    assert (timer["initial"], timer["tick"], timer["min_ticks"]) == ("3 s", "500 ms", 2)
    # An origin of one would make it three ticks.
    assert timer["sample_origin"] == 0


def test_the_literal_reading_checks_after_fast_retransmits_alone():
    assumptions, scenarios = part("assumptions"), part("scenarios")
    literal, ours = (
        scenarios.tcp("vegasfix", base)["recovery"]
        for base in (assumptions.LITERAL, assumptions.calibrated())
    )
    assert (literal["check_again"], ours["check_again"]) == (False, True)


def test_the_mixes_follow_from_the_means_and_variances_of_tcplib():
    # Source: tcplib 0.9, mean share of each application and its variance.
    tcplib = {
        "telnet": (0.0612, 0.00281684),
        "ftp": (0.0216, 0.00032816),
        "nntp": (0.0056, 3.696e-05),
        "smtp": (0.3798, 0.0887142),
    }
    mixes = part("assumptions").MIXES
    total = sum(mean for mean, _ in tcplib.values())
    assert mixes["means"] == pytest.approx(
        {name: mean / total for name, (mean, _) in tcplib.items()}, abs=1e-6
    )
    random = np.random.default_rng(1)
    shares = np.array([random.gamma(mean**2 / var, var / mean, 2_000_000) for mean, var in tcplib.values()])
    expected = (shares / shares.sum(axis=0)).mean(axis=1)
    assert mixes["drawn"] == pytest.approx(dict(zip(tcplib, expected, strict=True)), abs=4e-4)
    assert sum(mixes["drawn"].values()) == pytest.approx(1, abs=1e-6)


def test_the_background_has_the_mix_of_the_reading():
    assumptions, scenarios = part("assumptions"), part("scenarios")
    for base, mix in ((assumptions.LITERAL, "means"), (assumptions.calibrated(), "drawn")):
        source = scenarios.experiment("cell000", "reno", "low", base).to_dict()["flows"][1]["source"]
        assert source["mix"] == assumptions.MIXES[mix]


def test_the_sweep_of_loads_is_in_the_wan():
    scenario = part("scenarios").sweep("cell111", "400 ms", part("assumptions").calibrated()).to_dict()
    ends = {link["name"]: link for link in scenario["links"]}
    bottleneck = ends["r1-r2"]
    assert (bottleneck["rate"], bottleneck["delay"]) == ("1.5 Mbit/s", "400 ms")
    assert bottleneck["queue"]["limit"] == "50 packets"
    assert scenario["flows"][1]["source"]["interarrival"] == "400 ms"


def test_conversations_may_have_control_segments():
    assumptions, scenarios = part("assumptions"), part("scenarios")
    base = replace(assumptions.calibrated(), control_segments=3)

    def control(scenario):
        return [flow["source"]["rate"] for flow in scenario.to_dict()["flows"] if flow["name"] == "control"]

    # Three segments of 40 bytes for each conversation: 960 bits every 100 ms, 30 ms and 400 ms.
    assert control(scenarios.experiment("cell000", "reno", "low", base)) == ["9600 bit/s"]
    assert control(scenarios.experiment("cell000", "reno", "wan", base)) == ["32000 bit/s"]
    assert control(scenarios.sweep("cell000", "400 ms", base)) == ["2400 bit/s"]
    assert control(scenarios.experiment("cell000", "reno", "low", assumptions.calibrated())) == []
