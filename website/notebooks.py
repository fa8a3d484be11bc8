"""The pages of the notebooks, with their outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from draw import COURSE, DRAWN, notebooks, sheets
from lablink import kept_here
from repository import cited

HEAD = """\
# Notebooks

For teaching: each takes about ten minutes to read and seconds to run. They are in `examples/notebooks`. The numbered sheets
of 90 minutes are those of the [course](../course.md), in `examples/course`, here without outputs.

"""


def pages() -> Iterator[tuple[str, str | bytes]]:
    """Yield the place and the content of each page and of its pictures."""
    import nbformat
    from nbconvert import MarkdownExporter

    listed = []
    for notebook in (*notebooks(), *sheets()):
        folder = COURSE if notebook.parent == COURSE else DRAWN / "notebooks"
        cells = nbformat.read(folder / notebook.name, as_version=4)
        resources = {"unique_key": notebook.stem, "output_files_dir": "."}
        text, made = MarkdownExporter().from_notebook_node(cells, resources=resources)
        # The theme draws tables that have no look of their own.
        text = re.sub(r'<table[^>]* class="dataframe">', "<table>", text)
        title, _, rest = text.strip().partition("\n")
        listed.append(f"* [{title.lstrip('# ')}]({notebook.stem}.md)")
        lab = kept_here(f"notebooks/{notebook.stem}.md", DRAWN / "notebooks" / f"{notebook.stem}.json")
        yield f"notebooks/{notebook.stem}.md", f"{title}\n\n{lab}{cited(rest, '../')}\n"
        for name, content in made["outputs"].items():
            yield f"notebooks/{name.removeprefix('./')}", content
    yield "notebooks/index.md", HEAD + "\n".join(listed) + "\n"
