"""The statements on today's transport: what they need of the engine, and how numbers become verdicts."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dumbbell import Job, Scenario, claims, papers, report, run_many
from dumbbell.papers import Settings

ROOT = Path(__file__).resolve().parents[2]
PAPER = papers.load("modern", ROOT / "papers")
MODULE = type(PAPER).__module__


def part(name):
    return sys.modules[f"{MODULE}.{name}"]


evidence_of, means, network, figures = part("evidence"), part("means"), part("network"), part("figures")
BASE = part("assumptions").Assumptions()
CASES = part("scenarios").cases(BASE, quick=True)


def row(key, run=0, *, flows=None, links=None, traces=None):
    parts = {"flows": flows or {}, "links": links or {}, "traces": traces or {}}
    return {"key": f"base|{key}", "run": run} | {name: json.dumps(value) for name, value in parts.items()}


def findings(rows):
    columns = ["key", "run", "flows", "links", "traces"]
    evidence = PAPER.evidence(Settings(), pd.DataFrame(rows, columns=columns), {})
    return {finding.claim.id: finding for finding in claims.judge(PAPER.claims(), evidence)}


def written(rows):
    """Return the text of the report, in which nothing is left of a placeholder."""
    results = pd.DataFrame(rows, columns=["key", "run", "flows", "links", "traces"])
    sections = PAPER.sections(Settings(), PAPER.evaluate(Settings(quick=True), results, {}))
    page = report.render_page(title="", subtitle="", facts=[], sections=sections)
    text = re.sub(r"<(style|svg)\b.*?</\1>", "", page, flags=re.DOTALL)
    assert "{" not in text
    return text


def test_every_statement_is_in_one_family():
    families = [name for names in part("content").FAMILIES.values() for name in names]
    assert len(set(families)) == len(families)
    assert {claim.id.split("-")[0] for claim in PAPER.claims()} <= set(families)


def test_scenarios_have_different_names_and_run_if_the_engine_has_what_they_need():
    assert len({case.key for case in CASES}) == len(CASES)
    for case in CASES:
        if not means.missing(case.data):
            Scenario.from_dict(case.data).resolved()


def test_without_runs_no_statement_has_a_verdict_from_measurements():
    found = findings([])
    assert len(found) == len(PAPER.claims())
    assert {finding.verdict for finding in found.values()} <= {"not-checkable"}
    assert all(finding.why for finding in found.values())


def test_a_scenario_names_what_the_engine_lacks():
    tcp = network.rfc({"name": "reno", "zeal": 2}, BASE, recovery="clairvoyant")
    flow = network.flow("f", tcp, source={"kind": "greedy"})
    probe = network.probe("mood", flows=["f"])
    data = network.bottleneck(
        "x", 10, 40, [flow], 1, queue={"kind": "psychic"}, probes=[probe], link={"colour": "red"}
    )
    assert means.missing(data) == (
        "the field `colour` of links, the queue discipline `psychic`, the parameter `zeal` of the congestion control "
        "`reno`, the loss recovery `clairvoyant`, the probe `mood`"
    )
    plain = network.bottleneck("x", 10, 40, [network.flow("f", network.rfc("reno", BASE))], 1)
    assert means.missing(plain) == ""


def test_a_statement_whose_means_are_missing_says_so(monkeypatch):
    known = dict(means._known())
    monkeypatch.setattr(means, "_known", lambda: known | {"algorithms": {}})
    means.lacking.cache_clear()
    found = findings([])
    means.lacking.cache_clear()
    assert "the congestion control `bbr`" in found["ware-03"].why
    assert "the congestion control `cubic`" in found["ware-03"].why


def test_the_mean_window_is_segments_per_round_trip_between_losses():
    # 10^4 segments in 5 s at 0.1 s are 200 per round trip; the first three epochs are left out, however long.
    times = [1.0, 9.0, 11.0, 20.0, 25.0, 30.0]
    traces = {"losses": {network.FORWARD: {"time_s": times, "value": [1, 2, 3, 4, 5, 6]}}}
    found = findings([row("law-reno-10000-100", traces=traces)])["aimd-01"]
    assert found.measured == pytest.approx(200.0)
    assert found.verdict == "not-reproduced"


def test_shares_of_several_runs_have_an_interval():
    def shared(run, bbr):
        flows = {"bbr": {"goodput_bps": bbr * 1e7}, "cubic": {"goodput_bps": (1 - bbr) * 1e7}}
        return row("ware-10-8", run, flows=flows)

    close = findings([shared(run, share) for run, share in enumerate((0.53, 0.54, 0.55))])["ware-04"]
    assert close.verdict == "reproduced"
    assert close.low < 0.54 < close.high
    wide = findings([shared(run, share) for run, share in enumerate((0.3, 0.6, 0.9))])["ware-04"]
    assert wide.verdict == "undecided"
    far = findings([shared(run, share) for run, share in enumerate((0.2, 0.21, 0.22))])["ware-04"]
    assert far.verdict == "not-reproduced"


def test_a_value_that_a_run_lacks_is_no_number():
    flows = {"bbr": {"goodput_bps": float("nan")}, "cubic": {"goodput_bps": 1e7}}
    assert findings([row("ware-10-8", flows=flows)])["ware-04"].verdict == "not-checkable"


def test_stays_of_a_trace_end_with_the_next_value():
    trace = evidence_of.Trace(np.array([0.0, 1.0, 3.0, 4.0]), np.array([2.0, 3.0, 2.0, 3.0]))
    assert trace.stays(lambda values: values == 3, 6.0) == [(1.0, 3.0), (4.0, 6.0)]
    assert trace.at([0.5, 1.0, 3.9]).tolist() == [2.0, 3.0, 2.0]


@pytest.mark.parametrize(
    ("mbps", "rtt", "buffer", "share"),
    [(10, 40, 1, 0.972), (10, 40, 4, 0.629), (10, 40, 32, 0.440), (50, 30, 16, 0.495), (50, 30, 64, 0.399)],
)
def test_the_model_of_shares_has_its_published_values(mbps, rtt, buffer, share):
    assert figures.predicted_share(mbps, rtt, buffer) == pytest.approx(share, abs=6e-4)


def test_every_point_of_the_model_has_published_measurements():
    for mbps, rtt, buffer in part("sharing_scenarios").WARE:
        shares = part("published").bbr_shares(mbps, rtt)[buffer]
        assert len(shares) == 3
        assert np.ptp(shares) < 0.05
    assert part("published").bbr_shares(10, 40)[4].mean() == pytest.approx(0.503, abs=0.001)
    assert part("published").bbr_shares(99, 40) == {}


def test_shares_stand_beside_published_measurements():
    flows = {"bbr": {"goodput_bps": 5.2e6}, "cubic": {"goodput_bps": 4.8e6}}
    text = written([row("ware-10-4", flows=flows)])
    cells = ["10 Mb/s, 40 ms", "4", "0.63", "0.50 (0.50 to 0.51)", "0.52 (0.52 to 0.52)"]
    table = text[text.index("Share of one BBRv1") :]
    assert re.findall(r"<td[^>]*>(?:<span>)?(.*?)(?:</span>)?</td>", table)[:5] == cells
    assert "differ from ours by 0.02 on average, and from the model by 0.13." in text
    assert "Share of one BBRv1" not in written([])


def test_reno_under_periodic_loss_is_measured_on_the_engine():
    (case,) = [case for case in CASES if case.key == "law-reno-10000-100"]
    runs = papers_run(case)
    window = part("window_claims").law_window(runs, "reno", 10_000, 100)
    # 1.22 / sqrt(1e-4) is 122.
    assert window == pytest.approx(122, rel=0.05)


def test_hosts_of_the_study_have_a_gigabit_before_losses_and_a_shaper():
    """Of 200 Mbit/s of datagrams, 180 pass 10 % of losses, and a shaper of 100 Mbit/s delivers what its bucket adds."""
    data = network.shaped(
        "shaped", 100, 20, 50_000, [network.datagrams("f", 200, 1500)], 10, loss=0.1, from_s=0
    )
    case = part("network").Case(key="shaped", stage="test", data=data)
    run = papers_run(case).one("shaped")
    assert run.link("drops_impairment", "s1-a") / (200e6 * 10 / 12_000) == pytest.approx(0.1, abs=0.005)
    # What is on its way at the end, for 10 ms, is not delivered.
    assert run.goodput() == pytest.approx((100 * 9.99 + 8) / 10, abs=0.01)
    # A host offers more than its gigabit of Ethernet carries: 38 bytes beside each packet of 1500.
    data = network.shaped("shaped", 2000, 20, 50_000, [network.datagrams("f", 1500, 1500)], 2)
    run = papers_run(part("network").Case(key="shaped", stage="test", data=data)).one("shaped")
    assert run.goodput() == pytest.approx(975.3, rel=0.02)


def test_datagrams_beside_the_flows_are_no_part_of_their_shares():
    flows = {"bbr": {"goodput_bps": 6e6}, "cubic": {"goodput_bps": 4e6}, "background": {"goodput_bps": 5e6}}
    run = evidence_of.Evidence(pd.DataFrame([row("ware-10-8", flows=flows)])).one("ware-10-8")
    assert run.share("bbr") == pytest.approx(0.6)
    case = next(case for case in CASES if case.key == "ware-10-8")
    sources = [flow["source"] for flow in case.data["flows"]]
    assert sources[2] == {"kind": "poisson", "rate": "300000 bit/s", "packet": "200 bytes"}


def papers_run(case):
    reduced = PAPER.reduce(run_many([Job(Scenario.from_dict(case.data), 1, 0)], progress=False))
    return evidence_of.Evidence(reduced.assign(key=f"base|{case.key}", run=0))
