"""TCP Vegas and TCP Reno with constant-rate traffic at one bottleneck.

Source
------
[aithellal2000]: Theorem 1 (one mini-slot), Corollary 1 (windows), Corollary 2 (averages), Theorem 2 (where Vegas
behaves like Reno). The paper does not number the formulas used here; docstrings name the theorem or
corollary, and say where a formula follows from its argument without being printed in a legible copy.

Model
-----
One window-controlled source shares a first-in-first-out bottleneck with constant-rate traffic. Generation n
is the W packets that the acknowledgements of generation n - 1 release, and mini-slot n lasts from the last
acknowledgement of generation n - 1 to the last of generation n. Infinite data, an acknowledgement for every
packet and none lost, no limit by the receiver. While the window is constant, every acknowledgement releases one
packet; in congestion avoidance the last one of a generation releases two; in slow start each releases two, in
every other mini-slot for Vegas. With mu the service rate, lambda the constant rate, $nu = mu - lambda$, T the
smallest round-trip time and B the buffer, the largest excess delay is $B / mu$.

Two forms of it are here. The closed forms take the round-trip time as if it followed the window at once:
`mini_slot`, `stable_window`, `slow_start_threshold`, `reno_cycle`, `reno_averages`, `critical_buffer`. The
fluid recursion drops that shortcut: `next_first_rtt`, `fluid_vegas`, `fluid_slow_start_threshold`,
`fluid_reno`. Against packets the recursion is the better one everywhere except for `critical_buffer`, which
it has no part in.

Units and range
---------------
Packets, seconds, packets per second. Windows are real numbers of at least 1 for a single mini-slot,
and whole numbers where a window grows by one packet at a time. The closed forms are good for loads
$lambda / mu$ up to about 1/2 and windows of some ten packets; at higher loads the round-trip time lags behind the
window by $mu / nu$ packets.
"""

from dumbbell.models.altman._bottleneck import MAX_WINDOW, Bottleneck, Phase, Slot
from dumbbell.models.altman._closed import (
    RenoAverages,
    RenoCycle,
    SlowStartThreshold,
    StableWindow,
    VegasAverages,
    behaves_like_reno,
    critical_buffer,
    loss_window,
    reno_averages,
    reno_cycle,
    slow_start_threshold,
    smallest_stable_buffer,
    stable_window,
    stable_window_reached,
    vegas_averages,
)
from dumbbell.models.altman._fluid import (
    FluidRenoCycle,
    FluidRenoResult,
    FluidSlot,
    FluidVegasResult,
    fluid_reno,
    fluid_slow_start_threshold,
    fluid_vegas,
    next_first_rtt,
)
from dumbbell.models.altman._slots import (
    BurstRates,
    MiniSlot,
    burst_rates,
    excess_rtt,
    fifo_share,
    mini_slot,
    slow_start_excess,
)

__all__ = [
    "MAX_WINDOW",
    "Bottleneck",
    "BurstRates",
    "FluidRenoCycle",
    "FluidRenoResult",
    "FluidSlot",
    "FluidVegasResult",
    "MiniSlot",
    "Phase",
    "RenoAverages",
    "RenoCycle",
    "Slot",
    "SlowStartThreshold",
    "StableWindow",
    "VegasAverages",
    "behaves_like_reno",
    "burst_rates",
    "critical_buffer",
    "excess_rtt",
    "fifo_share",
    "fluid_reno",
    "fluid_slow_start_threshold",
    "fluid_vegas",
    "loss_window",
    "mini_slot",
    "next_first_rtt",
    "reno_averages",
    "reno_cycle",
    "slow_start_excess",
    "slow_start_threshold",
    "smallest_stable_buffer",
    "stable_window",
    "stable_window_reached",
    "vegas_averages",
]
