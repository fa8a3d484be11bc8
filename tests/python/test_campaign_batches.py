"""What becomes of a batch whose result does not come."""

import pytest

from dumbbell.campaign import cluster


class Future:
    """The future of a batch whose result takes too long."""

    def __init__(self, status):
        self.status = status

    def result(self, timeout):
        raise TimeoutError(f"after {timeout} s")


def pending(future):
    """Return batches of which one has ended, with a result that is waited for."""
    batches = cluster._Batches(len, None, range(4), None, None)
    batches._pending[future] = cluster._Batch(range(2))
    batches._ended.put(future)
    return batches


def test_a_result_that_a_silent_worker_has_is_waited_for_again():
    future = Future("finished")
    batches = pending(future)
    batches._collect(timeout=0.0, patience=0.1)
    assert list(batches._pending) == [future]
    assert batches._ended.get_nowait() is future


def test_a_timeout_within_a_batch_is_its_error():
    batches = pending(Future("error"))
    with pytest.raises(TimeoutError, match="after"):
        batches._collect(timeout=0.0, patience=0.1)
    assert not batches._pending
