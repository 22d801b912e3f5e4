"""`triton.runtime.driver`: what files ask of the driver of a device. There is one, and its figures are those of the machine."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

from kernbench.triton.device_facts import REGISTERS, WARP, device_facts
from kernbench.triton.language.testing import do_bench


class active:
    """The device in use."""

    @staticmethod
    def get_current_target() -> SimpleNamespace:
        """A target that takes the ways of files for a GPU."""
        return SimpleNamespace(backend="cuda", arch=80, warp_size=WARP)

    @staticmethod
    def get_active_torch_device() -> Any:
        """The device of torch named cuda: ours."""
        return importlib.import_module("torch").device("cuda", 0)

    @staticmethod
    def get_device_interface() -> Any:
        """What torch knows of it."""
        return importlib.import_module("torch").cuda

    @staticmethod
    def get_current_device() -> int:
        """The first."""
        return 0

    @staticmethod
    def get_current_stream(_: Any = None) -> int:
        """The only one."""
        return 0

    @staticmethod
    def get_benchmarker() -> Any:
        """`triton.testing.do_bench`."""
        return do_bench

    class utils:
        """Properties of a device."""

        @staticmethod
        def get_device_properties(_: Any = None) -> dict[str, int]:
            """Those that launchers divide work by."""
            facts = device_facts()
            return {
                "multiprocessor_count": facts.pes, "max_shared_mem": facts.scratch_bytes, "max_num_regs": REGISTERS,
                "warpSize": WARP, "sm_clock_rate": 1_000_000, "mem_clock_rate": 1_000_000, "mem_bus_width": 1024,
            }  # fmt: skip


class driver:
    """The driver as a name of `triton.runtime`."""

    active = active
