"""What an orchestration takes of rings and pools, so that a run that stops for lack of room can say how much would do.

Room is given back in the order of tasks, and a task is held by its scope. So all that was taken since the oldest task of an
open scope is taken at once. When a wait stops a run, everything else has been given back; then the orchestration function goes
on without time and without limits, and what it submits is counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kernbench.pto.runtime.fatal import FatalCode, FatalError

TASKS, HEAP_BYTES, DEP_ENTRIES, MAP_ENTRIES = "tasks", "heap_bytes", "dep_entries", "map_entries"


class Failure(NamedTuple):
    """Why a wait gives up. `advise` gives the end of its text for what the orchestration takes; None: nothing would do."""

    code: FatalCode
    text: str
    advise: Callable[[Needs], str] | None = None


@dataclass(slots=True)
class Needs:
    """The most that was taken at once, by what it was taken of; `held` is what the oldest task of an open scope began."""

    failure: Failure
    oldest: int  # task
    held: Mapping[str, int]
    largest_bytes: int = 0  # of one task in the heap
    most: dict[str, int] = field(default_factory=dict[str, int])
    _now: dict[str, int] = field(default_factory=dict[str, int])
    _taken: deque[tuple[int, str, int]] = field(default_factory=deque[tuple[int, str, int]])  # task, of what, how much

    def __post_init__(self) -> None:
        for name, amount in self.held.items():
            self.add(self.oldest, name, amount)
        self.largest_bytes = 0

    def add(self, task: int, name: str, amount: int) -> None:
        """A task takes something."""
        self._taken.append((task, name, amount))
        self._now[name] = self._now.get(name, 0) + amount
        self.most[name] = max(self.most.get(name, 0), self._now[name])
        if name == HEAP_BYTES:
            self.largest_bytes = max(self.largest_bytes, amount)

    def release(self, oldest: int) -> None:
        """A scope has ended; `oldest` is the oldest task that another open scope holds, or the next one."""
        while self._taken and self._taken[0][0] < oldest:
            _, name, amount = self._taken.popleft()
            self._now[name] -= amount

    def error(self) -> FatalError:
        """What stopped the run, with what would do."""
        assert self.failure.advise is not None
        return FatalError(self.failure.code, self.failure.text + self.failure.advise(self))
