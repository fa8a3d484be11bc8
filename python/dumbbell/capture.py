"""Files that one run writes: its packets at a node as pcapng, and the events of its senders as qlog.

``docs/packets.md`` says what they contain.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.arguments import file_path, whole_number
from dumbbell.errors import refusal
from dumbbell.files import replacing, unwritten

if TYPE_CHECKING:
    from dumbbell import _engine
    from dumbbell.scenario import Scenario

PathName = str | os.PathLike[str]

# The longest headers of the engine's TCP, which are always kept whole, and the longest packet of IPv4.
LEAST_SNAPLEN, MOST_SNAPLEN = 80, 65_535

# Names in an error; the others are counted.
MOST_NAMES = 20


class Capture:
    """Which files a run writes.

    Parameters
    ----------
    scenario
        The scenario of the run.
    pcap, node, snaplen, qlog
        See `dumbbell.run`.

    Raises
    ------
    ScenarioError
        There is no such node, both files have one name, or an argument has no effect.
    """

    def __init__(
        self,
        scenario: Scenario,
        pcap: PathName | None,
        node: str | None,
        snaplen: int | None,
        qlog: PathName | None,
    ) -> None:
        self.packets = None if pcap is None else _file("pcap", pcap)
        self.events = None if qlog is None else _file("qlog", qlog)
        for field, value in (("node", node), ("snaplen", snaplen)):
            if value is not None and pcap is None:
                raise refusal(field, value, "none without pcap")
        self.snaplen = (
            None if snaplen is None else whole_number("snaplen", snaplen, LEAST_SNAPLEN, MOST_SNAPLEN)
        )
        self.place = 0
        if self.packets is None and self.events is None:
            return
        data = scenario.resolved()
        if self.packets is not None:
            names = [known["name"] for known in data["nodes"]]
            self.place = names.index(_sender(data) if node is None else _known(node, names))
        if self.events is not None and not any(
            flow.get("tcp") or flow.get("transport") for flow in data["flows"]
        ):
            raise refusal("qlog", str(qlog), "none: no flow of this scenario has TCP or another transport")
        if self.packets and self.events and self.packets.absolute() == self.events.absolute():
            raise refusal("qlog", str(qlog), "a file other than that of pcap")

    @contextmanager
    def files(self) -> Iterator[tuple[tuple[int, Path] | None, int | None, Path | None] | None]:
        """Yield what the engine is asked to write. Files appear at the end; earlier ones are kept until then.

        Raises
        ------
        ResultsError
            A file could not be written.
        """
        if self.packets is None and self.events is None:
            yield None
            return
        with ExitStack() as stack:
            # The engine writes to the unfinished files, by their names.
            unfinished = {
                path: Path(stack.enter_context(replacing(path)).name)
                for path in (self.packets, self.events)
                if path is not None
            }
            try:
                yield (
                    None if self.packets is None else (self.place, unfinished[self.packets]),
                    self.snaplen,
                    None if self.events is None else unfinished[self.events],
                )
            except OSError as error:
                finished = {str(written): path for path, written in unfinished.items()}
                if str(error.filename) not in finished:
                    raise
                raise unwritten(finished[str(error.filename)], error) from error

    def counts(self, result: _engine.RunResult) -> dict[str, int]:
        """Return the numbers of packets and of events in the files that were asked for."""
        packets, events = result.captured
        counts = {} if self.packets is None else {"packets": packets}
        return counts if self.events is None else counts | {"events": events}


def _file(field: str, value: PathName) -> Path:
    path = file_path(field, value)
    if str(path) == "-":
        raise refusal(field, "-", "the name of a file: standard output has the results")
    return path


def _known(node: object, names: list[str]) -> str:
    if isinstance(node, str) and node in names:
        return node
    raise refusal("node", node, f"a node of the scenario: {_listed(names)}", names=names)


def _sender(data: dict[str, Any]) -> str:
    """Return the node that sends in a scenario."""
    senders = list(dict.fromkeys(str(flow["from"]) for flow in data["flows"]))
    if len(senders) == 1:
        return senders[0]
    accepted = f"a node, because {len(senders)} nodes send: {_listed(senders)}"
    raise refusal("node", "nothing", accepted if senders else "a node, because none sends", quoted=False)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
