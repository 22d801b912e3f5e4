"""What a kernel does, written down while it runs by itself: as if all that it waits for had happened.

A kernel whose control flow does not read data does the same whatever the other kernels do, so it need not wait for them. A
script has what its rows are made of, and its acts: what it does to pipes and semaphores, where kernels meet. It words no
messages: whatever may need one (an error, a race, a read outside of a buffer) raises `Unscripted`, and the kernels then run
in turn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from kernbench.engine.turns import acts
from kernbench.limits.time_limit import TimeLimitReached
from kernbench.tanto.timing.kernel_log import pack_numbers
from kernbench.tanto.verbs.pipes import PipeVerbs

if TYPE_CHECKING:
    from kernbench.tanto.cores.calls import Alone, RunningKernel
    from kernbench.tanto.cores.storage import Core, PipePart

ObjectKey = tuple[str, int, "Core | None"]  # letter, id, and the core that has the part; None: that of the kernel

ACT_WIDTH = 4
MOST_ENTRIES = 1 << 22  # entries of a script: a kernel that runs for ever once nothing holds it back has no script


class Unscripted(Exception):
    """A kernel does what only a run in turn with the others tells."""


class ReadsPending(Unscripted):
    """A frame is pushed before the reads that came before have a barrier: a script that follows reads tells if they race."""


class Script(ABC):
    """The script of a kernel; its translated module calls it as `K`. `c` and `line` are as of a running kernel."""

    def __init__(self, kernel: RunningKernel) -> None:
        self.kernel, self.run, self.core, self.unit = kernel, kernel.run, kernel.core, kernel.unit
        self.c = self.line = 0
        self.acts: list[int] = []
        self.objects: dict[ObjectKey, int] = {}  # the parts that acts name
        self.act_rows = pack_numbers([], ACT_WIDTH)  # of the finished script
        self.most_numbers = MOST_ENTRIES * kernel.rows.width
        kernel.rows.follow(self)

    def object(self, letter: str, id: int, core: Core | None = None) -> int:
        """The number of a part in this script."""
        return self.objects.setdefault((letter, id, core), len(self.objects))

    def check(self, may: bool) -> None:
        """Check that the kernel may do what it does, and that it may come to an end. Errors: Unscripted."""
        if not may or len(self.kernel.rows.log) > self.most_numbers:
            raise Unscripted

    def write(self, alone: Alone) -> None:
        """Run the kernel to its end. Errors: those of its code; Unscripted, LimitError."""
        try:
            alone.function(self)(*[self.end_of(one) for one in alone.arguments])
        except TimeLimitReached as reached:
            raise self.kernel.scheduler.limit_error(self.kernel, reached) from reached
        self.kernel.rows.finish()
        self.act_rows = pack_numbers(self.acts, ACT_WIDTH)
        self.acts.clear()

    @abstractmethod
    def end_of(self, given: Any) -> Any:
        """An argument of the kernel, as the script sees it."""


class ScriptPipe(PipeVerbs):
    """A pipe in a script, as if this kernel alone wrote it, or read it: `run_in_turn` tells if that is so."""

    def __init__(self, script: Script, part: PipePart) -> None:
        super().__init__(part, script.kernel.rows, is_math=script.kernel.is_math)
        self.script, self.number = script, script.object("p", part.id)

    def refuse_frame(self, tiles: int) -> Exception:  # noqa: ARG002
        return Unscripted()

    def check_frame(self, call: str, *, writes: bool) -> None:  # noqa: ARG002
        self.script.check((self.may_write if writes else self.may_read) and self.frame > 0)

    def await_room(self) -> int:
        popped = self.written_tiles + self.frame - self.tiles
        self.script.acts += (acts.RESERVE, self.number, self.frame, popped)
        return popped

    def await_tiles(self) -> int:
        pushed = self.read_tiles + self.frame
        self.script.acts += (acts.AWAIT, self.number, self.frame, pushed)
        return pushed

    def check_push(self) -> None:
        if self.written_tiles + self.frame > self.reserved:
            raise Unscripted
        self.script.acts += (acts.PUSH, self.number, self.frame, 0)

    def check_pop(self) -> None:
        if self.read_tiles + self.frame > self.waited:
            raise Unscripted
        self.script.acts += (acts.POP, self.number, self.frame, 0)
