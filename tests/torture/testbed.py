"""Kill runs in real time and shells with SIGKILL at random moments, and look for what is left.

``make torture-testbed`` runs it. It needs Linux, root and the eBPF twins.

A victim is the command itself or any process that it started. After each kill, and without any further help, no process,
network device, BPF program, map or link, control group, mounted namespace or congestion control of it may exist. A network
namespace without a name lives as long as a process that is in it or holds it, so none is left without processes.

Runs are killed while a plan of them fills a store, and the plan is resumed. The store must contain everything that it
contained before the kill, unchanged. At the end, all runs are complete.

Other runs on this machine may go on: BPF objects that a living process holds are not counted.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from dumbbell import testbed
from dumbbell.campaign.store import Store
from dumbbell.cli import shell
from dumbbell.cli.testbed import RESULTS

# Environment variable by which processes of a test are known, whatever their parents.
MARK = "DUMBBELL_TORTURE"

# Seconds after which nothing may be left. A shell carries its last packets for two.
PATIENCE_S = 15.0

# Runs of one plan, of 1.5 s each.
RUNS = 12

BPF_SYSTEM_CALL = {"x86_64": 321, "aarch64": 280}
# Commands of this call: the next id of a program, of a map and of a link.
NEXT_ID = {"prog": 11, "map": 12, "link": 31}

RULES = (
    'recovery = "sack", timestamps = true, initial_window = "10 segments", timer = { minimum = "200 ms" }, '
    'headers = { data = "52 bytes", ack = "52 bytes" }'
)

LINKS = """
duration = "1.5 s"
rules = "classic"
nodes = [{ name = "a", aqt = true }, { name = "b", aqt = true }]

[[links]]
name = "ab"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "5 ms"
queue = { kind = "droptail", limit = "20 packets" }

[[links]]
name = "ba"
from = "b"
to = "a"
rate = "10 Mbit/s"
delay = "5 ms"
"""


def _flow(name: str, tcp: str) -> str:
    return f'\n[[flows]]\nname = "{name}"\nfrom = "a"\nto = "b"\ntcp = {{ {RULES}, {tcp} }}\n'


RENO = _flow("reno", 'congestion = "reno", mss = "1448 bytes"')
VEGAS = _flow("vegas", 'congestion = "vegas", mechanisms = "ABFI", mss = "1448 bytes"')
ROVEGAS = _flow("rovegas", 'congestion = "rovegas", mechanisms = "ABFI", mss = "1440 bytes"')
DATAGRAMS = """
[[flows]]
name = "cbr"
from = "a"
to = "b"
source = { kind = "cbr", rate = "1 Mbit/s", packet = "1000 bytes" }
"""

SCENARIOS = {
    "reno": LINKS + RENO,
    "several flows": LINKS + RENO + VEGAS + DATAGRAMS,
    "queueing times": LINKS + ROVEGAS + RENO,
}


def expect(holds: bool, otherwise: str) -> None:
    """Exit if a condition does not hold."""
    if not holds:
        sys.exit(f"torture: {otherwise}")


# --- what exists on the machine ---


def processes(mark: str) -> set[int]:
    """Return the processes of a test, except those that have ended and wait to be collected."""
    wanted = f"{MARK}={mark}".encode()
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.add(int(folder.name))
    return found


def objects() -> set[tuple[str, int]]:
    """Return the kinds and ids of all BPF objects."""
    library = ctypes.CDLL(None, use_errno=True)
    number = BPF_SYSTEM_CALL[os.uname().machine]
    found = set()
    for kind, command in NEXT_ID.items():
        attributes = (ctypes.c_uint32 * 30)()
        while library.syscall(number, command, ctypes.byref(attributes), ctypes.sizeof(attributes)) == 0:
            found.add((kind, attributes[1]))
            attributes[0] = attributes[1]
    return found


def held() -> set[tuple[str, int]]:
    """Return the BPF objects that a living process holds."""
    found = set()
    for file in Path("/proc").glob("[0-9]*/fdinfo/*"):
        with suppress(OSError):
            for line in file.read_text(encoding="ascii", errors="replace").splitlines():
                name, _, value = line.partition(":")
                kind = name.removesuffix("_id")
                if kind != name and kind in NEXT_ID:
                    found.add((kind, int(value)))
    return found


def groups() -> set[str]:
    """Return the control groups of runs that have ended."""
    mounts = (line.split() for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines())
    found = set()
    for fields in mounts:
        if fields[2] == "cgroup2":
            names = (path.name for path in Path(fields[1]).glob("dumbbell-testbed-*"))
            found |= {name for name in names if not Path("/proc", name.rsplit("-", 1)[1]).exists()}
    return found


def devices() -> set[str]:
    """Return the network devices that no living process holds."""
    owned = set()
    for file in Path("/proc").glob("[0-9]*/fdinfo/*"):
        with suppress(OSError):
            for line in file.read_text(encoding="ascii", errors="replace").splitlines():
                if line.startswith("iff:"):
                    owned.add(line.split()[1])
    return {path.name for path in Path("/sys/class/net").iterdir()} - owned


def mounted() -> set[str]:
    """Return the namespaces that are mounted somewhere."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    return {line for line in lines if " - nsfs " in line}


