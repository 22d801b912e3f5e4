"""What a run was asked for, and the arguments of the command that runs it again.

`result.json` has the bench and the machine by their own names; two files may have one name, so it also has, as `request`, what
they were asked for by: a name, or the whole path of a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kernbench.errors import InputError, shorten
from kernbench.library import exists, is_file, is_path, shipped
from kernbench.machine.overrides import TOPOLOGY
from kernbench.modes import Mode
from kernbench.schema.guards import is_list, is_mapping
from kernbench.user_modules import note_code

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.runs.bench import Bench

RUN, TANTO_RUN = "run", "tanto run"  # the commands that leave runs
PTO_RUN, PTO_REPLAY = "pto run", "pto replay"
BENCH, CODE, SHEET = "bench", "code", "sheet of "
_PLACES = {
    "program": (),
    "kernels": ("--kernels",),
    "kernel map": ("--kernel-map",),
}  # of files in `kernbench tanto run`
_Settings = Iterable[tuple[str, object]]
_SETTING = re.compile(r"[A-Za-z_][\w.\[\]]*")
_NAMED = re.compile(r"\.py:[^/\\]+$")  # a bench of a file with several


def note_request(
    found: Bench, topology: str | Path, device: str, *, live: bool, set_names: Iterable[str], machine: Machine
) -> dict[str, Any] | None:
    """What a run is asked for, in JSON's types; paths are whole. None for a bench without a file, which no command names.

    `set_names` are the parameters that are given and not left at their defaults.
    """
    named = any(found.file.parent == shipped() / folder for folder in ("benches", "benches/tanto"))
    if not named and not is_file(found.file):
        return None
    bench = found.name if named else f"{found.file.absolute()}:{found.name}"
    return {
        "bench": bench,
        "topology": find_topology(topology),
        "device": device,
        "live": live,
        "set": list(set_names),
        **_note_code(found.files, machine),
    }


def note_programs(
    programs: Iterable[Path],
    kernels: Path,
    kernel_map: Path | None,
    topology: str,
    *,
    inputs: Iterable[str],
    defines: Iterable[str],
    rounding: str,
    numbers: bool,
    python: Iterable[Path] = (),
    machine: Machine | None = None,
) -> dict[str, Any]:
    """What `kernbench tanto run` is asked for, in JSON's types; paths are whole. `python` are kernels that are Python files."""
    files = (text.partition("=") for text in inputs)
    return {
        "command": TANTO_RUN,
        "programs": [str(program.absolute()) for program in programs],
        "kernels": str(kernels.absolute()),
        "kernel_map": kernel_map and str(kernel_map.absolute()),
        "topology": find_topology(topology),
        "inputs": [f"{number}={Path(file).absolute()}" for number, _, file in files],
        "defines": list(defines),
        "rounding": rounding,
        "numbers": numbers,
        **_note_code(python, machine),
    }


def note_graph(bench: Path, topology: str, sources: Iterable[Path], machine: Machine) -> dict[str, Any]:
    """What `kernbench pto run` is asked for beside parameters, in JSON's types; the path of a bench of one's own is whole."""
    named = bench.parent == shipped() / "benches/pto"
    return {
        "command": PTO_RUN,
        "bench": bench.stem if named else str(bench.absolute()),
        "topology": find_topology(topology),
        **_note_code(sources, machine),
    }


def note_replay(graph: Path, topology: str, machine: Machine) -> dict[str, Any]:
    """What `kernbench pto replay` is asked for, in JSON's types."""
    asked = {"command": PTO_REPLAY, "graph": str(graph.absolute()), "topology": find_topology(topology)}
    return {**asked, **_note_code((), machine)}


def _note_code(files: Iterable[Path], machine: Machine | None) -> dict[str, Any]:
    """The digests of a run's Python files of the user, and of those beside the sheets of its machine, if there are any."""
    parts = () if machine is None else machine.dropins.values()
    code = note_code([*files, *(Path(one.file) for one in parts)])
    return {CODE: code} if code else {}


def noted_digests(told: Mapping[str, Any]) -> list[str]:
    """The digests of code that a request, or the manifest of a sweep, has; none if it has none, or in another form."""
    code = told.get(CODE)
    return [digest for digest in code.values() if isinstance(digest, str)] if is_mapping(code) else []


