"""The identity of the engine: what determines its results, and nothing else."""

import os
import shutil
import subprocess

import pytest

from conftest import ROOT
from dumbbell import _engine, campaign

SCRIPT = ROOT / "crates" / "dumbbell-py" / "build.rs"


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The build script, compiled."""
    target = tmp_path_factory.mktemp("script") / "script"
    subprocess.run(["rustc", "--edition", "2024", str(SCRIPT), "-o", str(target)], check=True)
    return target


def checkout(place):
    """Copy what an engine is built from."""
    place.mkdir()
    shutil.copytree(ROOT / "crates", place / "crates", ignore=shutil.ignore_patterns("target"))
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / name, place / name)
    return place


def digest(script, place, **settings):
    """Return the digest that the build script states for a checkout."""
    environment = {
        **os.environ, "CARGO_MANIFEST_DIR": str(place / "crates" / "dumbbell-py"), "RUSTC": "rustc",
        "TARGET": "here", "PROFILE": "release", "OPT_LEVEL": "3", **settings,
    }  # fmt: skip
    said = subprocess.run([str(script)], env=environment, capture_output=True, text=True, check=True).stdout
    (line,) = [line for line in said.splitlines() if line.startswith("cargo:rustc-env=")]
    return line.rpartition("=")[2]


def test_two_checkouts_of_one_state_are_one_engine(script, tmp_path):
    one, other = (checkout(tmp_path / name) for name in ("one", "other"))
    assert digest(script, one) == digest(script, other)


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("crates/dumbbell-net/src/lib.rs", True),
        ("crates/dumbbell-cc/src/algorithms/new.rs", True),
        ("crates/dumbbell-net/data/tcplib/telnet_pktsize.csv", True),
        ("crates/dumbbell-py/Cargo.toml", True),
        ("crates/dumbbell-py/build.rs", True),
        ("Cargo.lock", True),
        ("Cargo.toml", True),
        ("crates/dumbbell-sim/tests/new.rs", False),
        ("crates/dumbbell-testbed/src/wire.rs", False),
        ("crates/dumbbell-bpf/src/loader.rs", False),
        ("crates/dumbbell-capture/src/qlog.rs", False),
        ("crates/dumbbell-net/data/tcplib/NOTICE.md", False),
        ("README.md", False),
    ],
)
def test_what_an_engine_is_built_from_decides(script, tmp_path, file, counts):
    place = checkout(tmp_path / "one")
    before = digest(script, place)
    with (place / file).open("a", encoding="utf-8") as opened:
        opened.write("\n# one line more\n")
    assert (digest(script, place) != before) == counts


def test_a_renamed_file_or_another_profile_gives_another_engine(script, tmp_path):
    place = checkout(tmp_path / "one")
    before = digest(script, place)
    assert digest(script, place, PROFILE="debug") != before
    assert digest(script, place, TARGET="elsewhere") != before
    source = place / "crates" / "dumbbell-net" / "src" / "lib.rs"
    source.replace(source.with_name("other.rs"))
    assert digest(script, place) != before


def test_crates_without_their_workspace_can_be_built(script, tmp_path):
    place = checkout(tmp_path / "one")
    for name in ("Cargo.toml", "Cargo.lock"):
        (place / name).unlink()
    assert len(digest(script, place)) == 16


def test_stores_are_named_by_version_and_digest():
    assert campaign.engine_identity() == f"{_engine.version()}-{_engine.digest()}"
    assert len(_engine.digest()) == 16
