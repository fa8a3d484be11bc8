"""The claims on CODE are evaluated correctly: on replays, on scripted runs of the engine, on synthetic results."""

import itertools
import math
import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dumbbell
from dumbbell import Job, claims, papers
from dumbbell.traces import StepFunction

PAPER = papers.load("code-tcp", Path(__file__).resolve().parents[2] / "papers")
MODULE = type(PAPER).__module__
QUICK = papers.Settings(quick=True)


def part(name):
    return sys.modules[f"{MODULE}.{name}"]


def judged(evidence, wanted):
    """Return the findings on the requested claims or scenarios, by name."""
    chosen = [claim for claim in PAPER.claims() if claim.scenario in wanted or claim.id in wanted]
    return {finding.claim.id: finding for finding in claims.judge(chosen, evidence)}


def made_up(points):
    """Return results with the goodputs given for each key: one list of (name, bit/s) pairs for each repetition."""
    rows = []
    for key, repetitions in points.items():
        for connections in repetitions:
            row = {column: [] for column in PAPER.columns} | {
                "key": key,
                "names": [name for name, _ in connections],
                "goodput": [float(rate) for _, rate in connections],
                "rtt_mean": [0.1] * len(connections),
                "rtt_min": [0.05] * len(connections),
            }
            rows.append(row)
    return part("evidence").Evidence(pd.DataFrame(rows, columns=["key", *PAPER.columns]))


def shares(ratios, group="base", figure="fig9", runs=3):
    """Return synthetic points of a sweep: the variant's goodput over Reno's, by variant and point."""
    return {
        f"{group}/{figure}/{kind}/{point}": [
            [("variant", 1e6 * ratio * (1 + 0.01 * run)), ("reno", 1e6)] for run in range(runs)
        ]
        for kind, by_point in ratios.items()
        for point, ratio in by_point.items()
    }


def test_every_claim_has_a_measure_and_a_family():
    families = Counter(claim.id.split("-")[1] for claim in PAPER.claims())
    assert sum(families.values()) == 249
    assert (families["T1"], families["T2"], families["T3"]) == (42, 31, 61)
    assert families["EPS"] == 13
    assert {claim.scenario for claim in PAPER.claims()} >= {"fig-9", "table-1", "eps-analysis", "startup"}


def test_the_rule_reproduces_table_1():
    made, printed = part("rules").table1(), part("printed").data()["table1"]
    for name, (field, _) in part("table_claims").FIELDS.items():
        assert [getattr(one, field) for one in made] == printed[name], name


def test_newvegas_grows_by_one_in_two_rounds_and_code_by_two_in_three():
    climb = part("rules").climb
    assert climb(1.0) == pytest.approx(1 / 2)
    assert climb(2.0) == pytest.approx(2 / 3)


def test_thresholds_sink_only_while_the_round_trip_time_does_not_grow():
    rule = part("rules").Rule(w=20, alpha=2, beta=4)
    assert rule.round(3, rtt_grew=False).alpha_inc == -1
    # Alpha does not fall below its initial value.
    assert (rule.alpha, rule.round(2, rtt_grew=False).alpha_inc) == (1, 0)
    # Above the band, the window shrinks although another flow increased the round-trip time.
    one = rule.round(9, rtt_grew=True)
    assert (one.w - one.w_old, one.alpha_inc) == (-1, 1)


def test_all_half_widths_of_table_3_follow_from_its_rounds():
    data, interval = part("printed").data()["table3"], part("printed").interval
    for level, column in itertools.product(("99", "95", "90"), part("printed").COLUMNS):
        half = interval(data[column], int(level) / 100).half_width
        assert half == pytest.approx(data["half_width"][level][column], abs=0.005), (level, column)


# --- real machines ---

LINUX_RATES = (5, 10, 20)


