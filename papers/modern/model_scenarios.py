"""Models of a path: BBR alone, in its steps, under loss and behind a policer, and the cases of BBRv3's draft."""

from __future__ import annotations

from .assumptions import Assumptions
from .network import (
    Case,
    Data,
    bdp_bytes,
    bottleneck,
    bulk,
    drop_tail,
    lines,
    linux,
    linux_bbr,
    lossy_way,
    probe,
    rate_of,
    shaped,
    staggered,
)

HIGH_LOSS = (0.0, 0.01, 0.02, 0.05, 0.12, 0.18, 0.25)
"""Loss rates of the study of when to use BBR, on its path of 100 Mbit/s and 25 ms."""

WITHOUT_SEARCH = (0.18,)
"""Loss rates of the runs in which BBR does not look for policers."""

CLIFF = (0.05, 0.06, 0.07, 0.08, 0.09, 0.10, 0.11, 0.12, 0.14)
"""Loss rates around the limit of a probe gain of 1.1."""

SLOW_BUFFERS_KB = (975, 3900, 9750)

SHALLOW = ("bbr", "bbr3", "cubic")


def _published(assumptions: Assumptions, *, quick: bool) -> dict[str, Data]:
    """Return the experiments of the publication of BBR."""
    bbr, cubic = linux("bbr", assumptions), linux("cubic", assumptions)
    # What Linux adds and the publication lacks: allowances for bursts and aggregation, and the pacing margin.
    published = linux_bbr(assumptions, burst_budget=0.0, pacing_margin=0.0)
    made = {
        **{
            name: bottleneck(
                name, 10, 40, bulk([("f", tcp)]), 32, from_s=5, queue=drop_tail(bdp_bytes(10, 40, 10)),
                probes=[probe("backlog", link=True, period_ms=5), probe("pacing_gain", flows=["f"])],
            )
            for name, tcp in (("bbr-alone", published), ("bbr-alone-linux", bbr))
        },
        # A short path: the first acknowledgement after 200 ms comes soon.
        "bbr-probe-rtt": bottleneck(
            "bbr-probe-rtt", 100, 4, bulk([("f", bbr)]), 32, queue=drop_tail(bdp_bytes(100, 4, 10)),
            probes=[probe("flight_size", flows=["f"], period_ms=1), probe("bbr_mode", flows=["f"])],
        ),
        **{
            name: bottleneck(
                name, 10, 40, bulk([("f", tcp)], (0.0, 1.0)), 60, queue=drop_tail(bdp_bytes(10, 40, 50)),
                changes=[{"at": "20 s", "rate": rate_of(20)}, {"at": "40 s", "rate": rate_of(10)}],
                probes=[
                    probe("backlog", link=True, period_ms=10), probe("bandwidth", "pacing_gain", flows=["f"])
                ],
            )
            for name, tcp in (("bbr-steps", published), ("bbr-steps-linux", bbr))
        },
        **{
            f"buffer-250ms-{name}": bottleneck(
                f"buffer-250ms-{name}", 10, 40, bulk([("f", tcp)]), 120, from_s=10,
                queue=drop_tail(bdp_bytes(10, 250)), probes=[probe("backlog", link=True, period_ms=20)],
            )
            for name, tcp in (("bbr", bbr), ("cubic", cubic))
        },
        "bbr-five": bottleneck(
            "bbr-five", 100, 10, staggered(lines("f", 5, bbr), 2), 90, from_s=50,
            queue=drop_tail(bdp_bytes(100, 10, 10)),
        ),
        "cubic-lossy": lossy_way(
            bottleneck("cubic-lossy", 100, 100, bulk([("f", cubic)]), 60, queue=drop_tail(bdp_bytes(100, 100))), 0.001
        ),
        "policer": bottleneck(
            "policer", 40, 40, bulk([("f", bbr)]), 30,
            queue={"kind": "policer", "rate": "10 Mbit/s", "burst": f"{bdp_bytes(10, 40)} bytes"},
            probes=[probe("bbr_mode", "bandwidth", flows=["f"])],
        ),
    }  # fmt: skip
    return made | _disturbed(bbr, cubic, quick=quick)


