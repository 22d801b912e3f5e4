"""SIP topologies of collectives (ring, torus, mesh), and the grid of a number of SIPs."""

from __future__ import annotations

import math

from kernbench.errors import InputError, suggest

SIP_TOPO_RING, SIP_TOPO_TORUS, SIP_TOPO_MESH = 0, 1, 2

# "mesh_2d" is an old word for the torus; "mesh_2d_no_wrap" is the mesh.
TOPO_NAME_TO_KIND = {
    "ring_1d": SIP_TOPO_RING,
    "torus_2d": SIP_TOPO_TORUS,
    "mesh_2d": SIP_TOPO_TORUS,
    "mesh_2d_no_wrap": SIP_TOPO_MESH,
}


def find_kind(topology: str) -> int:
    """The kind of a topology by its name. Errors: InputError with the known names."""
    if topology not in TOPO_NAME_TO_KIND:
        raise InputError(f"unknown SIP topology {topology!r}{suggest(str(topology), TOPO_NAME_TO_KIND)}")
    return TOPO_NAME_TO_KIND[topology]


def find_grid(count: int, topology: str, w: int = 0, h: int = 0) -> tuple[int, int]:
    """Width and height of `count` SIPs, as given (0: not given), or the squarest grid of two rows or more.

    A ring is one row. Six are 2 x 3, taller than wide, since rings run down the columns last. The grid always holds all SIPs.
    Errors: InputError for an unknown topology, and for a grid that does not hold all.
    """
    kind = find_kind(topology)
    if count < 1:
        raise InputError(f"there cannot be {count} SIPs; give 1 or more")
    if w or h:
        width, height = w or count // max(h, 1), h or count // max(w, 1)
        if width * height != count or min(width, height) < 1:
            given = f"{w} x {h}" if w and h else f"a width of {w}" if w else f"a height of {h}"
            raise InputError(
                f"{count} SIPs do not make a grid of {given}; give sips_w and sips_h whose product is {count}"
            )
        return width, height
    if kind == SIP_TOPO_RING:
        return count, 1
    width = next(side for side in range(math.isqrt(count), 0, -1) if count % side == 0)
    if width == 1 and count > 3:
        raise InputError(
            f"{count} SIPs make no grid of two rows or more for topology {topology!r}; "
            "give sips_w and sips_h, another number of SIPs, or ring_1d"
        )
    return width, count // width
