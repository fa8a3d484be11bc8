"""Benchmarks: speed beside other simulators, growth of the cost with the size of a problem, and what a TCP uses alone.

``peers/speed.py`` defines how other simulators are measured: a value ``CONTENDERS`` of objects that implement the
protocol `Contender`.
"""

from __future__ import annotations

from dumbbell.bench.against_peers import AIMS, bench_peers
from dumbbell.bench.alone import bench_alone
from dumbbell.bench.cases import CASES, Case
from dumbbell.bench.children import Measured
from dumbbell.bench.contenders import Contender, Dumbbell, load_contenders
from dumbbell.bench.growth import FULL, QUICK, Plan
from dumbbell.bench.outcome import Benched
from dumbbell.bench.scale import bench_scale
from dumbbell.bench.turns import Spread, Turns, ratios
from dumbbell.judge.criterion import Criterion

__all__ = [
    "AIMS",
    "CASES",
    "FULL",
    "QUICK",
    "Benched",
    "Case",
    "Contender",
    "Criterion",
    "Dumbbell",
    "Measured",
    "Plan",
    "Spread",
    "Turns",
    "bench_alone",
    "bench_peers",
    "bench_scale",
    "load_contenders",
    "ratios",
]