def on_linux(ratios, runs=3):
    """Return evidence with these ratios on Linux, of Vegas, NewVegas and CODE by rate, and those of Fig. 9 as printed."""
    kernel = made_up(shares(ratios, group="linux", figure="fig19", runs=runs))
    measured = papers.Measured(results=kernel.results, kernels=["6.18.0"], build="0123", fifo=True, repeats=1)
    return replace(made_up(shares(AS_PRINTED)), linux=measured)


AS_ON_PAPER = {
    kind: dict.fromkeys(LINUX_RATES, ratio)
    for kind, ratio in (("vegas", 0.05), ("newvegas", 0.55), ("code", 1.0))
}


def test_without_runs_of_the_kernel_its_claims_await_the_testbed():
    found = judged(made_up({}), {"fig-19", "table-3"})
    waiting = {name for name, finding in found.items() if finding.verdict == "awaits-testbed"}
    assert waiting == set(part("testbed_claims").ON_LINUX)
    assert all("dumbbell reproduce code-tcp --testbed" in found[name].why for name in waiting)
    assert all(
        found[name].verdict == "reproduced" for name in found if name.startswith(("C-T3-AVG", "C-T3-CI"))
    )


def test_single_rounds_of_uploads_can_be_set_and_not_found():
    found = judged(made_up({}), {"table-3"})
    rounds = [finding for name, finding in found.items() if name.startswith("C-T3-R")]
    assert len(rounds) == 40
    assert {finding.verdict for finding in rounds} == {"not-checkable"}
    assert all("set, not found" in finding.why for finding in rounds)


def test_claims_about_linux_are_judged_on_runs_of_the_kernel():
    found = judged(on_linux(AS_ON_PAPER), {"fig-19"})
    verdicts = {name: finding.verdict for name, finding in found.items()}
    # Goodputs of Vegas are 0.05 Mbit/s with 50 ms of queueing: a fifth of a packet is too few to be three.
    assert verdicts.pop("C-F19-5") == "not-reproduced"
    assert set(verdicts.values()) == {"reproduced"}
    assert all("Linux 6.18.0, 3 runs" in finding.why for finding in found.values())


@pytest.mark.parametrize(
    ("kind", "rate", "ratio", "missed"),
    [
        ("vegas", 20, 0.6, {"C-F19a-1", "C-F19b-2", "C-F19-4"}),
        ("newvegas", 20, 1.2, {"C-F19b-1", "C-F19-4"}),
        ("code", 5, 1.5, {"C-F19c-1", "C-F19-4"}),
    ],
)
def test_a_rate_that_differs_on_linux_turns_the_claims_on_it(kind, rate, ratio, missed):
    found = judged(on_linux(AS_ON_PAPER | {kind: AS_ON_PAPER[kind] | {rate: ratio}}), {"fig-19"})
    turned = {name for name, finding in found.items() if finding.verdict == "not-reproduced"}
    assert turned - {"C-F19-5"} == missed


def test_a_wide_spread_on_linux_leaves_the_share_of_code_undecided():
    kernel = {
        f"linux/fig19/code/{rate}": [[("variant", share * 1e6), ("reno", 1e6)] for share in (0.7, 1.0, 1.3)]
        for rate in LINUX_RATES
    }
    measured = papers.Measured(
        results=made_up(kernel).results, kernels=["6.18.0"], build="0123", fifo=True, repeats=0
    )
    evidence = replace(made_up({}), linux=measured)
    assert judged(evidence, {"C-F19c-1"})["C-F19c-1"].verdict == "undecided"
    # Nothing was run of Vegas.
    assert judged(evidence, {"C-F19a-1"})["C-F19a-1"].verdict == "awaits-testbed"


