"""Types of the kernel language: scalars with their conversions as Python code, and built-in objects."""

from __future__ import annotations

from dataclasses import dataclass

M32 = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number: `kind` is "int", "float" or "bool"."""

    name: str
    kind: str
    bits: int = 32
    signed: bool = False

    @property
    def mask(self) -> int:
        """All bits set."""
        return (1 << self.bits) - 1

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Object:
    """A built-in object: `kind` is "global", "local", "pipe", "semaphore" or "math"; a semaphore has no element type."""

    kind: str
    element: Scalar | None = None

    def __str__(self) -> str:
        return f"{self.kind}<{self.element}>" if self.element else self.kind


@dataclass(frozen=True, slots=True)
class Array:
    """A fixed number of scalars, objects or arrays."""

    element: Type
    length: int

    def __str__(self) -> str:
        return f"{self.element}[{self.length}]"


@dataclass(frozen=True, slots=True)
class Struct:
    """A structure of the file; `fields` are its names and types in order."""

    name: str
    fields: tuple[tuple[str, Type], ...]

    def index(self, name: str) -> int | None:
        """The place of a field, or None."""
        return next((at for at, (known, _) in enumerate(self.fields) if known == name), None)

    def __str__(self) -> str:
        return self.name


Type = Scalar | Object | Array | Struct

BOOL = Scalar("bool", "bool", 8)
INT = Scalar("int32", "int", 32, True)
UINT32 = Scalar("uint32", "int", 32)
INT64 = Scalar("int64", "int", 64, True)
UINT64 = Scalar("uint64", "int", 64)
FLOAT = Scalar("float", "float", 32)
DOUBLE = Scalar("double", "float", 64)
VOID = Scalar("void", "void", 0)

_INTS = {
    f"{'' if signed else 'u'}int{bits}{suffix}": Scalar(f"{'' if signed else 'u'}int{bits}", "int", bits, signed)
    for bits in (8, 16, 32, 64)
    for signed in (False, True)
    for suffix in ("", "_t")
}
SCALARS: dict[str, Scalar] = {
    **_INTS,
    "bool": BOOL,
    "char": Scalar("int8", "int", 8, True),
    "short": Scalar("int16", "int", 16, True),
    "int": INT,
    "signed": INT,
    "long": INT,  # of a 32-bit processor
    "unsigned": UINT32,
    "unsigned int": UINT32,
    "unsigned long": UINT32,
    "unsigned short": Scalar("uint16", "int", 16),
    "unsigned char": Scalar("uint8", "int", 8),
    "long long": INT64,
    "unsigned long long": UINT64,
    "size_t": UINT32,
    "float": FLOAT,
    "float32": FLOAT,
    "double": DOUBLE,
    "float16": Scalar("float16", "float", 16),
    "bfloat16": Scalar("bfloat16", "float", 16),
    "void": VOID,
}
OBJECTS = ("global", "local", "pipe", "semaphore", "math")


def common(a: Scalar, b: Scalar) -> Scalar:
    """The type of an arithmetic operation, by the usual conversions of C++ where int has 32 bits."""
    if a.kind == "float" or b.kind == "float":
        return DOUBLE if DOUBLE in (a, b) else FLOAT
    a, b = promote(a), promote(b)
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    return a if not a.signed else b


def promote(a: Scalar) -> Scalar:
    """The type of an operand that is smaller than int."""
    if a.kind == "float":
        return a if a.bits > 16 else FLOAT
    return INT if a.kind == "bool" or a.bits < 32 else a


def rounding(to: Scalar) -> str:
    """The helper that brings a float to the precision of a type, "" if there is none."""
    return {"float": "single", "float16": "half", "bfloat16": "brain"}.get(to.name, "")


def wrap(code: str, to: Scalar) -> str:
    """Code of an integer brought into the range of a type."""
    if to.signed:
        half = 1 << (to.bits - 1)
        return f"((({code}) + {half} & {to.mask}) - {half})"
    return f"({code} & {to.mask})"


def wrap_value(value: int, to: Scalar) -> int:
    """An integer brought into the range of a type."""
    value &= to.mask
    return value - (1 << to.bits) if to.signed and value >> (to.bits - 1) else value


def literal_type(value: int, suffix: str, *, decimal: bool) -> Scalar:
    """The type of an integer literal with its suffix."""
    if "ll" in suffix or value >= 1 << 32:
        return UINT64 if "u" in suffix or value >= 1 << 63 else INT64
    if "u" in suffix or (value >= 1 << 31 and not decimal):
        return UINT32
    return INT if value < 1 << 31 else INT64
