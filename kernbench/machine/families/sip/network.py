"""The network of SIPs that direct links join: a ring, or a mesh or torus of rows and columns.

Routes are dimension-ordered: along the row first, then along the column. A closed dimension is passed the shorter way round. If
both ways are equally long, SIPs with an even coordinate go E or S and the others W or N, so that both ways are used alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

OPPOSITE = {"E": "W", "W": "E", "S": "N", "N": "S"}
_TURNS = "WENS"


class Hop(NamedTuple):
    """A direct link in one direction."""

    sip: int
    direction: str  # in which it leaves `sip`
    to: int


class SipNetwork(NamedTuple):
    """SIPs in `h` rows of `w`, numbered row by row; `closed` rows and columns are rings if they have three SIPs or more."""

    w: int
    h: int
    closed: bool

    @classmethod
    def of(cls, topology: str, w: int, h: int) -> SipNetwork:
        """The network of a topology of w × h SIPs: "ring_1d", "torus_2d" or "mesh_2d_no_wrap". A ring is one closed row."""
        return cls(w * h, 1, True) if topology == "ring_1d" else cls(w, h, topology == "torus_2d")

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions in which any SIP has a neighbour."""
        return (*("W", "E") * (self.w > 1), *("N", "S") * (self.h > 1))

    def links(self) -> Iterator[Hop]:
        """All links, each once: those along columns first."""
        for direction, length in (("S", self.h), ("E", self.w)):
            for sip in range(self.w * self.h):
                row, column = divmod(sip, self.w)
                last = (row if direction == "S" else column) == length - 1
                if not last or (self.closed and length > 2):
                    yield Hop(sip, direction, self._neighbour(sip, direction))

    def hops(self, src: int, dst: int) -> list[Hop]:
        """The links from one SIP to another."""
        (row, column), (to_row, to_column) = divmod(src, self.w), divmod(dst, self.w)
        across, down = self._steps(column, to_column, self.w), self._steps(row, to_row, self.h)
        directions = [*(["E"] * across or ["W"] * -across), *(["S"] * down or ["N"] * -down)]
        found: list[Hop] = []
        for direction in directions:
            found.append(Hop(src, direction, self._neighbour(src, direction)))
            src = found[-1].to
        return found

    def _steps(self, start: int, end: int, length: int) -> int:
        """The steps along a dimension; negative ones go W or N."""
        if not self.closed:
            return end - start
        up = (end - start) % length
        down = length - up
        return up if up < down or (up == down and start % 2 == 0) else -down

    def _neighbour(self, sip: int, direction: str) -> int:
        row, column = divmod(sip, self.w)
        step = 1 if direction in "ES" else -1
        if direction in "EW":
            return row * self.w + (column + step) % self.w
        return (row + step) % self.h * self.w + column


def link_chiplets(sides: Sequence[str], directions: Sequence[str]) -> dict[str, int]:
    """The IO chiplet by which the link of each direction leaves a SIP whose chiplets are on these sides.

    It is the first chiplet on that side, if there is one. Otherwise the chiplets take W, E, N and S in turn.
    """
    return {
        direction: sides.index(direction) if direction in sides else _TURNS.index(direction) % len(sides)
        for direction in directions
    }
