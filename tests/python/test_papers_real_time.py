"""Papers on the testbed: plans, the store, the record and the command; with a program in the place of the testbed."""

import json
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import command_line
from dumbbell import ScenarioError, papers, testbed
from dumbbell.cli import app
from dumbbell.papers import real_time
from small_paper import SMALL, forget_papers, write_paper

CHECKOUT = Path(__file__).resolve().parents[2] / "papers"

# Answers as the testbed does, with the goodput of each flow by its position; `refuse` and `disturbed` are inserted.
BODY = """
import json, sys
from pathlib import Path
counter = Path({counter!r})
request = json.load(sys.stdin)
with counter.open("a") as file:
    # One write, because runs are side by side.
    file.write(f'{{request["scenario"]["name"]}} {{request["run"]}}\\n')
{before}
late = dict(late_p50_us=1.0, late_p99_us=2.0, late_max_us=3.0, late_over_1ms=0.0, disturbed={disturbed},
    write_errors=0, refused=0, checksum_errors=0, kernel="6.18.0", fifo=True)
def flow(name, place):
    return late | dict(name=name, goodput_bps=1e6 * (1 + place + 0.01 * request["run"]), throughput_bps=1e6,
        bytes_delivered=1000, segments_sent=10, segments_retransmitted=1, bytes_retransmitted=100, timeouts=0,
        fast_retransmits=1, completion_s=None, start_s=0.5, rtt_mean_s=0.1, rtt_min_s=0.05, segments_lost=1,
        connections=1, connections_given_up=0, congestion="reno")
def link(name):
    return late | dict(name=name, utilization=1.0, drops_queue=1, drops_early=0, drops_policer=0, drops_impairment=0,
        marks=0, packets=10, backlog_mean_packets=2.5, backlog_max_packets=5, wait_mean_s=None, wait_p50_s=None,
        wait_p95_s=None, wait_p99_s=None, wait_max_s=None, wait_l_mean_s=None, wait_l_p99_s=None,
        wait_c_mean_s=None, wait_c_p99_s=None, duplicates=0)
scenario = request["scenario"]
print(json.dumps(dict(
    summary=dict(testbed=late),
    flows=[flow(one["name"], place) for place, one in enumerate(scenario["flows"])],
    links=[link(one["name"]) for one in scenario["links"]],
    traces=[],
)))
"""


