"""The figures of the full design, each as SVG text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dumbbell import plots

from .effects import Study

WIDTH = 3.4
TITLE = 8.5
TICKS = 7.5

GREY = "#9a9a9a"

INTERACTIONS = 3
"""How many of the largest pairs are drawn for each study."""

BARS = 12


def _rows(studies: Sequence[Study]) -> list[list[Study]]:
    """Return the studies of each response in a row."""
    return [list(row) for _, row in groupby(studies, key=lambda study: study.response.column)]


def _by_response(studies: Sequence[Study], height: float, draw: Callable[[Study, Axes], object]) -> str:
    """Draw every study in separate axes: one row for each response, one column for each condition."""
    rows = _rows(studies)
    figure, axes = plots.figure(len(rows), len(rows[0]), width=WIDTH, height=height)
    for row, drawn in zip(axes, rows, strict=True):
        for ax, study in zip(row, drawn, strict=True):
            draw(study, ax)
            ax.set_title(f"{study.response.title}\n{study.condition.title}", fontsize=TITLE)
            ax.tick_params(labelsize=TICKS)
            ax.xaxis.label.set_fontsize(TITLE)
            ax.yaxis.label.set_fontsize(TITLE)
    return plots.to_svg(figure)


def _main_effects(study: Study, ax: Axes) -> None:
    analysis = study.analysis
    half_widths = study.joint_half_widths
    reach = 0.0
    for position, letter in enumerate(study.mechanisms):
        effect, half = float(analysis.effects[letter]), float(half_widths[letter])
        ends = [analysis.mean - effect, analysis.mean + effect]
        reach = max(reach, abs(effect))
        colour = plots.COLOURS[0] if letter in study.standing_out else GREY
        ax.errorbar(
            [position - 0.22, position + 0.22], ends, yerr=half, color=colour, marker="o", markersize=3, capsize=2, linewidth=1.2
        )  # fmt: skip
    ax.axhline(analysis.mean, color=GREY, linewidth=0.8)
    # With few replications intervals are so wide that they would hide the effects.
    ax.set_ylim(analysis.mean - 1.8 * reach, analysis.mean + 1.8 * reach)
    ax.set_xticks(range(len(study.mechanisms)), list(study.mechanisms))
    ax.set_ylabel(f"mean off, mean on [{study.response.unit}]")


def main_effects(studies: Sequence[Study]) -> str:
    """Draw the mean response without and with each mechanism, over all settings of the others."""
    return _by_response(studies, 2.7, _main_effects)


def _half_normal(study: Study, ax: Axes) -> None:
    plots.half_normal(study.analysis, label=3, unit=study.response.unit, ax=ax)
    # A thousand points are a picture, not a thousand shapes.
    for line in ax.get_lines():
        if isinstance(line, Line2D) and line.get_linestyle() == "None":
            line.set_rasterized(True)
    for text in ax.texts:
        text.set_text(text.get_text().replace(":", ""))


def half_normal(studies: Sequence[Study]) -> str:
    """Draw the sizes of all effects against half-normal quantiles."""
    return _by_response(studies, 2.9, _half_normal)


def _pareto(study: Study, ax: Axes) -> None:
    plots.pareto(study.analysis, top=BARS, ax=ax)
    # The error would leave no room for the effects.
    labels = [label.get_text().replace(":", "") for label in ax.get_yticklabels()][:BARS]
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_xlim(0, 1.08 * float(study.ranking["percent"].iloc[0]))


def pareto(studies: Sequence[Study]) -> str:
    """Draw the shares of the variation of the largest effects."""
    return _by_response(studies, 3.2, _pareto)


def interactions(studies: Sequence[Study]) -> str:
    """Draw, for the studies of one response, the pairs of mechanisms that interact most."""
    figure, axes = plots.figure(INTERACTIONS, len(studies), width=WIDTH, height=2.5)
    for column, study in enumerate(studies):
        for ax in axes[1:, column]:
            ax.sharey(axes[0, column])
        for ax, term in zip(axes[:, column], study.largest(INTERACTIONS, order=2), strict=False):
            first, second = term.split(":")
            plots.interaction(study.analysis, first, second, unit=study.response.unit, ax=ax)
            effect, half = float(study.analysis.effects[term]), float(study.joint_half_widths[term])
            ax.set_title(
                f"{study.condition.title}\n{first}{second}: {effect:+.2f} ± {half:.2f} {study.response.unit}",
                fontsize=TITLE,
            )
            ax.tick_params(labelsize=TICKS)
            ax.xaxis.label.set_fontsize(TITLE)
            ax.yaxis.label.set_fontsize(TITLE)
            legend = ax.get_legend()
            for text in legend.get_texts() if legend is not None else ():
                text.set_fontsize(TICKS)
    return plots.to_svg(figure)