def controls() -> set[str]:
    """Return the congestion controls of the testbed that the kernel lists."""
    file = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    return {name for name in file.read_text(encoding="ascii").split() if name.startswith("db_")}


@dataclass
class Machine:
    """What existed before."""

    objects: set[tuple[str, int]] = field(default_factory=objects)
    groups: set[str] = field(default_factory=groups)
    devices: set[str] = field(default_factory=devices)
    mounted: set[str] = field(default_factory=mounted)

    def left(self, mark: str) -> dict[str, object]:
        """Return what exists of a test now, by kind."""
        found: dict[str, object] = {
            "processes": processes(mark),
            "control groups": groups() - self.groups,
            "namespaces": mounted() - self.mounted,
        }
        if not any(found.values()):
            found["devices"] = devices() - self.devices
            new = objects() - self.objects
            found["BPF objects"] = new - held() if new else set()
        return {kind: what for kind, what in found.items() if what}

    def wait(self, mark: str) -> tuple[float, str]:
        """Return the seconds until nothing is left, and what was left last; exits if something stays."""
        begin, last = time.monotonic(), "nothing"
        while left := self.left(mark):
            passed = time.monotonic() - begin
            expect(passed < PATIENCE_S, f"left after {passed:.0f} s: {left}")
            last = ", ".join(left)
            time.sleep(0.02)
        return time.monotonic() - begin, last


# --- kills ---


@dataclass
class Torture:
    """Random numbers, the machine, and what happened."""

    draw: random.Random
    machine: Machine
    place: Path
    victims: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, str] = (0.0, "nothing")
    kills: int = 0

    def start(self, command: list[str], said: BinaryIO | None = None) -> tuple[subprocess.Popen[bytes], str]:
        """Start a command whose processes are known by the returned mark. Its errors go to a file."""
        mark = f"{os.getpid()}-{self.kills}-{self.draw.randrange(10**9)}"
        none = subprocess.DEVNULL
        environment = {**os.environ, MARK: mark}
        process = subprocess.Popen(command, env=environment, stdin=none, stdout=none, stderr=said or none)
        return process, mark

    def kill(self, process: subprocess.Popen[bytes], mark: str, *, own: float) -> bool:
        """Kill the command, with this probability, or else a process that it started; false if it has ended."""
        alive = sorted(processes(mark) - {process.pid})
        if process.poll() is not None:
            return False
        victim = process.pid if not alive or self.draw.random() < own else self.draw.choice(alive)
        with suppress(OSError):
            name = Path(f"/proc/{victim}/comm").read_text(encoding="utf-8").strip()
            os.kill(victim, signal.SIGKILL)
            self.victims[name] += 1
            self.kills += 1
        return True

    def check(self, mark: str) -> None:
        """Wait until nothing is left."""
        self.slowest = max(self.slowest, self.machine.wait(mark))

    def tell(self, what: str, begin: float) -> None:
        """Print a summary."""
        listed = ", ".join(f"{name} {count}" for name, count in self.victims.most_common())
        print(
            f"{what}: {self.kills} kills ({listed}), {time.monotonic() - begin:.0f} s: nothing is left after "
            f"{self.slowest[0]:.1f} s at the latest ({self.slowest[1]})",
            flush=True,
        )


def _kept(place: Path, output: Path) -> dict[tuple[str, int, int], str]:
    """Return the stored results by run, from a copy of the store."""
    if not (output / "runs").exists():
        return {}
    copy = place / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(output / "runs", copy)
    with Store(copy, [RESULTS], fresh=False, identity=testbed.identity({})) as store:
        expect(not store.warnings, f"a kill was reported as damage: {store.warnings}")
        frame = store.frame()
        if frame.empty:
            return {}
        rows = frame[["hash", "seed", "run", RESULTS]].itertuples(index=False, name=None)
        return {(digest, seed, run): text for digest, seed, run, text in rows}


