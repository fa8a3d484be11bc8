"""Standard streams that are closed, full or a pipe without a reader; full disks, little memory, and signals."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_files import ALLOWED, module_of, write_module

COMMANDS = {
    "run": ["run", "scenario.toml"],
    "run --json": ["run", "scenario.toml", "--json"],
    "run --plot": ["run", "scenario.toml", "--plot", "-"],
    "validate": ["validate", "scenario.toml"],
    "list": ["list"],
    "schema": ["schema"],
    "version": ["--version"],
    "help": ["--help"],
    "help of run": ["run", "--help"],
    "why": ["why", "scenario.toml", "--flow", "f"],
    "status": ["campaign", "campaign.toml", "--status"],
    "campaign": ["campaign", "campaign.toml"],
    "describe": ["trace", "describe", "trace.down"],
    "refused": ["run", "none.toml"],
}


@pytest.fixture
def full(tmp_path):
    """A device of the test's own on which there is never room."""
    node = tmp_path / "full"
    os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, 7))
    return "full"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("stream", ["stdin", "stdout", "stderr"])
def test_a_closed_stream_is_not_an_error(call, command, stream):
    said = call(*COMMANDS[command], **{stream: None})
    assert said.code == (2 if command == "refused" else 0), said


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_without_a_reader_ends_the_output(call, command):
    assert call(*COMMANDS[command], stdout="|").code == (2 if command == "refused" else 0)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_under_the_output_is_named(call, full, command):
    said = call(*COMMANDS[command], stdout=full)
    assert said.code == 2, said
    if command != "refused":
        assert "standard output: No space left on device" in said.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_under_the_messages_hides_them_alone(call, full, command):
    assert call(*COMMANDS[command], stderr=full).code == (2 if command == "refused" else 0)


# --- full disks ---

WRITERS = {
    "trace": ["run", "scenario.toml", "--trace", "disk/t"],
    "csv": ["run", "scenario.toml", "--csv", "disk/c"],
    "plot": ["run", "scenario.toml", "--plot", "disk/p.png"],
    "html": ["run", "scenario.toml", "--plot", "disk/p.html"],
    "pcap": ["run", "scenario.toml", "--pcap", "disk/p.pcapng"],
    "qlog": ["run", "scenario.toml", "--qlog", "disk/q.qlog"],
    "why": ["why", "scenario.toml", "--flow", "f", "--html", "disk/why.html"],
    "init": ["init", "disk/new.toml"],
    "new": ["new", "algorithm", "mine", "--output", "disk"],
    "campaign": ["campaign", "campaign.toml", "--output", "disk/store"],
    "import": ["trace", "import", "rates.csv", "--output", "disk/out.down"],
    "search": ["search", "reno", "--objective", "delay", "--budget", "1", "--output", "disk/found"],
}


@pytest.fixture
def disk(folder):
    """A small file system of the test's own, which is full."""
    place = folder / "disk"
    place.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4k", "none", place], capture_output=True, check=False
    ).returncode:
        pytest.skip("SKIPPED: mounting a file system needs root")
    try:
        (place / "filler").write_bytes(bytes(4096))
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_full_disk_under_a_result_is_named_with_the_file(call, disk, writer):
    said = call(*WRITERS[writer], timeout_s=60.0)
    assert said.code == 2, said
    assert "disk/" in said.stderr
    assert "No space left on device" in said.stderr
    assert [file for file in disk.rglob("*") if file.is_file() and file.stat().st_size > 0] == [
        disk / "filler"
    ]


# --- memory ---

LARGE = {
    "run of large windows": ["run", "large.toml"],
    "run JSON": ["run", "scenario.json"],
    "run": ["run", "scenario.toml"],
    "campaign": ["campaign", "campaign.toml"],
    "many runs": ["campaign", "many.toml"],
    "describe": ["trace", "describe", "trace.down"],
    "validate": ["validate", "scenario.toml", "wide.toml"],
    "import": ["trace", "import", "fast.csv", "--output", "out.down"],
    "crowd": ["run", "wide.toml"],
    "why": ["why", "scenario.toml", "--flow", "f"],
}


