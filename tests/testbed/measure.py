"""Measure how faithful the links of ``dumbbell shell`` are, and print the figures with the load of the machine.

``make testbed-measure`` runs it, for about two minutes. It needs Linux and root, and for single measurements the Debian
packages iperf3 and chromium-headless-shell or chromium; what is missing is said. Figures count on a quiet machine only. The
exit code is 1 if a criterion does not hold.
"""

from __future__ import annotations

import argparse
import http.server
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell.cli import shell

RATE = 200e6
# Of 1500 bytes, 52 are headers of IP and TCP with timestamps.
PAYLOAD = 1448 / 1500

# An opportunity carries a packet of 1500 bytes, which counts 4 more.
OPPORTUNITY = 1504
OPPORTUNITIES = 6000
TRACE_RATE = 10e6

PICTURES, PICTURE_BYTES = 30, 100_000

Result = tuple[str, bool]


class MissingError(Exception):
    """A measurement needs something that this machine lacks."""


def behind(place: Path, options: list[str], command: list[str], **more: Any) -> tuple[str, dict[str, Any]]:
    """Run a program behind a link, and return its output and the report of the link."""
    report = place / "report.json"
    line = [str(shell.BINARY.find("kernel")), *options, "--report", str(report), "--", *command]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=120, **more)
    if done.returncode != 0:
        raise RuntimeError(
            f"exit code {done.returncode}: {done.stderr.strip() or done.stdout.strip()[-500:]}"
        )
    return done.stdout, json.loads(report.read_text(encoding="utf-8"))


def needed(*names: str) -> str:
    """Return the first of these programs that is installed."""
    for name in names:
        if shutil.which(name):
            return name
    raise MissingError(f"{' or '.join(names)} is not installed")


