"""What a run was asked for, as its `result.json` keeps it, and the arguments of the command that runs it again.

A request is one record for all front-ends: front_end, name (or names, of programs that ran in turn), machine, settings by the
names of `--set`, and options. Names are those of shipped programs and machines, or whole paths. `set` names the parameters
that were set, and `code` has the digests of the user's Python files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kernbench.errors import InputError, shorten
from kernbench.frontends.benches import CODE as PYTHON
from kernbench.frontends.registry import FRONT_ENDS, find_front_end
from kernbench.frontends.tanto_programs import join_texts
from kernbench.library import is_file, is_path
from kernbench.machine.overrides import TOPOLOGY
from kernbench.modes import Mode
from kernbench.schema.guards import is_list, is_mapping
from kernbench.user_modules import note_code

if TYPE_CHECKING:
    from kernbench.frontends.frontend import Files, FrontEnd, Workload
    from kernbench.frontends.prepared import Request
    from kernbench.machine.machine import Machine

RUN, CODE, SHEET = "run", "code", "sheet of "
_SETTING = re.compile(r"[A-Za-z_][\w.\[\]]*")
_LIKE_OPTION = re.compile(r"-[^\d.]")
_EARLIER = {
    "pto run": "task-graph",
    "pto replay": "measured-graph",
    "tanto run": "tanto-program",
}  # front-ends by command
_CANNOT = "the run cannot be repeated"


def note_request(request: Request, workloads: Sequence[Workload], machine: Machine) -> dict[str, Any] | None:
    """A request in JSON's types. None for a program without a file, which no command names."""
    names = [workload.noted for workload in workloads]
    if None in names:
        return None
    first, options = workloads[0], request.options
    settings = {**request.settings, **first.record.make_whole(request.parameters)}
    files = [file for workload in workloads for file in workload.files]
    beside = [Path(one.file) for one in machine.dropins.values()]
    code = note_code([*files, *beside])
    return {
        "front_end": first.front_end,
        **({"names": names} if names[1:] else {"name": names[0]}),
        "machine": find_topology(request.machine),
        "settings": {
            name: value if isinstance(value, bool | int | float) else str(value) for name, value in settings.items()
        },
        "set": list(request.parameters),
        "options": {"mode": str(options.mode), "live": options.live, "device": options.device},
        **({CODE: code} if code else {}),
    }


def noted_digests(told: Mapping[str, Any]) -> list[str]:
    """The digests of code that a request, or the manifest of a sweep, has; none if it has none, or in another form."""
    code = told.get(CODE)
    return [digest for digest in code.values() if isinstance(digest, str)] if is_mapping(code) else []


def find_topology(topology: str | Path) -> str:
    """A machine as it was asked for: a name, or the whole path of a file."""
    machine = str(topology)
    return str(Path(machine).absolute()) if is_path(machine) or is_file(Path(machine)) else machine


class Repetition(NamedTuple):
    """The arguments of `kernbench` that repeat a run, without those that say what to keep, and the files that they name."""

    arguments: list[str]
    files: Files


def plan_repetition(result: Mapping[str, Any]) -> Repetition:
    """How to repeat a run, from what its `result.json` says, also of an earlier version.

    Errors: InputError for a result that does not say enough, or of a run that cannot be repeated.
    """
    request = result.get("request")
    asked: Mapping[str, Any] = request if is_mapping(request) else {}
    parameters, overrides = result.get("parameters"), result.get("overrides")
    if not (is_mapping(parameters) and is_mapping(overrides)) or ("request" in result and request is None):
        raise InputError(f"{_CANNOT}: it was not made by `kernbench run` with a program that has a name or a file")
    if result.get("mode") == Mode.ANALYTIC:
        raise InputError("the run is of mode analytic, which has no events; run it again in mode hybrid")
    if "front_end" not in asked:
        asked = _read_earlier(
            asked, result, {**parameters, **{TOPOLOGY + path: each for path, each in overrides.items()}}
        )
    if "names" in asked:
        raise InputError(
            f"{_CANNOT} alone: it is one of several programs that ran in turn on one chip, where those before "
            "left their buffers; run them all again with --explain"
        )
    settings, options = asked.get("settings"), asked.get("options")
    if not (is_mapping(settings) and is_mapping(options)):
        raise InputError(f"{_CANNOT}: its request has no settings or no options")
    noted = _read_front_end(asked.get("front_end"))
    return _repeat(asked.get("name"), asked.get("machine"), result.get("mode"), settings, options, noted)


