"""What the answer of a network takes from SIPs and their launches: peaks, and the time of each operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kernbench.machine.costs import peak_tflops
from kernbench.workloads.answer import TFLOPS_PER_FLOP_FS, Peak
from kernbench.workloads.plan import Mark

if TYPE_CHECKING:
    from kernbench.host.device.launch import Launch
    from kernbench.machine.machine import Machine


def find_peak(machine: Machine, bits: int) -> Peak:
    """The peak of a SIP for elements of so few bits."""
    places = machine.places
    pes = places.cubes_per_sip * places.pes_per_cube
    memory = machine.terminals[places.hbm(0, 0, 0)]
    fs_per_flit = int(machine.stations.fs_per_flit[memory.first_station])
    engines = int(machine.server_slots[places.pe(0, 0, 0).gemm_server])
    return Peak(
        pes * engines * peak_tflops(machine, bits) / TFLOPS_PER_FLOP_FS,
        pes * memory.stripes * machine.flit_bytes / fs_per_flit,
        pes * int(machine.figures["hbm.slice_bytes"]),
    )


def time_marks(
    marks: Sequence[Mark], launches: Sequence[Sequence[Launch]], issue_fs: np.ndarray, end_fs: np.ndarray
) -> list[tuple[int, int]]:
    """The start and end of each mark: from its first launch leaving the host of the first rank to the next mark's.

    `launches` are those of each rank; the last mark ends when all ranks have.
    """
    begins = [launches[0][mark.first].left_fs(issue_fs) for mark in marks]
    ends = [*begins[1:], max(each[-1].back_fs(end_fs) for each in launches)]
    return list(zip(begins, ends, strict=True))


def list_inexact(machine: Machine, *, quiet: bool, replicas: int = 1) -> list[str]:
    """What equal layers, ranks and replicas do not have in common, though one stands for all."""
    remarks = {
        "what replicas take from each other of the host": replicas > 1,
        "what arbiters of routers remember from one launch to the next, some cycles": machine.flow_control is not None,
        "messages still under way when the next launch begins, which other layers may meet elsewhere": not quiet,
    }
    return [remark for remark, is_so in remarks.items() if is_so]
