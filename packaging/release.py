"""Release a version: check the checkout, date the changelog, set the version, commit, tag and build the wheels.

Run by ``make release VERSION=X.Y.Z``. Nothing is uploaded or pushed; the last lines say what to push and upload. Nothing is
changed if a check fails.
"""

from __future__ import annotations

import argparse
import datetime
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
UNRELEASED = re.compile(r"^## (\S+) \(unreleased\)$", re.MULTILINE)

PLACES = {
    "Cargo.toml": r'^version = "(.+)"$',
    "fuzz/Cargo.toml": r'^version = "(.+)"$',
    "pyproject.toml": r'^version = "(.+)"$',
    "CITATION.cff": r"^version: (.+)$",
}
"""The files that state the version, and the first line in each that does."""


def git(*arguments: str) -> str:
    """Return what a command of git prints."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def parts(version: str) -> tuple[int, ...]:
    """Return the numbers of a version."""
    return tuple(map(int, version.split(".")))


def stated(root: Path) -> dict[str, str]:
    """Return the version that each file states."""
    found = {}
    for name, pattern in PLACES.items():
        match = re.search(pattern, (root / name).read_text("utf-8"), re.MULTILINE)
        found[name] = match[1] if match else "none"
    return found


def refusals(version: str, root: Path, ask: Callable[..., str] = git) -> list[str]:
    """Return why a version cannot be released from a checkout; nothing if it can.

    Parameters
    ----------
    version
        The version, as ``0.2.0``.
    root
        The checkout.
    ask
        Returns what a command of git prints.
    """
    if not VERSION.fullmatch(version):
        return [f"VERSION is {version!r}; three numbers are accepted, as 0.2.0"]
    found = []
    if ask("status", "--porcelain"):
        found.append("the checkout has changes that are not committed")
    if ask("rev-parse", "--abbrev-ref", "HEAD") != "main":
        found.append("the branch is not main")
    if ask("tag", "--list", f"v{version}"):
        found.append(f"there is a tag v{version}")
    versions = stated(root)
    for name, known in versions.items():
        if not VERSION.fullmatch(known) or parts(known) > parts(version):
            found.append(f"{name} states the version {known}")
    heading = UNRELEASED.search((root / "CHANGELOG.md").read_text("utf-8"))
    if heading is None or heading[1] != version:
        found.append(f"CHANGELOG.md has no heading `## {version} (unreleased)`")
    return found


def set_version(version: str, root: Path, day: datetime.date) -> None:
    """Date the changelog and state the version in every file of `PLACES`."""
    log = root / "CHANGELOG.md"
    text = log.read_text("utf-8")
    log.write_text(text.replace(f"## {version} (unreleased)", f"## {version} ({day:%Y-%m-%d})"), "utf-8")
    for name, pattern in PLACES.items():
        path = root / name
        text = path.read_text("utf-8")
        match = re.search(pattern, text, re.MULTILINE)
        assert match is not None
        path.write_text(text[: match.start(1)] + version + text[match.end(1) :], "utf-8")


def main() -> None:
    """Release the version that is given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("version", help="version to release, as 0.2.0")
    parser.add_argument("--check", action="store_true", help="say what is in the way, and change nothing")
    asked = parser.parse_args()
    problems = refusals(asked.version, ROOT)
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    if problems or asked.check:
        sys.exit(2 if problems else 0)
    subprocess.run(["make", "--no-print-directory", "test"], cwd=ROOT, check=True)
    set_version(asked.version, ROOT, datetime.datetime.now(datetime.UTC).date())
    subprocess.run(["cargo", "update", "--workspace", "--offline", "--quiet"], cwd=ROOT, check=True)
    git("commit", "--all", "--quiet", "--message", f"Release {asked.version}")
    git("tag", "--annotate", f"v{asked.version}", "--message", f"Dumbbell {asked.version}")
    subprocess.run(["make", "--no-print-directory", "wheels", "PLATFORMS=all"], cwd=ROOT, check=True)
    print(f"push:   git push origin main v{asked.version}")
    print("upload: the wheels above, with `twine upload`, and as files of the release of the tag")


if __name__ == "__main__":
    main()
