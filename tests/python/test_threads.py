"""Threads that say so if there is no memory for them, and whose end is noticed."""

import _thread
import io
import sys
import threading
import time

import pytest

from dumbbell.threads import start
from failing_calls import Failure, missing, traced


def test_a_thread_runs_and_can_be_joined_more_than_once():
    event, order = threading.Event(), []

    def work():
        event.wait()
        order.append("done")

    thread = start(work)
    assert order == []
    event.set()
    thread.join()
    thread.join()
    assert order == ["done"]


def test_a_thread_that_raises_has_ended(monkeypatch):
    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: raised.append(report.exc_type))
    start(lambda: 1 / 0).join()
    # The report follows the end.
    while not raised:
        time.sleep(0.01)
    assert raised == [ZeroDivisionError]


def test_a_system_without_threads_is_without_memory_for_them(monkeypatch):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    with pytest.raises(MemoryError):
        start(lambda: None)


@pytest.mark.skipif(bool(missing()), reason="strace is missing or cannot attach")
def test_a_thread_without_memory_for_its_first_frame_is_not_awaited(monkeypatch):
    # Not even the interpreter says "Exception ignored in thread started by".
    printed = io.StringIO()
    monkeypatch.setattr(sys, "stderr", printed)
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)

    def begin():
        try:
            start(lambda: None).join()
        except MemoryError as error:
            return str(error), printed.getvalue()

    # The stack of an ended thread is used again, so that the first call in the child is that of the frame.
    start(lambda: None).join()
    outcome = traced(begin, Failure("mmap", 1, "ENOMEM"))
    assert outcome.failed
    assert outcome.value == ("a thread could not begin", ""), outcome
