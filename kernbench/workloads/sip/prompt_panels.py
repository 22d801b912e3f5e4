"""Which panels the tokens of a step are in, and where copies of what products read lie."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import TYPE_CHECKING

from kernbench.dtypes import itemsize
from kernbench.units import FS_PER_NS
from kernbench.workloads.architecture import Architecture, Heads
from kernbench.workloads.kernels.panels import Copies, Panel, cut
from kernbench.workloads.sip.answer import find_peak
from kernbench.workloads.sip.rank import find_scratch
from kernbench.workloads.weights import Weight, list_layer

if TYPE_CHECKING:
    from kernbench.host.torch.context import RuntimeContext
    from kernbench.workloads.step import Step


def flat(panels: Sequence[Panel]) -> tuple[tuple[int, int], ...]:
    """Panels as arguments of a launch."""
    return tuple(map(tuple, panels))  # type: ignore[arg-type]


def find_widest(scratch: int, network: Architecture) -> int:
    """The widest panel: its sums may have twice as many columns as rows, and the heads of attention have room beside scores."""
    widest = isqrt(scratch // 14)
    if isinstance(network.attention, Heads):
        widest = min(widest, scratch // (28 * network.attention.size))
    return max(1, widest // 16 * 16)


def find_panels(torch: RuntimeContext, network: Architecture, step: Step) -> tuple[tuple[Panel, ...], Copies]:
    """The panels of a step, and where copies of what products read lie.

    Sequences that take one token each are one panel, the last, in the last group.
    """
    widest, cubes = find_widest(find_scratch(torch), network), torch.cubes_per_sip
    tokens, groups = step.tokens, find_groups(torch, network, step)
    beside = step.parts[1].count if len(step.parts) > 1 else 0
    prompts = tokens - beside
    last = (Panel(prompts, beside),) if beside else ()
    if groups > 1:
        bounds = [min(tokens * group // groups, prompts) for group in range(groups)]
        panels = [
            panel
            for first, end in zip(bounds, [*bounds[1:], prompts], strict=True)
            for panel in cut(first, end - first, 2 * -(-(end - first) // (2 * widest)))
        ]
        return (*panels, *last), Copies((*bounds, tokens), cubes)
    return (*cut(0, prompts, count_panels(torch, network, step, prompts, widest)), *last), Copies((0, tokens), cubes)


def count_panels(torch: RuntimeContext, network: Architecture, step: Step, tokens: int, widest: int) -> int:
    """Panels of one group: as many as let the PEs of a cube read what comes from other cubes and the weights in the least time.

    Where several PEs share a panel, each reads it; where a PE has a panel of its own, it reads all weights of the cube.
    """
    pes, figures = torch.pes_per_cube, torch.driven.machine.figures
    rows = (3 * network.hidden + 2 * network.mlp.inner) // (5 * step.tensor * torch.cubes_per_sip)
    link, dma = float(figures["ucie.gbs"]), float(figures["pe_dma.gbs"])

    def take(count: int) -> float:
        return max(tokens * pes / count / link, rows * count / pes / dma)

    counts = [count for count in range(1, min(pes, tokens) + 1) if pes % count == 0 and -(-tokens // count) <= widest]
    return min(counts, key=take, default=0) or -(-tokens // (widest * pes)) * pes


def find_groups(torch: RuntimeContext, network: Architecture, step: Step) -> int:
    """Groups of cubes, one or as many as rows of cubes: what takes less time by the bounds of the products of a layer.

    In one group a link between cubes carries all of x once, since it passes all cubes; between groups it carries the weights
    of all but one of them. The matrix engines take their time beside either.
    """
    machine, tokens = torch.driven.machine, step.tokens
    rows, cubes = machine.places.cube_h, torch.cubes_per_sip
    if rows == 1 or tokens < 2 * rows * torch.pes_per_cube:
        return 1
    width, share = itemsize(step.types.activations), cubes * step.tensor
    link = float(machine.figures["ucie.gbs"])
    peak = find_peak(machine, 8 * width).flops_fs * FS_PER_NS / cubes  # of a cube, flops a ns

    def take(weight: Weight, moved: int) -> float:
        own = weight.cols // share
        return weight.rows * max(2 * own * tokens / peak, moved * width / link)

    weights = [weight for weight in list_layer(network, network.layer_kinds[0]) if weight.rows > 1]
    one = sum(take(weight, tokens) for weight in weights)
    many = sum(take(weight, (rows - 1) * (weight.cols // share)) for weight in weights)
    return rows if many < one else 1
