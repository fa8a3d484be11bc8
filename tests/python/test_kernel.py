"""Kernels that run in simulated time: the recipe of their build, its errors, and the cache."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

import pytest

from command_line import error_of, invoke, refused
from dumbbell.errors import MachineError
from dumbbell.kernel import Kernel, cache, kernels
from dumbbell.kernel import build as building


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("DUMBBELL_KERNELS", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


def keep(folder: Path, version: str) -> Kernel:
    """Put the description of a kernel into a cache."""
    kernel = Kernel(version, "0123456789abcdef", "6.12", ("reno", "cubic"))
    place = folder / kernel.folder
    place.mkdir(parents=True)
    (place / "kernel.json").write_text(kernel.to_json())
    return kernel


def test_kernels_are_listed_by_version(folder: Path) -> None:
    assert cache() == folder
    assert kernels() == []
    assert "dumbbell kernel build" in invoke("kernel", "list").stderr
    found = [keep(folder, version) for version in ("6.12.117", "6.12.9", "6.1.192")]
    (folder / ".build-unfinished").mkdir()
    (folder / "7.0-empty").mkdir()
    assert kernels() == [found[2], found[1], found[0]]
    assert "6.12.117" in invoke("kernel", "list").stdout
    listed = json.loads(invoke("kernel", "list", "--json").stdout)
    assert [kernel["version"] for kernel in listed] == ["6.1.192", "6.12.9", "6.12.117"]


def test_the_cache_is_in_the_folder_of_caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DUMBBELL_KERNELS")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache() == tmp_path / "dumbbell" / "kernels"


def test_a_missing_tool_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def which(name: str) -> str | None:
        return None if name in ("flex", "ld") else f"/usr/bin/{name}"

    monkeypatch.setattr(shutil, "which", which)
    text = error_of(invoke("kernel", "build"), code=3)
    assert "flex, ld" in text
    assert "apt install binutils flex" in text


def test_what_is_no_tree_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: Path) -> None:
    monkeypatch.setattr(building, "_check_machine", lambda: None)
    assert "has no sources of a kernel" in refused("kernel", "build", "six")
    assert "has no sources of a kernel" in refused("kernel", "build", tmp_path)
    assert "--keep" in refused("kernel", "build", "--keep", tmp_path)
    assert list(folder.glob("*")) == []


def test_what_the_release_lacks_is_fetched_from_later_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls = []

    def run(*command: str, folder: Path | None = None) -> str:
        calls.append(command)
        if command[:4] == ("apt-get", "-q", "download", "linux-source-9.9") and len(command) == 4:
            raise MachineError("there is none")
        if command[2] == "download":
            assert folder is not None
            (folder / "linux-source-9.9.deb").touch()
        return ""

    monkeypatch.setattr(building, "_run", run)
    monkeypatch.setattr(building, "KEYRING", tmp_path)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    with pytest.raises(MachineError, match=f"apt install {tmp_path.stem}"):
        building._package("9.9", tmp_path, lambda _text: None)
    monkeypatch.setattr(building, "KEYRING", tmp_path / "keys.gpg")
    (tmp_path / "keys.gpg").touch()
    calls.clear()
    told: list[str] = []
    archive = building._package("9.9", tmp_path, told.append)
    assert archive.relative_to(tmp_path).as_posix() == "package/usr/src/linux-source-9.9.tar.xz"
    assert told == [
        "fetching linux-source-9.9",
        "fetching linux-source-9.9 from Debian stable, stable-backports, testing, unstable",
    ]
    assert [command[2] for command in calls[:3]] == ["download", "update", "download"]
    # Neither the sources nor the lists of the machine change.
    assert f"--option=Dir::State={tmp_path / 'apt'}" in calls[1]
    assert "--option=Dir::Etc::SourceParts=/dev/null" in calls[1]
    assert "signed-by=" in (tmp_path / "apt" / "sources.list").read_text()


def test_a_build_that_fails_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: Path
) -> None:
    monkeypatch.setattr(building, "_check_machine", lambda: None)
    place = tmp_path / "tree" / "arch" / "um"
    place.mkdir(parents=True)
    (place / "Kconfig").write_text("config HZ\n")
    (tmp_path / "tree" / "Makefile").write_text("mrproper:\n")
    result = invoke("kernel", "build", tmp_path / "tree")
    assert result.exit_code == 3
    assert "arch/um/Kconfig of this tree is not what is to be changed there" in result.stderr
    assert list(folder.glob("*")) == []
    assert (place / "Kconfig").read_text() == "config HZ\n"


def test_each_change_of_the_tree_has_a_reason(tmp_path: Path) -> None:
    recipe = tomllib.loads((building.HERE / "tree.toml").read_text())
    for edit in recipe["edits"]:
        assert edit["why"].endswith(".")
        path = tmp_path / edit["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(f"before\n{edit['before']}after\n")
    building._edit(tmp_path, recipe["edits"])
    for edit in recipe["edits"]:
        assert f"before\n{edit['after']}after\n" in (tmp_path / edit["file"]).read_text()
    with pytest.raises(MachineError, match="arch/um/Kconfig"):
        building._edit(tmp_path, recipe["edits"])
    assert {"64BIT", "UML_TIME_TRAVEL_SUPPORT", "VIRTIO_UML", "MODULES"} <= set(recipe["options"])


def test_a_program_that_fails_is_named_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"`sh -c .*` failed: x: error: y"):
        building._run("sh", "-c", "echo first; echo 'x: error: y' >&2; exit 1", folder=tmp_path)
    assert building._run("sh", "-c", "echo $KBUILD_BUILD_HOST") == "dumbbell\n"
