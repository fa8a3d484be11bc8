"""The store of finished runs: what a kill may leave behind, and what the next process makes of it."""

import numpy as np
import pandas as pd
import pytest

from dumbbell import ScenarioError
from dumbbell.papers import Store


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


def opened(place):
    return Store(place, ("value", "parts"))


def kept(place):
    with opened(place) as store:
        return sorted(int(run) for run in store.frame()["run"])


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


def test_the_number_of_files_stays_small(tmp_path):
    with opened(tmp_path) as store:
        for number in range(200):
            store.add(runs(number))
            assert len(files(store)) <= 21  # seven of each size: 1, 8 and 64 additions
        assert len(files(store)) == 3 + 1  # 200 = 3 * 64 + 8
        store.compact()
        assert files(store) == ["00000000-00000199.parquet"]
    assert kept(tmp_path) == list(range(200))


def test_a_kill_while_files_are_merged_loses_and_doubles_nothing(tmp_path, monkeypatch):
    """The merged file is there, and some of those it was merged from are not removed yet."""
    with opened(tmp_path) as store:
        for number in range(5):
            store.add(runs(number))
        place = store.place
        old = {file: file.read_bytes() for file in sorted(place.glob("*.parquet"))}
        store.compact()
    for removed in range(len(old) + 1):
        for file, content in list(old.items())[removed:]:
            file.write_bytes(content)
        assert kept(tmp_path) == list(range(5))
        assert len(list(place.glob("*.parquet"))) == 1


def test_a_kill_while_a_file_is_written_leaves_nothing(tmp_path):
    with opened(tmp_path) as store:
        store.add(runs(0))
        partial = store.place / ".00000001-00000001.parquet.partial"
        partial.write_bytes(b"PAR1")
    assert kept(tmp_path) == [0]
    assert not partial.exists()


def test_a_damaged_merged_file_gives_way_to_what_it_was_merged_from(tmp_path):
    with opened(tmp_path) as store:
        store.add(runs(0))
        store.add(runs(1))
        (store.place / "00000000-00000001.parquet").write_bytes(b"no parquet")
    assert kept(tmp_path) == [0, 1]


def test_two_processes_do_not_write_to_one_store(tmp_path):
    with opened(tmp_path), pytest.raises(ScenarioError, match="another process"):
        opened(tmp_path)
    opened(tmp_path).close()


def test_a_fresh_store_forgets(tmp_path):
    with opened(tmp_path) as store:
        store.add(runs(0))
    with Store(tmp_path, ("value", "parts"), fresh=True) as store:
        assert len(store.frame()) == 0
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
