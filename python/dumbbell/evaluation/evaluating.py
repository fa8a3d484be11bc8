"""Plans the cases of items, runs what is missing, decides the verdicts, and writes the report."""

from __future__ import annotations

import re
import sys
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

import dumbbell
from dumbbell.arguments import LARGEST_SEED, MOST_REPLICATIONS, thread_count, whole_number
from dumbbell.campaign import Display, PlannedRuns, Store, duration, engine_identity, on_threads
from dumbbell.campaign.planned import cost, interrupted, runs_text
from dumbbell.conformance import check
from dumbbell.control import Control
from dumbbell.environment import environment, environment_fact
from dumbbell.errors import ControlError, ScenarioError, refusal
from dumbbell.evaluation.algorithm import Algorithm, algorithm
from dumbbell.evaluation.item import ORDER, Item, Judged, Verdict, decided, verdict_of
from dumbbell.evaluation.items import ITEMS
from dumbbell.evaluation.means import missing, registered
from dumbbell.evaluation.page import command, findings, page, strengths, told
from dumbbell.evaluation.record import Record
from dumbbell.evaluation.reduction import COLUMNS, reduce, reduction_digest
from dumbbell.evaluation.study import SUBJECT, Case, Study
from dumbbell.files import plain, write_json, write_text
from dumbbell.judge.baseline import Comparison, compared
from dumbbell.library import Library
from dumbbell.parts import External
from dumbbell.quantities import nanoseconds
from dumbbell.scenario import Scenario

BASELINES = ("reno", "cubic")
"""The default baselines, if registered."""

LEAST_RUNS = 2

