"""`triton.language.extra.libdevice` and `triton.language.math`: functions of elements that numpy and scipy have.

A float stays of its type; a whole number or an f16 beside f32 meets it as in other operations. Functions with a rounding
mode in their name are there where the mode is the nearest even one, which numpy has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from kernbench.tl.language.errors import fail
from kernbench.triton.language.block import as_block, meet, tensor
from kernbench.triton.language.rearranging import once
from kernbench.triton.language.types import named

_F32 = named("float32")


def elementwise(name: str, function: Callable[..., Any], result: str | None = None) -> Callable[..., tensor]:
    """A function of blocks from one of arrays; `result` names the type of its result, by default theirs."""

    def apply(*args: Any) -> tensor:
        blocks = [as_block(one, _F32) for one in args]
        for one in blocks[1:]:
            blocks[0] = meet(blocks[0], one)[0]
        blocks = [blocks[0], *(one.to(blocks[0].dtype) for one in blocks[1:])]
        kind = named(result) if result else blocks[0].dtype

        def compute(*arrays: Any) -> Any:
            with np.errstate(all="ignore"):
                return np.asarray(function(*arrays)).astype(kind.numpy)

        return tensor(once(name, compute, *(one.data for one in blocks)), kind)

    apply.__name__, apply.__doc__ = name, f"{name} of each element."
    return apply


def _of_floats(name: str, function: Callable[..., Any]) -> Callable[..., tensor]:
    inner = elementwise(name, lambda *arrays: function(*(_wide(one) for one in arrays)))

    def apply(*args: Any) -> tensor:
        blocks = [as_block(one, _F32) for one in args]
        return inner(*(one.to(_F32) if one.dtype.is_int() else one for one in blocks))

    apply.__name__, apply.__doc__ = name, f"{name} of each element."
    return apply


def _wide(x: Any) -> Any:
    return x if x.dtype.itemsize > 2 else x.astype(np.float32)


def _round_away(x: Any) -> Any:
    return np.trunc(x + np.copysign(np.asarray(0.5, x.dtype), x))


_FLOAT_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
        "floor", "ceil", "trunc", "rint", "hypot", "copysign", "nextafter", "fmod",
    )},
    **{name: getattr(special, name) for name in ("erf", "erfc", "erfcx", "erfinv", "erfcinv", "j0", "j1", "y0", "y1")},
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "exp10": lambda x: np.power(np.asarray(10, x.dtype), x),
    "pow": np.power, "rsqrt": lambda x: 1 / np.sqrt(x), "rcbrt": lambda x: 1 / np.cbrt(x),
    "sinpi": lambda x: np.sin(np.pi * x), "cospi": lambda x: np.cos(np.pi * x),
    "lgamma": special.gammaln, "tgamma": special.gamma, "normcdf": special.ndtr, "normcdfinv": special.ndtri,
    "cyl_bessel_i0": special.i0, "cyl_bessel_i1": special.i1,
    "nearbyint": np.rint, "round": _round_away, "remainder": lambda x, y: x - y * np.rint(x / y),
    "fdim": lambda x, y: np.maximum(x - y, 0), "saturatef": lambda x: np.clip(x, 0, 1),
    "logb": lambda x: np.floor(np.log2(np.abs(x))), "rhypot": lambda x, y: 1 / np.hypot(x, y),
    "norm3d": lambda x, y, z: np.sqrt(x * x + y * y + z * z),
    "rnorm3d": lambda x, y, z: 1 / np.sqrt(x * x + y * y + z * z),
    "fast_dividef": np.true_divide, "div_rn": np.true_divide, "div_full": np.true_divide, "rcp_rn": lambda x: 1 / x,
    "add_rn": np.add, "sub_rn": np.subtract, "mul_rn": np.multiply, "sqrt_rn": np.sqrt, "rsqrt_rn": lambda x: 1 / np.sqrt(x),
    "fma": lambda x, y, z: x * y + z, "fma_rn": lambda x, y, z: x * y + z, "abs": np.abs, "fabs": np.abs,
}  # fmt: skip
_ALIASES = {
    "fast_expf": "exp", "fast_exp10f": "exp10", "fast_logf": "log", "fast_log2f": "log2", "fast_log10f": "log10",
    "fast_sinf": "sin", "fast_cosf": "cos", "fast_tanf": "tan", "fast_tanhf": "tanh", "fast_powf": "pow",
}  # fmt: skip


def _bits(x: Any) -> Any:
    return x.view(np.dtype(f"u{x.dtype.itemsize}"))


def _high(a: Any, b: Any) -> Any:
    """The upper half of the product of whole numbers."""
    width = a.dtype.itemsize * 8
    if width < 64:
        wide = np.int64 if a.dtype.kind == "i" else np.uint64
        return (a.astype(wide) * b.astype(wide)) >> wide(width)
    product = np.asarray(a).astype(object) * np.asarray(b).astype(object)
    return (product >> 64).astype(a.dtype)


def _whole(x: Any, round_: Callable[..., Any], kind: type) -> Any:
    return round_(x).astype(kind)


_OTHER_FUNCTIONS: dict[str, tuple[Callable[..., Any], str | None]] = {
    "isnan": (np.isnan, "int32"), "isinf": (np.isinf, "int32"), "finitef": (np.isfinite, "int32"),
    "isfinited": (np.isfinite, "int32"), "signbit": (np.signbit, "int32"),
    "popc": (np.bitwise_count, "int32"),
    "ffs": (lambda x: np.where(x == 0, 0, np.bitwise_count((x & -x) - 1) + 1), "int32"),
    "mulhi": (_high, None), "umulhi": (lambda a, b: _high(_bits(a), _bits(b)), None),
    "mul24": (np.multiply, None), "sad": (lambda x, y, z: np.abs(x - y) + z, None),
    "hadd": (lambda x, y: (x & y) + ((x ^ y) >> 1), None), "rhadd": (lambda x, y: (x | y) - ((x ^ y) >> 1), None),
    "float_as_int": (lambda x: x.view(np.int32), "int32"), "float_as_uint": (lambda x: x.view(np.uint32), "uint32"),
    "int_as_float": (lambda x: x.view(np.float32), "float32"), "uint_as_float": (lambda x: x.view(np.float32), "float32"),
    "double_as_longlong": (lambda x: x.view(np.int64), "int64"),
    "longlong_as_double": (lambda x: x.view(np.float64), "float64"),
    "float2int_rn": (np.rint, "int32"), "float2int_rz": (np.trunc, "int32"), "float2int_rd": (np.floor, "int32"),
    "float2int_ru": (np.ceil, "int32"), "float2uint_rn": (np.rint, "uint32"), "float2uint_rz": (np.trunc, "uint32"),
    "float2ll_rn": (np.rint, "int64"), "int2float_rn": (lambda x: x, "float32"), "uint2float_rn": (lambda x: x, "float32"),
    "double2float_rn": (lambda x: x, "float32"), "double2int_rz": (np.trunc, "int32"), "llrint": (np.rint, "int64"),
    "llround": (_round_away, "int64"), "ilogb": (lambda x: np.floor(np.log2(np.abs(x))), "int32"),
}  # fmt: skip

_TABLE: dict[str, Callable[..., tensor]] = {
    **{name: _of_floats(name, function) for name, function in _FLOAT_FUNCTIONS.items()},
    **{name: elementwise(name, function, kind) for name, (function, kind) in _OTHER_FUNCTIONS.items()},
}
_TABLE.update({name: _TABLE[plain] for name, plain in _ALIASES.items()})


def ldexp(x: Any, exponent: Any) -> tensor:
    """x · 2 to a whole power."""
    block, power = as_block(x, _F32), as_block(exponent)
    return tensor(once("ldexp", lambda a, b: np.ldexp(a, b.astype(np.int32)), block.data, power.data), block.dtype)


_TABLE["ldexp"] = _TABLE["scalbn"] = ldexp


def functions() -> dict[str, Callable[..., tensor]]:
    """All functions by their names."""
    return dict(_TABLE)


def absolute(x: Any) -> tensor:
    """The absolute value, of whole numbers too."""
    block = as_block(x)
    if not block.dtype.is_signed:
        return block
    return tensor(np.absolute(block.data), block.dtype)


_TABLE["abs"] = _TABLE["llabs"] = absolute


def umulhi(x: Any, y: Any) -> tensor:
    """The upper half of the product of whole numbers without sign."""
    a, b = meet(x, y)
    if a.dtype.is_floating():
        fail(f"tl.umulhi got blocks of {a.dtype}", "give whole numbers")
    return _TABLE["umulhi"](a, b)
