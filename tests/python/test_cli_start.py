"""``dumbbell init``, ``validate``, standard input, CSV, completion and ``--version``."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import tomllib

import jsonschema
import pytest

import dumbbell
from command_line import invoke
from dumbbell import Scenario
from dumbbell.cli.start import SCHEMA_FILE


def test_init_writes_a_valid_scenario_and_the_schema_that_it_names(tmp_path):
    file = tmp_path / "new" / "mine.toml"
    assert invoke("init", file).exit_code == 0
    scenario = Scenario.from_file(file)
    assert scenario.warnings == ()
    assert [flow.name for flow in scenario.flows] == ["cubic", "reno"]
    text = file.read_text(encoding="utf-8")
    assert text.startswith(f"#:schema ./{SCHEMA_FILE}\n")
    schema = json.loads(file.with_name(SCHEMA_FILE).read_text(encoding="utf-8"))
    assert schema == dumbbell.schema()
    jsonschema.validate(tomllib.loads(text), schema)
    run = dumbbell.run(scenario)
    assert run.flows.goodput_bps.sum() > 9e6


def test_init_keeps_what_exists(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("# mine", encoding="utf-8")
    result = invoke("init", file)
    assert result.exit_code == 2
    assert "exists" in result.stderr
    assert file.read_text(encoding="utf-8") == "# mine"
    assert invoke("init", tmp_path / "mine.json").exit_code == 2


def test_the_schema_states_defaults():
    queue = json.dumps(dumbbell.schema())
    assert '"default": "5 ms"' in queue  # the target of CoDel, RFC 8289


def test_validate_says_of_each_file_whether_it_is_valid(tmp_path, file, two_hosts):
    bad = tmp_path / "bad.toml"
    bad.write_text(two_hosts.to_toml().replace('duration = "5 s"', 'duration = "5"'), encoding="utf-8")
    result = invoke("validate", file, bad, tmp_path / "none.toml")
    assert result.exit_code == 2
    assert result.stdout == f"{file}: valid, 1 flows, 6 links\n"
    errors = result.stderr.splitlines()
    assert len(errors) == 2
    assert errors[0].startswith(f"error: {bad}: duration: ")
    assert "no such file" in errors[1]
    judged = json.loads(invoke("validate", file, bad, "--json").stdout)
    assert [one["valid"] for one in judged] == [True, False]
    assert judged[0]["hash"] == two_hosts.hash


def test_limits_in_bdp_are_printed_in_packets(tmp_path, two_hosts):
    file = tmp_path / "bdp.toml"
    file.write_text(two_hosts.with_values({"links.r1-r2.queue.limit": "1 BDP"}).to_toml(), encoding="utf-8")
    (meaning,) = Scenario.from_toml(file).derived_limits
    assert meaning.startswith("r1-r2: 1 BDP = ")
    assert f"{file}: {meaning}\n" in invoke("validate", file).stdout
    assert json.loads(invoke("validate", file, "--json").stdout)[0]["derived_limits"] == [meaning]
    assert f"{meaning}\n" in invoke("run", file).stdout


def test_validate_lists_settings_without_effect(tmp_path, two_hosts):
    late = tmp_path / "late.toml"
    late.write_text(two_hosts.with_values({"flows.fg.start": "20 s"}).to_toml(), encoding="utf-8")
    result = invoke("validate", late)
    assert result.exit_code == 0
    assert result.stderr.startswith(f"warning: {late}: ")


@pytest.mark.parametrize("form", ["toml", "json"])
def test_a_dash_is_standard_input(two_hosts, form):
    text = two_hosts.to_toml() if form == "toml" else two_hosts.to_json()
    assert invoke("validate", "-", input=text).stdout == "standard input: valid, 1 flows, 6 links\n"
    summary = json.loads(invoke("run", "-", "--json", input=text).stdout)
    assert summary["fingerprint"] == dumbbell.run(two_hosts).fingerprint
    refused = invoke("run", "-", input="duration = 1")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("error: standard input: ")
    assert invoke("run", "-", "--watch", input=text).exit_code == 2


def test_csv_has_every_table_with_all_digits(tmp_path, file, two_hosts):
    folder = tmp_path / "tables"
    assert invoke("run", file, "--csv", folder).exit_code == 0
    assert {path.name for path in folder.iterdir()} == {"flows.csv", "links.csv", "cwnd.csv", "backlog.csv"}
    with (folder / "flows.csv").open(encoding="utf-8", newline="") as opened:
        (row,) = csv.DictReader(opened)
    run = dumbbell.run(two_hosts)
    assert float(row["goodput_bps"]) == run.flow("fg").goodput_bps
    assert row["name"] == "fg"
    assert row["completion_s"] == ""
    with (folder / "cwnd.csv").open(encoding="utf-8", newline="") as opened:
        assert sum(1 for _ in csv.DictReader(opened)) == len(run.traces["cwnd"])


def test_the_version_is_an_option_and_the_package_a_command():
    assert invoke("--version").stdout == f"dumbbell {dumbbell.__version__}\n"
    done = subprocess.run(
        [sys.executable, "-m", "dumbbell", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"dumbbell {dumbbell.__version__}\n"


def test_shells_complete_commands():
    done = subprocess.run(
        [sys.executable, "-m", "dumbbell"],
        env=os.environ
        | {"_DUMBBELL_COMPLETE": "complete_bash", "COMP_WORDS": "dumbbell val", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["validate"]


def test_a_text_is_read_as_a_file_is(two_hosts):
    for text in (two_hosts.to_toml(), two_hosts.to_json(), two_hosts.to_toml().encode()):
        assert Scenario.from_text(text) == two_hosts
    with pytest.raises(dumbbell.ScenarioError, match="are not text"):
        Scenario.from_text(b"\xff\xfe")
    with pytest.raises(dumbbell.ScenarioError):
        Scenario.from_text("duration = ", source="mine")


def test_set_changes_values_by_address(tmp_path, file, two_hosts):
    arguments = ["--set", "flows.fg.tcp=vegas", "--set", "links.*.delay=5 ms", "--set", 'duration="5 s"']
    changed = two_hosts.with_values({"flows.fg.tcp": "vegas", "links.*.delay": "5 ms", "duration": "5 s"})
    summary = json.loads(invoke("run", file, *arguments, "--json").stdout)
    assert summary["fingerprint"] == dumbbell.run(changed).fingerprint
    judged = json.loads(invoke("validate", file, *arguments, "--json").stdout)
    assert judged[0]["hash"] == changed.hash
    found = json.loads(invoke("why", file, *arguments, "--flow", "fg", "--at", "1s", "--json").stdout)
    assert found == dumbbell.run(changed).why("fg", at="1s").to_dict()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("flows.fg.sorce=cbr", "flows.fg.sorce: this field is not accepted.*did you mean `source`"),
        ("flow.fg.tcp=bbr", "flow: this field is not accepted.*did you mean `flows`"),
        ("links.r1-r3.rate=1 Mbit/s", 'links: "r1-r3" is not an item here.*did you mean `r1-r2`'),
        ("flows.fg.tcp=bbbr", 'flows.fg.tcp: "bbbr" is not accepted.*did you mean `bbr`'),
        ("flows.fg.tcp", '--set: "flows.fg.tcp" is not accepted; expected an address and a value'),
        ("=bbr", '--set: "=bbr" is not accepted'),
    ],
)
def test_a_wrong_address_or_value_of_set_is_refused(file, text, expected):
    result = invoke("run", file, "--set", text)
    assert result.exit_code == 2
    assert re.search(expected, result.stderr.replace("\n", " ")), result.stderr


def test_an_address_is_set_once(file):
    result = invoke("run", file, "--set", "duration=5 s", "--set", "duration=6 s")
    assert (result.exit_code, "expected one value of duration" in result.stderr) == (2, True)


def test_validate_names_the_file_that_is_missing_or_no_trace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    links = '{ name = "l", from = "a", to = "b", delay = "1 ms", opportunities = { file = "cell.down" } }'
    text = f'duration = "1 s"\nnodes = ["a", "b"]\nlinks = [{links}]\nflows = []\n'
    (tmp_path / "cell.toml").write_text(text, encoding="utf-8")
    missing = invoke("validate", "cell.toml")
    assert "error: cell.toml: cell.down: No such file or directory" in missing.output
    (tmp_path / "cell.down").write_text("time_s,rate_mbps\n0,3\n", encoding="utf-8")
    assert "`dumbbell trace import`" in invoke("validate", "cell.toml").output
