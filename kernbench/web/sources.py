"""What the viewer shows: the sweeps and the machines that it was given, or the sweeps in `results/`.

Every URL names a source, and a source is looked up among those found here. No text of a URL is ever made a path.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernbench import library
from kernbench.characters import check_characters
from kernbench.errors import InputError, shorten
from kernbench.library import is_file
from kernbench.sweep.results.file_names import MANIFEST, PROGRESS, TABLE
from kernbench.web.machine_view import MachineView

RESULTS = Path("results")
FILES = (PROGRESS, TABLE, MANIFEST)


@dataclass(frozen=True, slots=True)
class SweepSource:
    """A directory of a sweep, by the name it has in URLs."""

    name: str
    directory: Path

    def file(self, name: str) -> Path:
        """A file of the directory. Errors: InputError if it is a link that leads out of the directory."""
        path = self.directory / name
        if not path.resolve().is_relative_to(self.directory):
            raise InputError(f"{path} leads out of {self.directory}, and the viewer reads nothing outside it")
        return path


@dataclass(frozen=True, slots=True)
class MachineSource:
    """A machine, by the name it has in URLs; it is compiled once, when the viewer starts."""

    name: str
    view: MachineView


class Sources:
    """The sources that are served, by name: those given, or whatever sweeps are in `results/` now."""

    def __init__(self, given: Sequence[str] = (), results: Path = RESULTS) -> None:
        """Errors: InputError for what is neither a directory of a sweep nor a topology."""
        self._given = _name_apart([_check(text) for text in given])
        self._results = None if given else results

    @property
    def searched(self) -> str | None:
        """The directory that is searched for sweeps, if none were given."""
        return None if self._results is None else str(self._results)

    def list(self) -> dict[str, SweepSource | MachineSource]:
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


def _check(text: str) -> Path | MachineView:
    path = Path(check_characters(text, "the directory or topology"))
    try:
        if not path.is_dir():
            return _read_machine(text)
        if not is_sweep(path):
            raise InputError(f"{shorten(text)} is no directory of a sweep: it has no {MANIFEST}")
    except OSError as error:
        raise InputError(f"{shorten(text)} cannot be read ({error.strerror}); give the directory of a sweep") from None
    return path.resolve()


def _read_machine(text: str) -> MachineView:
    try:
        library.find("topology", text)
    except InputError as error:
        raise InputError(f"{shorten(text)} is no directory of a sweep, as kernbench sweep leaves it; {error}") from None
    return MachineView(text)


def _name_apart(given: Iterable[Path | MachineView]) -> dict[str, SweepSource | MachineSource]:
    """Sources by the name of the machine or the last part of the path, with a number behind it where that is taken."""
    found: dict[str, SweepSource | MachineSource] = {}
    for one in given:
        stem = (one.name or "sweep") if isinstance(one, Path) else one.machine.name
        name, more = stem, 2
        while name in found:
            name, more = f"{stem} ({more})", more + 1
        found[name] = SweepSource(name, one) if isinstance(one, Path) else MachineSource(name, one)
    return found


def _changed(directory: Path) -> float:
    return max(path.stat().st_mtime for name in FILES if is_file(path := directory / name))
