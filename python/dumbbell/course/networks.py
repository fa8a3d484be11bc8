"""The networks of the sheets; the checks measure on the same ones.

Every network is a dumbbell whose bottleneck is the link ``r1-r2``. Flows start within the first second at a random time, so
that replications differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dumbbell import Bernoulli, Cbr, DropTail, Flow, Greedy, Poisson, Probe, Scenario, Uniform, topologies

__all__ = ["alone", "call", "many", "two"]

START = Uniform(uniform=("0 s", "1 s"))


def alone(
    tcp: Any = "reno",
    *,
    rate: str = "10 Mbit/s",
    rtt: str = "40 ms",
    queue: Any = "33 packets",
    loss: float = 0.0,
    source: Any = None,
    duration: str = "40 s",
    measure_from: str = "10 s",
) -> Scenario:
    """Return a network with one flow, named ``flow``, whose windows and TCP events are recorded.

    Parameters
    ----------
    tcp
        Its congestion control: a name, a `dumbbell.Tcp`, or a `dumbbell.Control`.
    rate, rtt
        Rate of the bottleneck, and the round-trip time without queueing, at least 20 ms.
    queue
        Buffer of a drop-tail queue, such as ``"33 packets"`` or ``"0.5 BDP"``; or another queue.
    loss
        Probability that the bottleneck loses a packet.
    source
        What the flow sends: by default, data without end.
    duration, measure_from
        Duration of the run, and the time from which tables count.
    """
    impairments = [Bernoulli(probability=loss)] if loss else []
    shape = topologies.dumbbell(
        pairs=1, rate=rate, delay="10 ms", rtt=rtt, queue=_queue(queue), impairments=impairments
    )
    flow = Flow(name="flow", from_="s1", to="d1", tcp=tcp, start=START, source=source or Greedy())
    probe = Probe(flows=["flow"], quantities=["cwnd_base", "tcp_events"])
    return shape.scenario(
        name="one flow", duration=duration, measure_from=measure_from, flows=[flow], probes=[probe]
    )


def two(
    first: Any,
    second: Any,
    *,
    names: Sequence[str] = ("first", "second"),
    rate: str = "10 Mbit/s",
    rtts: Sequence[str] = ("40 ms", "40 ms"),
    queue: Any = "1 BDP",
    noise: str | None = None,
    duration: str = "60 s",
    measure_from: str = "20 s",
) -> Scenario:
    """Return a network with two flows.

    Parameters
    ----------
    first, second
        Their congestion controls: names, `dumbbell.Tcp` or `dumbbell.Control`.
    names
        Their names.
    rate, queue, duration, measure_from
        As of `alone`.
    rtts
        Their round-trip times without queueing, at least 10 ms. A queue in BDP needs them equal.
    noise
        Rate of random packets beside them, without which the order of arrivals may lock ([floyd1991]); none by default.
    """
    away = [*rtts, rtts[0]]
    shape = topologies.dumbbell(pairs=3, rate=rate, delay="5 ms", rtt=away, queue=_queue(queue))
    flows = [
        Flow(name=name, from_=f"s{n}", to=f"d{n}", tcp=tcp, start=START)
        for n, (name, tcp) in enumerate(zip(names, (first, second), strict=True), 1)
    ]
    if noise:
        flows.append(Flow(name="noise", from_="s3", to="d3", source=Poisson(rate=noise, packet="500 bytes")))
    return shape.scenario(name="two flows", duration=duration, measure_from=measure_from, flows=flows)


def many(
    count: int,
    tcp: Any = "reno",
    *,
    rate: str = "100 Mbit/s",
    queue: Any = "1 BDP",
    duration: str = "20 s",
    measure_from: str = "8 s",
) -> Scenario:
    """Return a network with several flows, whose round-trip times are spread evenly from 36 ms to 44 ms.

    Parameters
    ----------
    count
        Number of flows, at least 2.
    tcp, rate, queue, duration, measure_from
        As of `alone`.
    """
    rtts = [f"{36 + 8 * n / (count - 1):.3f} ms" for n in range(count)]
    shape = topologies.dumbbell(pairs=count, rate=rate, delay="5 ms", rtt=rtts, queue=_queue(queue))
    flows = [Flow(name=f"{n}", from_=f"s{n}", to=f"d{n}", tcp=tcp, start=START) for n in range(1, count + 1)]
    return shape.scenario(name=f"{count} flows", duration=duration, measure_from=measure_from, flows=flows)


def call(*, rate: str = "10 Mbit/s", queue: Any = "1000 packets") -> Scenario:
    """Return a network with two downloads by CUBIC and a ``call`` of 64 kbit/s, whose delay percentiles are recorded.

    Parameters
    ----------
    rate, queue
        As of `alone`. One way takes 20 ms without queueing.
    """
    shape = topologies.dumbbell(pairs=3, rate=rate, delay="10 ms", rtt="40 ms", queue=_queue(queue))
    flows = [Flow(name=f"download {n}", from_=f"s{n}", to=f"d{n}", tcp="cubic", start=START) for n in (1, 2)]
    source = Cbr(rate="64 kbit/s", packet="160 bytes")
    flows.append(Flow(name="call", from_="s3", to="d3", source=source, start=START))
    return shape.scenario(
        name="two downloads and a call",
        duration="40 s",
        measure_from="15 s",
        delay_percentiles=True,
        flows=flows,
    )


def _queue(stated: Any) -> Any:
    is_limit = isinstance(stated, str) and stated[:1].isdigit()
    return DropTail(limit=stated) if is_limit else stated
