"""The family `ascend`: clusters of one cube core (AIC) and vector cores (AIV) on one network with L2, HBM and a host.

The network is one node without a limit of its own: a core's link for reads, its link for writes, and the channels of the
memories are what transfers wait for. Control processors (AICPU) reach the cores by registers, whose times are figures.
"""

from __future__ import annotations

from kernbench.machine.builder import Builder
from kernbench.machine.families.ascend.places import CUBE, ENGINES, VECTOR, AscendShape, core_name
from kernbench.machine.families.ascend.spec import AscendSpec
from kernbench.machine.intents import EdgeKind
from kernbench.machine.machine import Machine
from kernbench.machine.sheets.quantities import list_figure_origins, list_figures, rate, time

EDGE_MM = 2.0  # between the clusters and what stands around them, in pictures


def expand(spec: AscendSpec, name: str, digest: str) -> Machine:
    """The machine of a checked topology of family `ascend`."""
    builder = Builder()
    width = spec.columns * spec.cluster_mm
    hub = builder.node("noc", "noc", (width / 2, -EDGE_MM))
    for part, node, kind, at in (
        ("l2", "l2", "l2", (width / 4, -2 * EDGE_MM)),
        ("gm_hbm", "hbm", "gm_hbm", (3 * width / 4, -2 * EDGE_MM)),
    ):
        _add_memory(builder, spec, part, builder.node(node, kind, at), hub)
    host = builder.node("host", "npu_host", (width / 2, -3 * EDGE_MM))
    builder.link(hub, host, EdgeKind.PCIE, rate(spec, "npu_host.gbs"))
    builder.server("host", "npu_host")
    _add_aicpus(builder, spec, (width, -EDGE_MM))
    for cluster in range(spec.clusters):
        row, column = divmod(cluster, spec.columns)
        _add_cluster(builder, spec, cluster, hub, (column * spec.cluster_mm, row * spec.cluster_mm))
    return builder.finish(
        name=name,
        family=spec.family,
        digest=digest,
        flit_bytes=spec.flit_bytes,
        ns_per_mm=spec.ns_per_mm,
        figures=list_figures(spec),
        origins=list_figure_origins(spec),
        shape=AscendShape(spec.clusters, spec.aiv_per_cluster, spec.pto_runtime.aicpu_threads),
    )


def _add_memory(builder: Builder, spec: AscendSpec, part: str, node: int, hub: int) -> None:
    """Link a memory to the network at the rate of all its channels."""
    memory = getattr(spec, part)
    builder.link(hub, node, EdgeKind.NOC, rate(spec, f"{part}.channel_gbs", memory.channels))
    builder.memory(
        node,
        stripes=memory.channels,
        rate=rate(spec, f"{part}.channel_gbs"),
        quantum_bytes=memory.burst_bytes,
        overhead=time(spec, f"{part}.overhead_fs"),
    )


def _add_aicpus(builder: Builder, spec: AscendSpec, at: tuple[float, float]) -> None:
    """Add control processors, which reach cores by registers and memory in the times of the runtime."""
    for number in range(spec.pto_runtime.aicpu_threads):
        builder.node(f"aicpu{number}", "aicpu", (at[0], at[1] - number * EDGE_MM / 2))
        builder.server(f"aicpu{number}", "aicpu")


def _add_cluster(builder: Builder, spec: AscendSpec, cluster: int, hub: int, at: tuple[float, float]) -> None:
    """Add the cores of a cluster, each with a link in either direction and its engines."""
    for index in range(1 + spec.aiv_per_cluster):
        kind = CUBE if index == 0 else VECTOR
        step = spec.cluster_mm / 4
        place = (at[0] + step * (2 if index == 0 else 1 + 2 * ((index - 1) % 2)), at[1] + step * (1 + (index + 1) // 2))
        node, name = builder.node(core_name(cluster, index), kind, place), core_name(cluster, index)
        builder.link(hub, node, EdgeKind.NOC, rate(spec, f"{kind}.read_gbs"), one_way=True)
        builder.link(node, hub, EdgeKind.NOC, rate(spec, f"{kind}.write_gbs"), one_way=True)
        builder.server(name, kind)
        for engine in ENGINES[kind]:
            builder.server(f"{name}.{engine}", f"{kind}_{engine}")
