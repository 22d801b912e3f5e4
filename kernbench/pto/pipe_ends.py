"""The ends of pipes on a cluster: what its cores have done with slots, and which call breaks what the calls promise.

Found are: calls without their pair, flags that a cluster lacks or that two pipes share, slots that overlap while they are in
use, slots that are taken before they are known to be free, accesses outside of a slot that its core holds, and flags that
nobody has taken at the end. Each depends on the order of calls of one core alone, as far as it can.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kernbench.pto.tpipe import GlobalTensor, TPipe, TPipeError

_PAIRS = {True: ("TALLOC", "TPUSH"), False: ("TPOP", "TFREE")}  # by whether the end is a producer


@dataclass(slots=True)
class End:
    """One core's side of a pipe in one direction."""

    core: str
    is_producer: bool
    count: int = 0  # slots that were allocated, or popped
    closed: int = 0  # slots that were pushed, or freed
    flags: int = 0  # free flags that were sent or taken
    is_open: bool = False
    slot_address: int = 0  # of the slot that is open, or was last
    has_ended: bool = False  # its function; a producer may still wait for flags

    @property
    def pair(self) -> tuple[str, str]:
        """The calls that begin and end to use a slot."""
        return _PAIRS[self.is_producer]

    def open(self, pipe: TPipe, call: str) -> None:
        """A call takes a slot: TALLOC, TPOP, or TPUSH with a tile. Errors: TPipeError if the slot before is still open."""
        if self.is_open:
            _, second = self.pair
            raise TPipeError(f"{self.core}: {call} on {pipe} while slot {self.count - 1} is open; call {second} first")
        self.is_open = True
        self.count += 1

    def place(self, pipe: TPipe, tensor: GlobalTensor, slot_address: int, own_bytes: int, call: str) -> None:
        """Give a tensor its address in the slot that a call has opened. Errors: TPipeError if it does not fit."""
        if own_bytes + tensor.span_bytes > pipe.slot_bytes:
            raise TPipeError(
                f"{self.core}: {call} of {tensor.span_bytes:,} bytes at byte {own_bytes:,} of slot {self.count - 1} of "
                f"{pipe}, whose slots have {pipe.slot_bytes:,} bytes; give the pipe larger slots, or take a smaller tensor"
            )
        self.slot_address = slot_address
        tensor.address = slot_address + own_bytes

    def close(self, pipe: TPipe) -> None:
        """TPUSH or TFREE. Errors: TPipeError if no slot is open."""
        if not self.is_open:
            first, second = self.pair
            raise TPipeError(f"{self.core}: {second} on {pipe} without a slot; call {first} before")
        self.is_open = False
        self.closed += 1

    def check_credit(self, pipe: TPipe) -> None:
        """A producer has its free flags. Errors: TPipeError if they do not say that the slot is free.

        That depends on the number of slots alone: with 5 of them a flag comes for each 2, and the sixth push waits for none.
        """
        if self.count > pipe.slot_num + self.flags * pipe.period:
            raise TPipeError(
                f"{self.core}: slot {self.count - 1} of {pipe} is taken before a free flag says that it is free, since a flag "
                f"stands for {pipe.period} of {pipe.slot_num} slots; give the pipe an even number of slots"
            )


@dataclass(slots=True)
class _Use:
    """A slot in use: which frees are still to come."""

    pipe: TPipe
    from_cube: bool
    index: int
    start: int
    frees: int

    @property
    def end(self) -> int:
        return self.start + self.pipe.slot_bytes


