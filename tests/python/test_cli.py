"""The command line as seen by a user."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pyarrow.parquet
import pytest
import tomli_w

import dumbbell
from bad_input import CASES, spoilt
from command_line import invoke, refused
from dumbbell import Scenario
from dumbbell.cli.commands import COMMANDS, Commands
from dumbbell.cli.refusals import guarded

FLOW_KEYS = [
    "name",
    "goodput_bps",
    "throughput_bps",
    "bytes_delivered",
    "segments_sent",
    "segments_retransmitted",
    "bytes_retransmitted",
    "timeouts",
    "fast_retransmits",
    "completion_s",
    "rtt_mean_s",
    "rtt_min_s",
]
LINK_KEYS = [
    "name",
    "utilization",
    "drops",
    "marks",
    "backlog_mean_packets",
    "backlog_max_packets",
    "wait_mean_s",
    "wait_p50_s",
    "wait_p95_s",
    "wait_p99_s",
    "wait_max_s",
]


def start(*args, **options):
    """Start the command line in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "dumbbell.cli", *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


# run


def test_run_prints_a_table_of_flows_and_one_of_links(file):
    result = invoke("run", file)
    assert result.exit_code == 0, result.output
    for word in ("two hosts", "fingerprint", "goodput", "fg", "utilization", "r1-r2", "h2-r2"):
        assert word in result.stdout
    rows = [line for line in result.stdout.splitlines() if re.match(r"^ ?(fg|r1-r2) ", line)]
    assert len(rows) == 2
    assert not any("…" in line for line in result.stdout.splitlines())


def test_run_prints_one_json_object(file):
    result = invoke("run", file, "--json", "--seed", 5, "--run", 2)
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert {"scenario", "seed", "run", "fingerprint", "simulated_s", "events", "flows", "links"} <= set(
        summary
    )
    assert (summary["seed"], summary["run"], summary["simulated_s"]) == (5, 2, 5.0)
    assert set(FLOW_KEYS) <= set(summary["flows"][0])
    assert set(LINK_KEYS) <= set(summary["links"][0])
    assert set(summary["links"][0]["drops"]) >= {"queue", "impairment"}
    assert summary["fingerprint"] == dumbbell.run(Scenario.from_toml(file), seed=5, run=2).fingerprint


def test_the_default_seed_and_run_are_stated(file):
    summary = json.loads(invoke("run", file, "--json").stdout)
    assert (summary["seed"], summary["run"]) == (1, 0)


def test_a_json_file_is_a_scenario_too(tmp_path, file, two_hosts):
    path = tmp_path / "two-hosts.json"
    path.write_text(two_hosts.to_json(), encoding="utf-8")
    first, second = (json.loads(invoke("run", name, "--json").stdout) for name in (file, path))
    assert first == second


def test_traces_are_written_as_parquet_and_pictures(tmp_path, file, two_hosts):
    directory = tmp_path / "new" / "traces"
    result = invoke("run", file, "--trace", directory)
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in directory.iterdir()) == [
        "backlog.parquet",
        "backlog.png",
        "cwnd.parquet",
        "cwnd.png",
    ]
    table = pyarrow.parquet.read_table(directory / "cwnd.parquet")
    assert table.equals(dumbbell.run(two_hosts).arrow_traces["cwnd"])
    assert (directory / "cwnd.png").read_bytes().startswith(b"\x89PNG")
    assert "cwnd.parquet" in result.stderr


@pytest.mark.parametrize("name", ["x_{$ of $", "$a$", r"\\$\\frac$", "$"])
def test_names_are_drawn_as_they_are_and_not_as_formulas(tmp_path, two_hosts, name):
    path = tmp_path / "names.toml"
    flow = {"flows.fg.name": name, "probes.0.flows": [name]}
    link = {"links.r1-r2.name": f"{name} and", "probes.1.links": [f"{name} and"]}
    path.write_text(two_hosts.with_values({"name": name, **flow, **link}).to_toml(), encoding="utf-8")
    result = invoke("run", path, "--trace", tmp_path / "traces")
    assert result.exit_code == 0, result.output
    assert {picture.name for picture in (tmp_path / "traces").glob("*.png")} == {"cwnd.png", "backlog.png"}


def test_json_is_the_only_standard_output_with_traces(tmp_path, file):
    result = invoke("run", file, "--json", "--trace", tmp_path / "traces")
    assert json.loads(result.stdout)["simulated_s"] == 5.0


