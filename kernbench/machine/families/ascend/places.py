"""The part index of an `ascend` machine: cores by cluster, control processors, memories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernbench.errors import InputError
from kernbench.machine.families.sip.places import Places, SipShape

CUBE, VECTOR = "aic", "aiv"
ENGINES = {CUBE: ("in", "l1", "cube", "out"), VECTOR: ("in", "vector", "out")}  # the servers of a core, besides itself


def core_name(cluster: int, index: int) -> str:
    """The name of a core: index 0 of a cluster is its AIC, the others its AIVs."""
    return f"cluster{cluster}.{CUBE}" if index == 0 else f"cluster{cluster}.{VECTOR}{index - 1}"


@dataclass(frozen=True, slots=True)
class AscendShape:
    """The counts of an `ascend` machine."""

    clusters: int
    aiv_per_cluster: int
    aicpus: int

    def locate(self, nodes: Mapping[str, int], servers: Mapping[str, int]) -> AscendPlaces:
        """The part index of a machine of this shape, from the ids of its nodes and servers."""
        return AscendPlaces(self, nodes, servers)


@dataclass(frozen=True, slots=True)
class CorePlace:
    """A core: its name, type, cluster, index and node, and the ids of its servers, by engine."""

    name: str
    type: str  # "aic" or "aiv"
    cluster: int
    index: int
    node: int
    server: int
    engines: Mapping[str, int]


class AscendPlaces(Places):
    """Ids of cores, processors and memories. Methods for SIPs raise InputError, since there are none."""

    def __init__(self, shape: AscendShape, nodes: Mapping[str, int], servers: Mapping[str, int]) -> None:
        super().__init__(SipShape(0, 0, 0, "none", 0, 0, 0, (), 1), nodes, servers)
        self.ascend = shape

    def crossings(self, src: int, dst: int) -> list[tuple[int, int]]:  # noqa: ARG002
        """None: from each part to each other there is one way."""
        return []

    def core(self, cluster: int, index: int) -> CorePlace:
        """A core. Errors: InputError for a cluster or index that the machine lacks."""
        if not (0 <= cluster < self.ascend.clusters and 0 <= index <= self.ascend.aiv_per_cluster):
            raise InputError(
                f"the machine has no {core_name(cluster, index)}; it has clusters 0 to {self.ascend.clusters - 1}, each "
                f"with one AIC and AIVs 0 to {self.ascend.aiv_per_cluster - 1}"
            )
        name, kind = core_name(cluster, index), CUBE if index == 0 else VECTOR
        engines = {engine: self._servers[f"{name}.{engine}"] for engine in ENGINES[kind]}
        return CorePlace(name, kind, cluster, index, self._nodes[name], self._servers[name], engines)

    def _extent(self) -> str:
        return f"it has clusters 0 to {self.ascend.clusters - 1}"

    @property
    def l2(self) -> int:
        """The node of the L2 memory, which holds intermediate buffers."""
        return self._nodes["l2"]

    @property
    def gm_hbm(self) -> int:
        """The node of the HBM, which holds what comes from the host."""
        return self._nodes["hbm"]

    @property
    def npu_host(self) -> int:
        """The node of the host."""
        return self._nodes["host"]


SHAPE = AscendShape
