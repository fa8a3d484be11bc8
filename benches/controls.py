"""Delivered packets per CPU second of one algorithm in four forms: registered, in C, in WebAssembly, and in Python.

Every run is a process of its own, and the forms take turns, so that other load on the machine affects all of them. All
runs have the same events, which their fingerprints show. No time is asserted.

.venv/bin/python benches/controls.py [TURNS]
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import dumbbell
from dumbbell import Flow, Library, Tcp, library, topologies

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "c" / "aimd.c"
FORMS = ("registered", "c", "wasm", "python")

COMPILERS = {
    "c": ["cc", "-O2", "-ffp-contract=off", "-shared", "-fPIC"],
    "wasm": [
        shutil.which("clang") or "clang-16",
        *("--target=wasm32", "-O2", "-ffp-contract=off", "-ffreestanding", "-nostdlib"),
        "-Wl,--no-entry,--export=dumbbell_library,--export-table,-z,stack-size=16384",
    ],
}

# About 1.7 million segments of 1,460 bytes at 10 Mbit/s.
SECONDS = 2000


class Aimd(dumbbell.Control):
    """The algorithm in Python, as docs/algorithms-in-python.md has it."""

    increase: float = 1.0
    decrease: float = 0.5

    def on_ack(self, ack: dumbbell.control.Ack) -> None:
        """Grow, except in a recovery."""
        if ack.in_recovery:
            return
        count = self.cwnd / (ack.mss * self.increase)
        growth = ack.mss if self.cwnd < self.ssthresh else ack.mss / count
        self.cwnd = ack.grown(self.cwnd, growth)

    def on_congestion(self, congestion: dumbbell.control.Congestion) -> None:
        """Keep a fraction of the flight size."""
        rest = max(congestion.flight_size * self.decrease, 2 * congestion.mss)
        most = max(self.cwnd, 2 * congestion.mss)
        self.ssthresh = min(rest, most)
        self.cwnd = min(congestion.loss_window if congestion.restarts else rest, most)


def measure(form: str, folder: Path) -> tuple[float, str]:
    """Return the delivered packets per CPU second of one form in this process, and the fingerprint of the run."""
    tcps: dict[str, Callable[[], str | Library | Aimd]] = {
        "registered": lambda: "aimd",
        "c": lambda: Library(folder / "aimd.c.out"),
        "wasm": lambda: Library(folder / "aimd.wasm.out"),
        "python": Aimd,
    }
    shape = topologies.dumbbell(pairs=1, rate="10 Mbit/s", delay="20 ms", queue="droptail")
    control = tcps[form]()
    tcp = Tcp(variant=control) if isinstance(control, str) else Tcp(external=control)
    scenario = shape.scenario(
        rules="classic", duration=f"{SECONDS} s", flows=[Flow(name="fg", from_="s1", to="d1", tcp=tcp)]
    )
    begin = time.process_time()
    result = dumbbell.run(scenario)
    cpu_s = time.process_time() - begin
    packets = result.flow("fg").goodput_bps * SECONDS / 8 / 1460
    return packets / cpu_s, result.fingerprint


def main() -> None:
    """Measure all forms in turns, and print medians and ratios to the registered form."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as name:
        for form, compiler in COMPILERS.items():
            made = Path(name) / f"aimd.{form}.out"
            subprocess.run([*compiler, "-I", library.include(), EXAMPLE, "-o", made], check=True)
        rates: dict[str, list[float]] = {form: [] for form in FORMS}
        fingerprints = set()
        for _ in range(turns):
            for form in FORMS:
                command = [sys.executable, __file__, "--measure", form, name]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                rate, fingerprint = done.stdout.split()
                rates[form].append(float(rate))
                fingerprints.add(fingerprint)
    if len(fingerprints) != 1:
        sys.exit(f"the forms have different runs: {', '.join(sorted(fingerprints))}")
    print(
        "million delivered packets per CPU second, and the ratio to the registered form: medians over the turns"
    )
    for form in FORMS:
        ratios = [own / base for own, base in zip(rates[form], rates["registered"], strict=True)]
        print(f"{form:10s} {statistics.median(rates[form]) / 1e6:6.2f} {statistics.median(ratios):6.3f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(*measure(sys.argv[2], Path(sys.argv[3])))
    else:
        main()
