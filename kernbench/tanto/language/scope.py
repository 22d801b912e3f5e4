"""Names of a kernel file: constants, variables and functions, and the scopes that they live in."""

from __future__ import annotations

from dataclasses import dataclass, field

from tree_sitter import Node

from kernbench.tanto.language.methods import READS_DATA
from kernbench.tanto.language.types import Scalar, Type


@dataclass(slots=True)
class Variable:
    """A name of a value: `code` is its name in Python; a cell is a list of one, so that callees can change it."""

    type: Type
    code: str
    constant: bool = False
    cell: bool = False
    value: int | float | None = None  # of a constant that is known

    @property
    def read(self) -> str:
        """Code of its value."""
        return f"{self.code}[0]" if self.cell else self.code


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function."""

    name: str
    type: Type
    reference: bool = False
    line: int = 0
    column: int = 0
    spelling: str = ""  # of its type
    default: Node | None = None
    shares: bool = False  # a reference to what is no number: the callee sees the caller's own


@dataclass(slots=True)
class Function:
    """A function of the file."""

    name: str
    code: str
    returns: Scalar
    parameters: list[Parameter]
    node: Node
    body: Node | None = None  # if it is defined
    overloads: list[Function] = field(default_factory=list["Function"])  # others of its name

    @property
    def all(self) -> list[Function]:
        """It and the others of its name."""
        return [self, *self.overloads]

    def takes(self, count: int) -> bool:
        """Whether it can be called with so many arguments."""
        needed = sum(parameter.default is None for parameter in self.parameters)
        return needed <= count <= len(self.parameters)


@dataclass(slots=True)
class Scope:
    """A block: its names, the math objects that end with it, and what kind of statement it belongs to."""

    kind: str  # "global", "function", "block", "loop", "switch"
    names: dict[str, Variable] = field(default_factory=dict[str, Variable])
    maths: list[str] = field(default_factory=list[str])  # code of each
    update: list[str] = field(default_factory=list[str])  # of a for loop: what `continue` does first
    step: int = 0  # operations of the update, which each turn counts at its start
    flag: str = ""  # of a switch: the name that says that `continue` was met


@dataclass(slots=True)
class Use:
    """A method of an object, or a function, that a kernel calls, and where."""

    kind: str  # of the object, "" for a function
    name: str
    object: str  # the name in the source
    line: int
    column: int


@dataclass(slots=True)
class Unit:
    """A translated kernel file."""

    file: str
    parameters: list[Parameter]
    params: list[tuple[str, Scalar]]  # `param<>` declarations in order
    python: str  # the source of the module
    places: dict[int, tuple[int, int]]  # line of the module → (line, column) of the file, from 1
    uses: list[Use]
    functions: list[str]
    element: str  # the element type that T stands for

    @property
    def reads_data(self) -> bool:
        """Whether its control flow may follow from data."""
        return any(use.name in READS_DATA for use in self.uses)

    @property
    def main_place(self) -> str:
        """file:line:column of the first parameter of the main function, of the file if it has none."""
        line, column = (self.parameters[0].line, self.parameters[0].column) if self.parameters else (1, 1)
        return f"{self.file}:{line}:{column}"

    def place(self, line: int) -> str:
        """file:line:column of a line of the module."""
        found = self.places.get(line, (1, 1))
        return f"{self.file}:{found[0]}:{found[1]}"