def _read_earlier(asked: Mapping[str, Any], result: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The request of a run that an earlier version kept, in the form of now. Errors: InputError."""
    command = asked.get("command", RUN)
    found: dict[str, Any] = {
        "front_end": _EARLIER.get(command) if isinstance(command, str) else None,
        "name": asked.get("bench", result.get("bench")),
        "machine": asked.get("topology", result.get("topology")),
        "settings": {name: value for name, value in settings.items() if value != "" and value is not None},
        "options": {"device": asked.get("device", "all"), "live": bool(asked.get("live"))},
    }
    if command in (RUN, "pto run"):
        return found
    if command == "pto replay":
        return {**found, "name": asked.get("graph")}
    programs = asked.get("programs")
    if command != "tanto run":
        raise InputError(f"{_CANNOT}: it was made by {shorten(repr(command))}, which is no command here")
    if not is_list(programs) or not programs:
        raise InputError(f"{_CANNOT}: its programs are {shorten(repr(programs))}, which are no texts")
    own = {"kernels": asked.get("kernels"), "kernel_map": asked.get("kernel_map"), "rounding": asked.get("rounding")}
    own |= {name: join_texts(_read_texts(asked, name)) for name in ("inputs", "defines")}
    named = {"names": programs} if programs[1:] else {"name": programs[0]}
    return {**found, **named, "settings": {name: value for name, value in own.items() if value} | found["settings"]}


def repeat_point(name: str, machine: object, mode: object, settings: Mapping[str, object]) -> Repetition:
    """How to run a point of a sweep in the directory of the sweep; files other than Python are named by whole paths.

    A setting without a value is left out. Errors: InputError for what no command line can say.
    """
    front_end = find_front_end(name)
    is_data = any(what != PYTHON for what, _ in front_end.files_of(name, settings))
    named = str(Path(name).absolute()) if is_data else name
    return _repeat(named, machine, mode, front_end.make_whole(settings), {}, None)


def _repeat(
    name: object,
    machine: object,
    mode: object,
    settings: Mapping[str, object],
    options: Mapping[str, object],
    noted: FrontEnd | None,
) -> Repetition:
    """How to run a program for its times; `noted` is the front-end that it was of. Errors: InputError."""
    named = _read_name("program", name)
    front_end = find_front_end(named)
    device = _read_name("device", options.get("device", "all"))
    found = [RUN, named, "--topology", _read_name("topology", machine), "--mode", _read_name("mode", mode)]
    given = _read_settings(settings)
    files = _files_of_program([noted or front_end, front_end], named, given)
    found += [part for path, value in given.items() for part in ("--set", f"{path}={_read_value(path, value)}")]
    found += [] if device == "all" else ["--device", device]
    found += ["--live"] if options.get("live") else []
    found += ["--no-data"] if front_end.verifies else []
    return Repetition(found, [*files, *_files_of_machine(machine, given)])


def _read_front_end(name: object) -> FrontEnd | None:
    """The front-end that a request notes; None if it notes none. Errors: InputError for one that is not here."""
    if name is None or (isinstance(name, str) and name in FRONT_ENDS):
        return FRONT_ENDS[name] if name else None
    raise InputError(f"{_CANNOT}: its front-end is {shorten(repr(name))}, which is none here")


def _read_settings(settings: Mapping[str, object]) -> dict[str, str | int | float]:
    """The settings that have a value. Errors: InputError for what `--set` cannot say."""
    found = dict[str, str | int | float]()
    for path, value in settings.items():
        if not _SETTING.fullmatch(path) or not isinstance(value, str | int | float | None):
            raise InputError(f"{_CANNOT}: it sets {shorten(path)} to {shorten(repr(value))}")
        if value is not None and value != "":
            found[path] = value
    return found


def _read_value(name: str, value: str | int | float) -> str:
    text = str(value)
    if _LIKE_OPTION.match(text):
        raise InputError(f"{_CANNOT}: its {name} is {shorten(repr(text))}, which is no name")
    return text


def _files_of_program(front_ends: Sequence[FrontEnd], name: str, settings: Mapping[str, object]) -> Files:
    """The files of a program, as each front-end knows them. Errors: InputError for data that has no whole path."""
    files = list(dict.fromkeys(one for front_end in front_ends for one in front_end.files_of(name, settings)))
    for what, path in files:
        if what != PYTHON and not path.is_absolute():
            raise InputError(f"{_CANNOT}: its {what} is {shorten(repr(str(path)))}, which is no whole path")
    return files


def _read_name(what: str, text: object) -> str:
    if not isinstance(text, str) or not text or text.startswith("-"):
        raise InputError(f"{_CANNOT}: its {what} is {shorten(repr(text))}, which is no name")
    return text


def _read_texts(asked: Mapping[str, Any], name: str) -> list[str]:
    texts = asked.get(name, [])
    if not is_list(texts) or not all(isinstance(text, str) for text in texts):
        raise InputError(f"{_CANNOT}: its {name} are {shorten(repr(texts))}, which are no texts")
    return texts


def _files_of_machine(topology: object, settings: Mapping[str, object]) -> Files:
    """The topology and the sheets that its fields choose, of those that are named by a path."""
    machine = [("machine", Path(str(topology)))] if is_path(str(topology)) else []
    parts = [(name, str(value)) for name, value in settings.items() if name.startswith(f"{TOPOLOGY}parts.")]
    return [*machine, *_sheets(parts)]


def _sheets(parts: Iterable[tuple[str, str]]) -> Files:
    chosen = [(name, Path(text)) for name, text in parts if is_path(text) or is_file(Path(text))]
    return [(f"{SHEET}{name.rpartition('.')[2]}", sheet) for name, sheet in chosen]
