"""The pool of clusters: which are free, and which group of tasks each of the others is pinned to."""

from __future__ import annotations

from collections.abc import Sequence

from kernbench.pto.runtime.fatal import InvalidArgsError


class ClusterPool:
    """Free clusters in a row, and the groups of the others. A released cluster is free when its tasks are complete."""

    def __init__(self, clusters: int) -> None:
        self._free = list(range(clusters))
        self._group: dict[int, int] = {}  # by allocated cluster
        self._left: dict[int, int] = {}  # by group: its tasks that are not complete
        self._released: set[int] = set()  # clusters whose scope has ended
        self._groups = 0

    @property
    def has_free(self) -> bool:
        """Whether a cluster can be allocated now."""
        return bool(self._free)

    @property
    def in_use(self) -> bool:
        """Whether any cluster was ever allocated."""
        return self._groups > 0

    def allocate(self) -> int:
        """The free cluster that has been free for longest, with a new group. There is one."""
        cluster = self._free.pop(0)
        self._group[cluster] = self._groups
        self._left[self._groups] = 0
        self._groups += 1
        return cluster

    def group_of(self, cluster: int) -> int:
        """The group of a cluster. Errors: InvalidArgsError if it is not allocated."""
        if not isinstance(cluster, int) or cluster not in self._group or cluster in self._released:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidArgsError(f"cluster {cluster!r} is not allocated; allocate it with pto2_rt_allocate_cluster")
        return self._group[cluster]

    def left(self, cluster: int) -> int:
        """How many tasks of an allocated cluster are not complete."""
        return self._left[self._group[cluster]]

    def begin_task(self, group: int) -> None:
        """A task is submitted to a group."""
        self._left[group] += 1

    def end_task(self, group: int) -> None:
        """A task of a group is complete; the last one of a released cluster frees it."""
        self._left[group] -= 1
        if not self._left[group]:
            for cluster in [each for each in self._released if self._group[each] == group]:
                self.free(cluster)

    def free(self, cluster: int) -> None:
        """Give a cluster back."""
        self._released.discard(cluster)
        del self._group[cluster]
        self._free.append(cluster)

    def release(self, clusters: Sequence[int], *, at_once: bool) -> None:
        """The scope of some clusters ends: free them as soon as their tasks are complete, or at once."""
        for cluster in clusters:
            if cluster in self._group and cluster not in self._released:
                self._released.add(cluster)
                if at_once or not self.left(cluster):
                    self.free(cluster)
