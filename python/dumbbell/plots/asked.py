"""What a figure of many runs is asked for: its kind, the columns it shows, and which arguments have an effect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from dumbbell.errors import refusal
from dumbbell.identified import Identified
from dumbbell.plots.sheets import sheet_of

if TYPE_CHECKING:
    import pandas as pd

KINDS: Mapping[str, frozenset[str]] = {
    "line": frozenset({"x", "y", "hue", "col", "row", "logx", "logy"}),
    "scatter": frozenset({"x", "y", "hue", "col", "row", "logx", "logy"}),
    "cdf": frozenset({"x", "hue", "col", "row", "logx"}),
    "box": frozenset({"x", "y", "hue", "col", "row", "logy"}),
    "bar": frozenset({"x", "y", "hue", "col", "row"}),
    "heat": frozenset({"x", "y", "hue", "col", "row"}),
    "timeseries": frozenset({"y", "hue", "col", "row", "logy"}),
}
"""The kinds of figures, and the arguments that have an effect on each; `names`, `where`, `labels` and `style` always have."""

WHY: Mapping[tuple[str, str], str] = {
    ("cdf", "y"): "x, which is the quantity of a distribution; the y axis is the share of values",
    ("timeseries", "x"): "no x: the x axis is time",
    ("heat", "logx"): "no logx: cells have equal sizes",
    ("bar", "logx"): "no logx: bars stand side by side",
    ("box", "logx"): "no logx: boxes stand side by side",
    ("bar", "logy"): "no logy: bars begin at 0",
}
"""What is accepted instead of an argument without effect."""

MEANS = frozenset({"line", "bar", "heat", "timeseries"})
"""Kinds that show means over replications, so that settings must not be mixed."""

DEFAULT = "goodput_bps"
ROLES = ("x", "y", "hue", "col", "row")
OF_RUNS = ("seed", "run")


class Options(TypedDict, total=False):
    """The keyword arguments of `dumbbell.Runs.plot`, which describes them."""

    col: str | None
    row: str | None
    kind: str | None
    logx: bool | None
    logy: bool | None
    labels: Mapping[str, str] | None
    style: str | None
    where: Mapping[str, Any] | None


class ManyResults(Protocol):
    """What a picture needs of many runs: see `dumbbell.Runs`."""

    @property
    def flows(self) -> pd.DataFrame:
        """One row per flow of each run."""

    @property
    def links(self) -> pd.DataFrame:
        """One row per link of each run."""

    @property
    def traces(self) -> Mapping[str, pd.DataFrame]:
        """One frame per quantity."""

    @property
    def parameters(self) -> pd.DataFrame:
        """One row per run, with what varies."""

    @property
    def jobs(self) -> Sequence[Identified]:
        """What was to be run."""

    def __len__(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The arguments of a figure; see `dumbbell.Runs.plot`."""

    x: str | None = None
    y: str | None = None
    hue: str | None = None
    col: str | None = None
    row: str | None = None
    kind: str | None = None
    names: Sequence[str] | None = None
    where: Mapping[str, Any] | None = None
    logx: bool | None = None
    logy: bool | None = None
    labels: Mapping[str, str] | None = None
    style: str | None = None

    @property
    def of_kind(self) -> str:
        """The kind; lines by default."""
        return self.kind or "line"

    @property
    def columns(self) -> dict[str, str]:
        """The columns by their roles, without those that are not asked for."""
        found = {role: getattr(self, role) for role in ROLES}
        return {role: column for role, column in found.items() if column is not None}

    def checked(self) -> Asked:
        """Return the arguments, which are well formed and have an effect.

        Raises
        ------
        ScenarioError
            One is not.
        """
        if self.kind is not None and (not isinstance(self.kind, str) or self.kind not in KINDS):
            raise refusal("kind", self.kind, ", ".join(KINDS), names=KINDS)
        sheet_of(self.style)
        for role in ROLES:
            given = getattr(self, role)
            if given is not None and not isinstance(given, str):
                raise refusal(role, given, "the name of a column")
        for name in ("logx", "logy"):
            if getattr(self, name) not in (None, True, False):
                raise refusal(name, getattr(self, name), "true, false, or nothing for what suits the values")
        for name in ("labels", "where"):
            given = getattr(self, name)
            if given is not None and not (
                isinstance(given, Mapping) and all(isinstance(key, str) for key in given)
            ):
                raise refusal(
                    name, given, f"a table of {'texts' if name == 'labels' else 'values'} by columns"
                )
        for key, text in (self.labels or {}).items():
            if not isinstance(text, str):
                raise refusal(f"labels.{key}", text, "a text")
        self._check_effect()
        return self

    def _check_effect(self) -> None:
        takes = KINDS[self.of_kind]
        for item in fields(self):
            if (
                item.name in (*ROLES, "logx", "logy")
                and item.name not in takes
                and getattr(self, item.name) is not None
            ):
                accepted = WHY.get((self.of_kind, item.name), f"{', '.join(sorted(takes))}")
                problem = f'has no effect with kind "{self.of_kind}"'
                raise refusal(item.name, getattr(self, item.name), accepted, problem=problem)
        roles: dict[str, str] = {}
        for role, column in self.columns.items():
            if column in roles:
                raise refusal(role, column, "another column", problem=f"is {roles[column]} already")
            roles[column] = role


