"""Run stated scenarios with kernels among their flows again and again, and compare every packet.

``make torture-kernel`` runs it. It needs Linux 6.12 from ``dumbbell kernel build 6.12``, and takes about half an hour.

Each scenario runs as usual, again while its threads and its guests are thrown from one processor to another, again while
the machine is overloaded, and again in the other order. The times and bytes of all packets at the first router, the
results, and the fingerprint must be equal. The engine checks the conservation of packets in every run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import dumbbell
from dumbbell import CoDel, DropTail, DualPi2, Flow, FqCoDel, Pie, Red, Scenario, Transport, topologies

TREE = "6.12"

# A kernel carries some thousand packets in a second.
MOST_PACKETS = 6_000
PACKET_BITS = 12_000

CONTROLS = ("cubic", "bbr", "reno")

# Seconds after which a thread is moved to another processor, and processes that do nothing but compute.
MOVED_AFTER_S = 0.002
BURNERS = 8


def scenarios(count: int) -> Iterator[tuple[str, Scenario]]:
    """Yield the stated scenarios with their names; the first ones of more are those of fewer."""
    families = tuple(FAMILIES.items())
    for number in range(count):
        name, family = families[number % len(families)]
        draw = random.Random(number)
        yield f"{number:03} {name}", family(draw)


def _of_many(draw: random.Random) -> Scenario:
    """A dumbbell with 1 to 50 flows."""
    return _dumbbell(draw, flows=round(50 ** draw.random()))


def _of_disciplines(draw: random.Random) -> Scenario:
    """A dumbbell whose queue marks and drops."""
    disciplines = (
        CoDel(ecn=True),
        FqCoDel(ecn=True),
        Pie(ecn=True),
        DualPi2(),
        Red(minimum="10 packets", maximum="30 packets", limit="100 packets", ecn=True),
    )
    return _dumbbell(draw, ecn=True, queue=draw.choice(disciplines))


def _of_impairments(draw: random.Random) -> Scenario:
    """A dumbbell that loses, delays, reorders and duplicates."""
    impairments = [
        {"kind": "bernoulli", "probability": draw.uniform(0.0001, 0.02)},
        {"kind": "jitter", "delay": f"{draw.randint(1, 10)} ms"},
        {"kind": "reorder", "delay": f"{draw.randint(1, 20)} ms", "probability": 0.99},
        {"kind": "duplicate", "probability": draw.uniform(0.001, 0.05)},
        {"kind": "twostate", "good": "1 s", "bad": f"{draw.randint(5, 50)} ms", "loss": 0.3},
    ]
    drawn = draw.sample(impairments, draw.randint(1, 3))
    return _dumbbell(draw, impairments=drawn, reverse_impairments=draw.choice(([], drawn)))


def _of_changes(draw: random.Random) -> Scenario:
    """A dumbbell whose rate and delay change."""
    changes = [
        {
            "at": f"{at / 6:.3f} s",
            "rate": f"{draw.uniform(1, 30):.3} Mbit/s",
            "delay": f"{draw.randint(1, 40)} ms",
        }
        for at in range(1, 9)
    ]
    return _dumbbell(draw, changes=changes)


def _parking_lot(draw: random.Random) -> Scenario:
    """A row of bottlenecks."""
    hops, rate = draw.randint(2, 5), draw.uniform(2, 20)
    shape = topologies.parking_lot(
        hops=hops, rate=f"{rate:.3} Mbit/s", delay=f"{draw.randint(1, 15)} ms", queue=_queue(draw)
    )
    return shape.scenario(duration=_duration(rate * hops), flows=list(_flows(draw, hops + 1)))


FAMILIES: Mapping[str, Callable[[random.Random], Scenario]] = {
    "flows": _of_many,
    "parking lot": _parking_lot,
    "queues": _of_disciplines,
    "impairments": _of_impairments,
    "changes": _of_changes,
}


def _dumbbell(draw: random.Random, *, flows: int = 0, ecn: bool = False, **link: Any) -> Scenario:
    rate, flows = draw.uniform(2, 50), flows or draw.randint(1, 6)
    link.setdefault("queue", _queue(draw))
    shape = topologies.dumbbell(
        pairs=flows, rate=f"{rate:.3} Mbit/s", delay=f"{draw.randint(1, 40)} ms", **link
    )
    return shape.scenario(duration=_duration(rate), flows=list(_flows(draw, flows, ecn=ecn)))


def _queue(draw: random.Random) -> DropTail:
    return DropTail(limit=f"{round(10 * 20 ** draw.random())} packets")


def _duration(mbit_s: float) -> str:
    return f"{min(20.0, max(1.5, MOST_PACKETS * PACKET_BITS / 1e6 / mbit_s)):.3f} s"


def _flows(draw: random.Random, count: int, *, ecn: bool = False) -> Iterator[Flow]:
    """Yield flows of the kernel and of the engine; the first one is the kernel's."""
    for number in range(1, count + 1):
        congestion = draw.choice(CONTROLS)
        carried: Any = {"rules": "linux", "congestion": congestion} | ({"ecn": "classic"} if ecn else {})
        if number == 1 or draw.random() < 0.6:
            carried = Transport("linux", tree=TREE, congestion=congestion, **({"ecn": True} if ecn else {}))
        size = draw.choice((None, f"{draw.randint(10, 500)} kB"))
        source = {"kind": "transfer", "size": size} if size else {"kind": "greedy"}
        start = f"{draw.randint(0, 500)} ms"
        yield Flow(
            name=f"f{number}", from_=f"s{number}", to=f"d{number}", tcp=carried, source=source, start=start
        )


