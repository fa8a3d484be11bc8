"""Links that open a scenario in the lab: the text of the scenario is in the link."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from labpage import BUILT, PLACE

from dumbbell.files import write_text
from dumbbell.lab import fragment, is_for_page

# A file of a scenario in a block of code, and a block that is a scenario.
NAMED = re.compile(r"examples/[\w/-]+\.toml")
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


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
        See `dumbbell.lab.fragment`.
    """
    link = fragment(text, seed, run)
    if not link or not (BUILT / "index.html").exists():
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
