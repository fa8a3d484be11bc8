"""Common base of the parts of a scenario: plain data in, plain data out, unknown fields rejected."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar, Self

from dumbbell.errors import refusal

Data = Mapping[str, Any]
Reader = Callable[[Any], Any]


# Most values are of these types; traces and films have hundreds of thousands of them.
PLAIN = frozenset({bool, int, str})

# A scenario has less than ten levels of tables and lists; a value that contains itself has no end.
MOST_LEVELS = 32


def plain(value: Any, path: str, level: int = 0) -> Any:
    """Return `value` as the plain data TOML and JSON share; `path` names it in an error, `level` counts from the root."""
    kind = type(value)
    if kind in PLAIN:
        return value
    # Tests of the exact type come first: one against an abstract class takes longer than all else here.
    is_list, is_table = kind is list or kind is tuple, kind is dict
    if not (is_list or is_table):
        if isinstance(value, Stated):
            return value.to_dict()
        for plain_kind in (bool, int, str):
            if isinstance(value, plain_kind):
                # Subclasses, as NumPy has them, become the plain type.
                return plain_kind(value)
        if isinstance(value, float):
            if not math.isfinite(value):
                raise refusal(path, float(value), "a finite number")
            return float(value)
        is_table = isinstance(value, Mapping)
        is_list = isinstance(value, Sequence) and not isinstance(value, bytes | bytearray)
    if level == MOST_LEVELS:
        levels = f"more than {MOST_LEVELS} levels of tables and lists"
        raise refusal(path, levels, "a scenario", problem="are not accepted", quoted=False)
    if is_table:
        # None means not given, as in the builders.
        return {
            str(key): plain(item, f"{path}.{key}" if path else str(key), level + 1)
            for key, item in value.items()
            if item is not None
        }
    if is_list:
        return [
            item if type(item) in PLAIN else plain(item, f"{path}[{index}]", level + 1)
            for index, item in enumerate(value)
        ]
    if callable(getattr(value, "item", None)):
        # A number out of a NumPy array or a pandas column.
        return plain(value.item(), path)
    raise refusal(path, value, "text, a number, true or false, a list or a table")


class Stated(ABC):
    """Something that states itself as plain data."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the plain table that states it."""


class External(Stated):
    """A congestion control from outside the registry, as ``tcp`` of a flow or ``external`` of a `dumbbell.Tcp`."""

    @abstractmethod
    def stated(self) -> dict[str, Any]:
        """Return what a scenario states: name, digest of the code, parameters and probes."""

    def to_dict(self) -> dict[str, Any]:
        """Return the table of a flow's ``tcp`` that names this control."""
        return {"external": self.stated()}


@dataclass(frozen=True, kw_only=True)
class Part(Stated):
    """A part of a scenario: frozen, keyword-only, its fields spelled as the engine's schema spells them.

    A trailing underscore in a field's name only avoids a word of Python: `from_` is ``from`` in the schema.
    """

    tag: ClassVar[tuple[str, str] | None] = None
    """The field and value that name the class in a table, as ``("kind", "droptail")``."""

    readers: ClassVar[Mapping[str, Reader]] = {}
    """How the fields are read that are parts themselves."""

    @classmethod
    @cache
    def names(cls) -> Mapping[str, str]:
        """Return the names of the fields in Python, by those in the schema."""
        return {item.name.rstrip("_"): item.name for item in fields(cls) if item.init}

    def __post_init__(self) -> None:
        # Lists become tuples, so that a frozen part cannot change through one of its fields.
        values = self.__dict__
        for name, value in values.items():
            if type(value) is list:
                values[name] = tuple(value)

    @classmethod
    def from_dict(cls, data: Data) -> Self:
        """Return the part a plain table describes.

        Parameters
        ----------
        data
            The table, without the field of `tag`.

        Raises
        ------
        ScenarioError
            A field is not one of this class.
        """
        return cls(**cls.values_of(data))

    @classmethod
    def values_of(cls, data: Data) -> dict[str, Any]:
        """Return the values of the fields that a plain table states, by name; see `from_dict`."""
        names, values = cls.names(), {}
        for key, value in data.items():
            name = names.get(key)
            if name is None:
                raise refusal(
                    key, value, ", ".join(names), names=names, problem=f"is not a field of {cls.__name__}"
                )
            reader = cls.readers.get(name)
            values[name] = reader(value) if reader is not None else value
        return values

    def to_dict(self) -> dict[str, Any]:
        """Return the plain table of the part, without defaults."""
        data: dict[str, Any] = {} if self.tag is None else {self.tag[0]: self.tag[1]}
        for name, attribute in self.names().items():
            value = getattr(self, attribute)
            if value is not None:
                data[name] = value if type(value) in PLAIN else plain(value, name)
        return data