def test_kernel_and_simulator_run_the_same_scenarios():
    for quick in (False, True):
        settings = papers.Settings(quick=quick)
        runs = PAPER.real_time.plan(settings)
        assert {run.stage for run in runs} <= {stage.name for stage in PAPER.real_time.stages(settings)}
        hashes = {run.key: run.scenario.hash for run in runs}
        assert len(set(hashes.values())) == len(hashes)
    planned = {(run.key, run.scenario.hash) for run in PAPER.plan(QUICK) if run.key.startswith("linux/")}
    assert planned == {(run.key, run.scenario.hash) for run in PAPER.real_time.plan(papers.Settings())}


def test_the_networks_are_the_papers():
    scenarios, base = part("scenarios"), part("assumptions").BASE
    point = scenarios.rate_point("code", 10, base)
    table = point.resolved()
    flows = {flow["name"]: flow for flow in table["flows"]}
    code, reno = flows["variant"]["tcp"], flows["reno"]["tcp"]
    for tcp in (code, reno):
        assert (tcp["receive_buffer"], tcp["initial_ssthresh"]) == ("unlimited", "unlimited")
        assert (tcp["mss"], tcp["recovery"]["kind"], tcp["delayed_ack"]) == ("1000 bytes", "reno", "off")
    assert code["congestion"]["epsilon"] == 0.68
    assert code["mechanisms"]["F"]
    assert code["mechanisms"]["E"]
    assert flows["cross"]["source"]["rate"] == "500 kbit/s"
    bottleneck = next(link for link in table["links"] if link["name"] == "r1-r2")
    assert bottleneck["queue"] == {"kind": "droptail", "limit": "100 packets", "counts_service": True}
    delays = {link["name"]: link["delay"] for link in table["links"]}
    assert [delays[name] for name in ("s1-r1", "r1-r2", "r2-d1")] == ["1 ms", "23 ms", "1 ms"]


def test_windows_beside_reno_have_the_traffic_of_fig_9_and_the_rules_are_read_without_it():
    flows = {run.key: {flow["name"] for flow in run.scenario.to_dict()["flows"]} for run in PAPER.plan(QUICK)}
    connections = {"variant", "reno"}
    assert flows["base/fig2"] == flows["base/fig3"] == flows["base/fig5"] == connections | {"cross"}
    assert flows["base/fig3-quiet"] == flows["base/fig5-quiet"] == connections
    # Where nothing has traffic, nothing differs.
    assert flows["literal/fig5"] == flows["window-quiet/fig5"] == connections


def test_figures_without_a_stated_rate_have_the_same():
    base = part("assumptions").BASE
    assert base.rtt_rate == base.buffer_rate == base.mix_rate == base.window_rate == 10


def test_processing_times_are_up_to_one_service_time():
    scenario = part("scenarios").rtt_point("code", "b", 100, part("assumptions").BASE).resolved()
    flow = next(flow for flow in scenario["flows"] if flow["name"] == "noise1")
    rate = {link["name"]: link["rate"] for link in scenario["links"]}
    assert (flow["from"], flow["to"], flow["source"]["jitter"]) == ("s1", "r1", 1.0)
    # A datagram of 50 packets takes as long at 50 times the rate as a packet at the bottleneck.
    assert flow["source"]["packet"] == "50000 bytes"
    assert (rate["s1-r1"], rate["r1-r2"]) == ("500 Mbit/s", "10 Mbit/s")
    delay = {link["name"]: link["delay"] for link in scenario["links"]}
    # (100 - 2 * 23) / 4 = 13.5 ms for each of the variant's access links.
    assert (delay["s1-r1"], delay["s2-r1"]) == ("13500 us", "1 ms")


def test_a_quick_plan_is_reproducible_and_every_key_is_in_a_reading():
    plan, again = PAPER.plan(QUICK), PAPER.plan(QUICK)
    assert [(run.key, run.scenario.hash, run.run) for run in plan] == [
        (run.key, run.scenario.hash, run.run) for run in again
    ]
    groups = {run.key.split("/")[0] for run in plan}
    variations = set(part("plan").counts(QUICK).variations)
    assert variations <= {variation.name for variation in part("assumptions").VARIATIONS}
    assert groups >= {"base", "algorithm", "phase", "epsilon", "literal", *variations}


