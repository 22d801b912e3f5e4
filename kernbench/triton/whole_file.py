"""Whole files of Triton: a file with its own wrappers and tensors runs as a program, and each launch of a kernel is a line.

The tensors are those of torch on the CPU, or of numpy; a launch computes its numbers in them, in the order of its programs.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernbench.errors import InputError, KernBenchError, RunError, error_text, suggest
from kernbench.library import show_path
from kernbench.tl.language.errors import raising_line
from kernbench.triton.cuda_on_cpu import cuda_on_cpu
from kernbench.triton.host_arrays import HostMemory, is_tensor, spanned
from kernbench.triton.language.launches import Bound, KernelOnGrid, Launcher, launching
from kernbench.triton.language.memory_of_launch import Memory
from kernbench.triton.language.modules import importable
from kernbench.triton.pointees import find_pointees
from kernbench.user_modules import line_of, raised, read_permitted


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of a file: its kernel, its grid, and its arguments by name (of a tensor its shape and type)."""

    kernel: str
    line: str
    grid: tuple[int, int, int]
    arguments: Mapping[str, Any]


@dataclass(slots=True)
class FileRun:
    """A file that ran: its launches in order, and what the called function returned."""

    launches: list[Launch] = field(default_factory=list)
    returned: Any = None


def run_file(
    path: Path,
    call: str | None = None,
    arguments: Sequence[Any] = (),
    launcher: Launcher | None = None,
) -> FileRun:
    """Run a file as a program, or call a function of it; `launcher` takes its launches, by default `compute`.

    Errors: InputError, RunError with the file's line.
    """
    read_permitted(path, "Triton file")
    run = FileRun()
    launcher = launcher or Launcher(lambda *given: run.launches.append(compute(*given)))
    name = "__main__" if call is None else f"kernbench_triton_file.{path.stem}"
    with _as_program(path), importable(), cuda_on_cpu(), launching(launcher):
        try:
            values = runpy.run_path(str(path), run_name=name)
            if call is not None:
                run.returned = _find(values, call, path)(*arguments)
        except KernBenchError:
            raise
        except SystemExit as error:
            if error.code not in (None, 0):
                raise RunError(f"{show_path(path)} ended with exit code {error.code}") from error
        except ModuleNotFoundError as error:
            raise InputError(f"{line_of(error, path)}: {error_text(error)}; install it beside KernBench") from error
        except Exception as error:
            raise raised(show_path(path), error, line_of(error, path)) from error
    return run


def _find(values: Mapping[str, Any], name: str, path: Path) -> Callable[..., Any]:
    found = values.get(name)
    if not callable(found):
        known = [one for one, value in values.items() if callable(value) and not one.startswith("_")]
        raise InputError(f"{show_path(path)} has no function {name!r}{suggest(name, known)}")
    return found


@contextmanager
def _as_program(path: Path) -> Iterator[None]:
    """The file's folder first among those of imports, its name as the program's."""
    before, arguments = list(sys.path), list(sys.argv)
    sys.path.insert(0, str(path.resolve().parent))
    sys.argv[:] = [str(path)]
    os.environ.setdefault("MPLBACKEND", "Agg")
    try:
        yield
    finally:
        sys.path[:], sys.argv[:] = before, arguments


def compute(kernel: KernelOnGrid, args: Sequence[Any], options: Mapping[str, Any]) -> Launch:
    """Compute a launch in the tensors of the host. Errors: InputError, KernelError with program and line."""
    pointees = [(*spanned(one), one) for one in find_pointees([*args, *options.values()])]
    bound: Bound = kernel.with_pointees(pointees).prepare_launch(args, options, None, None)
    memory = HostMemory()
    shown = {name: _shown(value) for name, value in bound.named_arguments.items() if name in kernel.kernel.arg_names}
    bound.replace(lambda value, name: memory.pointer_to(value, name) if is_tensor(value) else value)
    try:
        Memory(bound.grid, memory.arrays, memory.names).run(bound.run)
    except KernBenchError:
        raise
    except Exception as error:
        raise raised(f"kernel {bound.__name__}", error, raising_line(error, bound.code)) from error
    return Launch(bound.__name__, kernel.kernel.place, bound.grid, shown)


def _shown(value: Any) -> Any:
    if isinstance(value, tuple):
        return f"({', '.join(str(_shown(one)) for one in value)})"
    if is_tensor(value):
        return f"{str(value.dtype).removeprefix('torch.')}[{', '.join(map(str, value.shape))}]"
    return value if isinstance(value, (bool, int, float, str)) or value is None else str(value)
