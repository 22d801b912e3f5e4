"""`kernbench show` of benches: on PEs, of Tanto programs, of task graphs; and of collective algorithms."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernbench import library
from kernbench.cli.shown import Section, Shown
from kernbench.errors import InputError
from kernbench.library import show_path
from kernbench.runs.bench import Bench, find_bench
from kernbench.runs.parameter_docs import split_docstring

COLUMNS = {"field": "parameter", "default": "default", "allowed": "may be", "meaning": "meaning"}
_TYPES = {
    "Written": "what only running the file tells",
    "int": "whole number",
    "float": "number",
    "bool": "true, false",
    "str": "text",
}


def show_bench(name: str, prefix: str | None) -> Shown:
    """A bench with its parameters. Errors: InputError as `find_bench`, and for the prefix."""
    found = find_bench(name)
    rows = parameter_rows(found)
    machines = "chips of family tensix" if found.is_tanto else "machines of family sip"
    data = {**found.to_dict(), "kind": "bench", "place": found.place, "text": found.text, "fields": rows}
    shown = Shown(
        found.name,
        f"bench for {machines}{', whose kernels branch on data' if found.live else ''}",
        found.description,
        found.place,
        [Section("", rows, COLUMNS)] if rows else [],
        data,
        text=found.text,
        remarks=[_remark(found)],
    )
    return shown.only(prefix) if prefix else shown


def parameter_rows(found: Bench) -> list[dict[str, str]]:
    """A row for each parameter of a bench: its name, default, allowed values and meaning, as texts."""
    return [
        {
            "field": name,
            "default": _text(default),
            "allowed": ", ".join(map(_text, found.choices[name])) if name in found.choices else _type(default),
            "meaning": found.meanings.get(name, ""),
        }
        for name, default in found.parameters.items()
    ]


def show_pto(name: str, prefix: str | None) -> Shown:
    """A bench of task graphs with its cases and kernels. Errors: InputError as `find_bench` of `pto`, and for the prefix."""
    from kernbench.pto.bench import find_bench as find_pto

    found = find_pto(name)
    text, meanings = split_docstring(ast.get_docstring(ast.parse(found.sources[0].read_text(encoding="utf-8"))))
    names = dict.fromkeys(parameter for case in found.cases.values() for parameter in case)
    rows = [
        {
            "field": parameter,
            **{case: _text(values[parameter]) for case, values in found.cases.items() if parameter in values},
            "allowed": _type(next(values[parameter] for values in found.cases.values() if parameter in values)),
            "meaning": meanings.get(parameter, ""),
        }
        for parameter in names
    ]
    cases = {case: f"{case}{' (default)' if case == found.default_case else ''}" for case in found.cases}
    kernels = [
        {"id": str(number), "name": one.name, "cores": str(one.core_type)} for number, one in found.kernels.items()
    ]
    data = {
        "name": found.name,
        "kind": "pto",
        "description": found.description,
        "file": str(found.file),
        "cases": found.cases,
        "default_case": found.default_case,
        "runtime": dict(found.runtime),
        "kernels": kernels,
        "fields": rows,
    }
    shown = Shown(
        Path(name).stem,
        f"bench of task graphs, {found.runtime.get('runtime', '')}",
        found.description,
        show_path(found.file),
        [
            Section("", rows, {"field": "parameter", **cases, "allowed": "may be", "meaning": "meaning"}),
            Section("kernels", kernels, {"id": "func_id", "name": "name", "cores": "cores"}),
        ],
        data,
        text=text if text.rstrip(".") != found.description else "",
        remarks=[f"kernbench pto run {Path(name).stem} --case {found.default_case} runs it"],
    )
    return shown.only(prefix) if prefix else shown


def show_collective(name: str, _prefix: str | None = None) -> Shown:
    """A collective algorithm: what its file says, and what ccl.yaml calls it. Errors: InputError."""
    from kernbench.schema.yaml import load

    file = library.find("benches/ccl", name)
    try:
        text = ast.get_docstring(ast.parse(file.read_bytes())) or ""
    except (OSError, SyntaxError, ValueError) as error:
        raise InputError(f"{show_path(file)}: cannot be read as Python: {error}") from None
    beside = file.with_name("ccl.yaml")
    entries: Mapping[str, Any] = load(beside).plain().get("algorithms", {}) if beside.is_file() else {}
    names = {entry: given for entry, given in entries.items() if given.get("module") == file.stem}
    description, _, rest = text.partition("\n")
    rows = [
        {"field": entry, "settings": ", ".join(f"{key}={value}" for key, value in given.items() if key != "module")}
        for entry, given in names.items()
    ]
    data = {"name": file.stem, "kind": "collective", "description": description, "file": str(file), "text": text,
            "entries": names, "fields": rows}  # fmt: skip
    sections = [Section("", rows, {"field": "in ccl.yaml", "settings": "settings"})] if rows else []
    return Shown(file.stem, "collective algorithm", description, show_path(file), sections, data, text=rest.strip())


def _remark(found: Bench) -> str:
    chip = f" --topology {library.TANTO_TOPOLOGY}" if found.is_tanto else ""
    run = f"kernbench run {found.name}{chip}"
    first = next(iter(found.parameters), None)
    return f"{run} runs it" if first is None else f"{run} --set {first}=VALUE runs it with another value"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if value != "" else '""'


def _type(value: object) -> str:
    return _TYPES.get(type(value).__name__, type(value).__name__)
