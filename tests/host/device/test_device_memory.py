"""What the memories of a machine hold after a run."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench import DPPolicy, InputError, bench, run

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
