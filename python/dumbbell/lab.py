"""Links that open a scenario in the lab, the page with the engine: the text of the scenario is in the link."""

from __future__ import annotations

import base64
import os
import zlib
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from dumbbell.scenario import Scenario

VERSION = 1
"""The version of links that ``website/lab/src/link.js`` writes for a scenario alone."""
ADDRESS = "DUMBBELL_LAB"
"""The environment variable with the address of a lab, for links in notebooks."""

# What the engine of a page does not have: code and files of others.
ELSEWHERE = ("external", "transport", "file")
# Longer links are cut by some programs.
MOST_CHARACTERS = 8000


def fragment(text: str, seed: int = 1, run: int = 0) -> str:
    """Return the part of a link behind the address of the lab; empty if it is too long.

    Parameters
    ----------
    text
        The scenario in TOML.
    seed, run
        Seed and number of the run.
    """
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(text.encode()) + packer.flush()
    encoded = base64.urlsafe_b64encode(packed).decode().rstrip("=")
    link = f"#v={VERSION}&seed={seed}&run={run}&toml={quote(encoded)}"
    return link if len(link) <= MOST_CHARACTERS else ""


def is_for_page(scenario: Scenario) -> bool:
    """Return whether the engine of the page can run a scenario: it names no file, and nothing that runs outside of it."""

    def names(value: Any) -> bool:
        if isinstance(value, dict):
            return any(key in ELSEWHERE or names(inner) for key, inner in value.items())
        return isinstance(value, list) and any(map(names, value))

    return not names(scenario.to_dict())


def link(scenario: Scenario, seed: int = 1, run: int = 0) -> str:
    """Return a link that repeats a run in the lab at the address of the environment variable ``DUMBBELL_LAB``.

    It is empty without an address, for a scenario that the page cannot run, and for one that is too long for a link.
    """
    address = os.environ.get(ADDRESS, "")
    if not address or not is_for_page(scenario):
        return ""
    carried = fragment(scenario.to_toml(), seed, run)
    return f"{address}{carried}" if carried else ""
