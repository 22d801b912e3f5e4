"""The evaluation of whole networks on chips: steps of decode and prefill against those that the chips' maker measured.

`chip_networks.csv` has rows of two tables of tenstorrent/tt-metal (Apache-2.0): of decode tokens a second of a user, of prefill
the time to the first token of one user. `perf` is `models/tt_transformers/PERF.md`: one user with a prompt of 512 and 200
tokens after it, so the context of decode is 612 in the middle, or with a context of 65,536. `readme` is `models/README.md` of
October 2025 as tenstorrent/polaris copies it (`data/metal/inf/15oct25`): 32 users with a prompt of 128. Modes are those of the
first table: `accuracy` has all weights in bfp8 at HiFi2, `performance` those of gate and up in bfp4 at LoFi. The second table
does not say its mode; `performance` is the default of its models, but Falcon's, an older one, have one type of weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError, suggest
from kernbench.evaluation.measure import OnRow, measure
from kernbench.evaluation.measured import find_errors

if TYPE_CHECKING:
    import polars

FILE = Path(__file__).with_suffix(".csv")
LENGTHS = {"decode": "context", "prefill": "prompt"}  # the parameter of the tokens of each phase
MODES: dict[str, dict[str, str]] = {
    "accuracy": {},
    "performance": {"mlp_weights": "bfp4", "mlp_math_fidelity": "lofi"},
}

# The columns of the table, with their types.
COLUMNS: dict[str, type] = {
    "topology": str,
    "network": str,
    "phase": str,
    "mode": str,
    "batch": int,
    "tokens": int,  # the context of decode, the prompt of prefill
    "simulated_ns": float,  # of a step
    "measured_ns": float,
    "error": float,  # of the simulated time, over the measured one
    "simulated_tokens_s": float,  # of a user, in decode
    "measured_tokens_s": float,
    "least_ns": float,
    "source": str,
}

POINT = ("topology", "network", "phase", "mode", "batch", "tokens")  # which run a row is of


def read_measured() -> list[dict[str, Any]]:
    """The measured rows, in the order of the file."""
    import polars

    return polars.read_csv(FILE).to_dicts()


def evaluate_chip_networks(
    topology: str | Path,
    *,
    networks: Sequence[str] = (),
    phases: Sequence[str] = tuple(LENGTHS),
    overrides: Mapping[str, object] | None = None,
    mode: str = "hybrid",
    verify: bool = False,
    on_row: OnRow = lambda _row: None,
) -> polars.DataFrame:
    """Run a step of the measured networks; a row each, with the columns of `COLUMNS`.

    `topology` may be several, with commas; `networks` and `phases` are some that were measured (no networks: all). `overrides`
    are fields of the topology. `on_row` is called with each row.
    Errors: InputError for a network, phase or topology that nobody measured, and for `verify`, since networks have no weights.
    """
    import polars

    measured = read_measured()
    chips = [part.strip() for part in str(topology).split(",")]
    for what, given, known in (
        ("network", networks, [row["network"] for row in measured]),
        ("topology", chips, [row["topology"] for row in measured]),
        ("phase", phases, list(LENGTHS)),
    ):
        if unknown := [one for one in given if one not in known]:
            raise InputError(f"there is no measured {what} {unknown[0]!r}{suggest(unknown[0], known)}")
    asked = [row for row in measured if row["topology"] in chips and row["phase"] in phases]
    chosen = [row for row in asked if not networks or row["network"] in networks]
    if not chosen:
        raise InputError("none of these networks was measured on these chips; leave networks out")
    rows = list[dict[str, Any]]()
    for one in chosen:
        rows.append(_run(one, overrides, mode, verify))
        on_row(rows[-1])
    return polars.DataFrame(rows, schema=COLUMNS)


def _run(one: Mapping[str, Any], overrides: Mapping[str, object] | None, mode: str, verify: bool) -> dict[str, Any]:
    phase = one["phase"]
    given = {"phase": phase, "batch": one["batch"], LENGTHS[phase]: one["tokens"], **MODES[one["mode"]]}
    told = measure(one["network"], one["topology"], given, overrides, mode, verify).network
    assert told is not None
    measured_ns = 1e6 * one["ms"] if one["tokens_s"] is None else 1e9 / one["tokens_s"]
    return {
        **{name: one[name] for name in (*POINT, "source")},
        "simulated_ns": told["step_ns"],
        "measured_ns": measured_ns,
        "error": told["step_ns"] / measured_ns - 1,
        "simulated_tokens_s": told["user_tokens_s"] if phase == "decode" else None,
        "measured_tokens_s": one["tokens_s"],
        "least_ns": told["least_ns"],
    }


def summarise(table: polars.DataFrame) -> str:
    """The errors of a table, a line for each chip and phase."""
    lines = [
        f"{chip}, {phase}, {find_errors(own['simulated_ns'].to_list(), own['measured_ns'].to_list())}"
        for (chip, phase), own in table.group_by("topology", "phase", maintain_order=True)
    ]
    return "\n".join(lines)