def varied(runs: ManyResults) -> list[str]:
    """Return the parameters of runs that differ between them, or all if none does."""
    frame = runs.parameters
    named = [name for name in frame.columns if name not in OF_RUNS]
    return [name for name in named if differs(frame, name)] or named


def completed(asked: Asked, runs: ManyResults, frame: pd.DataFrame) -> Asked:
    """Return the arguments with defaults: parameters that vary fill x, hue, col and row, in this order.

    Parameters
    ----------
    asked
        The arguments.
    runs
        The runs.
    frame
        The rows that count.

    Raises
    ------
    ScenarioError
        More parameters vary than are shown, so that means would mix settings, or values of several links would be mixed.
    """
    kind, takes = asked.of_kind, KINDS[asked.of_kind]
    free = [name for name in varied(runs) if name in frame.columns and differs(frame, name)]
    # A column of results differs between all runs, and does not say which settings they have.
    settings = {*(name for name in runs.parameters.columns if name not in OF_RUNS), "name"}
    used = (set(asked.columns.values()) | set(asked.where or {})) & settings
    spare = [name for name in free if name not in used and not follows(frame, name, used)]
    chosen: dict[str, str] = {}

    def fill(role: str, otherwise: str | None = None) -> None:
        if role not in takes or getattr(asked, role) is not None:
            return
        shown = used | set(chosen.values())
        found = next((name for name in spare if name not in shown and not follows(frame, name, shown)), None)
        found = found or (otherwise if otherwise not in shown else None)
        if found is not None:
            chosen[role] = found

    flows = "name" if "name" in frame.columns and differs(frame, "name") else None
    if kind != "cdf":
        fill("x", _otherwise(asked, runs, frame))
    if kind == "heat":
        fill("y", flows)
        if not {"x", "y"} <= asked.columns.keys() | chosen.keys():
            raise refusal("kind", "heat", "two parameters that vary, as x and y")
        chosen.setdefault("hue", asked.hue or DEFAULT)
    else:
        fill("hue", flows)
    if kind in MEANS:
        for role in ("col", "row"):
            fill(role)
        shown = used | set(chosen.values())
        left = [name for name in spare if name not in shown and not follows(frame, name, shown)]
        if left:
            accepted = (
                f"`where` with one value of it, or it as {'col' if kind == 'heat' else 'hue, col'} or row"
            )
            raise refusal("where", left[0], accepted, problem="varies too, and means must not mix its values")
    found = replace(asked, **chosen)  # type: ignore[arg-type]  # of columns by role
    if is_of_links(runs, frame) and (links := hidden_names(found, frame)):
        accepted = f'one of {", ".join(links)}, or "name" as hue, col or row'
        raise refusal("names", f"{len(links)} links", accepted, problem="would be mixed", quoted=False)
    return found


def is_of_links(runs: ManyResults, frame: pd.DataFrame) -> bool:
    """Return whether the rows of a table or a trace are of links."""
    if "name" not in frame.columns:
        return False
    names = set(frame["name"])
    return "utilization" in frame.columns or not (
        names - set(runs.links["name"]) or names & set(runs.flows["name"])
    )


def hidden_names(asked: Asked, frame: pd.DataFrame) -> list[str]:
    """Return the flows or links that a figure has together, without a colour or a panel for each; else none."""
    shown = [*asked.columns.values(), *(asked.where or {})]
    settings = [column for column in shown if column in frame.columns]
    if "name" not in frame.columns or "name" in settings or follows(frame, "name", settings):
        return []
    return [str(name) for name in dict.fromkeys(frame["name"])]


def differs(frame: pd.DataFrame, name: str) -> bool:
    """Return whether a column has several values."""
    return len(frame[name].drop_duplicates()) > 1


def _otherwise(asked: Asked, runs: ManyResults, frame: pd.DataFrame) -> str | None:
    """Return the x axis where no parameter is left: what they all have, or the flows."""
    named = [name for name in varied(runs) if name in frame.columns and name not in asked.columns.values()]
    if named and not differs(frame, named[0]) and not asked.columns.keys() & {"hue", "col", "row"}:
        return named[0]
    return "name" if "name" not in asked.columns.values() else None


def follows(frame: pd.DataFrame, name: str, shown: Iterable[str]) -> bool:
    """Return whether a column has one value for each combination of those shown."""
    by = [column for column in shown if column in frame.columns]
    if not by:
        return not differs(frame, name)
    return bool((frame.groupby(by, sort=False, dropna=False)[name].nunique(dropna=False) < 2).all())
