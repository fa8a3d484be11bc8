"""Saved results: all tables, scenarios, seeds and the identity of the engine, equal bit for bit when they are loaded again.

`layout`
    The files of saved results: a document, scenarios, tables; written, and read with all checks.
`equality`
    Where two tables differ, compared by their bits.
`storable`
    `save` and `load` of runs.

`dumbbell.Run.save`, `dumbbell.Runs.save` and bundles use the same files. Nothing here knows runs: results come in and go out as
plain values.
"""

from dumbbell.saved.equality import differences
from dumbbell.saved.layout import DOCUMENT, Saved, contents, is_saved, of_folder, read, write
from dumbbell.saved.storable import Storable

__all__ = [
    "DOCUMENT",
    "Saved",
    "Storable",
    "contents",
    "differences",
    "is_saved",
    "of_folder",
    "read",
    "write",
]
