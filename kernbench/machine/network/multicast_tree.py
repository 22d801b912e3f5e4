"""Trees of multicasts: the union of the paths from one source, with each link in it once.

Paths are added in the order of the destinations. Of each only what comes after the last node that the tree has already is
added. So where two paths reach a node over two links, the link of the earlier destination is the one that is taken.

The tree is cut into *branches*, where it forks and where a destination is. Branches that begin at the end of one branch follow
each other, and all come after it; those that begin at the source come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kernels_jit.layout.codes import NONE

_MEMORY = -2  # in the place of a link: the memory of destination 0; that of the next is one less


class Branch(NamedTuple):
    """What follows each other in a tree: links, perhaps a memory at the end."""

    links: list[int]
    parent: int  # the branch at whose end it begins, or NONE
    destination: int  # the number of the destination at its end, or NONE
    memory: bool  # whether its last step is the memory of that destination
    forks: int  # how many branches begin at its end


class MulticastTree(NamedTuple):
    """The branches of a tree, and the links from the source to each destination."""

    branches: list[Branch]
    ways: list[list[int]]


def find_tree(ends: np.ndarray, paths: Sequence[Sequence[int]], memories: Sequence[bool]) -> MulticastTree:
    """The tree of the paths from one node to others.

    `ends`: int64[link] the node to which each leads; `paths`: the links to each destination, at least one; `memories`: whether
    the destination is a memory, whose channels come after the last link.
    """
    tree = _Tree(ends)
    for path in paths:
        tree.add(path)
    ways, at_end = [tree.way_to(int(ends[path[-1]])) for path in paths], dict[int, int]()
    for number, (way, is_memory) in enumerate(zip(ways, memories, strict=True)):
        if is_memory:
            tree.after.setdefault(way[-1], []).append(_MEMORY - number)
        at_end[_MEMORY - number if is_memory else way[-1]] = number
    return MulticastTree(_cut(tree.after, at_end), ways)


@dataclass(slots=True)
class _Tree:
    ends: np.ndarray
    entered_by: dict[int, int] = field(default_factory=dict[int, int])  # node -> link
    before: dict[int, int] = field(default_factory=dict[int, int])  # link -> the link before it, or NONE
    after: dict[int, list[int]] = field(default_factory=dict[int, list[int]])  # link, or NONE -> those after it

    def add(self, path: Sequence[int]) -> None:
        nodes = self.ends[np.array(path)].tolist()
        known = len(path)
        while known > 0 and nodes[known - 1] not in self.entered_by:
            known -= 1
        link = self.entered_by[nodes[known - 1]] if known else NONE
        for onward, node in zip(path[known:], nodes[known:], strict=True):
            self.entered_by[node], self.before[onward] = onward, link
            self.after.setdefault(link, []).append(onward)
            link = onward

    def way_to(self, node: int) -> list[int]:
        """The links from the source to a node."""
        link, way = self.entered_by[node], list[int]()
        while link != NONE:
            way.append(link)
            link = self.before[link]
        return way[::-1]


def _cut(after: dict[int, list[int]], at_end: dict[int, int]) -> list[Branch]:
    """The branches of a tree, breadth first."""
    branches, starts = list[Branch](), [(first, NONE) for first in after[NONE]]
    for first, parent in starts:  # to which what begins at the end of each is added
        steps = [first]
        while steps[-1] not in at_end and len(after[steps[-1]]) == 1:
            steps += after[steps[-1]]
        onward = after.get(steps[-1], [])
        starts += [(link, len(branches)) for link in onward]
        links = [step for step in steps if step >= 0]
        branches.append(Branch(links, parent, at_end.get(steps[-1], NONE), len(links) < len(steps), len(onward)))
    return branches
