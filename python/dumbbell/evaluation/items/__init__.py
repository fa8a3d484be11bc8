"""The items of an evaluation: one value each, in the order of the standards, and one line here."""

from __future__ import annotations

from collections.abc import Iterator

from dumbbell.evaluation.item import Item
from dumbbell.evaluation.items import alone, competing, environments, special, suite
from dumbbell.evaluation.record import Record
from dumbbell.evaluation.study import Case, Study

__all__ = ["ITEMS"]


def _nothing(_: Study) -> Iterator[Case]:
    yield from ()


def _no_measure(_: Case, __: Record) -> dict[str, float]:
    return {}


def _only_bbr(study: Study) -> str:
    return "" if study.subject.name.startswith("bbr") else "these cases test states of BBR"


TAIL_DROP = Item(
    name="tail-drop",
    section="RFC 9743 §6.1",
    title="Tail-drop queues",
    question="Does the algorithm keep the limits of all items that run behind a single tail-drop queue?",
    cases=_nothing,
    measure=_no_measure,
    limits=(),
    summarizes=(
        "collapse",
        "bufferbloat",
        "high-loss",
        "own-fairness",
        "short-flows",
        "coexistence",
        "real-time",
        "mixed",
        "deployment",
        "wired",
    ),
)

BBR_CASES = Item(
    name="bbr-cases",
    section="draft-ietf-ccwg-bbr, test cases",
    title="Test cases of the BBR draft",
    question="Does BBR enter and leave its states as the 22 test cases of its draft say?",
    cases=_nothing,
    measure=_no_measure,
    limits=(),
    applies=_only_bbr,
    refers="tests of the engine, beside the algorithm: `cargo test -p dumbbell-cc bbr`",
)

ITEMS: tuple[Item, ...] = (
    alone.COLLAPSE,
    alone.BUFFERBLOAT,
    alone.HIGH_LOSS,
    alone.OWN_FAIRNESS,
    alone.SHORT_FLOWS,
    competing.COEXISTENCE,
    competing.REAL_TIME,
    competing.MIXED,
    alone.RESPONSE,
    competing.DEPLOYMENT,
    TAIL_DROP,
    environments.TUNNEL,
    environments.WIRED,
    environments.WIRELESS,
    special.AQM,
    special.CIRCUIT_BREAKER,
    special.VARYING_DELAY,
    special.IOT,
    special.HIGH_DELAY,
    special.MISBEHAVING,
    special.REORDERING,
    special.TRANSIENTS,
    special.PATH_CHANGE,
    special.MULTIPATH,
    special.DATA_CENTRE,
    suite.SUITE_NETWORKS,
    suite.SUITE_DELAY,
    suite.SUITE_RAMP_UP,
    suite.SUITE_IMPACT,
    suite.SUITE_FAIRNESS,
    suite.SUITE_PARKING_LOT,
    BBR_CASES,
)
"""All items."""
