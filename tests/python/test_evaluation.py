"""Evaluations by RFC 9743: algorithms by name, verdicts, stores and the command."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest

import command_line
import dumbbell
from dumbbell.errors import ScenarioError
from dumbbell.evaluation import ITEMS, evaluating, split
from dumbbell.evaluation.algorithm import algorithm
from dumbbell.evaluation.items.competing import COEXISTENCE
from dumbbell.evaluation.page import page

UNFAIR, TIMID = "aimd:decrease=0.95", "aimd:increase=0.02"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The folder of the results of this module, so that baselines run once."""
    return tmp_path_factory.mktemp("evaluation")


def evaluated(place, name, *only, **settings):
    settings = {"against": ["reno"], "quick": True, "quiet": True} | settings
    return dumbbell.evaluate(name, only=only, output=place, **settings)


# --- algorithms ---


def test_an_algorithm_has_the_parameters_of_its_text():
    made = algorithm("vegas:alpha=2,beta=4.5")
    assert (made.name, dict(made.parameters), made.text) == (
        "vegas",
        {"alpha": 2, "beta": 4.5},
        "vegas:alpha=2,beta=4.5",
    )
    assert made == algorithm(" vegas:alpha=2,beta=4.5 ")


def test_reno_uses_sack_and_vegas_what_it_brings():
    assert algorithm("reno").tcp().recovery == "sack"
    assert algorithm("reno").recovery == "SACK"
    assert algorithm("vegas").tcp().recovery is None


def test_a_variant_is_an_algorithm():
    assert algorithm("newreno").tcp().variant == "newreno"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("vegs", "did you mean `vegas`"),
        ("mine/gradient.py", "or one of your own: python:module.Class or library:FILE"),
        ("Gradient", "or one of your own: python:module.Class or library:FILE"),
        ("vegas:alfa=1", "did you mean `alpha`"),
        ("vegas:alpha", "a name with parameters"),
        ("newreno:alpha=1", "is not a parameter"),
        ("vegas:alpha=-1", "alpha"),
        ("vegas:alpha=many", "alpha"),
    ],
)
def test_an_unknown_algorithm_or_parameter_is_refused(text, said):
    with pytest.raises(ScenarioError, match=re.escape(said)):
        algorithm(text)


def test_a_list_of_algorithms_keeps_their_parameters_together():
    assert split("reno,vegas:alpha=1,beta=2,code") == ["reno", "vegas:alpha=1,beta=2", "code"]


def test_settings_out_of_range_are_refused(place):
    with pytest.raises(ScenarioError, match="is not an item"):
        evaluated(place, "reno", "bufferblot")
    with pytest.raises(ScenarioError, match="runs"):
        evaluated(place, "reno", "iot", runs=1)
    with pytest.raises(ScenarioError, match="seed"):
        evaluated(place, "reno", "iot", seed=-1)
    with pytest.raises(ScenarioError, match="against: nothing is not accepted; expected names of algorithms"):
        evaluated(place, "reno", "iot", against=[])
    with pytest.raises(ScenarioError, match="threads: 0 is not accepted; expected a whole number from 1"):
        evaluated(place, "reno", "misbehaving", threads=0)
    assert evaluated(place, "reno", "misbehaving", threads=1).verdicts


# --- evaluations ---


@pytest.mark.parametrize(
    ("name", "trait", "does", "measured"),
    [
        (UNFAIR, "unfair", "takes more than its share at ", "harm to the goodput of the others"),
        (TIMID, "timid", "gives way beside the baselines", ""),
    ],
)
def test_an_unfair_or_timid_algorithm_is_named_on_the_first_page(place, name, trait, does, measured):
    done = evaluated(place, name, "coexistence")
    assert not done.passes
    assert done.findings[0].startswith(f"{name} is {trait}: it {does}")
    assert measured in done.findings[0]
    head = done.report.read_text(encoding="utf-8").split("</header>")[0]
    assert f"{name} is {trait}" in head


