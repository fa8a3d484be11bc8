"""The pages of the Python interface, one per module."""

from __future__ import annotations

from collections.abc import Iterator

MODULES = {
    "dumbbell.runs": "Running scenarios, one or many on all cores.",
    "dumbbell.campaign.sweep": "Sweeps: a scenario with every combination of some values.",
    "dumbbell.scenario": "Scenarios.",
    "dumbbell.scenario.builders": "The parts that scenarios consist of.",
    "dumbbell.topologies": "Networks: the shapes of the field.",
    "dumbbell.transports": "Transports other than the engine's TCP.",
    "dumbbell.kernel": "Linux kernels in simulated time.",
    "dumbbell.course": "The checks of the course.",
    "dumbbell.control": "Congestion controls of your own.",
    "dumbbell.library": "Congestion controls from shared libraries and WebAssembly modules.",
    "dumbbell.conformance": "The check of a congestion control.",
    "dumbbell.results": "The columns of all tables of results.",
    "dumbbell.campaign": "Campaigns: sweeps with a store, on one machine or a cluster.",
    "dumbbell.comparison": "Two sides: what changed, and how results differ.",
    "dumbbell.inference": "From a captured connection to the scenarios that explain it.",
    "dumbbell.inspection": "Captures: connections, and what limited them.",
    "dumbbell.bundle": "Bundles of results that others verify.",
    "dumbbell.evaluation": "The evaluation of an algorithm by RFC 9743.",
    "dumbbell.gym": "Environments of Gymnasium.",
    "dumbbell.search": "The search for the scenario in which an algorithm does worst.",
    "dumbbell.factorial": "Designed experiments.",
    "dumbbell.statistics": "Intervals, comparisons and fairness.",
    "dumbbell.models": "Analytical models.",
    "dumbbell.models.altman": "Models of Vegas and Reno beside constant-rate traffic.",
    "dumbbell.models.rovegas": "Models of Vegas and RoVegas over asymmetric paths.",
    "dumbbell.models.code_tcp": "The model behind a constant of CODE TCP.",
    "dumbbell.models.throughput": "Models of TCP throughput.",
    "dumbbell.plots": "Figures.",
    "dumbbell.traces": "Step functions of traces.",
    "dumbbell.tcp_events": "Recoveries and timeouts from traces.",
    "dumbbell.traffic": "Traces of delivery opportunities, and traffic.",
    "dumbbell.claims": "Claims, evidence and verdicts.",
    "dumbbell.sensitivity": "Assumptions varied one at a time.",
    "dumbbell.testbed": "Runs in real time with the Linux kernel.",
    "dumbbell.engine": "What the engine knows: catalogue, schema, version.",
    "dumbbell.errors": "Exceptions and warnings.",
    "dumbbell.permission": "Which code named in files may be loaded.",
}


def pages() -> Iterator[tuple[str, str]]:
    """Yield the place and the Markdown of each page."""
    rows = [f"| [`{module}`]({module}.md) | {about} |" for module, about in MODULES.items()]
    table = "\n".join(["| module | contents |", "|---|---|", *rows])
    yield "reference/index.md", f"# Python interface\n\n{table}\n"
    for module in MODULES:
        yield f"reference/{module}.md", f"# {module}\n\n::: {module}\n"