def find_topology(topology: str | Path) -> str:
    """A machine as it was asked for: a name, or the whole path of a file."""
    machine = str(topology)
    return str(Path(machine).absolute()) if is_path(machine) or is_file(Path(machine)) else machine


def file_of_bench(bench: str) -> Path | None:
    """The file of a bench that is asked for by path; None for a name."""
    file = bench.rpartition(":")[0] if _NAMED.search(bench) else bench
    return Path(file) if is_path(file) or is_file(Path(file)) else None


class Repetition(NamedTuple):
    """The arguments of `kernbench` that repeat a run, without those that say what to keep, and the files that they name."""

    arguments: list[str]
    files: list[tuple[str, Path]]  # what each is, and where


def plan_repetition(result: Mapping[str, Any]) -> Repetition:
    """How to repeat a run, from what its `result.json` says.

    Errors: InputError for a result that does not say enough, or of a run that cannot be repeated.
    """
    request = result.get("request")
    asked: Mapping[str, Any] = request if is_mapping(request) else {}
    parameters, overrides = result.get("parameters"), result.get("overrides")
    if not (is_mapping(parameters) and is_mapping(overrides)) or ("request" in result and request is None):
        raise InputError(
            "the run cannot be repeated: it was not made by `kernbench run` with a bench that has a name or a file"
        )
    if result.get("mode") == Mode.ANALYTIC:
        raise InputError("the run is of mode analytic, which has no events; run it again in mode hybrid")
    bench, topology = asked.get("bench", result.get("bench")), asked.get("topology", result.get("topology"))
    mode, fields = result.get("mode"), [(TOPOLOGY + path, value) for path, value in overrides.items()]
    command = asked.get("command", RUN)
    if command == TANTO_RUN:
        return _repeat_programs(asked, topology, mode, fields)
    if command == PTO_RUN:
        return repeat_graph(bench, topology, mode, parameters, fields)
    if command == PTO_REPLAY:
        graph = _read_file("graph", asked.get("graph"))
        arguments = ["pto", "replay", str(graph), *_say_machine(topology, mode, fields)]
        return Repetition(arguments, [("graph", graph), *_files_of_machine(topology, fields)])
    if command != RUN:
        raise InputError(
            f"the run cannot be repeated: it was made by {shorten(repr(command))}, which is no command here"
        )
    settings = [*parameters.items(), *fields]
    return repeat_bench(bench, topology, mode, settings, asked.get("device", "all"), live=bool(asked.get("live")))


def repeat_bench(
    bench: object,
    topology: object,
    mode: object,
    settings: Iterable[tuple[str, object]],
    device: object = "all",
    *,
    live: bool = False,
) -> Repetition:
    """How to run a bench on a machine; settings of None are left out.

    Errors: InputError for what no command line can say.
    """
    settings = list(settings)
    found = [RUN, _read_name("bench", bench), *_say_machine(topology, mode, settings)]
    named = _read_name("device", device)
    found += [] if named == "all" else ["--device", named]
    files = [*_files_of(BENCH, file_of_bench(str(bench))), *_files_of_machine(topology, settings)]
    return Repetition([*found, "--live"] if live else found, files)


def repeat_program(
    program: str, topology: object, mode: object, parameters: Mapping[str, Any], fields: _Settings
) -> Repetition:
    """How to run a Tanto program for its times, with the parameters that it has in a sweep. Errors: as `repeat_bench`."""
    texts = {
        name: str(parameters.get(name) or "") for name in ("program", "kernels", "kernel_map", "inputs", "defines")
    }
    path = Path(texts["program"] or program)
    asked = note_programs(
        [path],
        Path(texts["kernels"] or path.parent),
        Path(texts["kernel_map"]) if texts["kernel_map"] else None,
        str(topology),
        inputs=split_texts(texts["inputs"]),
        defines=split_texts(texts["defines"]),
        rounding="truncate",
        numbers=False,
    )
    return _repeat_programs(asked, topology, mode, fields)


