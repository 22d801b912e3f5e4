"""All-reduce through the public distributed path: one worker a SIP, one part a cube, the sum of all parts everywhere.

The parameters shape the tray as well: so many SIPs in such a topology. A grid that is not given follows from their number; one
that does not hold them all is refused.
"""

from __future__ import annotations

import numpy as np

from kernbench import DPPolicy, InputError, bench
from kernbench.ccl import find_grid
from kernbench.dtypes import canonical, is_float, itemsize, numpy_dtype

DEFAULT_BYTES = 4096


def tray(n_sips, sip_topology, sips_w, sips_h, **_):
    """The fields of the topology that the parameters set; 0 and "" leave it as it is."""
    if min(n_sips, sips_w, sips_h) < 0:
        raise InputError(f"ccl-allreduce got n_sips={n_sips}, sips_w={sips_w}, sips_h={sips_h}; none is below 0")
    if n_sips:
        topology = sip_topology or "ring_1d"
        w, h = find_grid(n_sips, topology, sips_w, sips_h)
        return {"sips.count": n_sips, "sips.topology": topology, "sips.w": w, "sips.h": h}
    given = {"sips.topology": sip_topology, "sips.w": sips_w, "sips.h": sips_h}
    return {field: value for field, value in given.items() if value}


def worker(rank, torch, cubes, elements, dtype):
    """Each cube of each rank has a row of its own; all-reduce leaves the sum of all rows in every row."""
    torch.ahbm.set_device(rank)
    rows = DPPolicy(cube="row_wise", num_cubes=cubes, num_pes=1)
    tensor = torch.draw((cubes, elements), dtype, rows, name=f"t{rank}")
    torch.distributed.all_reduce(tensor, over="cubes")
    return tensor


@bench(
    "ccl-allreduce",
    "All-reduce over cubes and SIPs by the configured algorithm",
    fields=tray,
    choices={
        "sip_topology": ("", "ring_1d", "torus_2d", "mesh_2d", "mesh_2d_no_wrap"),
        "buffer_kind": ("tcm", "sram", "hbm"),
        "root": ("centre", "corner"),
    },
)
def run(
    torch,
    *,
    bytes_per_pe=DEFAULT_BYTES,
    n_sips=0,
    sip_topology="",
    sips_w=0,
    sips_h=0,
    buffer_kind="tcm",
    algorithm="",
    root="centre",
    cubes=0,
    n_slots=0,
    slot_size=0,
    dtype="f16",
):
    """`cubes` of each SIP take part (0: all); 0 bytes are the `n_elem` of ccl.yaml, 0 slots and bytes of one what it says.

    Parameters:
        bytes_per_pe: bytes of each cube's part; 0: n_elem of ccl.yaml
        n_sips: SIPs of the tray; 0: those of the topology
        sip_topology: topology of the SIPs, as sips.topology; empty: that of the topology
        sips_w: columns of the grid of SIPs; 0: follows from their number
        sips_h: rows of the grid of SIPs; 0: follows from their number
        buffer_kind: memory of the slots
        algorithm: an algorithm of ccl.yaml, or auto; empty: as ccl.yaml says
        root: the cube to which a hierarchy reduces
        cubes: cubes of each SIP that take part; 0: all
        n_slots: slots of each ring; 0: as ccl.yaml says
        slot_size: bytes of a slot; 0: as ccl.yaml says
        dtype: type of elements, such as f16, bf16, f32 or f8e4m3
    """
    from kernbench.ccl.config import load_config  # brings pydantic, which other benches in this folder do not need

    n_elem = load_config(settings={"algorithm": algorithm or None}).algorithm()[1].n_elem
    elements, rest = divmod(bytes_per_pe or n_elem * itemsize(dtype), itemsize(dtype))
    if elements < 1 or rest:
        raise InputError(
            f"ccl-allreduce got bytes_per_pe={bytes_per_pe}; give a multiple of {itemsize(dtype)}, the size of {dtype}"
        )
    if min(cubes, n_slots, slot_size) < 0:
        raise InputError(f"ccl-allreduce got cubes={cubes}, n_slots={n_slots}, slot_size={slot_size}; none is below 0")
    torch.distributed.init_process_group(
        backend="ahbm",
        algorithm=algorithm or None,
        buffer_kind=buffer_kind,
        root=root,
        n_slots=n_slots or None,
        slot_size=slot_size or None,
    )
    cubes = cubes or torch.cubes_per_sip
    tensors = []

    def work(rank):
        tensors.append(worker(rank, torch, cubes, elements, dtype))

    torch.multiprocessing.spawn(work, nprocs=torch.distributed.get_world_size())

    def expected():
        terms = [tensor.initial().astype(np.float64 if is_float(dtype) else numpy_dtype(dtype)) for tensor in tensors]
        total = np.sum(terms, axis=(0, 1), dtype=terms[0].dtype)  # integers wrap, as on the device
        return np.broadcast_to(total, (cubes, elements))

    terms = len(tensors) * cubes
    for tensor in tensors:
        torch.expect(tensor, expected, tolerance=tolerance(dtype, terms))


def tolerance(dtype, terms):
    """What rounding after each addition may add up to, beside the largest of |expected| and 1."""
    if not is_float(dtype):
        return 0.0
    step = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8, "f8e4m3": 2.0**-4, "f8e5m2": 2.0**-3}[canonical(dtype)]
    return step * (2 + 2 * np.sqrt(terms) * np.log2(1 + terms))
