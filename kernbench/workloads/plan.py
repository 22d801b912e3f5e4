"""Which layers of a network are simulated, and which launches each operator is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kernbench.workloads.architecture import Architecture, LayerKind


class Mark(NamedTuple):
    """The launches of one operator, by their places among those of a rank's SIP, or of a chip."""

    section: str  # embedding, a kind of layer with its number, output
    operator: str
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Which layers are simulated: the first of each kind, or all."""

    network: Architecture
    every_layer: bool

    def list_layers(self) -> list[tuple[int, LayerKind]]:
        """(index, kind) of each that is simulated."""
        kinds = self.network.layer_kinds
        if self.every_layer:
            return list(enumerate(kinds))
        return [(kinds.index(kind), kind) for kind in self.network.count_kinds()]

    def count(self, kind: LayerKind) -> int:
        """How many layers one that is simulated counts for."""
        return 1 if self.every_layer else self.network.count_kinds()[kind]

    def list_sections(self) -> list[str]:
        """The section simulated for each layer of the network, in order."""
        kinds = self.network.layer_kinds
        return [f"layer {at if self.every_layer else kinds.index(kind)}" for at, kind in enumerate(kinds)]
