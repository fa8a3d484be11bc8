"""The literal reading beside the main one, and what connections of a kernel say about the choice.

[chan2010 §4]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dumbbell.claims import Claim, judge
from dumbbell.papers import Reading
from dumbbell.papers.readings import section
from dumbbell.report import Section

from .assumptions import BASE, LITERAL_GROUP
from .evidence import Evidence


def readings(claims: Sequence[Claim[Evidence]], evidence: Evidence) -> list[Reading]:
    """Return all claims judged under the main and under the literal reading, on the same number of runs."""
    return [
        Reading(
            name="best supported",
            statement=f"The paper, the assumptions for what it leaves open, a floor under CODE's thresholds, and against phase effects {100 * BASE.cross:g} % random "
            "traffic at the bottleneck where throughputs are averaged, and random processing times in Figs. 10 to 13.",
            findings=judge(claims, evidence),
        ),
        Reading(
            name="literal",
            statement="The paper and the same assumptions, without the random traffic and the processing times, and with the pseudo-code as printed, which has no floor: only start times are random, as in the paper.",
            findings=judge(claims, replace(evidence, group=LITERAL_GROUP)),
        ),
    ]


def _kernel(evidence: Evidence) -> str:
    """Return the ratio of CODE to Reno under both readings, beside those of connections of the kernel."""
    ratios = {
        name: replace(evidence, group=group).pooled("fig9", "code").estimate
        for name, group in (("main", "base"), ("literal", LITERAL_GROUP))
    }
    text = (
        f"Over the rates of Fig. 9, CODE gets {ratios['main']:.2f} times Reno's throughput with the main reading and {ratios['literal']:.2f} times "
        "with the literal one. "
    )
    if evidence.linux is None:
        return text
    kernel, simulated = (
        [float(each.ratios("fig19", "code", rate).mean()) for rate in evidence.kernel.swept("fig19", "code")]
        for each in (evidence.kernel, evidence.kernel_simulated)
    )
    nearer = min(ratios, key=lambda name: abs(ratios[name] - sum(kernel) / len(kernel)))
    return text + (
        f"Connections of a real kernel, without random traffic, give {min(kernel):.2f} to {max(kernel):.2f} (Fig. 19), the simulator on the same "
        f"scenarios {min(simulated):.2f} to {max(simulated):.2f}: in the mean, the kernel is nearer to the {nearer} reading. The timing of a real "
        "system has noise of its own."
    )


def compared(judged: Sequence[Reading], evidence: Evidence) -> Section:
    """Return the section of the report on the readings."""
    return section(
        judged,
        paragraphs=[
            "The paper mentions no traffic but its connections and nothing random but their start times. Our main reading adds both kinds of noise "
            "against phase effects, and was chosen knowing how Fig. 9 comes out. It also stops CODE's thresholds at their initial values, as the text suggests and the pseudo-code does not say. "
            "The scoreboard is therefore shown under the literal reading as well: the same claims, seeds and replications. Windows against time, the rules of the algorithms and the analysis contain no noise in either; of their claims, only those on CODE's thresholds can differ.",
            _kernel(evidence),
        ],
    )
