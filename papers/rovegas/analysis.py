"""The fluid analysis of section 5 compared with the simulation: windows by Eqs. 10 and 14 from the measured queues."""

from __future__ import annotations

from dataclasses import dataclass

from dumbbell.models import rovegas as model

from .assumptions import (
    FORWARD_RATE_KBPS,
    PACKET_BYTES,
    acknowledgement_bytes,
    backward_rate_kbps,
    fixed_delay_s,
)
from .evidence import Evidence
from .scenarios import ASYMMETRIES, OTHER_ASYMMETRIES, SYMMETRIES

FORWARD_PACKETS = FORWARD_RATE_KBPS * 1000 / 8 / PACKET_BYTES


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A window of the model and of the simulation, packets.

    Parameters
    ----------
    variant, k
        The run.
    forward_queue, backward_queue
        Mean numbers of packets that wait.
    by_model
        Throughput times the round-trip time of these queues (Eqs. 7, 10 and 14).
    simulated
        The mean window.
    """

    variant: str
    k: float
    forward_queue: float
    backward_queue: float
    by_model: float
    simulated: float

    @property
    def error(self) -> float:
        """Relative error of the model."""
        return self.by_model / self.simulated - 1


def windows(evidence: Evidence) -> list[Compared]:
    """Return the comparison for every run of the analysis."""
    found = []
    for variant in ("vegas", "rovegas"):
        for k in sorted((*SYMMETRIES, *OTHER_ASYMMETRIES, *ASYMMETRIES)):
            backward = backward_rate_kbps(k, acknowledgement_bytes(variant))
            path = model.Path(
                forward_rate=FORWARD_PACKETS,
                backward_rate=FORWARD_PACKETS / k,
                base_rtt=fixed_delay_s(variant, evidence.place("ana"), backward_kbps=backward),
            )
            queues = [
                float(evidence.first(f"{way}_queue", 0, "ana", variant, k)[0])
                for way in ("forward", "backward")
            ]
            rtt = float(model.round_trip_time(path, forward_queue=queues[0], backward_queue=queues[1]))
            rate = float(evidence.packets("ana", variant, k)[0]) * 1000 / 8 / PACKET_BYTES
            found.append(
                Compared(
                    variant=variant,
                    k=k,
                    forward_queue=queues[0],
                    backward_queue=queues[1],
                    by_model=rate * rtt,
                    simulated=float(evidence.first("window", 0, "ana", variant, k)[0]),
                )
            )
    return found
