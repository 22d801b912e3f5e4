"""Notes: the computation of each row of a program, for the op log, for live kernels and for replay.

A note belongs to the row that completes its operation (`Thread.note`). An operand is the id of a value, which is the output of
an earlier note of the same thread, or a constant, a view or a reference to memory with its own definition. So notes can be
computed in any order in which operands come before their use.

Notes are mappings too (`note["op"]`, `dict(note)`), and `plain` makes them ready for JSON. They have slots but are not frozen,
because freezing triples the time to make one, and a kernel makes one for each call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar, cast

from kernbench.dtypes import is_float

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant: `value + step * i` along a 1-D range, or `value` everywhere; shape () is a scalar."""

    shape: Shape
    dtype: str
    value: float
    step: int = 0


@dataclass(frozen=True, slots=True)
class Ref:
    """Row-major elements at an address in memory, a virtual one, or in the PE's TCM; read by the operation that uses them."""

    va: int
    shape: Shape
    dtype: str
    space: str = "hbm"  # "hbm" or "sram", which are memory, or "tcm"


@dataclass(frozen=True, slots=True)
class View:
    """Another operand with its last two dimensions swapped."""

    of: Operand


Operand = int | Constant | Ref | View  # an int is the id of an earlier value of the same thread


@dataclass(frozen=True, slots=True)
class Epilogue:
    """One step after a tile's product: an op, some with `inputs[operand]` of its composite."""

    op: str  # "dequant", "bias", "relu", "scale", "exp", "maximum" ...
    scope: str  # "k_tile", "output_tile", "kernel"
    operand: int | None = None


class Note(Mapping[str, Any]):
    """Base of all notes; as a mapping it has the key "op" and its fields."""

    __slots__: ClassVar[tuple[str, ...]] = ()
    op: ClassVar[str] = ""

    def __getitem__(self, key: str) -> Any:
        if key != "op" and key not in self.__slots__:
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        yield "op"
        yield from self.__slots__

    def __len__(self) -> int:
        return 1 + len(self.__slots__)


@dataclass(slots=True, eq=False)
class Load(Note):
    """Memory at `va`, as it was when the load completed, became value `out`."""

    op: ClassVar[str] = "load"
    out: int
    va: int
    shape: Shape
    dtype: str


@dataclass(slots=True, eq=False)
class Store(Note):
    """An operand was written to memory at `va`; other threads see it from the issue of this row on."""

    op: ClassVar[str] = "store"
    inputs: tuple[Operand]
    va: int
    shape: Shape
    dtype: str


@dataclass(slots=True, eq=False)
class Dot(Note):
    """`inputs[0] @ inputs[1]`, plus `inputs[2]` if given, became value `out`, in TCM at `addr`; sums are of `acc_dtype`."""

    op: ClassVar[str] = "dot"
    inputs: tuple[Operand, ...]
    out: int
    shape: Shape
    dtype: str
    acc_dtype: str
    addr: int = 0


@dataclass(slots=True, eq=False)
class Math(Note):
    """`function` of the inputs, broadcast as numpy does, became value `out`, in TCM at `addr`.

    `axis` is that of a reduction or softmax.
    """

    op: ClassVar[str] = "math"
    function: str
    inputs: tuple[Operand, ...]
    out: int
    shape: Shape
    dtype: str
    axis: int | None = None
    addr: int = 0


@dataclass(slots=True, eq=False)
class Send(Note):
    """An operand, as it was when this row was issued, became message `index` of the queue `queue`.

    The name of a queue is that of its sending end, as in "sip0.cube0.pe0:E". Its slot is a memory and the address there.
    All three are set when the row is written.
    """

    op: ClassVar[str] = "send"
    inputs: tuple[Operand]
    direction: str
    shape: Shape
    dtype: str
    queue: str = ""
    index: int = -1
    slot: tuple[int, int] = (-1, 0)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A multicast at one destination: message `index` of a queue, whose slot a row of a thread writes."""

    queue: str
    index: int
    slot: tuple[int, int]
    thread: int
    row: int


@dataclass(slots=True, eq=False)
class Multicast(Note):
    """An operand, as it was when this row was issued, became a message of each of several queues.

    `deliveries` has them in the order of `directions`; they are set when the row is written. The rest is as in `Send`.
    """

    op: ClassVar[str] = "multicast"
    inputs: tuple[Operand]
    directions: tuple[str, ...]
    shape: Shape
    dtype: str
    deliveries: tuple[Delivery, ...] = ()


@dataclass(slots=True, eq=False)
class Recv(Note):
    """Message `index` of the queue `queue`, in `slot`, became value `out`, and was written to `out_va` unless it is None.

    A `direction` of None is any direction, until the row is written. `out_tcm` is the address of the copy in TCM, or None;
    `out_space` is the memory space of `out_va`. With `consume` False the reading of the slot takes no time: a diagnostic.
    """

    op: ClassVar[str] = "recv"
    out: int
    direction: str | None
    shape: Shape
    dtype: str
    out_tcm: int | None = None
    out_va: int | None = None
    out_space: str = "hbm"
    consume: bool = True
    queue: str = ""
    index: int = -1
    slot: tuple[int, int] = (-1, 0)


@dataclass(slots=True, eq=False)
class Composite(Note):
    """A tiled pipeline: `inputs[0] @ inputs[1]` ("gemm") or `function` of the inputs ("math"), then the epilogue.

    The result went to memory at `out_va`, or became value `out` if that is None. The operands of epilogue steps are indices
    into `inputs`. `tile` is (tile_m, tile_k, tile_n). Sums are of `acc_dtype`, steps of the epilogue of `step_dtype`.
    """

    op: ClassVar[str] = "composite"
    kind: str
    function: str | None
    inputs: tuple[Operand, ...]
    out: int | None
    out_va: int | None
    shape: Shape
    dtype: str
    acc_dtype: str
    epilogue: tuple[Epilogue, ...]
    tile: tuple[int, int, int]
    addr: int = 0  # in TCM, of value `out`

    @property
    def step_dtype(self) -> str:
        """The type of the epilogue."""
        return find_step_dtype(self.acc_dtype, self.dtype)

    @property
    def tensors(self) -> tuple[Operand, ...]:
        """The inputs without those of the epilogue."""
        return self.inputs[: len(self.inputs) - sum(step.operand is not None for step in self.epilogue)]


def find_step_dtype(acc_dtype: str, dtype: str) -> str:
    """The type of an epilogue: that of the sums, or f32 if these are whole numbers and the result is not."""
    return "f32" if is_float(dtype) and not is_float(acc_dtype) else acc_dtype


def plain(value: Any) -> Any:
    """A note, or a value in one, as dicts, lists, numbers and strings."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in cast("Sequence[Any]", value)]
    if is_dataclass(value) and not isinstance(value, type):
        return {
            type(value).__name__.lower(): {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        }
    return value