def test_reno_is_neither_unfair_nor_timid_beside_itself(place):
    done = evaluated(place, "reno", "coexistence")
    assert done.verdicts == {"coexistence": "pass"}
    assert done.findings == ()
    item = done.data["items"][0]
    harms = [one for one in item["comparisons"] if one["quantity"] == "harm"]
    # The same flows, and half of the link for each side.
    assert all(one["subject"] == one["baselines"]["reno"] for one in harms)
    assert all(0.3 < one["subject"]["estimate"] < 0.7 for one in harms)


def test_vegas_loses_to_reno_keeps_queues_short_and_is_fair_to_itself(place):
    done = evaluated(place, "vegas", "coexistence", "bufferbloat", "own-fairness")
    assert done.findings[0].startswith("vegas is timid")
    assert done.verdicts["bufferbloat"] == "pass"
    assert any("keeps queues shorter than half of the baselines'" in text for text in done.strengths)
    fairness = next(item for item in done.data["items"] if item["name"] == "own-fairness")
    same = [
        one for one in fairness["comparisons"] if one["quantity"] == "jain" and "same RTT" in one["point"]
    ]
    assert same
    assert all(one["state"] == "kept" for one in same)


def test_the_folder_of_many_items_has_a_name_that_file_systems_accept(place):
    items = [item.name for item in ITEMS if item.refers or item.lacks]
    done = evaluated(place, "reno", *(items * 10))
    assert len(done.report.parent.name) == 120
    other = evaluated(place, "reno", *(items * 11))
    assert other.report.parent != done.report.parent


def test_a_second_evaluation_reuses_the_runs(place):
    first = evaluated(place, "reno", "iot")
    again = evaluated(place, "reno", "iot")
    assert again.data["runs"] == again.data["runs_kept_from_before"] == first.data["runs"]
    assert again.data["items"] == first.data["items"]
    # The runs of the baseline serve any algorithm.
    other = evaluated(place, "vegas", "iot")
    assert other.data["runs_kept_from_before"] == first.data["runs"]
    assert other.data["runs"] == 2 * first.data["runs"]


