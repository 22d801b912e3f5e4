"""Arguments of a launch as texts: numbers, expressions of other arguments, and tensors by type and sizes.

`f16[M, 512]` is a tensor of random numbers, contiguous by rows; a colon and a word say what else it holds: `i32[64]:arange`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from kernbench.errors import InputError, shorten, suggest
from kernbench.expression import Expression
from kernbench.triton.language.types import NAMES, dtype, named, of_short, shorts

CONTENTS = ("random", "zeros", "ones", "arange")
_TENSOR = re.compile(r"\*?([A-Za-z]\w*)\s*\[([^\[\]]*)\]\s*(?::\s*(\w*))?")
_BRIEF = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "fp8e5": "float8e5",
          "fp8e4nv": "float8e4nv", "bool": "int1"}  # fmt: skip
_TYPES: dict[str, dtype] = {
    **{name: named(name) for name in NAMES},
    **{short: of_short(short) for short in shorts()},
    **{brief: named(name) for brief, name in _BRIEF.items()},
}


class TensorText(NamedTuple):
    """A tensor of a launch: the type of its elements, its sizes, and what it holds."""

    kind: dtype
    sizes: tuple[int, ...]
    contents: str

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements from one place to the next along each dimension."""
        return tuple(int(np.prod(self.sizes[axis + 1 :], dtype=np.int64)) for axis in range(len(self.sizes)))

    def __str__(self) -> str:
        return f"{self.kind}[{', '.join(map(str, self.sizes))}]"

    def make(self, seed: int) -> np.ndarray:
        """Its numbers: normal ones of floats, 0 and 1 of whole numbers, or the others of `CONTENTS`."""
        count, kind = int(np.prod(self.sizes, dtype=np.int64)), self.kind
        if self.contents == "arange":
            return np.arange(count).astype(kind.numpy).reshape(self.sizes)
        if self.contents != "random":
            return np.full(self.sizes, self.contents == "ones").astype(kind.numpy)
        draw = np.random.default_rng(seed)
        found = draw.standard_normal(count, np.float32) if kind.is_floating() else draw.integers(0, 2, count)
        return found.astype(kind.numpy).reshape(self.sizes)


class KernelArguments:
    """The arguments of a kernel, `texts` by name as they were given; `constants` are those that may be any text.

    Errors: InputError, which begins with `owner`.
    """

    def __init__(self, owner: str, texts: Mapping[str, object], constants: frozenset[str]) -> None:
        self._owner, self._texts, self._constants = owner, texts, constants
        self._found: dict[str, Any] = {}
        self._begun: set[str] = set()

    def read(self) -> dict[str, Any]:
        """All arguments: numbers, texts and types as they are, tensors as `TensorText`."""
        return {name: self._value(name) for name in self._texts}

    def numbers(self, what: str, text: str, names: Mapping[str, Any]) -> tuple[int, ...]:
        """The whole numbers of expressions between commas, where names have values."""
        try:
            expression = Expression(text)
            if missing := sorted(expression.names - set(names)):
                raise InputError(f"{self._owner}: {what} names {missing[0]!r}{suggest(missing[0], names)}")
            value = expression.evaluate(names)
        except ValueError as error:
            raise InputError(f"{self._owner}: {what}: {error}") from None
        found = value if isinstance(value, list) else [value]
        if not all(isinstance(one, (int, float)) and one == int(one) for one in found):
            raise InputError(f"{self._owner}: {what} gives {', '.join(map(str, found))}; give whole numbers")
        return tuple(int(one) for one in found)

    def _value(self, name: str) -> Any:
        if name not in self._found:
            if name in self._begun:
                raise InputError(f"{self._owner}: argument {name} follows from itself; give a number")
            self._begun.add(name)
            self._found[name] = self._read(name, self._texts[name])
        return self._found[name]

    def _read(self, name: str, given: object) -> Any:
        if not isinstance(given, str):
            return given
        text = given.strip()
        if (tensor := _TENSOR.fullmatch(text)) is not None:
            return self._tensor(name, *tensor.groups())
        if text.startswith("tl.") and text[3:] in NAMES:
            return named(text[3:])
        with suppress(ValueError, SyntaxError):
            return ast.literal_eval(text)
        return self._expression(name, text)

    def _expression(self, name: str, text: str) -> Any:
        try:
            expression = Expression(text)
            if expression.names <= set(self._texts):
                return expression.figure({one: self._value(one) for one in expression.names})
        except ValueError as error:
            if name not in self._constants:
                raise InputError(f"{self._owner}: argument {name}: {error}") from None
        if name in self._constants:
            return text
        raise InputError(
            f"{self._owner}: argument {name} is {shorten(repr(text))}; give a number, an expression of other arguments, or a "
            "tensor such as f16[512, 512]"
        )

    def _tensor(self, name: str, kind: str, sizes: str, contents: str | None) -> TensorText:
        if kind not in _TYPES:
            raise InputError(f"{self._owner}: argument {name} has elements of {kind!r}{suggest(kind, _TYPES)}")
        if contents is not None and contents not in CONTENTS:
            raise InputError(f"{self._owner}: argument {name} holds {contents!r}{suggest(contents, CONTENTS)}")
        names = {one: self._value(one) for one in re.findall(r"[A-Za-z_]\w*", sizes) if one in self._texts}
        found = self.numbers(f"{kind}[{sizes}] of {name}", sizes, names)
        if not all(size > 0 for size in found):
            raise InputError(f"{self._owner}: argument {name} has the sizes {found}; give numbers above 0")
        return TensorText(_TYPES[kind], found, contents or "random")
