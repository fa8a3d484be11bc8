"""The sheets for students, made from the solutions: ``python -m dumbbell.course.sheets SOLUTIONS SHEETS``.

A solution is a notebook. Cells with the tag ``teacher`` are left out of the sheet, and in code the lines from ``### BEGIN
SOLUTION`` to ``### END SOLUTION``: the marks of nbgrader, which can grade the sheets as well.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from dumbbell.errors import ScenarioError, refusal
from dumbbell.files import make_folder, read_bytes, write_text

TEACHER = "teacher"
SOLUTION = re.compile(
    r"^[ \t]*### BEGIN SOLUTION\n.*?^[ \t]*### END SOLUTION(?:\n|\Z)", re.DOTALL | re.MULTILINE
)


def sheet_of(solution: str) -> str:
    """Return the sheet of a solution; both are the text of a notebook without outputs.

    Raises
    ------
    ScenarioError
        The text is no notebook, or a mark has no other end.
    """
    try:
        notebook = json.loads(solution)
        cells = [cell for cell in notebook["cells"] if TEACHER not in cell["metadata"].get("tags", ())]
        for cell in cells:
            text = SOLUTION.sub("", "".join(cell["source"])).rstrip("\n")
            cell["source"] = text.splitlines(keepends=True)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise refusal("solution", solution, "the text of a notebook", problem="is none") from error
    notebook["cells"] = cells
    text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    if "### BEGIN SOLUTION" in text or "### END SOLUTION" in text:
        raise refusal(
            "solution",
            "### BEGIN SOLUTION",
            "### END SOLUTION below it, in the same cell",
            problem="has no end",
        )
    return text


def write_sheets(solutions: Path, folder: Path) -> list[Path]:
    """Write the sheet of each solution of a folder into another one, and return the files.

    Raises
    ------
    ScenarioError
        The folder has no notebook, or one of them is no solution.
    ResultsError
        A file could not be written.
    """
    files = sorted(solutions.glob("*.ipynb"))
    if not files or solutions.resolve() == folder.resolve():
        raise refusal("SOLUTIONS", str(solutions), "a folder with notebooks, other than that of the sheets")
    made = {folder / file.name: sheet_of(read_bytes(file).decode("utf-8")) for file in files}
    make_folder(folder)
    for file, text in made.items():
        write_text(file, text)
    return list(made)


def main(arguments: Sequence[str]) -> int:
    """Write the sheets, and return the exit code."""
    if len(arguments) != 2:
        sys.stderr.write("usage: python -m dumbbell.course.sheets SOLUTIONS SHEETS\n")
        return 2
    try:
        made = write_sheets(Path(arguments[0]), Path(arguments[1]))
    except (OSError, ScenarioError, UnicodeDecodeError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    sys.stdout.write("".join(f"{file}\n" for file in made))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
