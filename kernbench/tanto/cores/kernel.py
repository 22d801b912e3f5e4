"""One kernel on one core while it runs: a greenlet that goes on until it has to wait, and its place in the source."""

from __future__ import annotations

from inspect import currentframe
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError
from kernbench.tanto.program_file import KERNEL_KINDS

if TYPE_CHECKING:
    from types import FrameType

    from kernbench.tanto.cores.scheduler import Scheduler
    from kernbench.tanto.cores.storage import Core
    from kernbench.tanto.language.scope import Unit

MODULE = "<tanto kernel "  # how the file name of a translated module begins


Transfer = tuple[object, int, int, tuple[int, int]]


class TantoError(InputError):
    """A kernel did what it must not; the sentence has the kernel's file:line:column and the core."""


class TantoDeadlock(InputError):
    """No kernel can go on; the sentence names each that waits, its core, and the object it waits for."""

    code = "deadlock"


class CoreKernel:
    """A kernel on a core. `c` counts the operations of its processor; `released` says that it waits no longer for a race."""

    def __init__(self, kind: int, core: Core, unit: Unit, scheduler: Scheduler) -> None:
        self.kind, self.core, self.unit, self.scheduler = kind, core, unit, scheduler
        self.is_math = kind == 2
        self.c = 0
        self.line = 0  # of its source, under way
        self.met_at = -1  # the event of a semaphore that it waited for
        self.released = False
        self.waits_for = ""
        self.lenient = False  # it waits for data that it never asked to be there
        self.greenlet: Any = None
        # Transfers since the last barrier: part, first element, count, row.
        self.reads_pending: list[Transfer] = []
        self.writes_pending: list[Transfer] = []
        self.warnings: dict[str, str] = {}  # of all kernels of a run, by place and sentence
        self.missing = 0  # acknowledgements that never come

    def __str__(self) -> str:
        return f"{KERNEL_KINDS[self.kind]} kernel on core {self.core[0]},{self.core[1]}"

    # Waiting

    def wake(self) -> None:
        """Let it go on when its turn comes."""
        self.scheduler.add(self)

    def block(self, waiters: list[CoreKernel], what: str, *, lenient: bool = False) -> None:
        """Wait among others until something changes."""
        self.waits_for, self.lenient = what, lenient
        waiters.append(self)
        self.scheduler.pause()
        self.waits_for = ""

    def pause(self, what: str, *, lenient: bool = False) -> None:
        """Wait until somebody calls `wake`."""
        self.waits_for, self.lenient = what, lenient
        self.scheduler.pause()
        self.waits_for = ""

    # Places and errors

    def place(self, frame: FrameType | None = None) -> str:
        """file:line:column of the statement under way."""
        at: Any = frame or currentframe()
        while at is not None:
            if at.f_code.co_filename.startswith(MODULE):
                return self.unit.place(at.f_lineno)
            at = at.f_back
        return self.unit.file

    def place_waiting(self) -> str:
        """The place at which it waits."""
        return self.place(self.greenlet.gr_frame)

    def warn(self, message: str) -> None:
        """Note what the statement under way must not do, once for each place."""
        place = self.place()
        self.warnings.setdefault(f"{place}: {message}", f"{place}: {self}: {message}")

    def error(self, message: str) -> TantoError:
        """The error at the statement under way."""
        return TantoError(f"{self.place()}: {self}: {message}")
