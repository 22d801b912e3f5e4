"""What a run was asked for, and the arguments of the command that runs it again.

`result.json` has the bench and the machine by their own names; two files may have one name, so it also has, as `request`, what
they were asked for by: a name, or the whole path of a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError, shorten
from kernbench.library import is_file, is_path, shipped
from kernbench.modes import Mode
from kernbench.schema.guards import is_mapping

if TYPE_CHECKING:
    from kernbench.runs.bench import Bench

TOPOLOGY = "topology."  # what a setting's name begins with when it is a field of the topology file
_SETTING = re.compile(r"[A-Za-z_][\w.\[\]]*")
_NAMED = re.compile(r"\.py:[^/\\]+$")  # a bench of a file with several


def note_request(
    found: Bench, topology: str | Path, device: str, *, live: bool, set_names: Iterable[str]
) -> dict[str, Any] | None:
    """What a run is asked for, in JSON's types; paths are whole. None for a bench without a file, which no command names.

    `set_names` are the parameters that are given and not left at their defaults.
    """
    named = any(found.file.parent == shipped() / folder for folder in ("benches", "benches/tanto"))
    if not named and not is_file(found.file):
        return None
    bench = found.name if named else f"{found.file.absolute()}:{found.name}"
    machine = str(topology)
    if is_path(machine) or is_file(Path(machine)):
        machine = str(Path(machine).absolute())
    return {"bench": bench, "topology": machine, "device": device, "live": live, "set": list(set_names)}


def file_of_bench(bench: str) -> Path | None:
    """The file of a bench that is asked for by path; None for a name."""
    file = bench.rpartition(":")[0] if _NAMED.search(bench) else bench
    return Path(file) if is_path(file) or is_file(Path(file)) else None


def list_arguments(result: Mapping[str, Any]) -> list[str]:
    """The arguments of `kernbench` that repeat a run, from what its `result.json` says; without those that say what to keep.

    Errors: InputError for a result that does not say enough, or of a run without events.
    """
    request = result.get("request")
    asked: Mapping[str, Any] = request if is_mapping(request) else {}
    bench, topology = asked.get("bench", result.get("bench")), asked.get("topology", result.get("topology"))
    parameters, overrides = result.get("parameters"), result.get("overrides")
    if not (is_mapping(parameters) and is_mapping(overrides)) or ("request" in result and request is None):
        raise InputError(
            "the run cannot be repeated: it was not made by `kernbench run` with a bench that has a name or a file"
        )
    if result.get("mode") == Mode.ANALYTIC:
        raise InputError("the run is of mode analytic, which has no events; run it again in mode hybrid")
    settings = [*parameters.items(), *((TOPOLOGY + path, value) for path, value in overrides.items())]
    return repeat_arguments(
        bench, topology, result.get("mode"), settings, asked.get("device", "all"), live=bool(asked.get("live"))
    )


def repeat_arguments(
    bench: object,
    topology: object,
    mode: object,
    settings: list[tuple[str, object]],
    device: object = "all",
    *,
    live: bool = False,
) -> list[str]:
    """The arguments that run a bench on a machine; settings of None are left out.

    Errors: InputError for what no command line can say.
    """
    texts = {"bench": bench, "topology": topology, "mode": mode, "device": device}
    for name, text in texts.items():
        if not isinstance(text, str) or not text or text.startswith("-"):
            raise InputError(f"the run cannot be repeated: its {name} is {shorten(repr(text))}, which is no name")
    found = ["run", str(bench), "--topology", str(topology), "--mode", str(mode)]
    for name, value in settings:
        if not _SETTING.fullmatch(name) or not isinstance(value, str | int | float | None):
            raise InputError(f"the run cannot be repeated: it sets {shorten(name)} to {shorten(repr(value))}")
        if value is not None:
            found += ["--set", f"{name}={value}"]
    found += [] if device == "all" else ["--device", str(device)]
    return [*found, "--live"] if live else found
