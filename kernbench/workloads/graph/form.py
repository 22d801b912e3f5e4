"""The middle form: values in memory, and operators that make one from others.

An operator has a kind, what its kernel has to know (`spec`), the views that it reads and the view that it writes. Behind each
may come steps of elements (`kernels.expression`), whose operands are its result and `extras`: that is how operators are fused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np

from kernbench.dtypes import itemsize
from kernbench.workloads.graph.view import View

KINDS = ("product", "convolution", "elementwise", "norm", "softmax", "reduction", "pool", "gather", "move")
Step = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor: its shape as it lies in memory, its type, and its numbers if it is a constant whose file has them."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    constant: bool = False
    numbers: Callable[[], np.ndarray] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return prod(self.shape) * itemsize(self.dtype)


class Product(NamedTuple):
    """x (n, groups, h, w of the input, channels) by w (n, groups, h, taps x channels, columns): see `kernels.windows`."""

    taps: tuple[int, int] = (1, 1)
    steps: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    before: tuple[int, int] = (0, 0)


class Windowed(NamedTuple):
    """A window that moves over the pixels of x (n, h, w, channels): `function` is max, mean, or weighted, a sum of products."""

    function: str
    taps: tuple[int, int]
    steps: tuple[int, int]
    dilations: tuple[int, int]
    before: tuple[int, int]
    counts_edge: bool = False  # a mean divides by all taps, also those over the edge


class Along(NamedTuple):
    """A function along the last axis of x (..., length): sum, mean, max, min, or one that keeps the axis.

    Those are softmax, log_softmax, layer_norm and rms_norm.
    """

    function: str
    eps: float = 0.0


class Gathered(NamedTuple):
    """Rows of a table (rows, ...) by numbers that are known before the run."""

    rows: tuple[int, ...]


class Elements(NamedTuple):
    """No kernel of its own: the steps are all there is."""


Spec = Product | Windowed | Along | Gathered | Elements


@dataclass(frozen=True, slots=True)
class Operator:
    """One launch: `output` = steps of (what the kernel of `spec` makes of `inputs`, `extras`); extras have its shape."""

    kind: str
    nodes: tuple[str, ...]  # of the file, in order
    spec: Spec
    inputs: tuple[View, ...]
    output: View
    dtype: str
    extras: tuple[View, ...] = ()
    steps: tuple[Step, ...] = ()
    flops: int = 0

    @property
    def reads(self) -> tuple[View, ...]:
        """All views that it reads."""
        return self.inputs + self.extras

    @property
    def label(self) -> str:
        """Its name in tables: that of its first node, and how many follow."""
        more = len(self.nodes) - 1
        return self.nodes[0] + (f" +{more}" if more else "")


@dataclass(slots=True)
class Graph:
    """Values by name and operators in order; `inputs` and `outputs` are views by their names in the file."""

    name: str
    values: dict[str, Value] = field(default_factory=dict[str, Value])
    operators: list[Operator] = field(default_factory=list[Operator])
    inputs: dict[str, View] = field(default_factory=dict[str, View])
    outputs: dict[str, View] = field(default_factory=dict[str, View])
    nodes: dict[str, int] = field(default_factory=dict[str, int])  # of the file, by operator
    views: int = 0  # nodes that only look at elements another way
    fused: dict[str, str] = field(default_factory=dict[str, str])  # nodes that became steps, and of which node's launch
    not_modelled: list[str] = field(default_factory=list[str])
    batch: int = 1

    @property
    def parameters(self) -> int:
        """Elements of constants of floats."""
        return sum(prod(one.shape) for one in self.values.values() if one.constant and one.dtype[0] not in "iu")

    def least_bytes(self, operator: Operator) -> int:
        """The bytes that an operator must move: each element that it reads or writes once."""
        read = {(view.base, view.first): self._touched(view) for view in operator.reads}
        if isinstance(operator.spec, Gathered):
            read = {operator.inputs[0]: operator.output.elements * itemsize(self.values[operator.inputs[0].base].dtype)}
        return sum(read.values()) + operator.output.elements * itemsize(operator.dtype)

    @property
    def weight_bytes(self) -> int:
        """The bytes of constants that a pass must read: each once, of tables the rows that are looked up."""
        whole = {view.base: self._touched(view) for one in self.operators for view in one.reads}
        tables = {
            one.inputs[0].base: one.output.elements * itemsize(self.values[one.inputs[0].base].dtype)
            for one in self.operators
            if isinstance(one.spec, Gathered)
        }
        return sum(nbytes for name, nbytes in {**whole, **tables}.items() if self.values[name].constant)

    def _touched(self, view: View) -> int:
        """Bytes of the distinct elements of a view; of one that reads some again, at most those of its value."""
        distinct = prod(size for size, stride in zip(view.shape, view.strides, strict=True) if stride)
        value = self.values[view.base]
        return min(distinct * itemsize(value.dtype), value.nbytes)


def join_steps(first: Sequence[Step], operands: int, then: Sequence[Step], places: Sequence[int]) -> tuple[Step, ...]:
    """Steps of `first` followed by `then`, whose operands are at `places` of the joint ones.

    A place of -1 is the result of `first`. The joint operands begin with those of `first`; `operands` counts all of them.
    """
    result = operands + len(first) - 1 if first else 0
    moved = [result if place < 0 else place for place in places]
    shift = operands + len(first) - len(places)

    def rename(argument: Any) -> Any:
        if not isinstance(argument, int):
            return argument
        return moved[argument] if argument < len(places) else argument + shift

    return (*first, *((step[0], *map(rename, step[1:])) for step in then))


def shift_steps(steps: Sequence[Step], before: int, after: int) -> tuple[Step, ...]:
    """The same steps where `before` operands became `after` of them, with more at the end."""

    def rename(argument: Any) -> Any:
        return argument + after - before if isinstance(argument, int) and argument >= before else argument

    return tuple((step[0], *map(rename, step[1:])) for step in steps)
