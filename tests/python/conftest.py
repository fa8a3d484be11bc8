"""Shared fixtures: a small scenario as plain data and as an object."""

from __future__ import annotations

import copy
import gc
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dumbbell import Scenario, permission

ROOT = Path(__file__).resolve().parents[2]

_TWO_HOSTS: dict[str, Any] = {
    "name": "two hosts",
    "duration": "5 s",
    "rules": "classic",
    "nodes": ["h1", "r1", "r2", {"name": "h2", "tick_phase": "random"}],
    "links": [
        {"name": "h1-r1", "from": "h1", "to": "r1", "rate": "10 Mbit/s", "delay": "0.1 ms"},
        {
            "name": "r1-r2",
            "from": "r1",
            "to": "r2",
            "rate": "1.6 Mbit/s",
            "delay": "50 ms",
            "queue": {"kind": "droptail", "limit": "10 packets"},
        },
        {"name": "r2-h2", "from": "r2", "to": "h2", "rate": "10 Mbit/s", "delay": "0.1 ms"},
        {"name": "h2-r2", "from": "h2", "to": "r2", "rate": "10 Mbit/s", "delay": "0.1 ms"},
        {"name": "r2-r1", "from": "r2", "to": "r1", "rate": "1.6 Mbit/s", "delay": "50 ms"},
        {"name": "r1-h1", "from": "r1", "to": "h1", "rate": "10 Mbit/s", "delay": "0.1 ms"},
    ],
    "flows": [{"name": "fg", "from": "h1", "to": "h2", "tcp": "reno", "source": {"kind": "greedy"}}],
    "probes": [
        {"flows": ["fg"], "quantities": ["cwnd"]},
        {"links": ["r1-r2"], "quantities": ["backlog"], "period": "10 ms"},
    ],
}


@pytest.fixture(scope="session", autouse=True)
def interrupts() -> Iterator[None]:
    """Let interrupts through, to this process and to those it starts.

    A job that a script starts in the background ignores them, and what it starts does, as it should: the tests would
    interrupt in vain.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def nothing_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test rely on a permission of another one."""
    monkeypatch.setattr(permission, "_allowed", set())


@pytest.fixture
def two_hosts_data() -> dict[str, Any]:
    """A valid scenario as plain data, which tests may change."""
    return copy.deepcopy(_TWO_HOSTS)


@pytest.fixture(scope="session")
def two_hosts() -> Scenario:
    """A valid scenario: one Reno flow over a 1.6 Mbit/s bottleneck."""
    return Scenario.from_dict(_TWO_HOSTS)


@pytest.fixture(scope="session")
def examples() -> list[Path]:
    """The example scenario files."""
    return sorted((ROOT / "examples").glob("*.toml"))


@pytest.fixture
def file(tmp_path: Path, two_hosts: Scenario) -> Path:
    """The valid scenario as a file."""
    path = tmp_path / "two-hosts.toml"
    path.write_text(two_hosts.to_toml(), encoding="utf-8")
    return path


def pytest_collection_finish() -> None:
    """Exclude from each garbage collection what stays until the end: all modules and tests."""
    gc.collect()
    gc.freeze()
