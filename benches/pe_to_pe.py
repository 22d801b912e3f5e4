"""Messages from one PE to its neighbour, beside a store of as many bytes into the neighbour's memory.

`to` says which neighbour: PE 1 of the cube, or PE 0 of cube 1. `via` says how: "recv" receives the message as kernels do,
"peek" without paying for reading the slot, "store" writes to the neighbour's HBM.
"""

from __future__ import annotations

from kernbench import DPPolicy, InputError, bench
from kernbench.ccl.wiring import row_of_pes
from kernbench.dtypes import itemsize

BACK = {"E": "W", "S": "N"}
LEVELS = {"pe": "intra_", "cube": ""}
VIAS = ("recv", "peek", "store")


def pass_on(x_ptr, y_ptr, n, messages, to, side, via, keep, dtype, tl):
    """The first program sends its tensor, the second receives it and keeps the last, if it is to be looked at."""
    here = tl.program_id(0) if to == "pe" else tl.program_id(1)
    if here == 0:
        x = tl.load(x_ptr, n, dtype)
        for _ in range(messages):
            if via == "store":
                tl.store(y_ptr + n * itemsize(dtype), x)
            else:
                tl.send(LEVELS[to] + side, x)
    elif via != "store":
        receive = tl.recv if via == "recv" else tl.recv_no_consume
        for i in range(messages):
            y = receive(LEVELS[to] + BACK[side], n, dtype)
            if keep and i == messages - 1:
                tl.store(y_ptr + n * itemsize(dtype), y)


@bench(
    "pe-to-pe",
    "Messages between neighbours, or stores of as many bytes",
    choices={"to": tuple(LEVELS), "via": VIAS, "buffer_kind": ("tcm", "sram", "hbm")},
)
def run(torch, *, nbytes=4096, messages=1, to="cube", via="recv", buffer_kind="tcm", slots=4, keep=True, dtype="f16"):
    """Without `keep` the receiver leaves the message in TCM, so that the time is that of the message alone.

    Parameters:
        nbytes: bytes of a message; whole elements
        messages: messages, one after the other
        to: the receiver: pe is PE 1 of the cube, cube is PE 0 of cube 1
        via: how: recv receives, peek does not pay for reading the slot, store writes to HBM
        buffer_kind: memory of the slots
        slots: slots of a ring
        keep: the receiver stores what it has; else it leaves it in TCM
        dtype: type of elements, such as f16, bf16, f32 or f8e4m3
    """
    n, rest = divmod(nbytes, itemsize(dtype))
    if n < 1 or rest or messages < 1:
        raise InputError(
            f"pe-to-pe got nbytes={nbytes} and messages={messages}; give whole elements of {dtype} and 1 or more"
        )
    there = torch.pes_per_cube if to == "pe" else torch.cubes_per_sip
    in_row = row_of_pes(there) if to == "pe" else torch.driven.machine.places.cube_w
    side = "E" if in_row > 1 else "S"
    if there < 2:
        raise InputError(f"pe-to-pe to={to!r} needs two, and the machine has {there}; choose another topology")
    torch.distributed.init_process_group(backend="ahbm", buffer_kind=buffer_kind, n_slots=slots, slot_size=nbytes)
    own = DPPolicy(cube="row_wise" if to == "cube" else "replicate", pe="row_wise" if to == "pe" else "replicate",
                   num_cubes=2 if to == "cube" else 1, num_pes=2 if to == "pe" else 1)  # fmt: skip
    x = torch.draw((2, n), dtype, own, name="x")
    y = torch.zeros((2, n), dtype, own, name="y")
    torch.launch("pass_on", pass_on, x, y, n, messages, to, side, via, keep, dtype)
    if keep or via == "store":
        torch.expect(y, lambda: [[0] * n, x.initial()[0]])
