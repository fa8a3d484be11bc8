"""Dumbbell: a TCP congestion-control laboratory.

Build a `Scenario` from typed parts or read one from TOML, then `run` it, or `run_many` on all cores.
Results are Arrow tables and pandas frames; the same scenario, seed and run give the same bits everywhere.

Examples
--------
>>> import dumbbell
>>> from dumbbell import Flow, Greedy, topologies
>>> shape = topologies.dumbbell(pairs=1, rate="1.6 Mbit/s", delay="50 ms")
>>> flow = Flow(name="fg", from_="s1", to="d1", tcp="vegas", source=Greedy())
>>> scenario = shape.scenario(name="one flow", duration="10 s", flows=[flow])
>>> result = dumbbell.run(scenario, seed=1)
>>> bool(result.flow("fg").goodput_bps > 1e6)
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dumbbell import topologies
from dumbbell.conformance import check
from dumbbell.control import Control
from dumbbell.engine import catalogue, schema, version
from dumbbell.errors import (
    ControlError,
    EngineError,
    IdenticalRunsWarning,
    ScenarioError,
    ScenarioWarning,
)
from dumbbell.library import Library
from dumbbell.permission import allow
from dumbbell.run import Job, Run, Runs, RunsInterrupted, run, run_many
from dumbbell.scenario import (
    Bernoulli,
    BsdTimer,
    Cbr,
    Cobalt,
    CoDel,
    CorrelatedLoss,
    DelayedAck,
    DropTail,
    Drr,
    DualPi2,
    Duplicate,
    Flow,
    Forced,
    Fq,
    FqCoDel,
    FqPie,
    Frames,
    Geo,
    Gilbert,
    Greedy,
    Headers,
    Incast,
    Jitter,
    Link,
    LinkChange,
    LinuxTimer,
    LoadArrivals,
    Lte,
    Markov,
    Media,
    MmWave,
    NewRenoRecovery,
    Node,
    OnOff,
    Opportunities,
    Outage,
    Pacing,
    Pie,
    Poisson,
    Policer,
    Probe,
    RackRecovery,
    Red,
    RenoRecovery,
    Reorder,
    Reroute,
    Restart,
    Rfc6298Timer,
    SackRecovery,
    Scenario,
    Sfq,
    Starlink,
    Streaming,
    SyntheticLink,
    TahoeRecovery,
    Tcp,
    Tcplib,
    TokenBucket,
    Transfer,
    Transfers,
    TwoState,
    Uniform,
    Vegas,
    Video,
    Web,
    Wifi,
    WindowRules,
)
from dumbbell.shown import HTML
from dumbbell.sweep import sweep

if TYPE_CHECKING:
    from dumbbell.campaign import Campaign
    from dumbbell.evaluation import evaluate

__version__ = version()

__all__ = [
    "Bernoulli",
    "BsdTimer",
    "Campaign",
    "Cbr",
    "CoDel",
    "Cobalt",
    "Control",
    "ControlError",
    "CorrelatedLoss",
    "DelayedAck",
    "DropTail",
    "Drr",
    "DualPi2",
    "Duplicate",
    "EngineError",
    "Flow",
    "Forced",
    "Fq",
    "FqCoDel",
    "FqPie",
    "Frames",
    "Geo",
    "Gilbert",
    "Greedy",
    "Headers",
    "IdenticalRunsWarning",
    "Incast",
    "Jitter",
    "Job",
    "Library",
    "Link",
    "LinkChange",
    "LinuxTimer",
    "LoadArrivals",
    "Lte",
    "Markov",
    "Media",
    "MmWave",
    "NewRenoRecovery",
    "Node",
    "OnOff",
    "Opportunities",
    "Outage",
    "Pacing",
    "Pie",
    "Poisson",
    "Policer",
    "Probe",
    "RackRecovery",
    "Red",
    "RenoRecovery",
    "Reorder",
    "Reroute",
    "Restart",
    "Rfc6298Timer",
    "Run",
    "Runs",
    "RunsInterrupted",
    "SackRecovery",
    "Scenario",
    "ScenarioError",
    "ScenarioWarning",
    "Sfq",
    "Starlink",
    "Streaming",
    "SyntheticLink",
    "TahoeRecovery",
    "Tcp",
    "Tcplib",
    "TokenBucket",
    "Transfer",
    "Transfers",
    "TwoState",
    "Uniform",
    "Vegas",
    "Video",
    "Web",
    "Wifi",
    "WindowRules",
    "__version__",
    "allow",
    "catalogue",
    "check",
    "evaluate",
    "run",
    "run_many",
    "schema",
    "sweep",
    "topologies",
]


def _scenario_html(scenario: Scenario) -> str:
    from dumbbell.plots.notebook import scenario_html

    return scenario_html(scenario)


def _topology_html(topology: topologies.Topology) -> str:
    from dumbbell.plots.notebook import topology_html

    return topology_html(topology)


HTML.update({Scenario: _scenario_html, topologies.Topology: _topology_html})


def __getattr__(name: str) -> Any:
    # Data frames take longer to import than a short run takes.
    if name == "Campaign":
        from dumbbell.campaign import Campaign

        return Campaign
    if name == "evaluate":
        from dumbbell.evaluation import evaluate

        return evaluate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
