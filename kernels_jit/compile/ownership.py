"""Whether somebody else could have written a file. Loading compiled code means running it, so a cache must be nobody else's."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_WRITE = stat.S_IWGRP | stat.S_IWOTH
_ANY = stat.S_IRWXG | stat.S_IRWXO


def find_stranger(path: Path) -> str:
    """Why others could have written a file or into a directory, as a clause; "" if only this user and root could.

    The rule is that of ssh for keys: the path and all that it is reached by, links and their targets included, belong to this
    user or to root, and neither group nor others may write there. Above the path a directory in which everybody may
    replace only what is his, such as /tmp, is as good; below a directory that is closed to others anything is. Errors: OSError
    for a path that is not there.
    """
    if not hasattr(os, "getuid"):  # a system without owners in this sense
        return ""
    return _find_stranger(Path(os.path.abspath(path))) or _find_stranger(path.resolve(strict=True))


def find_stranger_below(folder: Path, path: Path) -> str:
    """The same of a path below a directory for which `find_stranger` has just returned "": only steps below it are looked at.

    They are looked at one by one, which is enough unless one is a link or open to others. Errors: as `find_stranger`.
    """
    for step in (path, *path.parents):
        if step == folder:
            return ""
        found = step.lstat()
        if stat.S_ISLNK(found.st_mode) or found.st_mode & _WRITE or found.st_uid not in (0, _user()):
            break
    return find_stranger(path)


def make_private(folder: Path) -> None:
    """Make a directory, and those above it, if missing: new ones are closed to others. Errors: OSError."""
    for step in (*reversed(folder.parents), folder):
        if not step.exists():
            step.mkdir(mode=stat.S_IRWXU, exist_ok=True)


def _find_stranger(path: Path) -> str:
    reason = ""
    for step in (path, *path.parents[:-1]):
        found = step.lstat()
        mode = found.st_mode
        if found.st_uid not in (0, _user()):
            reason = f"{step} belongs to user {found.st_uid}"
        elif stat.S_ISDIR(mode) and not mode & _ANY:
            reason = ""  # nobody else comes this far
        elif mode & _WRITE and not stat.S_ISLNK(mode) and not (mode & stat.S_ISVTX and step != path):
            reason = reason or f"others may write to {step} (mode {stat.S_IMODE(mode):o})"
    return reason


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0
