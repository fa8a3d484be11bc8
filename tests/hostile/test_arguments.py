"""Options with numbers, names and folders that cannot be: refused by the option and the value, or accepted for a reason."""

from __future__ import annotations

import keyword
import sys

import pytest

NUMBERS = [
    "", " ", "x", "-1", "-0.5", "1.5x", "nan", "inf", "-inf", "1e999", "0x10", "1,5", "\x1b[31m1", "\x00"[:0] + "--", "٣٣٣٣x",
    "9" * 5000, "-" + "9" * 5000, str(2**64), str(2**128), "1" + "0" * 400, "true", "[1]", "None", "½",
]  # fmt: skip

# Numbers that count or name something, by command.
COUNTED = {
    "run --seed": ["run", "scenario.toml", "--seed"],
    "run --run": ["run", "scenario.toml", "--run"],
    "run --snaplen": ["run", "scenario.toml", "--pcap", "out.pcapng", "--snaplen"],
    "campaign --threads": ["campaign", "campaign.toml", "--threads"],
    "compare --runs": ["compare", "scenario.toml", "scenario.json", "--runs"],
    "compare --seed": ["compare", "scenario.toml", "scenario.json", "--seed"],
    "bundle --runs": ["bundle", "create", "scenario.toml", "--output", "out.zip", "--runs"],
    "reproduce --runs": ["reproduce", "altman", "--runs"],
    "reproduce --seeds": ["reproduce", "altman", "--seeds"],
    "reproduce --threads": ["reproduce", "altman", "--threads"],
    "cross-validate --share": ["cross-validate", "ns2", "--share"],
    "evaluate --seeds": ["evaluate", "reno", "--seeds"],
    "search --budget": ["search", "reno", "--objective", "delay", "--budget"],
    "inspect --flow": ["inspect", "scenario.toml", "--flow"],
    "why --at": ["why", "scenario.toml", "--flow", "f", "--at"],
    "why --window": ["why", "scenario.toml", "--flow", "f", "--at", "1 s", "--window"],
    "testbed --runs": ["testbed", "run", "scenario.toml", "--runs"],
    "bench --turns": ["bench", "peers", "--turns"],
}
CASES = [(option, value) for option in COUNTED for value in NUMBERS]


@pytest.mark.parametrize(
    ("option", "value"), CASES, ids=[f"{option} {ascii(value)[:20]}" for option, value in CASES]
)
def test_what_is_no_number_is_refused_by_the_option(call, folder, option, value):
    before = sorted(folder.iterdir())
    said = call(*COUNTED[option], value)
    assert said.code == 2, (said.stdout, said.stderr)
    name = option.split()[-1]
    assert name.strip("-") in said.stderr.replace("--", ""), said.stderr
    assert len(said.stderr) < 7000
    assert sorted(folder.iterdir()) == before


WORDS = [word for word in [*keyword.kwlist, "none", "true", "false"] if word.isalpha() and word.islower()]
MODULES = sorted(name for name in sys.stdlib_module_names if name.isalnum() and len(name) <= 9)[::6]
INSTALLED = ["numpy", "typer", "pandas", "dumbbell", "pytest", "rich"]
MISSHAPEN = [
    "",
    " ",
    "Upper",
    "1abc",
    "a-b",
    "a.b",
    "../a",
    "/a",
    "a b",
    "ten1234567",
    "é",
    "a\nb",
    "\x1b[31m",
    "-",
    "a/",
]


@pytest.mark.parametrize("name", [*WORDS, *MODULES, *INSTALLED, *MISSHAPEN], ids=ascii)
def test_a_name_that_cannot_be_used_is_refused(call, folder, name):
    before = sorted(folder.iterdir())
    said = call("new", "algorithm", "--", name)
    assert said.code == 2, (said.stdout, said.stderr)
    assert "NAME" in said.stderr
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    "name", ["self", "type", "match", "mod", "gen", "ack", "external", "time", "reno", "vegas"]
)
def test_a_name_that_rust_cannot_have_is_refused(call, name):
    said = call("new", "algorithm", name, "--rust")
    assert said.code == 2, (said.stdout, said.stderr)
    assert "NAME" in said.stderr


