"""RoVegas: properties of the engine, and the evaluation of claims."""

import dataclasses
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dumbbell
from dumbbell import Job, claims, papers
from dumbbell.models import rovegas as model

PAPER = papers.load("rovegas", Path(__file__).resolve().parents[2] / "papers")
MODULE = type(PAPER).__module__
REPORT = Path(__file__).resolve().parents[2] / "papers" / "rovegas" / "report.md"


def part(name):
    return sys.modules[f"{MODULE}.{name}"]


PLACE = part("assumptions").Assumptions()


def table(configurations, runs=1):
    """Run configurations of the paper and return their rows as in a reproduction."""
    keys = [(f"paper|{key}", scenario, run) for key, scenario in configurations for run in range(runs)]
    done = dumbbell.run_many(
        [Job(scenario=scenario, seed=1, run=run) for _, scenario, run in keys], progress=False
    )
    frame = PAPER.reduce(done)
    frame.insert(0, "key", [key for key, _, _ in keys])
    frame.insert(1, "run", [run for _, _, run in keys])
    return frame


def some(*experiments):
    """Return the configurations of some experiments."""
    return [(key, scenario) for key, scenario, _ in part("plan").experiments(PLACE, (0.0, 1.0), experiments)]


def judged(results):
    return {
        finding.claim.id: finding
        for finding in claims.judge(PAPER.claims(), PAPER.evidence(papers.Settings(), results, {}))
    }


@pytest.fixture(scope="module")
def lone():
    """One connection over links with different rates."""
    return table(some("ana", "fig-3", "fig-4", "fig-5"))


@pytest.fixture(scope="module")
def eight():
    """Eight connections that start one after another, started exactly 20 s apart."""
    sharp = dataclasses.replace(PLACE, jitter_s=0.0)
    return table(
        (
            f"fig-15|{variant}",
            part("scenarios").staggered("fig-15", variant, sharp, connections=8, apart_s=20, duration_s=180),
        )
        for variant in ("vegas", "rovegas")
    )


@pytest.fixture(scope="module")
def rerouted():
    return table(some("ext"))


def test_every_claim_occurs_once_with_a_measure():
    listed = PAPER.claims()
    assert len(listed) == len({claim.id for claim in listed}) == 165
    assert Counter(claim.kind for claim in listed) == {
        "value": 77, "ordering": 55, "ratio": 18, "shape": 15,
    }  # fmt: skip


def test_claims_have_the_printed_numbers():
    printed, by_id = part("printed"), {claim.id: claim.paper_value for claim in PAPER.claims()}
    ratios = printed.at_points("fig-8", "ratio")
    assert [by_id[f"RV-F8-{index:02d}"] for index in range(2, 7)] == [
        ratios[k] for k in part("scenarios").ASYMMETRIES
    ]
    assert by_id["RV-F8-01"] == printed.at_points("fig-8", "throughput")[2]
    assert (by_id["RV-F9-04"], by_id["RV-F9-05"]) == (521, 1092)
    assert [by_id[f"RV-F12-{index:02d}"] for index in (5, 6, 7)] == printed.data()["fig-12"]["ratio"]
    assert by_id["RV-F15-04"] == printed.at_points("fig-15", "vegas")[8]


def test_at_k_two_rovegas_fills_the_forward_link_and_vegas_gets_a_share(lone):
    evidence = PAPER.evidence(papers.Settings(), lone, {})
    assert evidence.throughput("ana", "rovegas", 2)[0] == pytest.approx(1587.2, rel=0.01)
    for k in part("scenarios").ASYMMETRIES:
        assert evidence.throughput("ana", "vegas", k)[0] == pytest.approx(1600 / k, rel=0.01)


def test_the_analysis_agrees_with_the_simulation(lone):
    findings = judged(lone)
    analysis = [finding for name, finding in findings.items() if name.startswith("RV-ANA")]
    missed = [finding.claim.id for finding in analysis if finding.verdict == "not-reproduced"]
    assert missed == []
    for row in part("analysis").windows(PAPER.evidence(papers.Settings(), lone, {})):
        if row.variant == "vegas":
            # A fraction of a packet in the window is not sent.
            assert abs(row.by_model - row.simulated) <= 0.51


