"""The search: which pages come first, and what newcomers look for."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any

from dumbbell.files import write_text

ASK = Path(__file__).with_name("search.mjs")

BOOSTS = {
    "reference/": 0.3,
    "decisions/": 0.1,
    "changelog.md": 0.1,
    "references.md": 0.1,
    "architecture.md": 0.3,
    "evidence.md": 0.3,
    "cross-validation.md": 0.3,
    "reliability.md": 0.3,
    "gallery/index.md": 0.5,
    "algorithms/index.md": 0.5,
    "algorithms/": 4.0,
    "notebooks/": 2.0,
    "gallery/": 1.0,
    "": 2.0,
}
"""Weight in the search by the place of a page: that of the first entry with which it begins."""

KEYWORDS = {
    "algorithms-in-python.md": ["own algorithm", "custom congestion control"],
    "algorithms/bbr.md": ["bbr", "bbrv1"],
    "algorithms/bbr3.md": ["bbr", "bbrv3"],
    "campaigns.md": ["cluster"],
    "environments.md": ["initial window", "delayed acknowledgements"],
    "factorial.md": ["confidence interval"],
    "installation.md": ["install", "setup", "docker", "macos", "windows"],
    "links.md": ["packet loss", "random loss", "wifi", "lte", "mahimahi", "jitter", "reordering"],
    "notebooks/index.md": ["jupyter"],
    "pictures.md": ["plot", "jupyter", "figure"],
    "queues.md": ["aqm", "ecn", "l4s", "codel", "buffer"],
    "results.md": ["output", "csv", "columns", "flow completion time"],
    "scenarios.md": ["toml", "configuration"],
    "traffic.md": ["flow completion time", "workload", "web", "video"],
    "transports.md": ["quic"],
    "tutorial.md": ["random seed", "getting started"],
}
"""Words under which a page is found besides its own."""

QUESTIONS: dict[str, list[str]] = {
    "buffer BDP": ["queues/", "gallery/buffer_size/", "notebooks/queues/"],
    "bufferbloat": ["gallery/bufferbloat/", "notebooks/queues/"],
    "install": ["installation/"],
    "mahimahi trace": ["links/", "coming-from/"],
    "packet loss": ["links/"],
    "RTT fairness": ["notebooks/fairness/", "gallery/rtt_unfairness/"],
    "own algorithm": ["algorithms-in-python/"],
    "python controller": ["algorithms-in-python/"],
    "pcap": ["packets/"],
    "wireshark": ["packets/"],
    "tcpdump": ["captures/"],
    "slow download": ["captures/"],
    "kernel": ["kernel/"],
    "ecn": ["gallery/ecn/", "queues/"],
    "l4s": ["gallery/l4s/", "queues/"],
    "confidence interval": ["factorial/", "reference/dumbbell.statistics/"],
    "parking lot": ["gallery/parking_lot/", "topologies/"],
    "cubic": ["algorithms/cubic/"],
    "bbr": ["algorithms/bbr/"],
    "ns-3": ["coming-from/"],
    "flent": ["coming-from/"],
    "netem": ["coming-from/"],
    "wifi": ["links/"],
    "satellite": ["topologies/", "gallery/satellite/"],
    "plot": ["pictures/", "plots/"],
    "random seed": ["tutorial/", "commands/"],
    "quic": ["transports/"],
    "initial window": ["environments/"],
    "flow completion time": ["traffic/", "results/"],
    "jupyter": ["pictures/", "notebooks/"],
    "docker": ["installation/"],
    "cluster": ["campaigns/"],
}
"""What newcomers type, and the pages of which one has to be among the first three."""

FIRST = 3

JOINED = "e=e+s+o.id}"
"""How the search's worker (Lunr 2.3, `TokenSet.toString`) states an edge of its tree of words: label and number, with
nothing between them, so that nodes with digits as labels are taken for each other and words get lost."""

SEPARATED = "e=e+s+o.id+`,`}"
"""The same with an end to each number."""

BEGINNINGS = "abcdefghijklmnopqrstuvwxyz"
"""Queries that lead to every word of the index: one that got lost makes its letter find nothing."""


def prepare(place: str, meta: MutableMapping[str, Any]) -> None:
    """State the weight and the keywords of a page in its metadata, where the search takes them."""
    meta["search"] = {"boost": next(boost for start, boost in BOOSTS.items() if place.startswith(start))}
    if place in KEYWORDS:
        meta["tags"] = KEYWORDS[place]


def mend(site: Path) -> None:
    """Repair the worker of the search, which loses words of sites with many numbers.

    Raises
    ------
    ValueError
        The worker is not the one that this knows.
    """
    for worker in (site / "assets" / "javascripts" / "workers").glob("search.*.js"):
        text = worker.read_text(encoding="utf-8")
        if text.count(JOINED) != 1:
            raise ValueError(
                f"{worker.name}: wanted {JOINED} once; see website/finding.py, and whether Lunr changed"
            )
        write_text(worker, text.replace(JOINED, SEPARATED))


def check(site: Path) -> None:
    """Ask the search of a built site for every word, and what newcomers look for; without Node, say so.

    Raises
    ------
    ValueError
        A question does not lead to its page, or words are lost; the message has all such questions.
    """
    node = shutil.which("node")
    if node is None:
        sys.stderr.write("SKIPPED search of the site: node is missing\n")
        return
    done = subprocess.run(
        [node, ASK, site, *QUESTIONS, *BEGINNINGS], capture_output=True, text=True, check=True
    )
    if missed := misses(json.loads(done.stdout)):
        raise ValueError("\n".join(["the search does not lead to the right pages", *missed]))


def misses(found: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a line for each letter under which nothing, and each question whose pages were not found first."""
    lost = [f"{letter}: nothing; words are lost in the index" for letter in BEGINNINGS if not found[letter]]
    return lost + [
        f"{question}: {', '.join(found[question][:FIRST]) or 'nothing'}; not {' or '.join(pages)}"
        for question, pages in QUESTIONS.items()
        if not set(pages) & set(found[question][:FIRST])
    ]