PLACES = ["nowhere", "scenario.toml", "empty", "scenario.toml/below", "", "\x1b[31mred", "x" * 300]
FOLDERS = {
    "reproduce": ["reproduce", "altman", "--papers"],
    "reproduce all": ["reproduce", "all", "--papers"],
    "reproduce --testbed": ["reproduce", "altman", "--testbed", "--papers"],
    "cross-validate": ["cross-validate", "ns2", "--peers"],
    "bench peers": ["bench", "peers", "--peers"],
}
NAMED = [(command, place) for command in FOLDERS for place in PLACES]


@pytest.mark.parametrize(
    ("command", "place"), NAMED, ids=[f"{command} {ascii(place)[:20]}" for command, place in NAMED]
)
def test_a_folder_that_has_nothing_is_refused(call, folder, command, place):
    (folder / "empty").mkdir()
    said = call(*FOLDERS[command], place)
    assert said.code in (2, 3), (said.stdout, said.stderr)
    assert not (folder / "results").exists() or not list((folder / "results").rglob("*.html"))


CONTENTS = {
    "nothing": "",
    "no Python": "def (:\n",
    "raises": "raise ValueError('\\x1b[31mred')\n",
    "ends the program": "import sys\nsys.exit(0)\n",
    "not a paper": "PAPER = PEER = 3\n",
    "missing import": "import nowhere_at_all\n",
}


@pytest.mark.parametrize("command", FOLDERS)
@pytest.mark.parametrize("kind", CONTENTS)
def test_a_paper_or_peer_that_cannot_be_used_is_refused(call, folder, command, kind):
    place = folder / "own" / ("ns2" if "peers" in FOLDERS[command][-1] else "altman")
    place.mkdir(parents=True)
    (place / "__init__.py").write_text(CONTENTS[kind], "utf-8")
    said = call(*FOLDERS[command], "own")
    assert said.code in (2, 3), (said.stdout, said.stderr)


