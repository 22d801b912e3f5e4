"""The jobs that the page may start: explain a run, make its what-if table, run a point of a sweep alone.

What is run is what the files of a source say was run: no text of a request is an argument. Somebody else may have written
them, so they choose code by name alone: a job runs Python files that stand right in `benches/` or `models/` of the directory
that the viewer was started in, or in a directory of `--code`, as the run noted their digests; else those that came with
KernBench. Other files, such as machines and Tanto programs, have to be in that directory and in none that is shown.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from kernbench import library
from kernbench.atomic_output import RESULT, unreadable
from kernbench.errors import InputError, RunError, shorten
from kernbench.frontends.benches import CODE
from kernbench.frontends.request import SHEET, Repetition, noted_digests, plan_repetition, repeat_point
from kernbench.modes import Mode
from kernbench.runs.explained_files import add_explanation, check_same
from kernbench.schema.guards import is_mapping
from kernbench.sealing import load_sealed_json, read_sealed_parquet
from kernbench.sweep.results.file_names import MANIFEST, PROGRESS, TABLE
from kernbench.sweep.results.manifest import read_manifest
from kernbench.sweep.row import COLUMNS
from kernbench.user_modules import permit
from kernbench.web.jobs import KERNBENCH, Jobs, show_command
from kernbench.web.point_runs import KEY_DIGITS, name_of_point, runs_of_points
from kernbench.web.sources import RunSource, Sources, SweepSource

EXPLAIN, WHAT_IF, POINT = "explain", "what_if", "point"
DATA = ("graph", "buffer")  # what of a run's files is no code
OPTIONS = {EXPLAIN: ["--explain"], WHAT_IF: ["--explain", "--what-if"], POINT: ["--explain"]}


class RunJobs:
    """Starts the jobs of a viewer, and puts what comes out where its sources find it."""

    def __init__(self, sources: Sources, command: Sequence[str] = KERNBENCH, code: Iterable[Path] = ()) -> None:
        """`code` are folders whose Python files jobs may run too."""
        self._sources, self._jobs = sources, Jobs(command)
        self._code = [folder.resolve() for folder in code]
        self._room: tempfile.TemporaryDirectory[str] | None = None
        self._numbers = count(1)

    def list(self) -> list[dict[str, Any]]:
        """All jobs that are known."""
        return self._jobs.list()

    def close(self) -> None:
        """End all jobs, and remove what could be kept nowhere else."""
        self._jobs.close()
        if self._room is not None:
            self._room.cleanup()

    def cancel(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """End a job. Errors: InputError."""
        return self._jobs.cancel(str(asked.get("id")))

    def start(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Start a job of a kind, for a source and a part of it. Errors: InputError for what cannot be run."""
        kind, name, part = (str(asked.get(field, "")) for field in ("kind", "source", "part"))
        source = self._sources.list().get(name)
        if kind in (EXPLAIN, WHAT_IF) and isinstance(source, RunSource):
            room = self._new_place()
            done = partial(self._keep, source, room)
            arguments, digests = self._plan_run(source, kind)
            return self._jobs.start(kind, name, "", arguments, ["--out", str(room)], done, self._permit(digests))
        if kind == POINT and isinstance(source, SweepSource):
            arguments, digests, key = self._plan_point(source, part)
            place = runs_of_points(source.directory) / key
            if not os.access(source.directory, os.W_OK):
                place = self._new_place()
            done = partial(self._show_point, source, key, place)
            return self._jobs.start(kind, name, key, arguments, ["--out", str(place)], done, self._permit(digests))
        raise InputError(f"there is nothing {shorten(name)!r} here that a job {shorten(kind)!r} could be for")

    def tell(self, source: RunSource) -> dict[str, Any]:
        """The commands that the page may start for a run, as one would type them, or why there are none."""
        try:
            return {"commands": {kind: show_command(self._plan_run(source, kind)[0]) for kind in (EXPLAIN, WHAT_IF)}}
        except InputError as error:
            return {"commands": {}, "refused": str(error)}

    def _plan_run(self, source: RunSource, kind: str) -> tuple[list[str], list[str]]:
        """The arguments that run a run again, and the digests of the code that it noted. Errors: InputError."""
        result = _read_result(source)
        request = result.get("request")
        return self._check(plan_repetition(result), kind), noted_digests(request) if is_mapping(request) else []

    def _plan_point(self, source: SweepSource, part: str) -> tuple[list[str], list[str], str]:
        """The same of the point whose key begins so, and that beginning of its key. Errors: InputError."""
        row, parameters = _find_row(source, part)
        told = read_manifest(source.file(MANIFEST))
        if "bench" not in told:
            raise InputError(f"{source.name} is a sweep over traffic, whose points kernbench probe runs")
        mode = Mode.FLIT if told.get("mode") == Mode.FLIT else Mode.HYBRID
        settings = {name: row[name] for name in parameters}
        repetition = repeat_point(told["bench"], told.get("topology"), str(mode), settings)
        return self._check(repetition, POINT), noted_digests(told), str(row["key"])[:KEY_DIGITS]

    def _permit(self, digests: Iterable[str]) -> dict[str, str]:
        """The environment of a job that may run code with these digests."""
        return permit(self._folders(), digests)

    def _folders(self) -> list[Path]:
        """The folders whose Python files jobs may run: those of its directory, unless that is shown, and of `--code`."""
        shown = self._sources.directories()
        own = (one for one in library.code_folders() if not any(one.is_relative_to(place) for place in shown))
        return [*own, *self._code]

    def _check(self, repetition: Repetition, kind: str) -> list[str]:
        """The arguments of a job, whose files may be run here. Errors: InputError for another file."""
        arguments = [*repetition.arguments, *OPTIONS[kind]]
        for what, file in repetition.files:
            place = file.resolve()
            beside = what.startswith(SHEET) and place.with_suffix(".py").is_file()
            is_code = what == CODE or beside
            if is_code and place.parent not in self._folders() and not library.is_shipped_code(place):
                raise InputError(
                    f"its {what} is {shorten(file)}, and the viewer runs code of {Path.cwd()}/benches and models alone; "
                    f"if you trust it, start the viewer with --code {place.parent}, or run: {show_command(arguments)}"
                )
            if not is_code and not self._is_near(place, what):
                raise InputError(
                    f"its {what} is {shorten(file)}, and the viewer reads no file outside the directory it was started in, "
                    f"{Path.cwd()}, nor of a run that it shows; start it nearer, or run: {show_command(arguments)}"
                )
        return arguments

    def _is_near(self, place: Path, what: str) -> bool:
        """Whether a file is in the viewer's directory or shipped; only data may be in a directory that is shown."""
        near = (Path.cwd().resolve(), library.shipped().resolve())
        shown = () if what in DATA else self._sources.directories()
        return any(map(place.is_relative_to, near)) and not any(map(place.is_relative_to, shown))

    def _new_place(self) -> Path:
        if self._room is None:
            self._room = tempfile.TemporaryDirectory(prefix="kernbench-web-")
        return Path(self._room.name) / str(next(self._numbers))

    def _keep(self, source: RunSource, made: Path) -> str:
        """Put an explanation into the run's directory, or where that is not writable show the run made again in its place."""
        try:
            check_same(source.directory, made)
            add_explanation(source.directory, made)
        except RunError:
            self._sources.replace(source.name, made)
        except (OSError, ValueError) as error:
            raise InputError(f"{source.directory} cannot be read any more ({shorten(error)})") from None
        return source.name

    def _show_point(self, source: SweepSource, key: str, place: Path) -> str:
        """Let the sources find the run of a point, if it is not with its sweep."""
        if not place.is_relative_to(source.directory):
            self._sources.add_point(source.name, key, place)
        return name_of_point(source.name, key)


def _read_result(source: RunSource) -> Mapping[str, Any]:
    try:
        result = load_sealed_json(source.file(RESULT))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{source.directory / RESULT} cannot be read ({shorten(error)})") from None
    if not is_mapping(result):
        raise InputError(f"{source.directory / RESULT} is not what a run leaves")
    return result


def _find_row(source: SweepSource, part: str) -> tuple[dict[str, Any], list[str]]:
    import polars

    path = next((file for name in (PROGRESS, TABLE) if (file := source.file(name)).is_file()), source.file(TABLE))
    try:
        table = read_sealed_parquet(path)
        found = table.filter(polars.col("key").str.starts_with(part)) if part else table[:0]
        parameters = table.columns[: next(at for at, name in enumerate(table.columns) if name in COLUMNS)]
    except (OSError, StopIteration, *unreadable()) as error:
        raise InputError(f"{path} is not the table of a sweep ({shorten(error)}); make it again") from None
    if len(found) != 1:
        raise InputError(f"{source.name} has no point {shorten(part)!r} any more")
    return found.to_dicts()[0], parameters
