"""A send of activations from a stage of a pipeline to the next, from one SIP to another over the modelled fabric."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.limits.run_options import RunOptions
from kernbench.runs.bench import Bench
from kernbench.runs.run import run_kernels
from kernbench.workloads.kernels.layout import OVER_PES

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.workloads.architecture import Architecture
    from kernbench.workloads.step import Step


def time_send(machine: Machine, network: Architecture, step: Step) -> int:
    """Femtoseconds of a send of the activations of a micro-batch, all features of its tokens, from SIP 0 to SIP 1.

    It is a broadcast between two ranks, from the launch leaving their hosts to the last completion.
    """

    def work(torch: Any) -> None:
        x = torch.empty((network.hidden, step.tokens), step.types.activations, OVER_PES, "x")
        torch.distributed.broadcast(x, src=0)

    def run(torch: Any) -> None:
        torch.distributed.init_process_group(backend="ahbm")
        torch.multiprocessing.spawn(lambda _: work(torch), nprocs=2)

    bench = Bench("send", "activations to the next stage", {}, Path(__file__), run)
    found = run_kernels(bench, machine, range(2), {}, RunOptions(), 0.0)
    session, launches = found["device"].session, found["launches"]
    begin = max(launch.left_fs(session.op_issue_fs) for launch in launches)
    return int(max(launch.back_fs(session.op_end_fs) for launch in launches) - begin)
