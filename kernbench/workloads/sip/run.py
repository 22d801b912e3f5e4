"""A step of a network on all of its ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kernbench.host.torch.equal_ranks import EqualRanks
from kernbench.workloads.architecture import Architecture
from kernbench.workloads.numbers import Numbers
from kernbench.workloads.plan import Mark, Plan
from kernbench.workloads.sip.choices import WITHOUT, Choices
from kernbench.workloads.sip.encoder import ImageEncoder, TextEncoder
from kernbench.workloads.sip.program import Decoder
from kernbench.workloads.sip.prompt import PromptDecoder
from kernbench.workloads.step import Step

if TYPE_CHECKING:
    from kernbench.host.device.launch import Launch
    from kernbench.host.torch.context import RuntimeContext


class Ran(NamedTuple):
    """What a step has launched: the marks of the first rank, and the launches of each or of the first of its class.

    `alone` are the numbers of the launches at whose begin no rank does anything else.
    """

    marks: list[Mark]
    launches: list[list[Launch]]
    alone: Sequence[int]


def choose_decoder(network: Architecture, step: Step) -> type[Decoder]:
    """What a rank makes for a step of its phase."""
    if network.patches:
        return ImageEncoder
    if not network.causal:
        return TextEncoder
    return Decoder if step.phase == "decode" else PromptDecoder


def run_step(
    torch: RuntimeContext, plan: Plan, step: Step, choices: Choices = WITHOUT, *, every_rank: bool = False
) -> Ran:
    """Launch a step on all ranks; of ranks that do the same, but for `every_rank`, the first alone."""
    runtime, decoders, kind = torch.runtime, list[Decoder](), choose_decoder(plan.network, step)

    def work(index: int) -> None:
        decoder = kind(torch, plan, step, index, Numbers(), choices=choices)
        decoders.append(decoder)
        if step.ranks > 1:
            runtime.launcher.rendezvous("the beginning of a step", decoder, begin)
        decoder.launch()

    def begin(decoders: dict[int, Decoder]) -> None:
        for collective, tensor in decoders[0].list_collectives():
            torch.distributed.install(collective, tensor)
        equal.issue()

    if step.ranks == 1:
        work(0)
        return Ran(decoders[0].rank.marks, [runtime.launches], range(len(runtime.launches)))
    torch.distributed.init_process_group(backend="ahbm")
    equal = runtime.equal = EqualRanks(runtime, every=every_rank)
    torch.multiprocessing.spawn(work, nprocs=step.ranks)
    equal.issue()
    return Ran(decoders[0].rank.marks, list(equal.launches.values()), equal.met[:-1])
