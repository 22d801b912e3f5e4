"""The interface of built-in objects: each method with its overloads, as in Appendix B of the specification.

An overload is the kinds of its arguments: "u" a number, "t" a number of the element type, "b" a truth, or the kind of an
object. The method of the runtime object is named by the method, and by the kind of object among its arguments where overloads
differ by it.
"""

from __future__ import annotations

from typing import NamedTuple

U = "u"


class Method(NamedTuple):
    """One overload: the kinds of its arguments, the Python method that carries it out, and what it returns."""

    arguments: tuple[str, ...]
    call: str
    returns: str = "void"  # or "t": a number of the element type


_RANGE = (U,) * 5


def _transfers(name: str, own_global: bool) -> list[Method]:
    found = [Method((U, "global", U, U), f"{name}_global")] if own_global else []
    for kind in ("local", "pipe"):
        found.append(Method((U, kind, U, U), f"{name}_{kind}"))
        found.append(Method((U, kind, U, U, U, U), f"{name}_{kind}"))
    return found


_COPIES: dict[str, list[Method]] = {
    "get": [Method((U,), "get", "t")],
    "set": [Method((U, "t"), "set")],
    "read": _transfers("read", True),
    "write": _transfers("write", True),
    "write_mcast": [Method((U, kind, U, U, *_RANGE), "write_mcast") for kind in ("local", "pipe")],
    "write_mcast_with_self": [Method((U, kind, U, U, *_RANGE), "write_mcast_with_self") for kind in ("local", "pipe")],
    "move_init": [Method((U,), "move_init")],
    "move": [Method((U, kind, U), "move") for kind in ("local", "pipe")],
}
PACKS = ("pack", "pack_row", "pack_col", "pack_scalar")
BINARIES = tuple(
    f"{op}{form}" for op in ("add", "sub", "mul") for form in ("", "_bcast_rows", "_bcast_cols", "_bcast_scalar")
)
REDUCTIONS = tuple(f"reduce_{op}_{over}" for op in ("max", "sum") for over in ("rows", "cols", "scalar"))
UNARIES = (
    "abs", "acos", "asin", "atan", "cos", "eqz", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "gelu", "gez", "gtz",
    "i0", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "lez", "log", "logical_not", "ltz", "max", "nez", "recip",
    "relu", "rsqrt", "sigmoid", "sign", "signbit", "sin", "sqrt", "square", "tan", "tanh",
)  # fmt: skip
SCALED = (
    "add_scalar", "div_scalar", "elu", "heaviside", "leaky_relu", "log_with_base", "mul_scalar", "power", "relu_max",
    "relu_min", "rsub_scalar", "sub_scalar",
)  # fmt: skip

METHODS: dict[str, dict[str, list[Method]]] = {
    "global": {},
    "local": _COPIES,
    "pipe": {
        **_COPIES,
        "set_frame": [Method((U,), "set_frame")],
        **{name: [Method((), name)] for name in ("reserve_back", "push_back", "wait_front", "pop_front")},
    },
    "semaphore": {
        "set": [Method((U,), "set")],
        "set_remote": [Method(("semaphore", U, U), "set_remote")],
        "set_mcast": [Method(("semaphore", *_RANGE), "set_mcast")],
        "inc": [Method((U, U, U), "inc")],
        "wait": [Method((U,), "wait")],
    },
    "math": {
        **{name: [Method((U, "pipe"), name)] for name in PACKS},
        "copy": [Method(("pipe", U, U), "copy")],
        **{name: [Method(("pipe", "pipe", U, U, U), name)] for name in (*BINARIES, *REDUCTIONS)},
        "matmul": [Method(("pipe", "pipe", U, U, U, "b"), "matmul")],
        "transpose": [Method(("pipe", U, U), "transpose")],
        **{name: [Method((U,), f"u_{name}")] for name in UNARIES},
        **{name: [Method((U, U), f"u_{name}")] for name in SCALED},
    },
}
FUNCTIONS: dict[str, list[Method]] = {
    "read_barrier": [Method((), "read_barrier")],
    "write_barrier": [Method((), "write_barrier")],
    "tilize_block": [Method(("pipe", U, "pipe"), "tilize_block")],
    "untilize_block": [Method(("pipe", U, "pipe"), "untilize_block")],
}
DATAFLOW_FUNCTIONS = ("read_barrier", "write_barrier")
READS_DATA = ("get",)  # methods whose result is data
