"""The compiled kernel that a launch returns in Triton. Nothing is compiled here; its figures are those of one program a PE."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from kernbench.triton.device_facts import WARP, device_facts

_NO_ASSEMBLY = "; kernels are simulated on a machine of KernBench, which has no assembly\n"


class _Assembly(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return _NO_ASSEMBLY


class CompiledKernel:
    """The figures that files ask of a compiled kernel; they divide a multiprocessor by these, and get one program a PE."""

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        warps, stages = options.get("num_warps", 4), options.get("num_stages", 3)
        self.n_regs, self.n_spills, self.n_max_threads = WARP, 0, WARP * 32
        self.asm = _Assembly()
        self.metadata = SimpleNamespace(
            name=name, num_warps=warps, num_stages=stages, num_ctas=1, shared=device_facts().scratch_bytes
        )
        self.shared = self.metadata.shared

    def _init_handles(self) -> None:
        """As in Triton: there is nothing to load."""