LONGEST_NAME = 120
"""Characters of the name of a report's folder; file systems accept 255 bytes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """A completed evaluation.

    Parameters
    ----------
    algorithm
        The evaluated algorithm.
    report, results
        The files written: the report (HTML) and its content (JSON).
    verdicts
        The verdict of each item, by its name.
    findings
        What the algorithm does that limits do not allow, one sentence each, traits such as unfairness first.
    strengths
        What it does much better than the baselines at most points of an item.
    data
        The content of `results`, as plain data.
    run_time_s
        Wall-clock time it took, from the plan to the report, s.
    """

    algorithm: str
    report: Path
    results: Path
    verdicts: Mapping[str, Verdict]
    findings: tuple[str, ...]
    strengths: tuple[str, ...]
    data: Mapping[str, Any]
    run_time_s: float

    @property
    def passes(self) -> bool:
        """Whether no item fails or is worse than the baselines."""
        return not {"fails", "worse than the baselines"} & set(self.verdicts.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class _Planned:
    """A run of a case."""

    key: str
    stage: str
    scenario: Scenario
    seed: int
    run: int
    item: Item
    case: Case


def evaluate(
    name: str | External | type[Control],
    *,
    against: str | Iterable[str] | None = None,
    quick: bool = False,
    only: str | Iterable[str] = (),
    output: str | Path | None = None,
    seed: int = 1,
    runs: int | None = None,
    threads: int | None = None,
    fresh: bool = False,
    quiet: bool = False,
) -> Evaluation:
    """Evaluate an algorithm by RFC 9743 and the common TCP evaluation suite, and write a report.

    A congestion control of your own is first examined by `dumbbell.check`; what it violates is a warning of the report.

    Parameters
    ----------
    name
        A registered algorithm or TCP variant, with parameters if need be: ``"vegas:alpha=2"``; or a congestion control of
        your own: a `dumbbell.Control` or `dumbbell.Library`, or its name, as ``"python:module.Class"`` or
        ``"library:aimd.so:decrease=0.7"``.
    against
        Baselines in the same form, also separated by commas; Reno and CUBIC by default, if registered.
    quick
        Use shorter runs at lower rates, fewer points and three replications.
    only
        Names of items; all by default.
    output
        Folder for the report and the store of runs; ``results/`` of the working directory by default. The report is in
        ``evaluate-NAME`` there. Evaluations share the store.
    seed
        Seed of all random numbers.
    runs
        Number of replications, at least 2; 5 by default, with `quick` 3.
    threads
        Number of threads; all cores by default.
    fresh
        Delete stored runs, also those of other evaluations, and run everything again.
    quiet
        Show no progress.

    Returns
    -------
    Evaluation
        The verdicts and where the report is.

    Raises
    ------
    ScenarioError
        An algorithm, a parameter or an item is not known, a setting is out of range, or another process is writing to the
        store.
    ResultsError
        A file of the store or a result cannot be read or written, as on a full disk.
    Interrupted
        Ctrl-C. Every completed run is kept; the same call resumes.
    """
    begin = time.monotonic()
    against = [against] if isinstance(against, str) else against
    only = [only] if isinstance(only, str) else list(only)
    study = _study(name, against, quick=quick, seed=seed, runs=runs)
    threads, chosen = thread_count(threads), _chosen(only)
    place = Path(output) if output is not None else Path("results")
    with Display(sys.stderr, quiet=quiet) as display:
        judged, data = _evaluated(study, chosen, place, threads, display, fresh=fresh, begin=begin)
    return _written(study, chosen, judged, data, target=place / _folder_name(study, only), begin=begin)


def _evaluated(
    study: Study,
    chosen: Sequence[Item],
    place: Path,
    threads: int | None,
    display: Display,
    *,
    fresh: bool,
    begin: float,
) -> tuple[list[Judged], dict[str, Any]]:
    """Return the items with their verdicts, and all findings as plain data, after the runs."""
    identity = f"{engine_identity()}-{reduction_digest()}"
    with Store(place / "cache" / "evaluate", COLUMNS, fresh=fresh, identity=identity) as store:
        violations = _violations([study.subject, *study.baselines])
        display.warn([*store.warnings, *violations])
        work: PlannedRuns[_Planned] | None = None
        try:
            plan, absent = _plans(chosen, study, display)
            work = PlannedRuns("evaluate", plan, store, cost=cost)
            work.announce(display)
            display.whole("all runs", work.total, work.reused)
            work.make(on_threads(reduce, threads), display)
            store.compact()
        except KeyboardInterrupt as interruption:
            raise interrupted([] if work is None else [work], store.place) from interruption
        tables = _tables(work, plan)
        judged = [absent.get(item.name) or _judged(item, tables.get(item.name)) for item in chosen]
        judged = [_summarized(one, judged) for one in judged]
        warnings = [*store.warnings, *violations]
        return judged, _data(study, judged, work, time.monotonic() - begin, warnings)


def _written(
    study: Study,
    chosen: Sequence[Item],
    judged: Sequence[Judged],
    data: dict[str, Any],
    *,
    target: Path,
    begin: float,
) -> Evaluation:
    """Write the report and its content."""
    report_file, results_file = target / "index.html", target / "results.json"
    write_text(
        report_file,
        page(study, judged, facts=_facts(study, data), notice=_notice(study, chosen)),
    )
    # The figures of the report take a good part of a short evaluation.
    run_time_s = time.monotonic() - begin
    data["run_time_s"] = round(run_time_s, 1)
    write_json(results_file, data)
    return Evaluation(
        algorithm=study.subject.text,
        report=report_file,
        results=results_file,
        verdicts={one.item.name: one.verdict for one in judged},
        findings=tuple(str(one) for one in findings(study, judged)),
        strengths=tuple(str(one) for one in strengths(study, judged)),
        data=data,
        run_time_s=run_time_s,
    )


def _study(
    name: str | External | type[Control],
    against: Iterable[str] | None,
    *,
    quick: bool,
    seed: int,
    runs: int | None,
) -> Study:
    """Return the study that arguments describe."""
    seed = whole_number("seed", seed, 0, LARGEST_SEED)
    if runs is not None:
        runs = whole_number("runs", runs, LEAST_RUNS, MOST_REPLICATIONS)
    subject = algorithm(name)
    if against is None:
        names = [one for one in BASELINES if one in registered("algorithms")]
    else:
        names = [one for text in against for one in split(text)]
        if not names:
            raise refusal("against", "nothing", "names of algorithms", quoted=False)
    baselines = list(dict.fromkeys(algorithm(one, "against") for one in names))
    # An algorithm is no measure of itself, unless there is no other.
    others = tuple(one for one in baselines if one != subject) or tuple(baselines)
    study = Study(
        subject=subject,
        baselines=others,
        quick=quick,
        seed=seed,
        runs=0,
        against=() if against is None else tuple(one.text for one in others),
    )
    return replace(study, runs=runs or study.default_runs)


def _violations(algorithms: Iterable[Algorithm]) -> list[str]:
    """Return conformance violations of user controls.

    A control that violates one can still be evaluated: a prototype may be meant to. Its figures then say less.
    """
    found = []
    for one in algorithms:
        if not isinstance(one.external, Control | Library):
            continue
        try:
            check(one.external)
        except ControlError as error:
            found.append(f"dumbbell.check({one.label}): {error}")
        except Exception as error:
            # Of the user's code; a run raises it with its traceback.
            found.append(f"dumbbell.check({one.label}): {type(error).__name__}: {error}")
    return found


def split(text: str) -> list[str]:
    """Return the algorithms of a list separated by commas, which parameters may contain.

    Examples
    --------
    >>> split("reno,vegas:alpha=1,beta=2,cubic")
    ['reno', 'vegas:alpha=1,beta=2', 'cubic']
    """
    found: list[str] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        if "=" in part and ":" not in part and found:
            found[-1] += f",{part}"
        else:
            found.append(part)
    return found


def _chosen(only: Iterable[str]) -> list[Item]:
    """Return the items of some names, in the order of the standards."""
    wanted = list(only)
    names = [item.name for item in ITEMS]
    for name in wanted:
        if name not in names:
            raise refusal("only", name, ", ".join(names), names=names, problem="is not an item")
    return [item for item in ITEMS if not wanted or item.name in wanted]


def _absent(item: Item, study: Study) -> Judged | None:
    """Return the verdict of an item without runs; none if it has some."""
    reason = item.applies(study) if item.applies is not None else ""
    if reason:
        return Judged(item=item, verdict="not applicable", why=reason)
    if item.refers:
        return Judged(item=item, verdict="reported", why=item.refers)
    lacking = item.lacks or missing(item.needs)
    if lacking:
        return Judged(item=item, verdict="not available", why=lacking)
    return None


def _plans(
    chosen: Sequence[Item], study: Study, display: Display
) -> tuple[list[_Planned], dict[str, Judged]]:
    """Return the runs of all items, and the verdicts of those that have none."""
    plan: list[_Planned] = []
    absent: dict[str, Judged] = {}
    planned = display.steps("plan", len(chosen))
    for item in chosen:
        found = _absent(item, study)
        if found is None:
            try:
                plan.extend(_plan(item, study))
            except ScenarioError as error:
                why = f"the engine does not accept the algorithm there: {error}"
                found = Judged(item=item, verdict="not applicable", why=why)
        if found is not None:
            absent[item.name] = found
        planned()
    return plan, absent


def _plan(item: Item, study: Study) -> list[_Planned]:
    """Return the runs of an item."""
    return [
        _Planned(
            key=f"{item.name}/{number}",
            stage=item.name,
            scenario=case.scenario if isinstance(case.scenario, Scenario) else case.scenario(run),
            seed=study.seed,
            run=run,
            item=item,
            case=case,
        )
        for number, case in enumerate(item.cases(study))
        for run in range(study.runs)
    ]


def _tables(work: PlannedRuns[_Planned], plan: Sequence[_Planned]) -> dict[str, pd.DataFrame]:
    """Return the results of each item: ``point``, ``x``, ``panel``, ``role``, ``run`` and the quantities."""
    kept = work.results(COLUMNS)
    rows: dict[str, list[dict[str, Any]]] = {}
    for planned, stored in zip(plan, kept.to_dict("records"), strict=True):
        case = planned.case
        lists = {name: list(stored[name]) for name in ("flows", "links", "delay_s", "traces")}
        record = Record(**lists, duration_s=nanoseconds(planned.scenario.duration, "duration") / 1e9)
        named = {"point": case.point, "x": case.x, "panel": case.panel, "role": case.role, "run": planned.run}
        rows.setdefault(planned.item.name, []).append(named | dict(planned.item.measure(case, record)))
    return {name: pd.DataFrame(listed) for name, listed in rows.items()}


def _judged(item: Item, results: pd.DataFrame | None) -> Judged:
    """Return an item with its verdict."""
    lacking = "; ".join(filter(None, (missing(item.partly), item.excludes)))
    if item.summarizes:
        return Judged(item=item, verdict="reported", why="", lacking=lacking)
    if results is None:
        return Judged(item=item, verdict="not available", why="no case can be built from the registry")
    if item.derive is not None:
        results = item.derive(results)
    comparisons = compared(item.limits, results, SUBJECT)
    verdict = decided(comparisons)
    return Judged(
        item=item,
        verdict=verdict,
        why=_why(comparisons, verdict),
        comparisons=comparisons,
        results=results,
        lacking=lacking,
    )


def _why(comparisons: Sequence[Comparison], verdict: Verdict) -> str:
    """Return the comparison that decides the verdict, in words."""
    deciding = [one for one in comparisons if verdict_of(one) == verdict]
    if not deciding:
        return "no limit"
    one = max(deciding, key=lambda each: each.weight)
    points = len({each.point for each in comparisons if each.limit is one.limit})
    broken = len({each.point for each in deciding if each.limit is one.limit})
    counted = "" if verdict == "pass" else f"{broken} of {points} points; " if points > 1 else ""
    closest = "closest to its limit: " if verdict == "pass" else ""
    return f"{closest}{counted}{told(one)}"


def _summarized(one: Judged, judged: Sequence[Judged]) -> Judged:
    """Return an item that summarizes others with their gravest verdict."""
    if not one.item.summarizes:
        return one
    parts = [other for other in judged if other.item.name in one.item.summarizes]
    found = {other.verdict for other in parts}
    verdict = next((each for each in ORDER if each in found), None)
    if verdict is None:
        return Judged(item=one.item, verdict="not available", why="none of its items was run")
    named = [other.item.name for other in parts if other.verdict == verdict]
    counted = "all" if len(named) == len(parts) else ", ".join(named)
    return Judged(item=one.item, verdict=verdict, why=f"{counted} of {len(parts)} items")


def _folder_name(study: Study, only: Iterable[str]) -> str:
    """Return the name of the report's folder: a part never overwrites the whole."""
    parts = ["evaluate", study.subject.text]
    if study.against:
        parts += ["against", *study.against]
    if study.quick:
        parts.append("quick")
    parts += list(only)
    name = re.sub(r"[^A-Za-z0-9_.=-]+", "-", "-".join(parts))
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9]}-{zlib.crc32(name.encode()):08x}"


