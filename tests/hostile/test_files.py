"""Damaged files in place of those that a command reads: each is refused in a sentence that names the file."""

from __future__ import annotations

import json

import inputs
import pytest

# The file that is damaged, and a command that reads it.
READERS = {
    "run": ("scenario.toml", ["run", "scenario.toml"]),
    "run JSON": ("scenario.json", ["run", "scenario.json"]),
    "validate": ("scenario.toml", ["validate", "scenario.toml"]),
    "why": ("scenario.toml", ["why", "scenario.toml", "--flow", "f"]),
    "inspect": ("scenario.toml", ["inspect", "scenario.toml"]),
    "campaign": ("campaign.toml", ["campaign", "campaign.toml"]),
    "campaign --status": ("campaign.toml", ["campaign", "campaign.toml", "--status"]),
    "base of a campaign": ("scenario.toml", ["campaign", "campaign.toml"]),
    "compare": ("scenario.toml", ["compare", "scenario.toml", "scenario.json", "--runs", "1"]),
    "other side": ("scenario.json", ["compare", "scenario.toml", "scenario.json", "--runs", "1"]),
    "bundle create": ("scenario.toml", ["bundle", "create", "scenario.toml", "--output", "out.zip"]),
    "bundle verify": ("scenario.toml", ["bundle", "verify", "scenario.toml"]),
    "bounds of a search": (
        "bounds.toml",
        ["search", "reno", "--objective", "delay", "--budget", "1", "--bounds", "bounds.toml"],
    ),
    "describe": ("trace.down", ["trace", "describe", "trace.down"]),
    "trace of a link": ("trace.down", ["run", "with-trace.toml"]),
    "import": ("rates.csv", ["trace", "import", "rates.csv", "--output", "out.down"]),
}

# What is valid nevertheless: an empty table of bounds, and a trace that is long.
ACCEPTED = {
    ("bounds of a search", "empty"),
    ("bounds of a search", "only a line end"),
    ("bounds of a search", "only a byte order mark"),
    ("describe", "99999999999999"),
    ("trace of a link", "99999999999999"),
}

# A binary module in place of a text is a matter of other tests.
CASES = [
    (reader, damage) for reader in READERS for damage in inputs.DAMAGES if (reader, damage) not in ACCEPTED
]


@pytest.mark.parametrize(("reader", "damage"), CASES, ids=[f"{one}: {other}" for one, other in CASES])
def test_a_damaged_file_is_refused_by_its_name(call, folder, reader, damage):
    file, command = READERS[reader]
    inputs.DAMAGES[damage](folder / file)
    said = call(*command)
    assert said.code == 2, (said.stdout, said.stderr)
    assert said.stdout == ""
    assert file in said.stderr, said.stderr
    assert len(said.stderr) < 1500
    assert not (folder / "out.down").exists()


# --- parts that a store, a search and a user's module consist of ---


@pytest.mark.parametrize(
    "damage", [name for name in inputs.DAMAGES if name not in ("an idle pipe", "an endless device")]
)
def test_a_damaged_journal_of_a_search_is_refused_or_made_anew(call, folder, damage):
    command = [
        "search",
        "reno",
        "--objective",
        "low-utilization",
        "--budget",
        "1",
        "--vary",
        "rate",
        "--output",
        "found",
    ]
    assert call(*command, "--bound", "rate=1..2", timeout_s=60.0).code == 0
    journal = folder / "found" / "journal.log"
    inputs.DAMAGES[damage](journal)
    said = call(*command, "--bound", "rate=1..2", timeout_s=60.0)
    assert said.code == 0 or "journal.log" in said.stderr, said.stderr


@pytest.mark.parametrize("damage", ["missing", "empty", "noise", "many NULs", "invalid UTF-8", "a folder"])
def test_damage_to_a_store_is_named_and_repaired(call, folder, damage):
    assert call("campaign", "campaign.toml", "--output", "store").code == 0
    before = (folder / "store" / "flows.parquet").read_bytes()
    parts = [file for file in (folder / "store").rglob("*") if file.is_file()]
    for part in parts:
        inputs.DAMAGES[damage](part)
        said = call("campaign", "campaign.toml", "--output", "store", "--json")
        assert said.code == 0 or part.name in said.stderr, said.stderr
        if said.code == 0:
            assert json.loads(said.stdout)["missing"] == 0
            assert (folder / "store" / "flows.parquet").read_bytes() == before
        elif part.is_dir():
            part.rmdir()


