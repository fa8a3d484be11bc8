"""One measurement, in a process that has nothing else to do.

The one argument is the file of the engine: it is loaded without the package around it, which would take longer than most
measurements. The standard input is a line of JSON with the request, and then the text of a scenario; the standard
output is a line of JSON. Only the engine runs within the measured spans, not the counting of what it delivered.
"""

from __future__ import annotations

import importlib.util
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

ENGINE = "dumbbell._engine"

STATUS = Path("/proc/self/status")


def main() -> None:
    """Answer the one request on the standard input."""
    engine = _loaded(sys.argv[1])
    asked = json.loads(sys.stdin.readline())
    text = sys.stdin.read()
    answer = _batch(engine, text, **asked) if "threads" in asked else _runs(engine, text, **asked)
    sys.stdout.write(json.dumps(answer) + "\n")


def _loaded(file: str) -> Any:
    """Return the engine."""
    spec = importlib.util.spec_from_file_location(ENGINE, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not an engine")
    engine = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(engine)
    return engine


def _runs(engine: Any, text: str, runs: int, payload: int, flows: list[str] | None) -> dict[str, Any]:
    """Execute runs one after another, each from the text; count the segments delivered by `flows`, or by all flows."""
    cpu_s = packets = 0.0
    events = 0
    # Only the first run counts: later ones reuse memory from the counting of results.
    peak_bytes = 0
    for number in range(runs):
        begin_s = _cpu_s()
        result = engine.run(engine.Stated(text, "json"), 1, number)
        cpu_s += _cpu_s() - begin_s
        peak_bytes = peak_bytes or _peak_bytes()
        summary = json.loads(result.summary())
        events += summary["events"]
        packets += sum(
            flow["bytes_delivered"] / payload
            for flow in summary["flows"]
            if flows is None or flow["name"] in flows
        )
    return {
        "runs": runs,
        "packets": packets,
        "events": events,
        "cpu_s": cpu_s,
        "peak_bytes": peak_bytes,
    }


def _batch(engine: Any, text: str, runs: int, threads: int) -> dict[str, Any]:
    """Run a batch of replications on some threads."""
    jobs = [(0, 1, number) for number in range(runs)]
    begin_cpu, begin_wall = _cpu_s(), time.perf_counter()
    engine.run_many([engine.Stated(text, "json")], jobs, threads)
    return {"cpu_s": _cpu_s() - begin_cpu, "wall_s": time.perf_counter() - begin_wall}


def _cpu_s() -> float:
    """Return the CPU time of this process, user and system, s."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _peak_bytes() -> int:
    """Return the largest resident memory so far, bytes.

    ``getrusage`` includes the memory of the parent process, so Linux uses a different source.
    """
    if STATUS.exists():
        for line in STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    main()
