"""The page of a fit: the captured flow and the nearest simulated one, and what explains it."""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.inference.fitted import Fit
from dumbbell.inference.told import changed, known_as_far, lines
from dumbbell.inference.whatif import WhatIf
from dumbbell.inference.written import NAMES, shown
from dumbbell.plots import to_svg
from dumbbell.printable import printable
from dumbbell.report import Block, Column, Figure, Section, Table, Text, render_page

CAPTION = (
    "Times are those since the first data segment. The simulation is the nearest of those that were compared."
)


def page(found: Fit, predicted: Sequence[WhatIf] = ()) -> str:
    """Return a fit of a capture as the text of one self-contained HTML file.

    Raises
    ------
    ScenarioError
        The fit has no capture.
    OSError
        The capture cannot be read.
    """
    picture = found.plot()
    sections = [
        Section(anchor="path", title="The path", blocks=_path(found)),
        Section(anchor="curves", title="Capture and simulation", blocks=[
            Figure(svg=to_svg(picture.figure), caption=CAPTION),
        ]),
        Section(anchor="algorithms", title="The algorithm", blocks=_algorithms(found)),
        *([Section(anchor="what-if", title="What if", blocks=_changes(predicted))] if predicted else []),
    ]  # fmt: skip
    return render_page(
        title=printable(found.capture.name if found.capture else ""),
        subtitle=f"The scenarios that explain connection {found.flow}",
        facts=[
            ("bottleneck", found.discipline),
            ("distance", f"{found.distance:.3f}"),
            ("simulations", f"{found.simulations}; accepted: {len(found.accepted)}"),
        ],
        sections=sections,
    )


def _path(found: Fit) -> list[Block]:
    others = found.accepted[0].path.competitors
    rows = [[NAMES[name], shown(name, one)] for name, one in found.intervals.items()]
    if others:
        rows.append(["other flows", f"about {others}"])
    told = [f"{text[0].upper()}{text[1:]}." for text in found.flags]
    blocks: list[Block] = [
        Table(caption="", columns=Column.words("parameter", "value (90 % interval)"), rows=rows)
    ]
    return [*blocks, Text(paragraphs=told)] if told else blocks


def _algorithms(found: Fit) -> list[Block]:
    blocks: list[Block] = []
    none = ["Perhaps none of those that were tried."] if found.is_of_none else []
    blocks.append(Text(paragraphs=[*none, f"{known_as_far(found)}."]))
    rows = [[one.control, f"{one.distance:.3f}", f"{one.likelihood:.2f}"] for one in found.likelihoods]
    columns = [*Column.words("algorithm"), *Column.numbers("distance", "relative likelihood")]
    return [*blocks, Table(caption="Each on its best path", columns=columns, rows=rows)]


def _changes(predicted: Sequence[WhatIf]) -> list[Block]:
    columns = [
        *Column.words("quantity"),
        *Column.numbers("as it was", "with the change"),
        *Column.words("90 % interval"),
    ]
    return [
        Table(caption=changed(one), columns=columns, rows=[list(line) for line in lines(one)])
        for one in predicted
    ]
