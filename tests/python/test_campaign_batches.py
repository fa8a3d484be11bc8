"""What becomes of a batch whose result does not come."""

import pytest
from distributed import KilledWorker

from dumbbell.campaign import cluster


class Future:
    """The future of a batch whose result is an error; by default that it takes too long."""

    def __init__(self, status, error=None):
        self.status = status
        self.error = error
        self.waiting = []

    def add_done_callback(self, function):
        if self.status == "pending":
            self.waiting.append(function)
        else:
            function(self)

    def result(self, timeout):
        raise self.error or TimeoutError(f"after {timeout} s")


def pending(future, runs=2):
    """Return batches of which one of some runs has ended, with a result that is waited for."""
    batches = cluster._Batches(len, None, range(4), None, None)
    batches._pending[future] = cluster._Batch(range(runs))
    batches._ended.put(future)
    return batches


def test_a_result_that_a_silent_worker_has_is_waited_for_again():
    future = Future("finished")
    batches = pending(future)
    batches._collect(timeout=0.0, patience=0.1)
    assert list(batches._pending) == [future]
    assert batches._ended.get_nowait() is future


def test_a_result_that_a_worker_has_lost_is_waited_for_until_it_is_computed_again():
    future = Future("pending")
    batches = pending(future)
    batches._collect(timeout=0.0, patience=0.1)
    assert list(batches._pending) == [future]
    assert batches._ended.empty()
    [announce] = future.waiting
    announce(future)
    assert batches._ended.get_nowait() is future


def test_a_timeout_within_a_batch_is_its_error():
    batches = pending(Future("error"))
    with pytest.raises(TimeoutError, match="after"):
        batches._collect(timeout=0.0, patience=0.1)
    assert not batches._pending


@pytest.mark.parametrize(("runs", "halves", "suspects"), [(3, 2, 0), (1, 0, 1)])
def test_a_batch_whose_worker_died_is_halved_and_a_single_run_is_tried_alone(runs, halves, suspects):
    future = Future("error", KilledWorker("batch", None, 0))
    batches = pending(future, runs)
    batches._collect(timeout=0.0, patience=0.1)
    assert (len(batches._again), len(batches._suspects)) == (halves, suspects)
    again = [position for batch in (*batches._again, *batches._suspects) for position in batch.positions]
    assert sorted(again) == list(range(runs))
