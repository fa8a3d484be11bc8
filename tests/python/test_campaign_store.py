"""The store of completed runs after kills, damage and full disks."""

import errno
import os
import random
import resource
import shutil
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dumbbell import ScenarioError
from dumbbell.campaign import Store
from dumbbell.campaign import store as campaign_store
from dumbbell.errors import ResultsError

FLIPS = 300


def runs(*numbers):
    return pd.DataFrame(
        {
            "hash": "0123456789abcdef",
            "seed": np.uint64(1),
            "run": np.array(numbers, dtype=np.uint64),
            "value": [float(number) for number in numbers],
            "parts": [[float(number)] * number for number in numbers],
        }
    )


def opened(place, **settings):
    return Store(place, ("value", "parts"), **settings)


def table(store):
    """Return the stored rows, by run number, as plain data."""
    frame = store.frame()
    return {
        int(row.run): (row.hash, row.seed, row.value, list(row.parts))
        for row in frame.itertuples(index=False)
    }


def kept(place):
    with opened(place) as store:
        assert store.warnings == []
        assert len(store.frame()) == len(table(store)), "a run is kept twice"
        return sorted(table(store))


def files(store):
    return sorted(file.name for file in store.place.glob("*.parquet"))


def test_what_is_added_is_there_for_the_next_process(tmp_path):
    assert kept(tmp_path) == []
    with opened(tmp_path) as store:
        store.add(runs(0, 1))
        store.add(runs(2))
    with opened(tmp_path) as store:
        frame = store.frame().set_index("run")
        assert list(frame.index) == [0, 1, 2]
        assert list(frame.loc[2, "parts"]) == [2.0, 2.0]
        assert ("0123456789abcdef", 1, 2) in store.known()


def test_eight_parts_of_similar_size_are_merged_before_the_next_addition(tmp_path):
    with opened(tmp_path) as store:
        counts = []
        for number in range(17):
            store.add(runs(number))
            counts.append(len(files(store)))
    assert counts == [1, 2, 3, 4, 5, 6, 7, 8, 2, 3, 4, 5, 6, 7, 8, 9, 3]


def test_the_number_of_files_stays_small(tmp_path):
    with opened(tmp_path) as store:
        for number in range(200):
            store.add(runs(number))
            assert len(files(store)) <= 22  # eight of one addition, seven of 8 and seven of 64
        assert len(files(store)) == 3 + 8  # 200 = 3 * 64 + 8, not merged before the next addition
        store.compact()
        (name,) = files(store)
        assert name.startswith("00000000-00000199-")
    assert kept(tmp_path) == list(range(200))


def test_a_compacted_part_is_numbered_as_if_each_run_had_been_added_separately(tmp_path):
    with opened(tmp_path) as store:
        store.add(runs(0, 1, 2))
        store.add(runs(3, 4))
        store.compact()
        assert [name[:17] for name in files(store)] == ["00000000-00000004"]


def test_the_numbers_of_lost_additions_are_not_given_again(tmp_path):
    with opened(tmp_path) as store:
        for number in range(3):
            store.add(runs(number))
        for name in files(store)[:2]:
            (store.place / name).unlink()
    with opened(tmp_path) as store:
        store.compact()
        assert [name[:17] for name in files(store)] == ["00000000-00000002"]
        store.add(runs(7))
    assert kept(tmp_path) == [2, 7]


def test_a_store_whose_runs_are_not_sorted_is_compacted_and_a_compacted_one_stays(tmp_path):
    with opened(tmp_path) as store:
        store.add(runs(1, 0))
        store.compact()
        (first,) = files(store)
        assert list(store.frame()["run"]) == [0, 1]
        written = (store.place / first).stat().st_ino
        store.compact()
        assert (store.place / first).stat().st_ino == written


def test_a_fresh_store_is_empty(tmp_path):
    with opened(tmp_path) as store:
        store.add(runs(0))
        (store.place / "old.parquet.damaged").touch()
    with opened(tmp_path, fresh=True) as store:
        assert len(store.frame()) == 0
        assert store.warnings == []
        assert not list(store.place.glob("*.damaged"))
    assert kept(tmp_path) == []


def test_columns_that_were_empty_at_first_take_the_type_of_later_values(tmp_path):
    with opened(tmp_path) as store:
        store.add(runs(0).assign(value=None, parts=None))
        store.add(runs(1).assign(parts=[[]]))
        store.add(runs(2).assign(value=3))
        store.compact()
    with opened(tmp_path) as store:
        frame = store.frame()
    assert frame["value"].dtype == np.float64
    assert np.isnan(frame["value"][0])
    assert list(frame["value"][1:]) == [1.0, 3.0]
    assert [None if part is None else list(part) for part in frame["parts"]] == [None, [], [2.0, 2.0]]


