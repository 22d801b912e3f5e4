"""The numbers of a network whose weights are not there: drawn by name, so that ranks and references have the same."""

from __future__ import annotations

from zlib import crc32

import numpy as np

EPS = 1e-5  # of norms


class Numbers:
    """Whole weights of a network by layer and name, float32, each (outputs, inputs); vectors have one axis."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def matrix(self, place: str, name: str, out: int, features: int) -> np.ndarray:
        """(out, features), of deviation 1/sqrt(features)."""
        return self.draw(place, name, (out, features)) * np.float32(features**-0.5)

    def vector(self, place: str, name: str, length: int, around: float = 0.0) -> np.ndarray:
        """(length,), near a number."""
        return self.draw(place, name, (length,)) * np.float32(0.1) + np.float32(around)

    def draw(self, place: str, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Normal numbers of deviation 1, the same in each process."""
        rng = np.random.default_rng((self.seed, crc32(f"{place}.{name}".encode())))
        return rng.standard_normal(shape, np.float32)


def rotation(size: int, rotated: int, position: int, theta: float = 10000.0) -> np.ndarray:
    """float32[size, size] R, so that x @ R is x with its first `rotated` elements turned by a position.

    Element i is paired with element i + rotated / 2 (J. Su et al., "RoFormer", arXiv 2104.09864, in the order of transformers).
    """
    half = rotated // 2
    angle = position * theta ** (-np.arange(half) / half)
    r = np.eye(size)
    i = np.arange(half)
    r[i, i] = r[i + half, i + half] = np.cos(angle)
    r[i, i + half], r[i + half, i] = np.sin(angle), -np.sin(angle)
    return r.astype(np.float32)
