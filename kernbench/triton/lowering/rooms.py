"""Room in the scratch of a PE for the blocks of a program.

A block takes room from the issue of the command that makes it until nobody holds it and all commands that read it have ended. A
program whose live blocks alone do not fit is an error.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernbench.tl.language.context_base import ALIGN_BYTES


class Flight:
    """A command under way: its counter, and what is free again when it has ended."""

    __slots__ = ("access", "ended", "frees", "is_store", "slot")

    def __init__(self, slot: int, *, is_store: bool) -> None:
        self.slot, self.is_store = slot, is_store
        self.access: int | None = None  # of a transfer, its number in the script
        self.ended = False
        self.frees: list[Room] = []


class Room:
    """The room of one block in scratch. `flight` makes it; `readers` are commands that read it; `line` asked for it."""

    __slots__ = ("flight", "line", "loaded", "nbytes", "readers")

    def __init__(self, nbytes: int, line: int) -> None:
        self.nbytes, self.line = nbytes + -nbytes % ALIGN_BYTES, line
        self.flight: Flight | None = None
        self.readers: list[Flight] = []
        self.loaded = False


class Rooms:
    """The rooms that blocks hold, of so many bytes in all."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._held: dict[Room, None] = {}
        self._used_bytes = self.peak_bytes = 0

    def has(self, room: Room) -> bool:
        """Whether there is room for a block now."""
        return self._used_bytes + room.nbytes <= self._most_bytes

    def take(self, room: Room) -> None:
        """Give a block its room."""
        self._held[room] = None
        self._used_bytes += room.nbytes
        self.peak_bytes = max(self.peak_bytes, self._used_bytes)

    def release(self, room: Room) -> None:
        """Nobody holds a block any more: its room is free when the commands that use it have ended."""
        users = [*room.readers, *([] if room.flight is None or room.flight in room.readers else [room.flight])]
        room.readers = [one for one in users if not one.ended]
        for flight in room.readers:
            flight.frees.append(room)
        if not room.readers:
            self._give_back(room)

    def end(self, flight: Flight) -> None:
        """A command has ended: what it held is free, unless others hold it too."""
        for room in flight.frees:
            room.readers = [one for one in room.readers if not one.ended]
            if not room.readers:
                self._give_back(room)

    def tell_full(self, room: Room, sources: Sequence[tuple[str, int]]) -> str:
        """The sentence for a block that does not fit; `sources` are the lines of the program."""
        by_line: dict[int, int] = {}
        for one in self._held:
            by_line[one.line] = by_line.get(one.line, 0) + one.nbytes
        most = sorted(by_line.items(), key=lambda item: -item[1])[:3]
        held = ", ".join(f"{nbytes:,} of line {sources[line][1]}" for line, nbytes in most)
        return (
            f"scratch memory is full: a block of {room.nbytes:,} bytes does not fit beside {self._used_bytes:,} of "
            f"{self._most_bytes:,} ({held}); make blocks smaller, num_stages less, or raise pe.scratch_bytes"
        )

    def _give_back(self, room: Room) -> None:
        if room in self._held:
            del self._held[room]
            self._used_bytes -= room.nbytes
