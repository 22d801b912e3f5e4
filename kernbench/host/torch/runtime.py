"""State of a run that the names of `torch`, tensors and process groups share."""

# pyright: reportUnnecessaryIsInstance=false
# What users write is not checked for types before it runs.

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.dtypes import numpy_dtype
from kernbench.errors import InputError
from kernbench.host.memory.initial_values import Given
from kernbench.host.torch.ranks import Launcher, caller

if TYPE_CHECKING:
    from kernbench.host.device.device import Device
    from kernbench.host.device.launch import Launch
    from kernbench.host.memory.initial_values import Contents
    from kernbench.host.memory.placement import DPPolicy
    from kernbench.host.memory.tensor_layout import Layout
    from kernbench.host.messages import KernelLaunch, PeDma
    from kernbench.host.torch.collectives import Collective
    from kernbench.host.torch.equal_ranks import EqualRanks
    from kernbench.host.torch.process_group import ProcessGroup
    from kernbench.host.torch.tensor import Tensor
    from kernbench.tl.lowering.ipcq import Ipcq

Reference = np.ndarray | Callable[[], np.ndarray]


@dataclass(frozen=True, slots=True)
class Expectation:
    """The numbers that a tensor must hold at the end of the run."""

    tensor: Tensor
    reference: Reference
    tolerance: float | None
    every_copy: bool = False


class Runtime:
    """The device and the SIPs of a run, its ranks and their process group, and what the bench has issued."""

    def __init__(self, device: Device, sips: Sequence[int]) -> None:
        self.device = device
        self.sips = tuple(sips)  # that the bench may use, by their numbers in the machine; it knows them as 0, 1, ...
        self.launcher = Launcher()
        self.group: ProcessGroup | None = None
        self.tensors = 0  # made so far
        self.launches: list[Launch] = []
        self.equal: EqualRanks | None = None  # where ranks that do the same are simulated once
        self._counts = Counter[int]()  # of launches, by SIP
        self.collectives: list[Collective] = []
        self.expectations: list[Expectation] = []
        self._selected = 0  # by the bench's own function; ranks have theirs

    @property
    def submitted(self) -> bool:
        """Whether anything was issued to the device."""
        return bool(self.tensors or self.launches)

    @property
    def current_device(self) -> int:
        """The selected SIP: in a worker its own, which is that of its rank until it selects another."""
        rank = self.launcher.current
        return self._selected if rank is None else rank.device

    @property
    def current_sip(self) -> int:
        """The selected SIP, by its number in the machine."""
        return self.sips[self.current_device]

    def set_device(self, index: int) -> None:
        """Select the SIP on which tensors are made and kernels launched. Errors: InputError for one that is not there."""
        if not isinstance(index, (int, np.integer)) or not 0 <= index < len(self.sips):
            raise InputError(f"there is no device {index!r}; this run has devices 0 to {len(self.sips) - 1}")
        rank = self.launcher.current
        if rank is None:
            self._selected = int(index)
        else:
            rank.device = int(index)

    def create(self, name: str, contents: Contents, policy: DPPolicy) -> tuple[int, Layout]:
        """Place a tensor on the selected SIP; returns that SIP and the layout. Errors: as `Device.create`."""
        self.tensors += 1
        sip = self.current_sip
        return sip, self.device.create(sip, name, contents, policy)

    def write(self, tensor: Tensor, array: np.ndarray) -> None:
        """Write an array into a tensor; see `Tensor.copy_`."""
        given = Given(tensor.shape, tensor.dtype, array.astype(numpy_dtype(tensor.dtype)))
        self.device.write(tensor.sip, tensor.name, tensor.layout, given)

    def read(self, tensor: Tensor) -> np.ndarray:
        """Read a tensor; see `Tensor.numpy`."""
        self.device.read(tensor.sip, tensor.name, tensor.layout)
        return self._peek(tensor)

    def _peek(self, tensor: Tensor) -> np.ndarray:
        """A tensor's numbers once all that was issued is done; takes no simulated time."""
        self.launcher.let_others_run()
        return self.device.look(tensor.layout)

    def release(self, tensor: Tensor) -> None:
        """Free a tensor's memory."""
        self.device.release(tensor.sip, tensor.layout)

    def launch(self, message: KernelLaunch, fn: Callable[..., Any], queues: Ipcq | None = None) -> Launch:
        """Launch a kernel whose messages go through these queues, else those of all launches; not waited for."""
        return self._keep(self.device.launch(message, fn, queues))

    def count(self, sip: int) -> int:
        """The launches of a SIP so far."""
        return self.equal.count(sip) if self.equal else self._counts[sip]

    @contextmanager
    def between_ranks(self) -> Generator[None]:
        """Around what launches a collective."""
        if self.equal is None:
            yield
            return
        self.equal.issue()
        first = len(self.launches)
        yield
        self.equal.note(self.launches[first:])

    def pe_dma(self, message: PeDma) -> Launch:
        """Let the DMA of a PE move a shard; not waited for."""
        return self._keep(self.device.pe_dma(message))

    def _keep(self, launch: Launch) -> Launch:
        launch.place = caller()
        self.launches.append(launch)
        self._counts[launch.message.sip] += 1
        launch.check_at_once()
        return launch

    def leave_group(self) -> None:
        """Forget the process group: its slots are free again, and kernels that are launched afterwards have no neighbours."""
        self.group = None
        self.device.remove_neighbours()

    def synchronize(self) -> None:
        """Wait until everything issued to every SIP is done. Errors: DeadlockError."""
        self.launcher.let_others_run()
        self.device.run()

    def drop_expectations(self) -> None:
        """Let go of what the bench expects, at the end of a run: references may hold tensors, which hold this object."""
        self.expectations.clear()

    def list_contents(self, expectation: Expectation) -> Iterator[tuple[str, np.ndarray]]:
        """The name and the numbers of each copy that an expectation is compared with."""
        tensor = expectation.tensor
        yield tensor.name, self._peek(tensor)
        for copy in range(1, tensor.layout.copies if expectation.every_copy else 1):
            yield f"{tensor.name} (copy {copy})", self.device.look(tensor.layout, copy)
