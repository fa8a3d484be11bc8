"""Tables of results as files and as the frames of other packages: CSV, Parquet, polars, xarray."""

from __future__ import annotations

import io
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from dumbbell.arguments import file_path
from dumbbell.errors import installation, refusal
from dumbbell.files import make_folder, replacing
from dumbbell.results import COLUMNS

if TYPE_CHECKING:
    import polars
    import pyarrow as pa
    import xarray

OF_ONE = ("flows", "links")
"""Tables with a row for each name of a run; all others are traces."""


FOLDER = "the name of a folder"


class Exported(ABC):
    """Results that can be written and handed over as tables: see `dumbbell.Run` and `dumbbell.Runs`."""

    are_many: ClassVar[bool] = False
    """Whether they are of many jobs, which have parameters."""

    @abstractmethod
    def tables(self) -> dict[str, pa.Table]:
        """Return all Arrow tables by name: ``flows``, ``links``, and each probed quantity."""

    def to_csv(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write each table as a CSV file with a header and all digits, as ``dumbbell run --csv`` does.

        Returns
        -------
        list of Path
            The files.

        Raises
        ------
        ResultsError
            A file could not be written.
        """
        return write_tables(self.tables(), file_path("folder", folder, FOLDER), "csv", [])

    def to_parquet(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write each table as a Parquet file, which keeps each bit; see `to_csv`."""
        return write_tables(self.tables(), file_path("folder", folder, FOLDER), "parquet", [])

    def to_polars(self) -> dict[str, polars.DataFrame]:
        """Return each table as a data frame of polars.

        Raises
        ------
        ScenarioError
            The package ``polars`` is missing.
        """
        try:
            import polars
        except ImportError:
            raise _missing("polars") from None
        return {name: polars.DataFrame(table) for name, table in self.tables().items()}

    def to_xarray(self) -> dict[str, xarray.Dataset]:
        """Return each table as a dataset of xarray.

        ``flows`` and ``links`` have the dimension ``name``, and of many runs ``job`` before it, whose coordinates are the
        parameters of the jobs. A flow that a job does not have is missing there. Traces have the dimension ``row``. Each
        variable states its unit as ``units`` and its meaning as ``long_name``.

        Raises
        ------
        ScenarioError
            The package ``xarray`` is missing.
        """
        try:
            import xarray
        except ImportError:
            raise _missing("xarray") from None
        return {
            name: _dataset(name, table, xarray.Dataset, many=self.are_many)
            for name, table in self.tables().items()
        }


def stems(names: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield each name of a table with the name of its file, without an ending; no two tables share a file."""
    taken: set[str] = set()
    for name in names:
        stem = made = re.sub(r"[^\w.-]+", "_", name, flags=re.ASCII).lstrip(".") or "table"
        number = 1
        while made.lower() in taken:
            number += 1
            made = f"{stem}-{number}"
        taken.add(made.lower())
        yield name, made


def parquet_bytes(table: pa.Table) -> bytes:
    """Return a table as a Parquet file that keeps each bit, also those of NaN and of a negative zero."""
    import pyarrow.parquet as pq

    written = io.BytesIO()
    pq.write_table(table, written, compression="zstd")
    return written.getvalue()


def write_tables(
    tables: Mapping[str, pa.Table], folder: Path, ending: str, written: list[Path]
) -> list[Path]:
    """Write a file for each table.

    Parameters
    ----------
    tables
        The tables by name.
    folder
        Where to.
    ending
        ``"csv"``, with a header and all digits, where what is missing is an empty field; or ``"parquet"``.
    written
        Gets each file when it is complete, so that an interrupted caller knows them.

    Raises
    ------
    ResultsError
        A file could not be written.
    """
    make_folder(folder)
    for name, stem in stems(tables):
        path = folder / f"{stem}.{ending}"
        with replacing(path) as file:
            file.write(parquet_bytes(tables[name]) if ending == "parquet" else _csv_bytes(tables[name]))
        written.append(path)
    return written


def _csv_bytes(table: pa.Table) -> bytes:
    from pyarrow.csv import write_csv

    made = io.BytesIO()
    write_csv(table, made)
    return made.getvalue()


def _dataset(name: str, table: pa.Table, kind: type[xarray.Dataset], *, many: bool) -> xarray.Dataset:
    """Return a table as a dataset."""
    frame = table.to_pandas()
    known = {column.name: column for column in COLUMNS[name if name in COLUMNS else "traces"]}
    if name not in OF_ONE:
        made = kind.from_dataframe(frame.rename_axis("row"))
    elif not many:
        made = kind.from_dataframe(frame.drop(columns="job", errors="ignore").set_index("name"))
    else:
        # What is no column of the results is a parameter of the job.
        given = [column for column in frame if column not in known]
        by_job = frame.groupby("job", sort=True)[given].first()
        made = kind.from_dataframe(frame.drop(columns=given).set_index(["job", "name"]))
        made = made.assign_coords({str(column): ("job", by_job[column].to_numpy()) for column in given})
    for column, stated in known.items():
        if column in made.variables:
            made[column].attrs.update(units=stated.unit, long_name=stated.meaning)
    return made


def _missing(package: str) -> Exception:
    accepted = f"an installed package {package}: {installation('frames')}"
    return refusal("export", package, accepted, problem="needs a package that is missing")
