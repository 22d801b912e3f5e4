"""The evaluations by name: their settings, their run and plot functions, and how their rows are shown.

Functions are named, "module:function", and imported when an evaluation runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from kernbench.errors import InputError, suggest
from kernbench.frontends.benches import FRONT_END
from kernbench.machine.setting_names import check_names
from kernbench.sweep.grid.ranges import expand_range, is_range
from kernbench.text_table import Field
from kernbench.units import parse, parse_count, unit_of

Read = Callable[[str, object], object]  # the name of a setting and what was given; errors: ValueError
_TIMES = re.compile(r"\s*[x×*]\s*")


def _text(_name: str, given: object) -> str:
    return str(given)


def _whole(name: str, given: object) -> int:
    return parse_count(given, unit_of(name))


def _time(name: str, given: object) -> float:
    return parse(given, unit_of(name))


def _listed(given: object) -> Sequence[object]:
    if not isinstance(given, str):
        return cast("Sequence[object]", given) if isinstance(given, Sequence) else [given]
    return [value for part in given.split(",") for value in (expand_range(part) if is_range(part) else [part.strip()])]


def _texts(_name: str, given: object) -> list[str]:
    return [str(part) for part in _listed(given)]


def _numbers(name: str, given: object) -> list[int]:
    return [_positive(name, part) for part in _listed(given)]


def _shapes(name: str, given: object) -> list[tuple[int, ...]]:
    shapes: list[tuple[int, ...]] = []
    for part in _listed(given):
        sizes = _TIMES.split(part) if isinstance(part, str) else _listed(part)
        if len(sizes) != 3:
            raise ValueError(f"got {part!r}, expected M, K and N, such as 64x128x64")
        shapes.append(tuple(_positive(name, size) for size in sizes))
    return shapes


def _positive(name: str, given: object) -> int:
    found = _whole(name, given)
    if found < 1:
        raise ValueError(f"got {given!r}, expected 1 or more")
    return found


TEXT, WHOLE, TIME, TEXTS, NUMBERS, SHAPES = _text, _whole, _time, _texts, _numbers, _shapes


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One evaluation: how its settings are read, its functions ("module:function"), the format of its rows."""

    settings: Mapping[str, Read]
    run: str
    point: str  # the columns that say which run a row is of
    plot: str
    shown: Mapping[str, Field]  # by column
    progress: str  # the line for each row, while it runs
    check: str = ""  # a function that returns the violated invariants of a table
    summary: str = ""  # a function that returns a line about a table
    topology: str = FRONT_END.machine


