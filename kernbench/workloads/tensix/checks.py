"""What a chip can do, and which steps have kernels on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.errors import InputError
from kernbench.machine.families.tensix.places import check_chip
from kernbench.parts.tensix import PRODUCT_PHASES
from kernbench.tanto.formats import find_format
from kernbench.tanto.tiles import SIDE
from kernbench.units import FS_PER_NS
from kernbench.workloads.answer import Peak
from kernbench.workloads.architecture import Architecture, Heads
from kernbench.workloads.step import Step

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

USERS = "networks of Tanto programs run"
FORMATS = {"bf16": "bfloat16", "bfp8": "bfloat8_b", "bfp4": "bfloat4_b"}


def format_of(dtype: str) -> str:
    """The format of a type of a step."""
    return find_format(FORMATS[dtype]).name


def find_peak(machine: Machine, fidelity: str) -> Peak:
    """The peak of a chip: products at a fidelity on all cores, and all banks."""
    places, figures = check_chip(machine, USERS), machine.figures
    tile_fs = PRODUCT_PHASES[fidelity] * figures["tensix_core.matmul_cycles"] * figures["tensix_core.cycle"]
    banks = places.grid.banks
    return Peak(
        places.w * places.h * 2 * SIDE**3 / tile_fs,
        banks * figures["tensix_dram.bank_gbs"] / FS_PER_NS,
        int(banks * figures["tensix_dram.bank_bytes"]),
        "chip",
    )


def check_step(network: Architecture, step: Step) -> None:
    """Check that a step has kernels on chips. Errors: InputError that names what has none, and what would do."""
    name, heads, prefill = network.name, network.attention, step.phase == "prefill"
    longest = max(part.context for part in step.parts)
    lacks = {
        f"phase={step.phase}": step.phase == "chunked",
        "windows shorter than the prompt": prefill
        and any((kind.window or longest) < longest for kind in network.layer_kinds),
        "latent attention": not isinstance(heads, Heads),
        "experts": network.experts is not None,
        f"{network.norms.per_layer} norms a layer": network.norms.per_layer > 2,
        "soft caps of scores": any(network.soft_caps),
        "learned positions in decode": bool(network.positions) and not prefill,
        "norms of queries and keys": isinstance(heads, Heads) and heads.normalised,
        f"heads of {getattr(heads, 'size', 0)} elements, no whole tiles of {SIDE}": isinstance(heads, Heads)
        and heads.size % SIDE != 0,
        f"tp={step.tensor} and dp={step.replicas}": step.tensor * step.replicas > 1,
        f"ep={step.expert_ranks}": step.expert_ranks > 1,
        f"pp={step.stages}": step.stages > 1,
    }
    found = [what for what, is_so in lacks.items() if is_so]
    if found:
        raise InputError(
            f"{name} needs {found[0]}, for which there are no kernels on chips of family tensix yet; decode and "
            "prefill of dense decoders with rotary positions, such as llama-3.1-8b, and encoders run on one chip"
        )
    if step.sequences > SIDE:
        raise InputError(
            f"{name} got {step.sequences} sequences a step; kernels of chips take a row of tiles, {SIDE}; give fewer"
        )
    for what, dtype, known in (
        ("activations", step.types.activations, ("bf16",)),
        ("weights", step.types.weights, tuple(FORMATS)),
        ("mlp_weights", step.types.mlp or step.types.weights, tuple(FORMATS)),
        ("cache", step.types.cache, tuple(FORMATS)),
    ):
        if dtype not in known:
            raise InputError(f"{name} got {what}={dtype}; chips of family tensix have kernels for {', '.join(known)}")
