"""Matrix products of few tokens: each PE streams its own rows of the weight from its own memory, once."""

from __future__ import annotations

from typing import Any, NamedTuple

from kernbench.dtypes import itemsize
from kernbench.workloads.kernels.layout import find_tile, own_rows


class Norm(NamedTuple):
    """A norm that a product finishes; its input is x times the weights of the norm. Pointers to the sums of `spread_norm`."""

    squares: int
    elements: int
    parts: int  # rows of the sums
    features: int
    eps: float
    shift_ptr: int = 0  # (out, 1): what each output takes of the mean; 0: a norm without a mean


class Sizes(NamedTuple):
    """Of a product on one SIP."""

    out: int
    features: int
    tokens: int


class Extras(NamedTuple):
    """What follows a product: a bias (out, 1), an activation, and a tensor to add. Pointers; 0: none."""

    bias_ptr: int = 0
    activation: str = ""
    residual_ptr: int = 0


NOTHING = Extras()


def linear(
    x_ptr: int,
    w_ptr: int,
    y_ptr: int,
    sizes: tuple[int, int, int],
    types: tuple[str, str],
    norm: Any,
    extras: tuple[Any, ...],
    tl: Any,
) -> None:
    """y (out, tokens) = w (out, in) x (in, tokens), over PEs; x is in the cubes. `types` are of weights and of activations."""
    first, end = own_rows(tl, sizes[0])
    if first >= end:
        return
    product, then = _Product(tl, x_ptr, Sizes(*sizes), types, norm), Extras(*extras)
    job = product.start(w_ptr, then)
    tl.wait(job)
    tl.store(y_ptr + product.at, activate(tl, job.out, then.activation))


def gated(
    x_ptr: int,
    w_ptrs: tuple[int, int],
    y_ptr: int,
    sizes: tuple[int, int, int],
    types: tuple[str, str],
    norm: Any,
    activation: str,
    tl: Any,
) -> None:
    """y = activation(gate x) * (up x): as `linear`, of two weights that read one x."""
    first, end = own_rows(tl, sizes[0])
    if first >= end:
        return
    product = _Product(tl, x_ptr, Sizes(*sizes), types, norm)
    gate, up = (product.start(w_ptr, NOTHING) for w_ptr in w_ptrs)
    tl.wait(gate)
    inner = activate(tl, gate.out, activation)
    tl.wait(up)
    tl.store(y_ptr + product.at, inner * up.out)


def activate(tl: Any, x: Any, activation: str) -> Any:
    """The activation of a name of Hugging Face; all GELUs are the tanh form, written with the logistic function."""
    if activation == "silu":
        return x * tl.sigmoid(x)
    if activation.startswith("gelu"):
        return x * tl.sigmoid((x + x * x * x * 0.044715) * 1.5957691)
    if activation == "relu":
        return tl.maximum(x, 0.0)
    return x


class _Product:
    """The rows of a PE: what it loads once, and the products that it starts, whose tiles of weights stream."""

    def __init__(self, tl: Any, x_ptr: int, sizes: Sizes, types: tuple[str, str], norm: Any) -> None:
        self.tl, self.sizes, self.types = tl, sizes, types
        self.first, end = own_rows(tl, sizes.out)
        self.rows = end - self.first
        self.at = self.first * sizes.tokens * itemsize(types[1])
        self.x = tl.load(x_ptr, (sizes.features, sizes.tokens), types[1])
        self.normal = [] if norm is None else self._normalise(Norm(*norm))

    def start(self, w_ptr: int, extras: Extras) -> Any:
        """Start the product with a weight."""
        tl, features = self.tl, self.sizes.features
        weight = tl.ref(w_ptr + self.first * features * itemsize(self.types[0]), (self.rows, features), self.types[0])
        epilogue = list(self.normal)
        if extras.bias_ptr:
            epilogue.append({"op": "add", "operand": self._column(extras.bias_ptr)})
        if extras.residual_ptr:
            before = tl.load(extras.residual_ptr + self.at, (self.rows, self.sizes.tokens), self.types[1])
            epilogue.append({"op": "add", "operand": before})
        tile = find_tile(self.rows, features, self.sizes.tokens, itemsize(self.types[0]), "a")
        return tl.composite("gemm", weight, self.x, out_dtype=self.types[1], epilogue=epilogue, tile_shape=tile)

    def _normalise(self, norm: Norm) -> list[dict[str, Any]]:
        """The steps that finish a norm: y / deviation, and less what the mean adds to each output."""
        tl, share, shape = self.tl, 1.0 / norm.features, (norm.parts, self.sizes.tokens)
        squares = tl.sum(tl.load(norm.squares, shape, "f32"), axis=0) * share
        if not norm.shift_ptr:
            return [{"op": "mul", "operand": tl.rsqrt(squares + norm.eps)}]
        mean = tl.sum(tl.load(norm.elements, shape, "f32"), axis=0) * share
        over = tl.rsqrt(squares - mean * mean + norm.eps)
        return [
            {"op": "mul", "operand": over},
            {"op": "sub", "operand": tl.dot(self._column(norm.shift_ptr), mean * over)},
        ]

    def _column(self, ptr: int) -> Any:
        return self.tl.load(ptr + self.first * itemsize(self.types[1]), (self.rows, 1), self.types[1])
