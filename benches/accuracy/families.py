"""The families of cases, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import kernbench
from benches.accuracy.family import Family, Overrides, Point, Rule, evaluating
from benches.accuracy.networks import NETWORKS
from benches.accuracy.routers import RECORDED, ROUTERS, texts_of

CALIBRATION = (  # of the default machine: a flow, and its published ns
    ("sip0.cube0.pe0:sip0.cube0.pe0:16KiB", 77),
    ("sip0.cube0.pe0:sip1.cube0.pe0:16KiB", 409),
    ("host:sip0.cube0.pe0:64KiB", 545),
    ("host:sip0.cube0.pe0:1MiB", 8230),
)


def calibrate(changed: Overrides) -> list[Point]:
    """The four published latencies of the default machine."""
    return [
        Point(flow, kernbench.probe(flows=[flow], overrides=changed).makespan_ns, published)
        for flow, published in CALIBRATION
    ]


def run_batches(changed: Overrides) -> list[Point]:
    """The last cycles of batches on routers with credits; a cycle is 1 ns."""
    return [
        Point(
            f"{batch}, {router}",
            kernbench.probe(
                "mesh_8x8_credit",
                flows=texts_of(batch),
                overrides={"packet_flits": 64, **ROUTERS[router], **changed},
                mode="flit",
            ).makespan_ns,
            cycles,
        )
        for batch, router, cycles, _ in RECORDED
    ]


def running_chips(operations: str) -> Callable[[Overrides], list[Point]]:
    """What runs operations on chips."""
    words = ("capture", "topology", "operation", "case", "cores", "layout", "fidelity")
    return evaluating("chips", ("simulated_ns", "measured_ns"), words, operations=operations)


UNPACKER = "here the unpacker limits: it brings sums back for each block of K, which the chip's packer adds up in L1"
FREE_UNPACKER = {"tensix_core.unpack_bytes": 1024}
DRAM = "the chip's DRAM serves pages of a tile to many cores at 250 to 330 GB/s, by their times; here they get more"

FAMILIES = (
    Family(
        "calibration",
        "Calibration of the default machine",
        "latency of single transfers on an idle `sip_2x4x4`",
        "four published latencies (KernBench architecture, default machine)",
        "kernbench probe --flow sip0.cube0.pe0:sip1.cube0.pe0:16KiB",
        "Everything but these four latencies: nobody has built this machine. Two figures are chosen to meet the second.",
        calibrate,
        quick=True,
    ),
    Family(
        "routers",
        "Routers with credits",
        "the last cycle of batches of packets on an 8 × 8 mesh of routers with finite buffers, four patterns on three routers",
        "BookSim 2, a cycle-accurate simulator (our own runs)",
        "python -m pytest tests/engine/test_credit_network.py",
        "Other topologies than meshes and tori, adaptive routing, and silicon: BookSim is itself a model.",
        run_batches,
        quick=True,
    ),
    *NETWORKS,
    Family(
        "published products",
        "Published matrix products on chips",
        "cycles of `tanto-matmul` on `wormhole_n150` and `blackhole_p150`",
        "tenstorrent/tt-metal, tech_reports/GEMM_FLOPS (half of the published rows)",
        "kernbench evaluate chips --set operations=published",
        "The programs that were measured: sizes of blocks here follow from the bench's own rule.",
        running_chips("published"),
        rules=(
            Rule(("hifi2", "lofi", "l1"), 0, "the measured program and its blocks are not known; here both follow from a rule"),
            Rule(("hifi4",), -1, "a small product: what is not known of the program weighs most"),
        ),
    ),
    Family(
        "products of networks",
        "Matrix products of networks on chips",
        "kernel times of matrix products in captures of whole networks",
        "tenstorrent/tt-perf-report, tests/data (half of its settings)",
        "kernbench evaluate chips --set operations=matmul",
        "Clocks and firmware of the captures, and the programs where the library chose them.",
        running_chips("matmul"),
        rules=(
            Rule(("l1", "25312x1792", "1x1x2048x"), 1, UNPACKER, changed=FREE_UNPACKER),
            Rule(("1x1x32x",), -1, "32 rows alone: the library reads tiles of B one by one, in a way of its own"),
            Rule(("blackhole",), -1, DRAM, changed={"tensix_dram.bank_gbs": 36}),
        ),
    ),
    Family(
        "convolutions of networks",
        "Convolutions of networks on chips",
        "kernel times of convolutions in captures of whole networks",
        "tenstorrent/tt-perf-report, tests/data (half of its settings)",
        "kernbench evaluate chips --set operations=conv",
        "Sides and strides of the images: captures tell their areas alone.",
        running_chips("conv"),
        rules=(
            Rule(
                ("x8 ", "x64 ", "x32 ", "x128 "),
                1,
                "few channels: why is not known; the unpacker, which is the busiest unit here, is the smaller part of it",
                changed=FREE_UNPACKER,
            ),
            Rule(("conv",), -1, "gathering of windows is overlapped with products here; the library does less of it at once"),
        ),
    ),
    Family(
        "elementwise",
        "Element-wise operations of networks on chips",
        "kernel times of sums, functions and changes of format in captures of whole networks",
        "tenstorrent/tt-perf-report, tests/data (half of its settings)",
        "kernbench evaluate chips --set operations=binary,unary,typecast",
        "Which function a unary operation is, and what further operands of a sum do.",
        running_chips("binary,unary,typecast"),
        rules=(
            Rule(("2112x1792",), -1, "a third operand, of which captures do not say what is done with it"),
            Rule(("1x1x32x32", "25312x32"), -1, "a broadcast operand, which the library reads again for each tile"),
            Rule(("unary",), -1, "captures do not say which function it was; here it is the quickest"),
            Rule(("sharded",), 0, "a few microseconds: the start of a kernel, which is not modelled, weighs most"),
            Rule(("1x1x32x",), 0, "one to three tiles a core: the start of a kernel, which is not modelled, weighs most"),
            Rule(("110",), 0, DRAM),
        ),
    ),
    Family(
        "networks on chips",
        "Whole networks on chips",
        "time of a step of decode, and of prefill, of five networks on `wormhole_n150` and `blackhole_p150`, one user and 32",
        "tenstorrent/tt-metal, models/README.md and models/tt_transformers/PERF.md",
        "kernbench evaluate chip-networks",
        "What the host takes between steps, and in what mode the README was measured.",
        evaluating(
            "chip-networks",
            ("simulated_ns", "measured_ns"),
            ("topology", "network", "phase", "mode", "batch", "tokens"),
            topology="wormhole_n150,blackhole_p150",
        ),
        rules=(
            Rule(("65536",), 1, "long contexts: exponentials limit attention, and their cycles are published nowhere"),
            Rule(("prefill",), 1, "norms, gates and attention pass through DRAM in bf16, which measured programs keep in L1"),
            Rule(
                ("prefill",),
                -1,
                "the host writes and starts each program of a prefill, whose sizes change; here they follow each other",
            ),
            Rule(
                ("blackhole",), -1, "measured programs read 45 to 58 % of what the DRAM gives, and are under development"
            ),
            Rule(("falcon",), -1, "an older model, whose products do not stream weights from each bank to a core"),
            Rule(
                ("wormhole",), -1, "4 to 5 ms a step whatever the layers, of the host; several times as many programs a layer"
            ),
        ),
    ),
    Family(
        "systolic",
        "Layers on a systolic machine",
        "kernel times of the MLP and of the product with the vocabulary of Llama-3.1-8B on `tpu_v6e`, 1 to 2,048 tokens",
        "casys-kaist/LLMServingSim, one TPU v6e (half of its rows)",
        "kernbench evaluate tpu --set layers=mlp,lm_head",
        "Whether weights are loaded beside other work: charging each load is the nearest of three mechanisms. Latency of HBM.",
        evaluating("tpu", ("simulated_ns", "measured_ns"), ("layer", "tokens"), layers=["mlp", "lm_head"]),
        rules=(
            Rule(
                ("mlp", "lm_head"),
                1,
                "400 to 1,000 tokens: a load of weights costs 256 cycles, which the chip partly hides",
                changed={"pe_gemm.between": "nothing"},
            ),
            Rule(("lm_head", "mlp"), -1, "about 2,000 tokens: measured times have steps, as of tiles of tokens"),
        ),
    ),
    Family(
        "systolic-attention",
        "Attention on a systolic machine",
        "kernel times of attention of Llama-3.1-8B without a fused kernel on `tpu_v6e`, decode of 1 to 128 users and prefill",
        "casys-kaist/LLMServingSim, one TPU v6e (some of its rows)",
        "kernbench evaluate tpu --set layers=attention_decode,attention_prefill",
        "How the measured library lays out keys and scores, and what the start of its operations takes.",
        evaluating(
            "tpu",
            ("simulated_ns", "measured_ns"),
            ("layer", "users", "tokens", "cached"),
            layers=["attention_decode", "attention_prefill"],
        ),
        rules=(
            Rule(("attention_decode",), 1, "keys are weights of the matrix unit, whose loads one row of queries does not hide"),
            Rule(("attention_prefill",), 1, "the softmax waits for each of its reads and writes"),
            Rule(("attention",), -1, "the start of operations takes no time, for none is published"),
        ),
    ),
    Family(
        "collectives",
        "Collectives",
        "latency of all-reduces of 16 KiB on `sip_2x4x4` with six SIPs, by topology, root and algorithm",
        "the lower bound of each algorithm, not a measurement: an error says how far above its bound it ends",
        "kernbench evaluate allreduce --set bytes_per_pe=16KiB",
        "Measured times: nobody has published any of this machine. Contention and start-up are above the bound by right.",
        evaluating(
            "allreduce",
            ("latency_ns", "bound_ns"),
            ("sip_topology", "algorithm", "root", "buffer_kind", "bytes_per_pe"),
            bytes_per_pe="16KiB",
        ),
        rules=(Rule((" ",), 1, "a bound has no start-up of steps, no waiting for neighbours and no contention", guess=False),),
    ),
)  # fmt: skip


def image_of(family: Family) -> Path:
    """The plot of a family, from the documentation's folder."""
    return Path("images", f"accuracy-{family.name.replace(' ', '-')}.svg")
