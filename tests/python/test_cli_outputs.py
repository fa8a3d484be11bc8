"""Outputs of the command line that are closed, lack characters, or end in a pipe; and names that command a terminal."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from dumbbell.cli import app
from dumbbell.printable import printable

COMMAND = [sys.executable, "-m", "dumbbell.cli"]

RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]")
NAMES = [
    "\x1b[31mred",
    "bell\x07",
    "\x9b2J",
    "line\nbreak",
    "\u202efdp.exe",
    "tab\tstop",
    "\x1b]0;title\x07",
    "nul\x00",
]


def through_shell(redirection, *args, **environment):
    line = " ".join([*COMMAND, *map(str, args), redirection])
    return subprocess.run(
        ["/bin/sh", "-c", line],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("command", ["run FILE", "run FILE --json", "list queues", "schema", "version"])
def test_a_closed_standard_output_is_not_an_error(file, command):
    done = through_shell(">&-", command.replace("FILE", str(file)))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_closed_standard_error_hides_the_message_and_not_the_exit_code():
    done = through_shell(">&- 2>&-", "run none.toml")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


@pytest.mark.parametrize("command", ["run FILE", "list", "run FILE --json"])
def test_an_ascii_terminal_gets_similar_characters(tmp_path, two_hosts, command):
    path = tmp_path / "named.toml"
    names = {"name": "café → §5", "flows.fg.name": "µ-flow", "probes.0.flows": ["µ-flow"]}
    path.write_text(two_hosts.with_values(names).to_toml(), encoding="utf-8")
    done = through_shell("", command.replace("FILE", str(path)), PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
    if "--json" in command:
        summary = json.loads(done.stdout)
        assert (summary["scenario"], summary["flows"][0]["name"]) == ("café → §5", "µ-flow")
    elif "FILE" in command:
        assert "caf\\xe9 -> par. 5" in done.stdout
        assert "u-flow" in done.stdout


@pytest.mark.parametrize("name", NAMES, ids=[ascii(name) for name in NAMES])
def test_names_do_not_command_a_terminal(tmp_path, two_hosts, name):
    path = tmp_path / "named.json"
    values = {
        "name": name,
        "flows.fg.name": name,
        "probes.0.flows": [name],
        "links.r1-r2.name": f"{name} and",
    }
    path.write_text(two_hosts.with_values({**values, "probes.1.links": ["*"]}).to_json(), encoding="utf-8")
    for arguments in ([], ["--json"]):
        result = CliRunner().invoke(app, ["run", str(path), *arguments])
        assert result.exit_code == 0, result.output
        assert not RAW.search(result.stdout)
        assert result.stdout.isprintable() or "\n" in result.stdout
    assert json.loads(result.stdout)["flows"][0]["name"] == name
    # In an error and in a warning.
    spoilt = two_hosts.to_dict()
    spoilt["flows"][0]["to"] = name
    path.write_text(json.dumps(spoilt), encoding="utf-8")
    result = CliRunner().invoke(app, ["run", str(path)])
    assert result.exit_code == 2
    assert not RAW.search(result.stderr)
    late = two_hosts.with_values({"flows.fg.name": name, "probes.0.flows": [name], f"flows.{0}.start": "9 s"})
    path.write_text(late.to_json(), encoding="utf-8")
    result = CliRunner().invoke(app, ["run", str(path)])
    assert result.stderr.startswith("warning: ")
    assert not RAW.search(result.stderr)


def test_what_is_printable_is_left_as_it_is():
    text = "Grüße, 中文, 10 µs – “quoted”\nsecond line \U0001f600"
    assert printable(text) == text


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
@pytest.mark.parametrize("words", [["list"], ["list", "tcp"], ["list", "queues"]], ids=" ".join)
def test_list_fits_the_width_when_it_is_piped(columns, words):
    done = through_shell("| cat", *words, COLUMNS=str(columns))
    assert done.returncode == 0
    longest = max(done.stdout.splitlines(), key=len)
    assert len(longest) <= columns, longest
