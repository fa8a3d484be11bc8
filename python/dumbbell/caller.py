"""The person who called sudo: commands that need root for the kernel open files with the rights of this person."""

from __future__ import annotations

import os
import sys

from dumbbell.errors import refusal

__all__ = ["become_caller", "user_of_children"]

ROOT = 0


def become_caller() -> None:
    """Take the rights over files of the person who called sudo, in place of root's, until the process ends.

    The kernel then checks them on every part of a path and through every link, and new files belong to that person. Nothing
    changes if the process is not root, or was not called by sudo. The variables of sudo are believed: only root is asked
    to, who may do everything anyway. Processes started for `user_of_children` are root again.

    Raises
    ------
    ScenarioError
        The variables are no numbers.
    """
    stated = [os.environ.get(name) for name in ("SUDO_UID", "SUDO_GID")]
    if sys.platform == "win32" or os.geteuid() != ROOT or None in stated:
        return
    import pwd

    uid, gid = _number("SUDO_UID"), _number("SUDO_GID")
    try:
        groups = os.getgrouplist(pwd.getpwuid(uid).pw_name, gid)
    except KeyError:
        groups = [gid]
    # The real user remains root, so that children can be.
    os.setgroups(groups)
    os.setegid(gid)
    os.seteuid(uid)


def user_of_children() -> int | None:
    """Return the user, and group, of a process that needs root: ``None`` if it gets them from this one anyway."""
    has_given_up = sys.platform != "win32" and os.getuid() == ROOT != os.geteuid()
    return ROOT if has_given_up else None


def _number(name: str) -> int:
    text = os.environ[name]
    if not (text.isascii() and text.isdecimal() and len(text) <= 10 and int(text) < 2**32 - 1):
        raise refusal(name, text, "a number, as sudo sets it")
    return int(text)
