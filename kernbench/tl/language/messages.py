"""Messages between PEs: sends to one neighbour or several, and receives from one.

A message has the numbers that its source held when it was sent. A receive without a direction takes the next message that
has arrived from any neighbour, in fair turns.
"""

# pyright: reportUnnecessaryIsInstance=false
# What users write is not checked for types before it runs.

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from kernbench.dtypes import itemsize
from kernbench.errors import suggest
from kernbench.program.op_semantics import Multicast, Recv, Ref, Send, Shape
from kernbench.tl.language.context_base import ContextCore
from kernbench.tl.language.errors import fail
from kernbench.tl.language.handle import WHOLE, RecvFuture, TensorHandle, reference_handle
from kernbench.tl.language.shapes import as_shape
from kernbench.tl.language.tensor_type import as_dtype
from kernbench.tl.lowering.ipcq import DIRECTIONS, is_direction

SPACES = ("tcm", "sram", "hbm")


class MessagePrimitives(ContextCore):
    """The message primitives of `tl`."""

    def send(
        self,
        dir: str | Sequence[str],
        src: TensorHandle | None = None,
        *,
        src_addr: int | None = None,
        nbytes: int | None = None,
        shape: int | Sequence[int] | None = None,
        dtype: str = "f16",
        space: str = "tcm",
    ) -> None:
        """Send a tensor to the neighbour in a direction; returns once there is a free slot for it there.

        Several directions are a multicast: one message to all these neighbours, which returns once all of them have a slot.

        Instead of a tensor, `src_addr` in `space` with `shape` or `nbytes` of `dtype`: an address in TCM of a tensor
        that the kernel holds, or in memory ("hbm", "sram"), which is read first. What is sent is what is there then: a slot
        may hold the next message by the time, a received tensor itself does not change. Errors: KernelError.
        """
        directions = self._directions(dir)
        if src is None:
            if src_addr is None:
                fail("tl.send got neither a tensor nor an address", "give src, or src_addr with shape or nbytes")
            found = _elements("send", nbytes, shape, dtype)
            address = self._address("send", src_addr, prod(found) * itemsize(dtype), dtype)
            src = self._source(address, found, dtype, space)
        elif src_addr is not None or nbytes is not None or shape is not None:
            fail("tl.send got a tensor and an address", "give one of them; a tensor knows its shape")
        else:
            self._check_message(src)
        if src.streamed:
            src = self._fetch(src)
        self._dispatch()
        if len(directions) == 1:
            self._runner.send(Send((src.operand,), directions[0], src.shape, src.dtype), src)
        else:
            self._runner.multicast(Multicast((src.operand,), directions, src.shape, src.dtype), src)

    def recv(
        self,
        dir: str | None = None,
        shape: int | Sequence[int] = (),
        dtype: str = "f16",
        space: str = "tcm",
        dst_addr: int | None = None,
        dst_space: str | None = None,
    ) -> TensorHandle:
        """Wait for the next message from the neighbour in a direction, or from any, and read it out of its slot.

        With both `dst_addr` and `dst_space` it is also copied there, and the tensor that is returned is the copy; otherwise it
        is the slot. Without a shape it has that of the message. The slot lies where the process group put it, whatever
        `space` says. Errors: KernelError.
        """
        self._space("recv", space)
        note = self._recv_note("recv", dir, shape, dtype)
        if dst_space is not None:
            self._space("recv", dst_space)
        if dst_addr is None or dst_space is None:
            return self._receive_now(note)
        address = self._check_copy(note, dst_addr)
        if dst_space == "tcm":
            note.out_tcm = address
        else:
            note.out_va, note.out_space = address, dst_space
        return self._receive_now(note, dst_addr)

    def recv_no_consume(
        self, dir: str | None = None, shape: int | Sequence[int] = (), dtype: str = "f16"
    ) -> TensorHandle:
        """As `recv`, but reading the slot costs nothing: only to compare a message with a store. Not for real kernels."""
        note = self._recv_note("recv_no_consume", dir, shape, dtype)
        note.consume = False
        return self._receive_now(note)

    def recv_async(self, dir: str, shape: int | Sequence[int] = (), dtype: str = "f16") -> RecvFuture:
        """Expect the next message from a direction and go on at once; `tl.wait` on the returned handle returns the tensor."""
        if dir is None:  # pyright: ignore[reportUnnecessaryComparison]
            fail("tl.recv_async got no direction", f"give one of {', '.join(DIRECTIONS)}")
        future = RecvFuture(self._recv_note("recv_async", dir, shape, dtype))
        self._dispatch()
        self._runner.post(future.note)
        self._futures[future] = None
        return future

    def _check_message(self, src: TensorHandle) -> None:
        if not isinstance(src, TensorHandle) or not src.streamed or src.space not in ("hbm", "sram"):
            self._check_source("send", src)

    def _collect(self, future: RecvFuture) -> TensorHandle:
        if future in self._futures:
            del self._futures[future]
            future.out = self._keep(self._runner.receive(future.note))
        assert future.out is not None
        return future.out

    def _recv_note(self, primitive: str, dir: str | None, shape: int | Sequence[int], dtype: str) -> Recv:
        direction = None if dir is None else self._direction(primitive, dir)
        known = () if isinstance(shape, Sequence) and not shape else as_shape(primitive, shape)
        self._value_count += 1
        return Recv(self._value_count, direction, known, as_dtype(primitive, dtype))

    def _receive_now(self, note: Recv, copied_to: int | None = None) -> TensorHandle:
        self._dispatch()
        self._runner.post(note)
        if copied_to is not None and not note.shape:
            self._runner.learn(note)
            self._check_copy(note, copied_to)
        return self._keep(self._runner.receive(note))

    def _check_copy(self, note: Recv, address: int) -> int:
        """Check the range to which a message is copied, as far as its shape is known; returns the address."""
        if not note.shape:
            return self._address("recv", address)
        return self._address("recv", address, prod(note.shape) * itemsize(note.dtype), note.dtype)

    def _keep(self, received: TensorHandle) -> TensorHandle:
        if received.space == "tcm":
            self._resident.pop(received.addr, None)
            self._resident[received.addr] = received
        return received

    def _direction(self, primitive: str, direction: str) -> str:
        if not is_direction(direction):
            fail(f"tl.{primitive} got the direction {direction!r}", suggest(str(direction), DIRECTIONS)[2:])
        return direction

    def _directions(self, dir: str | Sequence[str]) -> tuple[str, ...]:
        """The directions of a send: one or several, each once."""
        if isinstance(dir, str) or not isinstance(dir, Sequence):
            return (self._direction("send", dir),)
        found = tuple(self._direction("send", one) for one in dir)
        if not found:
            fail("tl.send got no direction", f"give one or several of {', '.join(DIRECTIONS)}")
        for one in found:
            if found.count(one) > 1:
                fail(f"tl.send got the direction {one!r} twice", "give each direction once")
        return found

    def _space(self, primitive: str, space: str) -> str:
        if space not in SPACES:
            fail(f"tl.{primitive} got the space {space!r}", suggest(space, SPACES)[2:])
        return space

    def _source(self, address: int, shape: Shape, dtype: str, space: str) -> TensorHandle:
        """The tensor at an address."""
        nbytes = prod(shape) * itemsize(dtype)
        if self._space("send", space) != "tcm":
            self._runner.check_place("send", "src_addr", address, nbytes, space)
            return reference_handle(Ref(address, shape, dtype, space))
        held = reversed(self._resident.items())
        found = [start for start, x in held if start and start <= address and address + nbytes <= start + x.nbytes]
        if not found:
            fail(
                f"tl.send got the TCM address {address:#x}, where this kernel holds no {nbytes} bytes of one tensor",
                "give the tensor itself, or an address inside of one",
            )
        self._check_ended("send", self._resident[found[0]])
        return reference_handle(Ref(address, shape, dtype, "tcm"))


def _elements(primitive: str, nbytes: int | None, shape: int | Sequence[int] | None, dtype: str) -> Shape:
    """The shape of the tensor at an address. Errors: KernelError."""
    size = itemsize(as_dtype(primitive, dtype))
    if shape is not None:
        found = as_shape(primitive, shape)
        if nbytes is not None and nbytes != prod(found) * size:
            fail(f"tl.{primitive} got nbytes={nbytes!r} and shape {found} of {dtype}", "give one of them")
        return found
    if not isinstance(nbytes, WHOLE) or nbytes < size or nbytes % size:
        fail(f"tl.{primitive} got nbytes={nbytes!r} of {dtype}", f"give a shape, or a multiple of {size}")
    return (int(nbytes) // size,)