OTHERS = {
    "unknown command": ["simulate", "scenario.toml"],
    "unknown option": ["run", "scenario.toml", "--colour"],
    "unknown section": ["list", "queue"],
    "unknown flow": ["why", "scenario.toml", "--flow", "g"],
    "empty flow": ["why", "scenario.toml", "--flow", ""],
    "a flow with escapes": ["why", "scenario.toml", "--flow", "\x1b[31mf"],
    "unknown paper": ["reproduce", "nobody-2000"],
    "unknown experiment": ["reproduce", "altman", "--experiment", "none"],
    "unknown peer": ["cross-validate", "ns4"],
    "unknown grid": ["cross-validate", "ns2", "--grid", "none"],
    "unknown item": ["evaluate", "reno", "--only", "none"],
    "empty item": ["evaluate", "reno", "--only", ""],
    "unknown algorithm": ["evaluate", "renno"],
    "empty algorithm": ["evaluate", ""],
    "algorithm with nested parameters": ["evaluate", "vegas:alpha=" + "[" * 5000],
    "algorithm with a long number": ["evaluate", "vegas:alpha=" + "9" * 5000],
    "unknown baseline": ["evaluate", "reno", "--against", "renno"],
    "empty baseline": ["evaluate", "reno", "--against", ","],
    "unknown objective": ["search", "reno", "--objective", "none"],
    "unknown part": ["search", "reno", "--objective", "delay", "--vary", "none"],
    "empty part": ["search", "reno", "--objective", "delay", "--vary", ""],
    "unknown bound": ["search", "reno", "--objective", "delay", "--bound", "none=1"],
    "bound without a value": ["search", "reno", "--objective", "delay", "--bound", "rate="],
    "bound with a long number": ["search", "reno", "--objective", "delay", "--bound", "rate=" + "9" * 5000],
    "bounds turned round": ["search", "reno", "--objective", "delay", "--bound", "rate=9..1"],
    "unknown case": ["bench", "peers", "--case", "none"],
    "unknown simulator": ["bench", "peers", "--peer", "none"],
    "node without packets": ["run", "scenario.toml", "--node", "a"],
    "unknown node": ["run", "scenario.toml", "--pcap", "out.pcapng", "--node", "z"],
    "bytes without packets": ["run", "scenario.toml", "--snaplen", "80"],
    "picture of no kind": ["run", "scenario.toml", "--plot", "out.jpeg2000"],
    "watching standard input": ["run", "-", "--watch"],
    "recording nothing": ["reproduce", "altman", "--record"],
    "no address": ["campaign", "campaign.toml", "--scheduler", "nowhere"],
    "no cluster": ["campaign", "campaign.toml", "--scheduler", "tcp://127.0.0.1:1"],
    "no port": ["campaign", "campaign.toml", "--scheduler", "tcp://127.0.0.1:99999999"],
    "threads and a cluster": [
        "campaign",
        "campaign.toml",
        "--threads",
        "2",
        "--scheduler",
        "tcp://127.0.0.1:1",
    ],
    "a scenario of another name": ["init", "scenario.json"],
    "a scenario that exists": ["init", "scenario.toml"],
    "unknown column": ["trace", "import", "rates.csv", "--output", "out", "--time", "none:s"],
    "unknown unit": ["trace", "import", "rates.csv", "--output", "out", "--rate", "rate_mbps:furlongs"],
    "unknown kernel control": ["testbed", "run", "scenario.toml", "--congestion", "f=\x1b[31m"],
    "unknown option of the shell": ["shell", "--colour", "red"],
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_name_that_nothing_has_is_refused(call, folder, kind):
    before = sorted(folder.iterdir())
    said = call(*OTHERS[kind], timeout_s=100.0)
    assert said.code in (2, 3), (said.stdout, said.stderr)
    assert sorted(folder.iterdir()) == before


ENVIRONMENT = {
    "samples": ({"DUMBBELL_MAX_SAMPLES": "many"}, "DUMBBELL_MAX_SAMPLES", ["run", "scenario.toml"]),
    "no samples": ({"DUMBBELL_MAX_SAMPLES": "0"}, "DUMBBELL_MAX_SAMPLES", ["run", "scenario.toml"]),
    "negative samples": ({"DUMBBELL_MAX_SAMPLES": "-1"}, "DUMBBELL_MAX_SAMPLES", ["run", "scenario.toml"]),
    "many samples": ({"DUMBBELL_MAX_SAMPLES": "9" * 50}, "DUMBBELL_MAX_SAMPLES", ["run", "scenario.toml"]),
    "few samples": ({"DUMBBELL_MAX_SAMPLES": "3"}, "DUMBBELL_MAX_SAMPLES", ["run", "scenario.toml"]),
    "few packets": ({"DUMBBELL_MAX_IN_FLIGHT": "1"}, "DUMBBELL_MAX_IN_FLIGHT", ["run", "scenario.toml"]),
    "papers": ({"DUMBBELL_PAPERS": "nowhere"}, "nowhere", ["reproduce", "altman"]),
    "peers": ({"DUMBBELL_PEERS": "nowhere"}, "nowhere", ["cross-validate", "ns2"]),
    "escapes": ({"DUMBBELL_PAPERS": "\x1b[31mred"}, "red", ["reproduce", "all"]),
}


@pytest.mark.parametrize("kind", ENVIRONMENT)
def test_a_variable_that_cannot_be_is_refused_by_its_value(call, kind):
    environment, word, command = ENVIRONMENT[kind]
    said = call(*command, environment=environment)
    assert said.code == 2, (said.stdout, said.stderr)
    assert word in said.stderr


SURROUNDINGS = {
    "no home": {"HOME": None},
    "a home that is not there": {"HOME": "/nowhere"},
    "no path": {"PATH": None},
    "no room for temporary files": {"TMPDIR": "/nowhere", "TMP": "/nowhere", "TEMP": "/nowhere"},
    "an odd terminal": {"TERM": "\x1b[31m", "COLUMNS": "-5", "LINES": "x"},
    "a huge terminal": {"COLUMNS": "99999999999999999999"},
    "a narrow terminal": {"COLUMNS": "1"},
    "an unknown language": {"LANG": "xx_YY.nothing", "LC_ALL": "xx"},
}


@pytest.mark.parametrize(
    "command", [["run", "scenario.toml"], ["list"], ["run", "scenario.toml", "--plot", "-"]], ids=str
)
@pytest.mark.parametrize("kind", SURROUNDINGS)
def test_odd_surroundings_change_nothing(call, command, kind):
    assert call(*command, environment=SURROUNDINGS[kind]).code == 0
