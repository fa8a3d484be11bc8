"""How much of a link one flow alone uses: every TCP of every environment, over rates, delays and buffers.

The reference of a setting is a formula: what a TCP uses that halves its window at each loss and adds a segment per round trip
[lakshman1997]. A result more than `TOLERANCE` below it is run again without one rule of its TCP after the other. If it
reaches the reference without a rule, it is traced to that rule; otherwise it is a fault.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import dumbbell
from dumbbell.bench import alone_page
from dumbbell.bench.alone_cases import RULES, TOLERANCE, Result, Sender, Setting, senders, settings
from dumbbell.bench.outcome import Benched, written
from dumbbell.campaign import Display
from dumbbell.errors import ScenarioError, refusal
from dumbbell.files import make_folder
from dumbbell.judge.criterion import Criterion


def measure(sender: Sender, links: Sequence[Setting], more: Mapping[str, Any] | None = None) -> list[Result]:
    """Run a flow on links, with further fields of its ``tcp`` table."""
    jobs = [sender.scenario(link, more) for link in links]
    goodputs = dumbbell.run_many(jobs, progress=False, warn=False).flows["goodput_bps"]
    return [
        Result(
            sender=sender,
            setting=link,
            used=float(goodput) * sender.packet / sender.mss / (1e6 * link.rate_mbps),
            reference=sender.reference(link),
        )
        for link, goodput in zip(links, goodputs, strict=True)
    ]


def traced(results: Sequence[Result]) -> list[Result]:
    """Run what is below its reference again without each rule that it may be due to, and name the first that explains it."""
    found = list(results)
    for rule in RULES:
        places = [
            n for n, one in enumerate(found) if one.is_below and not one.rule and rule.concerns(one.sender)
        ]
        if places:
            try:
                again = measure(results[0].sender, [found[n].setting for n in places], rule.without)
            except ScenarioError:
                # Another rule of the TCP needs this one.
                continue
            for n, other in zip(places, again, strict=True):
                if not other.is_below:
                    found[n] = replace(found[n], rule=rule.name, without=other.used)
    return found


def bench_alone(
    *, quick: bool = False, rules: Sequence[str] = (), output: str | Path | None = None, quiet: bool = False
) -> Benched:
    """Run every TCP alone on every link, trace what is below its reference, and write a report.

    Parameters
    ----------
    quick
        Run fewer links.
    rules
        The environments; all by default.
    output
        Folder for the report; ``results/`` of the working directory by default.
    quiet
        Show no progress.

    Raises
    ------
    ScenarioError
        There is no such environment.
    """
    place = Path(output) if output is not None else Path("results")
    make_folder(place)
    links, known = settings(quick=quick), senders()
    environments = list(dict.fromkeys(sender.rules for sender in known))
    for name in rules:
        if name not in environments:
            raise refusal("rules", name, f"one of {', '.join(environments)}", names=environments)
    flows = [sender for sender in known if not rules or sender.rules in rules]
    results: list[Result] = []
    with Display(sys.stderr, quiet=quiet) as display:
        done = display.steps("One flow alone", len(flows))
        for sender in flows:
            results += traced(measure(sender, links))
            done()
    criteria = _criteria(results)
    return written(
        place=place / "bench-alone",
        page=alone_page.page(results, RULES, criteria=criteria, quick=quick),
        criteria=criteria,
        absent={},
        data={"tolerance": TOLERANCE, "quick": quick, "results": [_data(one) for one in results]},
    )


def _criteria(results: Sequence[Result]) -> list[Criterion]:
    below = [one for one in results if one.is_below]
    untraced = [one for one in below if not one.rule]
    return [
        Criterion(
            name=f"the link is used as in theory, less {100 * TOLERANCE:g} %, or a rule explains why not",
            wanted="at every setting of every TCP",
            measured=f"{len(results) - len(below):,} of {len(results):,} reach it, {len(below) - len(untraced):,} are "
            f"traced to rules, {len(untraced):,} are not",
            holds=not untraced,
        )
    ]


def _data(result: Result) -> dict[str, Any]:
    return {
        "rules": result.sender.rules,
        "variant": result.sender.variant,
        **asdict(result.setting),
        "used": result.used,
        "reference": result.reference,
        "rule": result.rule,
        "without": result.without,
    }
