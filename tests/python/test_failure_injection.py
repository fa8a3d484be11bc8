"""A sample of the calls of the operating system that writers make fails, one at a time; `make inject` lets each of them fail."""

import os
import random
import subprocess
import sys
from unittest.mock import ANY

import pytest

import compiled
import disturbed
from failing_calls import ERRORS, missing
from small_paper import forget_papers

# Their results are not used, or Python does without them.
MINOR = {"newfstatat", "stat", "lstat", "fstat", "statx", "lseek", "ioctl", "readlink"}

NAMES = {name: errors[:2] for name, errors in ERRORS.items() if name not in MINOR}


# Writes at most seven bytes to a file at once, as the system may.
SHORT_WRITES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

ssize_t write(int file, const void *bytes, size_t count) {
    static ssize_t (*real)(int, const void *, size_t);
    struct stat kind;
    if (!real) real = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (count > 7 && fstat(file, &kind) == 0 && S_ISREG(kind.st_mode)) count = 7;
    return real(file, bytes, count);
}
"""


@pytest.fixture(scope="module")
def strace():
    """Skip the tests without strace, or without the right to use it."""
    if missing():
        pytest.skip(f"SKIPPED: {missing()}")


def found(operation, cases):
    """Return what does not hold in some cases, by case."""
    return {str(failure): problems for failure in cases if (problems := operation.problems(failure))}


def sampled(operation, count):
    """Return up to so many failures of an operation, half of them once and half for good."""
    outcome = operation.undisturbed()
    draw = random.Random(1)
    once, for_good = (
        list(disturbed.failures(outcome, operation.place, names=NAMES, for_good=which))
        for which in (False, True)
    )
    assert once
    return draw.sample(once, min(len(once), count - count // 2)) + draw.sample(
        for_good, min(len(for_good), count // 2)
    )


@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize(
    ("operation", "count"),
    [
        (disturbed.stored, 16),
        (disturbed.simulated, 6),
        (disturbed.campaigned, 6),
        (disturbed.reproduced, 4),
    ],
)
def test_a_failing_call_loses_nothing_and_is_told_in_one_sentence(tmp_path, request, operation, count):
    request.addfinalizer(forget_papers)
    tried = operation(tmp_path / "place")
    assert found(tried, sampled(tried, count)) == {}
    # A call of a thread may have another number the next time.
    assert tried.met > 0.8 * count


@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_a_file_that_cannot_be_flushed_or_renamed_is_an_error(tmp_path, call):
    """Of the four flushes of an addition, two are of the part and of its folder, two of the list and of its folder."""
    operation = disturbed.Filled(tmp_path / "place", added=1)
    outcome = operation.undisturbed()
    for failure in disturbed.failures(outcome, operation.place, names={call: ("EIO",)}, for_good=True):
        assert operation.problems(failure) == []
        assert operation.said.gave_up, failure


def test_short_writes_are_continued(tmp_path):
    operation = disturbed.simulated(tmp_path / "place")
    operation.begin()
    assert operation.run() == (0, ANY, None)
    whole = disturbed.files(operation.place)
    operation.begin()
    short = compiled.native(tmp_path, SHORT_WRITES, "short.so")
    subprocess.run(
        [sys.executable, "-m", "dumbbell.cli", *operation.command],
        env={**os.environ, "LD_PRELOAD": str(short)},
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=100,
    )
    assert disturbed.files(operation.place) == whole
