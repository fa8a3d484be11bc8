"""Speed of the peers, as measured by `dumbbell bench peers`, without recording and without link counters."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dumbbell import Scenario
from dumbbell.bench import Measured
from dumbbell.crossvalidation import PeerRun
from dumbbell.quantities import size_bytes

from . import ns2, ns3
from .ns3 import build, description, observations

# The cases limit the first slow start and the window by this, in ns-3 as well.
WINDOW = "10000 segments"

HEADERS_OF_NS2 = (
    "Segments and acknowledgements as structures with a field for each header, no bytes and no checksums, times in floating "
    "point. Each of the six links of a round trip costs two events (the queue resumes, the packet arrives) and "
    "calls through objects for classifier, queue, delay and lifetime; with the sender's timer about 13 events per packet. "
    "One-way TCP, without handshake here."
)


def delivered(done: PeerRun, scenario: Scenario) -> float:
    """Return the data packets that the flows of a run have delivered."""
    payloads = [size_bytes(flow["tcp"]["mss"], "mss") for flow in scenario.resolved()["flows"]]
    return float((done.flows["bytes_delivered"] / payloads).sum())


@dataclass(frozen=True, kw_only=True)
class OfNs2:
    """ns-2 as shipped or tuned. Each run is a separate process."""

    key: str
    title: str
    models: str
    driver: ns2.Ns2
    peer: ClassVar[str] = "ns2"
    package: ClassVar[str] = ns2.Ns2.package

    def version(self) -> str:
        """Return its version; PeerAbsent if it is not on this machine."""
        return self.driver.version()

    def prepare(self) -> None:
        """Check that it is installed."""
        self.driver.prepare()

    def tcp(self, variant: str) -> Mapping[str, Any]:
        """Return the table of a variant."""
        return self.driver.tcp(variant)

    def remark(self, variant: str) -> str:  # noqa: ARG002 - part of the protocol of contenders
        """Return nothing: the cases follow its rules."""
        return ""

    def measure(self, scenario: Scenario, runs: int) -> Measured:
        """Run a scenario several times."""
        done = [self.driver.run(scenario) for _ in range(runs)]
        return Measured(
            runs=runs,
            packets=sum(delivered(one, scenario) for one in done),
            cpu_s=sum(one.cpu_s for one in done),
        )


@dataclass(frozen=True, kw_only=True)
class OfNs3:
    """ns-3, with one run in a process."""

    key: ClassVar[str] = "ns3"
    peer: ClassVar[str] = "ns3"
    title: ClassVar[str] = "ns-3"
    package: ClassVar[str] = ns3.Ns3.package
    models: ClassVar[str] = (
        "Packets with real PPP, IPv4 and TCP headers, serialised and parsed at every layer, including TCP "
        "options; sockets with send and receive buffers, a handshake, an IP stack that routes at every hop; "
        "64-bit times. "
        "Checksums are off as shipped, and the queue disc above each device is removed."
    )

    def version(self) -> str:
        """Return its version; PeerAbsent if it is not on this machine."""
        return ns3.PEER.version()

    def prepare(self) -> None:
        """Build the program."""
        ns3.PEER.prepare()

    def tcp(self, variant: str) -> Mapping[str, Any]:  # noqa: ARG002 - part of the protocol of contenders
        """Return the table of its NewReno, which is used for each variant."""
        return ns3.PEER.tcp("newreno", initial_ssthresh=WINDOW, receive_buffer=WINDOW)

    def remark(self, variant: str) -> str:
        """Return its equivalent of a variant."""
        if variant == "sack":
            return "Its NewReno with SACK and proportional rate reduction."
        return (
            "Its NewReno with SACK: without SACK it resends a third of its packets, and it has no plain Reno."
        )

    def measure(self, scenario: Scenario, runs: int) -> Measured:
        """Run a scenario several times."""
        program_input = description.described(scenario, seed=1, run=0)
        # Links are made by later statements.
        program_input = replace(program_input, text=f"uncounted\n{program_input.text}")
        packets = cpu_s = events = 0.0
        for _ in range(runs):
            output = subprocess.run(
                [build.program()], input=program_input.text, capture_output=True, text=True, check=False
            )
            if output.returncode != 0:
                raise RuntimeError(f"{self.title} failed: {output.stderr.strip() or output.returncode}")
            done = observations.read(output.stdout, program_input)
            packets += delivered(done, scenario)
            cpu_s += done.cpu_s
            events += float(output.stdout.split()[-1])
        return Measured(runs=runs, packets=packets, cpu_s=cpu_s, events=events)


CONTENDERS = (
    OfNs2(
        key="ns2",
        title="ns-2 as shipped",
        models=f"{HEADERS_OF_NS2} As shipped every packet carries the headers of all protocols that ns-2 knows, and events wait "
        "in a calendar queue.",
        driver=ns2.Ns2(counts_links=False),
    ),
    OfNs2(
        key="ns2-tuned",
        title="ns-2 tuned",
        models="As before, but only with the headers IP, TCP and Flags, and events in a splay tree: two lines in a script.",
        driver=ns2.Ns2(tuned=True, counts_links=False),
    ),
    OfNs3(),
)
