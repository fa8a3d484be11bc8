"""What the examples of a document print and draw, which the site shows below them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DRAWN = ROOT / "results" / "website" / "outputs"
"""The outputs of a document: ``NAME.json``, a list by block with what it prints and its pictures, ``NAME-PICTURE``."""

DOCUMENTS = [ROOT / "docs" / "tutorial.md"]
"""Documents whose examples are run."""

BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def draw(document: Path, folder: Path = DRAWN) -> None:
    """Run the examples of a document, in their order and in one folder, and keep what they print and draw.

    Of commands, only blocks with ``--plot`` are run.

    Raises
    ------
    subprocess.CalledProcessError
        A command failed.
    """
    from dumbbell.files import make_folder, replacing, write_text

    make_folder(folder)
    outputs = []
    with tempfile.TemporaryDirectory() as own, contextlib.chdir(own):
        Path("examples").symlink_to(ROOT / "examples")
        known: set[Path] = set()
        for language, code in BLOCK.findall(document.read_text(encoding="utf-8")):
            printed = _python(code) if language == "python" else _commands(code)
            found = sorted(set(Path().rglob("*.png")) - known)
            known.update(found)
            kept = [f"{document.stem}-{picture.name}" for picture in found]
            for picture, name in zip(found, kept, strict=True):
                with replacing(folder / name) as kept_picture:
                    kept_picture.write(picture.read_bytes())
            outputs.append({"printed": printed, "pictures": kept})
    write_text(folder / f"{document.stem}.json", json.dumps(outputs))


def _python(code: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "example", "exec"), {"__name__": "__main__"})
    return printed.getvalue()


def _commands(code: str) -> str:
    if "--plot" not in code:
        return ""
    plain = {**os.environ, "NO_COLOR": "1", "COLUMNS": "110"}
    printed = ""
    for program, *arguments in map(shlex.split, code.splitlines()):
        command = [sys.executable, "-m", program, *arguments]
        printed += subprocess.run(command, capture_output=True, text=True, env=plain, check=True).stdout
    return printed


def pictures(folder: Path = DRAWN) -> Iterator[tuple[str, bytes]]:
    """Yield the place and the content of each picture."""
    for file in sorted(folder.glob("*.png")):
        yield f"outputs/{file.name}", file.read_bytes()


def shown(markdown: str, name: str, folder: Path = DRAWN) -> str:
    """Return a document with the outputs of its examples below them.

    Parameters
    ----------
    markdown
        The document.
    name
        Its name, without a suffix.
    folder
        Where its outputs are.
    """
    outputs = iter(json.loads((folder / f"{name}.json").read_text(encoding="utf-8")))

    def with_output(found: re.Match[str]) -> str:
        output = next(outputs)
        parts = [found[0]]
        if output["printed"].strip():
            lines = [line.rstrip() for line in output["printed"].splitlines()]
            parts.append("```text\n" + "\n".join(lines).strip("\n") + "\n```")
        parts += [
            f"![The figure {each.removeprefix(f'{name}-')}](outputs/{each})" for each in output["pictures"]
        ]
        return "\n\n".join(parts)

    return BLOCK.sub(with_output, markdown)
