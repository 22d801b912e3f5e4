"""Traffic patterns: the standard destination functions of networks.

Definitions follow Dally and Towles, *Principles and Practices of Interconnection Networks*, section 3.2; a pattern that
moves along a dimension does so in both. A node whose partner is itself sends to itself, over its router.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from kernbench.errors import InputError, shorten, suggest
from kernbench.machine.families.mesh.places import MeshPlaces, node_name

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

HOT_SHARE = 0.1  # of the packets of `hotspot` go to the one hot node

# The partners int64[n] of sources int64[n] in a mesh of w x h nodes, by index y * w + x.
Partners = Callable[[np.ndarray, int, int, np.random.Generator], np.ndarray]


def _uniform(src: np.ndarray, w: int, h: int, rng: np.random.Generator) -> np.ndarray:
    """Every node with equal probability, the source too."""
    return rng.integers(0, w * h, len(src))


def _hotspot(src: np.ndarray, w: int, h: int, rng: np.random.Generator) -> np.ndarray:
    """The node in the middle for a share of the packets, every node with equal probability for the rest."""
    hot = h // 2 * w + w // 2
    return np.where(rng.random(len(src)) < HOT_SHARE, hot, _uniform(src, w, h, rng))


def _transpose(src: np.ndarray, w: int, _h: int, _: np.random.Generator) -> np.ndarray:
    """node[y][x] to node[x][y]."""
    return src % w * w + src // w


def _bitcomp(src: np.ndarray, w: int, h: int, _: np.random.Generator) -> np.ndarray:
    """Every bit of the index inverted."""
    return w * h - 1 - src


def _shifted(src: np.ndarray, w: int, h: int, right: int, down: int) -> np.ndarray:
    return (src // w + down) % h * w + (src % w + right) % w


def _neighbor(src: np.ndarray, w: int, h: int, _: np.random.Generator) -> np.ndarray:
    """The next node in each dimension, with wrap-around."""
    return _shifted(src, w, h, 1, 1)


def _tornado(src: np.ndarray, w: int, h: int, _: np.random.Generator) -> np.ndarray:
    """Just less than half the ring in each dimension."""
    return _shifted(src, w, h, (w + 1) // 2 - 1, (h + 1) // 2 - 1)


PATTERNS: dict[str, Partners] = {
    "uniform": _uniform,
    "transpose": _transpose,
    "bitcomp": _bitcomp,
    "hotspot": _hotspot,
    "neighbor": _neighbor,
    "tornado": _tornado,
}


def check_pattern(name: str) -> None:
    """Errors: InputError for an unknown pattern."""
    if name not in PATTERNS:
        raise InputError(f"unknown pattern {shorten(repr(name))}{suggest(name, PATTERNS)}")


def find_pattern(name: str, machine: Machine) -> Partners:
    """The partners of a pattern.

    Errors: InputError for an unknown pattern, a machine that is no mesh, or a mesh size for which the pattern is not defined.
    """
    check_pattern(name)
    places = machine.places
    if not isinstance(places, MeshPlaces):
        raise InputError(
            f"patterns need the nodes of a mesh, and {machine.name} is of family {machine.family}; "
            "try --topology mesh_8x8 or give flows"
        )
    w, h = places.w, places.h
    if name == "transpose" and w != h:
        raise InputError(
            f"pattern transpose needs as many columns as rows, and {machine.name} has {w} x {h} nodes; set k"
        )
    if name == "bitcomp" and (w * h) & (w * h - 1):
        raise InputError(
            f"pattern bitcomp needs a number of nodes that is a power of two, and {machine.name} has {w} x {h} = {w * h}; "
            f"set k to {1 << (max(w, h) - 1).bit_length()}"
        )
    if w * h == 1:
        raise InputError(f"pattern {name} needs partners, and {machine.name} has one node; set k")
    if name == "tornado" and max(w, h) == 2:
        raise InputError(
            f"with pattern {name} every node of {machine.name} ({w} x {h}) is its own partner; set k to 3 or more"
        )
    return PATTERNS[name]


def node_names(machine: Machine) -> tuple[str, ...]:
    """The names of the nodes of a mesh by index."""
    places = machine.places
    assert isinstance(places, MeshPlaces)
    return tuple(node_name(row, col) for row in range(places.h) for col in range(places.w))