MODULES = {
    "empty": "",
    "not Python": "def on_ack(:\n",
    "not UTF-8": "\udcff",
    "NULs": "a = 1\0\n",
    "raises": "raise ValueError('\\x1b]0;owned\\x07 and\\nmore')\n",
    "an exception without a text": "class E(Exception):\n    def __str__(self):\n        raise E\nraise E\n",
    "ends the program": "import sys\nsys.exit(0)\n",
    "recurses": "def f():\n    f()\nf()\n",
    "memory": "raise MemoryError\n",
    "missing file": "open('/nowhere/file')\n",
    "missing import": "import nowhere_at_all\n",
    "a loop of imports": "from own import Own\n",
    "deep": "a = " + "(" * 5000 + ")" * 5000 + "\n",
    "no class": "Own = 3\n",
    "another class": "class Own:\n    pass\n",
    "a class without methods": "import dumbbell\nclass Own(dumbbell.Control):\n    pass\n",
    "an __init__": "import dumbbell\nclass Own(dumbbell.Control):\n    def __init__(self):\n        pass\n",
    "a parameter without a default": inputs.MODULE.replace("Control):\n", "Control):\n    share: float\n"),
}

# In a method that is called during the run.
METHODS = {
    "raises": "raise ZeroDivisionError('\\x1b[31mred')",
    "NaN": "self.cwnd = float('nan')",
    "text": "self.cwnd = 'big\\x07'",
    "negative": "self.cwnd = -1",
    "deletes": "del self.cwnd",
    "recurses": "self.on_ack(ack)",
    "ends the program": "raise SystemExit(0)",
    "cannot be pickled": "E = type('E', (Exception,), {'f': lambda: 0})\n        raise E('odd')",
    "no argument": "ack.nothing",
    "a huge number": "self.cwnd = 10**5000",
}
ALLOWED = ["--allow", "python:own.Own"]
USERS = {
    "run": ["run", "with-module.toml", *ALLOWED],
    "evaluate": ["evaluate", "python:own.Own", "--quick", "--only", "fairness"],
    "search": ["search", "python:own.Own", "--objective", "delay", "--budget", "1"],
    "campaign": ["campaign", "own-campaign.toml", "--threads", "2", *ALLOWED],
}


def module_of(method: str) -> str:
    return inputs.MODULE.replace("self.cwnd = ack.grown", f"{method}\n        self.cwnd = ack.grown")


def write_module(folder, text):
    (folder / "own.py").write_text(text, "utf-8", errors="surrogateescape")
    (folder / "own-campaign.toml").write_text('base = "with-module.toml"\nruns = 4\n', "utf-8")


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("kind", MODULES)
def test_a_faulty_module_is_shown_with_its_own_lines_alone(call, folder, user, kind):
    write_module(folder, MODULES[kind])
    said = call(*USERS[user], timeout_s=60.0)
    assert said.code == 2, (said.stdout, said.stderr)
    assert "own" in said.stderr
    assert "site-packages" not in said.stderr
    assert "python/dumbbell/" not in said.stderr


@pytest.mark.parametrize("user", ["run", "campaign"])
@pytest.mark.parametrize("kind", METHODS)
def test_a_faulty_method_is_shown_with_its_own_lines_alone(call, folder, user, kind):
    write_module(folder, module_of(METHODS[kind]))
    said = call(*USERS[user], timeout_s=60.0)
    assert said.code == 2, (said.stdout, said.stderr)
    assert "own" in said.stderr.lower()
    assert "site-packages" not in said.stderr


@pytest.mark.parametrize("how", ["os._exit(3)", "os.kill(os.getpid(), 9)", "os.abort()"])
def test_a_control_that_ends_its_process_is_named_with_its_run(call, folder, how):
    write_module(folder, "import os\n" + module_of(how))
    said = call(*USERS["campaign"], timeout_s=60.0)
    assert said.code == 2, (said.stdout, said.stderr)
    for word in ("python:own.Own", "run ", "seed 1", "small", "twice"):
        assert word in said.stderr
