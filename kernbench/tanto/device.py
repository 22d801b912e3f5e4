"""A device: what outlives programs on a chip, and the translated kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from kernbench.errors import InputError
from kernbench.library import show_path
from kernbench.machine.families.tensix.places import check_chip
from kernbench.tanto.cores.kernel import MODULE
from kernbench.tanto.cores.storage import Core, GlobalBuffer, LocalPart
from kernbench.tanto.formats import find_format, from_host, to_host
from kernbench.tanto.language.arithmetic import HELPERS
from kernbench.tanto.language.reading import make_source, read_text
from kernbench.tanto.language.scope import Unit
from kernbench.tanto.language.translate import translate_source
from kernbench.tanto.python_kernel import PythonKernel, compile_function
from kernbench.tanto.timing.lowering import USERS

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.tanto.arguments import ArgumentBinder
    from kernbench.tanto.cores.calls import RunningKernel
    from kernbench.tanto.program_file import KernelSpec

MOST_DRAM = 1 << 34


@dataclass(frozen=True, slots=True)
class TranslatedKernel:
    """A kernel file that was translated."""

    unit: Unit
    code: CodeType

    def bind(
        self, binder: ArgumentBinder, spec: KernelSpec, kernel: RunningKernel, params: Sequence[int | float]
    ) -> partial[None]:
        """The call with its arguments on a core. Errors: InputError for arguments that do not fit."""
        del params  # they are constants of the translation
        return partial(self.function(kernel), *binder.bind(spec, self.unit, kernel))

    def function(self, kernel: object) -> Callable[..., None]:
        """The kernel function, whose effects are calls of a kernel."""
        names: dict[str, Any] = {"K": kernel, **HELPERS}
        exec(self.code, names)
        return names["f_kernel"]


KernelCode = TranslatedKernel | PythonKernel


@dataclass(frozen=True, slots=True)
class Params:
    """Values of `param<>` declarations, equal if they are written alike: 0.0 and -0.0 are not."""

    values: tuple[Any, ...] = field(compare=False)
    written: str


class Device:
    """A chip with its global buffers, device locals and kernels.

    `nearest` rounds to nearest even where formats are converted, instead of cutting off.
    """

    def __init__(self, machine: Machine, *, nearest: bool = False, defines: Mapping[str, str] | None = None) -> None:
        self.machine, self.nearest = machine, nearest
        self.places = check_chip(machine, USERS)
        self.defines = dict(defines or {})
        self.globals: dict[int, GlobalBuffer] = {}
        self.locals: dict[int, dict[Core, LocalPart]] = {}
        self.initial: dict[int, np.ndarray | bytes] = {}  # given for buffers that are not made yet
        self._ids = 0
        self._units: dict[tuple[Any, ...], TranslatedKernel] = {}

    def next_id(self) -> int:
        """An id for an object that the host makes."""
        self._ids += 1
        return self._ids - 1

    def make_global(self, id: int, fmt: str, size: int, page: int) -> GlobalBuffer:
        """The buffer of an id, the same as before if it is alike. Errors: InputError for what does not fit."""
        if page & (page - 1):
            raise InputError(f"global {id}: page is {page}, expected a power of two")
        found, known = find_format(fmt), self.globals.get(id)
        if known is not None and (known.fmt, known.size, known.page) == (found, size, page):
            return known
        if found.bytes_of(size) > MOST_DRAM:
            raise InputError(f"global {id}: {size:,} elements of {found.name} do not fit into the chip's DRAM")
        made = self.globals[id] = GlobalBuffer(id, found, size, page)
        if id in self.initial:
            self.write(id, self.initial[id])
        return made

    def write(self, id: int, values: np.ndarray | bytes, letter: str = "g") -> None:
        """Write a global buffer ("g") or a local that outlives programs ("l") from the host.

        Bytes are those of the storage. A local has the elements of its cores one after the other, in the order of its grid.
        Errors: InputError for another size.
        """
        what, parts = self._parts(id, letter)
        fmt, size = parts[0].fmt, sum(part.size for part in parts)
        if isinstance(values, bytes):
            nbytes = size * fmt.storage.itemsize
            if len(values) != nbytes:
                raise InputError(f"{what} has {nbytes:,} bytes; got {len(values):,}")
            stored = np.frombuffer(values, fmt.storage)
        else:
            stored = from_host(values, fmt, nearest=self.nearest)
        if len(stored) != size:
            raise InputError(f"{what} has {size:,} elements; got {len(stored):,}")
        for part, at in zip(parts, np.cumsum([0, *(part.size for part in parts)]).tolist(), strict=False):
            part.data[:] = stored[at : at + part.size]

    def read(self, id: int, letter: str = "g") -> np.ndarray:
        """A buffer, as for `write`, as the host gets it: float32 for bfloat16 and block formats, else its own type."""
        _, parts = self._parts(id, letter)
        return to_host(np.concatenate([part.data for part in parts]), parts[0].fmt)

    def _parts(self, id: int, letter: str) -> tuple[str, list[GlobalBuffer] | list[LocalPart]]:
        if letter == "l":
            return f"local {id}", list(self.locals[id].values())
        return f"global {id}", [self.globals[id]]

    def make_local(self, id: int, fmt: str, size: int, cores: Iterable[Core]) -> dict[Core, LocalPart]:
        """The parts of a local that outlives programs, the same as before if it is alike."""
        found, wanted = find_format(fmt), tuple(cores)
        known = self.locals.get(id)
        if known is None or set(known) != set(wanted) or any((p.fmt, p.size) != (found, size) for p in known.values()):
            known = self.locals[id] = {core: LocalPart(id, core, found, size) for core in wanted}
        return known

    def kernel(self, source: Path | FunctionType, params: tuple[Any, ...], element: str) -> KernelCode:
        """The code of a kernel, for an element type that T stands for. Errors: KernelSourceError, InputError."""
        if isinstance(source, FunctionType):
            return compile_function(source, str(self.defines.get("T", element)))
        key = (str(source), repr(params), element)
        found = self._units.get(key)
        if found is None:
            defines = tuple({"T": element, **self.defines}.items())
            found = self._units[key] = _translated(
                show_path(source), read_text(source), defines, Params(params, repr(params))
            )
        return found


@lru_cache(maxsize=64)
def _translated(file: str, text: str, defines: tuple[tuple[str, str], ...], params: Params) -> TranslatedKernel:
    """The code of the text of a kernel file, which other devices of the process may have, too. Errors: KernelSourceError."""
    unit = translate_source(make_source(file, text, dict(defines)), params.values)
    return TranslatedKernel(unit, compile(unit.python, f"{MODULE}{unit.file}>", "exec"))


def read_buffer_file(path: Path) -> np.ndarray | bytes:
    """The contents of a buffer from a file: an array of numbers (.npy), or bytes (.bin). Errors: InputError."""
    try:
        if path.suffix == ".bin":
            return path.read_bytes()
        found: object = np.load(path, allow_pickle=False)
    except OSError as error:
        raise InputError(f"{show_path(path)}: cannot be read: {error.strerror or error}") from None
    except (ValueError, EOFError) as error:
        raise InputError(f"{show_path(path)}: is no .npy file of numbers: {error}") from None
    if not _is_array(found) or found.dtype.kind not in "biufV":
        raise InputError(f"{show_path(path)}: is no .npy file of numbers")
    return found


def _is_array(value: object) -> TypeGuard[np.ndarray]:
    return isinstance(value, np.ndarray)
