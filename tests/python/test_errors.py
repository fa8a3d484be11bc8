"""Exceptions cross processes unchanged, and say where the user's own code has raised them."""

from __future__ import annotations

import importlib
import pickle
import pkgutil

import pytest

import dumbbell
from dumbbell import ControlError, EngineError, RunsInterrupted, ScenarioError
from dumbbell.crossvalidation import PeerAbsent
from dumbbell.errors import refusal
from dumbbell.tracebacks import Elsewhere, Frame, frames_of


def of_the_package():
    """Return the classes of exceptions of the package."""
    found = {ControlError, EngineError, ScenarioError}
    for module in pkgutil.walk_packages(dumbbell.__path__, "dumbbell."):
        if "__main__" in module.name or module.name.startswith("dumbbell.gym"):
            continue
        for item in vars(importlib.import_module(module.name)).values():
            if isinstance(item, type) and issubclass(item, BaseException) and item.__module__ == module.name:
                found.add(item)
    return found


def example(cls, runs):
    if cls is RunsInterrupted:
        return cls(runs)
    if cls is PeerAbsent:
        return cls("ns-2", "ns2", "no program ns")
    if cls is Elsewhere:
        return cls("Traceback", [Frame("a.py", 1, "f", "f()", is_innermost=True)])
    return cls("what is wrong")


def test_every_exception_crosses_processes_with_its_type_message_and_attributes(two_hosts):
    runs = dumbbell.run_many(two_hosts.with_values({"duration": "1 s"}), progress=False)
    classes = of_the_package()
    assert len(classes) > 8
    for cls in classes:
        error = example(cls, runs)
        error.add_note("a note")
        error.field = "flows.fg"
        back = pickle.loads(pickle.dumps(error))
        assert (type(back), str(back), back.__notes__, back.field) == (
            cls,
            str(error),
            ["a note"],
            "flows.fg",
        )


def test_a_refusal_of_the_engine_is_equal_in_another_process():
    with pytest.raises(ScenarioError) as caught:
        dumbbell.run({"duratoin": "1 s"})
    for error in (caught.value, refusal("seed", -1, "a whole number")):
        back = pickle.loads(pickle.dumps(error))
        assert str(back) == str(error)
        assert vars(back) == vars(error)


def test_only_lines_of_the_users_own_modules_are_shown():
    def own():
        dumbbell.run({"duration": "1 s"}, seed=-1)

    with pytest.raises(ScenarioError) as caught:
        own()
    frames = frames_of(caught.value)
    assert [frame.function for frame in frames][-1] == "own"
    assert {frame.file for frame in frames} == {__file__}
    assert not any(frame.is_innermost for frame in frames)


def test_an_error_of_results_names_its_file_without_a_number():
    from dumbbell.errors import ResultsError

    assert str(ResultsError(0, "is damaged", "saved/flows.parquet")) == "saved/flows.parquet: is damaged"