def test_eight_staggered_connections_queue_forty_packets_with_vegas_and_eighteen_with_rovegas(eight):
    evidence = PAPER.evidence(papers.Settings(), eight, {})
    assert evidence.queue_after("vegas", 8)[0] == pytest.approx(40, abs=6)
    assert evidence.queue_after("rovegas", 8)[0] == pytest.approx(18, abs=2)


def test_a_base_rtt_is_constant_to_the_nanosecond_on_a_fixed_route(lone, eight):
    rovegas = pd.concat([lone, eight])
    rovegas = rovegas[rovegas["key"].str.contains("|rovegas", regex=False)]
    assert len(rovegas) > 10
    for base in rovegas["base_rtt"]:
        first, least, greatest, last = np.asarray(base).reshape(-1, 4).T
        assert (1e6 * (greatest - least) < 0.5).all()
        assert (1e6 * np.abs(last - first) < 0.5).all()


def test_after_a_reroute_rovegas_recovers_its_rate_and_vegas_does_not(rerouted):
    evidence = PAPER.evidence(papers.Settings(), rerouted, {})
    for by in ("delay", "path"):
        kept = {
            label: float(
                (evidence.rate("ext", label, by, 80, 120) / evidence.rate("ext", label, by, 20, 60))[0]
            )
            for label in ("vegas", "rovegas", "rovegas-minimum")
        }
        assert kept["rovegas"] == pytest.approx(1.0, abs=0.001)
        assert kept["vegas"] < 0.5
        # With the minimum base RTT, it cannot distinguish a longer path from a queue.
        assert kept["rovegas-minimum"] < 0.5


def test_a_derived_base_rtt_equals_the_delay_worked_by_hand():
    # 2 (1 + 20 + 1) ms; 8000 bits at 10, 1.6 and 10 Mbit/s; 384 bits of acknowledgement at the same rates.
    by_hand = 0.044 + 8000 * (1 / 1.6e6 + 2 / 10e6) + 384 * (1 / 1.6e6 + 2 / 10e6)
    assert part("assumptions").fixed_delay_s("rovegas", PLACE) == pytest.approx(by_hand, abs=1e-12)
    assert by_hand == pytest.approx(0.0509168, abs=1e-12)


def test_the_rules_of_the_window_are_visible_in_runs():
    findings = judged(table(some("unit-rule", "unit-ss", "unit-keepup")))
    for name in ("RV-MEC-06", "RV-MEC-07", "RV-MEC-08", "RV-MEC-09", "RV-MEC-10", "RV-ANA-18"):
        assert findings[name].verdict == "reproduced", findings[name].why


def test_runs_with_the_same_number_have_the_same_traffic():
    frame = table([pair for pair in some("fig-9") if "reno" not in pair[0]], runs=2)
    rates = {key: [row[0] for row in rows["cross_rate"]] for key, rows in frame.groupby("key")}
    assert rates["paper|fig-9|vegas"] == rates["paper|fig-9|rovegas"]
    assert rates["paper|fig-9|vegas"][0] != rates["paper|fig-9|vegas"][1]


def test_wrong_results_are_not_reproduced(lone):
    wrong = lone.assign(throughput=[[2 * value for value in row] for row in lone["throughput"]])
    findings = judged(wrong)
    assert {findings[name].verdict for name in ("RV-F7-02", "RV-F8-01", "RV-ANA-08")} == {"not-reproduced"}
    # The throughputs of RoVegas and Vegas are exchanged.
    swapped = lone.assign(throughput=lone["throughput"])
    for k in part("scenarios").ASYMMETRIES:
        vegas, rovegas = (
            swapped.index[swapped["key"] == f"paper|ana|{variant}|{k}"][0] for variant in ("vegas", "rovegas")
        )
        one, two = swapped.loc[vegas, "throughput"], swapped.loc[rovegas, "throughput"]
        swapped.loc[vegas, "throughput"], swapped.loc[rovegas, "throughput"] = two, one
    findings = judged(swapped)
    assert {findings[name].verdict for name in ("RV-F8-17", "RV-ANA-19")} == {"not-reproduced"}


