"""Check the locked packages of Rust and Python against the lists of known vulnerabilities: ``make advisories``.

OSV [https://osv.dev] collects these lists, among them those of RustSec and of the Python Packaging Authority. Where it cannot
be reached, nothing is checked, and the line that begins with SKIPPED says so. A finding that does not concern this project is
named in ``deny.toml``, under ``advisories.ignore``, with its reason.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SERVICE = "https://api.osv.dev"
TIMEOUT_S = 10
# The most that one question may ask about.
BATCH = 1000


class Package(NamedTuple):
    """A locked package; `ecosystem` is the name that OSV has for its registry."""

    ecosystem: str
    name: str
    version: str


def locked(root: Path) -> list[Package]:
    """Return the packages of all lock files of a checkout, in order."""
    found = set()
    for package in tomllib.loads((root / "Cargo.lock").read_text(encoding="utf-8"))["package"]:
        if "source" in package:
            found.add(Package("crates.io", package["name"], package["version"]))
    for file in root.glob("requirements*.lock"):
        for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", file.read_text(encoding="utf-8"), re.M):
            found.add(Package("PyPI", name, version))
    return sorted(found)


def ignored(root: Path) -> dict[str, str]:
    """Return the reasons not to heed an advisory, by its identifier."""
    deny = tomllib.loads((root / "deny.toml").read_text(encoding="utf-8"))
    return {each["id"]: each["reason"] for each in deny["advisories"]["ignore"]}


def ask(url: str, question: Any = None) -> Any:
    """Return the answer to a question, as plain data; OSError or ValueError without one."""
    data = None if question is None else json.dumps(question).encode()
    request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
        return json.load(answer)


def advisories(packages: list[Package], service: str) -> Iterator[tuple[Package, dict[str, Any]]]:
    """Yield every advisory on a package, with the package."""
    pending: list[tuple[Package, dict[str, Any]]] = [
        (each, {"package": {"ecosystem": each.ecosystem, "name": each.name}, "version": each.version})
        for each in packages
    ]
    while pending:
        part, pending = pending[:BATCH], pending[BATCH:]
        answer = ask(f"{service}/v1/querybatch", {"queries": [query for _, query in part]})
        for (package, query), result in zip(part, answer["results"], strict=True):
            for each in result.get("vulns", ()):
                yield package, ask(f"{service}/v1/vulns/{each['id']}")
            if "next_page_token" in result:
                pending.append((package, query | {"page_token": result["next_page_token"]}))


def is_vulnerability(advisory: dict[str, Any]) -> bool:
    """Return whether an advisory is more than a notice, such as that nobody maintains a package."""
    return not all(part.get("database_specific", {}).get("informational") for part in advisory["affected"])


def main() -> int:
    """Print the findings and return the exit status: 1 with a vulnerability."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--service", default=SERVICE, metavar="URL", help="the service to ask")
    parser.add_argument("--root", default=ROOT, type=Path, metavar="DIR", help="the checkout to check")
    arguments = parser.parse_args()
    packages, reasons = locked(arguments.root), ignored(arguments.root)
    found = 0
    try:
        for (_, name, version), advisory in advisories(packages, arguments.service):
            names = {advisory["id"], *advisory.get("aliases", ())}
            if names.isdisjoint(reasons):
                kind = "vulnerability" if is_vulnerability(advisory) else "notice"
                found += kind == "vulnerability"
                print(f"{name} {version}: {kind} {', '.join(sorted(names))}: {advisory.get('summary', '')}")
    except (OSError, ValueError, LookupError, TypeError) as error:
        print(
            f"SKIPPED advisories: {arguments.service} cannot be asked about {len(packages)} packages: {error}"
        )
    else:
        print(f"advisories: {len(packages)} packages, {found} known vulnerabilities")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