def _facts(study: Study, data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the pairs of name and value at the head of the report."""
    return [
        ("Dumbbell", data["engine"]),
        environment_fact(),
        ("baselines", ", ".join(one.label for one in study.baselines)),
        ("loss recovery", f"{study.subject.recovery}; baselines: {study.baselines[0].recovery}"),
        ("replications", f"{study.runs}, seed {study.seed}"),
        ("runs", runs_text(data["runs"], data["runs_kept_from_before"])),
        ("run time, without this report", duration(data["run_time_s"])),
        *(("warning", text) for text in data["warnings"]),
    ]


def _notice(study: Study, chosen: Sequence[Item]) -> str:
    """Return the notice about what is left out."""
    parts = []
    if study.quick:
        parts.append("Quick: shorter runs at lower rates, fewer points and fewer replications.")
    if len(chosen) < len(ITEMS):
        parts.append(f"Only these items: {', '.join(item.name for item in chosen)}.")
    absent = [name for name in BASELINES if name not in registered("algorithms")]
    if not study.against and absent:
        parts.append(f"Baselines that are not registered: {', '.join(absent)}.")
    if study.subject in study.baselines:
        parts.append("The algorithm is compared with itself, because no other baseline is registered.")
    return " ".join(parts)


def _data(
    study: Study,
    judged: Sequence[Judged],
    work: PlannedRuns[_Planned],
    run_time_s: float,
    warnings: Sequence[str],
) -> dict[str, Any]:
    """Return everything that was found, as plain data."""
    data: dict[str, Any] = plain(
        {
            "algorithm": study.subject.text,
            "name": study.subject.name,
            "parameters": dict(study.subject.parameters),
            "against": [one.text for one in study.baselines],
            "quick": study.quick,
            "seed": study.seed,
            "replications": study.runs,
            "dumbbell": dumbbell.__version__,
            "engine": engine_identity(),
            "environment": environment(),
            "runs": work.done,
            "runs_kept_from_before": work.reused,
            "run_time_s": round(run_time_s, 1),
            "findings": [asdict(one) for one in findings(study, judged)],
            "strengths": [asdict(one) for one in strengths(study, judged)],
            "items": [_item_data(study, one) for one in judged],
            "warnings": list(warnings),
        }
    )
    return data


def _item_data(study: Study, one: Judged) -> dict[str, Any]:
    return {
        "name": one.item.name,
        "section": one.item.section,
        "title": one.item.title,
        "verdict": one.verdict,
        "why": one.why,
        "criterion": one.item.criterion,
        "lacking": one.lacking,
        "command": command(study, one.item),
        "comparisons": [_comparison_data(each) for each in one.comparisons],
        "results": [] if one.results.empty else _means(one),
    }


def _comparison_data(one: Comparison) -> dict[str, Any]:
    return {
        "quantity": one.limit.column,
        "name": one.limit.label,
        "point": one.point,
        "state": one.state,
        "verdict": verdict_of(one),
        "subject": asdict(one.subject),
        "baselines": {role: asdict(interval) for role, interval in one.baselines.items()},
        "against": one.against,
        "allowed": one.allowed,
        "excess": asdict(one.excess),
    }


def _means(one: Judged) -> list[dict[str, Any]]:
    """Return the means of all quantities over replications, by point and role."""
    shown = one.results.drop(columns=["run", "x", "panel"])
    means = shown.groupby(["point", "role"], sort=False).mean(numeric_only=True).reset_index()
    return [
        {str(key): value for key, value in row.items() if value == value} for row in means.to_dict("records")
    ]
