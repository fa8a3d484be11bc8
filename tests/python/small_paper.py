"""A paper of one scenario and three claims, for tests of what reproduces papers."""

import sys
from pathlib import Path

OF_THE_CHECKOUT = Path(__file__).parents[2] / "papers"

SMALL = '''"""A paper of one scenario and three claims."""
import numpy as np
import pandas as pd
from dumbbell import Flow, Tcp, Transfer, Uniform, topologies
from dumbbell.claims import Claim, judge
from dumbbell.judge.estimate import NotMeasured, Outcome
from dumbbell.papers import Evaluation, Paper, PlannedRun
from dumbbell.report import Section, Text

REDUCED = []

class Small(Paper):
    name, title, citation = "small-paper", "A small paper", "Nobody 2000"
    columns = ("goodput",)
    order = 9

    def plan(self, settings):
        flow = Flow(
            name="fg", from_="s1", to="d1", tcp=Tcp(variant="reno"), source=Transfer(size="50 kB"),
            start=Uniform(uniform=("0 s", "1 s")),
        )
        scenario = topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="10 ms").scenario(
            name="small", rules="classic", duration="20 s", flows=[flow]
        )
        count = settings.runs or 3
        return [PlannedRun(key="one", scenario=scenario, seed=settings.seed, run=run) for run in range(count)]

    def reduce(self, runs):
        REDUCED.append(len(runs))
        flows = runs.flows.set_index("job")
        return pd.DataFrame({"goodput": flows["goodput_bps"]}, index=flows.index)

    def observe(self, settings, steps):
        steps("looking", 1)()
        return {}

    def evaluate(self, settings, results, observed):
        def missing(_):
            raise NotMeasured("nobody looked")
        mean = float(results["goodput"].mean())
        stated = {"source": "table 1", "paper_value": mean, "tolerance_kind": "rel", "tolerance": 0.1}
        findings = judge(
            [
                Claim(id="A", kind="value", statement="goes", measure=lambda r: Outcome.of(mean), **stated),
                Claim(
                    id="B", source="table 1", kind="ordering", statement="flies",
                    measure=lambda r: Outcome.of(0.0, holds=False),
                ),
                Claim(id="C", source="table 2", kind="shape", statement="unseen", measure=missing),
            ],
            results,
        )
        return Evaluation(findings=findings, evidence=results)

    def sections(self, settings, evaluation):
        return [Section(anchor="one", title="One <section>", blocks=[Text(paragraphs=["`code` & text"])])]

    def facts(self, settings):
        return [("assumed", "nothing")]

    def notice(self, settings):
        return "few runs" if settings.quick else ""

PAPER = Small()
'''


def write_paper(folder: Path, name: str, text: str) -> None:
    """Write the folder of a paper into a folder of papers."""
    place = folder / name.replace("-", "_")
    place.mkdir(parents=True)
    (place / "__init__.py").write_text(text, encoding="utf-8")


def forget_papers() -> None:
    """Take the papers that tests wrote out of the interpreter, so that another test may use their names."""
    loaded = [(name, module) for name, module in sys.modules.items() if name.startswith("dumbbell_paper_")]
    for name, module in loaded:
        if not Path(str(module.__file__)).is_relative_to(OF_THE_CHECKOUT):
            del sys.modules[name]