def kill_runs(torture: Torture, count: int) -> None:
    """Kill runs that fill a store, and resume them."""
    begin = time.monotonic()
    complete = resumed = 0
    while torture.kills < count:
        name = sorted(SCENARIOS)[complete % len(SCENARIOS)]
        file = torture.place / "scenario.toml"
        file.write_text(f'name = "{name}"\n' + SCENARIOS[name], encoding="utf-8")
        output = torture.place / f"runs-{complete}"
        command = [sys.executable, "-m", "dumbbell.cli", "testbed", "run", str(file), "--json"]
        command += ["--runs", str(RUNS), "--at-once", "3", "--output", str(output)]
        before: dict[tuple[str, int, int], str] = {}
        while True:
            said = (torture.place / "said").open("w+b")
            process, mark = torture.start(command, said)
            is_killed = False
            if torture.kills < count:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=torture.draw.uniform(0.0, 9.0))
                is_killed = torture.kill(process, mark, own=0.5)
            # Without one of its processes, the command reports that and ends.
            process.wait(timeout=180)
            said.seek(0)
            expect(is_killed or process.returncode == 0, f"a run failed: {said.read().decode()}")
            said.close()
            torture.check(mark)
            now = _kept(torture.place, output)
            lost = [run for run, text in before.items() if now.get(run) != text]
            expect(not lost, f"stored runs were lost or changed: {lost}")
            resumed += bool(before)
            before = now
            if len(now) == RUNS or (process.returncode == 0 and torture.kills >= count):
                break
        complete += 1
        if torture.kills < count:
            print(f"{torture.kills} kills of runs, {complete} plans complete", flush=True)
    torture.tell(f"runs in {complete} complete plans, resumed {resumed} times without a loss", begin)


def _sink() -> Iterator[int]:
    """Accept connections on all addresses and read what comes; yields the port."""
    listener = socket.create_server(("", 0))

    def read(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(60)
            while connection.recv(1 << 16):
                pass

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=read, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield listener.getsockname()[1]
    listener.close()


def kill_shells(torture: Torture, count: int) -> None:
    """Kill shells whose programs send, sleep in the background, or start a shell."""
    begin = time.monotonic()
    binary = str(shell.BINARY.find("kernel"))
    for port in _sink():
        sending = f"setsid sleep 300 & exec bash -c 'exec cat /dev/zero > /dev/tcp/'$DUMBBELL_HOST/{port}"
        log, packets = str(torture.place / "log.csv"), str(torture.place / "packets.pcapng")
        inner = [binary, "--rate", "5Mbit", "--delay", "2ms", "--", "sh", "-c", sending]
        cases = [
            [binary, "--rate", "20Mbit", "--delay", "5ms", "--queue", "fqcodel", "--", "sh", "-c", sending],
            [binary, "--rate", "10Mbit", "--log", log, "--pcap", packets, "--", "sh", "-c", sending],
            [binary, "--delay", "5ms", "--loss", "1%", "--", *inner],
        ]
        while torture.kills < count:
            process, mark = torture.start(torture.draw.choice(cases))
            time.sleep(torture.draw.uniform(0.0, 1.5))
            torture.kill(process, mark, own=0.3)
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                # The victim was one of the programs, and the others go on.
                torture.kill(process, mark, own=1.0)
                process.wait(timeout=30)
            torture.check(mark)
    torture.tell("shells", begin)


def main() -> None:
    """Kill runs and shells."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100, help="kills of runs")
    parser.add_argument("--shells", type=int, default=100, help="kills of shells")
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments and victims")
    arguments = parser.parse_args()
    expect(os.geteuid() == 0, "it needs root")
    os.environ[testbed.VARIABLE] = str(testbed.find_binary(told=print))
    before = controls()
    with tempfile.TemporaryDirectory(prefix="dumbbell-torture-") as temporary:
        for kill, count in ((kill_runs, arguments.runs), (kill_shells, arguments.shells)):
            kill(Torture(random.Random(arguments.seed), Machine(), Path(temporary)), count)
    busy = (
        subprocess.run(["pgrep", "-x", "dumbbell-testbe"], capture_output=True, check=False).returncode == 0
    )
    print("congestion controls: others run" if busy else "congestion controls: as before")
    expect(busy or controls() <= before, f"congestion controls are left: {controls() - before}")


if __name__ == "__main__":
    main()
