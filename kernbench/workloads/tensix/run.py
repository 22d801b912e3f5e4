"""A step of a network on a chip, simulated: its programs in turn as one device program, and the time of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kernbench.errors import InputError
from kernbench.parts.tensix import PRODUCT_PHASES
from kernbench.tanto.chain import Chain
from kernbench.tanto.loading import LIBRARY, KernelFiles
from kernbench.workloads.numbers import Numbers
from kernbench.workloads.plan import Mark, Plan
from kernbench.workloads.tensix.decode import Decoder
from kernbench.workloads.tensix.encoder import make_prompt
from kernbench.workloads.tensix.network import ChipNetwork, Fidelities

if TYPE_CHECKING:
    from kernbench.engine import Session
    from kernbench.limits.run_options import RunOptions
    from kernbench.tanto.device import Device
    from kernbench.workloads.step import Step


class ChipRun(NamedTuple):
    """What came of a step: the operators with their spans, and sentences on races and missing calls."""

    network: ChipNetwork
    session: Session
    marks: list[Mark]
    spans_fs: list[tuple[int, int]]
    told: tuple[str, ...]
    l1_peak_bytes: int


def run_step(
    device: Device, plan: Plan, step: Step, fidelities: Fidelities, options: RunOptions, *, numbers: bool = False
) -> ChipRun:
    """Simulate a step; with `numbers`, of weights that are drawn, the device holds the logits after it.

    Errors: InputError for programs that do not fit into L1, RunError for a deadlock.
    """
    from kernbench.engine import Session  # with numba

    options.stage("writing the programs")
    make = Decoder if step.phase == "decode" else make_prompt
    network = make(device, plan, step, fidelities, Numbers())
    network.launch()
    launches = network.chip.launches
    if numbers:
        network.chip.fill_all()
    chain, files = Chain(device, numbers), KernelFiles(LIBRARY)
    options.stage("running the kernels")
    for one in launches:
        try:
            chain.add(one.program.spec(), files, one.operator, {"phases": float(PRODUCT_PHASES[one.fidelity])})
        except InputError as error:
            raise InputError(
                f"the program of {one.operator} does not fit: {error}; give a shorter context or prompt, or fewer sequences"
            ) from None
    session = Session(chain.program, options.mode)
    session.run(on_progress=options.on_progress)
    session.check_finished()
    ends = chain.find_ends(session)
    marks = [Mark(one.section, one.operator, at, at + 1) for at, one in enumerate(launches)]
    spans = list(zip([0, *ends[:-1]], ends, strict=True))
    return ChipRun(network, session, marks, spans, chain.tell(session), chain.l1_peak_bytes)
