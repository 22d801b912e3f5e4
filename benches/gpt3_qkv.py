"""The Q, K and V projections of one layer of GPT-3 175B: x @ [Wq | Wk | Wv] + bias.

Sizes are those of T. Brown et al., "Language Models are Few-Shot Learners", 2020, table 2.1: 12,288 wide, 96 heads of 128. A
model of that size is served tensor-parallel: `share` machines have the heads of each layer between them, and this is one of
them. Its SIPs, their cubes and the PEs of those share the columns, so each weight is read once, by the PE that has it; the
activations are everywhere. With `stream` their tiles come from memory for each tile of weights, else they are loaded first.
"""

from __future__ import annotations

from kernbench import DPPolicy, InputError, bench, part_of
from kernbench.dtypes import itemsize, widen


def project(x_ptr, w_ptr, bias_ptr, out_ptr, tokens, hidden, columns, dtype, stream, tl):
    """This PE's columns of the product, of all tokens."""
    cube = part_of((0, columns), tl.program_id(axis=1), tl.num_programs(axis=1))
    first, end = part_of(cube, tl.program_id(axis=0), tl.num_programs(axis=0))
    width = end - first
    if not width:
        return
    size = itemsize(dtype)
    x = (tl.ref if stream else tl.load)(x_ptr, (tokens, hidden), dtype)
    weight = tl.ref(w_ptr + hidden * first * size, (hidden, width), dtype)
    bias = tl.load(bias_ptr + first * size, (1, width), dtype)
    epilogue = [{"op": "bias", "bias": bias}]
    tl.wait(tl.composite("gemm", x, weight, out_ptr + tokens * first * size, epilogue=epilogue))


@bench("gpt3-qkv", "Q, K and V of a layer of GPT-3 175B, a tensor-parallel share of its heads")
def run(torch, *, tokens=32, share=8, hidden=12288, heads=96, head_dim=128, stream=False, dtype="f16"):
    """`share`: among how many machines the heads are shared; this one has heads / share of them.

    Parameters:
        tokens: tokens
        share: machines that share the heads; this one has heads / share of them
        hidden: elements of an activation
        heads: heads of the model
        head_dim: elements of a head
        stream: activations come from memory for each tile of weights; else they are loaded first
        dtype: type of elements, such as f16, bf16, f32 or f8e4m3
    """
    sizes = {"tokens": tokens, "share": share, "hidden": hidden, "heads": heads, "head_dim": head_dim}
    if min(sizes.values()) < 1:
        given = ", ".join(f"{name}={value}" for name, value in sizes.items())
        raise InputError(f"gpt3-qkv got {given}; each must be 1 or more")
    sips = share * torch.device_count
    if heads % sips:
        raise InputError(
            f"gpt3-qkv got heads={heads} for {share} machines of {torch.device_count} SIPs; "
            f"heads must be a multiple of {sips}"
        )
    for sip in range(torch.device_count):
        with torch.device(sip):
            project_heads(torch, sip, tokens, hidden, 3 * heads // sips * head_dim, dtype, stream)


def project_heads(torch, sip, tokens, hidden, columns, dtype, stream):
    """The heads of one SIP: their columns of Q, then of K, then of V."""
    split = DPPolicy(cube="column_wise", pe="column_wise")
    x = torch.draw((tokens, hidden), dtype, DPPolicy(), name=f"x{sip}", seed=0)
    weight = torch.draw((hidden, columns), dtype, split, name=f"w{sip}")
    bias = torch.draw((1, columns), dtype, split, name=f"bias{sip}")
    out = torch.empty((tokens, columns), dtype, split, name=f"qkv{sip}")
    torch.launch("project", project, x, weight, bias, out, tokens, hidden, columns, dtype, stream)
    torch.expect(
        out,
        lambda: widen(x.initial()) @ widen(weight.initial()) + widen(bias.initial()),
    )
