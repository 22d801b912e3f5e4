"""The families of a chip's networks: NoC traces, and measurements of single patterns."""

from __future__ import annotations

import os
from pathlib import Path

from benches.accuracy.family import Family, Overrides, Point, Rule, evaluating
from kernbench.traffic.noc_trace.replays import replay_traces

TRACES = "KERNBENCH_NOC_TRACES"


def replay(changed: Overrides) -> list[Point]:
    """The traces of a directory. Errors: InputError for one that cannot be read."""
    found = replay_traces([Path(os.environ[TRACES])], overrides=changed)
    if found.errors:
        raise found.errors[0]
    return [Point(one.file.stem, one.simulated_cycles, one.trace_cycles) for one in found.replays]


NETWORKS = (
    Family(
        "noc traces",
        "NoC traces",
        "cycles of resharding and of moves from DRAM to L1 on a Wormhole chip, replayed on `wormhole_n150` with finite buffers",
        "tenstorrent/tt-npe, traces of its profiler (`tt_npe/workload`)",
        "kernbench probe --noc-trace DIR",
        "Writes, multicasts and Blackhole: these traces only read. The rules of replies were chosen with the traces in view.",
        replay,
        data=TRACES,
    ),
    Family(
        "noc",
        "NoC and DRAM micro-measurements",
        "cycles of reads, writes and multicasts by size, distance and number of cores, on `wormhole_n150` and `blackhole_p150`",
        "tenstorrent/tt-metal, noc_latencies.yaml, and rates of an earlier table (half of its rows)",
        "kernbench evaluate noc -t wormhole_n150,blackhole_p150",
        "Depth of the chips' buffers, and how packets choose channels. Static and dynamic channels are one here; the "
        "measurement tells them apart. Limits of issue on Blackhole, but for the gaps of `tensix_noc_blackhole`.",
        evaluating(
            "noc",
            ("simulated_cycles", "measured_cycles"),
            ("topology", "pattern", "cores", "bytes", "transactions", "source"),
            topology="wormhole_n150,blackhole_p150",
        ),
        rules=(
            Rule(
                ("write dram",),
                1,
                "writes to a bank of Blackhole: here they are acknowledged after the access, on the chip before it",
                changed={"tensix_dram.access_ns": 0},
            ),
            Rule(
                ("one from all 56 64 ",),
                -1,
                "many small reads: the measured loop takes more cycles for each than the processor needs",
            ),
            Rule(
                ("all from all 4 ", "all from all 25 "),
                -1,
                "published twice, up to 38 % apart; the other figure is nearer",
                guess=False,
            ),
            Rule(
                ("all from all",),
                -1,
                "56 cores and more: on the chip a request that waits at its owner holds channels, here it holds none",
            ),
        ),
        quick=True,
    ),
)
