"""What the viewer shows: the directories of sweeps that it was given, or those in `results/`.

Every URL names a source, and a source is looked up among those found here. No text of a URL is ever made a path.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernbench.characters import check_characters
from kernbench.errors import InputError, shorten
from kernbench.library import is_file
from kernbench.sweep.results.file_names import MANIFEST, PROGRESS, TABLE

RESULTS = Path("results")
FILES = (PROGRESS, TABLE, MANIFEST)


@dataclass(frozen=True, slots=True)
class Source:
    """A directory of a sweep, by the name it has in URLs."""

    name: str
    directory: Path

    def file(self, name: str) -> Path:
        """A file of the directory. Errors: InputError if it is a link that leads out of the directory."""
        path = self.directory / name
        if not path.resolve().is_relative_to(self.directory):
            raise InputError(f"{path} leads out of {self.directory}, and the viewer reads nothing outside it")
        return path


class Sources:
    """The sources that are served, by name: those given, or whatever sweeps are in `results/` now."""

    def __init__(self, given: Sequence[str] = (), results: Path = RESULTS) -> None:
        """Errors: InputError for what is no directory of a sweep."""
        self._given = _name_apart([_check(text) for text in given])
        self._results = None if given else results

    @property
    def searched(self) -> str | None:
        """The directory that is searched for sweeps, if none were given."""
        return None if self._results is None else str(self._results)

    def list(self) -> dict[str, Source]:
        """The sources by name; of `results/` the latest first."""
        if self._results is None:
            return self._given
        try:
            inside = self._results.resolve()
            found = [path for path in inside.iterdir() if path.resolve().is_relative_to(inside) and is_sweep(path)]
            return _name_apart(sorted(found, key=_changed, reverse=True))
        except OSError:
            return {}


def is_sweep(directory: Path) -> bool:
    """Whether a directory holds a sweep, be it one that has just begun."""
    return is_file(directory / MANIFEST)


def _check(text: str) -> Path:
    path = Path(check_characters(text, "the directory"))
    try:
        if not path.is_dir():
            said = "is a file" if path.exists() else "is not there"
            raise InputError(
                f"{shorten(text)} {said}; give the directory of a sweep, as kernbench sweep --out leaves it"
            )
        if not is_sweep(path):
            raise InputError(f"{shorten(text)} is no directory of a sweep: it has no {MANIFEST}")
    except OSError as error:
        raise InputError(f"{shorten(text)} cannot be read ({error.strerror}); give the directory of a sweep") from None
    return path.resolve()


def _name_apart(directories: Iterable[Path]) -> dict[str, Source]:
    """Sources by the last part of their path, with a number behind it where that is taken."""
    found: dict[str, Source] = {}
    for directory in directories:
        stem = directory.name or "sweep"
        name, more = stem, 2
        while name in found:
            name, more = f"{stem} ({more})", more + 1
        found[name] = Source(name, directory)
    return found


def _changed(directory: Path) -> float:
    return max(path.stat().st_mtime for name in FILES if is_file(path := directory / name))