@pytest.fixture
def binary(tmp_path, monkeypatch):
    """Puts a program in the place of the testbed; returns the file of the runs it was asked for."""

    def put(before="", disturbed="False"):
        counter = tmp_path / "asked"
        path = tmp_path / "dumbbell-testbed"
        body = BODY.format(counter=str(counter), before=before, disturbed=disturbed)
        path.write_text(f"#!{sys.executable}\n{body}", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv(testbed.VARIABLE, str(path))
        # The identity of the testbed is that of its file, which tests change.
        monkeypatch.setattr(testbed, "identity", lambda: "6.18.0-0123")
        return counter

    return put


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """The paper on CODE with a record in a folder of the test."""
    paper = papers.load("code-tcp", CHECKOUT)
    record = tmp_path / "testbed.json"
    monkeypatch.setattr(paper, "real_time", replace(paper.real_time, record=record))
    return paper, record


def quick(paper, tmp_path, **settings):
    return papers.reproduce_on_testbed(
        paper.name, papers=CHECKOUT, output=tmp_path / "out", quiet=True, quick=True, **settings
    )


def asked(counter):
    return len(counter.read_text(encoding="utf-8").splitlines())


def test_runs_in_real_time_give_verdicts_and_are_made_once(binary, recorded, tmp_path):
    paper, _ = recorded
    counter = binary()
    done = quick(paper, tmp_path)
    planned = len(paper.real_time.plan(papers.Settings(quick=True)))
    assert asked(counter) == planned
    assert {finding.claim.id for finding in done.findings} == set(paper.real_time.claims)
    assert "awaits-testbed" not in {finding.verdict for finding in done.findings}
    assert all(
        "Linux 6.18.0, 2 runs of each configuration, quick mode" in finding.why for finding in done.findings
    )
    assert done.report == tmp_path / "out" / "code-tcp" / "testbed" / "report.html"
    assert done.data["testbed"] == {
        "runs": planned, "kernels": ["6.18.0"], "build": "0123", "fifo": True, "repeats": 0, "recorded": None,
        "quick": True,
    }  # fmt: skip
    again = quick(paper, tmp_path)
    assert asked(counter) == planned
    assert [finding.measured for finding in again.findings] == [finding.measured for finding in done.findings]


def test_a_reproduction_without_the_testbed_finds_the_stored_runs(binary, recorded, tmp_path):
    paper, _ = recorded
    assert real_time.measured_of(paper, tmp_path / "out") is None
    binary()
    quick(paper, tmp_path)
    found = real_time.measured_of(paper, tmp_path / "out")
    assert found is not None
    assert found.quick
    assert (found.kernels, found.recorded) == (["6.18.0"], "")
    # The first flow has half of the second one's goodput, and the kernel's runs have the columns of the simulator's.
    code = found.results[found.results["key"] == "linux/fig19/code/10"]
    assert [goodputs[0] / goodputs[1] for goodputs in code["goodput"]] == pytest.approx([1 / 2, 1.01 / 2.01])
    assert set(paper.columns) < set(found.results.columns)


def test_disturbed_runs_are_not_stored_and_the_command_says_so(binary, recorded, tmp_path, capsys):
    paper, _ = recorded
    counter = binary(
        disturbed='scenario["name"] == "fig-19 code 10"'.replace("scenario", 'request["scenario"]')
    )
    done = quick(paper, tmp_path)
    shown = " ".join(capsys.readouterr().err.split())
    # Both runs with delayed acknowledgements and both without.
    assert "4 runs remain disturbed and are left out: the same command repeats them" in shown
    verdicts = {finding.claim.id: finding.verdict for finding in done.findings}
    assert verdicts["C-F19c-1"] == "awaits-testbed"
    assert verdicts["C-F19a-1"] != "awaits-testbed"
    # Too few of one configuration are not evaluated by a reproduction without the testbed.
    assert real_time.measured_of(paper, tmp_path / "out") is None
    before = asked(counter)
    binary()
    quick(paper, tmp_path)
    assert asked(counter) == before + 4


def test_a_record_gives_the_same_verdicts_without_a_testbed(binary, recorded, tmp_path):
    paper, record = recorded
    binary()
    measured, missing = real_time.fill(
        paper, papers.Settings(runs=2), tmp_path / "out", papers.reproduction.Display(sys.stderr, quiet=True)
    )
    assert missing == 0
    plan = paper.real_time.plan(papers.Settings())
    real_time.write_record(paper.real_time, paper, measured, plan)
    found = real_time.measured_of(paper, tmp_path / "elsewhere")
    assert found.recorded
    assert found.origin().startswith(f"recorded on {found.recorded} with Linux 6.18.0, 2 runs")
    # A store comes before the record.
    assert real_time.measured_of(paper, tmp_path / "out").recorded == ""
    kept = json.loads(record.read_text(encoding="utf-8"))
    assert not any("verdict" in row for row in kept["runs"])
    judged = [
        [
            (finding.claim.id, finding.verdict, finding.measured)
            for finding in papers.claimed.judge(
                [
                    claim
                    for claim in paper.claims()
                    if claim.id in paper.real_time.claims and claim.id != "C-F19-4"
                ],
                paper.evidence(papers.Settings(), each.results, {real_time.MEASURED: each}),
            )
        ]
        for each in (measured, found)
    ]
    assert [(name, verdict) for name, verdict, _ in judged[0]] == [
        (name, verdict) for name, verdict, _ in judged[1]
    ]
    assert [value for *_, value in judged[0]] == pytest.approx([value for *_, value in judged[1]], rel=1e-5)


def test_a_record_of_other_scenarios_does_not_count(binary, recorded, tmp_path):
    paper, record = recorded
    binary()
    measured, _ = real_time.fill(
        paper, papers.Settings(runs=2), tmp_path / "out", papers.reproduction.Display(sys.stderr, quiet=True)
    )
    real_time.write_record(paper.real_time, paper, measured, paper.real_time.plan(papers.Settings()))
    kept = json.loads(record.read_text(encoding="utf-8"))
    for row in kept["runs"]:
        if row["key"] == "linux/fig19/code/10":
            row["stated"] = "0" * 16
    record.write_text(json.dumps(kept), encoding="utf-8")
    assert real_time.measured_of(paper, tmp_path / "elsewhere") is None
    record.write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="is no record of runs in real time"):
        real_time.measured_of(paper, tmp_path / "elsewhere")