EVALUATIONS = {
    "gemm": Evaluation(
        settings={"shapes": SHAPES, "variants": TEXTS, "dtype": TEXT, "sips": WHOLE, "cubes": WHOLE, "pes": WHOLE},
        run="kernbench.evaluation.gemm:evaluate_gemm",
        point="kernbench.evaluation.gemm:POINT",
        plot="kernbench.report.figures.gemm:plot_gemm",
        shown={
            "M": Field("M", "d"),
            "K": Field("K", "d"),
            "N": Field("N", "d"),
            "variant": Field("variant"),
            "pe_exec_ns": Field("kernel ns", ",.1f"),
            "achieved_tflops": Field("TFLOPS", ",.3f", rank=3),
            "efficiency": Field("of peak", ".0%", rank=1),
            "bottleneck": Field("bottleneck"),
        },
        progress="{M} x {K} x {N} {variant}  {pe_exec_ns:,.1f} ns",
    ),
    "attention": Evaluation(
        settings={
            "phases": TEXTS,
            "users": NUMBERS,
            "tokens": NUMBERS,
            "context": NUMBERS,
            "heads": WHOLE,
            "kv_heads": WHOLE,
            "head_dim": WHOLE,
            "dtype": TEXT,
        },
        run="kernbench.evaluation.attention:evaluate_attention",
        point="kernbench.evaluation.attention:POINT",
        plot="kernbench.report.figures.attention:plot_attention",
        shown={
            "phase": Field("phase"),
            "users": Field("users", ",d"),
            "length": Field("length", ",d"),
            "kv_heads": Field("heads of keys", ",d", rank=6),
            "latency_ns": Field("latency ns", ",.1f"),
            "tokens_per_us": Field("tokens a µs", ",.1f", rank=4),
            "achieved_tflops": Field("TFLOPS", ",.3f", rank=3),
            "achieved_gbs": Field("GB/s", ",.1f", rank=2),
            "bottleneck": Field("bottleneck"),
        },
        progress="{phase} {users} x {length} {kv_heads} heads of keys  {latency_ns:,.1f} ns",
    ),
    "allreduce": Evaluation(
        settings={
            "bytes_per_pe": NUMBERS,
            "n_sips": WHOLE,
            "sips_w": WHOLE,
            "sips_h": WHOLE,
            "cubes": WHOLE,
            "n_slots": WHOLE,
            "slot_size": WHOLE,
            "dtype": TEXT,
        },
        run="kernbench.evaluation.allreduce:evaluate_allreduce",
        point="kernbench.evaluation.allreduce:POINT",
        plot="kernbench.report.figures.allreduce:plot_allreduce",
        shown={
            "sip_topology": Field("SIPs"),
            "algorithm": Field("algorithm"),
            "root": Field("root"),
            "buffer_kind": Field("slots"),
            "bytes_per_pe": Field("bytes of a PE", ",d"),
            "latency_ns": Field("latency ns", ",.1f"),
            "busbw_gbs": Field("bus GB/s", ",.1f", rank=4),
            "task_bound_ns": Field("bound ns", ",.1f", rank=3),
            "times_task_bound": Field("x bound", ".2f", rank=4),
            "bound_ns": Field("algorithm's", ",.1f", rank=1),
            "times_bound": Field("x algorithm's", ".2f", rank=2),
        },
        progress="{sip_topology} {algorithm} {root} {buffer_kind} {bytes_per_pe} B  {latency_ns:,.1f} ns",
        check="kernbench.evaluation.allreduce:find_violations",
    ),
    "chip-gemm": Evaluation(
        settings={"chip": TEXT, "largest": WHOLE, "dtypes": TEXTS},
        run="kernbench.evaluation.chip_gemm:evaluate_chip_gemm",
        point="kernbench.evaluation.chip_gemm:POINT",
        plot="kernbench.report.figures.measured:plot_chip_gemm",
        shown={
            "topology": Field("chip"),
            "dtype": Field("format", rank=5),
            "fidelity": Field("fidelity", rank=4),
            "program": Field("program", rank=6),
            "layout": Field("layout", rank=3),
            "M": Field("M", "d"),
            "K": Field("K", "d"),
            "N": Field("N", "d"),
            "cycles": Field("cycles", ",.0f"),
            "device_cycles": Field("published", ",d"),
            "error": Field("error", "+.1%"),
            "bottleneck": Field("bottleneck", rank=1),
        },
        progress="{topology} {M} x {K} x {N} {dtype} {fidelity} {layout}  {cycles:,.0f} cycles, {error:+.1%}",
        summary="kernbench.evaluation.chip_gemm:summarise",
        topology="wormhole_n150,blackhole_p150",
    ),
    "chips": Evaluation(
        settings={"operations": TEXTS, "longest_ns": TIME, "file": TEXT},
        run="kernbench.evaluation.chips:evaluate_chips",
        point="kernbench.evaluation.chips:POINT",
        plot="kernbench.report.figures.measured:plot_chips",
        shown={
            "topology": Field("chip", rank=4),
            "operation": Field("operation"),
            "case": Field("operands"),
            "cores": Field("cores", "d"),
            "dtype": Field("format", rank=5),
            "fidelity": Field("fidelity", rank=3),
            "layout": Field("layout", rank=2),
            "simulated_ns": Field("simulated ns", ",.0f"),
            "measured_ns": Field("measured ns", ",.0f"),
            "error": Field("error", "+.1%"),
            "bottleneck": Field("bottleneck", rank=1),
        },
        progress="{operation} {case} on {cores} cores  {simulated_ns:,.0f} ns, {error:+.1%}",
        summary="kernbench.evaluation.chips:summarise",
        topology="wormhole_n150,blackhole_p150",
    ),
    "chip-networks": Evaluation(
        settings={"networks": TEXTS, "phases": TEXTS},
        run="kernbench.evaluation.chip_networks:evaluate_chip_networks",
        point="kernbench.evaluation.chip_networks:POINT",
        plot="kernbench.report.figures.measured:plot_chip_networks",
        shown={
            "topology": Field("chip", rank=2),
            "network": Field("network"),
            "phase": Field("phase"),
            "mode": Field("mode"),
            "batch": Field("batch", "d"),
            "tokens": Field("tokens", "d", rank=3),
            "simulated_ns": Field("simulated ns", ",.0f"),
            "measured_ns": Field("measured ns", ",.0f"),
            "error": Field("error", "+.1%"),
            "simulated_tokens_s": Field("tokens/s of a user", ",.1f", rank=4),
            "measured_tokens_s": Field("measured", ",.1f", rank=4),
            "source": Field("source", rank=1),
        },
        progress="{topology} {network} {phase} {mode} batch {batch} {tokens} tokens  {simulated_ns:,.0f} ns, {error:+.1%}",
        summary="kernbench.evaluation.chip_networks:summarise",
        topology="wormhole_n150,blackhole_p150",
    ),
    "noc": Evaluation(
        settings={"patterns": TEXTS, "most_cores": WHOLE, "chip": TEXT},
        run="kernbench.evaluation.noc:evaluate_noc",
        point="kernbench.evaluation.noc:POINT",
        plot="kernbench.report.figures.measured:plot_noc",
        shown={
            "topology": Field("chip", rank=3),
            "pattern": Field("pattern"),
            "cores": Field("cores", "d"),
            "bytes": Field("bytes", ",d"),
            "transactions": Field("times", "d"),
            "simulated_cycles": Field("simulated cycles", ",.0f"),
            "measured_cycles": Field("published", ",.0f"),
            "error": Field("error", "+.1%"),
            "bytes_per_cycle": Field("B a cycle", ".2f", rank=1),
            "source": Field("source", rank=2),
        },
        progress="{topology} {pattern} {cores} cores {bytes} B x {transactions}  {simulated_cycles:,.0f} cycles, {error:+.1%}",
        summary="kernbench.evaluation.noc:summarise",
        topology="wormhole_n150,blackhole_p150",
    ),
    "tpu": Evaluation(
        settings={"layers": TEXTS, "tokens": NUMBERS},
        run="kernbench.evaluation.tpu:evaluate_tpu",
        point="kernbench.evaluation.tpu:POINT",
        plot="kernbench.report.figures.measured:plot_tpu",
        shown={
            "layer": Field("layer"),
            "tokens": Field("tokens", ",d"),
            "users": Field("users", ",d", rank=1),
            "cached": Field("cached", ",d", rank=1),
            "simulated_ns": Field("simulated ns", ",.0f"),
            "measured_ns": Field("measured ns", ",d"),
            "error": Field("error", "+.1%"),
            "achieved_tflops": Field("TFLOPS", ",.1f", rank=2),
            "bottleneck": Field("bottleneck", rank=1),
        },
        progress="{layer} {users} x {tokens} tokens  {simulated_ns:,.0f} ns, {error:+.1%}",
        summary="kernbench.evaluation.tpu:summarise",
        topology="tpu_v6e",
    ),
}


def find_evaluation(name: str) -> Evaluation:
    """An evaluation by name. Errors: InputError with the nearest name."""
    if name not in EVALUATIONS:
        raise InputError(f"there is no evaluation {name!r}{suggest(name, EVALUATIONS)}")
    return EVALUATIONS[name]


def read_settings(name: str, given: Mapping[str, object], topology: str | Path, option: str) -> dict[str, Any]:
    """The settings of an evaluation on a machine, typed; `option` is how they are given, for messages.

    Lists are values, or texts such as "64x128x64,512x512x512", "1KiB,64KiB" and "1KiB:64KiB:x4". Errors: InputError.
    """
    known = find_evaluation(name).settings
    first = str(topology).split(",")[0]
    check_names(given, known, first, owner=f"the evaluation {name!r}", option=option, kind="setting")
    settings: dict[str, Any] = {}
    for key, value in given.items():
        try:
            settings[key] = known[key](key, value)
        except ValueError as error:
            raise InputError(f"{option} {key}: {error}") from None
    return settings


def find_part(place: str) -> Any:
    """What a name "module:attribute" says."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)
