"""A peer that is Dumbbell itself with a known fault, and two small grids, for tests of cross-validation."""

from pathlib import Path
from typing import Any

import pytest

from dumbbell import Flow
from dumbbell.crossvalidation import Peer, PeerAbsent

PEER = '''"""Dumbbell with a fault: on slow links it delivers a tenth less."""
import pandas as pd
import dumbbell
from dumbbell.crossvalidation import PeerAbsent, PeerRun, Rule

RAN = []
INSTALLED = True
REFUSED = []

class Small:
    name, title, package = "small", "Small 1.0", "small-package"
    variants = ("reno", "vegas")
    rules = (Rule(aspect="Queue limit", peer="`limit_` counts one more", matched="one is added <here>"),)

    def version(self):
        if not INSTALLED:
            raise PeerAbsent("Small", self.package, "no program small on the PATH")
        return "small-1.0"

    def tcp(self, variant, **changes):
        return {"variant": variant} | changes

    def identity(self):
        return "small-1.0/driver 1"

    def prepare(self):
        RAN.append("prepared")

    def run(self, scenario, *, seed=1, run=0):
        if scenario.name in REFUSED:
            raise ValueError("cannot express this")
        RAN.append((scenario.name, seed, run))
        done = dumbbell.run(scenario, seed=seed, run=run)
        flows, cwnd = done.flows.copy(), done.traces["cwnd"].copy()
        if "slow" in scenario.name:
            flows["goodput_bps"] *= 0.9
        if "vegas" in scenario.name:
            cwnd["value"] += 3.0
        return PeerRun(flows=flows, links=done.links, traces={"cwnd": cwnd}, cpu_s=0.5)

PEER = Small()
'''

SHARED = '''"""What both grids share."""
import numpy as np
from dumbbell import DropTail, Flow, Probe, Tcp, Uniform, topologies

AT = np.arange(0.1, 5.0, 0.1)

def scenario(name, tcp, rate, start="0 s"):
    shape = topologies.dumbbell(pairs=1, rate=rate, delay="10 ms", queue=DropTail(limit="10 packets"))
    flow = Flow(name="fg", from_="s1", to="d1", tcp=tcp, start=start)
    return shape.scenario(
        name=name, rules="classic", duration="5 s", flows=[flow], probes=[Probe(flows=["fg"], quantities=["cwnd"])]
    )
'''

GRID = '''"""Two variants on two links, three start times each."""
import pandas as pd
from dumbbell import crossvalidation
from dumbbell.crossvalidation import Agreement, Case

from . import _shapes

REDUCED = []

class Small:
    name, title, order = "small-grid", "A small grid", 2
    question = "Does a <small> grid agree?"

    def cases(self, peer):
        return [
            Case(
                key=f"{variant}, {speed}, run {run}",
                point=f"{variant}, {speed}",
                factors={"variant": variant, "speed": speed},
                scenario=_shapes.scenario(f"{variant} {speed}", peer.tcp(variant), rate, f"{run * 10} ms"),
                run=run,
            )
            for variant in peer.variants
            for speed, rate in (("slow", "1 Mbit/s"), ("fast", "5 Mbit/s"))
            for run in range(3)
        ]

    def reduce(self, case, run):
        REDUCED.append(case.key)
        return {
            "goodput": run.flows["goodput_bps"][0],
            "cwnd": crossvalidation.sampled(run.traces["cwnd"], _shapes.AT, "fg"),
        }

    def judge(self, results):
        ratios = crossvalidation.ratios(results, "goodput", factors=("variant", "speed"))
        windows = crossvalidation.distances(results, "cwnd", bound=1.0, factors=("variant",))
        agrees = crossvalidation.within(ratios, 0.01)
        points = ratios.assign(
            agrees=agrees,
            explanation=["it loses a tenth" if row.speed == "slow" and row.variant == "reno" else ""
                         for row in ratios.itertuples()],
        )
        return Agreement(
            criteria=(
                crossvalidation.criterion("goodput within 1 %", agrees, aim=0.95),
                crossvalidation.counted("cwnd within one segment", windows["within"].sum(), windows["n"].sum(), aim=0.45),
            ),
            points=points,
        )

    def sections(self, results, agreement):
        ratios = crossvalidation.ratios(results, "goodput", factors=("variant", "speed"))
        return [
            crossvalidation.comparison_table(ratios, caption="Goodput", factors=("variant", "speed"),
                                     quantity="goodput [Mbit/s]", scale=1e-6, bound=0.01),
            crossvalidation.scatter(ratios, label="goodput", unit="Mbit/s", scale=1e-6, by="variant", bound=0.01,
                            caption="Goodput"),
            crossvalidation.overlays(results, "cwnd", _shapes.AT, keys=["reno, fast, run 0"], label="cwnd",
                             unit="segments", caption="Windows"),
        ]

GRID = Small()
'''

THEORY = '''"""Our side against a formula."""
import pandas as pd
from dumbbell.crossvalidation import Agreement, Case, criterion

from . import _shapes

class Theory:
    name, title, order, sides = "formula", "A formula", 1, ("ours",)
    question = "Is the goodput below the rate?"

    def cases(self, peer):
        return [Case(key="one", point="one", factors={}, scenario=_shapes.scenario("one", "reno", "1 Mbit/s"))]

    def reduce(self, case, run):
        return {"goodput": run.flows["goodput_bps"][0], "mean_backlog": run.links["backlog_mean_packets"].max()}

    def judge(self, results):
        points = results[["point", "goodput"]].assign(agrees=results["goodput"] < 1e6, explanation="")
        return Agreement(criteria=(criterion("below the rate", points["agrees"], aim=1.0),), points=points)

    def sections(self, results, agreement):
        return []

GRID = Theory()
'''


def write_peers(folder: Path) -> Path:
    """Write a folder of one peer and two grids."""
    (folder / "small").mkdir(parents=True)
    (folder / "grids").mkdir()
    for path, text in (
        ("small/__init__.py", PEER),
        ("grids/_shapes.py", SHARED),
        ("grids/small_grid.py", GRID),
        ("grids/formula.py", THEORY),
    ):
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def numbered_flow(number: int, **settings: Any) -> Flow:
    """Return a flow from the n-th sender to the n-th receiver."""
    return Flow(name=f"f{number}", from_=f"s{number}", to=f"d{number}", **settings)


def ready(peer: Peer) -> Peer:
    """Return a peer of the checkout, ready to run; skip the test if it is not on this machine."""
    try:
        peer.prepare()
    except PeerAbsent as absent:
        pytest.skip(f"{peer.title} is not run: {absent}")
    return peer
