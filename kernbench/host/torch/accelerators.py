"""`torch.ahbm` and `torch.accelerator`: the SIP of a worker; `torch.multiprocessing`: the spawning of workers."""

# pyright: reportUnnecessaryIsInstance=false
# What users write is not checked for types before it runs.

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from kernbench.errors import InputError, suggest

if TYPE_CHECKING:
    from kernbench.host.torch.runtime import Runtime


class UnsupportedError(InputError, AttributeError):
    """A name of PyTorch that this runtime does not have; an AttributeError too, so that `hasattr` works."""


class Namespace:
    """A part of `torch`. A name that it lacks is refused with an alternative, or with the names it has."""

    title: ClassVar[str]  # as the user writes it
    refused: ClassVar[Mapping[str, str]] = {}  # name → why not, and what to do instead
    hidden: ClassVar[Sequence[str]] = ("title", "refused", "hidden")  # names that are not for benches

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        instead = self.refused.get(name)
        known = [known for known in dir(type(self)) if not known.startswith("_") and known not in self.hidden]
        tail = f": {instead}" if instead else suggest(name, known, most=len(known))
        raise UnsupportedError(f"{self.title} has no {name!r}{tail}")


class _Sips(Namespace):
    """The functions that both names of the device share."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def device_count(self) -> int:
        """The number of SIPs that the bench may use."""
        return len(self._runtime.sips)

    def is_available(self) -> bool:
        """Always."""
        return True

    def synchronize(self) -> None:
        """Wait until everything issued is done."""
        self._runtime.synchronize()


class Ahbm(_Sips):
    """`torch.ahbm`."""

    title: ClassVar[str] = "torch.ahbm"

    def set_device(self, device: int) -> None:
        """Select the SIP on which this worker makes tensors and launches. Errors: InputError for one that is not there."""
        self._runtime.set_device(device)

    def current_device(self) -> int:
        """The selected SIP."""
        return self._runtime.current_device


class Accelerator(_Sips):
    """`torch.accelerator`: the same device, by PyTorch's general names."""

    title: ClassVar[str] = "torch.accelerator"

    def set_device_index(self, device: int) -> None:
        """Select the SIP on which this worker makes tensors and launches. Errors: InputError for one that is not there."""
        self._runtime.set_device(device)

    def current_device_index(self) -> int:
        """The selected SIP."""
        return self._runtime.current_device


class Multiprocessing(Namespace):
    """`torch.multiprocessing`."""

    title: ClassVar[str] = "torch.multiprocessing"
    refused: ClassVar = dict.fromkeys(
        ("Process", "Pool", "Queue", "Pipe", "Manager", "start_processes", "get_context"),
        "ranks are greenlets of one process; use spawn(fn, args, nprocs)",
    )

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

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
        runtime = self._runtime
        if not isinstance(nprocs, (int, np.integer)) or not 1 <= nprocs <= len(runtime.sips):
            raise InputError(
                f"spawn got nprocs={nprocs!r}, but this run has {len(runtime.sips)} "
                f"{'SIP' if len(runtime.sips) == 1 else 'SIPs'}; give 1 to {len(runtime.sips)}"
            )
        if runtime.group is not None and nprocs != runtime.group.world_size:
            size = runtime.group.world_size
            raise InputError(
                f"spawn got nprocs={nprocs}, but the process group has a world size of {size}; spawn with nprocs={size}"
            )
        runtime.launcher.spawn(fn, args, int(nprocs))
