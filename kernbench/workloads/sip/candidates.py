"""What a choice could be, and the least time of each candidate.

A holder of an activation serves all that is read of it, one read after the other. PEs stream keys and values of their units.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Any, NamedTuple

from kernbench.dtypes import itemsize
from kernbench.workloads.architecture import Heads, LayerKind
from kernbench.workloads.kernels.cuts import Cut, list_cuts
from kernbench.workloads.sip.choices import HELD, Choices, list_values

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.workloads.architecture import Architecture
    from kernbench.workloads.step import Step

MOST_READS = 1.25  # of a PE, inputs and parts together, beside those of the best cut: a cut with more is no candidate


class Candidate(NamedTuple):
    """A value of a choice; None: what holds without one. Times in femtoseconds.

    `least_fs` is a bound of the launches that read what is chosen. `written_fs` is by how much its holders take longer than all
    PEs to take what is written; it is added to the time.
    """

    value: Any
    least_fs: float
    written_fs: float = 0.0


class Candidates:
    """The candidates of each choice of a step, on a rank of a machine."""

    def __init__(self, machine: Machine, network: Architecture, step: Step, kind: LayerKind) -> None:
        places, heads = machine.places, network.attention
        self.cubes, self.pes = places.cubes_per_sip, places.pes_per_cube
        memory = machine.terminals[places.hbm(0, 0, 0)]
        fs_per_flit = int(machine.stations.fs_per_flit[memory.first_station])
        self._fs_per_byte = fs_per_flit / (memory.stripes * machine.flit_bytes)  # of a PE's slice of HBM
        ranks, self._kind = step.tensor, kind
        (self._part,) = step.parts
        row_bytes = step.tokens * itemsize(step.types.activations)
        self._bytes = {  # of the activation that a choice places
            "x": network.hidden * row_bytes,
            "inner": network.mlp.inner // ranks * row_bytes,
        }
        self._keys, cached = 1, heads.cached  # heads of keys on a rank, and elements of a token of each in the cache
        if isinstance(heads, Heads):
            self._keys, cached = max(1, heads.keys // ranks), 2 * heads.size
            queries = heads.queries // ranks * heads.size
            self._bytes |= {"qkv": (queries + self._keys * cached) * row_bytes, "units": queries * row_bytes}
        self._cache_bytes = cached * itemsize(step.types.cache)

    def list(self, field: str, chosen: Choices) -> list[Candidate]:
        """The candidates of a choice, beside those that are made; first what holds without one."""
        if field in HELD:
            values = [None, *list_values(field, self.cubes, self.pes)[-2::-1]]
            return [self._hold(field, value, chosen) for value in values]
        if field == "down":
            return [Candidate(None, 0.0), *(Candidate(cut, 0.0) for cut in self._list_cuts())]
        if field == "spread":
            return [Candidate(None, 0.0), Candidate(False, 0.0)]
        return self._list_splits()

    def _hold(self, field: str, value: int | None, chosen: Choices) -> Candidate:
        held, whole = value or self.pes, self._bytes[field] / self.cubes
        cut = chosen.down if field == "inner" else None
        readers = self.cubes * self.pes // (cut.cubes * cut.pes) if cut else self.cubes  # of each row
        least = whole / held * readers * self._fs_per_byte
        return Candidate(value, least, (whole / held - whole / self.pes) * self._fs_per_byte)

    def _list_cuts(self) -> list[Cut]:
        """Cuts with few reads: of a PE's columns from all PEs that hold them, and of its rows' parts."""
        cuts, pes = list_cuts(self.cubes, self.pes), self.cubes * self.pes
        reads = {cut: pes / (cut.cubes * cut.pes) + cut.cubes * cut.pes for cut in cuts}
        most = MOST_READS * min(reads.values())
        return [cut for cut in cuts if reads[cut] <= most and cut != (1, self.pes)]

    def _list_splits(self) -> list[Candidate]:
        """Fewer splits than would occupy all PEs, and numbers that share pairs out evenly."""
        pairs, pes = self._keys * self._part.count, self.cubes * self.pes
        usual = max(1, pes // pairs)
        even = pes // gcd(pairs, pes)
        fewer = {1 << power for power in range(usual.bit_length()) if 1 << power < usual}
        others = sorted(fewer | ({even} if usual < even <= 2 * self.pes else set()), reverse=True)
        return [Candidate(value, self._stream(value or usual)) for value in (None, *others)]

    def _stream(self, splits: int) -> float:
        context = min(self._part.context, self._kind.window or self._part.context)
        units = -(-self._keys * self._part.count * splits // (self.cubes * self.pes))
        return units * -(-context // splits) * self._cache_bytes * self._fs_per_byte