def test_a_trace_without_probes_is_reported(tmp_path, two_hosts):
    path = tmp_path / "silent.toml"
    path.write_text(two_hosts.with_values({"probes": None}).to_toml(), encoding="utf-8")
    result = invoke("run", path, "--trace", tmp_path / "traces")
    assert result.exit_code == 0
    assert "no probes" in result.stderr


def test_the_examples_run(examples):
    for path in examples:
        result = invoke("run", path, "--json")
        assert result.exit_code == 0, (path, result.output)
        assert all(flow["bytes_delivered"] > 0 for flow in json.loads(result.stdout)["flows"])


def test_the_ten_line_example_runs():
    path = Path(__file__).resolve().parents[2] / "examples" / "ten_lines.py"
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "vegas" in done.stdout
    assert "reno" in done.stdout


# Bad input


@pytest.mark.parametrize("bad", CASES, ids=[bad.what for bad in CASES])
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, two_hosts_data, bad):
    path = tmp_path / "bad.toml"
    path.write_text(tomli_w.dumps(spoilt(two_hosts_data, bad)), encoding="utf-8")
    line = refused("run", path)
    assert str(path) in line
    assert bad.expected_field in line
    assert "expected" in line
    if bad.suggestion is not None:
        assert bad.suggestion in line


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.toml", b""),
        ("broken.toml", b"name = \n"),
        ("broken.json", b'{"name": '),
        ("list.json", b"[1, 2]"),
        ("table.csv", b"a,b\n1,2\n"),
        ("binary.toml", bytes(range(256))),
        ("deep.json", b"[" * 100_000),
        ("deep.toml", b"a = " + b"[" * 100_000),
        ("latin.toml", 'name = "\xe9"'.encode("latin-1")),
    ],
)
def test_files_that_are_not_scenarios_are_refused(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    line = refused("run", path)
    assert str(path) in line
    assert "expected" in line


def test_a_missing_file_is_refused(tmp_path):
    assert "no such file" in refused("run", tmp_path / "none.toml")


def test_a_directory_is_refused(tmp_path):
    assert "is a directory" in refused("run", tmp_path)


def test_a_device_is_refused():
    if not Path("/dev/zero").exists():
        pytest.skip("there is no /dev/zero here")
    assert "is a device; accepted: a file, or a pipe with a writer" in refused("run", "/dev/zero")


def test_a_trace_directory_that_is_a_file_is_refused_before_the_run(tmp_path, file):
    other = tmp_path / "file"
    other.write_text("x", encoding="utf-8")
    assert "is not a folder; accepted: a folder for results" in refused("run", file, "--trace", other)


@pytest.mark.parametrize(
    "args",
    [
        ["run"],
        ["run", "FILE", "--seed", "-1"],
        ["run", "FILE", "--seed", "one"],
        ["run", "FILE", "--run", str(2**64)],
        ["run", "FILE", "--sed", "1"],
        ["run", "FILE", "more"],
        ["runn"],
        ["reproduce"],
        ["reproduce", "vegas-revisited", "--runs", "many"],
    ],
)
def test_wrong_usage_is_exit_code_2_without_a_traceback(file, args):
    result = invoke(*[str(file) if argument == "FILE" else argument for argument in args])
    assert result.exit_code == 2
    assert "Error: " in result.stderr
    assert "Traceback" not in result.output


def test_warnings_of_runs_are_lines_on_standard_error(capsys):
    @guarded
    def command():
        warnings.warn("a flow never starts", dumbbell.ScenarioWarning, stacklevel=1)
        warnings.warn("runs are equal", dumbbell.IdenticalRunsWarning, stacklevel=1)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        command()
    assert capsys.readouterr().err == "warning: a flow never starts\nwarning: runs are equal\n"


# list, schema, version, reproduce


def test_list_takes_a_screen():
    assert invoke("list").stdout.count("\n") <= 40


@pytest.mark.registry
def test_list_shows_the_names_of_every_kind():
    result = invoke("list")
    assert result.exit_code == 0
    for kind, entries in dumbbell.catalogue().items():
        assert f"\n{kind} " in f"\n{result.stdout}"
        for entry in entries:
            assert (entry if isinstance(entry, str) else entry["name"]) in result.stdout


@pytest.mark.registry
@pytest.mark.parametrize("kind", dumbbell.catalogue())
def test_list_shows_a_kind_with_parameters_defaults_and_units(kind):
    result = invoke("list", kind)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{kind}\n")
    for entry in dumbbell.catalogue()[kind]:
        assert (entry if isinstance(entry, str) else entry["name"]) in result.stdout


def test_list_shows_one_kind():
    result = invoke("list", "queues")
    assert result.exit_code == 0
    assert "droptail" in result.stdout
    assert "vegas" not in result.stdout
    assert json.loads(invoke("list", "queues", "--json").stdout) == {"queues": dumbbell.catalogue()["queues"]}


def test_list_shows_what_has_a_name():
    """Reno is an algorithm and a recovery."""
    result = invoke("list", "reno")
    assert result.exit_code == 0
    assert "algorithms\n" in result.stdout
    assert "recoveries\n" in result.stdout
    assert "queues" not in result.stdout
    found = json.loads(invoke("list", "cubic", "--json").stdout)
    assert list(found) == ["algorithms", "variants"]
    assert [entry["name"] for entry in found["algorithms"]] == ["cubic"]


def test_a_misspelt_kind_or_name_is_refused_with_a_near_miss():
    for written, meant in (("algoritms", "algorithms"), ("cubik", "cubic")):
        assert f"did you mean `{meant}`" in refused("list", written)


def test_schema_prints_the_json_schema():
    assert json.loads(invoke("schema").stdout) == dumbbell.schema()


def test_version_is_the_packages():
    assert invoke("version").stdout == f"dumbbell {dumbbell.__version__}\n"


def test_an_unknown_paper_is_refused(tmp_path):
    line = refused("reproduce", "vegas-revisted", "--output", tmp_path)
    assert "vegas-revisted" in line


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_in_the_list_is_one_and_its_summary_is_not_cut(name):
    listed = invoke("--help").stdout.partition("Commands:")[2]
    assert f"{name} " in listed
    assert "..." not in listed
    assert Commands(name="dumbbell").get_command(None, name).name == name


def test_the_list_of_commands_loads_none():
    code = (
        "import sys; from typer.testing import CliRunner; from dumbbell.cli import app; "
        "print(CliRunner().invoke(app, ['--help']).exit_code, 'dumbbell.cli.simulate' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.split() == ["0", "False"]


def test_no_command_shows_the_help():
    result = invoke()
    for command in ("run", "list", "schema", "version", "reproduce"):
        assert command in result.output
    assert "Traceback" not in result.output


# A process of its own


def opened_pipe(path):
    """Open a named pipe for writing as soon as it has a reader."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return os.fdopen(os.open(path, os.O_WRONLY | os.O_NONBLOCK), "wb")
        except OSError:
            assert time.monotonic() < deadline, "the scenario was not read"
            time.sleep(0.05)


def test_an_interrupt_is_exit_code_2_without_a_traceback(tmp_path, two_hosts):
    path = tmp_path / "long.toml"
    os.mkfifo(path)
    process = start("run", path)
    try:
        # The process runs once it opens the pipe; the time until then is unknown on a busy machine.
        with opened_pipe(path) as pipe:
            pipe.write(two_hosts.with_values({"duration": "10000000 s", "probes": []}).to_toml().encode())
        time.sleep(2)
        assert process.poll() is None, "the run was over before it could be interrupted"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 2, err
    assert out == ""
    assert "interrupted" in err
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1


def test_a_closed_output_pipe_is_not_an_error(file):
    with start("schema") as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=20) == 0


def test_the_script_is_installed():
    script = Path(sys.executable).parent / "dumbbell"
    done = subprocess.run([script, "version"], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == f"dumbbell {dumbbell.__version__}\n"


def test_a_terminal_narrower_than_the_table_loses_no_digit(file):
    environment = {**os.environ, "COLUMNS": "60", "FORCE_COLOR": "1", "TERM": "xterm"}
    process = start("run", file, env=environment)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out)
    row = dumbbell.run(Scenario.from_toml(file)).flow("fg")
    for text in (f"{row.goodput_bps / 1e3:.1f}", str(row.segments_sent), f"{row.rtt_mean_s * 1e3:.2f}"):
        assert re.search(rf"(?m) {re.escape(text)}\s*$", plain), plain
    assert max(len(line) for line in plain.splitlines()[1:]) <= 60
