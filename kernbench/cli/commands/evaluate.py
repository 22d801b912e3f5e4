"""`kernbench evaluate`: a fixed set of runs, its table and its plots.

Data and plots are two steps with files between them: `--data-only` leaves the plots out, `--figures-only` draws them again
from the table without running anything.
"""

from __future__ import annotations

from typing import Any

import click

from kernbench.cli.commands import options
from kernbench.cli.names import completion
from kernbench.frontends.benches import FRONT_END


@click.command("evaluate")
@click.argument("name", shell_complete=completion.evaluations)
@click.option(
    "--topology",
    "-t",
    help=f"The machine: a name or a YAML file.  [default: {FRONT_END.machine}, or the measured machines]",
    shell_complete=completion.topologies,
)
@options.mode()
@click.option("--verify-data", is_flag=True, help="Compute the numbers of every run too and check them.")
@options.assignments("A setting of the evaluation, or a topology field (topology.hbm.channel_gbs=64)")
@click.option("--data-only", is_flag=True, help="Run and keep the table; draw nothing.")
@click.option("--figures-only", is_flag=True, help="Draw the figures of the table that is there; run nothing.")
@options.AS_JSON
@options.out("Where table and figures are.  [default: results/NAME]")
@options.FORMS
def command(**given: Any) -> None:
    """Run the evaluation NAME on a machine; keep its table as parquet and JSON, and draw its figures.

    gemm: eight shapes of matrix products, their operands staged in three ways, on one PE unless --set asks for others
    (shapes=64x128x64,512x512x512; variants; sips, cubes, pes: how many take part, 0 for all; dtype).

    attention: prefill and decode for one user and more, at two lengths, with grouped queries and without (phases, users,
    tokens, context, heads, kv_heads, head_dim, dtype).

    allreduce: latency against bytes by the memory of slots, SIP topology, root and algorithm, on six SIPs unless --set says
    otherwise (bytes_per_pe=1KiB,1MiB; n_sips, sips_w, sips_h, cubes, n_slots, slot_size, dtype). What must hold of it is
    checked.

    chip-gemm: simulated matrix products against published ones of two chips (largest=2048: the largest side;
    dtypes=bfloat16,bfloat8_b,bfloat4_b; chip=n150: the one with which another topology is compared).

    chip-networks: steps of whole networks on two chips against measured times (networks=llama-3.1-8b; phases=decode).

    chips: operations of measured networks, and these products, against the times of their kernels (operations=matmul,unary;
    longest_ns=100us: leave out what took longer; file=mine.csv: another table of operations).

    noc: latencies and rates of the two networks of chips against published measurements (patterns=read same axis,multicast;
    most_cores=25; chip=wormhole_n150: the one with which another topology is compared).

    tpu: layers of Llama-3.1-8B on a systolic machine against times measured on a TPU v6e (layers=mlp,lm_head; tokens=16,2048).
    """
    from kernbench.cli.actions.evaluate import run_evaluation

    run_evaluation(**given)
