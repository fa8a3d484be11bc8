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

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dumbbell.shown import HTML

if TYPE_CHECKING:
    from dumbbell import topologies as topologies
    from dumbbell.campaign import Campaign as Campaign
    from dumbbell.campaign.sweep import sweep as sweep
    from dumbbell.comparison import Comparison as Comparison
    from dumbbell.comparison import compare as compare
    from dumbbell.conformance import check as check
    from dumbbell.control import Control as Control
    from dumbbell.engine import catalogue as catalogue
    from dumbbell.engine import schema as schema
    from dumbbell.engine import version as version
    from dumbbell.errors import ControlError as ControlError
    from dumbbell.errors import EngineError as EngineError
    from dumbbell.errors import IdenticalRunsWarning as IdenticalRunsWarning
    from dumbbell.errors import ScenarioError as ScenarioError
    from dumbbell.errors import ScenarioWarning as ScenarioWarning
    from dumbbell.errors import TransportError as TransportError
    from dumbbell.evaluation import evaluate as evaluate
    from dumbbell.inference import Fit as Fit
    from dumbbell.inference import fit as fit
    from dumbbell.inspection import Captured as Captured
    from dumbbell.inspection import Inspection as Inspection
    from dumbbell.inspection import inspect as inspect
    from dumbbell.library import Library as Library
    from dumbbell.permission import allow as allow
    from dumbbell.runs import Job as Job
    from dumbbell.runs import Run as Run
    from dumbbell.runs import Runs as Runs
    from dumbbell.runs import RunsInterrupted as RunsInterrupted
    from dumbbell.runs import run as run
    from dumbbell.runs import run_many as run_many
    from dumbbell.scenario import Scenario as Scenario
    from dumbbell.scenario.builders import *  # noqa: F403 - the stub names them all
    from dumbbell.transports import Transport as Transport

# What is not used is not imported: the engine, data frames and figures take longer than a short run.
_MODULES = {
    "campaign": ["Campaign"],
    "campaign.sweep": ["sweep"],
    "comparison": ["Comparison", "compare"],
    "conformance": ["check"],
    "control": ["Control"],
    "engine": ["catalogue", "schema", "version"],
    "errors": [
        "ControlError",
        "EngineError",
        "IdenticalRunsWarning",
        "ScenarioError",
        "ScenarioWarning",
        "TransportError",
    ],
    "evaluation": ["evaluate"],
    "inference": ["Fit", "fit"],
    "inspection": ["Captured", "Inspection", "inspect"],
    "library": ["Library"],
    "permission": ["allow"],
    "runs": ["Job", "Run", "Runs", "RunsInterrupted", "run", "run_many"],
    "scenario": ["Scenario"],
    "transports": ["Transport"],
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def _in_notebook(function: str) -> Callable[[Any], str]:
    """Return a function of `dumbbell.plots.notebook`, which is imported when it is called."""
    return lambda shown: getattr(import_module("dumbbell.plots.notebook"), function)(shown)


HTML["dumbbell.scenario.Scenario"] = _in_notebook("scenario_html")
HTML["dumbbell.topologies.network.Topology"] = _in_notebook("topology_html")


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        value = getattr(import_module(f"dumbbell.{_MODULE_OF[name]}"), name)
    elif name == "__version__":
        value = import_module("dumbbell.engine").version()
    elif name == "__all__":
        value = sorted(
            ["__version__", *_MODULE_OF, *dir(import_module("dumbbell.scenario.builders")), "topologies"]
        )
    elif not name.startswith("_") and find_spec(f"dumbbell.{name}") is not None:
        return import_module(f"dumbbell.{name}")
    elif not name.startswith("_") and name in dir(builders := import_module("dumbbell.scenario.builders")):
        value = getattr(builders, name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    names: list[str] = __getattr__("__all__")
    return names
