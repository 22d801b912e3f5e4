"""Launches of Triton files on a machine: simulated with the numbers of the file's tensors, then computed in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.errors import KernelError
from kernbench.host.device.device import Device
from kernbench.host.memory.placement import DPPolicy
from kernbench.host.torch.context import RuntimeContext
from kernbench.runs.recording import RecordingDevice
from kernbench.triton.device_facts import DeviceFacts
from kernbench.triton.host_arrays import HostMemory, is_tensor, spanned, whole_storage
from kernbench.triton.language.descriptor import TensorDescriptor
from kernbench.triton.language.launches import LAUNCH, KernelOnGrid, Launcher
from kernbench.triton.pointees import find_pointees
from kernbench.triton.whole_file import Launch, compute
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.host.device.launch import Launch as DeviceLaunch

SPLIT = DPPolicy(cube="row_wise", pe="row_wise")


class Simulation:
    """The launches of a file on the device of a run, each appended to `launches`."""

    def __init__(self, torch: RuntimeContext, launches: list[Launch]) -> None:
        self._torch, self._launches = torch, launches
        self._ns = 0.0

    @property
    def facts(self) -> DeviceFacts:
        """What the file sees of the device."""
        machine = self._torch.driven.machine
        pes = self._torch.cubes_per_sip * self._torch.pes_per_cube
        scratch, hbm = (int(machine.figures[name]) for name in ("pe.scratch_bytes", "hbm.slice_bytes"))
        return DeviceFacts(machine.name, pes, scratch, hbm * pes)

    @property
    def launcher(self) -> Launcher:
        """Who takes launches; mode analytic has no times to choose by."""
        if isinstance(self._torch.driven, RecordingDevice):
            return Launcher(self.launch)
        return Launcher(self.launch, lambda: self._ns, self.measure)

    def launch(self, kernel: KernelOnGrid, args: Sequence[Any], options: Mapping[str, Any]) -> None:
        """Simulate a launch, then compute it in the file's tensors. Errors: InputError, KernelError."""
        made = _launch(self._torch, kernel, args, options)
        if not isinstance(self._torch.driven, RecordingDevice):
            self._ns += _time(self._torch, made)
        self._launches.append(compute(kernel, args, options))

    def measure(self, kernel: KernelOnGrid, args: Sequence[Any], options: Mapping[str, Any]) -> float:
        """The time of a launch by itself, on a device of its own, ns; infinite for one that cannot run."""
        torch = RuntimeContext(Device(self._torch.driven.machine), self._torch.runtime.sips, seed=0)
        try:
            return _time(torch, _launch(torch, kernel, args, options))
        except KernelError:
            return inf


def _launch(
    torch: RuntimeContext, kernel: KernelOnGrid, args: Sequence[Any], options: Mapping[str, Any]
) -> DeviceLaunch:
    """Launch with tensors of the same numbers on the device; those that begin at one place are one."""
    made: dict[tuple[int, str], Any] = {}

    def on_device(value: Any, name: str) -> Any:
        if isinstance(value, (tuple, list)):
            return type(value)(on_device(one, name) for one in value)
        if isinstance(value, TensorDescriptor):
            base = on_device(value.base, name)
            return TensorDescriptor(base, value.shape, value.strides, value.block_shape, value.padding)
        if not is_tensor(value):
            return value
        memory = HostMemory()
        at = memory.pointer_to(value, "")
        return held_on_device(memory.arrays[at.number][int(at.offsets) :], name)

    def held_on_device(held: np.ndarray, name: str = "") -> Any:
        key = held.ctypes.data, held.dtype.name
        if key not in made:
            made[key] = torch.from_numpy(held, SPLIT, name)
        return made[key]

    bound = kernel.prepare_launch(args, options, None, None)  # constants and grid follow from tensors of the host
    pointees = [
        (*spanned(one), held_on_device(whole_storage(one))) for one in find_pointees(list(bound.given.values()))
    ]
    plain = KernelOnGrid(kernel.kernel.innermost, bound.grid, pointees)
    given = {"num_stages": bound.stages, **{name: options[name] for name in LAUNCH if name in options}}
    given |= {name: on_device(value, name) for name, value in bound.given.items()}
    launched = torch.launch(kernel.kernel.__name__, plain, **given)
    torch.synchronize()
    return launched


def _time(torch: RuntimeContext, launched: DeviceLaunch) -> float:
    """The time of a launch that has ended, from its barrier to its last PE, ns."""
    session = torch.driven.session
    return launched.pe_exec_fs(session.op_issue_fs, session.op_end_fs) / FS_PER_NS
