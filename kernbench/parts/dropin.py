"""Drop-ins: classes that replace standard parts, in `models/<name>.py` beside the sheet `models/<name>.yaml`.

The file has one public class, derived from `Part` or from a standard part, with the kind of the sheet and every port of that
kind. Its fields are the parameters of the sheet. The file is executed by its path, once for each text.

A compiled machine keeps the file, its hash and the parameters; methods of the class are called when programs are written.
A mistake of a drop-in is one sentence with file and line (see `ports`).
"""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import Field, PydanticUndefinedAnnotation, create_model

from kernbench.errors import InputError
from kernbench.library import show_path
from kernbench.parts import prices
from kernbench.parts.part import Part
from kernbench.python_text import PythonText, read_python
from kernbench.schema import fields
from kernbench.schema.model import Model
from kernbench.schema.sheet import load_sheet
from kernbench.user_modules import execute, is_read

_TYPES = {"int": int, "float": float, "bool": bool, "str": str}


def find_file(sheet: Path) -> Path | None:
    """The file of the drop-in beside a sheet, or None."""
    beside = sheet.with_suffix(".py")
    return beside if beside.is_file() else None


def hash_file(file: Path) -> str:
    """The hash of a file's text. Errors: InputError for a file that cannot be read."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {show_path(file)}: {error.strerror}") from None


def make(file: Path, sha256: str, parameters: Mapping[str, Any], standard: type[Part]) -> Part:
    """The drop-in that a machine was compiled with. Errors: InputError if its file has changed since."""
    if hash_file(file) != sha256:
        raise InputError(f"{show_path(file)} has changed since the machine was compiled; load the machine again")
    return load_class(file, standard).model_validate(parameters)


def load_class(file: Path, standard: type[Part]) -> type[Part]:
    """The class in a file that replaces a standard part; it gets the ports of that part.

    Where files are read and not run it is a part without ports, with the fields that the file and its sheet declare.

    Errors: InputError for a file that does not load, has no or several parts, or a part of another kind, without a port, or
    with a field of an undefined type.
    """
    return _read(file, standard) if is_read(file) else _load(file, hash_file(file), standard)


def _read(file: Path, standard: type[Part]) -> type[Part]:
    """The substitute for a class whose file is not run. Errors: InputError as `read_python`, and for a sheet beside it."""
    text = read_python(file, "drop-in")
    own = [node for node in text.tree.body if isinstance(node, ast.ClassDef) and node.name[0] != "_"]
    bases = {ast.unparse(base).rpartition(".")[2] for node in own for base in node.bases}
    base = standard if standard.__name__ in bases else Part
    lines = [line for node in own for line in node.body if isinstance(line, ast.AnnAssign)]
    declared = [line for line in lines if "ClassVar" not in ast.unparse(line.annotation)]
    found: dict[str, Any] = {
        line.target.id: _field(text, line) for line in declared if isinstance(line.target, ast.Name)
    }
    _, parameters = load_sheet(str(file.with_suffix(".yaml")), standard.kind)
    for name in parameters.value:
        if name not in base.model_fields:
            found.setdefault(name, (Any, Field()))
    made: Any = create_model(own[0].name if own else file.stem, __base__=base, **found)
    made.kind = standard.kind
    return made


def _field(text: PythonText, line: ast.AnnAssign) -> tuple[Any, Any]:
    """The type of a field, if it is one of ours or Python's own, and what is said of the field."""
    written = ast.unparse(line.annotation).rpartition(".")[2]
    block = getattr(prices, written, None)
    if isinstance(block, type) and issubclass(block, Model):
        return block, block()
    kind = _TYPES.get(written) or getattr(fields, written, Any)
    call = line.value if isinstance(line.value, ast.Call) else None
    words = {word.arg: text.value(word.value) for word in call.keywords} if call else {}
    default = text.value(call.args[0]) if call and call.args else words.get("default", ...)
    default = text.value(line.value) if line.value is not None and call is None else default
    return kind, Field(default, description=words.get("description"))


@lru_cache(maxsize=64)
def _load(file: Path, sha256: str, standard: type[Part]) -> type[Part]:  # noqa: ARG001
    found = _only_part(file, standard)
    kind = getattr(found, "kind", None)
    if kind != standard.kind:
        raise InputError(
            f"{place(found)}: {found.__name__} is a part of kind {kind!r}, but its sheet is of {standard.kind!r}; "
            "make them agree"
        )
    try:
        found.model_rebuild()
    except PydanticUndefinedAnnotation as error:
        raise InputError(
            f"{place(found)}: a field of {found.__name__} has the type {error.name!r}, which this file does not define"
        ) from None
    for name, field in found.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Part):
            raise InputError(
                f"{place(found)}: the field {name!r} of {found.__name__} is a part; give it the type of a number or a text"
            )
    for port in standard.ports:
        if port not in found.model_fields and not hasattr(found, port):
            raise InputError(
                f"{place(found)}: {found.__name__} has no {port!r}; every {kind} gives {', '.join(standard.ports)}"
            )
    found.ports = standard.ports
    return found


def _only_part(file: Path, standard: type[Part]) -> type[Part]:
    module = execute(file, "models", "drop-in")
    own = [value for name, value in vars(module).items() if _is_own(value, module.__name__) and name[0] != "_"]
    parts = [value for value in own if issubclass(value, Part)]
    if not parts:
        raise InputError(
            f"{show_path(file)}: the drop-in has no part; define a class that derives from "
            f"{standard.__module__}.{standard.__name__} or from {Part.__module__}.Part"
        )
    if len(parts) > 1:
        listed = ", ".join(f"{part.__name__} at {place(part)}" for part in parts)
        raise InputError(
            f"{show_path(file)}: the drop-in has several parts: {listed}; begin the names of all but one with '_'"
        )
    return parts[0]


def _is_own(value: object, module: str) -> bool:
    return isinstance(value, type) and value.__module__ == module


def place(part: type[Part], port: str = "") -> str:
    """`file:line` of a class, or of the method or property that is a port."""
    held = inspect.getattr_static(part, port, None) if port else None
    function = held.fget if isinstance(held, property) else held
    if inspect.isfunction(function):
        return f"{show_path(function.__code__.co_filename)}:{function.__code__.co_firstlineno}"
    file = inspect.getfile(part)
    return f"{show_path(file)}:{inspect.getsourcelines(part)[1]}"