# Kills


class Killed(BaseException):
    """The process is killed."""


@contextmanager
def killed_before(step):
    """Allow a number of file operations (create, rename, remove), then ignore all others."""
    done = 0

    def counted(real):
        def wrapped(*args, **kwargs):
            nonlocal done
            if done >= step:
                raise Killed
            done += 1
            return real(*args, **kwargs)

        return wrapped

    with pytest.MonkeyPatch.context() as patch:
        for name in ("replace", "unlink"):
            patch.setattr(Path, name, counted(getattr(Path, name)))
        with suppress(Killed):
            yield


@pytest.mark.slow
@pytest.mark.parametrize("fresh", [False, True])
def test_a_kill_between_any_two_steps_loses_nothing_and_is_not_reported_as_damage(tmp_path, fresh):
    for step in range(1000):
        place = tmp_path / str(step)
        with opened(place) as store:
            if fresh:
                store.add(runs(100))
        added = []
        with killed_before(step):
            with opened(place, fresh=fresh) as store:
                for number in range(10):
                    store.add(runs(number))
                    added.append(number)
                store.compact()
            break
        # Runs in progress may be present, and parts that were to be removed.
        assert set(added) <= set(kept(place)) <= {*added, len(added), 100}
    assert step > 30
    assert kept(place) == list(range(10))


def test_a_kill_while_a_file_is_written_leaves_nothing(tmp_path):
    with opened(tmp_path) as store:
        store.add(runs(0))
        partial = store.place / ".00000001-00000001-0.parquet.7.partial"
        partial.write_bytes(b"PAR1")
    assert kept(tmp_path) == [0]
    assert not partial.exists()


@contextmanager
def interrupted_at(step):
    """Interrupt the process at a line, or at the return, of what adds to a store; yield the count of these."""
    passed = [0]

    def trace(frame, event, _):
        if frame.f_code.co_name not in ("add", "_merge", "_replace", "_clear", "_list", "_write"):
            return None
        if event in ("line", "return"):
            passed[0] += 1
            if passed[0] == step:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield passed
    finally:
        sys.settrace(before)


