"""The one die of a machine of family `ascend`, and what its engines do."""

from __future__ import annotations

from typing import Any

from kernbench.machine.dies import Die, Dies, DieSize, Job


def _sizes(spec: Any) -> dict[str, DieSize]:
    return {} if spec.die_mm2 is None else {"chip": DieSize(spec.die_mm2, {})}


def _find(node: str) -> Die | None:
    return None if node == "host" else Die("chip", "chip", "chip")


DIES = Dies(_sizes, _find, {"noc": "npu_noc", "aic": "aic", "aiv": "aiv", "aicpu": "aicpu"})


def _actions(job: Job) -> list[tuple[str, str, float]]:
    """What an engine of a core does in some cycles: each is full, but for those that a job takes at least.

    An engine that moves both operands, one after the other, moves as many bytes of each.
    """
    core, _, engine = job.server.partition("_")
    cycles = sum(amount for figure, amount in job.terms if figure == f"{core}.cycle")
    if not cycles:
        return []
    cycles = max(cycles - job.figures[f"{core}.job_cycles"], 0)

    def of(figure: str) -> float:
        return job.figures[f"{core}.{figure}"]

    match engine:
        case "cube":
            return [(core, "flop_16", 2 * cycles * of("cube_side") ** 3)]
        case "l1":
            return [(core, "operand_byte", cycles * 2 / (1 / of("l0a_bytes_cycle") + 1 / of("l0b_bytes_cycle")))]
        case "out" if core == "aic":
            return [(core, "product_byte", cycles * of("l0c_bytes_cycle"))]
        case "vector":
            return [(core, "vector_byte", cycles * of("vector_bytes_cycle"))]
        case _:
            return []


ACTIONS = _actions
