"""Validation of arguments of models, and the form of their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dumbbell.errors import refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

Numbers: TypeAlias = "float | NDArray[np.float64]"


def _finite(field: str, value: ArrayLike, accepted: str, *, infinite: bool = False) -> NDArray[np.float64]:
    """Return `value` as an array of numbers, none of them missing, and none infinite unless it may be."""
    array: NDArray[Any] = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise refusal(field, value, accepted)
    numbers = array.astype(np.float64)
    bad = np.isnan(numbers) if infinite else ~np.isfinite(numbers)
    if bad.any():
        raise refusal(field, float(numbers[bad].flat[0]), accepted)
    return numbers


def _checked(
    field: str,
    value: ArrayLike,
    accepted: str,
    is_good: Callable[[NDArray[np.float64]], NDArray[np.bool_]],
    *,
    infinite: bool = False,
) -> NDArray[np.float64]:
    numbers = _finite(field, value, accepted, infinite=infinite)
    bad = ~np.asarray(is_good(numbers))
    if bad.any():
        raise refusal(field, float(numbers[bad].flat[0]), accepted)
    return numbers


def above(
    field: str, value: ArrayLike, low: float, unit: str = "", *, infinite: bool = False
) -> NDArray[np.float64]:
    """Return `value` as an array, or refuse it unless every number is above `low`."""
    accepted = _phrase("a number", f"greater than {low:g}", unit, infinite=infinite)
    return _checked(field, value, accepted, lambda numbers: numbers > low, infinite=infinite)


def at_least(
    field: str, value: ArrayLike, low: float, unit: str = "", *, infinite: bool = False
) -> NDArray[np.float64]:
    """Return `value` as an array, or refuse it unless no number is below `low`."""
    accepted = _phrase("a number", f"of at least {low:g}", unit, infinite=infinite)
    return _checked(field, value, accepted, lambda numbers: numbers >= low, infinite=infinite)


def positive(field: str, value: ArrayLike, unit: str = "") -> NDArray[np.float64]:
    """Return `value` as an array, or refuse it unless every number is above 0."""
    return above(field, value, 0.0, unit)


def not_negative(field: str, value: ArrayLike, unit: str = "") -> NDArray[np.float64]:
    """Return `value` as an array, or refuse it unless no number is below 0."""
    return at_least(field, value, 0.0, unit)


def between(field: str, value: ArrayLike, low: float, high: float) -> NDArray[np.float64]:
    """Return `value` as an array, or refuse it unless every number lies strictly between the bounds."""
    accepted = f"a number greater than {low:g} and less than {high:g}"
    return _checked(field, value, accepted, lambda numbers: (numbers > low) & (numbers < high))


def one_positive(field: str, value: float, unit: str = "") -> float:
    """Return `value` as a float, or refuse it unless it is one number above 0."""
    return _one(field, value, positive(field, value, unit), _phrase("one number", "greater than 0", unit))


def one_not_negative(field: str, value: float, unit: str = "") -> float:
    """Return `value` as a float, or refuse it unless it is one number of at least 0."""
    return _one(field, value, not_negative(field, value, unit), _phrase("one number", "of at least 0", unit))


def one_between(field: str, value: float, low: float, high: float) -> float:
    """Return `value` as a float, or refuse it unless it is one number strictly between the bounds."""
    accepted = f"one number greater than {low:g} and less than {high:g}"
    return _one(field, value, between(field, value, low, high), accepted)


def thresholds(alpha: float, beta: float) -> tuple[float, float]:
    """Return Vegas's thresholds in packets as floats, or refuse them unless 0 < `alpha` <= `beta`."""
    low, high = one_positive("alpha", alpha, "packets"), one_positive("beta", beta, "packets")
    if high < low:
        raise refusal("beta", beta, f"one number of packets of at least alpha, {low:g}")
    return low, high


def one_of(field: str, value: str, names: tuple[str, ...]) -> None:
    """Refuse `value` unless it is one of the names."""
    if value not in names:
        raise refusal(field, value, f"one of {', '.join(names)}", names=names)


def whole(field: str, value: object, low: int) -> int:
    """Return `value` as an int, or refuse it unless it is a whole number of at least `low`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < low:
        raise refusal(field, value, f"a whole number of at least {low}")
    return int(value)


def plain(result: NDArray[np.float64] | np.float64 | float) -> Numbers:
    """Return a float for one number and an array for several."""
    array = np.asarray(result, dtype=np.float64)
    return float(array) if array.ndim == 0 else array


def _one(field: str, value: object, array: NDArray[np.float64], accepted: str) -> float:
    if array.ndim != 0:
        raise refusal(field, value, accepted)
    return float(array)


def _phrase(kind: str, range_: str, unit: str, *, infinite: bool = False) -> str:
    phrase = f"{kind} of {unit} {range_}" if unit else f"{kind} {range_}"
    return f"{phrase}, or infinity" if infinite else phrase