def _disturbed(bbr: Data, cubic: Data, *, quick: bool) -> dict[str, Data]:
    """Return BBR on a path that loses many packets, and eight flows on a slow one."""
    made = {}
    for loss in (0.15, 0.25):
        name = f"bbr-lossy-{loss:g}"
        made[name] = lossy_way(
            bottleneck(name, 100, 100, bulk([("f", bbr)]), 60, queue=drop_tail(bdp_bytes(100, 100))), loss
        )
    for name, tcp in (("bbr", bbr), ("cubic", cubic)):
        for size in SLOW_BUFFERS_KB:
            # The largest buffer holds ten minutes of packets.
            made[f"slow-{name}-{size}"] = bottleneck(
                f"slow-{name}-{size}", 0.128, 40, bulk(lines("f", 8, tcp), (0, 1)), 1500 if quick else 3000,
                from_s=900 if quick else 1500, queue=drop_tail(size * 1000),
                probes=[probe("backlog", link=True, period_ms=5000)],
            )  # fmt: skip
    return made


def _lossy(assumptions: Assumptions, *, quick: bool) -> dict[str, Data]:
    """Return BBR on the path with losses of the study of when to use BBR."""
    duration = 15 if quick else 61
    # Its 1.1 replaces the gain of the first phase alone.
    chosen: dict[str, tuple[float, Data]] = {
        **{f"loss-{loss:g}": (loss, {}) for loss in HIGH_LOSS},
        **{f"loss-{loss:g}-free": (loss, {"policer": False}) for loss in WITHOUT_SEARCH},
        **{f"cliff-{loss:g}": (loss, {"up_gain": 1.1}) for loss in CLIFF},
    }
    return {
        name: shaped(
            name, 100, 25, 10_000_000, bulk([("f", linux_bbr(assumptions, **more))]), duration, loss=loss, from_s=1
        )
        for name, (loss, more) in chosen.items()
    }  # fmt: skip


def _several(assumptions: Assumptions, *, quick: bool) -> dict[str, Data]:
    duration = 40 if quick else 90
    within = (0.0, assumptions.start_s)
    made = {
        f"shallow-{name}": bottleneck(
            f"shallow-{name}", 50, 40, bulk(lines("f", 5, linux(name, assumptions)), within), duration, from_s=15,
            queue=drop_tail(bdp_bytes(50, 40, 0.3)),
        )
        for name in SHALLOW
    }  # fmt: skip
    made["deep-four"] = bottleneck(
        "deep-four", 50, 40, bulk(lines("f", 4, linux_bbr(assumptions)), within), duration, from_s=15,
        queue=drop_tail(bdp_bytes(50, 40, 10)),
    )  # fmt: skip
    return made


def _single(assumptions: Assumptions, *, quick: bool) -> dict[str, Data]:
    """Return the single flows of the study of when to use BBR."""
    duration = 20 if quick else 60
    bbr, cubic = linux_bbr(assumptions), linux("cubic", assumptions)
    # At 200 ms, what is measured depends on the duration: CUBIC grows for minutes.
    chosen = {
        **{f"single-200ms-{name}": (tcp, 200, 100_000, 60) for name, tcp in (("bbr", bbr), ("cubic", cubic))},
        **{f"single-25ms-{name}": (tcp, 25, 100_000, duration) for name, tcp in (("bbr", bbr), ("cubic", cubic))},
        **{f"single-deep-{name}": (tcp, 25, 10_000_000, duration) for name, tcp in (("bbr", bbr), ("cubic", cubic))},
    }  # fmt: skip
    made = {
        name: shaped(name, 500, rtt, buffer, bulk([("f", tcp)]), length)
        for name, (tcp, rtt, buffer, length) in chosen.items()
    }
    made["single-200ms-plain"] = bottleneck(
        "single-200ms-plain", 500, 200, bulk([("f", cubic)]), 60, queue=drop_tail(100_000)
    )
    return made


RANDOM = (
    "bbr-steps",
    "loss-",
    "cliff-",
    "shallow-",
    "deep-",
    "bbr-lossy",
    "cubic-lossy",
    "slow-",
)


def model_cases(assumptions: Assumptions, *, quick: bool) -> list[Case]:
    """Return the scenarios of models."""
    made = {
        **_published(assumptions, quick=quick),
        **_lossy(assumptions, quick=quick),
        **_several(assumptions, quick=quick),
        **_single(assumptions, quick=quick),
    }
    return [
        Case(key=key, stage="models", data=data, is_random=key.startswith(RANDOM))
        for key, data in made.items()
    ]
