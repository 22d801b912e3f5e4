"""`torch.ahbm` and `torch.accelerator`: which SIP a worker is on; `torch.multiprocessing`: how workers come to be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from kernbench.errors import InputError
from kernbench.host.torch.unsupported import Namespace

if TYPE_CHECKING:
    from kernbench.host.torch.context import RuntimeContext


class _Sips(Namespace):
    """What both names of the device have."""

    def __init__(self, context: RuntimeContext) -> None:
        self._context = context

    def device_count(self) -> int:
        """How many SIPs the bench may use."""
        return self._context.device_count

    def is_available(self) -> bool:
        """Always."""
        return True

    def synchronize(self) -> None:
        """Wait until everything issued is done."""
        self._context.synchronize()


class Ahbm(_Sips):
    """`torch.ahbm`."""

    title: ClassVar[str] = "torch.ahbm"

    def set_device(self, device: int) -> None:
        """Select the SIP on which this worker makes tensors and launches. Errors: InputError for one that is not there."""
        self._context.set_device(device)

    def current_device(self) -> int:
        """The selected SIP."""
        return self._context.current_device


class Accelerator(_Sips):
    """`torch.accelerator`: the same device, by PyTorch's general names."""

    title: ClassVar[str] = "torch.accelerator"

    def set_device_index(self, device: int) -> None:
        """Select the SIP on which this worker makes tensors and launches. Errors: InputError for one that is not there."""
        self._context.set_device(device)

    def current_device_index(self) -> int:
        """The selected SIP."""
        return self._context.current_device


class Multiprocessing(Namespace):
    """`torch.multiprocessing`."""

    title: ClassVar[str] = "torch.multiprocessing"
    refused: ClassVar = dict.fromkeys(
        ("Process", "Pool", "Queue", "Pipe", "Manager", "start_processes", "get_context"),
        "ranks are greenlets of one process; use spawn(fn, args, nprocs)",
    )

    def __init__(self, context: RuntimeContext) -> None:
        self._context = context

    def spawn(
        self,
        fn: Callable[..., object],
        args: Sequence[Any] = (),
        nprocs: int = 1,
        join: bool = True,
        daemon: bool = False,
        start_method: str = "spawn",
    ) -> None:
        """Run `fn(rank, *args)` once for each of `nprocs` ranks, rank r on SIP r, and wait for all.

        Errors: InputError for a number of ranks that the run has no SIPs for or the process group does not have;
        the error of the first rank that raises.
        """
        if not callable(fn):
            raise InputError(f"torch.multiprocessing.spawn got {fn!r}; give the worker, a function of (rank, *args)")
        if not isinstance(args, Sequence) or isinstance(args, str):
            raise InputError(f"torch.multiprocessing.spawn got args={args!r}; give a tuple, such as (torch,)")
        if not join or daemon or start_method != "spawn":
            raise InputError(
                f"torch.multiprocessing.spawn got join={join}, daemon={daemon}, start_method={start_method!r}; "
                "ranks are greenlets that are always joined: leave these out"
            )
        self._context.spawn(fn, args, nprocs)
