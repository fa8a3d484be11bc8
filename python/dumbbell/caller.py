"""The person who called sudo: commands that need root for the kernel open files with the rights of this person."""

from __future__ import annotations

import os
import sys

from dumbbell.errors import refusal

ROOT = 0


def load_late_modules() -> None:
    """Load what the testbed and libraries load on first use: the caller may not be able to read an installation of root's."""
    import codecs

    import networkx
    import pyarrow.csv
    import pyarrow.parquet
    from rich.cells import cell_len

    codecs.lookup("utf-8-sig")
    # A table of widths.
    cell_len("–")
    del networkx, pyarrow


def become_caller(*, draws: bool = False) -> None:
    """Take the rights over files of the person who called sudo, in place of root's, until the process ends.

    The kernel then checks them on every part of a path and through every link, and new files belong to that person. Nothing
    changes if the process is not root, or was not called by sudo. The variables of sudo are believed: only root is asked
    to, who may do everything anyway. Processes started for `user_of_children` are root again.

    Modules and fonts are read with these rights as well, except for those of `load_late_modules`.

    Parameters
    ----------
    draws
        Whether the command draws, which reads more of the installation than is loaded here.

    Raises
    ------
    ScenarioError
        The variables are no numbers, or the caller cannot read the installation of a command that draws.
    """
    stated = [os.environ.get(name) for name in ("SUDO_UID", "SUDO_GID")]
    if sys.platform == "win32" or os.geteuid() != ROOT or None in stated:
        return
    import pwd

    uid, gid = _number("SUDO_UID"), _number("SUDO_GID")
    load_late_modules()
    try:
        groups = os.getgrouplist(pwd.getpwuid(uid).pw_name, gid)
    except KeyError:
        groups = [gid]
    # The real user remains root, so that children can be.
    os.setgroups(groups)
    os.setegid(gid)
    os.seteuid(uid)
    for file in (os.__file__, __file__) if draws else ():
        if not os.access(file, os.R_OK, effective_ids=True):
            accepted = "an installation that the caller of sudo can read"
            raise refusal("installation", file, accepted, problem=f"cannot be read by user {uid}")


def user_of_children() -> int | None:
    """Return the user, and group, of a process that needs root: ``None`` if it gets them from this one anyway."""
    has_given_up = sys.platform != "win32" and os.getuid() == ROOT != os.geteuid()
    return ROOT if has_given_up else None


def _number(name: str) -> int:
    text = os.environ[name]
    if not (text.isascii() and text.isdecimal() and len(text) <= 10 and int(text) < 2**32 - 1):
        raise refusal(name, text, "a number, as sudo sets it")
    return int(text)