def test_what_was_not_run_is_not_checkable_and_says_why(lone):
    finding = judged(lone)["RV-F9-04"]
    assert finding.verdict == "not-checkable"
    assert "no runs of fig-9" in finding.why


def test_every_assumption_is_explained_and_varied():
    names = {item.name for item in dataclasses.fields(PLACE)}
    moved = {name for variation in part("assumptions").VARIATIONS for name in variation.changes}
    explained = set(re.findall(r"chosen\.(\w+)", REPORT.read_text("utf-8")))
    assert explained == names == moved
    for variation in part("assumptions").VARIATIONS:
        assert variation.place(PLACE) != PLACE
        assert set(variation.touches) <= set(part("assumptions").EVERYTHING)


def test_a_varied_assumption_changes_scenarios_and_their_evaluation():
    experiments, variations = part("plan").experiments, part("assumptions").VARIATIONS
    base = {key: scenario.hash for key, scenario, _ in experiments(PLACE, (1.0,))}
    for variation in variations:
        touched = (
            (key, scenario)
            for key, scenario, _ in experiments(variation.place(PLACE), (1.0,), variation.touches)
        )
        assert any(scenario.hash != base[key] for key, scenario in touched), variation.name
    evidence = PAPER.evidence(
        papers.Settings(), pd.DataFrame({"key": ["paper|fig-15|vegas", "bias-40|fig-15|vegas"]}), {}
    )
    moved = next(variation for variation in variations if variation.name == "bias-40").place(PLACE)
    judged_by = evidence.varied("bias-40", moved, 1)
    assert (judged_by.place("fig-15"), judged_by.place("ana")) == (moved, PLACE)


def test_a_quick_reproduction_is_smaller_and_draws_the_same_numbers():
    runs = {quick: PAPER.plan(papers.Settings(quick=quick, seed=7)) for quick in (True, False)}
    quick, full = (Counter(run.key for run in runs[quick]) for quick in (True, False))
    assert set(quick) < set(full)
    assert quick["paper|fig-9|vegas"] < full["paper|fig-9|vegas"]
    assert full["paper|ana|vegas|2"] == 1
    # Runs without random numbers have one seed, whatever the seed of the reproduction.
    assert {run.seed for run in runs[True]} == {1, 7}
    assert {run.seed for run in runs[True] if run.key == "paper|ana|vegas|2"} == {1}


def test_the_worst_of_several_is_the_farthest():
    worst = part("evidence").worst
    assert worst([np.array([0.9, 1.2]), np.array([1.05, 1.1])], 1.0).tolist() == [0.9, 1.2]


def test_the_report_has_every_figure(lone, eight, rerouted):
    wanted = some("fig-9", "fig-10", "fig-12", "fig-13", "fig-17", "fig-18", "fig-19", "unit-keepup")
    results = pd.concat([lone, eight, rerouted, table(wanted)], ignore_index=True)
    evidence = PAPER.evidence(papers.Settings(), results, {})
    evaluation = papers.Evaluation(findings=claims.judge(PAPER.claims(), evidence), evidence=evidence)
    sections = part("content").Content(evaluation).sections()
    assert {section.anchor for section in sections} >= {
        "misses", "set-up", "analysis", "asymmetric", "traffic", "persistent", "fairness", "deployment", "rerouting",
        "sensitivity", "tensions",
    }  # fmt: skip
    text = " ".join(
        block.caption for section in sections for block in section.blocks if hasattr(block, "caption")
    )
    for number in ("3 to 5", "7 and 8", "9", "10 and 13", "12", "15", "17", "18", "19"):
        assert f"Fig. {number}" in text or f"Figs. {number}" in text
    # Braces are left where a name was not replaced.
    assert not {"{", "}"} & set(re.sub(r"svg='.*?</svg>", "", str(sections), flags=re.DOTALL))


def test_the_queue_of_the_fluid_model_fits_vegas(eight):
    evidence = PAPER.evidence(papers.Settings(), eight, {})
    target = float(part("connection_claims").kept_target(evidence)[0])
    assert 1.0 <= target <= 3.0
    assert target * model.persistent_queue(8)[7] == pytest.approx(
        evidence.queue_after("vegas", 8)[0], rel=0.1
    )
