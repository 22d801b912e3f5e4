"""Counts of speculation and roll-back in a run, for tests that require both to happen."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kernbench.engine.memory import Memory


class Speculation(NamedTuple):
    """Counts, in the words of docs/engine.md."""

    passes: int  # over the network
    rebounds: int  # transfers that had not landed by their bound and got a later one
    looked_ahead: int  # flits served that arrived at or after the horizon of their pass; 0 in runs that are not checked
    closed: int  # transfers done in closed form
    reopened: int  # of these, those that another transfer turned into flits
    reserved: int  # reservations taken
    revoked: int
    batched: int  # transfers done in a batch behind another
    split: int  # of these, those taken back
    chained: int  # tokens that entered a server chain
    broken: int  # chains broken
    requeued: int  # tokens that a broken chain returned to their servers

    @classmethod
    def of(cls, memory: Memory) -> Speculation:
        """Those of the run in a memory."""
        return cls(*(memory[field] for field in cls._fields))
