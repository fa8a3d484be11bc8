"""Validation of factors, responses and levels of a design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dumbbell.factorial import _transform

if TYPE_CHECKING:
    from numpy.typing import NDArray

Levels: TypeAlias = str | Mapping[str, Any] | Sequence[Any]


def check_random(random: str) -> None:
    """Raise ValueError unless `random` is a known mode of random numbers."""
    if random not in ("independent", "common"):
        raise ValueError(f"random = {random!r}; accepted: 'independent', 'common'")


def factor_names(factors: Any) -> tuple[str, ...]:
    """Names of factors given as such, as Factor objects, or as a Design."""
    items = getattr(factors, "factors", factors)
    names = tuple(item if isinstance(item, str) else getattr(item, "name", item) for item in items)
    if (
        isinstance(items, str)
        or not names
        or not all(isinstance(n, str) and n and ":" not in n for n in names)
    ):
        raise ValueError(
            f"factors = {factors!r}; accepted: a sequence of names without ':', or of Factor objects"
        )
    if len(set(names)) < len(names):
        raise ValueError(f"factors = {list(names)}; accepted: different names")
    return names


def term_number(names: tuple[str, ...], members: Sequence[str]) -> int:
    """Return the number of the term of these factors."""
    for name in members:
        if name not in names:
            raise ValueError(f"factor = {name!r}; accepted: {', '.join(names)}")
    if len(set(members)) < len(members):
        raise ValueError(f"term = {':'.join(members)!r}; accepted: each factor once")
    return sum(1 << (len(names) - 1 - names.index(name)) for name in members)


def response_array(responses: Any, k: int) -> NDArray[np.float64]:
    """Check the responses and return them with shape (2^k, r)."""
    cells = _transform.cell_names(k)
    if isinstance(responses, Mapping):
        if set(responses) != set(cells):
            wrong = sorted(set(responses) ^ set(cells), key=str)[0]
            state = "missing" if wrong in cells else "unknown"
            raise ValueError(
                f"responses: the cell {wrong!r} is {state}; accepted: each of {cells[0]} to {cells[-1]}"
            )
        rows: Any = [responses[cell] for cell in cells]
    else:
        rows = responses.to_numpy() if hasattr(responses, "to_numpy") else responses
    if np.ndim(rows[0]) > 1:
        raise ValueError(
            f"responses has {1 + np.ndim(rows[0])} dimensions; accepted: 2, cells and replications"
        )
    if len(rows) != 2**k:
        raise ValueError(f"responses has {len(rows)} cells; accepted: {2**k} for {k} factors")
    sizes = [np.size(row) for row in rows]
    for cell, size in zip(cells, sizes, strict=True):
        if size != sizes[0] or size == 0:
            raise ValueError(
                f"responses: cell {cell} has {size} replications; accepted: the same number in every cell, "
                f"cell {cells[0]} has {sizes[0]}"
            )
    values = np.asarray(rows, dtype=np.float64).reshape(2**k, sizes[0])
    bad = np.argwhere(~np.isfinite(values))
    if bad.size:
        i, j = bad[0]
        raise ValueError(
            f"responses: cell {cells[i]}, replication {j} is {values[i, j]}; accepted: a finite number "
            f"in every cell ({len(bad)} of {values.size} are not)"
        )
    return values


def coded_levels(names: tuple[str, ...], levels: Levels) -> list[float]:
    """Level of each factor, +1 for high, -1 for low and 0 for one that a mapping leaves out."""
    k = len(names)
    if isinstance(levels, str):
        if len(levels) != k or set(levels) - {"0", "1"}:
            raise ValueError(f"levels = {levels!r}; accepted: {k} digits 0 or 1, or levels by factor")
        return [1.0 if digit == "1" else -1.0 for digit in levels]
    if isinstance(levels, Mapping):
        term_number(names, tuple(levels))
        return [_coded(name, levels[name]) if name in levels else 0.0 for name in names]
    if len(levels) != k:
        raise ValueError(f"levels has {len(levels)} entries; accepted: {k}, one for each factor")
    return [_coded(name, level) for name, level in zip(names, levels, strict=True)]


def _coded(name: str, level: Any) -> float:
    """+1 for high and -1 for low."""
    if isinstance(level, bool | np.bool_):
        return 1.0 if level else -1.0
    if isinstance(level, str):
        if level in ("low", "high"):
            return 1.0 if level == "high" else -1.0
    elif level in (1, -1):
        return float(level)
    raise ValueError(f"level of {name} = {level!r}; accepted: True, 1, 'high', False, -1, 'low'")
