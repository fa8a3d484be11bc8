"""A paper with a register of claims on two configurations, for tests of what repeats single claims."""

from pathlib import Path

from small_paper import write_paper

NAME = "small-claims"

CLAIMS = """
[S-1]
source = "table 1"
kind = "value"
statement = "mean goodput of Reno"
units = "kbit/s"
paper = 300
within = 0.5
relative = true
scenario = "table-1"
measure = { estimate = "goodput", variant = "reno" }

[S-2]
source = "table 1"
kind = "value"
statement = "mean goodput of Vegas"
units = "kbit/s"
paper = 820
within = 0.001
relative = true
scenario = "table-1"
measure = { estimate = "goodput", variant = "vegas" }

[S-3]
source = "section 1"
kind = "ordering"
statement = "Reno is faster than Vegas"
bound = "> 0"
scenario = "table-1"

[S-4]
source = "section 2"
kind = "value"
statement = "a number in print"
paper = 4
within = 0
evidence = "arithmetic"
scenario = ""
"""

PAPER = '''"""A paper of two configurations and four claims."""
from pathlib import Path
import pandas as pd
from dumbbell import Flow, Tcp, Transfer, Uniform, topologies
from dumbbell.claims import Register
from dumbbell.judge.estimate import Outcome, mean_of, ordering
from dumbbell.judge.runs import KeyedRuns
from dumbbell.papers import ClaimedPaper, PlannedRun
from dumbbell.sensitivity import Sensitivity

REGISTER = Register(Path(__file__).with_name("claims.toml"))

def goodputs(evidence, variant):
    return evidence.frame(variant)["goodput"].to_numpy(dtype=float) / 1e3

@REGISTER.estimate
def goodput(evidence, variant: str):
    return mean_of(goodputs(evidence, variant))

@REGISTER.claim("S-3")
def lead_of_reno(evidence):
    return ordering(goodputs(evidence, "reno") - goodputs(evidence, "vegas"), lambda lead: lead > 0)

@REGISTER.claim("S-4")
def number_in_print(_evidence):
    return Outcome(measured=4.0)

class Small(ClaimedPaper):
    name, title, citation = "small-claims", "A small paper with claims", "Nobody 2000"
    columns = ("goodput",)
    order = 9
    register = REGISTER
    deciding = {"table-1": "transfers"}

    def plan(self, settings):
        runs = []
        for variant in ("reno", "vegas"):
            flow = Flow(
                name="fg", from_="s1", to="d1", tcp=Tcp(variant=variant), source=Transfer(size="50 kB"),
                start=Uniform(uniform=("0 s", "1 s")),
            )
            scenario = topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="10 ms").scenario(
                name=variant, rules="classic", duration="20 s", flows=[flow]
            ).with_values({"links.r1-r2.impairments": [{"kind": "bernoulli", "probability": 0.02}]})
            runs += [
                PlannedRun(key=f"base|{variant}", scenario=scenario, seed=100 + settings.seed, run=run, stage="transfers")
                for run in range(3)
            ]
        return runs

    def reduce(self, runs):
        flows = runs.flows.set_index("job")
        return pd.DataFrame({"goodput": flows["goodput_bps"]}, index=flows.index)

    def evidence(self, settings, results, observed):
        return KeyedRuns(results, "base", seed=settings.seed)

    def study(self, settings, claims, evidence, findings):
        return Sensitivity()

    def sections(self, settings, evaluation):
        return []

PAPER = Small()
'''


def write_small_claims(folder: Path) -> None:
    """Write the paper into a folder of papers."""
    write_paper(folder, NAME, PAPER)
    (folder / NAME.replace("-", "_") / "claims.toml").write_text(CLAIMS, encoding="utf-8")
