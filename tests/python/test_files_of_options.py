"""Every file and folder that an option names, and every kind of node in its place: nothing but a file is ever replaced.

The nodes are made by the tests in folders of their own. The table has each option of the command line, so that a new one
fails here until it is added.
"""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import socket
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import pytest
import typer
from typer.testing import CliRunner

from dumbbell import files, testbed
from dumbbell.caller import become_caller, user_of_children
from dumbbell.cli import app
from dumbbell.errors import ResultsError, ScenarioError
from dumbbell.runs import run
from small_claimed_paper import write_small_claims
from small_paper import SMALL, forget_papers, write_paper
from small_peer import write_peers
from test_testbed import ANSWER

NOBODY = 65_534

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="SKIPPED: needs root to make devices and to drop rights"
)

# Words in place of a name, by which a parameter of text names a file all the same.
METAVARS = {"FILE", "DIR", "PICTURE", "PAGE", "OUT", "[FILE]", "FILE..."}


class Option(NamedTuple):
    """An option that names a file or folder.

    `arguments` are those of a quick run; `HERE` is the folder of the test, and `PATH` what the option names. `ending` is
    that of its name.
    """

    arguments: str
    ending: str = ""
    is_slow: bool = False


FILES = {
    ("init", "file"): Option("init PATH", ".toml"),
    ("run", "plot"): Option("run HERE/s.toml --plot PATH", ".svg"),
    ("run", "pcap"): Option("run HERE/s.toml --pcap PATH"),
    ("run", "qlog"): Option("run HERE/s.toml --qlog PATH"),
    ("why", "html"): Option("why HERE/s.toml --flow fg --at 1s --html PATH", ".html"),
    ("inspect", "plot"): Option("inspect HERE/c.pcapng --plot PATH", ".svg"),
    ("inspect", "output"): Option("inspect HERE/c.pcapng --output PATH", ".html"),
    ("trace import", "output"): Option("trace import HERE/rates.csv --output PATH"),
    ("reproduce", "export"): Option(
        "reproduce small-claims --quick --claim S-1 --papers HERE/papers --output HERE/results --export PATH",
        ".toml",
    ),
    ("testbed run", "pcap"): Option("testbed run HERE/s.toml --pcap PATH"),
    ("bundle create", "output"): Option("bundle create HERE/s.toml --output PATH", ".zip"),
}

FOLDERS = {
    ("run", "trace"): Option("run HERE/s.toml --trace PATH"),
    ("run", "csv"): Option("run HERE/s.toml --csv PATH"),
    ("inspect", "output"): Option("inspect HERE/c.pcapng --output PATH"),
    ("inspect", "parquet"): Option("inspect HERE/c.pcapng --parquet PATH"),
    ("inspect", "csv"): Option("inspect HERE/c.pcapng --flow 1 --csv PATH"),
    ("campaign", "output"): Option("campaign HERE/c.toml --output PATH"),
    ("fit", "output"): Option("fit HERE/flow.pcapng --controls reno --output PATH", is_slow=True),
    ("compare", "output"): Option("compare HERE/s.toml HERE/s.toml --runs 1 --output PATH"),
    ("new algorithm", "output"): Option("new algorithm mine --output PATH"),
    ("testbed run", "output"): Option("testbed run HERE/s.toml --output PATH"),
    ("reproduce", "output"): Option("reproduce small-paper --papers HERE/papers --output PATH"),
    ("cross-validate", "output"): Option(
        "cross-validate small --peers HERE/peers --output PATH", is_slow=True
    ),
    ("evaluate", "output"): Option("evaluate vegas --quick --output PATH", is_slow=True),
    ("search", "output"): Option("search vegas --objective delay --output PATH", is_slow=True),
    ("bench peers", "output"): Option("bench peers --output PATH", is_slow=True),
    ("bench alone", "output"): Option("bench alone --quick --output PATH", is_slow=True),
    ("bench scale", "output"): Option("bench scale --output PATH", is_slow=True),
}

