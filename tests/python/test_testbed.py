"""Runs in real time, seen from Python: with a program in the place of the binary, so without root."""

from __future__ import annotations

import json
import os
import stat
import sys
from dataclasses import replace
from functools import partial

import pyarrow.parquet
import pytest

import command_line
import dumbbell
from dumbbell import testbed
from dumbbell.errors import MachineError, RealTimeError, ScenarioError

TESTBED = {
    "late_p50_us": 30.0,
    "late_p99_us": 70.0,
    "late_max_us": 400.0,
    "late_over_1ms": 0.0,
    "disturbed": False,
    "write_errors": 0,
    "checksum_errors": 0,
    "refused": 0,
    "kernel": "6.18.0",
    "fifo": True,
}

FLOW = {
    "name": "fg",
    "goodput_bps": 1.5e6,
    "throughput_bps": 1.6e6,
    "bytes_delivered": 1000,
    "segments_sent": 10,
    "segments_retransmitted": 1,
    "bytes_retransmitted": 100,
    "timeouts": 0,
    "fast_retransmits": 1,
    "completion_s": None,
    "start_s": 0.5,
    "rtt_mean_s": 0.1,
    "rtt_min_s": 0.05,
    "segments_lost": 1,
    "connections": 1,
    "connections_given_up": 0,
    "congestion": "reno",
}

LINK = {
    "name": "ab",
    "utilization": 1.0,
    "drops_queue": 1,
    "drops_early": 0,
    "drops_policer": 0,
    "drops_impairment": 0,
    "marks": 0,
    "packets": 10,
    "backlog_mean_packets": 2.5,
    "backlog_max_packets": 5,
    "wait_mean_s": None,
    "wait_p50_s": None,
    "wait_p95_s": None,
    "wait_p99_s": None,
    "wait_max_s": None,
    "wait_l_mean_s": None,
    "wait_l_p99_s": None,
    "wait_c_mean_s": None,
    "wait_c_p99_s": None,
    "duplicates": 0,
}

TRACE = {"quantity": "cwnd", "name": "fg", "times": [0.0, 1.0], "values": [10.0, 11.0]}

ANSWER = {
    "summary": {"scenario": "two hosts", "flows": [], "links": [], "testbed": TESTBED},
    "flows": [{**TESTBED, **FLOW}],
    "links": [{**TESTBED, **LINK}],
    "traces": [TRACE],
}

CHECKS = [
    {"check": "kernel", "status": "ok", "detail": "Linux 6.18.0", "remedy": ""},
    {"check": "root", "status": "missing", "detail": "not run by root", "remedy": "run the command as root"},
]


