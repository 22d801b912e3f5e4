"""The one die of a machine of family `tensix`, and what its engines do."""

from __future__ import annotations

from typing import Any

from kernbench.machine.dies import Die, Dies, DieSize, Job


def _sizes(spec: Any) -> dict[str, DieSize]:
    return {} if spec.die_mm2 is None else {"chip": DieSize(spec.die_mm2, {})}


def _find(_node: str) -> Die | None:
    return Die("chip", "chip", "chip")


DIES = Dies(_sizes, _find, {"router": "tensix_noc", "l1": "tensix_core", "dram": "tensix_dram", "interface": ""})


def _actions(job: Job) -> list[tuple[str, str, float]]:
    """What an engine of a core does in some cycles; a product of tiles has a pass for each of its phases."""
    cycles = sum(amount for figure, amount in job.terms if figure == "tensix_core.cycle")
    if not cycles:
        return []

    def of(figure: str) -> float:
        return job.figures[f"tensix_core.{figure}"]

    match job.server:
        case "matrix" if job.operation == "matmul":
            return [("tensix_core", "pass_flop", round(cycles / of("matmul_cycles") * FLOP_A_TILE))]
        case "unpack":
            return [("tensix_core", "unpack_byte", cycles * of("unpack_bytes"))]
        case "pack":
            return [("tensix_core", "pack_byte", cycles * of("pack_bytes"))]
        case "matrix" | "vector":
            return [("tensix_core", f"{job.server}_cycle", cycles)]
        case _:
            return [("tensix_core", "code_cycle", cycles)]


FLOP_A_TILE = 2 * 32**3  # of a product of two tiles, in each of its phases
ACTIONS = _actions