def test_moves_of_assumptions_differ_from_the_main_reading_and_have_their_own_names():
    variations, base = part("assumptions").VARIATIONS, part("assumptions").BASE
    assert len({variation.name for variation in variations}) == len(variations)
    assert all(variation.assumptions != base for variation in variations)


@pytest.fixture(scope="module")
def scripted():
    """The scenarios that isolate one rule each, reduced as in a reproduction."""
    scenarios = part("algorithms").scenarios()
    jobs = [Job(scenario, seed=1) for scenario in scenarios.values()]
    frame = PAPER.reduce(dumbbell.run_many(jobs, progress=False))
    frame.insert(0, "key", [f"algorithm/{name}" for name in scenarios])
    return part("evidence").Evidence(frame)


def test_the_engines_algorithms_keep_the_papers_rules(scripted):
    wanted = {f"alg-{name}" for name in ("reno", "vegas", "newvegas", "vegas-a", "code")}
    found = judged(scripted, wanted)
    missed = {name for name, finding in found.items() if finding.verdict != "reproduced"}
    # Half of the inflated window is more than half of the window before.
    assert missed == {"C-ALG-V8"}
    assert found["C-ALG-V8"].measured > 0.6


def test_reduced_traces_are_read_back_by_name(scripted):
    run = scripted.all_runs("algorithm/guest-code")[0]
    assert run.names == ["variant", "guest"]
    times, alpha = run.trace("alpha")
    assert times.size == alpha.size > 100
    assert np.all(np.diff(times) >= 0)
    assert not run.has_trace("ssthresh")
    assert run.one("goodput", "guest") == run.of("goodput", "guest")[0]


def triangle(peak=100.0, cycle_s=10.0, end_s=100.0):
    """Return a run of synthetic cycles: the variant decreases to 3/4 and grows, Reno halves and grows."""
    time = np.arange(0.0, end_s, 0.05)
    phase = (time % cycle_s) / cycle_s
    cwnd, reno = peak * (0.75 + 0.25 * phase), peak * (0.5 + 0.5 * phase)
    losses = np.arange(cycle_s, end_s, cycle_s)
    alpha = np.column_stack([0.68 * 50.0 * np.ones_like(losses), 50.0 * np.ones_like(losses)]).ravel()
    # Thresholds are scaled at each loss and have their original value again a second before the next.
    changes = np.column_stack([losses, losses + cycle_s - 1.0]).ravel()
    traces = {
        "variant cwnd": (time, cwnd),
        "reno cwnd": (time, reno),
        "variant delivered": (time, 1000 * np.cumsum(cwnd)),
        "reno delivered": (time, 1000 * np.cumsum(reno)),
        "r1-r2 backlog": (time, np.zeros_like(time)),
        "variant alpha": (np.concatenate([[0.0], changes]), np.concatenate([[50.0], alpha])),
    }
    row = {
        "names": ["variant", "reno"],
        "rtt_min": [0.1, 0.1],
        "trace_of": list(traces),
        "trace_length": [len(values) for values, _ in traces.values()],
        "trace_time": np.concatenate([times for times, _ in traces.values()]),
        "trace_value": np.concatenate([values for _, values in traces.values()]),
    }
    return part("evidence").Run(row)


def test_cycles_are_found_with_their_slopes():
    run = triangle()
    cycles = part("cycles")
    assert cycles.losses(run) == [20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0]
    found = cycles.cycles(run)
    assert len(found) == 7
    one = found[0]
    assert (one.begin_s, one.end_s) == (20.0, 30.0)
    # 25 packets in 10 s, which are 100 round trips; Reno 50.
    assert one.rising.slope == pytest.approx(0.25, rel=0.02)
    assert one.reno_rising.slope == pytest.approx(0.5, rel=0.05)
    assert one.lowest / one.peak == pytest.approx(0.755, abs=0.01)
    assert one.packets / one.reno_packets == pytest.approx(0.875 / 0.75, rel=0.01)
    assert cycles.shared_losses(run) == (8, 0, 0)