# Below, libraries that commands load on first use, which are not of this package, do not fit.
@pytest.mark.parametrize("mebibytes", [40, 60, 100])
@pytest.mark.parametrize("command", LARGE)
def test_without_memory_a_command_ends_with_a_sentence(call, folder, command, mebibytes):
    text = (folder / "scenario.toml").read_text("utf-8")
    flows = "".join(f'[[flows]]\nname = "f{n}"\nfrom = "a"\nto = "b"\ntcp = "reno"\n' for n in range(3000))
    (folder / "wide.toml").write_text(text + flows, "utf-8")
    (folder / "large.toml").write_text(
        text.replace('"2 s"', '"200 s"').replace("2 Mbit/s", "500 Mbit/s"), "utf-8"
    )
    (folder / "many.toml").write_text('base = "scenario.toml"\nruns = 20000\n', "utf-8")
    (folder / "fast.csv").write_text("time_s,rate_mbps\n0,20000\n10,20000\n", "utf-8")
    said = call(*LARGE[command], memory=mebibytes << 20, timeout_s=60.0, leaves_partial=True)
    assert said.code in (0, 2), said
    if list(folder.rglob("*.partial")):
        # The engine ends the process as a kill does, even while a store is written; whoever opens it next tidies up.
        assert (said.code, "campaign" in LARGE[command]) == (2, True), said
        assert call(*LARGE[command], timeout_s=100.0).code == 0


def test_a_small_input_needs_little_memory(call):
    for command in (
        ["run", "scenario.toml"],
        ["validate", "scenario.json"],
        ["trace", "describe", "trace.down"],
    ):
        assert call(*command, memory=40 << 20).code == 0


# --- signals ---

ENDLESS = {
    "run": (["run", "long.toml"], "started"),
    "why": (["why", "long.toml", "--flow", "f"], "started"),
    "campaign": (["campaign", "long-campaign.toml", "--output", "store"], "store"),
    "controls": (
        ["campaign", "own-campaign.toml", "--output", "store", "--threads", "2", *ALLOWED],
        "started",
    ),
    "search": (
        ["search", "reno", "--objective", "delay", "--budget", "9999", "--output", "found"],
        "found/journal.log",
    ),
    "watch": (["run", "scenario.toml", "--watch"], "started"),
}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("command", ENDLESS)
def test_a_signal_interrupts_and_leaves_nothing_behind(call, folder, command, number):
    text = (folder / "scenario.toml").read_text("utf-8").replace('"2 s"', '"100000 s"')
    (folder / "long.toml").write_text(text, "utf-8")
    (folder / "long-campaign.toml").write_text('base = "long.toml"\nruns = 100\n', "utf-8")
    write_module(folder, module_of("open('started', 'w').close()"))
    module = (folder / "with-module.toml").read_text("utf-8").replace('"2 s"', '"100000 s"')
    (folder / "with-module.toml").write_text(module, "utf-8")
    arguments, file = ENDLESS[command]
    if command in ("run", "why", "watch"):
        (folder / "started").write_text("")
    said = call(*arguments, signals=[(number, file)], timeout_s=60.0)
    assert said.code == 128 + number, said
    assert "interrupted" in said.stderr


def test_workers_end_with_a_campaign_that_is_killed(folder):
    """The real thing: an interpreter of its own, killed so that it cannot tidy up."""
    write_module(folder, module_of("open(f'started-{__import__(\"os\").getpid()}', 'w').close()"))
    module = (folder / "with-module.toml").read_text("utf-8").replace('"2 s"', '"100000 s"')
    (folder / "with-module.toml").write_text(module, "utf-8")
    command = [sys.executable, "-m", "dumbbell.cli", "campaign", "own-campaign.toml", "--threads", "2"]
    command += ALLOWED
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL) as campaign:
        deadline = time.monotonic() + 60
        while len(list(folder.glob("started-*"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        campaign.kill()
    workers = [int(file.name.partition("-")[2]) for file in folder.glob("started-*")]
    assert len(workers) == 2
    deadline = time.monotonic() + 10
    while any(map(is_running, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_running, workers))


def is_running(process):
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
