"""Program files: the objects, kernels and arguments of a device program as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from kernbench.errors import InputError
from kernbench.library import show_path
from kernbench.schema.guards import is_mapping
from kernbench.schema.model import Model, check
from kernbench.schema.yaml import Mark, mark_tree

KERNEL_KINDS = ("reader", "writer", "math")
PIPE_KINDS = ("input", "output", "intermed")
_MOST_BYTES = 1 << 30
_Id = Annotated[int, Field(ge=-(2**31), lt=2**31)]
_Size = Annotated[int, Field(ge=0, lt=2**40)]
_Range = tuple[int, int, int, int]


class GlobalSpec(Model):
    """A global buffer: its elements, and those of a page."""

    id: _Id
    name: str = ""
    fmt: str
    size: _Size
    page: Annotated[int, Field(gt=0, le=2**30)] = 1024


class LocalSpec(Model):
    """A local buffer on a grid of core ranges."""

    id: _Id
    name: str = ""
    fmt: str
    size: _Size
    ranges: list[_Range] = Field(default_factory=list[_Range])


class PipeSpec(Model):
    """A pipe; `kind` is 0 input, 1 output, 2 intermediate, `local` the local buffer it lies over or -1."""

    id: _Id
    name: str = ""
    kind: Annotated[int, Field(ge=0, le=2)]
    fmt: str
    tiles: Annotated[int, Field(gt=0, lt=2**20)]
    frame: Annotated[int, Field(ge=0, lt=2**20)] = 0
    local: int = -1
    ranges: list[_Range]


class SemaphoreSpec(Model):
    """A semaphore and its first value."""

    id: _Id
    name: str = ""
    init: Annotated[int, Field(ge=0, lt=2**32)] = 0
    ranges: list[_Range]


class KernelSpec(Model):
    """A kernel; `kind` is 0 reader, 1 writer, 2 math; `args` by logical core "x,y"."""

    kind: Annotated[int, Field(ge=0, le=2)]
    path: str
    compile_args: list[int | float] = Field(default_factory=list[int | float])
    ranges: list[_Range]
    args: dict[str, list[Any]] = Field(default_factory=dict[str, list[Any]])


class ProgramSpec(Model):
    """A whole program."""

    globals: list[GlobalSpec] = Field(default_factory=list[GlobalSpec])
    device_locals: list[LocalSpec] = Field(default_factory=list[LocalSpec])
    locals: list[LocalSpec] = Field(default_factory=list[LocalSpec])
    pipes: list[PipeSpec] = Field(default_factory=list[PipeSpec])
    semaphores: list[SemaphoreSpec] = Field(default_factory=list[SemaphoreSpec])
    kernels: list[KernelSpec] = Field(min_length=1)


class KernelSource(Model):
    """An entry of a kernel map: the file that a path stands for, and the `param<>` values that go with it."""

    src: str
    params: list[int | float] = Field(default_factory=list[int | float])


def find_reference(value: object) -> tuple[str, int] | None:
    """The letter and id of an argument that refers to an object, such as {"p": 2}; None for any other value."""
    if not is_mapping(value) or len(value) != 1:
        return None
    ((letter, id),) = value.items()
    return (letter, id) if letter in ("g", "l", "p", "s") and isinstance(id, int) else None


def read_json(path: Path, what: str) -> Any:
    """The contents of a JSON file. Errors: InputError for one that cannot be read or parsed."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{show_path(path)}: {what} has at most {_MOST_BYTES:,} bytes")
        return json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{show_path(path)}: {what} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{show_path(path)}: {what} is no JSON: {error}") from None


def load_program(path: Path) -> ProgramSpec:
    """A checked program file. Errors: InputError with a line for each mistake."""
    found = read_json(path, "a program file")
    if not is_mapping(found):
        raise InputError(f"{show_path(path)}: a program file is an object with kernels, pipes and so on")
    return check(ProgramSpec, mark_tree(found, Mark(show_path(path))))


def load_kernel_map(path: Path) -> dict[str, KernelSource]:
    """A checked kernel map. Errors: InputError."""
    found = read_json(path, "a kernel map")
    if not is_mapping(found):
        raise InputError(f"{show_path(path)}: a kernel map is an object: path to {{src, params}}")
    entries: dict[str, KernelSource] = {}
    for key, value in found.items():
        entry: Any = {"src": value} if isinstance(value, str) else value
        entries[str(key)] = check(KernelSource, mark_tree(entry, Mark(f"{show_path(path)} {key}")))
    return entries
