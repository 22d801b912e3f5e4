"""Values of expressions as Python code with their types, and their conversion: integers stay in the range of their type."""

from __future__ import annotations

from dataclasses import dataclass

from kernbench.tanto.language.arithmetic import HELPERS
from kernbench.tanto.language.types import Scalar, Type, rounding, wrap, wrap_value


@dataclass(slots=True)
class Value:
    """Code of an expression and its type; `const` is its value where that is known.

    `residue` is code of an integer that is equal to it modulo 2 to the power of the type's bits, in or outside of its range.
    Sums, differences and products of residues are residues, so only the last of them is wrapped.
    """

    code: str
    type: Type
    const: int | float | None = None
    canonical: bool = True  # False: a truth that may be any Python value
    residue: str = ""  # "": the code is all there is


def constant(value: int | float, to: Scalar) -> Value:
    """A number of a type."""
    if to.kind == "float":
        helper = rounding(to)
        known = float(HELPERS[helper](float(value))) if helper else float(value)
        plain = repr(known)
        return Value(plain if plain[-1].isdigit() else f"float({plain!r})", to, known)
    if to.kind == "bool":
        return Value(str(bool(value)), to, bool(value))
    whole = wrap_value(int(value), to)
    return Value(str(whole) if whole >= 0 else f"({whole})", to, whole)


def rounded(code: str, to: Scalar) -> str:
    """Code of a float in the precision of a type."""
    helper = rounding(to)
    return f"{helper}({code})" if helper else code


def converted(value: Value, own: Scalar, to: Scalar) -> Value:
    """A number in another type."""
    if own == to and value.canonical:
        return value
    if value.const is not None:
        return constant(value.const, to)
    if to.kind == "float":
        exact = own == to or own.bits < to.bits if own.kind == "float" else own.bits <= (16 if to.bits > 16 else 8)
        return Value(
            value.code
            if own.kind == "float" and exact
            else f"float({value.code})"
            if exact
            else rounded(value.code, to),
            to,
        )
    if to.kind == "bool":
        return Value(f"bool({value.code})", to)
    if own.kind == "bool":
        return Value(f"(1 if {value.code} else 0)", to)
    if own.kind == "float":
        return Value(wrap(f"int({value.code})", to), to)
    fits = (own.bits < to.bits and (to.signed or not own.signed)) or (own.bits, own.signed) == (to.bits, to.signed)
    residue = value.residue if own.bits >= to.bits else ""
    return Value(value.code if fits else wrap(residue or value.code, to), to, residue=residue)


def folded(code: str, to: Scalar) -> Value:
    """The value of code of constants. Errors: ZeroDivisionError, OverflowError."""
    return constant(eval(code, {"__builtins__": {"float": float}, **HELPERS}), to)
