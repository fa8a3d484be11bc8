"""Quantities that several grids compare."""

from __future__ import annotations

from dumbbell.judge.agreement import count

RETRANSMITTED = count("retransmitted", "segments sent again", digits=1)
TIMEOUTS = count("timeouts", "timeouts", digits=2)
BACKLOG = count("backlog_mean", "mean backlog", unit="packets", digits=2)
