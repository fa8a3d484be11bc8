"""The course: solutions are accepted, mistakes get their hint, and sheets and solutions have the same tasks."""

import ast
import functools
import json
import linecache
import re

import draw
import numpy as np
import pandas as pd
import pytest

import dumbbell
from dumbbell import course
from dumbbell.cli import start
from dumbbell.course import check, kinds, sheets, slow_start
from dumbbell.course.design import Design
from dumbbell.course.kinds import Choice, OpenQuestion, Quantity
from dumbbell.errors import ScenarioError

FOLDER = draw.ROOT / "examples" / "course"
SOLUTIONS = sorted((FOLDER / "solutions").glob("*.ipynb"))
TASKS = course._TASKS


def named(kind):
    return [pytest.param(task, id=name) for name, task in TASKS.items() if isinstance(task, kind)]


def value_of(source, name, variables):
    """Run a cell as a notebook does, and return the value of its last line."""
    # The source of a class can be read, as in a notebook.
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), name, "exec"), variables)
    return last and eval(compile(ast.Expression(last.value), name, "eval"), variables)


@functools.cache
def verdicts(notebook):
    """Return the verdicts of a notebook by task. Its cells run in this process, and its figures are not drawn."""
    variables = {"__name__": f"sheet_{notebook.stem[0]}"}
    found = {}
    for number, cell in enumerate(json.loads(notebook.read_text("utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            value = value_of("".join(cell["source"]), f"{notebook}:{number}", variables)
            if isinstance(value, course.Verdict):
                found[value.task] = value
    return found


def tasks_of(notebook):
    return [name for name in course.tasks() if name.split(".")[0] == notebook.stem[0]]


def test_there_are_six_sheets_of_five_to_seven_tasks():
    assert [file.stem[0] for file in SOLUTIONS] == list("123456")
    assert all(5 <= len(tasks_of(file)) <= 7 for file in SOLUTIONS)
    assert sum(len(tasks_of(file)) for file in SOLUTIONS) == len(TASKS)


@pytest.mark.parametrize("solution", SOLUTIONS, ids=lambda file: file.stem)
def test_a_solution_runs_and_its_checks_accept(solution):
    found = verdicts(solution)
    assert list(found) == tasks_of(solution)
    for name, verdict in found.items():
        expected = "noted" if isinstance(TASKS[name], OpenQuestion) else "accepted"
        assert verdict.outcome == expected, str(verdict)


@pytest.mark.parametrize("solution", SOLUTIONS, ids=lambda file: file.stem)
def test_a_sheet_is_its_solution_without_answers(solution):
    text = (FOLDER / solution.name).read_text("utf-8")
    assert text == sheets.sheet_of(solution.read_text("utf-8"))
    cells = json.loads(text)["cells"]
    for number in range(1, len(tasks_of(solution)) + 1):
        (place,) = [
            n for n, cell in enumerate(cells) if f"answer_{number} = ...\n" in f"{''.join(cell['source'])}\n"
        ]
        assert "".join(cells[place + 1]["source"]) == f'check("{solution.stem[0]}.{number}", answer_{number})'
    assert not any(cell.get("outputs") for cell in cells)
    assert "pip install" in "".join(cells[0]["source"])


@pytest.mark.parametrize("solution", SOLUTIONS, ids=lambda file: file.stem)
def test_the_tasks_of_a_sheet_take_90_minutes(solution):
    text = "\n".join("".join(cell["source"]) for cell in json.loads(solution.read_text("utf-8"))["cells"])
    headings = re.findall(r"^## ([1-6]\.\d) .*\((\d+) minutes\)$", text, re.MULTILINE)
    assert [name for name, _ in headings] == tasks_of(solution)
    assert sum(int(minutes) for _, minutes in headings) == 90
    assert re.findall(r"^\| ([1-6]\.\d) .*?\| (\d+) \|", text, re.MULTILINE) == headings


@pytest.mark.parametrize("solution", SOLUTIONS, ids=lambda file: file.stem)
def test_the_checks_of_an_unanswered_sheet_say_so(solution):
    found = verdicts(FOLDER / solution.name)
    assert list(found) == tasks_of(solution)
    for verdict in found.values():
        assert verdict.outcome == "unanswered"
        assert "Not answered yet" in str(verdict)


@pytest.mark.parametrize("name", course.tasks())
def test_nothing_is_unanswered_and_says_what_is_expected(name):
    for answer in (None, ...):
        verdict = check(name, answer)
        assert verdict.outcome == "unanswered"
        assert TASKS[name].expected() in verdict.text


@pytest.mark.parametrize("task", named(Quantity))
def test_a_number_in_another_unit_or_off_by_two_gets_a_hint_that_says_so(task):
    truth = task.truth()
    for factor in (2, 1 / 2, 8, 1 / 8, 1e3, 1e-3):
        outcome, text = task.judged(truth * factor)
        assert outcome == "rejected"
        assert text in [slip.hint for slip in (*task.slips, *kinds.COMMON)]


@pytest.mark.parametrize("task", named(Quantity))
def test_each_slip_of_a_task_gets_its_own_hint(task):
    truth = task.truth()
    assert task.judged(truth)[0] == "accepted"
    for slip in task.slips:
        assert task.judged(slip.wrong(truth)) == ("rejected", slip.hint)
    slips = [slip.wrong(truth) / truth for slip in (*task.slips, *kinds.COMMON)]
    unexplained = next(
        factor for factor in (1.4, 1.7, 3.5) if min(abs(factor / slip - 1) for slip in slips) > 0.2
    )
    assert task.judged(truth * unexplained)[1].endswith(task.hint)
    assert task.judged(truth * (1 + 1.01 * task.tolerance))[0] == "rejected"


@pytest.mark.parametrize(
    ("name", "answer", "word"),
    [
        ("1.1", 10e6 * 0.040 / 1500, "Bits"),
        ("1.1", 10e6 * 0.040 / 8 / 1448, "headers"),
        ("1.1", 10e6 * 0.010 / 8 / 1500, "one link"),
        ("1.2", 5, "before the first data"),
        ("2.2", 0.75, "percentage"),
        ("3.2", 4, "same queue"),
        ("4.1", 1.2, "s and ms"),
        ("5.1", 10e6 * 0.040 / 8 / 1500, "gain"),
        ("6.1", 2.0, "given up"),
    ],
)
def test_mistakes_by_hand(name, answer, word):
    verdict = check(name, answer)
    assert verdict.outcome == "rejected"
    assert word in verdict.text


@pytest.mark.parametrize("task", named(Choice))
def test_another_letter_gets_its_hint(task):
    truth = task.truth()
    assert truth in task.hints
    for letter, hint in task.hints.items():
        expected = "accepted" if letter == truth else "rejected"
        outcome, text = task.judged(f" {letter.upper()} ")
        assert outcome == expected
        assert (text == hint) == (expected == "rejected")
    for other in ("d", 3):
        assert "one of the letters" in task.judged(other)[1]


@pytest.mark.parametrize("task", named(OpenQuestion))
def test_an_open_question_needs_a_text_of_some_length(task):
    assert task.judged("word " * 29)[0] == task.judged(42)[0] == "rejected"
    assert task.judged("word " * 30)[0] == "noted"


class Frozen(dumbbell.Control):
    def on_ack(self, ack):
        pass

    def on_congestion(self, congestion):
        self.cwnd = congestion.loss_window


class Broken(dumbbell.Control):
    def on_ack(self, ack):
        raise ZeroDivisionError(f"no window at {ack.now:g} s")

    def on_congestion(self, congestion):
        pass


class Greedy(dumbbell.Control):
    """Grows as slow start, and gives up a hundredth."""

    def on_ack(self, ack):
        if not ack.in_recovery:
            self.cwnd = ack.grown(self.cwnd, ack.mss * ack.acked / self.cwnd)

    def on_congestion(self, congestion):
        kept = max(0.99 * min(self.cwnd, congestion.flight_size), 2 * congestion.mss)
        self.cwnd = congestion.loss_window if congestion.restarts else min(self.cwnd, kept)


@pytest.mark.parametrize("task", named(Design))
def test_what_is_no_working_control_is_told_so(task):
    for answer, words in (
        ("Aimd", "a subclass of dumbbell.Control"),
        (dumbbell.Control, "TypeError"),
        (Frozen, "the window never grows"),
        (Broken, "ZeroDivisionError: no window at 0"),
    ):
        outcome, text = task.judged(answer)
        assert outcome == "rejected"
        assert words in text


def test_a_control_that_misses_criteria_gets_a_table_and_their_hints():
    verdict = check("6.6", Greedy())
    assert verdict.outcome == "rejected"
    assert "queue is too long" in verdict.text
    assert "reacts too little" in verdict.text
    rows = {
        line[:22].strip(): line.split()[-1]
        for line in verdict.text.splitlines()
        if " alone " in line or "CUBIC " in line
    }
    assert rows["utilization alone"] == "yes"
    assert rows["queueing delay alone"] == rows["share beside CUBIC"] == "no"


class Unwilling:
    def __array__(self, *_arguments, **_named):
        raise RuntimeError("no array")

    def __float__(self):
        raise RuntimeError("no number")


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        ("33 packets", "quotation marks"),
        (True, "true or false"),
        (np.bool_(True), "true or false"),
        (float("nan"), "not finite"),
        (np.inf, "not finite"),
        ([], "0 numbers"),
        ([[1], [2, 3]], "not a number"),
        ([33.0, 34.0], "2 numbers"),
        (pd.Series([1.0, 2.0, 3.0]), "3 numbers"),
        ({"a": 1}, "a dict"),
        (33j, "a complex"),
        (Unwilling(), "an Unwilling"),
        (10**400, "not a number"),
        (len, "not a number"),
        (0, "too small"),
        (-33.3, "sign"),
    ],
)  # fmt: skip
def test_no_answer_raises(answer, word):
    verdict = check("1.1", answer)
    assert verdict.outcome == "rejected"
    assert word in verdict.text
    for name in ("1.5", "1.7", "6.2"):
        assert check(name, answer).outcome == "rejected"


def test_numbers_of_libraries_are_numbers():
    for answer in (np.float32(33.3), np.array([33.3]), pd.Series([33.3]), 33):
        assert check("1.1", answer).outcome == "accepted"


def test_another_task_is_refused_with_a_near_miss():
    with pytest.raises(
        ScenarioError, match=r'task: "1\.9" is not accepted; expected a task of the course, "1\.1" to "6\.7"'
    ):
        check("1.9", 3)
    with pytest.raises(ScenarioError, match="expected a task"):
        check(1.1, 3)


def test_the_truth_is_measured_when_it_is_asked(monkeypatch):
    before = slow_start.peak()
    slow_start.peak.cache_clear()
    monkeypatch.setattr(slow_start, "alone", lambda **named: course.alone(rtt="60 ms", **named))
    try:
        assert check("1.3", before).outcome == "rejected"
    finally:
        slow_start.peak.cache_clear()


def test_a_solution_without_an_end_and_other_texts_are_refused(tmp_path, capsys):
    def notebook(source):
        return json.dumps({"cells": [{"cell_type": "code", "metadata": {}, "source": [source]}]})

    assert "answer" in sheets.sheet_of(notebook("answer = ...\n### BEGIN SOLUTION\n1\n### END SOLUTION"))
    with pytest.raises(ScenarioError, match="has no end"):
        sheets.sheet_of(notebook("answer = ...\n### BEGIN SOLUTION\n1"))
    for text in ("{", "[]", '{"cells": 3}', '{"cells": [3]}'):
        with pytest.raises(ScenarioError, match="the text of a notebook"):
            sheets.sheet_of(text)
    assert sheets.main([str(tmp_path), str(tmp_path / "sheets")]) == 2
    assert "error: SOLUTIONS" in capsys.readouterr().err
    assert sheets.main([]) == 2


def test_sheets_are_written_from_a_folder_of_solutions(tmp_path, capsys):
    assert sheets.main([str(FOLDER / "solutions"), str(tmp_path / "sheets")]) == 0
    for solution in SOLUTIONS:
        assert (tmp_path / "sheets" / solution.name).read_bytes() == (FOLDER / solution.name).read_bytes()
    assert capsys.readouterr().out.count("\n") == 6


def test_the_examples_contain_the_course(tmp_path):
    start.examples(tmp_path / "examples")
    for solution in SOLUTIONS:
        assert (tmp_path / "examples" / "course" / solution.name).is_file()
        assert (tmp_path / "examples" / "course" / "solutions" / solution.name).is_file()
