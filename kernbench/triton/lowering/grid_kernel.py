"""The kernel of a launch with a grid, as the machine sees it: how it runs on a recorder, and how it computes its numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from kernbench.triton.lowering.dealing import Dealing

if TYPE_CHECKING:
    from kernbench.triton.lowering.recorder import Recorder


class TensorArgument:
    """A tensor argument of a launch: its number among the tensors of the launch, its name, its elements and their type."""

    __slots__ = ("dtype", "elements", "name", "number")

    def __init__(self, number: int, name: str, elements: int, dtype: str) -> None:
        self.number, self.name, self.elements, self.dtype = number, name, elements, dtype


class GridLaunch(ABC):
    """A kernel with its grid, as a bench hands it to `torch.launch`."""

    @abstractmethod
    def prepare_launch(
        self, args: Sequence[Any], options: Mapping[str, Any], dealing: str | None, order: str | None
    ) -> Any:
        """The `GridKernel` of a launch, whose `arguments` go to the device. Errors: InputError."""


class GridKernel(Protocol):
    """A kernel that was given its grid and its arguments, but for the tensors, which it finds by their numbers."""

    __name__: str
    dealing: Dealing
    remarks: Sequence[str]  # sentences on arguments that have no meaning here

    @property
    def grid(self) -> tuple[int, int, int]:
        """Programs along x, y and z."""
        ...

    @property
    def code(self) -> Callable[..., Any]:
        """The function of the kernel, for messages."""
        ...

    def bind(self, args: Sequence[Any]) -> None:
        """Take the arguments of the launch, in its order; tensors are `TensorArgument`s."""
        ...

    def run(self, recorder: Recorder) -> None:
        """Run the programs of a recorder, as one group."""
        ...

    def compute(self, tensors: Sequence[np.ndarray]) -> None:
        """Compute all programs on the elements of the launch's tensors, each flat, which change in place."""
        ...
