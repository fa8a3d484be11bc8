"""What an item of an evaluation needs of the registry, and whether it is there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dumbbell.engine import catalogue


@dataclass(frozen=True)
class Need:
    """Something that the registry must have.

    Parameters
    ----------
    section
        A section of the catalogue, such as ``"impairments"``.
    names
        Names, one of which must be there.
    what
        What it is, in words.
    """

    section: str
    names: tuple[str, ...]
    what: str


def registered(section: str) -> tuple[str, ...]:
    """Return the names in a section of the catalogue, none if there is no such section."""
    return tuple(
        entry["name"] if isinstance(entry, dict) else str(entry) for entry in catalogue().get(section, ())
    )


def missing(needs: Iterable[Need]) -> str:
    """Return in words what is missing of some needs; an empty text if nothing is."""
    absent = [need for need in needs if not set(need.names) & set(registered(need.section))]
    return "; ".join(_told(need) for need in absent)


def _told(need: Need) -> str:
    which = need.names[0] if len(need.names) == 1 else f"none of {', '.join(need.names)}"
    named = "" if need.names == (need.what,) else f"{need.what}: "
    return f"{named}{which} is {'' if len(need.names) > 1 else 'not '}registered under {need.section}"
