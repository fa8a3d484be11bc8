"""Grids of coexistence, many flows, reverse traffic, losses, staggered Vegas flows, and theory."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
import pytest

import dumbbell
from dumbbell import report
from dumbbell.crossvalidation import Agreement, Case, Grid, PeerRun, folder, load_grids
from dumbbell.crossvalidation.loading import imported
from dumbbell.quantities import bits_per_second, nanoseconds

SHARED = ("coexistence", "many-flows", "reverse-traffic", "two-state-loss", "staggered-vegas")

# The main quantity of each grid; a peer with a value larger by a third must disagree.
DECIDING = {
    "coexistence": "share",
    "many-flows": "total",
    "reverse-traffic": "total",
    "two-state-loss": "total",
    "staggered-vegas": "backlogs",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ourselves:
    """A peer that is Dumbbell itself."""

    name: str = "ourselves"
    title: str = "Dumbbell again"
    package: str = "none"
    variants: tuple[str, ...] = ("tahoe", "reno", "newreno", "sack", "vegas")
    rules: tuple[Any, ...] = ()
    slow: bool = False

    def version(self) -> str:
        return "1"

    def tcp(self, variant: str, **changes: Any) -> dict[str, Any]:
        table = {"variant": variant, "rules": "ns2", "mss": "960 bytes", "receive_buffer": "5000 segments"}
        return {**table, **changes}

    def identity(self) -> str:
        return "ourselves"

    def prepare(self) -> None:
        pass

    def run(self, scenario: dumbbell.Scenario, *, seed: int = 1, run: int = 0) -> PeerRun:
        done = dumbbell.run(scenario, seed=seed, run=run)
        return PeerRun(flows=done.flows, links=done.links, traces=done.traces, cpu_s=0.0)


def grid_named(name: str) -> Grid:
    return load_grids([name])[0]


@functools.cache
def cases_of(name: str, *, slow: bool) -> tuple[Case, ...]:
    return tuple(grid_named(name).cases(Ourselves(slow=slow)))


def table(grid: Grid, cases: list[Case]) -> pd.DataFrame:
    """Return the results of cases whose two sides are the same run."""
    rows = []
    for case in cases:
        reduced = grid.reduce(case, dumbbell.run(case.scenario, seed=case.seed, run=case.run))
        # As in the store.
        kept = json.loads(json.dumps(reduced))
        for side in ("ours", "peer"):
            rows.append({"key": case.key, "point": case.point, "side": side, **case.factors, **kept})
    found = pd.DataFrame(rows)
    found.attrs["peer"] = "Dumbbell again"
    return found


def first_points(cases: Sequence[Case], points: int, replications: int) -> list[Case]:
    """Return some replications of the first point of each third of the grid."""
    names = list(dict.fromkeys(case.point for case in cases))
    chosen = names[:: max(1, len(names) // points)][:points]
    return [case for name in chosen for case in [one for one in cases if one.point == name][:replications]]


def rendered(grid: Grid, results: pd.DataFrame, agreement: Agreement) -> str:
    section = report.Section(anchor="g", title=grid.title, blocks=grid.sections(results, agreement))
    return report.render_page(title="t", subtitle="s", facts=[], sections=[section], notice="")


@pytest.mark.parametrize("name", SHARED)
def test_cases_are_concrete_and_reproducible(name):
    cases = cases_of(name, slow=True)
    assert len({case.key for case in cases}) == len(cases)
    replications = Counter(case.point for case in cases)
    assert min(replications.values()) >= 3
    again = grid_named(name).cases(Ourselves(slow=True))
    assert [case.scenario.hash for case in again] == [case.scenario.hash for case in cases]
    for case in cases[:: max(1, len(cases) // 20)]:
        data = case.scenario.resolved()
        assert all(isinstance(flow["start"], str) for flow in data["flows"])
        senders = {flow["from"] for flow in data["flows"]}
        assert all(node["tick_phase"] != "random" for node in data["nodes"] if node["name"] in senders)
        # Only the bottleneck drops packets.
        limits = {link["name"]: link["queue"]["limit"] for link in data["links"]}
        assert {name for name, limit in limits.items() if limit != "unlimited"} == {"r1-r2", "r2-r1"}
    factors = {case.point: dict(case.factors) for case in cases}
    assert all(dict(case.factors) == factors[case.point] for case in cases)


@pytest.mark.parametrize("name", SHARED)
def test_replications_of_a_point_differ(name):
    cases = cases_of(name, slow=True)
    first = [case for case in cases if case.point == cases[0].point]
    assert len({case.scenario.with_values({"name": "same"}).hash for case in first}) == len(first)


def packets(cases: Iterable[Case]) -> float:
    """Return the number of packets that the bottlenecks can carry in all cases."""
    total = 0.0
    for case in cases:
        rate = next(link.rate for link in case.scenario.links if link.name == "r1-r2")
        total += (
            bits_per_second(rate, "rate") * nanoseconds(case.scenario.duration, "duration") / 1e9 / 8000.0
        )
    return total


@pytest.mark.parametrize("name", SHARED)
def test_a_slow_peer_gets_at_most_a_fifth_of_the_packets(name):
    few = packets(cases_of(name, slow=True))
    assert 0.0 < few < 0.2 * packets(cases_of(name, slow=False))


@pytest.mark.parametrize("name", SHARED)
def test_a_side_agrees_with_itself_and_not_with_one_that_is_larger_by_a_third(name):
    grid = grid_named(name)
    cases = first_points(cases_of(name, slow=True), points=2, replications=3)
    results = table(grid, cases)
    alike = grid.judge(results)
    assert all(criterion.holds for criterion in alike.criteria)
    assert alike.points["agrees"].all()
    assert {"point", "agrees", "explanation"} <= set(alike.points.columns)
    assert "<svg" in rendered(grid, results, alike)

    other = results.copy()
    theirs = other["side"] == "peer"
    column = DECIDING[name]
    other.loc[theirs, column] = other.loc[theirs, column].map(
        lambda value: [1.33 * item + 0.1 for item in value] if isinstance(value, list) else 1.33 * value + 0.1
    )
    apart = grid.judge(other)
    assert not all(criterion.holds for criterion in apart.criteria)
    assert not apart.points["agrees"].all()


def test_coexistence_takes_reno_or_what_the_peer_has_instead():
    grid = grid_named("coexistence")
    assert {case.factors["variant"] for case in grid.cases(Ourselves(slow=True))} == {
        "reno and newreno",
        "reno and vegas",
    }
    without = Ourselves(slow=True, variants=("newreno", "vegas", "westwoodp"))
    assert {case.factors["variant"] for case in grid.cases(without)} == {
        "newreno and vegas",
        "newreno and westwoodp",
    }
    assert grid.cases(Ourselves(variants=("vegas",))) == []


def test_channels_that_a_peer_lacks_are_omitted():
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Without(Ourselves):
        impairments: tuple[str, ...] = ("bernoulli",)

    cases = grid_named("two-state-loss").cases(Without(slow=True))
    kinds = {
        impairment["kind"]
        for case in cases
        for link in case.scenario.resolved()["links"]
        for impairment in link["impairments"]
    }
    assert kinds == {"bernoulli"}


def test_intervals_that_do_not_overlap_disagree_even_within_the_bound():
    grid = grid_named("coexistence")
    cases = first_points(cases_of("coexistence", slow=True), points=1, replications=3)
    results = table(grid, cases)
    # Far apart relative to their spread of a thousandth, but within the bound of 0.05.
    for side, share in (("ours", 0.50), ("peer", 0.52)):
        rows = results["side"] == side
        results.loc[rows, "share"] = [share, share + 0.001, share - 0.001]
    criteria = {criterion.name: criterion for criterion in grid.judge(results).criteria}
    assert criteria["share of the other variant within 0.05, intervals overlapping"].share == 0.0
    # In agreement with a spread that makes them overlap.
    for side, share in (("ours", 0.50), ("peer", 0.52)):
        rows = results["side"] == side
        results.loc[rows, "share"] = [share, share + 0.1, share - 0.1]
    assert grid.judge(results).criteria[0].holds


def theory() -> Any:
    return imported("grids.theory", folder())


def test_max_min_shares_fill_all_equally_up_to_their_limits():
    flows = theory().Vegases(rtts_ms=(50,) * 4, limits=(10.0, 0.3, 0.1, 10.0))
    # 0.1 stays at its limit; a third of the 0.9 left is 0.3, where the next one stays; two share 0.6.
    assert flows.max_min() == pytest.approx([0.3, 0.3, 0.1, 0.3])
    flows = theory().Vegases(rtts_ms=(50,) * 3, limits=(0.2, 10.0, 10.0))
    assert flows.max_min() == pytest.approx([0.2, 0.4, 0.4])


@pytest.fixture(scope="module")
def some_theory() -> tuple[Any, pd.DataFrame]:
    """Return one or two cheap settings of every law with a few replications, and their results."""
    module = theory()
    wanted = {
        "M/D/1 waiting": ("load 0.5",),
        "M/M/1 waiting": ("load 0.3",),
        "1/sqrt(p) law": ("p = 0.003", "p = 0.03"),
        "Padhye's formula": ("p = 0.01",),
        "windows = pipes + queue": ("4 flows, 100 ms",),
        "max-min shares of Vegas": ("4 flows, 100 ms: flow 1 (100 ms)", "4 flows, 100 ms: flow 2 (100 ms)"),
        "utilisation from the buffer": ("buffer of 20 packets, 0.39 of the product",),
    }
    grid = module.TheoryGrid()
    cases = [
        case
        for case in grid.cases()
        if case.factors["setting"] in wanted[str(case.factors["law"])]
        and case.run < (6 if "p =" in str(case.factors["setting"]) else 3)
    ]
    assert {case.factors["law"] for case in cases} == set(wanted)
    rows = []
    for case in cases:
        reduced = grid.reduce(case, dumbbell.run(case.scenario, seed=case.seed, run=case.run))
        rows.append({"key": case.key, "point": case.point, "side": "ours", **case.factors, **reduced})
    return grid, pd.DataFrame(rows)


def test_theory_holds_and_its_page_is_drawn(some_theory):
    grid, results = some_theory
    agreement = grid.judge(results)
    assert [criterion.name for criterion in agreement.criteria if not criterion.holds] == []
    assert len(agreement.criteria) == 7
    beyond = agreement.points[~agreement.points["in_range"]]
    assert list(beyond["setting"]) == ["p = 0.03"]
    page = rendered(grid, results, agreement)
    assert page.count("<svg") == 7


def test_a_wrong_prediction_is_found_law_by_law(some_theory):
    grid, results = some_theory
    wrong = results.copy()
    wrong["compared"] = [
        {point: [1.3 * measured, predicted] for point, (measured, predicted) in compared.items()}
        for compared in wrong["compared"]
    ]
    agreement = grid.judge(wrong)
    assert not any(criterion.holds for criterion in agreement.criteria)


def test_an_interval_beyond_the_tolerance_is_a_disagreement(some_theory):
    grid, results = some_theory
    point = "M/D/1 waiting: load 0.5"
    rows = results[results["point"] == point].copy()
    # The mean of the three ratios is 1, and their interval reaches far beyond 3 %.
    rows["compared"] = [{point: [measured, 1.0]} for measured in (0.9, 1.0, 1.1)]
    judged = grid.judge(rows).points.iloc[0]
    assert math.isclose(judged["ratio"], 1.0)
    assert not judged["agrees"]


def test_a_share_of_theory_keeps_every_law():
    grid = theory().GRID
    cases = grid.cases()
    part = grid.thin(cases, 0.1)
    assert {case.point for case in part} == {case.point for case in cases}
    assert len(part) < 0.6 * len(cases)
