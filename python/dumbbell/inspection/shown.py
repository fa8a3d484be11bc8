"""What pictures and pages need of a connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from dumbbell.plots.picture import Picture


class Shown(Protocol):
    """A connection of a capture: see `dumbbell.inspection.Captured`."""

    @property
    def path(self) -> Path:
        """The capture."""

    @property
    def number(self) -> int:
        """Number of the connection, counted from 1."""

    @property
    def name(self) -> str:
        """Sender and receiver of the data."""

    @property
    def row(self) -> Mapping[str, Any]:
        """The connection as a plain object."""

    @property
    def segments(self) -> pd.DataFrame:
        """The data segments."""

    @property
    def acks(self) -> pd.DataFrame:
        """The segments of the receiver."""

    @property
    def traces(self) -> Mapping[str, pd.DataFrame]:
        """Quantities over time."""

    @property
    def arrow_phases(self) -> pa.Table:
        """What limited the sender, one row per phase."""

    @property
    def sentence(self) -> str:
        """What limited it, in words."""

    @property
    def warnings(self) -> Sequence[str]:
        """What the capture cannot tell."""

    def plot(self, quantity: str | None = None, *, style: str | None = None) -> Picture:
        """Return a picture."""