RATES = (5, 10, 20)
AS_PRINTED = {
    "vegas": dict.fromkeys(RATES, 0.05),
    "vegasa": dict.fromkeys(RATES, 0.4),
    "newvegas": dict.fromkeys(RATES, 0.6),
    "code": {5: 0.95, 10: 1.05, 20: 1.0},
}


def test_fig_9_as_described_is_reproduced():
    found = judged(made_up(shares(AS_PRINTED)), {"fig-9"})
    missed = {name for name, finding in found.items() if finding.verdict != "reproduced"}
    # One packet in ten waits half of its time: 1e6 * 0.05 * 0.05 / 8000 is less than one packet.
    assert missed == set()
    assert found["C-F9-1"].measured == pytest.approx(0.4, abs=0.02)


def test_fig_9_with_another_variant_nearer_is_not_reproduced():
    ratios = AS_PRINTED | {"code": dict.fromkeys(RATES, 1.8), "newvegas": dict.fromkeys(RATES, 0.9)}
    found = judged(made_up(shares(ratios)), {"fig-9"})
    missed = {name for name, finding in found.items() if finding.verdict == "not-reproduced"}
    assert missed == {"C-F9d-1", "C-F9-1", "C-F9-2"}


def test_pooled_intervals_follow_the_papers_rule():
    evidence = made_up(shares(AS_PRINTED))
    ratios = np.concatenate([evidence.ratios("fig9", "code", rate) for rate in RATES])
    pooled = evidence.pooled("fig9", "code")
    assert pooled.estimate == pytest.approx(ratios.mean())
    assert pooled.half_width == pytest.approx(1.959964 * ratios.std(ddof=1) / math.sqrt(9), rel=1e-6)
    assert evidence.over_points("fig9", "code").n == 3


@pytest.mark.slow
def test_a_varied_assumption_is_compared_at_its_own_points_and_explains_misses():
    ratios = AS_PRINTED | {"code": dict.fromkeys(RATES, 1.8), "newvegas": dict.fromkeys(RATES, 0.9)}
    evidence = made_up(shares(ratios) | shares(AS_PRINTED, group="quiet", runs=2))
    count = replace(part("plan").counts(QUICK), moved_rates=(5, 10), variations=("quiet",))
    judged = claims.judge(PAPER.claims(), evidence)
    study = part("sensitivity").study(PAPER.claims(), evidence, judged, count, seed=1)
    in_figure_9 = part("sensitivity").in_figure_9(study, evidence, count)
    (_, chosen), (moved, ratios) = in_figure_9
    nearest = part("sensitivity").nearest
    assert (nearest(chosen), nearest(ratios)) == ("newvegas", "code")
    assert chosen["code"].n == ratios["code"].n == 4
    evaluation = papers.Evaluation(findings=judged, evidence=evidence, moves=study)
    assert part("content").Content(evaluation, in_figure_9).ratios_of("quiet") is ratios
    assert {finding.claim.id for finding in moved.gained} == {"C-F9d-1", "C-F9-1", "C-F9-2"}
    findings = claims.judge(PAPER.claims(), evidence)
    told, _ = study.explain(findings)
    explained = {finding.claim.id: finding for finding in told}
    assert "It holds with another assumption (cross traffic: none)" in explained["C-F9-1"].why


def test_settling_time_is_the_last_time_outside_the_final_range():
    time = np.arange(0.0, 100.0, 1.0)
    value = np.where(time < 60, 20.0, 10.0)
    assert part("window_claims").settled_s(StepFunction(time, value), 50.0) == 9.0
    assert part("window_claims").settled_s(StepFunction(time, np.full_like(time, 10.0)), 50.0) == 0.0


