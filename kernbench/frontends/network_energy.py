"""The energy of a step of a network: that of the launches of each operator, as often as its layer counts, and static power.

Messages of the host, which set tensors up and launch kernels, are left out. Static power is that of the whole machine,
over the time of the step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kernbench.energy.run_energy import is_priced
from kernbench.energy.static import count_draws, static_aj
from kernbench.runs.energy_shares import sum_by_launch
from kernbench.units import AJ_PER_J

if TYPE_CHECKING:
    from kernbench.runs.result import RunResult
    from kernbench.workloads.sip.run import Ran


def tell_energy(result: RunResult, step: Mapping[str, Any], ran: Ran) -> dict[str, Any]:
    """What a step costs, beside what `tell_step` says of it: joules of the step and of a token; None where a figure is missing.

    The operators of the step are those of the marks, in their order, each with how often its layer counts. A launch that
    several ranks have in common counts for each.
    """
    if not is_priced(result.device.program.machine):
        return dict.fromkeys(("step_dynamic_j", "step_static_j", "joules_per_token", "tokens_per_joule"))
    energy = result.energy()
    by_launch = dict(zip(map(id, result.launches), sum_by_launch(energy.rows, result.launches), strict=True))
    each = [sum(by_launch[id(one)] for own in ran.launches for one in own[mark.first : mark.end]) for mark in ran.marks]
    operators = zip(each, step["operators"], strict=True)
    dynamic = step["replicas"] * step["micro_batches"] * sum(aj * operator["times"] for aj, operator in operators)
    static = static_aj(count_draws(energy.draws), step["step_fs"])
    tokens = step["tokens"] * step["replicas"]
    known = not energy.missing
    joules = (dynamic + static) / AJ_PER_J / tokens
    return {
        "step_dynamic_j": dynamic / AJ_PER_J if known else None,
        "step_static_j": static / AJ_PER_J,
        "joules_per_token": joules if known else None,
        "tokens_per_joule": 1 / joules if known and joules else None,
    }