def test_the_time_covers_the_report(place, monkeypatch):
    clock = [0.0]

    def slow(*args, **settings):
        clock[0] += 1000.0
        return page(*args, **settings)

    monkeypatch.setattr(evaluating, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(evaluating, "page", slow)
    done = evaluated(place, "reno", "iot")
    assert done.run_time_s == done.data["run_time_s"] == 1000.0
    assert json.loads(done.results.read_text("utf-8"))["run_time_s"] == 1000.0


class Sound(dumbbell.Control):
    """Additive increase, multiplicative decrease."""

    def on_ack(self, ack):
        if not ack.in_recovery:
            self.cwnd = ack.grown(self.cwnd, ack.mss * ack.mss / self.cwnd)

    def on_congestion(self, congestion):
        rest = max(congestion.flight_size / 2, 2 * congestion.mss)
        self.ssthresh = min(rest, max(self.cwnd, 2 * congestion.mss))
        self.cwnd = congestion.loss_window if congestion.restarts else self.ssthresh


class Frozen(Sound):
    """Never grows."""

    def on_ack(self, ack):
        pass


class Raising(Sound):
    """Fails at the first acknowledgement."""

    def on_ack(self, ack):  # noqa: ARG002 - the signature of Control
        raise ZeroDivisionError("a bug of the user's")


@pytest.mark.parametrize(
    ("control", "text"),
    [
        (Frozen, "dumbbell.check(Frozen): Frozen: the window never grows"),
        (Raising, "dumbbell.check(Raising): ZeroDivisionError: a bug of the user's"),
    ],
)
def test_an_own_control_that_violates_a_property_is_named(place, capsys, control, text):
    # An item without runs.
    done = evaluated(place, control, "misbehaving", against=["reno", f"python:{__name__}.Sound"])
    (warning,) = done.data["warnings"]
    assert warning.startswith(text)
    assert text in " ".join(capsys.readouterr().err.split())
    assert warning in html.unescape(done.report.read_text("utf-8"))


def test_an_interrupted_evaluation_resumes(place, monkeypatch):
    from dumbbell.campaign import Interrupted, PlannedRuns

    whole = PlannedRuns.make

    def interrupted(self, make, display, title=""):
        whole(self, make, display, title)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(PlannedRuns, "make", interrupted)
        with pytest.raises(Interrupted, match="the same command resumes"):
            evaluated(place, "reno", "data-centre")
    done = evaluated(place, "reno", "data-centre")
    assert done.data["runs"] == done.data["runs_kept_from_before"]


def test_an_item_without_means_is_not_available(place):
    done = evaluated(place, "reno", "multipath", "bbr-cases", "tail-drop")
    assert done.verdicts == {
        "multipath": "not available",
        "bbr-cases": "not applicable",
        "tail-drop": "not available",
    }
    assert "a connection of the engine has one path at a time" in done.report.read_text(encoding="utf-8")


def test_an_item_that_the_engine_refuses_for_an_algorithm_is_not_applicable(place, monkeypatch):
    from dumbbell.evaluation import evaluating

    def refused(_):
        raise ScenarioError("tcp.ecn: not with this algorithm")

    item = replace(COEXISTENCE, name="refused", cases=refused)
    monkeypatch.setattr(evaluating, "ITEMS", (item,))
    done = evaluated(place, "reno")
    assert done.verdicts == {"refused": "not applicable"}
    assert "not with this algorithm" in done.data["items"][0]["why"]


def test_an_algorithm_without_sack_uses_what_it_brings_and_says_so():
    assert algorithm("reno").accepts(ecn="classic")
    assert not algorithm("reno").accepts(ecn="nonsuch")
    assert not algorithm("vegas").accepts(recovery="sack")


def test_tail_drop_has_the_gravest_verdict_of_its_items(place):
    done = evaluated(place, "vegas", "coexistence", "bufferbloat", "tail-drop")
    assert done.verdicts["bufferbloat"] == "pass"
    assert done.verdicts["tail-drop"] == done.verdicts["coexistence"] != "pass"


# --- the command ---


invoke = partial(command_line.invoke, "evaluate")


def test_the_command_prints_verdicts_and_the_report(place):
    result = invoke("vegas:alpha=2", "--against", "reno", "--quick", "--only", "iot", "--output", place)
    assert result.exit_code == 0, result.output
    assert "RFC 9743 §7.4" in result.stdout
    assert "report: " in result.stdout
    again = invoke("vegas:alpha=2", "--against", "reno", "--quick", "--only", "iot", "--output", place)
    runs = json.loads(next(place.glob("evaluate-vegas-alpha=2*/results.json")).read_text("utf-8"))["runs"]
    assert f"{runs} runs, {runs} of them reused from the store, " in again.stdout
    report = next(place.glob("evaluate-vegas-alpha=2*")) / "index.html"
    text = report.read_text(encoding="utf-8")
    assert "dumbbell evaluate vegas:alpha=2 --against reno --quick --only iot" in text
    assert "<svg" in text


def test_the_command_prints_json(place):
    result = invoke("reno", "--against", "reno", "--quick", "--only", "iot", "--json", "--output", place)
    data = json.loads(result.stdout)
    assert data["algorithm"] == "reno"
    assert [item["verdict"] for item in data["items"]] == ["pass"]


def test_strict_exits_with_1_if_something_is_worse(place):
    args = ["--against", "reno", "--quick", "--strict", "--output", place]
    assert invoke("reno", *args, "--only", "iot").exit_code == 0
    assert invoke(TIMID, *args, "--only", "coexistence").exit_code == 1


def test_bad_input_is_one_line():
    for args in (["vegs"], ["vegas:alpha=-1"], ["vegas", "--only", "nothing"], ["vegas", "--against", "no"]):
        command_line.refused("evaluate", *args)
