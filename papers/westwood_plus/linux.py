"""Uploads of a kernel over three paths, each with two possible causes of loss.

The simulator runs the same scenarios. What limited the paper's uploads is not known: random losses on a link that is not full,
or other connections on a tight link. Both are run, and pairs of uploads meet the same losses and the same starts.
[grieco2004 §4]
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from dumbbell import Flow, Scenario, Tcp, topologies
from dumbbell.papers import PlannedRun, Settings, Stage
from dumbbell.scenario import Bernoulli, DropTail, Transfer, Uniform

from . import printed
from .scenarios import bdp_packets

VARIANTS = ("newreno", "westwoodp")

CAUSES = {"random": "random losses", "congestion": "other connections"}
"""What loses packets, in words."""

LEVELS: dict[str, tuple[float, ...]] = {"random": (0.01, 0.03), "congestion": (3, 7)}
"""Probabilities of a loss, and numbers of other connections. Assumed."""

FILE_MB = 3.2
"""The smaller of the paper's files, MB."""

MSS, HEADERS = 1448, 52

RANDOM_RATE, TIGHT_RATE = 10.0, 4.0
"""Rates of the link with random losses and of that with other connections, Mbit/s. Assumed."""

WARM_UP_S = 10.0
"""When the upload starts beside other connections, s."""

PAIRS, QUICK_PAIRS = 15, 2


def key(site: str, cause: str, level: float, variant: str) -> str:
    """Return the key of the uploads of a session with a variant."""
    return f"linux/{site}/{cause}/{level:g}/{variant}"


def _tcp(variant: str) -> Tcp:
    settings: dict[str, Any] = {
        "rules": "linux",
        "congestion": "reno" if variant == "newreno" else variant,
        # Without SACK, as the kernels of then.
        "recovery": "newreno",
        "initial_window": "3 segments",
    }
    return Tcp.from_dict(settings)


@cache
def upload(site: str, cause: str, level: float, variant: str) -> Scenario:
    """Return the upload of a file.

    Parameters
    ----------
    site
        The server, as in `printed.SITES`: it decides on the round-trip time.
    cause
        One of `CAUSES`.
    level
        One of its `LEVELS`.
    variant
        One of `VARIANTS`.
    """
    rtt_ms = printed.site(site).rtt_ms
    is_random = cause == "random"
    others = 0 if is_random else int(level)
    rate = RANDOM_RATE if is_random else TIGHT_RATE
    shape = topologies.dumbbell(
        pairs=1 + others,
        rate=f"{rate:g} Mbit/s",
        delay=f"{rtt_ms / 4:g} ms",
        queue=DropTail(limit=f"{bdp_packets(rate, rtt_ms / 1e3)} packets"),
        impairments=[Bernoulli(probability=level)] if is_random else None,
        access_rate="100 Mbit/s",
        rtt=f"{rtt_ms:g} ms",
    )
    after = 0.0 if is_random else WARM_UP_S
    flows = [
        Flow(
            name="f1",
            from_="s1",
            to="d1",
            tcp=_tcp(variant),
            source=Transfer(size=f"{round(1e6 * FILE_MB)} bytes"),
            start=Uniform(uniform=(f"{after:g} s", f"{after + 1:g} s")),
        )
    ]
    flows += [
        Flow(
            name=f"x{index}",
            from_=f"s{index + 1}",
            to=f"d{index + 1}",
            tcp=_tcp("newreno"),
            start=Uniform(uniform=("0 s", "5 s")),
        )
        for index in range(1, others + 1)
    ]
    return shape.scenario(
        name=f"upload, {site}, {cause} {level:g}, {variant}",
        rules="classic",
        duration="600 s",
        flows=flows,
        stop_when_complete=["f1"],
    )


def stages(_settings: Settings) -> list[Stage]:
    """Return the stages of the runs in real time."""
    return [
        Stage(name="random losses", at_once=12, seconds=28.0),
        Stage(name="other connections", at_once=12, seconds=57.0),
    ]


def plan(settings: Settings) -> list[PlannedRun]:
    """Return the runs in real time, pair by pair."""
    return list(_planned(settings))


def _planned(settings: Settings) -> Iterator[PlannedRun]:
    pairs = settings.runs or (QUICK_PAIRS if settings.quick else PAIRS)
    for cause, words in CAUSES.items():
        for site in printed.SITES:
            for level in LEVELS[cause][:1] if settings.quick else LEVELS[cause]:
                for run in range(pairs):
                    for variant in VARIANTS:
                        yield PlannedRun(
                            key=key(site, cause, level, variant),
                            scenario=upload(site, cause, level, variant),
                            seed=settings.seed,
                            run=run,
                            stage=words,
                        )
