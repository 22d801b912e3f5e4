"""Rows of a product's sums, and what follows them: a bias, an activation, a factor, a tensor to add, another type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kernbench.dtypes import itemsize

PIECES = 4  # of a result: one is stored while the next are computed


class Extras(NamedTuple):
    """What follows a product: a bias (out, 1), an activation, a tensor to add, and a soft cap. Pointers; 0: none."""

    bias_ptr: int = 0
    activation: str = ""
    residual_ptr: int = 0
    soft_cap: float = 0.0


class Rows:
    """Rows `first` to `end` of a result of some columns, `at` bytes from its beginning; what is made is released in the end."""

    def __init__(self, tl: Any, rows: tuple[int, int], columns: int, at: int, dtype: str) -> None:
        self.tl, self.dtype, self.at = tl, dtype, at
        self.first, end = rows
        self.shape = (end - self.first, columns)
        self._made: list[Any] = []

    def end(self, sums: list[Any], then: Extras) -> Any:
        """What follows the sums, in the type of activations; of two products the first is the gate of the second."""
        tl, y = self.tl, self.keep(sums[0])
        if then.bias_ptr:
            y = self.keep(y + self.column(then.bias_ptr), y)
        if then.activation:
            y = self.keep(activate(tl, y, then.activation, self.keep), y)
        for other in sums[1:]:
            y = self.keep(y * other, y, other)
        if then.residual_ptr:
            y = self.keep(y + tl.load(then.residual_ptr + self.at, self.shape, self.dtype), y)
        if then.soft_cap:
            y = self.keep(y * (1 / then.soft_cap), y)
            y = self.keep(tl.tanh(y), y)
            y = self.keep(y * then.soft_cap, y)
        return self.narrow(y)

    def end_at_once(self, sums: list[Any], then: Extras, out_ptr: int = 0) -> Any:
        """As `end`, in one job whose pieces follow each other: for large results.

        With an address to write to, the job is returned while it runs, and what it reads stays until `release`.
        """
        tl, y = self.tl, self.keep(sums[0])
        if then.bias_ptr:
            y = self.keep(y + self.column(then.bias_ptr), y)
        function, steps = begin_activation(then.activation, y)
        steps += [{"op": "mul", "operand": other} for other in sums[1:]]
        if then.residual_ptr:
            steps.append({"op": "add", "operand": tl.load(then.residual_ptr + self.at, self.shape, self.dtype)})
        steps += soft_cap_steps(then.soft_cap)
        operands = (y, y) if function in ("mul", "maximum") else (y,)
        tile = -(-self.shape[0] // PIECES), 1, self.shape[1]
        given = {"math_op": function, "epilogue": steps, "out_dtype": self.dtype, "tile_shape": tile}
        if out_ptr:
            return tl.composite("math", *operands, out_ptr=out_ptr, **given)
        job = tl.composite("math", *operands, **given)
        tl.wait(job)
        return self.keep(job.out, y, *sums[1:])

    def narrow(self, y: Any) -> Any:
        """A result in the type of activations."""
        return self.keep(narrow(self.tl, y, self.dtype), y)

    def release(self) -> None:
        """Let go of all results."""
        for each in self._made:
            self.tl.release(each)

    def column(self, ptr: int) -> Any:
        """(rows, 1) of a vector."""
        return self.tl.load(ptr + self.first * itemsize(self.dtype), (self.shape[0], 1), self.dtype)

    def keep(self, made: Any, *spent: Any) -> Any:
        """A result, to be released with the others; those that were spent on it are released at once."""
        gone = [each for each in spent if each is not made]
        for each in gone:
            self.tl.release(each)
        self._made = [each for each in self._made if each is not made and all(each is not one for one in gone)]
        self._made.append(made)
        return made


def activate(tl: Any, x: Any, activation: str, keep: Callable[..., Any]) -> Any:
    """The activation of a name of Hugging Face; all GELUs are the tanh form, written with the logistic function.

    `keep` gets each result, and those that were spent on it, to release them.
    """
    if activation == "silu":
        gate = keep(tl.sigmoid(x))
        return keep(x * gate, gate)
    if activation.startswith("gelu"):
        inner = keep(x * x)
        inner = keep(inner * x, inner)
        inner = keep(inner * 0.044715, inner)
        inner = keep(x + inner, inner)
        inner = keep(inner * 1.5957691, inner)
        gate = keep(tl.sigmoid(inner), inner)
        return keep(x * gate, gate)
    if activation == "tanh":
        return keep(tl.tanh(x))
    if activation == "relu":
        return keep(tl.maximum(x, 0.0))
    return x


def begin_activation(activation: str, x: Any) -> tuple[str, list[dict[str, Any]]]:
    """The activation of `activate` as the function of a composite, of x or of x and x, and the steps behind it."""
    again = {"op": "mul", "operand": x}
    if activation == "silu":
        return "sigmoid", [again]
    if activation.startswith("gelu"):
        scale, one = {"op": "scale", "factor": 0.044715 * 1.5957691}, {"op": "add", "operand": 1.5957691}
        return "mul", [scale, one, again, {"op": "sigmoid"}, again]
    if activation == "relu":
        return "maximum", [{"op": "relu"}]
    return (activation, []) if activation else ("maximum", [])


def narrow(tl: Any, x: Any, dtype: str) -> Any:
    """The same numbers in another type."""
    if x.dtype == dtype:
        return x
    job = tl.composite("math", x, x, math_op="maximum", out_dtype=dtype)
    tl.wait(job)
    return job.out


def soft_cap_steps(cap: float) -> list[dict[str, Any]]:
    """The epilogue that caps numbers softly, cap x tanh(x / cap); 0: none."""
    return [{"op": "scale", "factor": 1 / cap}, {"op": "tanh"}, {"op": "scale", "factor": cap}] if cap else []
