"""The compiled kernel that a launch returns in Triton. Nothing is compiled here; its figures are those of one program a PE."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from kernbench.triton.device_facts import WARP, device_facts

if TYPE_CHECKING:
    from kernbench.triton.language.jit import Kernel

_NO_ASSEMBLY = "; kernels are simulated on a machine of KernBench, which has no assembly\n"


class _Assembly(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return _NO_ASSEMBLY


class CompiledKernel:
    """The figures that files ask of a compiled kernel; they divide a multiprocessor by these, and get one program a PE."""

    def __init__(self, kernel: Kernel, args: Sequence[Any], options: Mapping[str, Any]) -> None:
        given = {**dict(zip(kernel.arg_names, args, strict=False)), **options}
        self._kernel = kernel
        self._kept = {name: given[name] for name in given if name in kernel.constants or name not in kernel.arg_names}
        warps, stages = options.get("num_warps", 4), options.get("num_stages", 3)
        self.n_regs, self.n_spills, self.n_max_threads = WARP, 0, WARP * 32
        self.asm = _Assembly()
        self.metadata = SimpleNamespace(
            name=kernel.__name__, num_warps=warps, num_stages=stages, num_ctas=1, shared=device_facts().scratch_bytes
        )
        self.shared = self.metadata.shared

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """Launch it again with the same constants; arguments come with all constants or with none."""
        names = self._kernel.arg_names

        def launch(*args: Any) -> Any:
            own = names if len(args) == len(names) else [name for name in names if name not in self._kernel.constants]
            given = dict(zip(own, args, strict=False))
            return self._kernel[grid](**{**self._kept, **given})

        return launch

    def _init_handles(self) -> None:
        """As in Triton: there is nothing to load."""
