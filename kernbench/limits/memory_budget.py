"""Memory budget: what this process may still take of the computer's memory, so that what cannot fit is refused beforehand.

That is the least of three: free memory of the system, what the process's control group leaves (a container, a batch job), and
the limit of its address space (`ulimit -v`). Estimates are of what is certainly needed, so nothing that fits is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from errno import ENOMEM
from pathlib import Path

from kernbench.errors import KernBenchError, LimitError, message
from kernbench.units import format_bytes

LEAST_CHECKED = 1 << 24  # bytes: what is less is there, and finding out takes as long as making it
_UNMAPPED = ("can't start new thread", "failed to map segment", "annot allocate memory")  # of errors at `ulimit -v`
_CGROUPS = Path("/sys/fs/cgroup")
_V2, _V1 = (
    ("memory.max", "memory.current", "inactive_file"),
    (
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
)


class _Share:
    """How many processes of a sweep divide the memory of the computer."""

    processes = 1


def divide_budget(processes: int) -> None:
    """Count with this share of what is free, for processes that run side by side."""
    _Share.processes = processes


def find_free_bytes() -> int | None:
    """The bytes that this process may still take; None where the system does not say."""
    shared = [nbytes // _Share.processes for nbytes in (_system_bytes(), *_cgroup_bytes()) if nbytes is not None]
    own = _address_space_bytes()
    return min([*shared, *([] if own is None else [own])], default=None)


def check_fits(needed_bytes: int, what: str, remedy: str) -> None:
    """Errors: LimitError if these bytes do not fit; `what` is what takes it ("the numbers of 3 tensors")."""
    if needed_bytes < LEAST_CHECKED:
        return
    free = find_free_bytes()
    if free is not None and needed_bytes > free:
        raise LimitError(
            f"{what} would take {format_bytes(needed_bytes)} of this computer's memory, of which {format_bytes(free)} are "
            f"free; {remedy}"
        )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that the process gets no more memory of this computer.

    Where `ulimit -v` is reached, libraries raise others than MemoryError: a thread has no stack, a library is not mapped.
    """
    if isinstance(error, KernBenchError):  # of a modelled memory
        return False
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == ENOMEM):
        return True
    if _address_space_bytes() is None:
        return False
    behind = error.__cause__ or error.__context__
    return any(text in message(error) for text in _UNMAPPED) or (behind is not None and is_out_of_memory(behind))


def tell_full(error: BaseException, what: str = "the run") -> str:
    """What is full, what was asked for if the error says so (numpy's does), and the remedy: to make `what` smaller."""
    free, own = find_free_bytes(), _address_space_bytes()
    left = "" if free is None else f" ({format_bytes(free)} are free)"
    said = " ".join(message(error).split()) if isinstance(error, MemoryError) else ""
    asked = f": {said}" if said else ""
    if own is not None and own == free:
        return (
            f"the address space that ulimit -v leaves this process is full{left}{asked}; "
            f"raise that limit, or make {what} smaller"
        )
    return f"this computer's memory is full{left}{asked}; make {what} smaller"


def read_proc_bytes(file: str, field: str) -> int | None:
    """A size that Linux tells: of the system in "meminfo", of this process in "self/status"; None on other systems."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc", file).read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024
    return None


def _system_bytes() -> int | None:
    if (free := read_proc_bytes("meminfo", "MemAvailable")) is not None:
        return free
    with suppress(AttributeError, ValueError, OSError):  # all memory, on systems that do not say what is free
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _cgroup_bytes() -> Iterator[int]:
    """What each control group of this process leaves; its files can be given up for memory."""
    for folder, (limit, used, files) in _cgroup_folders():
        with suppress(OSError, ValueError):  # no limit is the text "max"
            most = int((folder / limit).read_text())
            stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            yield max(0, most - int((folder / used).read_text()) + int(stat.get(files, 0)))


def _cgroup_folders() -> Iterator[tuple[Path, tuple[str, str, str]]]:
    """The folders of the control groups of this process, outermost last, with the names of their files."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and "memory" not in controllers.split(","):
                continue
            root, names = (_CGROUPS / "memory", _V1) if controllers else (_CGROUPS, _V2)
            folder = root / path.strip("/")
            yield folder, names
            for parent in folder.parents:
                if parent.is_relative_to(root):
                    yield parent, names


def _address_space_bytes() -> int | None:
    with suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            return max(0, most - used)
    return None