INPUTS = {
    ("run", "file"): "run PATH",
    ("why", "file"): "why PATH --flow fg",
    ("fit", "capture"): "fit PATH",
    ("inspect", "capture"): "inspect PATH",
    ("validate", "files"): "validate PATH",
    ("campaign", "file"): "campaign PATH",
    ("compare", "a"): "compare PATH HERE/s.toml --runs 1",
    ("compare", "b"): "compare HERE/s.toml PATH --runs 1",
    ("bundle create", "file"): "bundle create PATH --output HERE/out.zip",
    ("bundle verify", "file"): "bundle verify PATH",
    ("search", "bounds"): "search vegas --objective delay --bounds PATH",
    ("trace import", "file"): "trace import PATH --output HERE/out",
    ("trace describe", "files"): "trace describe PATH",
    ("testbed run", "file"): "testbed run PATH",
}

INPUT_FOLDERS = {
    ("reproduce", "folder"),
    ("cross-validate", "folder"),
    ("bench peers", "folder"),
    ("script", "paths"),
}

# What is made there must not exist.
NEW_FOLDERS = {
    ("examples", "folder"): "examples PATH",
    ("kernel build", "keep"): "kernel build --keep PATH",
}

# Inputs that a file names.
NAMED = {
    "the base of a campaign": "campaign HERE/base.toml",
    "the trace of a link": "run HERE/traced.json",
}


