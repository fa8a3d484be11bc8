"""What `dumbbell.Run` and `dumbbell.Runs` have in common as results that can be saved and loaded."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Self

from dumbbell.arguments import file_path
from dumbbell.exports import FOLDER
from dumbbell.saved.layout import Saved, of_folder, write


class Storable(ABC):
    """Results that can be saved and loaded."""

    @abstractmethod
    def to_saved(self) -> Saved:
        """Return the results as plain values."""

    @classmethod
    @abstractmethod
    def of_saved(cls, found: Saved) -> Self:
        """Return the results of plain values."""

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the results to a folder: tables, traces, scenarios, seeds, run numbers, and the engine's identity.

        `load` returns the same results, bit for bit. The folder may be new, or that of an earlier call, whose files are
        replaced.

        Raises
        ------
        ResultsError
            A file could not be written.

        Examples
        --------
        >>> import tempfile, dumbbell
        >>> from dumbbell import Flow, topologies
        >>> shape = topologies.dumbbell(pairs=1, rate="1.6 Mbit/s", delay="50 ms")
        >>> flow = Flow(name="fg", from_="s1", to="d1", tcp="reno")
        >>> result = dumbbell.run(shape.scenario(duration="2 s", flows=[flow]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.save(folder)
        ...     again = dumbbell.Run.load(folder)
        >>> again.fingerprint == result.fingerprint, again.arrow_flows.equals(result.arrow_flows)
        (True, True)
        """
        write(self.to_saved(), file_path("folder", folder, FOLDER))

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Return the results that `save` wrote to a folder.

        Results of another engine are loaded as they are; ``engine`` states that engine. Code that scenarios name is not
        loaded.

        Raises
        ------
        ScenarioError
            The folder has no saved results, or results of another kind, or a scenario is not accepted by this engine.
        ResultsError
            A file is missing, damaged, or cannot be read.
        """
        return cls.of_saved(of_folder(file_path("folder", folder, FOLDER)))
