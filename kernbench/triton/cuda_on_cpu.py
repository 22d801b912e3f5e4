"""A device named `cuda` that is ours: files of Triton ask torch for it, and their tensors stay on the CPU.

torch is imported only if it is installed; without it the import of a file that needs it fails.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from math import nan
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from kernbench.triton.device_facts import REGISTERS, WARP, device_facts
from kernbench.triton.language.launches import launched_ns
from kernbench.triton.language.testing import NS_PER_MS


@contextmanager
def cuda_on_cpu() -> Iterator[None]:
    """Let torch know a device `cuda` in the block, whose tensors are on the CPU."""
    if importlib.util.find_spec("torch") is None:
        yield
        return
    torch: Any = importlib.import_module("torch")
    mode: Any = importlib.import_module("torch.overrides").TorchFunctionMode

    class OnCPU(mode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if func is torch.Tensor.backward:
                kwargs["grad_tensors"] = kwargs.pop("gradient", None)
                return self._differentiate(torch.autograd.backward, *args, **kwargs)
            if func in (torch.autograd.backward, torch.autograd.grad):
                return self._differentiate(func, *args, **kwargs)
            return _on_cpu(torch, func, args, kwargs)

        def _differentiate(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            """Go backwards within this mode, since functions of the file are called on the way."""
            with patch.object(torch.autograd, "has_torch_function", lambda _: False), self:
                return func(*args, **kwargs)

    with ExitStack() as stack:
        for name, value in _cuda().items():
            stack.enter_context(patch.object(torch.cuda, name, value, create=True))
        for name, value in _accelerator(torch).items():
            stack.enter_context(patch.object(torch.accelerator, name, value))
        stack.enter_context(patch.object(torch, "Generator", _generator(torch)))
        stack.enter_context(patch("torch.utils._triton.has_triton_package", _has_triton))
        stack.enter_context(OnCPU())
        yield


def _has_triton() -> bool:
    """Whether Triton is there: for files, not for the compiler of torch, which wants parts of it that are not here."""
    return not sys._getframe(1).f_globals.get("__name__", "").startswith("torch.")


def _generator(torch: Any) -> type:
    """The class of generators of random numbers, for a device named cuda too."""

    class Generator(torch.Generator):
        def __new__(cls, device: Any = "cpu") -> Any:
            return super().__new__(cls, _place(torch, device))

    return Generator


def _on_cpu(torch: Any, func: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    name = getattr(func, "__name__", "")
    if func is torch.Tensor.cuda:
        return args[0]
    if func == torch.Tensor.is_cuda.__get__:
        return True
    if func == torch.Tensor.device.__get__:
        return torch.device("cuda", 0)
    if func is torch.Tensor.get_device:
        return 0
    if name == "pin_memory":
        return args[0]
    kwargs = {key: _place(torch, value) if key == "device" else value for key, value in kwargs.items()}
    kwargs.pop("pin_memory", None)
    if func is torch.Tensor.to:
        args = (args[0], *(_place(torch, one) for one in args[1:]))
    return func(*args, **kwargs)


def _place(torch: Any, device: Any) -> Any:
    """The CPU for a device named cuda, or for its number."""
    if isinstance(device, torch.device):
        return torch.device("cpu") if device.type == "cuda" else device
    if isinstance(device, str) and device.startswith("cuda"):
        return torch.device("cpu")
    return torch.device("cpu") if type(device) is int else device


class _Stream:
    """The only stream: all that is launched is done in its order."""

    cuda_stream = 0

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def synchronize(self) -> None:
        """All is done."""

    def wait_stream(self, _: Any) -> None:
        """All is done."""

    wait_event = record_event = wait_stream

    def is_capturing(self) -> bool:
        """Nothing is captured as a graph."""
        return False


class _Event:
    """An event of `torch.cuda`: the simulated time of the launches so far."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._ns = nan

    def record(self, *_: Any) -> None:
        """Note the time."""
        now = launched_ns()
        self._ns = nan if now is None else now

    def synchronize(self) -> None:
        """All is done."""

    wait = synchronize

    def query(self) -> bool:
        """All is done."""
        return True

    def elapsed_time(self, end: _Event) -> float:
        """The time from here to another, ms; NaN without a machine."""
        return (end._ns - self._ns) / NS_PER_MS


def _accelerator(torch: Any) -> dict[str, Any]:
    """What files and optimizers ask of `torch.accelerator`, which earlier releases of torch do not have."""
    known = vars(getattr(torch, "accelerator", None) or SimpleNamespace())
    own = {**_cuda(), "current_device_index": lambda: 0, "current_device_idx": lambda: 0}
    return {name: value for name, value in own.items() if name in known}


def _cuda() -> dict[str, Any]:
    """What files ask of `torch.cuda`."""
    facts = device_facts()
    properties = SimpleNamespace(
        name=facts.name, major=8, minor=0, multi_processor_count=facts.pes, total_memory=facts.memory_bytes, warp_size=WARP,
        max_threads_per_multi_processor=2048, shared_memory_per_block=facts.scratch_bytes, regs_per_multiprocessor=REGISTERS,
        shared_memory_per_block_optin=facts.scratch_bytes, shared_memory_per_multiprocessor=facts.scratch_bytes,
        L2_cache_size=0, gcnArchName="",
    )  # fmt: skip
    silent = (
        "synchronize",
        "set_device",
        "empty_cache",
        "manual_seed",
        "manual_seed_all",
        "reset_peak_memory_stats",
        "init",
    )
    return {
        **{name: lambda *_, **__: None for name in silent},  # torch.compile asks that each is a function of its own
        "is_available": lambda: True, "device_count": lambda: 1, "current_device": lambda: 0,
        "get_device_capability": lambda *_: (8, 0),
        "get_device_name": lambda *_: facts.name, "get_device_properties": lambda *_: properties,
        "device": lambda *_: nullcontext(), "device_of": lambda *_: nullcontext(), "stream": lambda *_: nullcontext(),
        "current_stream": lambda *_, **__: _Stream(), "Stream": _Stream, "default_stream": lambda *_, **__: _Stream(),
        "Event": _Event, "mem_get_info": lambda *_: (facts.memory_bytes, facts.memory_bytes),
        "max_memory_allocated": lambda *_: 0, "memory_allocated": lambda *_: 0, "memory_reserved": lambda *_: 0,
        "is_initialized": lambda: True,
        "is_bf16_supported": lambda *_, **__: True, "is_current_stream_capturing": lambda: False,
    }  # fmt: skip