def options(group: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the commands and parameters that name files and folders."""
    for inner, command in group.commands.items():
        path = f"{name} {inner}".strip()
        if hasattr(command, "commands"):
            yield from options(command, path)
            continue
        for parameter, hint in get_type_hints(command.callback, include_extras=True).items():
            metavars = {getattr(stated, "metavar", None) for stated in getattr(hint, "__metadata__", ())}
            if "Path" in str(hint) or metavars & METAVARS:
                yield path, parameter


def test_every_option_that_names_a_file_is_in_a_table() -> None:
    assert {*options(typer.main.get_command(app))} == {
        *FILES,
        *FOLDERS,
        *INPUTS,
        *INPUT_FOLDERS,
        *NEW_FOLDERS,
    }


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """A test that waits for ever fails."""

    def end(*_: object) -> None:
        raise TimeoutError("nothing happened for a minute")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    forget_papers()


@pytest.fixture
def here(tmp_path, two_hosts, monkeypatch) -> Path:
    """A folder with the inputs of all commands; nodes are made in `here / "nodes"`."""
    run(two_hosts.with_values({"duration": "2 s"}), pcap=tmp_path / "c.pcapng")
    (tmp_path / "s.toml").write_text(two_hosts.with_values({"duration": "2 s"}).to_toml(), encoding="utf-8")
    (tmp_path / "c.toml").write_text('base = "s.toml"\nruns = 2\n[axes]\n', encoding="utf-8")
    (tmp_path / "base.toml").write_text('base = "nodes/node"\nruns = 2\n[axes]\n', encoding="utf-8")
    traced = two_hosts.to_dict()
    del traced["links"][1]["rate"]
    traced["links"][1]["opportunities"] = {"file": "nodes/node"}
    (tmp_path / "traced.json").write_text(json.dumps(traced), encoding="utf-8")
    (tmp_path / "rates.csv").write_text("time_s,rate_mbps\n0,10\n1,20\n", encoding="utf-8")
    write_paper(tmp_path / "papers", "small-paper", SMALL)
    write_small_claims(tmp_path / "papers")
    write_peers(tmp_path / "peers")
    binary = tmp_path / "dumbbell-testbed"
    binary.write_text(
        f"#!{sys.executable}\nimport json, sys\nfrom pathlib import Path\nrequest = json.load(sys.stdin)\n"
        f"if request['pcap']: Path(request['pcap']).write_text('packets')\nprint({json.dumps(ANSWER)!r})\n",
        encoding="utf-8",
    )
    binary.chmod(0o755)
    monkeypatch.setenv(testbed.VARIABLE, str(binary))
    monkeypatch.delenv("SUDO_UID", raising=False)
    (tmp_path / "nodes").mkdir()
    return tmp_path


def invoke(arguments: str, here: Path, path: Path) -> tuple[int, str]:
    """Return the exit code and standard error of a command."""
    words = [word.replace("HERE", str(here)).replace("PATH", str(path)) for word in arguments.split()]
    result = CliRunner().invoke(app, words)
    assert result.exit_code in (0, 2), (result.output, result.exception)
    return result.exit_code, result.stderr


def refusal(arguments: str, here: Path, path: Path) -> str:
    """Return the one sentence by which a command refuses a path."""
    code, text = invoke(arguments, here, path)
    assert code == 2, text
    errors = [line for line in text.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, text
    assert "accepted: " in errors[0], text
    return errors[0]


def state(path: Path) -> tuple[int, int, int, str]:
    """Return what a node is: its kind, its number, its device, and where it leads."""
    found = path.lstat()
    leads = str(path.readlink()) if path.is_symlink() else ""
    return stat.S_IFMT(found.st_mode), found.st_ino, found.st_rdev, leads


def reading(node: Path) -> Callable[[], bytes]:
    """Begin to read a pipe, and return a function that returns its content."""
    descriptor, read = os.open(node, os.O_RDONLY | os.O_NONBLOCK), []
    os.set_blocking(descriptor, True)

    def to_end() -> None:
        # Until something writes, the end seems to be there.
        select.select([descriptor], [], [])
        with os.fdopen(descriptor, "rb") as opened:
            read.append(opened.read())

    reader = threading.Thread(target=to_end)
    reader.start()

    def content() -> bytes:
        reader.join()
        return read[0]

    return content


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def device(path: Path, kind: int, major: int, minor: int) -> None:
    os.mknod(path, kind | 0o666, os.makedev(major, minor))


def null(path: Path) -> None:
    device(path, stat.S_IFCHR, 1, 3)


def full(path: Path) -> None:
    device(path, stat.S_IFCHR, 1, 7)


def disk(path: Path) -> None:
    """A disk that is not there."""
    device(path, stat.S_IFBLK, 7, 1_000_000)


def bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        before = Path.cwd()
        # The names of sockets are short.
        os.chdir(path.parent)
        made.bind(path.name)
        os.chdir(before)


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def to_itself_by_two(path: Path) -> None:
    path.symlink_to("other")
    (path.parent / "other").symlink_to(path.name)


def folder(path: Path) -> None:
    path.mkdir()


REFUSED: dict[Callable[[Path], None], str] = {
    folder: "is a folder; accepted: the name of a file",
    disk: "is a device; accepted: a file, or a pipe with a reader",
    bound: "is a socket; accepted: a file, or a pipe with a reader",
    os.mkfifo: "is a pipe that nothing reads; accepted: a file, or a pipe with a reader",
    full: "could not be written: No space left on device; accepted: ",
    loop: "could not be written: Too many levels of symbolic links; accepted: ",
    to_itself_by_two: "could not be written: Too many levels of symbolic links; accepted: ",
}

output_files = pytest.mark.parametrize("key", [key for key in FILES if key[0] != "init"], ids=" --".join)


@needs_root
@output_files
@pytest.mark.parametrize("make", REFUSED, ids=lambda make: make.__name__)
def test_what_is_no_file_is_refused_in_a_sentence_and_stays(here, key, make):
    arguments, ending, _ = FILES[key]
    node = here / "nodes" / f"node{ending}"
    make(node)
    before, names = state(node), left(here / "nodes")
    assert REFUSED[make] in refusal(arguments, here, node)
    assert (state(node), left(here / "nodes")) == (before, names)


@needs_root
@pytest.mark.parametrize("make", [*REFUSED, null], ids=lambda make: make.__name__)
def test_what_is_no_file_stays_also_behind_links(tmp_path, make):
    node, link = tmp_path / "node", tmp_path / "link"
    make(node)
    (tmp_path / "second").symlink_to(node)
    link.symlink_to("second")
    before, names = state(node), left(tmp_path)
    if make is null:
        files.write_text(link, "text")
    else:
        with pytest.raises(ResultsError, match=re.escape(REFUSED[make])):
            files.write_text(link, "text")
    assert (state(node), left(tmp_path)) == (before, names)


@output_files
def test_a_pipe_with_a_reader_gets_the_content_and_stays(here, key):
    arguments, ending, _ = FILES[key]
    node, plain = here / "nodes" / f"node{ending}", here / f"plain{ending}"
    os.mkfifo(node)
    before, read = state(node), reading(node)
    assert invoke(arguments, here, node)[0] == 0
    assert invoke(arguments, here, plain)[0] == 0
    assert len(read()) == len(plain.read_bytes()) > 0
    assert (state(node), left(here / "nodes")) == (before, [node.name])


@needs_root
@output_files
def test_a_device_gets_the_content_and_stays(here, key):
    arguments, ending, _ = FILES[key]
    node = here / "nodes" / f"node{ending}"
    null(node)
    before = state(node)
    assert invoke(arguments, here, node)[0] == 0
    assert (state(node), left(here / "nodes")) == (before, [node.name])


@pytest.mark.parametrize("key", FILES, ids=" --".join)
def test_missing_folders_are_made_for_files(here, key):
    arguments, ending, _ = FILES[key]
    path = here / "nodes" / "one" / "two" / f"file{ending}"
    assert invoke(arguments, here, path)[0] == 0
    assert path.stat().st_size > 0


@pytest.mark.parametrize("key", FILES, ids=" --".join)
def test_a_dangling_link_stays_and_its_target_is_made(here, key):
    arguments, ending, _ = FILES[key]
    link, target = here / "nodes" / f"link{ending}", here / "nodes" / "new" / f"target{ending}"
    link.symlink_to(f"new/{target.name}")
    before = state(link)
    assert invoke(arguments, here, link)[0] == 0
    assert state(link) == before
    assert target.stat().st_size > 0


@output_files
def test_a_file_is_replaced_whole_through_a_link_and_keeps_its_permissions(here, key):
    arguments, ending, _ = FILES[key]
    link, target = here / "nodes" / f"link{ending}", here / "nodes" / f"target{ending}"
    target.write_text("before", encoding="utf-8")
    target.chmod(0o604)
    link.symlink_to(target.name)
    before, number = state(link), target.stat().st_ino
    with target.open(encoding="utf-8") as opened:
        assert invoke(arguments, here, link)[0] == 0
        assert opened.read() == "before"
    assert state(link) == before
    assert (target.stat().st_mode & 0o7777, target.stat().st_ino == number) == (0o604, False)
    assert target.read_bytes() != b"before"


@pytest.mark.parametrize("make", [folder, os.mkfifo, lambda path: path.write_text("before")])
def test_init_replaces_nothing(here, make):
    node = here / "nodes" / "node.toml"
    make(node)
    before = state(node)
    code, text = invoke("init PATH", here, node)
    assert (code, "exists; expected a name without such a file" in text) == (2, True)
    assert state(node) == before


@pytest.mark.parametrize("key", FOLDERS, ids=" --".join)
@pytest.mark.parametrize(
    "make", [os.mkfifo, lambda path: path.write_text("before"), loop], ids=["pipe", "file", "loop"]
)
def test_what_is_no_folder_is_refused_before_the_runs_and_stays(here, key, make):
    node = here / "nodes" / "node"
    make(node)
    before = state(node)
    refusal(FOLDERS[key].arguments, here, node)
    assert (state(node), left(here / "nodes")) == (before, ["node"])


@pytest.mark.parametrize(
    "key", [key for key, option in FOLDERS.items() if not option.is_slow], ids=" --".join
)
@pytest.mark.parametrize("target", ["there", "missing/folder"])
def test_missing_folders_are_made_and_links_to_folders_stay(here, key, target):
    link = here / "nodes" / "link"
    (here / "nodes" / "there").mkdir()
    link.symlink_to(target)
    before = state(link)
    assert invoke(FOLDERS[key].arguments, here, link / "inner")[0] == 0
    assert state(link) == before
    assert any((here / "nodes" / target / "inner").iterdir())


@pytest.mark.parametrize("key", NEW_FOLDERS, ids=" --".join)
@pytest.mark.parametrize("make", [os.mkfifo, folder], ids=lambda make: make.__name__)
def test_a_new_folder_is_refused_where_something_is(here, key, make):
    node = here / "nodes" / "node"
    make(node)
    before = state(node)
    code, text = invoke(NEW_FOLDERS[key], here, node)
    assert code == 2
    assert "expected a folder that does not exist yet" in text
    assert state(node) == before


INPUT_CASES = {**{" ".join(key): arguments for key, arguments in INPUTS.items()}, **NAMED}


@needs_root
@pytest.mark.parametrize("what", INPUT_CASES)
@pytest.mark.parametrize("make", [os.mkfifo, null, disk, bound, folder], ids=lambda make: make.__name__)
def test_an_input_that_cannot_be_read_to_its_end_is_refused_in_a_sentence(here, what, make, monkeypatch):
    monkeypatch.setattr(files, "WRITER_S", 0.05)
    node = here / "nodes" / "node"
    make(node)
    assert "accepted: " in refusal(INPUT_CASES[what], here, node)


def test_an_input_may_be_a_pipe(here):
    node = here / "nodes" / "node"
    os.mkfifo(node)
    writer = threading.Thread(target=lambda: node.write_bytes((here / "s.toml").read_bytes()))
    writer.start()
    assert invoke("run PATH", here, node)[0] == 0
    writer.join()


def test_a_pipe_is_read_up_to_the_stated_size(tmp_path):
    node = tmp_path / "node"
    os.mkfifo(node)
    for most, length in ((-1, 200_000), (100_000, 100_000), (1, 1)):

        def write() -> None:
            with node.open("wb", buffering=0) as opened:
                try:
                    for _ in range(20):
                        opened.write(b"x" * 10_000)
                except BrokenPipeError:
                    pass

        writer = threading.Thread(target=write)
        writer.start()
        assert len(files.read_input(node, most)) == length
        writer.join()


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/FD", "/proc/self/fd/FD"])
def test_a_descriptor_of_this_process_is_written_to_and_never_replaced(tmp_path, name, capfd):
    place = tmp_path / "redirected"
    with place.open("w+b", buffering=0) as opened:
        opened.write(b"before ")
        before, number = state(place), opened.fileno()
        if name == "/dev/stdout":
            kept = os.dup(1)
            os.dup2(number, 1)
        try:
            files.write_text(Path(name.replace("FD", str(number))), "content")
        finally:
            if name == "/dev/stdout":
                os.dup2(kept, 1)
                os.close(kept)
        opened.write(b" after")
    assert (place.read_bytes(), state(place)) == (b"before content after", before)


def test_a_stream_gets_nothing_of_an_output_that_fails(tmp_path):
    node = tmp_path / "node"
    os.mkfifo(node)
    read = reading(node)

    def fail() -> None:
        with files.replacing(node) as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert read() == b""


def test_a_new_file_has_the_permissions_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        files.write_text(tmp_path / "new", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_a_link_in_place_of_the_unfinished_file_is_not_followed(tmp_path):
    other = tmp_path / "other"
    other.write_text("before", encoding="utf-8")
    (tmp_path / f".new.{os.getpid()}.partial").symlink_to(other)
    files.write_text(tmp_path / "new", "text")
    assert (other.read_text("utf-8"), left(tmp_path)) == ("before", ["new", "other"])


@pytest.mark.parametrize("is_left", [False, True])
def test_an_unfinished_file_can_be_read_also_where_a_killed_process_left_one(tmp_path, is_left):
    partial = tmp_path / f".file.{os.getpid()}.partial"
    if is_left:
        partial.write_text("left", encoding="utf-8")
    with files.replacing(tmp_path / "file") as file:
        file.write(b"content")
        file.seek(0)
        assert file.read() == b"content"
        assert partial.exists()
    assert ((tmp_path / "file").read_text("utf-8"), left(tmp_path)) == ("content", ["file"])


def test_a_link_that_takes_the_place_of_a_removed_unfinished_file_is_not_followed(tmp_path, monkeypatch):
    (tmp_path / "other").write_text("ours", encoding="utf-8")
    partial = tmp_path / f".file.{os.getpid()}.partial"
    partial.write_text("left", encoding="utf-8")
    remove = Path.unlink

    def replaced(path, **options):
        remove(path, **options)
        monkeypatch.undo()
        path.symlink_to("other")

    monkeypatch.setattr(Path, "unlink", replaced)
    with pytest.raises(ResultsError, match="could not be written: File exists"):
        files.write_text(tmp_path / "file", "theirs")
    assert (tmp_path / "other").read_text("utf-8") == "ours"
    assert not (tmp_path / "file").exists()


def test_the_name_of_each_folder_that_is_made_is_on_the_disk(tmp_path, monkeypatch):
    flushed = []

    def flush(descriptor):
        flushed.append(Path(f"/proc/self/fd/{descriptor}").readlink())

    monkeypatch.setattr(os, "fsync", flush)
    files.make_folder(tmp_path / "one" / "two")
    assert flushed == [tmp_path, tmp_path / "one"]
    files.make_folder(tmp_path / "one" / "two")
    assert len(flushed) == 2


@needs_root
def test_a_replaced_file_keeps_its_owner_and_group(tmp_path):
    path = tmp_path / "file"
    path.write_text("before", encoding="utf-8")
    os.chown(path, NOBODY, NOBODY)
    path.chmod(0o4640)
    files.write_text(path, "after")
    found = path.stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o7777) == (NOBODY, NOBODY, 0o640)


@pytest.fixture
def ours(monkeypatch) -> Iterator[Path]:
    """A folder of this process, which all may enter, with a folder `theirs` of the one who called sudo."""
    place = Path(tempfile.mkdtemp(prefix="dumbbell-files-"))
    place.chmod(0o755)
    (place / "theirs").mkdir()
    os.chown(place / "theirs", NOBODY, NOBODY)
    (place / "file").write_text("ours", encoding="utf-8")
    (place / "file").chmod(0o644)
    monkeypatch.setenv("SUDO_UID", str(NOBODY))
    monkeypatch.setenv("SUDO_GID", str(NOBODY))
    groups = os.getgroups()
    yield place
    os.seteuid(0)
    os.setegid(0)
    os.setgroups(groups)
    shutil.rmtree(place)


@pytest.fixture
def shared(here, monkeypatch) -> Iterator[Path]:
    """A copy of the folder of inputs that other users may read; they may not enter that of a test."""
    place = Path(tempfile.mkdtemp(prefix="dumbbell-inputs-"))
    place.chmod(0o755)
    shutil.copytree(here, place, dirs_exist_ok=True)
    place.chmod(0o755)
    monkeypatch.setenv(testbed.VARIABLE, str(place / "dumbbell-testbed"))
    yield place
    shutil.rmtree(place)


@needs_root
@pytest.mark.parametrize("name", ["file", "new", "theirs/link", "theirs/dangling", "theirs/folder/new"])
def test_under_sudo_nothing_is_written_where_the_caller_may_not(ours, name):
    (ours / "theirs" / "link").symlink_to(ours / "file")
    (ours / "theirs" / "dangling").symlink_to(ours / "new")
    (ours / "theirs" / "folder").symlink_to(ours)
    become_caller()
    with pytest.raises(ResultsError, match="could not be written: Permission denied"):
        files.write_text(ours / name, "theirs")
    assert ((ours / "file").read_text("utf-8"), left(ours)) == ("ours", ["file", "theirs"])


@needs_root
def test_under_sudo_new_files_and_folders_belong_to_the_caller(ours):
    become_caller()
    files.write_text(ours / "theirs" / "one" / "new", "theirs")
    for path in (ours / "theirs" / "one", ours / "theirs" / "one" / "new"):
        assert (path.stat().st_uid, path.stat().st_gid) == (NOBODY, NOBODY)


@needs_root
def test_under_sudo_the_groups_of_the_caller_count(ours, monkeypatch):
    monkeypatch.setattr(os, "getgrouplist", lambda _, gid: [gid, 4242])
    (ours / "shared").mkdir()
    os.chown(ours / "shared", 0, 4242)
    (ours / "shared").chmod(0o770)
    become_caller()
    files.write_text(ours / "shared" / "new", "theirs")
    assert (ours / "shared" / "new").stat().st_uid == NOBODY


@needs_root
def test_a_file_of_another_group_does_not_give_its_rights_to_that_of_the_caller(ours):
    path = ours / "theirs" / "file"
    path.write_text("before", encoding="utf-8")
    os.chown(path, 0, 4242)
    path.chmod(0o666)
    become_caller()
    files.write_text(path, "after")
    found = path.stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (NOBODY, NOBODY, 0o606)


@needs_root
def test_a_file_that_may_not_be_written_is_not_replaced(ours):
    path = ours / "theirs" / "file"
    path.write_text("before", encoding="utf-8")
    path.chmod(0o444)
    become_caller()
    with pytest.raises(ResultsError, match="could not be written: Permission denied"):
        files.write_text(path, "after")
    assert path.read_text("utf-8") == "before"


@needs_root
@pytest.mark.parametrize("option", ["--pcap", "--output"])
def test_the_testbed_writes_as_the_caller_and_its_binary_is_root(shared, ours, option, monkeypatch):
    monkeypatch.setenv("SUDO_UID", str(NOBODY))
    binary = Path(os.environ[testbed.VARIABLE])
    text = binary.read_text("utf-8").replace("request =", "import os; assert os.geteuid() == 0; request =")
    binary.write_text(text, encoding="utf-8")
    code, said = invoke(f"testbed run HERE/s.toml {option} PATH", shared, ours / "theirs" / "new")
    assert code == 0, said
    assert user_of_children() == 0
    assert all(path.stat().st_uid == NOBODY for path in (ours / "theirs").rglob("*"))
    assert "Permission denied" in refusal(f"testbed run HERE/s.toml {option} PATH", shared, ours / "new")
    assert left(ours) == ["file", "theirs"]


@needs_root
def test_a_cross_validation_writes_as_the_caller(shared, ours, monkeypatch):
    monkeypatch.setenv("SUDO_UID", str(NOBODY))
    command = "cross-validate small --peers HERE/peers --output PATH"
    code, said = invoke(command, shared, ours / "theirs" / "new")
    written = [*(ours / "theirs").rglob("*")]
    assert all(path.stat().st_uid == NOBODY for path in written)
    if os.access(os.__file__, os.R_OK, effective_ids=True) and os.access(
        files.__file__, os.R_OK, effective_ids=True
    ):
        assert code == 0, said
        assert [path for path in written if path.suffix == ".html"]
        assert "Permission denied" in refusal(command, shared, ours / "new")
    else:
        # An installation in the home of root.
        assert (code, written) == (2, [])
        assert (
            f"cannot be read by user {NOBODY}; expected an installation that the caller of sudo can read"
            in said
        )
    assert left(ours) == ["file", "theirs"]


@needs_root
@pytest.mark.parametrize("value", ["", "me", "-1", "4294967295", "1" * 5000])
def test_variables_of_sudo_that_are_no_numbers_are_refused(monkeypatch, value):
    monkeypatch.setenv("SUDO_UID", value)
    monkeypatch.setenv("SUDO_GID", "0")
    with pytest.raises(
        ScenarioError, match=r"SUDO_UID: .* is not accepted; expected a number, as sudo sets it"
    ):
        become_caller()
    assert os.geteuid() == 0
