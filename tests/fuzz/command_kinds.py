"""Kinds of command lines: what can be set, sweeps without a file, graphs of tasks, and bounded evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from tests.fuzz import originals
from tests.fuzz.case import Case
from tests.fuzz.commands import PATTERNS, confine
from tests.fuzz.mutation import mutate_bytes, mutate_word
from tests.fuzz.values import draw_number, draw_text

OWN = {  # a file of the user's own for each kind of thing that has a name
    "topology/own.yaml": ("topology", "tiny"),
    "models/hbm.yaml": ("models", "hbm"),
    "sweeps/own.yaml": ("sweeps", "quickstart"),
}
NAMES = (
    "tiny", "mesh_8x8", "tensix_tiny", "ascend_tiny", "hbm", "hbm_refresh", "pe_gemm", "systolic", "vector-add", "pe-to-pe",
    "tanto-matmul", "attention-decode", "quickstart", "buffers", "paged_attention", "window", "ring_allreduce", "own", "0",
)  # fmt: skip
PREFIXES = ("hbm", "hbm.channel_gbs", "topology.hbm", "noc.", "parts", "M", "n", "sips.count", "flow")
KINDS = ("bench", "machine", "sweep", "pto", "pto-sweep", "sheet", "collective", "thing")
WORDS = ("hbm", "mesh", "gemm attention", "family", "HBM", "no such thing")
RANGES: dict[str, dict[str, tuple[str, ...]]] = {  # of sweeps without a file: by the bench, then the parameter
    "vector-add": {"n": ("1Ki,4Ki", "1024:4096:x2", "512", "1024:3072:1024", "'1KiB'"), "dtype": ("f16,f32", "f16")},
    "gemm-single-pe": {"M": ("16,32", "16:48:16"), "K": ("16:64:log3",), "N": ("16:32:lin2",), "dtype": ("f16",)},
    "pe-to-pe": {"nbytes": ("256,1KiB", "256:1024:x2"), "via": ("recv,store",), "messages": ("1,2",)},
    "uniform": {"load": ("0.1,0.2", "0.1:0.3:0.1"), "packet_flits": ("1,2",), "window": ("20",)},
}
FIELDS = {
    "topology.hbm.channel_gbs": ("8,16", "8:32:x2", "8 GB/s,16 GB/s", "4:16:lin3"),
    "topology.noc.gbs": ("64", "64:256:log3"),
    "topology.pe.tile_k": ("16,32",),
}
MESH_FIELDS = {"topology.k": ("2", "2,3"), "topology.link_gbs": ("16:64:x2",)}
GRAPH = (
    '{"machine": "ascend_tiny", "tasks": [{"id": 0, "name": "a", "core": "aic", "duration_us": 3, "deps": []}, '
    '{"id": 1, "name": "b", "core": "aiv", "duration_us": 0.5, "deps": [0]}]}'
)
SEPARATORS = (":", ",", ":x", ":lin", ":log")


def draw_show(drawn: Any) -> Case:
    """What is listed and shown, with odd names, fields, values and files."""
    random: Random = drawn.random
    files = _own_files(random)
    tail = random.choice([[], [], ["--json"]])
    if random.random() < 0.2:
        kind = ["--kind", random.choice(KINDS)] if random.random() < 0.4 else []
        return Case(confine(["list", *_odd(random, random.choice(WORDS).split()), *kind, *tail]), files)
    names = [random.choice(NAMES)]
    if random.random() < 0.2:
        names = ["--diff", *names, random.choice(NAMES)]
    words = [*_odd(random, names), *(_odd(random, [random.choice(PREFIXES)]) if random.random() < 0.4 else [])]
    if random.random() < 0.3:
        known = originals.SETTINGS
        name = random.choice(list(known))
        words += _odd(random, ["--set", f"{random.choice(['topology.', ''])}{name}={random.choice(known[name])}"])
    if random.random() < 0.2:
        words += ["--kind", random.choice(KINDS)]
    return Case(confine(["show", *words, *tail]), files)


def draw_asked(drawn: Any) -> Case:
    """A sweep without a file: benches and traffic with lists, ranges and units of every form, which runs or is tried."""
    random: Random = drawn.random
    bench = random.choice(list(RANGES))
    network = bench in PATTERNS
    known = {**RANGES[bench], **(MESH_FIELDS if network else FIELDS)}
    words = ["sweep", bench, "-t", "mesh_8x8" if network else "tiny"]
    chosen = random.sample(list(known), random.choice([0, 1, 1, 2, 3]))
    for name in (*chosen, *({"window", "topology.k"} - set(chosen) if network else ())):
        values = random.choice(known[name])
        words += ["--set", f"{name}={_odd_range(random, values) if random.random() < 0.2 else values}"]
    if random.random() < 0.3:
        words += [
            "--objective",
            *_odd(random, [random.choice(["min latency_ns", "max achieved_gbs", "min M", "least"])]),
        ]
    if random.random() < 0.2:
        words += ["--mode", random.choice(["analytic", "auto", "flit", "none"])]
    if random.random() < 0.3:
        words += ["--save", random.choice(["mine.yaml", "a/b.yaml", "mine.json", "mine.yaml/x.yaml", "/proc/x.yaml"])]
    if random.random() < 0.2:
        words += ["--format", random.choice(["csv", "md", "csv,md", "xml"])]
    words += ["--workers", "1", *random.choice([["--out", "o"], ["--json"], []])]
    return Case(confine([*words, *(["--dry-run"] if random.random() < 0.2 else [])]), _own_files(random))


def draw_graph(drawn: Any) -> Case:
    """A bench of task graphs with odd parameters, or a graph with odd text, which is replayed."""
    random: Random = drawn.random
    if random.random() < 0.5:
        words = ["pto", "run", "vector_example", "-t", "ascend_tiny"]
        options = (
            ["--case", "none"], ["--runtime", "host_build_graph"], ["--no-data"], ["--json"], ["--mode", "flit"],
            ["--set", "topology.pto_runtime.task_window=16"], ["--set", "topology.pto_runtime.task_window=1"],
            ["--set", "batch=64"], ["--out", "o"], ["--format", "csv"], ["--trace", "t.pftrace"],
        )  # fmt: skip
        return Case(confine([*words, *_odd(random, [word for option in random.sample(options, 2) for word in option])]))
    content = random.choice([GRAPH, GRAPH.replace('"aiv"', '"cpu"'), "{}", "[]"]).encode()
    content = mutate_bytes(random, content) if random.random() < 0.7 else content
    words = ["pto", "replay", "g.json", "-t", "ascend_tiny", *random.choice([[], ["--json"], ["--out", "o"]])]
    return Case(confine(words), {"g.json": content})


def draw_evaluation(drawn: Any) -> Case:
    """An evaluation of small sizes and shapes."""
    random: Random = drawn.random
    settings = random.choice(
        [
            ["gemm", "shapes=16x16x16", "variants=ref_ref", "pes=1"],
            ["gemm", "shapes=16x16x16,32×16×16", "dtype=f16"],
            ["attention", "phases=decode", "users=1", "context=64", "heads=2", "kv_heads=1", "head_dim=32"],
            ["allreduce", "bytes_per_pe=256,1KiB", "n_sips=2", "cubes=1"],
            ["allreduce", "bytes_per_pe=256:1KiB:x2", "n_sips=2", "sips_w=2", "sips_h=1"],
        ]
    )
    words = [word for setting in settings[1:] for word in ("--set", setting)]
    tail = random.choice([["--json"], ["--data-only"], ["--format", "csv,md"]])
    return Case(confine(["evaluate", settings[0], "-t", "tiny", *_odd(random, words), *tail, "--out", "o"]))


def _odd(random: Random, words: Sequence[str]) -> list[str]:
    """Words of which one may be another."""
    if not words or random.random() < 0.6:
        return list(words)
    at = random.randrange(len(words))
    return [*words[:at], random.choice([mutate_word(random, words[at]), draw_text(random)]), *words[at + 1 :]]


def _odd_range(random: Random, values: str) -> str:
    """Values of a parameter with a number, a separator or a text that does not belong there."""
    at = random.randrange(len(values) + 1)
    return random.choice(
        [
            mutate_word(random, values),
            f"{values}{random.choice(SEPARATORS)}{random.choice(['', '0', '2', '-1', '1e3'])}",
            f"{draw_number(random)}:{draw_number(random)}:{draw_number(random)}",
            values[:at] + random.choice(SEPARATORS) + values[at:],
        ]
    )


def _own_files(random: Random) -> dict[str, bytes]:
    """No file, or one of the user's own that may be damaged."""
    if random.random() < 0.6:
        return {}
    if random.random() < 0.3:
        return {"benches/own.py": mutate_bytes(random, originals.sources("benches")["vector_add"].encode())}
    path = random.choice(list(OWN))
    kind, name = OWN[path]
    text = (originals.shipped() / kind / f"{name}.yaml").read_bytes()
    return {path: mutate_bytes(random, text) if random.random() < 0.7 else text}
