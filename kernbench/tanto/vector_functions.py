"""The elementwise functions of the vector unit, on float32 arrays. An operand is bits of a float32, or a natural exponent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

F = np.float32
Unary = Callable[[Any], Any]


def bits_to_float(bits: int) -> Any:
    """The float32 of a bit pattern."""
    return np.array(bits & 0xFFFFFFFF, np.uint32).view(np.float32)[()]


def _truth(of: Unary) -> Unary:
    return lambda x: of(x).astype(F)


def _special(name: str) -> Unary:
    def call(x: Any) -> Any:
        import scipy.special  # pyright: ignore[reportMissingTypeStubs]

        return getattr(scipy.special, name)(x)

    return call


def _gelu(x: Any) -> Any:
    # x / 2 (1 + tanh u) is x / (1 + exp -2u), which loses nothing where the hyperbolic tangent is nearly -1
    u = F(np.sqrt(2 / np.pi)) * (x + F(0.044715) * x * x * x)
    return x / (F(1) + np.exp(F(-2) * u))


def _sigmoid(x: Any) -> Any:
    return F(1) / (F(1) + np.exp(-x))


UNARY: dict[str, Unary] = {
    "abs": np.abs,
    "acos": np.arccos,
    "asin": np.arcsin,
    "atan": np.arctan,
    "cos": np.cos,
    "eqz": _truth(lambda x: x == 0),
    "erf": _special("erf"),
    "erfc": _special("erfc"),
    "erfinv": _special("erfinv"),
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "gelu": _gelu,
    "gez": _truth(lambda x: x >= 0),
    "gtz": _truth(lambda x: x > 0),
    "i0": _special("i0"),
    "isfinite": _truth(np.isfinite),
    "isinf": _truth(np.isinf),
    "isnan": _truth(np.isnan),
    "isneginf": _truth(np.isneginf),
    "isposinf": _truth(np.isposinf),
    "lez": _truth(lambda x: x <= 0),
    "log": np.log,
    "logical_not": _truth(lambda x: x == 0),
    "ltz": _truth(lambda x: x < 0),
    "nez": _truth(lambda x: x != 0),
    "recip": lambda x: F(1) / x,
    "relu": lambda x: np.where(x < 0, F(0), x),
    "rsqrt": lambda x: F(1) / np.sqrt(x),
    "sigmoid": _sigmoid,
    "sign": lambda x: np.sign(np.where(np.isnan(x), 0, x)),
    "signbit": _truth(np.signbit),
    "sin": np.sin,
    "sqrt": np.sqrt,
    "square": np.square,
    "tan": np.tan,
    "tanh": np.tanh,
}
Scaled = Callable[[Any, Any], Any]


def _elu(x: np.ndarray, slope: Any) -> np.ndarray:
    return np.where(x <= 0, slope * (np.exp(np.minimum(x, F(0))) - F(1)), x)


def _heaviside(x: np.ndarray, at_zero: Any) -> np.ndarray:
    return np.where(x < 0, F(0), np.where(x > 0, F(1), at_zero))


def _leaky_relu(x: np.ndarray, slope: Any) -> np.ndarray:
    return np.where(x <= 0, slope * x, x)


def _relu_max(x: np.ndarray, most: Any) -> np.ndarray:
    return np.where(x > most, most, np.where(x < 0, F(0), x))


def _relu_min(x: np.ndarray, least: Any) -> np.ndarray:
    return np.where(x < least, F(0), x)


def _log_with_base(x: Any, base: Any) -> Any:
    return np.log(x) / np.log(base)


SCALED: dict[str, Scaled] = {
    "add_scalar": lambda x, s: x + s,
    "div_scalar": lambda x, s: x / s,
    "elu": _elu,
    "heaviside": _heaviside,
    "leaky_relu": _leaky_relu,
    "log_with_base": _log_with_base,
    "mul_scalar": lambda x, s: x * s,
    "relu_max": _relu_max,
    "relu_min": _relu_min,
    "rsub_scalar": lambda x, s: s - x,
    "sub_scalar": lambda x, s: x - s,
}


def power(x: np.ndarray, exponent: int) -> np.ndarray:
    """x to a natural power."""
    return np.power(x, F(exponent))


# Passes over 32 lanes that a function takes, relative to the classes of the sheet of the core.
CLASS: dict[str, str] = {
    **dict.fromkeys(
        ("acos", "asin", "atan", "cos", "erf", "erfc", "erfinv", "i0", "log", "log_with_base", "sin", "tan", "tanh"),
        "series",
    ),
    **dict.fromkeys(
        ("elu", "exp", "exp2", "expm1", "gelu", "recip", "rsqrt", "sigmoid", "sqrt", "div_scalar"), "iterated"
    ),
}


def function_class(name: str) -> str:
    """The class of cost of a function: "series", "iterated" or "simple"."""
    return CLASS.get(name, "simple")
