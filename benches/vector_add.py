"""z = x + y on all PEs: no reuse, so memory and the ways to it decide."""

from __future__ import annotations

from kernbench import DPPolicy, InputError, bench, part_of
from kernbench.dtypes import itemsize, widen


def add(x_ptr, y_ptr, z_ptr, n, dtype, tl):
    """This PE's elements: a part of its cube's part."""
    cube = part_of((0, n), tl.program_id(axis=1), tl.num_programs(axis=1))
    start, end = part_of(cube, tl.program_id(axis=0), tl.num_programs(axis=0))
    if start == end:
        return
    offset = start * itemsize(dtype)
    x = tl.load(x_ptr + offset, end - start, dtype)
    y = tl.load(y_ptr + offset, end - start, dtype)
    tl.store(z_ptr + offset, x + y)


@bench("vector-add", "The sum of two vectors on all PEs")
def run(torch, *, n=1 << 20, dtype="f16"):
    """Equal parts over the SIPs, then over cubes, then over the PEs of each.

    Parameters:
        n: elements of each vector
        dtype: type of elements, such as f16, bf16, f32 or f8e4m3
    """
    if n < 1:
        raise InputError(f"vector-add got n={n}; it must be 1 or more")
    sips = torch.device_count
    for sip in range(sips):
        first, end = part_of((0, n), sip, sips)
        if first < end:
            with torch.device(sip):
                add_part(torch, sip, end - first, dtype)


def add_part(torch, sip, n, dtype):
    """The elements of one SIP."""
    split = DPPolicy(cube="row_wise", pe="row_wise")
    x = torch.draw(n, dtype, split, name=f"x{sip}")
    y = torch.draw(n, dtype, split, name=f"y{sip}")
    z = torch.empty(n, dtype, split, name=f"z{sip}")
    torch.launch("add", add, x, y, z, n, dtype)
    torch.expect(z, lambda: widen(x.initial()) + widen(y.initial()))