@dataclass(slots=True)
class ClusterPipes:
    """The pipes of one program on a cluster, and what all its cores have done with them."""

    vectors: int  # vector cores
    flags: int  # that the cluster has
    pipes: dict[int, TPipe] = field(default_factory=dict[int, TPipe])  # by flag
    ends: dict[tuple[TPipe, bool, int], End] = field(default_factory=dict[tuple[TPipe, bool, int], End])
    uses: list[_Use] = field(default_factory=list[_Use])

    def register(self, pipe: TPipe) -> None:
        """A pipe is used. Errors: TPipeError if the cluster lacks one of its flags, or another pipe has it."""
        if pipe.flags.stop > self.flags:
            raise TPipeError(
                f"{pipe} takes flags {pipe.flags.start} to {pipe.flags.stop - 1}, but a cluster has flags 0 to "
                f"{self.flags - 1}; give it a flag of {self.flags - len(pipe.flags)} or less"
            )
        for flag in pipe.flags:
            other = self.pipes.setdefault(flag, pipe)
            if other != pipe:
                raise TPipeError(
                    f"{pipe} and {other} both use flag {flag}; a pipe takes {len(pipe.flags)} flags from its own on, so give "
                    f"one of them a flag of {max(other.flags) + 1} or more"
                )

    def end(self, pipe: TPipe, from_cube: bool, index: int, core: str) -> End:
        """The side of a core (index 0: the cube) in the direction from the cube or to it.

        Errors: TPipeError for a direction that the pipe does not have.
        """
        self.register(pipe)
        if not pipe.leads(from_cube):
            raise TPipeError(
                f"{core}: {pipe} does not lead {'from' if from_cube else 'to'} the cube core; change its direction"
            )
        key = (pipe, from_cube, index)
        if key not in self.ends:
            self.ends[key] = End(core, is_producer=(index == 0) == from_cube)
        return self.ends[key]

    def take(self, pipe: TPipe, from_cube: bool, index: int, start: int, core: str) -> None:
        """A slot is written from now on. Errors: TPipeError if another slot in use overlaps it."""
        own = self._find(pipe, from_cube, index)
        for use in self.uses:
            if use is not own and use.start < start + pipe.slot_bytes and start < use.end:
                remedy = "use the forms with a tile" if use.pipe == pipe else "give the pipes memory of their own"
                raise TPipeError(
                    f"{core}: slot {index} of {pipe} is at the address of slot {use.index} of {use.pipe}, which is still in "
                    f"use; {remedy}, or one pipe for each direction"
                )
        if own is None:
            self.uses.append(_Use(pipe, from_cube, index, start, self.vectors if from_cube else 1))

    def check_pop(self, pipe: TPipe, from_cube: bool, index: int, start: int, core: str) -> None:
        """A slot is read from now on. Errors: TPipeError if it was pushed elsewhere."""
        use = self._find(pipe, from_cube, index)
        if use is not None and use.start != start:
            raise TPipeError(
                f"{core}: TPOP of slot {index} of {pipe} in another ring than the one that it was pushed into; use the forms "
                "with a tile on both sides, or those with a GlobalTensor"
            )

    def free(self, pipe: TPipe, from_cube: bool, index: int) -> None:
        """A consumer has given a slot back; it is free when all have."""
        use = self._find(pipe, from_cube, index)
        if use is not None:
            use.frees -= 1
        self.uses = [use for use in self.uses if use.frees]

    def _find(self, pipe: TPipe, from_cube: bool, index: int) -> _Use | None:
        of_index = (use for use in self.uses if use.index == index)
        return next((use for use in of_index if use.pipe == pipe and use.from_cube == from_cube), None)

    def check_access(self, index: int, core: str, tensor: GlobalTensor, *, write: bool) -> None:
        """A core loads or stores. Errors: TPipeError for a tensor without an address, and for memory of a pipe that is not in a
        slot which the core holds."""
        call = "TSTORE" if write else "TLOAD"
        if not tensor.address:
            raise TPipeError(f"{core}: {call} of a tensor without an address; call TALLOC or TPOP with it before")
        start, end = tensor.address, tensor.address + tensor.span_bytes
        hit = [pipe for pipe in dict.fromkeys(self.pipes.values()) if start < pipe.end and pipe.base < end]
        if not hit:
            return
        held = [(pipe, own) for (pipe, _, at), own in self.ends.items() if at == index and own.is_open]
        inside = [
            (pipe, own) for pipe, own in held if own.slot_address <= start and end <= own.slot_address + pipe.slot_bytes
        ]
        if any(own.is_producer or not write for _, own in inside):
            return
        for pipe, own in inside:
            raise TPipeError(
                f"{core}: TSTORE in slot {own.count - 1} of {pipe}, which {core} has popped; its consumers only load from a "
                "slot: store to memory that is no pipe's, or push to a pipe that leads the other way"
            )
        for pipe, own in held:
            if start < own.slot_address + pipe.slot_bytes and own.slot_address < end:
                raise TPipeError(
                    f"{core}: {call} of {end - start:,} bytes at byte {start - own.slot_address:,} of slot {own.count - 1} of "
                    f"{pipe}, whose slots have {pipe.slot_bytes:,} bytes; stay inside the slot"
                )
        self._refuse(hit[0], index, core, max(start, hit[0].base), write=write)

    def _refuse(self, pipe: TPipe, index: int, core: str, address: int, *, write: bool) -> None:
        """Errors: TPipeError, always, with what the core did with the slot before."""
        ring, place = divmod((address - pipe.base) // pipe.slot_bytes, pipe.slot_num)
        of_ring = [
            own for (of, way, at), own in self.ends.items() if of == pipe and at == index and pipe.ring(way) == ring
        ]
        had = [own for own in of_ring if own.count > place]
        first, second = had[0].pair if had else _PAIRS[write]
        verb, call = ("store", "TSTORE in") if write else ("load", "TLOAD from")
        when = f"after {second}" if had else f"before {first}"
        raise TPipeError(
            f"{core}: {call} slot {place} of {pipe} {when}, when others may use it; {verb} between {first} and {second}"
        )

    def check_end(self) -> None:
        """Cores have ended. Errors: TPipeError for a slot that one has left open, or slots that nobody will free."""
        for (pipe, _, _), end in self.ends.items():
            if end.has_ended and end.is_open:
                first, second = end.pair
                raise TPipeError(
                    f"{end.core} ends with slot {end.count - 1} of {pipe} open; pair each {first} with a {second}"
                )
        for key, end in self.ends.items():
            if end.has_ended and end.is_producer:
                self._check_credits(*key, end)

    def _check_credits(self, pipe: TPipe, from_cube: bool, _lane: int, producer: End) -> None:
        """Errors: TPipeError if a consumer of a producer's slots has not freed as many as were pushed."""
        cluster = producer.core.rpartition(".")[0]
        for other in range(1, self.vectors + 1) if from_cube else (0,):
            consumer = self.ends.get((pipe, from_cube, other))
            freed = 0 if consumer is None else consumer.closed
            if freed != producer.closed:
                name = f"{cluster}.aiv{other - 1}" if other else f"{cluster}.aic"
                raise TPipeError(
                    f"{pipe} leaks credits: {producer.core} has pushed {producer.closed} slots and {name} has freed {freed}; "
                    "pop and free as many as are pushed"
                )
