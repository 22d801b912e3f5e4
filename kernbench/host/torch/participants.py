"""The PEs that take part in a collective: one holder of each part of the tensor.

A collective combines each part with the same part on the other SIPs: that of PE 3 of cube 2 with those of PE 3 of cube 2
elsewhere. If a tensor is replicated, the copy of cube 0 (of PE 0) takes part, and a second launch copies its result to the
other copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernbench.errors import InputError
from kernbench.host.memory.placement import REPLICATE

if TYPE_CHECKING:
    from kernbench.ccl.plan import Spans
    from kernbench.host.memory.tensor_layout import Layout
    from kernbench.host.torch.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Workers:
    """The PEs that work on a tensor, and the part of each."""

    cubes: tuple[int, ...]
    pes: tuple[int, ...]
    spans: Spans
    elements: int  # of the largest part
    copies: bool  # whether there are others, to be given the result


def find_workers(layout: Layout) -> Workers:
    """The workers of a layout; where there are copies, those of cube 0 and of PE 0 work."""
    over_cubes, over_pes = layout.policy.cube == REPLICATE, layout.policy.pe == REPLICATE
    spans = [[(0, 0)] * layout.pes for _ in range(layout.cubes)]
    for block, _ in layout.parts:
        if block.elements:
            spans[block.cube or 0][block.pe or 0] = (block.first_element, block.elements)
    return Workers(
        cubes=(0,) if over_cubes else tuple(range(layout.cubes)),
        pes=(0,) if over_pes else tuple(range(layout.pes)),
        spans=tuple(map(tuple, spans)),
        elements=max(elements for row in spans for _, elements in row),
        copies=(over_cubes and layout.cubes > 1) or (over_pes and layout.pes > 1),
    )


def all_spans(layout: Layout) -> Spans:
    """What each PE holds, copies included."""
    spans = [[(0, 0)] * layout.pes for _ in range(layout.cubes)]
    for block, _ in layout.parts:
        for cube in range(layout.cubes) if block.cube is None else (block.cube,):
            for pe in range(layout.pes) if block.pe is None else (block.pe,):
                spans[cube][pe] = (block.first_element, block.elements)
    return tuple(map(tuple, spans))


def find_mesh(layout: Layout, tensor: str, cube_w: int) -> tuple[int, int]:
    """Width and height of the cubes over which a tensor is reduced; all of their parts have one size.

    Errors: InputError for a layout whose cubes make no mesh or hold parts of several sizes.
    """
    if layout.policy.cube == REPLICATE:
        raise InputError(
            f"all_reduce over cubes got tensor {tensor!r}, of which every cube holds a copy; "
            "split it over the cubes with DPPolicy(cube='row_wise'), or reduce over ranks"
        )
    sizes = sorted({block.elements for block, _ in layout.parts})
    if len(sizes) > 1:
        raise InputError(
            f"all_reduce over cubes got tensor {tensor!r}, whose parts have {sizes[0]} to {sizes[-1]} elements; "
            "make its size a multiple of the number of parts"
        )
    if layout.cubes <= cube_w:
        return layout.cubes, 1
    if layout.cubes % cube_w:
        raise InputError(
            f"all_reduce over cubes got tensor {tensor!r} on {layout.cubes} cubes, which are no rows of the "
            f"{cube_w} cubes of a row; give num_cubes up to {cube_w} or a multiple of it"
        )
    return cube_w, layout.cubes // cube_w


def check_alike(collective: str, tensors: dict[int, list[Tensor]], sips: tuple[int, ...]) -> None:
    """Hold that the tensors of all ranks have one shape, dtype and layout; `sips` is that of each rank.

    Errors: InputError naming the two tensors that differ, or one that is not on its rank's SIP.
    """
    first = tensors[0][0]
    for rank, given in tensors.items():
        if len(given) != len(tensors[0]):
            raise InputError(f"{collective} got {len(tensors[0])} tensors in rank 0 and {len(given)} in rank {rank}")
        for tensor in given:
            if tensor.sip != sips[rank]:
                raise InputError(
                    f"{collective} got tensor {tensor.name!r} of SIP {tensor.sip} in rank {rank}, whose SIP is "
                    f"{sips[rank]}; call torch.ahbm.set_device({rank}) before making it"
                )
            ours, theirs = _traits(first), _traits(tensor)
            if ours != theirs:
                which = next(name for name in ours if ours[name] != theirs[name])
                raise InputError(
                    f"{collective} got {first.name!r} with {which} {ours[which]} in rank 0 and {tensor.name!r} with "
                    f"{which} {theirs[which]} in rank {rank}; make them alike"
                )


def _traits(tensor: Tensor) -> dict[str, object]:
    layout = tensor.layout
    return {
        "shape": layout.shape,
        "dtype": layout.dtype,
        "layout": f"{layout.policy!r} on {layout.cubes} cubes x {layout.pes} PEs",
    }