def run(scenario: Scenario, folder: Path) -> dict[str, str]:
    """Return digests of the packets and of the results, and the fingerprint."""
    file = folder / "r1.pcapng"
    done = dumbbell.run(scenario, pcap=file, node="r1", snaplen=65535)
    packets = hashlib.sha256(file.read_bytes()).hexdigest()
    file.unlink()
    results = hashlib.sha256(json.dumps(done.summary, sort_keys=True, default=str).encode()).hexdigest()
    return {
        "packets": packets,
        "results": results,
        "fingerprint": done.fingerprint,
        "captured": str(done.captured["packets"]),
    }


def _run_all(count: int, condition: str, output: Any) -> None:
    """Send the digests of each scenario, or what went wrong, under one condition."""
    stated = list(scenarios(count))
    if condition == "reversed":
        stated.reverse()
    if condition == "moved":
        threading.Thread(target=_move_for_ever, daemon=True).start()
    burners = [
        multiprocessing.Process(target=_burn, daemon=True)
        for _ in range(BURNERS if condition == "loaded" else 0)
    ]
    for burner in burners:
        burner.start()
    with tempfile.TemporaryDirectory() as folder:
        for name, scenario in stated:
            try:
                output.send((name, run(scenario, Path(folder))))
            except Exception as error:
                output.send((name, {"error": f"{type(error).__name__}: {error}"}))
    for burner in burners:
        burner.terminate()
    output.close()


def _burn() -> None:
    while True:
        pass


def _move_for_ever() -> None:
    """Let all threads of this process and of those below it run on one processor after the other."""
    processors, draw = sorted(os.sched_getaffinity(0)), random.Random(1)
    while True:
        time.sleep(MOVED_AFTER_S)
        for thread in _threads_below(os.getpid()):
            allowed = draw.choice(([draw.choice(processors)], processors))
            with suppress(OSError):
                os.sched_setaffinity(thread, allowed)


def _threads_below(process: int) -> Iterator[int]:
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            yield int(thread.name)
            for child in (thread / "children").read_text().split():
                yield from _threads_below(int(child))


CONDITIONS = ("as usual", "moved", "loaded", "reversed")


def digests(count: int, condition: str) -> dict[str, dict[str, str]]:
    """Return what `run` returns for each scenario, from a process of its own."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=_run_all, args=(count, condition, theirs))
    process.start()
    theirs.close()
    found: dict[str, dict[str, str]] = {}
    with suppress(EOFError):
        while True:
            name, digest = ours.recv()
            found[name] = digest
            print(f"\r{condition}: {len(found)} of {count}", end="", file=sys.stderr, flush=True)
    process.join()
    print(file=sys.stderr)
    return found


def main() -> int:
    """Run all scenarios under all conditions and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=200, help="number of scenarios")
    count = parser.parse_args().count
    first = digests(count, CONDITIONS[0])
    failures = [f"{name}: {digest['error']}" for name, digest in first.items() if "error" in digest]
    for condition in CONDITIONS[1:]:
        for name, digest in digests(count, condition).items():
            differing = [key for key in {**digest, **first[name]} if digest.get(key) != first[name].get(key)]
            if differing:
                failures.append(
                    f"{name}, {condition}: {', '.join(differing)} differ {digest.get('error', '')}"
                )
    packets = sum(int(digest.get("captured", 0)) for digest in first.values())
    kinds = Counter(name.split(" ", 1)[1] for name in first)
    print(
        f"{len(first)} scenarios ({', '.join(f'{n} {kind}' for kind, n in kinds.items())}), {packets:,} packets at r1"
    )
    print(
        "\n".join(failures)
        or f"equal packets, results and fingerprints under all conditions: {', '.join(CONDITIONS)}"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