def transfer(place: Path, *options: str) -> Result:
    """A transfer of iperf3 at 200 Mbit/s, whose first two seconds do not count."""
    program = needed("iperf3")
    with socket.create_server(("", 0)) as free:
        port = str(free.getsockname()[1])
    server = subprocess.Popen([program, "--server", "--one-off", "--port", port], stdout=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        client = f"exec {program} --client $DUMBBELL_HOST --port {port} --json --omit 2 --time 8 {' '.join(options)}"
        link = ["--rate", "200Mbit", "--delay", "10ms", "--queue", "droptail:limit=500p"]
        text, report = behind(place, link, ["sh", "-c", client])
    finally:
        server.terminate()
        server.wait()
    share = json.loads(text)["end"]["sum_received"]["bits_per_second"] / (RATE * PAYLOAD)
    late = report["late_p99_ms"]
    shown = f"{share:.4f} of the payload rate, late p99 {late:.2f} ms, max {report['late_max_ms']:.1f} ms"
    return shown, abs(share - 1) <= 0.01 and late < 1


# Prints when packets arrived by the clock of the kernel, in nanoseconds, until none has come for a second.
RECEIVER = """
import socket, struct
arrivals = []
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
    s.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)  # SO_RCVBUFFORCE; without root, the usual size
    s.bind(("", 7000))
    print("ready", flush=True)
    s.settimeout(10)
    try:
        while True:
            _, data, _, _ = s.recvmsg(2000, 64)
            arrivals.append(struct.unpack("qq", data[0][2]))
            s.settimeout(1)
    except TimeoutError:
        pass
print(*(seconds * 10**9 + rest for seconds, rest in arrivals))
"""


def opportunities(place: Path) -> Result:
    """Times at which a receiver got the packets of a random trace, compared with the trace."""
    draw = random.Random(1)
    length_ms = round(OPPORTUNITIES * OPPORTUNITY * 8 / TRACE_RATE * 1e3)
    times = np.sort([draw.randint(1, length_ms) for _ in range(OPPORTUNITIES)])
    times[-1] = length_ms
    trace = place / "trace"
    trace.write_text("".join(f"{at}\n" for at in times), encoding="ascii")
    link = [str(shell.BINARY.find("kernel")), "--down-trace", str(trace), "--"]
    program = f"echo $DUMBBELL_ADDRESS; exec {sys.executable} -c '{RECEIVER}'"
    process = subprocess.Popen([*link, "sh", "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert process.stdout.readline() == "ready\n"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        begin, sent = time.monotonic(), 0
        # A little more than the link carries, so that no opportunity finds the queue empty.
        while sent < OPPORTUNITIES:
            while sent < (time.monotonic() - begin) * 1.3 * OPPORTUNITIES / length_ms * 1e3 + 100:
                sender.sendto(bytes(1472), (address, 7000))
                sent += 1
            time.sleep(0.005)
    output, _ = process.communicate(timeout=60)
    arrivals = np.array(output.split(), dtype=np.int64) / 1e6
    if len(arrivals) < 0.99 * OPPORTUNITIES:
        raise RuntimeError(f"{len(arrivals)} of {OPPORTUNITIES} packets arrived")
    # The first packet took some opportunity: the one for which the gaps between arrivals fit best.
    repeated = np.concatenate([times, times + length_ms]).astype(float)
    head = arrivals[:200] - arrivals[0]
    misfit = [
        np.median(np.abs(repeated[first : first + len(head)] - repeated[first] - head))
        for first in range(OPPORTUNITIES)
    ]
    first = int(np.argmin(misfit))
    late = arrivals - repeated[first : first + len(arrivals)]
    late -= late.min()
    within = float(np.mean(late <= 1))
    p99 = np.quantile(late, 0.99)
    shown = (
        f"{100 * within:.2f} % of {len(late)} packets within 1 ms, p99 {p99:.2f} ms, max {late.max():.1f} ms"
    )
    return shown, within >= 0.99


class Page(http.server.BaseHTTPRequestHandler):
    """A page of 3 MB: its pictures count themselves."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the page or a picture."""
        if self.path == "/":
            pictures = "".join(
                f'<img src="/{number}.svg" onload="done()" alt="">' for number in range(PICTURES)
            )
            script = f"<script>let left={PICTURES};function done(){{if(!--left)document.title='all loaded'}}</script>"
            body = f"<html><head><title>loading</title>{script}</head><body>{pictures}</body></html>".encode()
            kind = "text/html"
        else:
            frame = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><!--%s--></svg>'
            body, kind = frame % (b"x" * PICTURE_BYTES), "image/svg+xml"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def page(place: Path) -> Result:
    """A page of this host in a headless browser."""
    browser = needed("chromium-headless-shell", "chromium")
    server = http.server.ThreadingHTTPServer(("", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        command = (
            f"exec {browser} --headless --no-sandbox --disable-gpu --user-data-dir={place}/profile "
            f"--virtual-time-budget=60000 --dump-dom http://$DUMBBELL_HOST:{server.server_port}/"
        )
        link = ["--rate", "20Mbit", "--delay", "25ms", "--queue", "fqcodel"]
        text, report = behind(place, link, ["sh", "-c", command])
    finally:
        server.shutdown()
    is_loaded = "<title>all loaded</title>" in text
    down = sum(link["bytes_sent"] for link in report["down"]["links"]) / 1e6
    state = "loaded" if is_loaded else "not loaded"
    return f"{state}, {down:.1f} MB, late p99 {report['late_p99_ms']:.2f} ms", is_loaded


MEASUREMENTS: list[tuple[str, str, Callable[[Path], Result]]] = [
    ("200 Mbit/s, CUBIC up", "within 1 %, p99 < 1 ms", lambda place: transfer(place, "-C", "cubic")),
    ("200 Mbit/s, CUBIC down", "within 1 %, p99 < 1 ms", lambda place: transfer(place, "-C", "cubic", "-R")),
    ("200 Mbit/s, Reno up", "within 1 %, p99 < 1 ms", lambda place: transfer(place, "-C", "reno")),
    ("trace of 10 Mbit/s", "99 % within 1 ms", opportunities),
    ("browser at 20 Mbit/s", "a page of 3 MB loads", page),
]


def main() -> None:
    """Measure, and print a table of figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="measure everything so often")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("measure: it needs root")
    shell.BINARY.find("kernel", told=print)
    holds = True
    for _ in range(arguments.repeat):
        for name, criterion, measured in MEASUREMENTS:
            with tempfile.TemporaryDirectory(prefix="dumbbell-measure-") as place:
                try:
                    shown, is_met = measured(Path(place))
                    verdict = "met" if is_met else "NOT MET"
                except MissingError as missing:
                    shown, is_met, verdict = str(missing), True, "SKIPPED"
            holds = holds and is_met
            load = os.getloadavg()[0]
            print(f"{verdict:8} {name:24} {shown} (criterion: {criterion}; load {load:.1f})", flush=True)
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
