"""Run a kernel without a machine and collect its commands in a list, for tests and inspection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from kernbench.program.op_semantics import Composite, Note, Recv, Ref
from kernbench.tl.language.handle import TensorHandle, reference_handle
from kernbench.tl.language.tensor_type import type_of

if TYPE_CHECKING:
    from types import FrameType

    from kernbench.tl.language.handle import CompletionHandle


@dataclass(slots=True, eq=False)
class Cycles(Note):
    """The PE's CPU is busy for a number of cycles."""

    op: ClassVar[str] = "cycles"
    cycles: int


@dataclass(slots=True, eq=False)
class Wait(Note):
    """The kernel waits for a composite."""

    op: ClassVar[str] = "wait"
    composite: Composite


@dataclass(slots=True, eq=False)
class Post(Note):
    """The kernel expects a message, to be received by a later command."""

    op: ClassVar[str] = "recv_async"
    recv: Recv


class CommandList:
    """A runner that only collects commands; handles have no data."""

    tile: tuple[int, int, int] = (32, 64, 32)

    def __init__(self, commands: list[Note]) -> None:
        self._commands = commands

    def begin_call(self, frame: FrameType, /) -> None:
        """Commands have no source lines."""

    def delay(self, cycles: int, /) -> None:
        """Collect the CPU's cycles."""
        self._commands.append(Cycles(cycles))

    def load(self, note: Note, *_: object) -> None:
        """Collect a load."""
        self._commands.append(note)

    store = compute = send = multicast = load

    def post(self, note: Recv, /) -> None:
        """Collect the expectation of a message."""
        self._commands.append(Post(note))

    def learn(self, _: Recv, /) -> None:
        """Without a machine nothing arrives."""

    def receive(self, note: Recv, /) -> TensorHandle:
        """Collect a receipt."""
        self._commands.append(note)
        if note.out_va is not None:
            return reference_handle(Ref(note.out_va, note.shape, note.dtype, note.out_space), on_demand=True)
        return TensorHandle(note.out, note.out_tcm or 0, type_of(note.shape, note.dtype))

    def check_place(self, *_: object) -> None:
        """Without a machine any address does."""

    def composite(self, completion: CompletionHandle, /) -> None:
        """Collect the start of a pipeline."""
        self._commands.append(completion.note)

    def wait(self, completion: CompletionHandle, /) -> None:
        """Collect a wait."""
        self._commands.append(Wait(completion.note))

    def read_data(self, handle: TensorHandle, /) -> None:
        """Return None: nothing is computed here."""
