"""Which code runs: what a file names runs only if the caller allows it, and the working folder is on no path."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dumbbell
from compiled import EXAMPLE, native, wasm
from dumbbell import Library, Scenario, ScenarioError
from dumbbell.cli import app
from dumbbell.search.dimensions import DIMENSIONS, Choice
from test_control import Aimd, scenario

PACKAGE = Path(dumbbell.__file__).parent

# Packages that libraries import if they are there, and one that is installed for tests.
PLANTED = ("numexpr", "bottleneck", "cloudpickle", "pytz", "xarray", "IPython")

CLASS = (
    "from pathlib import Path\n\nimport dumbbell\n\nPath('ran').touch()\n\n\n"
    "class Mine(dumbbell.Control):\n"
    "    beta: float = 0.5\n"
    "    probes = ('losses',)\n"
    "    losses = 0\n\n"
    "    def on_ack(self, ack):\n"
    "        self.cwnd = ack.grown(self.cwnd, 100.0)\n\n"
    "    def on_congestion(self, congestion):\n"
    "        self.losses += 1\n"
    "        self.cwnd = congestion.loss_window\n"
)

INITIALIZER = """
#include <stdio.h>
__attribute__((constructor)) static void initialize(void) {
    FILE *file = fopen("ran", "w");
    if (file) fclose(file);
}
"""

numbers = count()


def of_class(folder):
    """Return the names of a new class in Python, here and as a scenario states it."""
    module = f"planted{next(numbers)}"
    (folder / f"{module}.py").write_text(CLASS, "utf-8")
    name = f"python:{module}.Mine"
    return name, {"name": name, "digest": "0123456789abcdef"}


def of_library(folder):
    """Return the names of a shared library with an initializer, here and as a scenario states it."""
    # Another file each time: a library is loaded once.
    source = f"{EXAMPLE.read_text('utf-8')}{INITIALIZER}int number = {next(numbers)};\n"
    data = native(folder, source, "planted.so").read_bytes()
    digest = hashlib.sha256(data).hexdigest()[:16]
    return "library:planted.so", {"name": "library:planted.so", "digest": digest}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder, and no testbed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DUMBBELL_TESTBED", "/bin/false")
    return tmp_path


def write(folder, tcp, **changes):
    """Write a scenario whose first flow has this TCP, and a campaign of it."""
    data = scenario("reno", quantities=(), duration="1 s").to_dict() | changes
    data["flows"][0]["tcp"] = tcp
    (folder / "scenario.json").write_text(json.dumps(data), "utf-8")
    (folder / "campaign.toml").write_text('base = "scenario.json"\noutput = "store"\n', "utf-8")


def call(*arguments):
    return CliRunner().invoke(app, list(arguments))


COMMANDS = {
    "validate": ["validate", "scenario.json"],
    "run": ["run", "scenario.json"],
    "why": ["why", "scenario.json", "--flow", "fg"],
    "compare": ["compare", "scenario.json", "scenario.json", "--runs", "1"],
    "bundle": ["bundle", "create", "scenario.json", "--output", "made.zip"],
    "campaign": ["campaign", "campaign.toml"],
    "status": ["campaign", "campaign.toml", "--status"],
    "testbed": ["testbed", "run", "scenario.json"],
}


@pytest.mark.parametrize("form", ["name", "table", "stated", "axis"])
@pytest.mark.parametrize("code", [of_class, of_library])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_runs_code_that_a_file_names(folder, command, code, form):
    name, stated = code(folder)
    tcp = {
        "name": name,
        "table": {"external": {"name": name}},
        "stated": {"external": stated},
        "axis": "reno",
    }
    write(folder, tcp[form])
    if form == "axis":
        axes = f'[axes]\n"flows.fg.tcp" = ["{name}"]\n'
        (folder / "campaign.toml").write_text(f'base = "scenario.json"\noutput = "store"\n{axes}', "utf-8")
    done = call(*COMMANDS[command])
    assert not (folder / "ran").exists(), done.output
    assert "Traceback" not in done.output
    if command in ("run", "why", "compare", "bundle", "campaign") and (
        form != "axis" or command == "campaign"
    ):
        [line] = done.stderr.splitlines()
        assert done.exit_code == 2
        field = "flows.fg.tcp.external.name"
        problem = "is code of a file, which runs only if you allow it; expected permission: --allow"
        expected = f'{field}: "{name}" {problem} {name}, or dumbbell.allow({name!r}) in Python'
        assert line.endswith(expected)


@pytest.mark.parametrize("code", [of_class, of_library])
@pytest.mark.parametrize("command", ["run", "why", "compare", "bundle", "campaign", "status", "validate"])
def test_allowed_code_runs(folder, command, code):
    name, _ = code(folder)
    write(folder, name)
    done = call(*COMMANDS[command], "--allow", name)
    assert done.exit_code == 0, done.output
    assert (folder / "ran").exists()
    assert "not loaded" not in done.output


@pytest.mark.parametrize("code", [of_class, of_library])
def test_a_status_counts_all_runs_but_those_of_code_that_was_not_loaded(folder, code):
    name, _ = code(folder)
    write(folder, "reno")
    axes = f'[axes]\n"flows.fg.tcp" = ["reno", "{name}", "vegas"]\n'
    (folder / "campaign.toml").write_text(
        f'base = "scenario.json"\noutput = "store"\nruns = 2\n{axes}', "utf-8"
    )
    assert call(*COMMANDS["campaign"], "--allow", name).exit_code == 0
    (folder / "ran").unlink()
    # The next process has no permission.
    command = [sys.executable, "-m", "dumbbell", *COMMANDS["status"]]
    told = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    found = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=300, check=True)
    assert not (folder / "ran").exists()
    status = json.loads(found.stdout)
    assert {key: status[key] for key in ("runs", "done", "missing", "uncounted", "not_loaded")} == {
        "runs": 6, "done": 4, "missing": 0, "uncounted": 2, "not_loaded": [name],
    }  # fmt: skip
    assert [point["done"] for point in status["points"]] == [2, None, 2]
    assert [point["missing"] for point in status["points"]] == [0, None, 0]
    assert told.stdout.splitlines()[-1] == (
        "2 of 3 points complete; 4 of 6 runs done, 0 missing, 2 not counted"
    )
    [line] = told.stderr.splitlines()
    assert line == (
        f"note: the code of {name} was not loaded, and completed runs with it are not counted; --allow {name} counts them"
    )
    allowed = subprocess.run(
        [*command, "--json", "--allow", name], capture_output=True, text=True, timeout=300, check=True
    )
    status = json.loads(allowed.stdout)
    assert (status["done"], status["missing"], status["uncounted"], status["not_loaded"]) == (6, 0, 0, [])


@pytest.mark.parametrize("code", [of_class, of_library])
def test_a_status_of_a_scenario_with_all_digests_needs_no_permission(folder, code):
    name, _ = code(folder)
    dumbbell.allow(name)
    write(folder, name)
    data = Scenario.from_file("scenario.json").to_dict()
    write(folder, data["flows"][0]["tcp"])
    assert call(*COMMANDS["campaign"], "--allow", name).exit_code == 0
    (folder / "ran").unlink()
    command = [sys.executable, "-m", "dumbbell", *COMMANDS["status"], "--json"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    status = json.loads(found.stdout)
    assert (status["done"], status["missing"], status["uncounted"]) == (1, 0, 0)
    assert (found.stderr, (folder / "ran").exists()) == ("", False)


@pytest.mark.parametrize("code", [of_class, of_library])
def test_permission_is_for_one_name(folder, code):
    name, _ = code(folder)
    write(folder, name)
    for other in ("python:planted.Other", "library:other.so"):
        assert call(*COMMANDS["run"], "--allow", other).exit_code == 2
    assert not (folder / "ran").exists()


def test_permission_of_a_library_is_for_its_file(folder):
    of_library(folder)
    (folder / "sub").mkdir()
    (folder / "link.so").symlink_to("planted.so")
    data = scenario("reno", quantities=(), duration="1 s").to_dict()
    data["flows"][0]["tcp"] = "library:../planted.so"
    (folder / "sub" / "scenario.json").write_text(json.dumps(data), "utf-8")
    with pytest.raises(ScenarioError, match=r"expected permission: --allow library:sub/\.\./planted\.so, or"):
        dumbbell.run("sub/scenario.json")
    dumbbell.allow("library:link.so")
    assert dumbbell.run("sub/scenario.json").flow("fg")["goodput_bps"] > 0


@pytest.mark.parametrize("name", ["aimd.so", "python:", "library:", "", 3])
def test_a_permission_that_names_no_code_is_refused(folder, name):
    with pytest.raises(
        ScenarioError, match=r"^allow: .* expected python:module\.Class, library:PATH or module:PATH$"
    ):
        dumbbell.allow(name)
    write(folder, "reno")
    assert call(*COMMANDS["run"], "--allow", str(name)).exit_code == 2


def test_what_the_caller_passes_needs_no_permission(folder):
    of_library(folder)
    for control in (Aimd(), Library("planted.so")):
        made = scenario(control, quantities=(), duration="1 s")
        read = Scenario.from_text(made.to_json())
        assert dumbbell.run(read).fingerprint == dumbbell.run(made).fingerprint


def test_a_module_needs_no_permission(folder):
    wasm(folder)
    write(folder, "library:aimd.wasm")
    assert call(*COMMANDS["run"]).exit_code == 0
    [judged] = json.loads(call("validate", "scenario.json", "--json").stdout)
    assert judged["not_loaded"] == []
    assert judged["hash"] == Scenario.from_file("scenario.json").hash
    write(folder, {"external": {"name": "library:aimd.wasm", "parameters": {"incease": 1}}})
    assert "did you mean `increase`" in call("validate", "scenario.json").stderr


@pytest.mark.parametrize("code", [of_class, of_library])
def test_validate_says_what_it_did_not_load(folder, code):
    name, _ = code(folder)
    probes = [{"flows": ["fg"], "quantities": ["cwnd", "own.losses"]}]
    write(folder, {"external": {"name": name, "parameters": {"anything": 1}}}, probes=probes)
    done = call("validate", "scenario.json")
    assert (done.exit_code, done.stdout) == (0, "scenario.json: valid, 2 flows, 10 links\n")
    assert f"note: scenario.json: the code of {name} was not loaded" in done.stderr
    [judged] = json.loads(call("validate", "scenario.json", "--json").stdout)
    assert (judged["valid"], judged["hash"], judged["not_loaded"]) == (True, None, [name])
    # The rest of the scenario is checked.
    write(folder, name, duration="1 parsec")
    assert call("validate", "scenario.json").exit_code == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("python:nowhere.Mine", "there is no module nowhere in the working directory"),
        ("python:nowhere.inner.Mine", "there is no module nowhere in the working directory"),
        ("python:Mine", "names no class of a module"),
        ("python:.Mine", "there is no module"),
        ("python:a/b.Mine", "there is no module a/b"),
        ("library:nowhere.so", "cannot be read (No such file or directory)"),
        ("library:.", "cannot be read"),
    ],
)
def test_validate_refuses_names_of_nothing(folder, name, text):
    write(folder, name)
    done = call("validate", "scenario.json")
    assert done.exit_code == 2
    assert text in done.stderr


def test_a_changed_library_is_refused_before_it_is_loaded(folder):
    name, stated = of_library(folder)
    write(folder, {"external": {**stated, "digest": "0" * 16}})
    done = call(*COMMANDS["run"], "--allow", name)
    assert 'digest: "0000000000000000" is that of another version' in done.stderr
    assert not (folder / "ran").exists()


def test_a_module_of_the_working_folder_is_found_with_what_it_imports(folder):
    name, _ = of_class(folder)
    module = folder / f"{name.removeprefix('python:').removesuffix('.Mine')}.py"
    source = CLASS.replace("Path('ran')", f"import rules{module.stem} as rules\n\nPath('ran')")
    module.write_text(source.replace("100.0", "rules.growth()"), "utf-8")
    (folder / f"rules{module.stem}.py").write_text("def growth():\n    return 100.0\n", "utf-8")
    write(folder, name)
    before = (list(sys.path), list(sys.meta_path))
    dumbbell.allow(name)
    one, two = (
        dumbbell.run_many("scenario.json", runs=2, threads=threads, progress=False) for threads in (1, 2)
    )
    assert one.flows.equals(two.flows)
    assert (list(sys.path), list(sys.meta_path)) == before


@pytest.mark.parametrize("command", [*COMMANDS, "doctor", "help"])
def test_the_working_folder_is_not_searched_for_libraries(folder, command):
    for module in PLANTED:
        (folder / f"{module}.py").write_text("open('ran', 'a').write(__name__)\n", "utf-8")
    write(folder, "reno")
    arguments = {**COMMANDS, "doctor": ["testbed", "doctor"], "help": ["--help"]}[command]
    # Python itself begins the path with the folder.
    done = subprocess.run(
        [sys.executable, "-m", "dumbbell", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert not (folder / "ran").exists(), (folder / "ran").read_text()


def test_a_working_folder_that_has_been_removed_is_no_error(tmp_path):
    command = ["sh", "-c", 'rmdir "$PWD"; exec "$0" -m dumbbell version', sys.executable]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_processes_that_run_jobs_do_not_search_the_working_folder(folder):
    for module in ("numpy", "pyarrow"):
        (folder / f"{module}.py").write_text("open('ran', 'a').write(__name__)\n", "utf-8")
    jobs = scenario(Aimd(), quantities=(), duration="1 s")
    assert dumbbell.run_many(jobs, runs=2, threads=2, progress=False).completed == 2
    assert not (folder / "ran").exists()


def test_a_journal_of_a_search_names_no_code():
    [competitor] = [one for one in DIMENSIONS if isinstance(one, Choice)]
    assert competitor.near("reno") == "reno"
    with pytest.raises(ScenarioError, match=r"^competitor: \"library:x\.so\" is not a value of this search"):
        competitor.near("library:x.so")


def test_only_transport_between_processes_reads_pickles():
    """Stores, journals and records are data: no other module can turn bytes into objects or code."""
    forbidden = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "runpy"}
    found = set()
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            modules = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            if forbidden & {name.partition(".")[0] for name in modules} or called in ("eval", "exec"):
                found.add(file.relative_to(PACKAGE).as_posix())
    assert found == {"campaign/cluster.py", "external.py", "processes.py"}
