"""An order of links that rises along turns: as many as the turns before each allow.

D. J. Pearce and P. H. J. Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", *ACM Journal of
Experimental Algorithmics* 11, 2007.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import inner, jit
from kernels_jit.layout.codes import NONE

ONWARD, BACKWARD = 0, 1


@jit
def rank_links(links: int, turns: np.ndarray) -> np.ndarray:
    """int32[link] the rank of each link. Turns, int64[turn, 2] from a link to the next, rise unless those before forbid it.

    At first the rank of a link is its number. A turn that would close a circle is left out.
    """
    rank = np.arange(links)
    head = np.full((2, links), NONE, np.int64)  # the latest turn of each link that was taken in, by direction
    next_turn = np.empty((2, len(turns)), np.int64)  # and the one before it
    found = np.zeros(links, np.bool_)
    reached = np.empty((2, links), np.int64)
    for turn in range(len(turns)):
        before, after = turns[turn]
        low, high = rank[after], rank[before]
        if low <= high:
            later = _reach(ONWARD, after, head, next_turn, turns, rank, high, found, reached)
            closes = found[before]
            found[reached[ONWARD, :later]] = False
            if closes:
                continue
            earlier = _reach(BACKWARD, before, head, next_turn, turns, rank, low, found, reached)
            found[reached[BACKWARD, :earlier]] = False
            _reorder(rank, reached[BACKWARD, :earlier], reached[ONWARD, :later])
        for direction, link in ((ONWARD, before), (BACKWARD, after)):
            next_turn[direction, turn] = head[direction, link]
            head[direction, link] = turn
    return rank.astype(np.int32)


@inner
def _reach(direction, start, head, next_turn, turns, rank, limit, found, reached):
    """Note the links that can be reached over ranks within a limit; returns how many."""
    count, done = 1, 0
    found[start] = True
    reached[direction, 0] = start
    while done < count:
        turn = head[direction, reached[direction, done]]
        done += 1
        while turn != NONE:
            link = turns[turn, 1 - direction]
            within = rank[link] <= limit if direction == ONWARD else rank[link] >= limit
            if within and not found[link]:
                found[link] = True
                reached[direction, count] = link
                count += 1
            turn = next_turn[direction, turn]
    return count


@inner
def _reorder(rank, earlier, later):
    """Give these links the ranks that they have together: first the earlier ones, each group in the order it was in."""
    moved = np.concatenate((earlier[np.argsort(rank[earlier])], later[np.argsort(rank[later])]))
    rank[moved] = np.sort(rank[moved])