def split_texts(text: str) -> list[str]:
    """The texts that commas part."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _repeat_programs(asked: Mapping[str, Any], topology: object, mode: object, fields: _Settings) -> Repetition:
    """How to run a Tanto program; its files are named by whole paths."""
    programs = asked.get("programs")
    if not is_list(programs) or len(programs) != 1:
        raise InputError(
            "the run cannot be repeated alone: it is one of several programs that ran in turn on one chip, where those before "
            "left their buffers; run them all again with --explain"
        )
    given = {"program": programs[0], "kernels": asked.get("kernels"), "kernel map": asked.get("kernel_map")}
    files = [(what, _read_file(what, text)) for what, text in given.items() if text is not None]
    found = ["tanto", "run", *(text for what, path in files for text in (*_PLACES[what], str(path)))]
    for text in _read_texts(asked, "inputs"):
        number, _, file = text.partition("=")
        path = _read_file("buffer", file)
        files.append(("buffer", path))
        found += ["--in", f"{int(number) if number.isdecimal() else 0}={path}"]
    for text in _read_texts(asked, "defines"):
        found += ["-D", text]
    rounding = _read_name("rounding", asked.get("rounding"))
    found += ["--rounding", rounding, *_say_machine(topology, mode, fields)]
    files += [*_files_of_machine(topology, fields)]
    return Repetition(found if asked.get("numbers") else [*found, "--no-data"], files)


def repeat_graph(
    bench: object, topology: object, mode: object, parameters: Mapping[str, Any], fields: _Settings
) -> Repetition:
    """How to run a graph of tasks, for its times; parameters of "" are each case's own. Errors: as `repeat_bench`."""
    found = ["pto", "run", _read_name(BENCH, bench), "--no-data"]
    settings = {name: value for name, value in parameters.items() if value != ""}
    for name in ("case", "runtime"):
        if name in settings:
            found += [f"--{name}", _read_name(name, settings.pop(name))]
    file = Path(str(bench)) if is_path(str(bench)) or exists(Path(str(bench))) else None  # a folder may be one
    files = [*_files_of(BENCH, file), *_files_of_machine(topology, fields)]
    return Repetition([*found, *_say_machine(topology, mode, [*settings.items(), *fields])], files)


def _say_machine(topology: object, mode: object, settings: Iterable[tuple[str, object]]) -> list[str]:
    found = ["--topology", _read_name("topology", topology), "--mode", _read_name("mode", mode)]
    for name, value in settings:
        if not _SETTING.fullmatch(name) or not isinstance(value, str | int | float | None):
            raise InputError(f"the run cannot be repeated: it sets {shorten(name)} to {shorten(repr(value))}")
        if value is not None:
            found += ["--set", f"{name}={value}"]
    return found


def _read_name(what: str, text: object) -> str:
    if not isinstance(text, str) or not text or text.startswith("-"):
        raise InputError(f"the run cannot be repeated: its {what} is {shorten(repr(text))}, which is no name")
    return text


def _read_file(what: str, text: object) -> Path:
    if not isinstance(text, str) or not Path(text).is_absolute():
        raise InputError(f"the run cannot be repeated: its {what} is {shorten(repr(text))}, which is no whole path")
    return Path(text)


def _read_texts(asked: Mapping[str, Any], name: str) -> list[str]:
    texts = asked.get(name, [])
    if not is_list(texts) or not all(isinstance(text, str) for text in texts):
        raise InputError(f"the run cannot be repeated: its {name} are {shorten(repr(texts))}, which are no texts")
    return texts


def _files_of(what: str, file: Path | None) -> list[tuple[str, Path]]:
    return [] if file is None else [(what, file)]


def _files_of_machine(topology: object, fields: _Settings) -> list[tuple[str, Path]]:
    """The topology and the sheets that its fields choose, of those that are named by a path."""
    machine = _files_of("machine", Path(str(topology)) if is_path(str(topology)) else None)
    parts = [(name, str(value)) for name, value in fields if name.startswith(f"{TOPOLOGY}parts.")]
    chosen = [(name, Path(text)) for name, text in parts if is_path(text) or is_file(Path(text))]
    return [*machine, *((f"{SHEET}{name.rpartition('.')[2]}", sheet) for name, sheet in chosen)]
