"""Random numbers of `triton.language`: Philox 4 x 32 with ten rounds, so seeds and offsets give the bits of Triton.

Source: J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernbench.triton.language.block import as_block, tensor
from kernbench.triton.language.rearranging import once
from kernbench.triton.language.types import named

_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_SCALE = np.float32(4.6566127342e-10)  # the largest float below 1 is that of the largest whole number
ROUNDS = 10


def _rounds(seed: Any, counters: tuple[Any, Any, Any, Any], rounds: int) -> Any:
    """Four words for each counter, uint32[4, ...]."""
    c0, c1, c2, c3 = (np.asarray(one).astype(np.uint64) & _LOW for one in counters)
    wide = np.asarray(seed).astype(np.uint64)
    k0, k1 = wide & _LOW, wide >> _HALF
    for _ in range(rounds):
        high0, high2 = _MULTIPLIERS[1] * c2, _MULTIPLIERS[0] * c0
        c0, c2 = (high0 >> _HALF) ^ c1 ^ k0, (high2 >> _HALF) ^ c3 ^ k1
        c1, c3 = high0 & _LOW, high2 & _LOW
        k0, k1 = (k0 + _WEYL[0]) & _LOW, (k1 + _WEYL[1]) & _LOW
    return np.stack(np.broadcast_arrays(c0, c1, c2, c3)).astype(np.uint32)


def _words(seed: Any, counters: tuple[Any, ...], rounds: int) -> Any:
    arrays = [as_block(one).data for one in (seed, *counters)]
    return once("philox", lambda key, *given: _rounds(key, given, int(rounds)), *arrays)  # type: ignore[arg-type]


def philox(seed: Any, c0: Any, c1: Any, c2: Any, c3: Any, n_rounds: int = ROUNDS) -> tuple[tensor, ...]:
    """Four blocks of 32 random bits for a seed and four counters."""
    words = _words(seed, (c0, c1, c2, c3), n_rounds)
    return tuple(tensor(words[number], named("uint32")) for number in range(4))


def randint4x(seed: Any, offset: Any, n_rounds: int = ROUNDS) -> tuple[tensor, ...]:
    """Four blocks of random u32 for a seed and a block of offsets."""
    at = as_block(offset)
    return philox(seed, at, _high(at), 0, 0, n_rounds)


def _high(at: Any) -> Any:
    """The upper word of offsets of 64 bits; 0 of those of 32."""
    return (at >> 32) if at.dtype.primitive_bitwidth > 32 else 0


def randint(seed: Any, offset: Any, n_rounds: int = ROUNDS) -> tensor:
    """A block of random u32 for a seed and a block of offsets."""
    return randint4x(seed, offset, n_rounds)[0]


def uint_to_uniform_float(x: tensor) -> tensor:
    """Random bits as f32 in [0, 1)."""

    def scale(data: Any) -> Any:
        signed = np.asarray(data).view(np.int32) if data.dtype.itemsize == 4 else np.asarray(data)
        kept = np.where(signed < 0, -signed - 1, signed)
        return kept.astype(np.float32) * _SCALE

    return tensor(once("uniform", scale, x.data), named("float32"))


def rand(seed: Any, offset: Any, n_rounds: int = ROUNDS) -> tensor:
    """A block of f32, uniform in [0, 1)."""
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


def rand4x(seed: Any, offsets: Any, n_rounds: int = ROUNDS) -> tuple[tensor, ...]:
    """Four blocks of f32, uniform in [0, 1)."""
    return tuple(uint_to_uniform_float(one) for one in randint4x(seed, offsets, n_rounds))


def pair_uniform_to_normal(u1: tensor, u2: tensor) -> tuple[tensor, tensor]:
    """Two uniform blocks as two of the normal distribution, by Box and Muller."""

    def normal(a: Any, b: Any) -> Any:
        radius = np.sqrt(np.float32(-2.0) * np.log(np.maximum(a, np.float32(1.0e-7))))
        angle = np.float32(6.283185307179586) * b
        return np.stack([radius * np.cos(angle), radius * np.sin(angle)])

    both = once("normal", normal, u1.data, u2.data)
    return tensor(both[0], named("float32")), tensor(both[1], named("float32"))


def randn(seed: Any, offset: Any, n_rounds: int = ROUNDS) -> tensor:
    """A block of f32 of the normal distribution."""
    first, second, _, _ = rand4x(seed, offset, n_rounds)
    return pair_uniform_to_normal(first, second)[0]


def randn4x(seed: Any, offset: Any, n_rounds: int = ROUNDS) -> tuple[tensor, ...]:
    """Four blocks of f32 of the normal distribution."""
    a, b, c, d = rand4x(seed, offset, n_rounds)
    return (*pair_uniform_to_normal(a, b), *pair_uniform_to_normal(c, d))
