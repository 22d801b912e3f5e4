"""What the viewer shows: the sweeps, runs and machines that it was given, or the sweeps and runs in `results/`.

Every URL names a source, and a source is looked up among those found here. No text of a URL is ever made a path.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernbench import library
from kernbench.atomic_output import RESULT
from kernbench.characters import check_characters
from kernbench.errors import InputError, shorten
from kernbench.library import is_file
from kernbench.runs.file_names import OP_LOG
from kernbench.sweep.results.file_names import MANIFEST, PROGRESS, TABLE
from kernbench.web.machine_view import MachineView
from kernbench.web.point_runs import list_point_runs, name_of_point

RESULTS = Path("results")
FILES = (PROGRESS, TABLE, MANIFEST, RESULT)


@dataclass(frozen=True, slots=True)
class _Directory:
    """A directory by the name it has in URLs."""

    name: str
    directory: Path

    def file(self, name: str) -> Path:
        """A file of the directory. Errors: InputError if it is a link that leads out of the directory."""
        path = self.directory / name
        if not path.resolve().is_relative_to(self.directory):
            raise InputError(f"{path} leads out of {self.directory}, and the viewer reads nothing outside it")
        return path


class SweepSource(_Directory):
    """A directory of a sweep."""

    __slots__ = ()


class RunSource(_Directory):
    """A directory of a run."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class MachineSource:
    """A machine, by the name it has in URLs; it is compiled once, when the viewer starts."""

    name: str
    view: MachineView


Source = SweepSource | RunSource | MachineSource


class Sources:
    """The sources that are served, by name: those given, or whatever sweeps and runs are in `results/` now."""

    def __init__(self, given: Sequence[str] = (), results: Path = RESULTS) -> None:
        """Errors: InputError for what is neither a directory of a sweep or a run nor a topology."""
        self._given = _name_apart([found for text in given for found in _check(text)])
        self._results = None if given else results
        self._points: dict[
            tuple[str, str], Path
        ] = {}  # runs of points, by sweep and key, that are not in the sweep's directory
        self._replaced: dict[str, Path] = {}  # directories that are shown in place of those of runs

    @property
    def searched(self) -> str | None:
        """The directory that is searched, if nothing was given."""
        return None if self._results is None else str(self._results)

    @property
    def only(self) -> Source | None:
        """The source that was given, if that is one alone; runs of its points may stand beside it."""
        return next(iter(self._given.values())) if len(self._given) == 1 else None

    def list(self) -> dict[str, Source]:
        """The sources by name, each sweep before the runs of its points; of `results/` the latest first."""
        found: dict[str, Source] = {}
        for name, source in self._list_given().items():
            found[name] = RunSource(name, self._replaced[name]) if name in self._replaced else source
            if isinstance(source, SweepSource):
                for key, directory in self._list_points(source).items():
                    of_point = name_of_point(name, key)
                    found[of_point] = RunSource(of_point, self._replaced.get(of_point, directory))
        return found

    def directories(self) -> list[Path]:
        """The directories of all that is shown, whoever made them."""
        given = [source.directory for source in self.list().values() if not isinstance(source, MachineSource)]
        return [*given, *([] if self._results is None else [self._results.resolve()])]

    def runs_of(self, sweep: SweepSource) -> dict[str, str]:
        """The runs of a sweep's points: names of sources, by the beginnings of the points' keys."""
        return {key: name_of_point(sweep.name, key) for key in self._list_points(sweep)}

    def add_point(self, sweep: str, key: str, directory: Path) -> None:
        """Show the run of a point that will be in this directory, which is not that of the sweep."""
        self._points[sweep, key] = directory

    def replace(self, run: str, directory: Path) -> None:
        """Show this directory in place of that of a run."""
        self._replaced[run] = directory

    def _list_points(self, sweep: SweepSource) -> dict[str, Path]:
        own = {key: path for (name, key), path in self._points.items() if name == sweep.name and is_run(path)}
        return {**list_point_runs(sweep.directory), **own}

    def _list_given(self) -> dict[str, Source]:
        if self._results is None:
            return self._given
        try:
            return _name_apart(sorted(_list_known(self._results.resolve()), key=_changed, reverse=True))
        except OSError:
            return {}


def is_sweep(directory: Path) -> bool:
    """Whether a directory holds a sweep, be it one that has just begun."""
    return is_file(directory / MANIFEST)


def is_run(directory: Path) -> bool:
    """Whether a directory holds a run of a program, be it one of an earlier version."""
    return is_file(directory / RESULT) and is_file(directory / OP_LOG)


def is_known(directory: Path) -> bool:
    """Whether a directory holds a sweep or a run."""
    return is_sweep(directory) or is_run(directory)


def _list_known(directory: Path) -> list[Path]:
    """The directories of sweeps and runs in a directory, by name; those of links only if they stay inside."""
    found = [path for path in directory.iterdir() if path.resolve().is_relative_to(directory) and is_known(path)]
    return sorted(found)


def _check(text: str) -> list[Path] | list[MachineView]:
    """What a text stands for: a directory of a sweep or a run, all of these in a directory, or a topology."""
    path = Path(check_characters(text, "the directory or topology"))
    try:
        if path.suffix in (".json", ".parquet") and is_file(path) and is_known(path.parent):
            raise InputError(
                f"{shorten(text)} is a file of a sweep or a run; give its directory, {shorten(path.parent)}"
            )
        if not path.is_dir():
            return [_read_machine(text)]
        if is_known(path):
            return [path.resolve()]
        if found := _list_known(path.resolve()):
            return [one.resolve() for one in found]
        raise InputError(_refuse(path, shorten(text)))
    except OSError as error:
        raise InputError(
            f"{shorten(text)} cannot be read ({error.strerror}); give the directory of a run or a sweep"
        ) from None


def _refuse(path: Path, text: str) -> str:
    """Why a directory is neither a sweep nor a run."""
    if is_file(path / OP_LOG):
        return f"{text} has {OP_LOG} but no {RESULT}, so its run did not end or was copied in part; run it again with --out"
    if is_file(path / RESULT):
        return f"{text} has {RESULT} but no {OP_LOG}, so there is nothing to draw; kernbench run BENCH --out makes both"
    return f"{text} is no directory of a sweep or a run: it has neither {MANIFEST} nor {RESULT}"


def _read_machine(text: str) -> MachineView:
    try:
        library.find("topology", text)
    except InputError as error:
        raise InputError(f"{shorten(text)} is no directory of a sweep or a run; {error}") from None
    return MachineView(text)


def _name_apart(given: Iterable[Path | MachineView]) -> dict[str, Source]:
    """Sources by the name of the machine or the last part of the path, with a number behind it where that is taken."""
    found: dict[str, Source] = {}
    for one in given:
        stem = (one.name or "root") if isinstance(one, Path) else one.machine.name
        name, more = stem, 2
        while name in found:
            name, more = f"{stem} ({more})", more + 1
        found[name] = _make_source(name, one)
    return found


def _make_source(name: str, given: Path | MachineView) -> Source:
    if not isinstance(given, Path):
        return MachineSource(name, given)
    return SweepSource(name, given) if is_sweep(given) else RunSource(name, given)


def _changed(directory: Path) -> float:
    return max(path.stat().st_mtime for name in FILES if is_file(path := directory / name))
