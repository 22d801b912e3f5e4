"""What Python kernels use beside the methods of their arguments: the names of the language. They act on the kernel that runs.

A kernel of a program file has these names without an import.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from kernbench.errors import InputError
from kernbench.tanto.cores.calls import RunningKernel
from kernbench.tanto.language.methods import FUNCTIONS, METHODS, Method
from kernbench.tanto.language.types import M32, SCALARS, wrap_value

T = "T"  # the element type: the format of the kernel's arguments, if they have one


def running() -> RunningKernel:
    """The kernel that runs. Errors: InputError outside of kernels."""
    from greenlet import getcurrent

    found = getattr(getcurrent(), "tanto_kernel", None)
    if found is None:
        raise InputError("this works in a running kernel alone; give the function that calls it to a Kernel")
    return found


def spend(operations: int, line: int) -> None:
    """Count operations of the kernel's processor, for a line."""
    kernel = running()
    kernel.c += operations
    kernel.line = line


class Handle:
    """An object of the language in a Python kernel, with the methods of the specification."""

    kind = ""
    __slots__ = ("end",)

    def __init__(self, end: Any) -> None:
        self.end = end


class Global(Handle):
    """A global buffer."""

    kind = "global"
    __slots__ = ()


class Local(Handle):
    """A local buffer."""

    kind = "local"
    __slots__ = ()


class Pipe(Handle):
    """A pipe."""

    kind = "pipe"
    __slots__ = ()


class Semaphore(Handle):
    """A semaphore."""

    kind = "semaphore"
    __slots__ = ()


class Math(Handle):
    """The math object between `with math(T) as acc:` and the end of the block."""

    kind = "math"
    __slots__ = ("element",)

    def __init__(self, element: str) -> None:
        super().__init__(None)
        self.element = element

    def __enter__(self) -> Math:
        kernel = running()
        self.end = kernel.begin_math(kernel.unit.element if self.element == T else self.element)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None or not issubclass(kind, Exception):
            running().end_math(self.end)


HANDLES: dict[str, type[Handle]] = {one.kind: one for one in (Global, Local, Pipe, Semaphore)}
_WORDS = {"u": "uint32", "t": "T", "b": "bool"}


def math(element: str = T) -> Math:
    """A math object of an element type, for a `with` block."""
    return Math(element)


def _call(owner: Any, name: str, overloads: list[Method], arguments: tuple[Any, ...]) -> Any:
    """Call the overload that fits. Errors: TantoError if none does."""
    kinds = tuple(one.kind if isinstance(one, Handle) else "" for one in arguments)
    for method in overloads:
        if tuple(kind if len(kind) > 1 else "" for kind in method.arguments) == kinds:
            values = [_value(name, one, kind) for one, kind in zip(arguments, method.arguments, strict=True)]
            return getattr(owner, method.call)(*values)
    forms = " or ".join(sorted({f"({', '.join(_WORDS.get(k, k) for k in m.arguments)})" for m in overloads}))
    got = ", ".join(kind or type(one).__name__ for kind, one in zip(kinds, arguments, strict=True))
    raise running().error(f"{name} takes {forms}, got ({got})")


def _value(name: str, given: Any, kind: str) -> Any:
    if isinstance(given, Handle):
        return given.end
    if kind == "t" and isinstance(given, float):
        return given
    try:
        whole = given.__index__()
    except AttributeError:
        raise running().error(f"{name}: got {given!r}, expected a whole number") from None
    return bool(whole) if kind == "b" else whole if kind == "t" else whole & M32


def _method(kind: str, name: str, overloads: list[Method]) -> Callable[..., Any]:
    def call(self: Handle, *arguments: Any) -> Any:
        if self.end is None:
            raise running().error("a math object is used in `with math(T) as acc:`")
        return _call(self.end, f"{kind}.{name}", overloads, arguments)

    call.__name__ = name
    return call


for _kind, _overloads in METHODS.items():  # the handles get the methods of the specification
    for _name in _overloads:
        setattr(Math if _kind == "math" else HANDLES[_kind], _name, _method(_kind, _name, _overloads[_name]))


def _function(name: str) -> Callable[..., None]:
    def call(*arguments: Any) -> None:
        _call(running(), name, FUNCTIONS[name], arguments)

    call.__name__ = name
    return call


def _cast(name: str) -> Callable[[float], int]:
    def call(value: float) -> int:
        return wrap_value(int(value), SCALARS[name])

    call.__name__ = name
    return call


read_barrier, write_barrier = _function("read_barrier"), _function("write_barrier")
tilize_block, untilize_block = _function("tilize_block"), _function("untilize_block")
uint8, uint16, uint32, uint64 = (_cast(f"uint{bits}") for bits in (8, 16, 32, 64))
int8, int16, int32, int64 = (_cast(f"int{bits}") for bits in (8, 16, 32, 64))

NAMES: dict[str, Any] = {
    "T": T, "math": math, "read_barrier": read_barrier, "write_barrier": write_barrier, "tilize_block": tilize_block,
    "untilize_block": untilize_block, "uint8": uint8, "uint16": uint16, "uint32": uint32, "uint64": uint64, "int8": int8,
    "int16": int16, "int32": int32, "int64": int64,
}  # fmt: skip
