"""The projections of attention: Q, K and V of the same activations, with fewer heads for K and V than for Q.

The SIPs share the tokens, then the cubes of each, and the PEs of a cube the columns of each weight. A PE loads its
activations once; the three products then stream their weights through one pipeline, one after the other without a pause.
"""

from __future__ import annotations

from kernbench import DPPolicy, InputError, bench, part_of
from kernbench.dtypes import itemsize, widen

NAMES = ("q", "k", "v")


def project(x_ptr, wq_ptr, wk_ptr, wv_ptr, q_ptr, k_ptr, v_ptr, tokens, hidden, widths, dtype, tl):
    """This PE's block of each projection."""
    products = zip((wq_ptr, wk_ptr, wv_ptr), (q_ptr, k_ptr, v_ptr), widths, strict=True)
    token, token_end = part_of((0, tokens), tl.program_id(axis=1), tl.num_programs(axis=1))
    rows = token_end - token
    if not rows:
        return
    size = itemsize(dtype)
    x = tl.load(x_ptr + token * hidden * size, (rows, hidden), dtype)
    for weight_ptr, out_ptr, width in products:
        column, column_end = part_of((0, width), tl.program_id(axis=0), tl.num_programs(axis=0))
        if column < column_end:
            weight = tl.ref(weight_ptr + hidden * column * size, (hidden, column_end - column), dtype)
            tl.composite("gemm", x, weight, out_ptr=out_ptr + (token * width + rows * column) * size)
    tl.wait()


@bench("qkv-gemm", "The Q, K and V projections of attention on all PEs")
def run(torch, *, tokens=256, hidden=512, heads=8, kv_heads=2, head_dim=64, dtype="f16"):
    """Tokens over SIPs, then over cubes; columns over PEs.

    Parameters:
        tokens: tokens
        hidden: elements of an activation
        heads: heads of Q
        kv_heads: heads of K and of V
        head_dim: elements of a head
        dtype: type of elements, such as f16, bf16, f32 or f8e4m3
    """
    if min(tokens, hidden, heads, kv_heads, head_dim) < 1:
        raise InputError(
            f"qkv-gemm got tokens={tokens}, hidden={hidden}, heads={heads}, kv_heads={kv_heads}, head_dim={head_dim}; "
            "each must be 1 or more"
        )
    widths = (heads * head_dim, kv_heads * head_dim, kv_heads * head_dim)
    sips = min(torch.device_count, tokens)
    for sip in range(sips):
        first, end = part_of((0, tokens), sip, sips)
        if first < end:
            with torch.device(sip):
                project_tokens(torch, end - first, hidden, widths, dtype)


def project_tokens(torch, tokens, hidden, widths, dtype):
    """The tokens of one SIP. All SIPs have the same weights."""
    x = torch.draw((tokens, hidden), dtype, DPPolicy(cube="row_wise"), name="x")
    weights = [
        torch.draw((hidden, width), dtype, DPPolicy(pe="column_wise"), name=f"w{name}", seed=i)
        for i, (name, width) in enumerate(zip(NAMES, widths, strict=True))
    ]
    outs = [
        torch.empty((tokens, width), dtype, DPPolicy(cube="row_wise", pe="column_wise"), name=name)
        for name, width in zip(NAMES, widths, strict=True)
    ]
    torch.launch("project", project, x, *weights, *outs, tokens, hidden, widths, dtype)
    for weight, out in zip(weights, outs, strict=True):
        torch.expect(out, lambda w=weight: widen(x.initial()) @ widen(w.initial()))
