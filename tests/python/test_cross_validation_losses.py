"""Cross-validation with random losses: effects of chance are distinguished from effects of rules."""

import numpy as np
import pandas as pd
import pytest

import dumbbell
from dumbbell import DropTail, Flow, crossvalidation, topologies
from dumbbell.crossvalidation.losses import LOSSES, SameLosses, is_random
from dumbbell.scenario import Bernoulli, TwoState
from small_peer import write_peers

GRID = '''"""A flow over a lossy link; losses drawn elsewhere are others."""
from dumbbell import Flow, topologies, crossvalidation
from dumbbell.scenario import Bernoulli
from dumbbell.crossvalidation import Agreement, Case

class Lossy:
    name, title, order = "lossy", "A lossy link", 1
    question = "Is the goodput equal?"

    def cases(self, peer):
        shape = topologies.dumbbell(
            pairs=1, rate="2 Mbit/s", delay="10 ms", impairments=[Bernoulli(probability=0.02)]
        )
        return [
            Case(
                key=f"{variant}, run {run}",
                point=variant,
                factors={"variant": variant},
                scenario=shape.scenario(
                    name=f"{variant} lossy",
                    rules="classic", duration="10 s",
                    flows=[Flow(name="fg", from_="s1", to="d1", tcp=variant)],
                    probes=[{"flows": ["fg"], "quantities": ["cwnd"]}],
                ),
                run=run,
            )
            for variant in ("reno", "newreno")
            for run in range(2)
        ]

    def reduce(self, case, run):
        return {"goodput": run.flows["goodput_bps"][0]}

    def judge(self, results):
        ratios = crossvalidation.ratios(results, "goodput", factors=("variant",))
        agrees = crossvalidation.within(ratios, 1e-9)
        return Agreement(
            criteria=(crossvalidation.criterion("equal", agrees, aim=1.0),),
            points=ratios.assign(agrees=agrees, explanation=""),
        )

    def sections(self, results, agreement):
        return []

GRID = Lossy()
'''


class Elsewhere:
    """Dumbbell under another seed."""

    name, title, package = "elsewhere", "Elsewhere", "none"
    variants = ("reno",)
    rules = ()

    def identity(self):
        return "elsewhere"

    def run(self, scenario, *, seed=1, run=0):
        done = dumbbell.run(scenario, seed=seed + 100, run=run)
        return crossvalidation.PeerRun(flows=done.flows, links=done.links, traces=done.traces, cpu_s=0.0)


def lossy(*impairments):
    shape = topologies.dumbbell(
        pairs=1, rate="2 Mbit/s", delay="10 ms", queue=DropTail(limit="8 packets"), impairments=impairments
    )
    return shape.scenario(
        rules="classic", duration="20 s", flows=[Flow(name="fg", from_="s1", to="d1", tcp="newreno")]
    )


@pytest.mark.parametrize(
    "impairment",
    [Bernoulli(probability=0.02), TwoState(good="500 ms", bad="50 ms", loss=0.3, change=0.5)],
)
def test_a_peer_is_given_our_losses(impairment):
    asked = lossy(impairment)
    ours = dumbbell.run(asked, seed=3, run=2).flows["goodput_bps"][0]
    assert Elsewhere().run(asked, seed=3, run=2).flows["goodput_bps"][0] != ours
    assert SameLosses(Elsewhere()).run(asked, seed=3, run=2).flows["goodput_bps"][0] == ours


def test_a_run_without_losses_is_given_none():
    asked = lossy(Bernoulli(probability=0.0))
    assert is_random(asked)
    assert SameLosses(Elsewhere()).run(asked).links["drops_impairment"].sum() == 0


def test_what_is_not_random_is_not_replaced():
    assert not is_random(lossy())
    assert not is_random(lossy({"kind": "forced", "packets": [3]}))


def test_a_disagreement_by_chance_alone_is_traced_to_the_losses(tmp_path):
    folder = write_peers(tmp_path / "peers")
    (folder / "grids" / "lossy.py").write_text(GRID, encoding="utf-8")
    driver = folder / "small" / "__init__.py"
    text = driver.read_text(encoding="utf-8")
    # Other losses for both variants, and an additional fault for one of them.
    text = text.replace("seed=seed, run=run)\n        flows", "seed=seed + 100, run=run)\n        flows")
    text = text.replace('"slow" in scenario.name', 'scenario.name == "reno lossy"')
    driver.write_text(text, encoding="utf-8")
    done = crossvalidation.cross_validate(
        "small", grids=["lossy"], peers=folder, output=tmp_path / "out", quiet=True
    )
    points = pd.DataFrame(done.data["grids"][0]["points"]).set_index("point")
    assert not points["agrees"].any()
    assert points.loc["newreno", "explanation"].startswith(LOSSES)
    assert points.loc["reno", "explanation"] == ""
    assert np.isfinite(points["ratio"]).all()
