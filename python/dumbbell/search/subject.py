"""The algorithm that a search attacks, and the scenario of a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dumbbell.control import Control
from dumbbell.evaluation.algorithm import algorithm
from dumbbell.evaluation.study import bdp_packets
from dumbbell.parts import External
from dumbbell.quantities import written_time
from dumbbell.scenario import (
    Bernoulli,
    DropTail,
    Flow,
    Frames,
    LinkChange,
    Scenario,
    Tcp,
    Uniform,
)
from dumbbell.search.dimensions import Values
from dumbbell.topologies import dumbbell
from dumbbell.transports import Transport

SUBJECT, COMPETITOR, PULSES = "subject", "competitor", "pulses"
"""Names of the flows of a scenario."""

DURATION_S, MEASURE_FROM_S, REROUTE_S = 60, 30, 20
"""Length of a run, begin of the measurement, and time at which the delay grows, in s."""

ACCESS_FACTOR = 20
"""Rate of the access links by that of the bottleneck."""

HOP_SHARE = 0.25
"""Propagation delay of the bottleneck, in one direction, by the shortest round trip."""

LEAST_BUFFER = 2

PULSE_PACKET = 1000
"""Size of the datagrams of a burst, in bytes on the wire."""


@dataclass(frozen=True)
class Subject:
    """An algorithm by its text and its connections.

    Parameters
    ----------
    text
        Name and parameters, as the command line takes them.
    tcp
        Its connections: RFC defaults, an initial window of 10 segments, SACK if it is accepted.
    """

    text: str
    tcp: Tcp | Transport

    @classmethod
    def of(cls, given: str | External | type[Control]) -> Subject:
        """Return the algorithm that a text names, or that is given; see `dumbbell.evaluation.algorithm.algorithm`.

        Raises
        ------
        ScenarioError
            The name or a parameter is not accepted, a class cannot be imported, or a library cannot be loaded.
        """
        named = algorithm(given)
        return cls(named.text, named.tcp())

    def scenario(self, values: Values) -> Scenario:
        """Return the scenario of a point: one bottleneck, the subject, and what the point adds.

        Parameters
        ----------
        values
            A value of each of `dumbbell.search.dimensions.DIMENSIONS`.
        """
        at = {name: value for name, value in values.items() if isinstance(value, float)}
        rate_bps = at["rate"] * 1e6
        rtts_ms = [at["rtt"]]
        flows: list[Flow] = [self._flow(SUBJECT, 1, self.tcp, at["head_start"])]
        access = [f"{ACCESS_FACTOR * at['rate']:g} Mbit/s"]
        if values["competitor"] != "none":
            rtts_ms.append(at["rtt"] * at["competitor_rtt"])
            access.append(access[0])
            other = self.tcp if values["competitor"] == "same" else algorithm(str(values["competitor"])).tcp()
            flows.append(self._flow(COMPETITOR, 2, other, 0.0))
        if at["pulse_load"] > 0:
            rtts_ms.append(at["rtt"])
            access.append(f"{at['pulse_height'] * at['rate']:g} Mbit/s")
            flows.append(_pulses(len(rtts_ms), rate_bps * at["pulse_load"] / 100, at["pulse_period"]))
        buffer = max(LEAST_BUFFER, bdp_packets(rate_bps, at["rtt"] / 1e3, at["buffer"]))
        delay_ms = HOP_SHARE * min(rtts_ms)
        grown = LinkChange(at=f"{REROUTE_S} s", delay=_ms(delay_ms + at["reroute"]))
        network = dumbbell(
            pairs=len(rtts_ms),
            rate=f"{at['rate']:g} Mbit/s",
            delay=_ms(delay_ms),
            queue=DropTail(limit=f"{buffer} packets"),
            impairments=[Bernoulli(probability=float(f"{at['loss'] / 100:.6g}"))] if at["loss"] > 0 else None,
            changes=[grown] if at["reroute"] > 0 else None,
            rtt=[_ms(rtt) for rtt in rtts_ms],
            access_rate=access,
        )
        return network.scenario(
            name=f"worst of {self.text}",
            duration=f"{DURATION_S} s",
            measure_from=f"{MEASURE_FROM_S} s",
            flows=flows,
            delay_percentiles=isinstance(self.tcp, Transport) or None,
        )

    def _flow(self, name: str, pair: int, tcp: Tcp | Transport, start_s: float) -> Flow:
        start = Uniform(uniform=(f"{start_s:g} s", f"{start_s + 1:g} s"))
        return Flow(name=name, from_=f"s{pair}", to=f"d{pair}", tcp=tcp, start=start)


def _pulses(pair: int, mean_bps: float, period_s: float) -> Flow:
    """Return bursts of datagrams, which leave at the rate of the access link."""
    size = max(PULSE_PACKET, round(mean_bps * period_s / 8))
    source = Frames(
        sizes=[f"{size} bytes"], frame_rate=float(f"{1 / period_s:.6g}"), packet=f"{PULSE_PACKET} bytes"
    )
    start = Uniform(uniform=("0 s", f"{period_s:g} s"))
    return Flow(name=PULSES, from_=f"s{pair}", to=f"d{pair}", source=source, start=start)


def _ms(milliseconds: float) -> str:
    return written_time(round(milliseconds * 1e6))


def flow_names(values: Values) -> Sequence[str]:
    """Return the names of the flows with TCP."""
    return (SUBJECT,) if values["competitor"] == "none" else (SUBJECT, COMPETITOR)
