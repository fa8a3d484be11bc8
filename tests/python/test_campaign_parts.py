"""Parts of a store that are complete and yet no tables: another version may have written them."""

import io

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from dumbbell.campaign import Store
from dumbbell.errors import ResultsError


def without_metadata(content):
    """Return a file of Parquet whose metadata, of the length in front of the last four bytes, are zeros."""
    length = int.from_bytes(content[-8:-4], "little")
    return content[: -8 - length] + b"\0" * length + content[-8:]


@pytest.mark.parametrize(
    ("content", "error"),
    [(lambda _: b"none", ValueError), (without_metadata, OSError)],
    ids=["none", "zeros"],
)
def test_a_complete_part_that_is_no_table_is_named_and_stays(tmp_path, content, error):
    run = {"hash": "0123456789abcdef", "seed": np.uint64(1), "run": np.array([7], dtype=np.uint64)}
    with Store(tmp_path, ("value",)) as store:
        store.add(pd.DataFrame(run | {"value": 1.0}))
        (part,) = store.place.glob("*.parquet")
        written = content(part.read_bytes())
        with pytest.raises(error):
            pq.read_table(io.BytesIO(written))
        # Its name has the checksum of what it contains.
        other = part.with_name(store._name(0, 0, written))
    part.unlink()
    other.write_bytes(written)
    for settings in ({}, {"read_only": True}):
        with pytest.raises(ResultsError, match="is complete, but could not be read as Parquet") as caught:
            Store(tmp_path, ("value",), **settings)
        assert caught.value.filename == str(other)
    assert other.read_bytes() == written
