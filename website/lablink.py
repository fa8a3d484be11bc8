"""Links that open a scenario in the lab: the text of the scenario is in the link."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from labpage import BUILT, PLACE

from dumbbell.files import write_text

if TYPE_CHECKING:
    from dumbbell import Scenario

VERSION = 1
"""The version of links that `website/lab/src/link.js` writes for a scenario alone."""

# A file of a scenario in a block of code, and a block that is a scenario.
NAMED = re.compile(r"examples/[\w/-]+\.toml")
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What the engine of a page does not have: code and files of others.
ELSEWHERE = ("external", "transport", "file")
# Longer links are cut by some programs.
MOST_CHARACTERS = 8000


def fragment(text: str, seed: int = 1, run: int = 0) -> str:
    """Return the part of a link behind the address of the lab.

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
    return f"#v={VERSION}&seed={seed}&run={run}&toml={quote(encoded)}"


def is_for_page(scenario: Scenario) -> bool:
    """Return whether the engine of the page can run a scenario: it names no file, and nothing that runs outside of it."""

    def names(value: Any) -> bool:
        if isinstance(value, dict):
            return any(key in ELSEWHERE or names(inner) for key, inner in value.items())
        return isinstance(value, list) and any(map(names, value))

    return not names(scenario.to_dict())


def keep(file: Path, result: Any) -> None:
    """Keep the scenario of a run, or the first one of several, beside a figure: ``{toml, seed, run}``."""
    job = result if hasattr(result, "scenario") else result.jobs[0]
    if is_for_page(job.scenario):
        kept = {"toml": job.scenario.to_toml(), "seed": job.seed, "run": job.run}
        write_text(file, json.dumps(kept))


def here(uri: str, text: str, seed: int = 1, run: int = 0) -> str:
    """Return a link to the lab with a scenario, as Markdown; empty if it is too long, or the lab is not built.

    Parameters
    ----------
    uri
        The place of the page with the link on the site.
    text, seed, run
        See `fragment`.
    """
    link = fragment(text, seed, run)
    if len(link) > MOST_CHARACTERS or not (BUILT / "index.html").exists():
        return ""
    return f"[Run it here]({'../' * uri.count('/')}{PLACE}/index.html{link})"


def kept_here(uri: str, file: Path) -> str:
    """Return the link of a scenario that was kept, as a paragraph; empty if there is none."""
    if not file.exists():
        return ""
    kept = json.loads(file.read_text(encoding="utf-8"))
    link = here(uri, kept["toml"], kept["seed"], kept["run"])
    return f"{link}\n\n" if link else ""


def linked(markdown: str, uri: str, root: Path) -> str:
    """Return a page with a link below each block that is a scenario, or the first to name one of the examples."""
    from dumbbell import Scenario, ScenarioError

    seen: set[str] = set()

    def below(found: re.Match[str]) -> str:
        block, (language, content) = found[0], found.groups()
        name = NAMED.search(content)
        text = content
        if language != "toml":
            if name is None or name[0] in seen or not (root / name[0]).exists():
                return block
            seen.add(name[0])
            text = (root / name[0]).read_text(encoding="utf-8")
        try:
            scenario = Scenario.from_text(text)
        except ScenarioError:
            # The plan of a campaign, or one that names code of others.
            return block
        link = here(uri, text) if is_for_page(scenario) else ""
        return f"{block}\n\n{link}" if link else block

    return BLOCK.sub(below, markdown)