@pytest.mark.parametrize("name", ["code-tcp", "westwood-plus", "rovegas"])
def test_a_record_of_the_checkout_is_of_the_plan(name):
    paper = papers.load(name, CHECKOUT)
    if not paper.real_time.record.is_file():
        pytest.skip(f"{name} has no record")
    found = real_time.measured_of(paper, Path("nowhere"))
    assert found is not None
    assert not found.quick


@pytest.mark.parametrize("name", ["code-tcp", "westwood-plus", "rovegas"])
def test_quick_plans_take_at_most_two_minutes(name):
    plan = papers.load(name, CHECKOUT).real_time
    stages = {stage.name: stage for stage in plan.stages(papers.Settings(quick=True))}
    counts = {}
    for run in plan.plan(papers.Settings(quick=True)):
        counts[run.stage] = counts.get(run.stage, 0) + 1
    two_cores = sum(
        -(-count // stages[stage].at_once) * stages[stage].seconds for stage, count in counts.items()
    )
    assert two_cores <= 120


def refused(*args):
    return command_line.refused("reproduce", *args, "--papers", CHECKOUT)


def test_options_without_effect_are_refused():
    for options, named in (
        (["--record"], "--record"),
        (["--testbed", "--seeds", "2"], "--seeds"),
        (["--testbed", "--experiment", "x"], "--experiment"),
        (["--testbed", "--scheduler", "tcp://x"], "--scheduler"),
        (["--testbed", "--quick", "--record"], "record"),
    ):
        assert named in refused("code-tcp", *options)
    assert "is not one paper" in refused("all", "--testbed")


def test_a_paper_without_a_real_time_plan_is_refused():
    line = refused("altman", "--testbed")
    assert "has no real-time plan" in line
    assert "code-tcp, rovegas, westwood-plus" in line
    with pytest.raises(ScenarioError, match="has no real-time plan"):
        papers.reproduce_on_testbed("vegas-revisited", papers=CHECKOUT, quiet=True)


def test_a_machine_without_root_is_told_in_one_sentence(binary, tmp_path):
    binary(before='sys.exit(print("the testbed needs root", file=sys.stderr) or 3)')
    result = CliRunner().invoke(
        app,
        [
            "reproduce",
            "code-tcp",
            "--testbed",
            "--quick",
            "--output",
            str(tmp_path),
            "--papers",
            str(CHECKOUT),
        ],
    )
    assert result.exit_code == 3
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert errors == ["error: the testbed needs root"]
    assert "Traceback" not in result.output


def test_a_paper_that_is_no_claimed_paper_has_no_real_time_plan(tmp_path):
    write_paper(tmp_path / "papers", "small-paper", SMALL)
    try:
        with pytest.raises(ScenarioError, match="none; no paper has one"):
            papers.reproduce_on_testbed("small-paper", papers=tmp_path / "papers", quiet=True)
    finally:
        forget_papers()
