"""The `torch` of a bench: tensors on SIPs, launches, copies and synchronisation.

Everything is lazy: calls append to the device program, and the machine runs only when the host needs a time or a value, or at
the end of the bench. Numbers are lazier still: they are computed when `numpy()` or a check of the run asks for them.
"""

# pyright: reportUnnecessaryIsInstance=false
# What users write is not checked for types before it runs.

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from kernbench.dtypes import canonical, is_float, name_of
from kernbench.errors import InputError
from kernbench.host.device.device import Device
from kernbench.host.device.launch import Launch
from kernbench.host.memory.initial_values import Computed, Contents, Filled, Given, Random
from kernbench.host.memory.placement import DPPolicy
from kernbench.host.messages import KernelLaunch, PeDma, TensorArg
from kernbench.host.torch.accelerators import Accelerator, Ahbm, Multiprocessing, Namespace
from kernbench.host.torch.distributed import Distributed
from kernbench.host.torch.runtime import Expectation, Reference, Runtime
from kernbench.host.torch.tensor import Tensor
from kernbench.tl.registry import find_kernel
from kernbench.triton.lowering.grid_kernel import GridLaunch

if TYPE_CHECKING:
    from kernbench.host.device.buffer import Buffer
    from kernbench.host.messages import Shard


class RuntimeContext(Namespace):
    """The `torch` that a bench's function gets. `sips` are the SIPs it may use, numbered 0, 1, ... for it."""

    title = "torch"
    refused: ClassVar = {
        **dict.fromkeys(("cuda", "xpu", "mps", "cpu"), "the devices are SIPs; use torch.ahbm or torch.accelerator"),
        **dict.fromkeys(
            ("nn", "optim", "autograd", "backward"), "kernels are launched by torch.launch; see docs/host.md"
        ),
        **dict.fromkeys(
            ("float16", "half", "float32", "float", "bfloat16", "int8", "int16", "int32", "uint8", "uint16", "uint32"),
            "element types are names, such as dtype='f16'",
        ),
        "tensor": "give numbers with torch.from_numpy",
    }
    DPPolicy = DPPolicy

    def __init__(self, device: Device, sips: Sequence[int], seed: int) -> None:
        self.runtime = Runtime(device, sips)
        self.driven = device
        self._seed = seed
        self.distributed = Distributed(self.runtime)
        self.multiprocessing = Multiprocessing(self.runtime)
        self.ahbm = Ahbm(self.runtime)
        self.accelerator = Accelerator(self.runtime)

    # Which SIP

    @property
    def device_count(self) -> int:
        """How many SIPs the bench may use."""
        return len(self.runtime.sips)

    @property
    def cubes_per_sip(self) -> int:
        """How many cubes a SIP has."""
        return self.driven.machine.places.cubes_per_sip

    @property
    def pes_per_cube(self) -> int:
        """How many PEs a cube has."""
        return self.driven.machine.places.pes_per_cube

    @property
    def current_device(self) -> int:
        """The selected SIP: in a worker its own, which is that of its rank until it selects another."""
        return self.runtime.current_device

    def set_device(self, index: int) -> None:
        """Select the SIP on which tensors are made and kernels launched. Errors: InputError for one that is not there."""
        self.runtime.set_device(index)

    @contextmanager
    def device(self, index: int) -> Generator[None]:
        """`with torch.device(i):` selects a SIP for a while."""
        before = self.current_device
        self.set_device(index)
        try:
            yield
        finally:
            self.set_device(before)

    # Tensors

    def empty(
        self, shape: int | Sequence[int], dtype: str = "f16", dp: DPPolicy | None = None, name: str = ""
    ) -> Tensor:
        """A tensor that the bench writes before it reads it; until then it is zeros."""
        return self.zeros(shape, dtype, dp, name)

    def zeros(
        self, shape: int | Sequence[int], dtype: str = "f16", dp: DPPolicy | None = None, name: str = ""
    ) -> Tensor:
        """A tensor of zeros."""
        return self.full(shape, 0, dtype, dp, name)

    def ones(
        self, shape: int | Sequence[int], dtype: str = "f16", dp: DPPolicy | None = None, name: str = ""
    ) -> Tensor:
        """A tensor of ones."""
        return self.full(shape, 1, dtype, dp, name)

    def full(
        self, shape: int | Sequence[int], value: float, dtype: str = "f16", dp: DPPolicy | None = None, name: str = ""
    ) -> Tensor:
        """A tensor of one value. As with all of these, its numbers are there at once; telling the MMUs takes time.

        Errors: InputError for a shape, dtype or policy that cannot be; OutOfMemoryError.
        """
        return self._make(Filled(_as_shape(shape), _as_dtype(dtype), value), dp, name)

    def randn(
        self,
        shape: int | Sequence[int],
        dtype: str = "f16",
        dp: DPPolicy | None = None,
        name: str = "",
        seed: int | None = None,
    ) -> Tensor:
        """A tensor of normal numbers: the same in every run of the bench.

        Tensors of one `seed` have the same numbers, on whatever SIP; without it no two have. Errors: also InputError for
        an integer dtype.
        """
        if not is_float(_as_dtype(dtype)):
            raise InputError(f"randn makes floating-point numbers, got dtype {dtype!r}; use draw for integers")
        return self.draw(shape, dtype, dp, name, seed)

    def draw(
        self,
        shape: int | Sequence[int],
        dtype: str = "f16",
        dp: DPPolicy | None = None,
        name: str = "",
        seed: int | None = None,
    ) -> Tensor:
        """A tensor of random numbers of any dtype: `randn`, and integers of the whole range of theirs."""
        drawn = (self._seed, 0, self.runtime.tensors) if seed is None else (self._seed, 1, seed)
        return self._make(Random(_as_shape(shape), _as_dtype(dtype), drawn), dp, name)

    def computed(
        self,
        shape: int | Sequence[int],
        make: Callable[[], np.ndarray],
        dtype: str = "f16",
        dp: DPPolicy | None = None,
        name: str = "",
    ) -> Tensor:
        """A tensor of the numbers that a function makes, called only when they are read; like all of these it takes no copy."""
        return self._make(Computed(_as_shape(shape), _as_dtype(dtype), make), dp, name)

    def from_numpy(self, array: np.ndarray, dp: DPPolicy | None = None, name: str = "") -> Tensor:
        """A tensor with the numbers of an array, written by the host: timed. Errors: also InputError for its dtype."""
        array = np.asarray(array)
        tensor = self._make(Filled(_as_shape(array.shape), name_of(array.dtype), 0), dp, name)
        tensor.contents = Given(tensor.shape, tensor.dtype, array.copy())
        return tensor.copy_(array)

    def manual_seed(self, seed: int) -> None:
        """Draw other numbers from here on."""
        self._seed = seed

    def _make(self, contents: Contents, dp: DPPolicy | None, name: str) -> Tensor:
        name = name or f"tensor{self.runtime.tensors}"
        if dp is not None and not isinstance(dp, DPPolicy):
            raise InputError(f"tensor {name!r} got dp={dp!r}; give a torch.DPPolicy(cube=..., pe=...)")
        sip, layout = self.runtime.create(name, contents, dp or DPPolicy())
        return Tensor(self, name, sip, layout, contents)

    @property
    def address_model(self) -> str:
        """How kernels name memory on this machine: "va", "pa" or "la"."""
        return self.driven.machine.places.shape.address_model

    def reserve(self, space: str, nbytes: int, cube: int = 0, pe: int = 0) -> Buffer:
        """Memory that is no tensor: of a PE ("hbm", "tcm") or of its cube ("sram"), for kernels to use by its address.

        Errors: OutOfMemoryError; InputError for a space or a place that is not there, and for a size that is none.
        """
        if not isinstance(nbytes, (int, np.integer)) or nbytes < 1:
            raise InputError(f"torch.reserve got nbytes={nbytes!r}; give a whole number of bytes, 1 or more")
        return self.driven.reserve(self.runtime.current_sip, space, cube, pe, int(nbytes))

    # Running

    def launch(
        self,
        name: str,
        fn: Any = None,
        *args: Any,
        start_ns: float | None = None,
        dealing: str | None = None,
        order: str | None = None,
        **options: Any,
    ) -> Launch:
        """Run a kernel on every PE that holds any of its tensors (on all of the SIP if it has none); not waited for.

        These are the first PEs of the first cubes, as many as the tensor on most cubes and the one on most PEs have.

        A kernel that is registered, as by an earlier launch, may be left out: `launch(name, *args)`.
        A kernel of Triton comes with its grid, `kernel[grid]`; its constants and `num_stages` are `options`, and `dealing`
        and `order` say how its programs are dealt to PEs. A tensor argument reaches other kernels as the address at which it
        begins, a tuple of tensors as a tuple of them. No PE starts before `start_ns` of simulated
        time. The `response` of the launch is None until the host has waited. Errors: InputError for tensors of another
        SIP, or that are no tensors at all; KernelError when the kernel raises.
        """
        if not isinstance(name, str):
            raise InputError(f"torch.launch got {name!r}, {fn!r}; give a name, the kernel and its arguments")
        if isinstance(fn, GridLaunch):
            fn = fn.prepare_launch(args, options, dealing, order)
            args = fn.arguments
        elif options or dealing or order:
            named = [*options, *(name for name, given in (("dealing", dealing), ("order", order)) if given)]
            raise InputError(
                f"launch of {name!r} got {', '.join(named)}, but only kernels of Triton take arguments by name; "
                "give the values behind the kernel"
            )
        elif not callable(fn):
            args, fn = args if fn is None else (fn, *args), find_kernel(name)
        sip = self.runtime.current_sip
        layouts = [tensor.layout for tensor in _tensors_in(args)]
        cubes = max((layout.cubes for layout in layouts), default=self.cubes_per_sip)
        pes = max((layout.pes for layout in layouts), default=self.pes_per_cube)
        sent = tuple(_as_arg(name, arg) for arg in args)
        message = KernelLaunch(name, sent, sip, tuple(range(cubes)), tuple(range(pes)), start_ns)
        if self.runtime.equal is not None:
            self.runtime.equal.hold(message, fn, args)
            return Launch(message)
        return self.runtime.launch(message, fn)

    def pe_dma(self, shard: Shard, cube: int = 0, pe: int = 0, *, write: bool = False) -> Launch:
        """Let the DMA of a PE fetch a shard into its TCM, or write it from there, without a kernel; not waited for.

        Errors: InputError for a PE the SIP lacks; AddressError for a shard that is in no memory.
        """
        return self.runtime.pe_dma(PeDma(self.runtime.current_sip, cube, pe, shard, write))

    def synchronize(self) -> None:
        """Wait until everything issued to every SIP is done. Errors: DeadlockError."""
        self.runtime.synchronize()

    def expect(
        self, tensor: Tensor, reference: Reference, tolerance: float | None = None, *, every_copy: bool = False
    ) -> None:
        """State what a tensor must hold at the end: an array, or a function that makes it, called only for a check.

        Of a replicated tensor the first copy is looked at; with `every_copy` all are.
        """
        if not isinstance(tensor, Tensor):
            raise InputError(f"torch.expect got {tensor!r}; give a tensor of this run and its reference")
        self.runtime.expectations.append(Expectation(tensor, reference, tolerance, every_copy))


def _as_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    sizes = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    if not sizes or not all(isinstance(size, (int, np.integer)) and size > 0 for size in sizes):
        raise InputError(f"a tensor cannot have shape {shape!r}; give positive whole numbers such as (512, 512)")
    return tuple(int(size) for size in sizes)


def _as_dtype(dtype: str) -> str:
    return canonical(dtype)


def _tensors_in(args: tuple[Any, ...]) -> Iterator[Tensor]:
    for arg in args:
        if isinstance(arg, Tensor):
            yield arg
        elif type(arg) is tuple:
            yield from _tensors_in(cast("tuple[Any, ...]", arg))


def _as_arg(kernel: str, arg: Any) -> Any:
    if isinstance(arg, Tensor):
        return TensorArg(arg.name, arg.layout.va, arg.layout.shards)
    if type(arg) is tuple:
        return tuple(_as_arg(kernel, item) for item in cast("tuple[Any, ...]", arg))
    if isinstance(arg, np.ndarray):
        raise InputError(f"launch of {kernel!r} got a numpy array; put it on the device with torch.from_numpy first")
    return arg
