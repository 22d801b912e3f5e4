"""What the memories of a machine hold after a run."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
import pytest

from kernbench import DPPolicy, InputError, bench, run
from kernbench.machine.address import MemorySpace
from kernbench.tl.ipcq import Ring

SPREAD = DPPolicy(cube="replicate", pe="row_wise")


def add_one(x, rows, tl) -> None:
    mine = x + 2 * 8 * rows * tl.program_id()
    tl.store(mine, tl.load(mine, (rows, 8)) + 1 + tl.program_id(1))


@bench("adding", "One more, and one more still in the second cube")
def adding(torch):
    x = torch.full((4, 8), 5, dp=SPREAD, name="x")
    torch.launch("add_one", add_one, x, 2)
    global shards
    shards = x.layout.shards
    torch.expect(x, np.full((4, 8), 6))


@pytest.mark.parametrize("live", [False, True], ids=["recorded", "live"])
def test_every_shard_is_where_its_address_says(live: bool) -> None:
    result = run(adding, "tiny", live=live)
    found = {
        (shard.cube, shard.pe): set(result.read_memory(shard.pa, shard.nbytes).view(np.float16).tolist())
        for shard in shards
    }
    assert found == {(0, 0): {6}, (0, 1): {6}, (1, 0): {7}, (1, 1): {7}}


def test_what_is_read_is_the_store_itself_and_the_rest_is_zeros() -> None:
    result = run(adding, "tiny")
    first = result.read_memory(shards[0].pa, 4)
    assert np.shares_memory(first, result.read_memory(shards[0].pa, 4))
    assert result.read_memory(shards[0].pa + (1 << 20), 3).tolist() == [0, 0, 0]
    assert result.read_memory(shards[0].pa, 0).tolist() == []


def test_what_lies_in_no_memory() -> None:
    result = run(adding, "tiny")
    with pytest.raises(InputError) as error:
        result.read_memory(0, 1 << 40)
    assert str(error.value) == (
        f"{1 << 40} bytes at 0x0 do not lie in one memory, which ends {6 << 30} bytes from there"
    )
    with pytest.raises(InputError):
        result.read_memory(1 << 60, 1)
    with pytest.raises(InputError, match=r"^analytic mode computes no numbers; use mode hybrid$"):
        run(adding, "tiny", mode="analytic").read_memory(0, 1)


def add_and_pass(seen, x, tl) -> None:
    if tl.program_id() == 0:
        total = tl.load(x, 8) + 1
        seen.append(total.addr)
        tl.send("intra_E", total)
    else:
        seen.append(tl.recv("intra_W", 8).addr)


@pytest.mark.parametrize("tier", ["tcm", "sram", "hbm"])
@pytest.mark.parametrize("live", [False, True], ids=["recorded", "live"])
def test_scratch_and_slots_are_in_memory(live: bool, tier: Literal["tcm", "sram", "hbm"]) -> None:
    seen: list[int] = []

    @bench("passing", "One PE sends a sum to the next")
    def passing(torch):
        x = torch.full((2, 8), 5, dp=DPPolicy(pe="row_wise", num_cubes=1), name="x")
        west, east = Ring(0, 0, 0, "intra_E", tier=tier), Ring(0, 0, 1, "intra_W", tier=tier)
        torch.driven.ipcq = torch.driven.install_neighbours(
            {(0, 0, 0): {"intra_E": east}, (0, 0, 1): {"intra_W": west}}
        )
        torch.launch("add_and_pass", partial(add_and_pass, seen), x)

    result = run(passing, "tiny", live=live)
    places = result.device.machine.places
    slot = places.address_of(0, 0, MemorySpace.PE, 1, seen[1]) if tier == "tcm" else seen[1]
    for address in (places.address_of(0, 0, MemorySpace.PE, 0, seen[0]), slot):
        assert result.read_memory(address, 16).view(np.float16).tolist() == [6] * 8
