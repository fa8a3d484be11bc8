"""What a report, its data and the command line say of one claim: rule, estimate, runs, and the commands that repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dumbbell.claims import Finding
from dumbbell.judge import rule
from dumbbell.judge.reads import SIMULATED
from dumbbell.papers.claim_runs import KeyRuns, rested_on
from dumbbell.papers.further import Part
from dumbbell.papers.paper import Settings
from dumbbell.papers.real_time import MEASURED, command_of
from dumbbell.report.numbers import number

ANCHOR = "claim-"
"""How the anchor of a claim in the report of its paper begins."""

SHOWN_KEYS = 20
"""Keys of runs that a report lists for a claim; its data have all."""


@dataclass(frozen=True, kw_only=True)
class Repeat:
    """How to repeat claims as a report judged them.

    Parameters
    ----------
    paper
        Name of the paper.
    settings
        How it was reproduced.
    default_seeds
        Number of seeds without a statement.
    further
        Runs that were added for undecided claims.
    is_offered
        Whether single claims of the paper can be repeated: it has a register of claims, and is no experiment.
    """

    paper: str
    settings: Settings
    default_seeds: int
    further: Sequence[Part] = ()
    is_offered: bool = True

    def command(self, claim: str, stages: Sequence[str]) -> str:
        """Return the command that repeats a claim; empty if there is none.

        Parameters
        ----------
        claim
            Name of the claim.
        stages
            Stages of the runs it rests on.
        """
        if not self.is_offered:
            return ""
        settings = self.settings
        words = ["dumbbell", "reproduce", self.paper]
        if settings.quick:
            words.append("--quick")
        for option, value, default in (
            ("--runs", settings.runs, None),
            ("--seed", settings.seed, 1),
            ("--seeds", settings.seeds, self.default_seeds),
        ):
            if value != default:
                words += [option, str(value)]
        for part in self.further:
            for stage in sorted(part.stages.intersection(stages)):
                words += ["--further", f"{part.seed}:{stage}"]
        return shlex.join([*words, "--claim", claim])


@dataclass(frozen=True, kw_only=True)
class ClaimDetails:
    """What is said of one claim.

    Parameters
    ----------
    finding
        What was found.
    runs
        The simulated runs it rests on, by key, in the order of reading.
    repeat
        How to repeat it.
    """

    finding: Finding
    runs: Sequence[KeyRuns]
    repeat: Repeat

    @classmethod
    def of(cls, finding: Finding, known: Mapping[str, KeyRuns], repeat: Repeat) -> ClaimDetails:
        """Return the details of a finding.

        Parameters
        ----------
        finding
            The finding.
        known
            The runs of at least the keys that it rests on, by key.
        repeat
            How to repeat it.
        """
        return cls(finding=finding, runs=rested_on(finding, known), repeat=repeat)

    @property
    def anchor(self) -> str:
        """Its name in links to the report."""
        return f"{ANCHOR}{self.finding.claim.id}"

    @property
    def command(self) -> str:
        """The command that repeats it."""
        stages = list(dict.fromkeys(run.stage for run in self.runs))
        return self.repeat.command(self.finding.claim.id, stages)

    @property
    def file(self) -> str:
        """Name of the file for one of its scenarios in the commands that are shown."""
        return f"{self.finding.claim.id}.toml"

    @property
    def total(self) -> int:
        """Number of simulated runs."""
        return sum(len(run.draws) for run in self.runs)

    @property
    def n(self) -> int | None:
        """Number of runs of each configuration, the smallest; ``None`` without runs."""
        return min((len(run.draws) for run in self.runs), default=None)

    def n_text(self) -> str:
        """Return how many runs it rests on, for reading."""
        if not self.runs:
            return "no simulated runs"
        if len(self.runs) == 1:
            return f"n = {self.n}"
        counts = sorted({len(run.draws) for run in self.runs})
        each = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        return f"n = {each} for each of {len(self.runs)} configurations ({self.total} runs)"

    def estimate_text(self) -> str:
        """Return the measured value with its interval, for reading."""
        finding = self.finding
        if finding.measured is None:
            return "not measured"
        unit = _unit(finding.claim.units)
        interval = "no interval"
        if finding.low is not None:
            interval = (
                f"90 % interval {number(finding.low, digits=4)} to {number(finding.high, digits=4)}{unit}"
            )
        return f"{number(finding.measured, digits=4)}{unit}; {interval}"

    def rule_text(self) -> str:
        """Return the rule in words, for reading: what has to hold, and what decides."""
        judged_by = self.finding.claim.judged_by
        unit = judged_by.unit
        if isinstance(judged_by, rule.Within):
            low, high = judged_by.value - judged_by.allowed, judged_by.value + judged_by.allowed
            accepted = f"{number(judged_by.value, digits=4)}{unit}, {judged_by.words()}"
            if judged_by.allowed:
                accepted += f": accepted from {number(low, digits=4)} to {number(high, digits=4)}{unit}"
            return f"{accepted}. The whole 90 % interval has to be accepted; without an interval, the value."
        decided = f"At least {100 * rule.DECIDED[1]:.0f} % of the resamples have to support it, where runs are resampled."
        if isinstance(judged_by, rule.Share):
            return f"{judged_by.words()}."
        return f"{judged_by.words()}. {decided}"

    def runs_text(self) -> list[str]:
        """Return the keys with seeds and numbers of their runs, for reading; at most `SHOWN_KEYS`."""
        lines = [
            f"`{run.key}` ({run.stage}): "
            + "; ".join(f"seed {seed}, run {numbers}" for seed, numbers in run.by_seed.items())
            for run in self.runs[:SHOWN_KEYS]
        ]
        if len(self.runs) > SHOWN_KEYS:
            lines.append(f"and {len(self.runs) - SHOWN_KEYS} more configurations, see `results.json`")
        return lines

    def origin_text(self) -> str:
        """Return what it rests on beside simulated runs, for reading; empty if nothing."""
        if MEASURED in self.finding.reads:
            count = len(self.finding.reads[MEASURED])
            return f"It rests on {count} configurations run in real time: `{command_of(self.repeat.paper)}`."
        if not self.runs:
            return "It rests on no planned run: on formulas, printed numbers, or the engine itself."
        return ""

    def commands(self) -> list[tuple[str, str]]:
        """Return pairs of purpose and command, for reading."""
        if not self.command:
            return []
        shown = [("repeat the verdict", self.command)]
        if self.runs:
            shown += [("write the scenario of its first run", f"{self.command} --export {self.file}")]
            seed, run = self.runs[0].draws[0]
            shown += run_commands(self.file, seed, run)
        return shown

    def to_dict(self) -> dict[str, Any]:
        """Return the finding with anchor, n, keys of runs and command as plain data."""
        return self.finding.to_dict() | {
            "anchor": self.anchor,
            "n": self.n,
            "runs": self.total,
            "keys": list(self.finding.reads.get(SIMULATED, ())),
            "keys_of_testbed": list(self.finding.reads.get(MEASURED, ())),
            "command": self.command or None,
        }

    def row(self) -> dict[str, Any]:
        """Return what the part of the report shows."""
        claim = self.finding.claim
        paper = (
            "" if claim.paper_value is None else f"{number(claim.paper_value, digits=4)}{_unit(claim.units)}"
        )
        return {
            "anchor": self.anchor,
            "id": claim.id,
            "verdict": self.finding.verdict,
            "source": claim.source,
            "statement": claim.statement,
            "paper": paper,
            "estimate": self.estimate_text(),
            "n": self.n_text(),
            "rule": self.rule_text(),
            "class": f"{claim.classed.name}: {claim.classed.reason}"
            if claim.classed.reason
            else claim.classed.name,
            "scenario": claim.scenario,
            "runs": self.runs_text(),
            "origin": self.origin_text(),
            "commands": self.commands(),
        }


def run_commands(file: str, seed: int, run: int) -> list[tuple[str, str]]:
    """Return pairs of purpose and command for an exported scenario.

    Parameters
    ----------
    file
        Name of its file.
    seed, run
        Seed and number of the run.
    """
    draw = ["--seed", str(seed), "--run", str(run)]
    repeated = shlex.join(["dumbbell", "run", file, *draw])
    return [
        ("repeat the run", repeated),
        ("see it", f"{repeated} --plot picture.png"),
    ]


def _unit(units: str) -> str:
    return "" if units in rule.UNSAID else f" {units}"