@pytest.mark.slow
def test_an_addition_that_is_interrupted_anywhere_and_passed_again_stores_each_run_once(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(campaign_store, "MERGED", 2)
    for step in range(1, 10_000):
        place = tmp_path / str(step)
        with opened(place) as store:
            store.add(runs(0))
            store.add(runs(1))
            interrupted = False
            with suppress(KeyboardInterrupt), interrupted_at(step) as passed:
                # Two parts are merged first.
                store.add(runs(2))
            interrupted = passed[0] >= step
            # With a run that was completed meanwhile.
            store.add(runs(2, 3) if interrupted else runs(3))
            assert sorted(store.frame()["run"]) == [0, 1, 2, 3]
            store.compact()
            assert [name[:17] for name in files(store)] == ["00000000-00000003"]
        assert kept(place) == [0, 1, 2, 3]
        if not interrupted:
            break
    assert step > 40


def test_a_file_is_on_the_disk_before_it_has_its_name_and_its_name_before_anything_else_happens(
    tmp_path, monkeypatch
):
    """Otherwise a power failure leaves an empty file under the name, or a list of parts that are not there."""
    steps = []

    def told(name, real, which):
        def wrapped(*args, **kwargs):
            steps.append((name, which(*args).name))
            return real(*args, **kwargs)

        return wrapped

    monkeypatch.setattr(campaign_store, "MERGED", 2)
    with opened(tmp_path) as store:
        store.add(runs(0))
        store.add(runs(1))
        merged = files(store)
        monkeypatch.setattr(
            os, "fsync", told("flush", os.fsync, lambda at: Path(f"/proc/self/fd/{at}").readlink())
        )
        monkeypatch.setattr(Path, "replace", told("rename", Path.replace, lambda _, to: to))
        monkeypatch.setattr(Path, "unlink", told("remove", Path.unlink, lambda path: path))
        store.add(runs(2))
        monkeypatch.undo()
        merging, added = files(store)
    incomplete = {name: f".{name}.{os.getpid()}.partial" for name in (merging, added, "parts.json")}

    def replaced(name):
        return [("flush", incomplete[name]), ("rename", name), ("flush", store.place.name)]

    assert [step for step in steps if not (step[0] == "remove" and step[1].endswith(".partial"))] == [
        *replaced(merging),
        *replaced("parts.json"),
        *(("remove", name) for name in reversed(merged)),
        *replaced(added),
        *replaced("parts.json"),
    ]


# Damage


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A store of three parts, and its content."""
    place = tmp_path_factory.mktemp("sound")
    with opened(place) as store:
        for number in range(9):
            store.add(runs(number))
        store.add(runs(9, 10))
        assert len(files(store)) == 3
        return place, table(store)


def damaged(sound, place, change):
    """Copy the sound store, change it, and return the folder of its parts."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(sound[0], place)
    folder = next(path for path in place.iterdir())
    change(folder)
    return folder


def repaired(sound, place):
    """Open a damaged store, repeat missing runs, and return the warnings and the number of lost runs.

    What it holds then is what the sound store holds, and the next process finds nothing to say.
    """
    with opened(place) as store:
        said = store.warnings
        before = table(store)
        assert all(before[run] == sound[1][run] for run in before)
        missing = sorted(set(sound[1]) - set(before))
        if missing:
            store.add(runs(*missing))
        assert table(store) == sound[1]
    assert kept(place) == sorted(sound[1])
    return said, len(missing)


def written(sound):
    """Return the names of the parts and of their list."""
    folder = next(path for path in sound[0].iterdir())
    return sorted(file.name for file in folder.iterdir() if file.name != ".lock")


@pytest.mark.slow
def test_any_flipped_byte_is_detected_and_reported(sound, tmp_path):
    draw = random.Random(1)
    folder = next(path for path in sound[0].iterdir())
    places = [(name, at) for name in written(sound) for at in range((folder / name).stat().st_size)]
    for name, at in draw.sample(places, FLIPS):
        flipped = draw.randrange(1, 256)

        def flip(folder, name=name, at=at, flipped=flipped):
            content = bytearray((folder / name).read_bytes())
            content[at] ^= flipped
            (folder / name).write_bytes(content)

        damaged(sound, tmp_path / "store", flip)
        said, lost = repaired(sound, tmp_path / "store")
        assert len(said) == 1, (name, at)
        assert name in said[0]
        assert (lost > 0) == name.endswith(".parquet")


def cut_to(share):
    return lambda file: os.truncate(file, int(file.stat().st_size * share))


@pytest.mark.parametrize(
    ("harm", "says"),
    [(cut_to(0.0), ""), (cut_to(0.5), ""), (cut_to(0.99), ""), (Path.unlink, "is missing")],
    ids=["emptied", "cut to half", "cut at the end", "removed"],
)
def test_a_truncated_or_removed_file_is_detected_and_reported(sound, tmp_path, harm, says):
    for name in written(sound):
        damaged(sound, tmp_path / "store", lambda folder, name=name: harm(folder / name))
        said, lost = repaired(sound, tmp_path / "store")
        assert len(said) == 1
        assert name in said[0]
        assert says in said[0]
        assert (lost > 0) == name.endswith(".parquet")


def test_a_part_removed_together_with_the_list_is_reported_for_the_list(sound, tmp_path):
    def remove(folder):
        for name in (written(sound)[0], "parts.json"):
            (folder / name).unlink()

    damaged(sound, tmp_path / "store", remove)
    said, lost = repaired(sound, tmp_path / "store")
    assert lost > 0
    assert len(said) == 1
    assert "parts.json" in said[0]
    assert "runs of missing parts are repeated" in said[0]


def test_all_files_removed_are_a_new_store(sound, tmp_path):
    def clear(folder):
        for file in folder.iterdir():
            file.unlink()

    damaged(sound, tmp_path / "store", clear)
    assert repaired(sound, tmp_path / "store") == ([], 11)


def test_a_damaged_part_is_set_aside_as_it_is(sound, tmp_path):
    name = next(name for name in written(sound) if name.endswith(".parquet"))
    folder = damaged(sound, tmp_path / "store", lambda folder: (folder / name).write_bytes(b"no parquet"))
    said, _ = repaired(sound, tmp_path / "store")
    assert f"{name}.damaged" in said[0]
    assert (folder / f"{name}.damaged").read_bytes() == b"no parquet"


def test_a_renamed_or_duplicate_part_is_detected_and_reported(sound, tmp_path):
    first, second, third = (name for name in written(sound) if name.endswith(".parquet"))

    def swap(folder):
        (folder / first).replace(folder / "x")
        (folder / second).replace(folder / first)
        (folder / "x").replace(folder / second)

    damaged(sound, tmp_path / "store", swap)
    said, lost = repaired(sound, tmp_path / "store")
    assert lost == 9
    assert {name for name in written(sound) if any(name in text for text in said)} == {first, second}
    other = f"00000020-00000020-{third.split('-')[2]}"
    for copy in (other, "copy of a part.parquet"):
        damaged(
            sound,
            tmp_path / "store",
            lambda folder, copy=copy: shutil.copy(folder / third, folder / copy),
        )
        said, lost = repaired(sound, tmp_path / "store")
        assert lost == 0
        assert len(said) == 1
        assert copy in said[0]


def test_a_part_of_another_store_is_rejected(sound, tmp_path):
    with opened(tmp_path / "other", identity="another-engine") as store:
        store.add(runs(0).assign(value=7.0))
        foreign = store.place / files(store)[0]
        damaged(sound, tmp_path / "store", lambda folder: shutil.copy(foreign, folder / foreign.name))
    said, lost = repaired(sound, tmp_path / "store")
    assert lost == 0
    assert len(said) == 1
    assert foreign.name in said[0]


def merge_without_removing(store, monkeypatch):
    """Merge two parts, and stop before these are removed."""
    store.add(runs(0))
    store.add(runs(1))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", lambda *_, **__: None)
        store.compact()


def test_a_damaged_merged_part_is_replaced_by_its_sources(tmp_path, monkeypatch):
    with opened(tmp_path) as store:
        merge_without_removing(store, monkeypatch)
        merged = next(name for name in files(store) if name.startswith("00000000-00000001"))
        (store.place / merged).write_bytes(b"no parquet")
    with opened(tmp_path) as store:
        assert len(store.warnings) == 1
        assert sorted(table(store)) == [0, 1]
    assert kept(tmp_path) == [0, 1]


def test_what_was_merged_is_removed_when_the_store_is_opened(tmp_path, monkeypatch):
    with opened(tmp_path) as store:
        merge_without_removing(store, monkeypatch)
        assert len(files(store)) == 3
    with opened(tmp_path) as store:
        assert store.warnings == []
        assert [name[:17] for name in files(store)] == ["00000000-00000001"]


@pytest.mark.parametrize("listed", [(0,), (0, 1)])
def test_of_two_parts_with_the_same_numbers_the_listed_one_is_kept(tmp_path, listed):
    """An addition was not listed, and the next one, with more runs, took its number."""
    with opened(tmp_path / "other") as store:
        store.add(runs(*((0, 1) if listed == (0,) else (0,))))
        unlisted = store.place / files(store)[0]
        with opened(tmp_path / "store") as other:
            other.add(runs(*listed))
            (name,) = files(other)
            shutil.copy(unlisted, other.place / unlisted.name)
    with opened(tmp_path / "store") as store:
        assert files(store) == [name]
        assert store.warnings == []
    assert kept(tmp_path / "store") == list(listed)


def test_a_part_that_reappears_duplicates_no_run(sound, tmp_path):
    first = next(name for name in written(sound) if name.endswith(".parquet"))
    folder = damaged(sound, tmp_path / "store", lambda folder: (folder / first).replace(tmp_path / first))
    repaired(sound, tmp_path / "store")
    shutil.copy(tmp_path / first, folder / first)
    assert kept(tmp_path / "store") == sorted(sound[1])
    with opened(tmp_path / "store") as store:
        store.compact()
    assert kept(tmp_path / "store") == sorted(sound[1])


def test_a_part_that_cannot_be_read_is_refused_and_stays(sound, tmp_path):
    """A symbolic link to itself cannot be read, even by root."""
    for name in written(sound):

        def hide(folder, name=name):
            (folder / name).replace(tmp_path / name)
            (folder / name).symlink_to(name)

        folder = damaged(sound, tmp_path / "store", hide)
        # Other damage is handled once all parts are readable.
        foreign = folder / "00000000-foreign.parquet"
        foreign.touch()
        with pytest.raises(ResultsError, match="could not be read") as caught:
            opened(tmp_path / "store")
        assert caught.value.filename == str(folder / name)
        foreign.unlink()
        (folder / name).unlink()
        shutil.copy(tmp_path / name, folder / name)
        assert repaired(sound, tmp_path / "store") == ([], 0)


def test_a_folder_that_cannot_be_listed_is_refused_and_not_taken_for_an_empty_one(
    sound, tmp_path, monkeypatch
):
    folder = damaged(sound, tmp_path / "store", lambda _: None)

    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    for function in ("listdir", "scandir"):
        monkeypatch.setattr(os, function, refuse)
    for read_only in (False, True):
        with pytest.raises(ResultsError, match="could not be read: Permission denied") as caught:
            opened(tmp_path / "store", read_only=read_only)
        assert caught.value.filename == str(folder)
    monkeypatch.undo()
    assert repaired(sound, tmp_path / "store") == ([], 0)


# Snapshots


def merged_meanwhile(monkeypatch, times, error=errno.ENOENT):
    """Let parts vanish while a snapshot is read, the first times; return the attempts to read a part."""
    attempts = []
    real = campaign_store.read_bytes

    def read(path):
        attempts.append(path)
        if len(attempts) <= times:
            raise ResultsError(error, f"could not be read: {os.strerror(error)}", str(path))
        return real(path)

    monkeypatch.setattr(campaign_store, "read_bytes", read)
    return attempts


@pytest.mark.parametrize("times", [1, campaign_store.ATTEMPTS - 1])
def test_a_snapshot_begins_again_when_a_part_was_merged_under_it(sound, tmp_path, monkeypatch, times):
    merged_meanwhile(monkeypatch, times)
    snapshot = opened(sound[0], read_only=True)
    assert table(snapshot) == sound[1]
    assert snapshot.warnings == []


def test_a_snapshot_of_parts_that_always_vanish_is_refused_in_the_end(sound, monkeypatch):
    attempts = merged_meanwhile(monkeypatch, 10 * campaign_store.ATTEMPTS)
    with pytest.raises(ResultsError, match="No such file"):
        opened(sound[0], read_only=True)
    assert len(attempts) == campaign_store.ATTEMPTS


def test_a_snapshot_with_a_part_that_cannot_be_read_is_refused_at_once(sound, monkeypatch):
    attempts = merged_meanwhile(monkeypatch, campaign_store.ATTEMPTS, errno.EIO)
    with pytest.raises(ResultsError, match="Input/output error"):
        opened(sound[0], read_only=True)
    assert len(attempts) == 1


# Full disks


@contextmanager
def no_file_above(size):
    """Limit the size of files, in bytes, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    "size", [0, 100, 300]
)  # neither the part nor the list, the part, or the list cannot be written
@pytest.mark.parametrize("merging", [False, True])
def test_what_cannot_be_written_is_named_and_loses_nothing(tmp_path, size, merging):
    with opened(tmp_path) as store:
        for number in range(7 if merging else 3):
            store.add(runs(number))
        before = sorted(table(store))
        with no_file_above(size), pytest.raises(ResultsError, match="could not be written") as caught:
            store.add(runs(50))
        assert caught.value.errno == errno.EFBIG
        assert str(store.place) in caught.value.filename
        assert sorted(table(store)) == before
        # The engine passes on again what was not accepted.
        store.add(runs(50))
        assert sorted(table(store)) == [*before, 50]
    assert kept(tmp_path) == [*before, 50]
    assert not list(store.place.glob(".*.partial"))


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 200 kB; skipped without the permission to mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=200k", "dumbbell-test", str(place)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip(
            "a file system of 200 kB cannot be mounted here; the limit of a file's size stands in for it"
        )
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_named_and_loses_nothing(small_disk):
    noise = np.random.default_rng(0)
    added = []

    def fill(store):
        for number in range(1000):
            store.add(runs(number).assign(parts=[noise.random(1000)]))
            added.append(number)

    with opened(small_disk) as store, pytest.raises(ResultsError, match="No space left on device") as caught:
        fill(store)
    assert Path(caught.value.filename).parent == store.place
    assert kept(small_disk) in (added, [*added, len(added)])
    subprocess.run(["mount", "-o", "remount,size=10m", str(small_disk)], check=True)
    with opened(small_disk) as store:
        assert store.warnings == []
        store.add(runs(2000))
        store.compact()
    assert kept(small_disk)[-1] == 2000


# Two writers


def test_two_processes_do_not_write_to_one_store(tmp_path):
    with opened(tmp_path), pytest.raises(ScenarioError, match="another process"):
        opened(tmp_path)
    opened(tmp_path).close()


def test_a_refused_store_is_not_locked(tmp_path):
    with opened(tmp_path) as store:
        hidden = store.place / "part.parquet"
    hidden.symlink_to(hidden.name)
    for _ in range(2):
        with pytest.raises(ResultsError, match="could not be read"):
            opened(tmp_path)


def test_a_file_system_without_locks_is_reported(tmp_path, monkeypatch):
    import fcntl

    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with opened(tmp_path) as one, opened(tmp_path) as other:
        assert "cannot be locked (No locks available)" in one.warnings[0]
        # Concurrent writers lose no stored run, but may execute runs twice.
        for number in range(10):
            one.add(runs(number))
            other.add(runs(number, number + 100))
        one.compact()
    monkeypatch.undo()
    with opened(tmp_path) as store:
        found = table(store)
        assert len(found) == len(store.frame())
        assert set(range(10)) <= set(found)