@pytest.fixture
def binary(tmp_path, monkeypatch):
    """Puts a program in the place of the binary; its body sees `request` and `told`, a file."""

    def put(body):
        told = tmp_path / "told"
        path = tmp_path / "dumbbell-testbed"
        path.write_text(
            f"#!{sys.executable}\nimport json, sys\nfrom pathlib import Path\n"
            f"ANSWER, CHECKS = json.loads({json.dumps(ANSWER)!r}), {json.dumps(CHECKS)!r}\n"
            f"told = Path({str(told)!r})\n"
            'request = json.load(sys.stdin) if sys.argv[1] == "run" else None\n' + body,
            encoding="utf-8",
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv(testbed.VARIABLE, str(path))
        return told

    return put


invoke = partial(command_line.invoke, "testbed")


def fails(code, *args):
    return command_line.refused("testbed", *args, code=code, warned=True)


# The testbed has neither workloads nor percentiles of delays.
WORKLOAD_COLUMNS = {
    *(f"rtt_{what}_s" for what in ("p50", "p95", "p99", "max")),
    *(f"delay_{what}_s" for what in ("mean", "p50", "p95", "p99", "max")),
    *("transfers", "transfers_completed", "transfers_refused"),
    *(f"fct_{what}_s" for what in ("mean", "p50", "p95", "p99", "max")),
    *(f"slowdown_{what}" for what in ("mean", "p50", "p95", "p99")),
    *("bitrate_mean_bps", "bitrate_switches", "rebuffering_s", "startup_s"),
    *("messages", "messages_late", "messages_skipped"),
}

PRINT = "print(json.dumps(ANSWER))\n"


def test_a_run_has_the_tables_of_the_simulator_and_those_of_the_testbed(binary, two_hosts):
    told = binary("told.write_text(json.dumps(request))\n" + PRINT)
    result = testbed.run(two_hosts, seed=3, run=2, congestion={"*": "cubic"})
    request = json.loads(told.read_text("utf-8"))
    assert request["scenario"] == json.loads(two_hosts.canonical_json)
    assert (request["seed"], request["run"], request["congestion"]) == (3, 2, {"*": "cubic"})
    simulated = dumbbell.run(two_hosts)
    own = set(testbed.TESTBED_COLUMNS) | {"congestion"}
    no_meaning = {"job", "fingerprint", "simulated_s", "events", "receive_window_limited", *WORKLOAD_COLUMNS}
    assert set(result.flows.columns) - own == (set(simulated.flows.columns) - no_meaning) | {"seed", "run"}
    assert set(result.links.columns) - own == set(simulated.links.columns) - {"job"} | {"seed", "run"}
    assert result.flow("fg").goodput_bps == 1.5e6
    assert result.link("ab").late_p99_us == 70.0
    assert list(result.traces["cwnd"].value) == [10.0, 11.0]
    assert (result.disturbed, result.repeats) == (False, 0)
    assert repr(result) == "RealTimeRun('two hosts', seed=3, run=2, undisturbed)"


def test_a_disturbed_run_is_repeated_twice_and_counted(binary, two_hosts):
    told = binary(
        "count = len(told.read_text()) if told.exists() else 0\n"
        'told.write_text("x" * (count + 1))\n'
        'ANSWER["summary"]["testbed"]["disturbed"] = count < LIMIT\n'.replace("LIMIT", "1")
        + PRINT
    )
    result = testbed.run(two_hosts)
    assert (result.disturbed, result.repeats, list(result.flows.repeats)) == (False, 1, [1])
    binary(
        'told.write_text(told.read_text() + "x")\nANSWER["summary"]["testbed"]["disturbed"] = True\n' + PRINT
    )
    told.write_text("")
    result = testbed.run(two_hosts)
    assert (result.disturbed, result.repeats, told.read_text()) == (True, 2, "xxx")


def test_the_reason_of_the_binary_becomes_an_exception(binary, two_hosts):
    for code, kind in ((2, ScenarioError), (3, MachineError), (1, RealTimeError)):
        binary(f'sys.exit(print("the reason", file=sys.stderr) or {code})\n')
        with pytest.raises(kind, match="the reason"):
            testbed.run(two_hosts)
    binary('print("{}")\n')
    with pytest.raises(RealTimeError, match="build it again"):
        testbed.run(two_hosts)


def test_many_runs_keep_their_order_and_tell_their_progress(binary, two_hosts):
    binary('ANSWER["flows"][0]["goodput_bps"] = float(request["run"])\n' + PRINT)
    shown = []
    jobs = [dumbbell.Job(two_hosts, 1, number) for number in range(4)]
    runs = testbed.run_many(jobs, at_once=2, progress=lambda done, total: shown.append((done, total)))
    assert [run.flow("fg").goodput_bps for run in runs] == [0, 1, 2, 3]
    seconds = testbed.duration_s(two_hosts)
    assert shown[-1] == (4 * seconds, 4 * seconds)
    flows, _, traces = testbed.tables(runs)
    assert flows["run"].to_pylist() == [0, 1, 2, 3]
    assert traces["cwnd"].column_names == ["seed", "run", "time_s", "name", "value"]


def test_the_command_prints_tables_or_one_object(binary, file):
    binary(PRINT)
    result = invoke("run", file)
    assert result.exit_code == 0, result.output
    assert "Linux 6.18.0, real-time priority, 99 % of packets at most 70 us late" in result.stdout
    assert "reno" in result.stdout
    assert json.loads(invoke("run", file, "--json").stdout)["testbed"]["repeats"] == 0
    many = json.loads(invoke("run", file, "--json", "--runs", "2").stdout)
    assert len(many["runs"]) == 2


def test_a_run_that_remains_disturbed_is_told(binary, file):
    binary('ANSWER["summary"]["testbed"]["disturbed"] = True\n' + PRINT)
    result = invoke("run", file, "--json")
    assert "note: 2 disturbed runs repeated" in result.stderr
    assert "warning: 1 of 1 runs remain disturbed" in result.stderr


def test_results_are_written_as_parquet(binary, file, tmp_path):
    binary(PRINT)
    folder = tmp_path / "out"
    result = invoke("run", file, "--runs", "2", "--output", folder)
    assert "wrote 3 files" in result.stderr, result.output
    assert sorted(path.name for path in folder.glob("*.parquet")) == [
        "cwnd.parquet",
        "flows.parquet",
        "links.parquet",
    ]
    assert pyarrow.parquet.read_table(folder / "flows.parquet")["run"].to_pylist() == [0, 1]


def test_completed_runs_are_reused_and_disturbed_ones_repeated(binary, file, tmp_path):
    told = binary(
        'told.open("a").write(str(request["run"]))\n'
        'ANSWER["summary"]["testbed"]["disturbed"] = request["run"] == 1\n'
        'ANSWER["flows"][0]["goodput_bps"] = float(request["run"])\n' + PRINT
    )
    command = ("run", file, "--runs", "3", "--json", "--output", tmp_path / "out")
    first = invoke(*command)
    assert first.exit_code == 0, first.output
    # Run 1 is repeated twice; the order of runs is free.
    assert sorted(told.read_text()) == sorted("01112")
    second = invoke(*command)
    assert "2 of 3 runs reused" in second.stderr
    assert told.read_text()[5:] == "111"
    assert json.loads(second.stdout) == json.loads(first.stdout)
    flows = pyarrow.parquet.read_table(tmp_path / "out" / "flows.parquet")
    assert flows["goodput_bps"].to_pylist() == [0, 1, 2]
    invoke(*command, "--fresh")
    assert sorted(told.read_text()[8:]) == sorted("01112")
    # Other controls have other results.
    invoke(*command, "--congestion", "cubic")
    assert len(told.read_text()) == 18


def test_a_run_is_the_same_after_it_was_stored(binary, two_hosts):
    binary(PRINT)
    result = testbed.run(two_hosts)
    again = testbed.RealTimeRun.of_json(dumbbell.Job(two_hosts), result.to_json())
    assert again.arrow_flows == result.arrow_flows
    assert again.arrow_links == result.arrow_links
    assert again.arrow_traces == result.arrow_traces
    assert again.summary == result.summary


def test_refusals_are_one_line_with_their_exit_code(binary, file, tmp_path):
    binary('sys.exit(print("flows.fg.tcp.recovery: no", file=sys.stderr) or 2)\n')
    assert fails(2, "run", file).endswith("two-hosts.toml: flows.fg.tcp.recovery: no")
    binary(
        'sys.exit(print("the testbed cannot run: root: not run by root; use sudo", file=sys.stderr) or 3)\n'
    )
    assert fails(3, "run", file) == "error: the testbed cannot run: root: not run by root; use sudo"
    binary('sys.exit(print("a panic", file=sys.stderr) or 101)\n')
    assert fails(1, "run", file) == "error: the testbed failed: a panic"
    assert "expected NAME or FLOW=NAME" in fails(2, "run", file, "--congestion", "fg=")
    assert "--runs is 0" in fails(2, "run", file, "--runs", "0")
    assert "no such file" in fails(2, "run", tmp_path / "nothing.toml")


def test_a_missing_binary_is_one_sentence_and_exit_code_3(monkeypatch, file, tmp_path):
    monkeypatch.setenv(testbed.VARIABLE, str(tmp_path / "nothing"))
    assert "which is no program" in fails(3, "run", file)
    monkeypatch.delenv(testbed.VARIABLE)
    monkeypatch.setattr("dumbbell.binary.PACKAGE", "nonesuch-crate")
    monkeypatch.setattr(testbed, "BINARY", replace(testbed.BINARY, name="nonesuch-testbed"))
    if sys.platform == "linux":
        assert (
            "nonesuch-testbed is not installed: the wheels for Linux on x86-64 have it; or build it in a checkout"
            in fails(3, "run", file)
        )
    monkeypatch.setattr(sys, "platform", "darwin")
    assert fails(3, "run", file) == "error: the testbed cannot run: it needs Linux"


def test_doctor_shows_what_is_missing_and_how_to_get_it(binary):
    binary("print(CHECKS)\nsys.exit(3)\n")
    result = invoke("doctor")
    assert result.exit_code == 3
    assert "run the command as root" in result.stdout
    listed = json.loads(invoke("doctor", "--json").stdout)
    assert [check["status"] for check in listed] == ["ok", "ok", "missing"]
    binary('print("[]")\n')
    assert invoke("doctor").exit_code == 0


def test_doctor_without_a_binary_says_how_to_build_it(monkeypatch, tmp_path):
    monkeypatch.setenv(testbed.VARIABLE, str(tmp_path))
    result = invoke("doctor", "--json")
    assert result.exit_code == 3
    (check,) = json.loads(result.stdout)
    assert "cargo build --release" in check["remedy"]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_failing_run_ends_the_others(binary, two_hosts):
    binary(
        "import time\n"
        'sys.exit(print("the reason", file=sys.stderr) or 1) if request["run"] == 0 else time.sleep(60)\n'
    )
    jobs = [dumbbell.Job(two_hosts, 1, number) for number in range(2)]
    with pytest.raises(RealTimeError, match="the reason"):
        testbed.run_many(jobs, at_once=2)


def test_the_load_of_a_run_is_that_of_the_slowest_links(two_hosts, two_hosts_data):
    assert testbed.load_bps(two_hosts) == 1.6e6
    # Two connections share the link; datagrams in the other direction count at their own rate, or at that of the link.
    (flow,) = two_hosts_data["flows"]
    source = {"kind": "cbr", "rate": "1 Mbit/s", "packet": "1000 bytes"}
    datagrams = {"from": "h2", "to": "h1", "source": source}
    two_hosts_data["flows"] += [{**flow, "name": "g"}, {"name": "u", **datagrams}]
    assert testbed.load_bps(dumbbell.Scenario.from_dict(two_hosts_data)) == 2.6e6
    two_hosts_data["flows"].append({"name": "v", **datagrams})
    two_hosts_data["links"][1]["changes"] = [{"at": "1 s", "rate": "3 Mbit/s"}]
    assert testbed.load_bps(dumbbell.Scenario.from_dict(two_hosts_data)) == 4.6e6


def test_runs_side_by_side_stay_within_the_budget(binary, two_hosts):
    told = binary(
        'import time\ntold.open("a").write("+")\ntime.sleep(1)\ntold.open("a").write("-")\n' + PRINT
    )
    jobs = [dumbbell.Job(two_hosts, 1, number) for number in range(5)]

    def most_at_once(budget_bps):
        told.write_text("")
        testbed.run_many(jobs, at_once=4, budget_bps=budget_bps)
        steps = [1 if step == "+" else -1 for step in told.read_text()]
        assert len(steps) == 10
        return max(sum(steps[:end]) for end in range(len(steps)))

    assert most_at_once(3.5e6) == 2
    assert most_at_once(testbed.BUDGET_BPS) > 2
    with pytest.raises(
        ScenarioError, match=r"carry up to 1.6 Mbit/s; accepted in real time: at most 1 Mbit/s"
    ):
        testbed.run_many(jobs, budget_bps=1e6)


def test_the_command_says_that_runs_wait_for_the_budget(binary, file):
    binary(PRINT)
    result = invoke("run", file, "--runs", "3", "--at-once", "3", "--budget", "4")
    assert result.exit_code == 0, result.output
    assert (
        "note: 2 of 3 runs side by side: each carries up to 1.6 Mbit/s, and the budget is 4 Mbit/s"
        in result.stderr
    )
    assert "accepted in real time: at most 1 Mbit/s" in fails(2, "run", file, "--budget", "1")
    assert "--budget is 0" in fails(2, "run", file, "--budget", "0")


def test_packets_of_each_run_have_a_file(binary, file, tmp_path):
    """The binary writes to a descriptor, which the room of all outputs has opened."""
    binary('if request["pcap"]: Path(request["pcap"]).write_text(f"run {request[\'run\']}")\n' + PRINT)
    for arguments in (["packets"], ["many/packets", "--runs", "2"]):
        result = invoke("run", file, "--pcap", tmp_path / f"{arguments[0]}.pcapng", *arguments[1:])
        assert result.exit_code == 0, result.output
    found = {
        path.relative_to(tmp_path).as_posix(): path.read_text("utf-8") for path in tmp_path.rglob("*.pcapng")
    }
    assert found == {
        "packets.pcapng": "run 0",
        "many/packets-0.pcapng": "run 0",
        "many/packets-1.pcapng": "run 1",
    }
    assert invoke("run", file).exit_code == 0
    assert "--pcap: completed runs" in fails(2, "run", file, "--pcap", "a", "--output", tmp_path / "out")
