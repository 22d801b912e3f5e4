"""Longest paths from start rows to end rows, for all points.

It is the longest path of `find_after`, and says the same to the femtosecond; what differs is what it is good at. One point is
best served by one pass over all rows. For many points the graph is first cut down to what lies between the two ends, and all
nodes that have the same time at every point become one (`kernels_jit.bounds.node_merging`): 256 PEs that do the same do it
once.

A wait at a barrier comes after the counter, and after the row before it in its own thread, through which the counter comes
too. The second edge says nothing, but would tell the threads apart, so it is left out where a way over others says as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.program.ops import NONE
from kernels_jit.bounds import node_merging, queueing_bounds

if TYPE_CHECKING:
    from kernbench.analytic.model import ProgramModel
    from kernbench.analytic.node_times import NodeTimes


class Subgraph(NamedTuple):
    """The subgraph between starts and ends; its nodes are in topological order."""

    node: np.ndarray  # int64[node] of the order, or NONE: it comes after the last gates, and takes no time
    start: np.ndarray  # int64[node + 1]
    before: np.ndarray  # int64[edge] nodes of the part
    gain: np.ndarray  # int64[edge]

    def find_places(self, count: int) -> np.ndarray:
        """int64[node of the order] where it is in the part, or NONE; there are `count`."""
        found = np.full(count + 1, NONE)
        found[self.node] = np.arange(len(self.node))
        return found[:-1]

    def extend(self, nodes: np.ndarray) -> Subgraph:
        """With a node after some of its nodes."""
        return Subgraph(
            np.append(self.node, NONE),
            np.append(self.start, len(self.before) + len(nodes)),
            np.append(self.before, nodes),
            np.append(self.gain, np.zeros_like(nodes)),
        )


class StartToEndPaths:
    """The way from rows that begin together to *gates*; `len` is how many classes of nodes it has.

    `gates`: groups of nodes of a model's order. One of a single node may be on the way to others; only the last may have
    several, which it comes after. Those that are not reached are left out, in `reached` (bool[gate] of those given).
    """

    def __init__(
        self, model: ProgramModel, node_times: NodeTimes, starts: Sequence[int], gates: Sequence[Sequence[int]]
    ) -> None:
        begin = np.array(starts, np.int64)
        targets = np.array([node for group in gates for node in group], np.int64)
        part = Subgraph(*node_merging.extract_subgraph(*model.order[:4], begin, targets))
        self.place = part.find_places(len(model.order.floor))  # int64[node of the order]
        ends = [self.place[group] for group in gates]
        ends = [nodes[nodes != NONE] for nodes in ends]
        self.reached = np.array([len(nodes) > 0 for nodes in ends], bool)
        if ends and len(ends[-1]) > 1:
            part = part.extend(ends[-1])
            ends[-1] = np.array([len(part.node) - 1])
        self.part = part
        self.gates, self.gate = np.unique(np.concatenate([begin[:0], *ends]), return_inverse=True)
        self.opens = np.full(len(part.node), NONE)  # int64[node of the part] which gate it is
        self.opens[self.gates] = np.arange(len(self.gates))
        mark = 2 * (self.opens + 1)
        begin = self.place[begin]
        mark[begin[begin != NONE]] += 1
        self.work = np.append(node_times.of, node_times.nothing)[part.node]
        self.ahead, self.classes = merge((part.start, part.before, part.gain), self.work, mark)

    def __len__(self) -> int:
        return len(self.classes.work)

    def times(self, work_fs: np.ndarray) -> np.ndarray:
        """int64[point, gate] when each gate that is reached is, LONGEST_FS at the most. `work_fs`: int64[point, work]."""
        return queueing_bounds.find_ends(self.classes, self.ahead[self.gates][self.gate], work_fs)


def merge(
    graph: tuple[np.ndarray, np.ndarray, np.ndarray], work: np.ndarray, mark: np.ndarray
) -> tuple[np.ndarray, queueing_bounds.Classes]:
    """int64[node] the class of each, and the classes: those of odd marks begin at 0, others after what is before them."""
    found, of, marked, start, before, gain = node_merging.merge_equivalent(*graph, work, mark)
    return found, queueing_bounds.Classes(start, before, gain, of, np.where(marked % 2 == 1, 0, -queueing_bounds.NEVER))