def test_the_literal_reading_adds_nothing_to_the_paper():
    literal, base = part("assumptions").LITERAL, part("assumptions").BASE
    assert (literal.cross, literal.jitter, literal.clamp) == (0.0, False, False)
    # It differs from the main reading in nothing else.
    assert replace(literal, cross=base.cross, clamp=base.clamp) == base
    scenario = part("scenarios").rtt_point("code", "a", 100, literal).resolved()
    assert [flow["name"] for flow in scenario["flows"]] == ["variant", "reno"]


def test_the_literal_reading_has_as_many_runs_of_everything_as_the_main_one():
    keys = Counter(run.key for run in PAPER.plan(QUICK))
    groups = {
        group: {key.removeprefix(f"{group}/"): count for key, count in keys.items() if key.startswith(group)}
        for group in ("base", "literal")
    }
    # Nothing is random in this run, with or without a reading.
    groups["base"].pop("together")
    assert groups["base"] == groups["literal"]


def test_readings_are_judged_on_their_own_runs():
    away = AS_PRINTED | {"code": dict.fromkeys(RATES, 1.8)}
    evidence = made_up(shares(AS_PRINTED) | shares(away, group="literal"))
    best, literal = PAPER.readings(QUICK, evidence)
    assert [reading.name for reading in (best, literal)] == ["best supported", "literal"]
    verdicts = [
        {finding.claim.id: finding.verdict for finding in reading.findings} for reading in (best, literal)
    ]
    assert [one["C-F9d-1"] for one in verdicts] == ["reproduced", "not-reproduced"]
    content = part("content").Content(
        papers.Evaluation(findings=[], evidence=evidence, readings=(best, literal))
    )
    assert content.readings_of_code == pytest.approx({"main": 1.01, "literal": 1.82}, abs=0.005)


@pytest.mark.slow
def test_a_missed_ordering_is_shown_with_its_cause_and_every_variation_tried():
    ratios = AS_PRINTED | {"newvegas": dict.fromkeys(RATES, 1.2)}
    evidence = made_up(shares(ratios) | shares(AS_PRINTED, group="quiet", runs=2))
    count = replace(part("plan").counts(QUICK), moved_rates=(5, 10), variations=("quiet",))
    judged = claims.judge(PAPER.claims(), evidence)
    study = part("sensitivity").study(PAPER.claims(), evidence, judged, count, seed=1)
    findings = [f for f in claims.judge(PAPER.claims(), evidence) if f.claim.id in ("C-F9c-1", "C-F9d-1")]
    _, study = study.explain(findings)
    content = part("content").Content(papers.Evaluation(findings=findings, evidence=evidence, moves=study))
    (row,) = content.orderings()
    assert row[0] == "C-F9c-1"
    assert row[3] == part("content").UNKNOWN
    assert row[4] == "1 of 1: cross traffic: none"
    content.cause("C-F9c-1", lambda: "It is\nknown.\n")
    assert content.orderings()[0][3] == "It is known."
    (details,) = content.variations()
    (_, chosen), (_, varied) = ((row[0], row[-1].text) for row in details.blocks[0].rows)
    assert (chosen, varied) == ("no", "yes")


def test_causes_are_of_claims_that_can_be_missed():
    kinds = {claim.id: claim.kind for claim in PAPER.claims()}
    text = Path(sys.modules[MODULE].__file__).with_name("report.md").read_text("utf-8")
    told = set(re.findall(r'call cause\("([^"]+)"\)', text))
    assert told
    assert {kinds[name] for name in told} <= {"ordering", "sign", "shape"}


def test_a_reading_of_runs_is_found_by_the_name_in_their_keys():
    assumptions_of = part("assumptions").assumptions_of
    assert assumptions_of("base") == part("assumptions").BASE
    assert assumptions_of("literal") == part("assumptions").LITERAL
    assert assumptions_of("window-rate-5").window_rate == 5
