"""What the memories of a machine hold after a run."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
import pytest

from kernbench import DPPolicy, InputError, KernelError, LimitError, bench, run
from kernbench.host.memory.initial_values import Random
from kernbench.limits import memory_budget
from kernbench.machine.address import MemorySpace
from kernbench.tl.lowering.ipcq import Ring

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


def drawn_names(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of tensors in the order in which their numbers are drawn."""
    drawn: list[tuple[int, ...]] = []
    make = Random.make
    monkeypatch.setattr(Random, "make", lambda contents: drawn.append(contents.shape) or make(contents))
    return drawn


def take_second_first(seen, x, y, tl) -> None:
    first = tl.load(x, (4, 8))
    seen[tl.program_id()] = tl.load(y, (2, 8)).data.tolist(), first.data.T.tolist()


def too_much(x, tl) -> None:
    tl.store(x, tl.load(x, 1 << 21) + 1)


def test_numbers_are_drawn_when_a_kernel_uses_them_and_are_those_of_their_tensor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn, seen, initial = drawn_names(monkeypatch), {}, []

    @bench("drawing", "Three tensors, the first of which is read by nobody")
    def drawing(torch):
        dp = DPPolicy(num_cubes=1, num_pes=1)
        nobodys, x, y = (torch.draw((rows, 8), dp=dp) for rows in (1, 4, 2))
        torch.launch("take_second_first", partial(take_second_first, seen), x, y)
        torch.synchronize()
        assert drawn == [(2, 8), (4, 8)]
        initial.extend(tensor.initial() for tensor in (x, y))
        assert (nobodys.numpy() == nobodys.initial()).all()

    run(drawing, "tiny", live=True)
    assert seen == {0: (initial[1].tolist(), initial[0].T.tolist())}


def test_a_kernel_that_fails_before_it_computes_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = drawn_names(monkeypatch)

    @bench("full", "A sum that does not fit scratch memory")
    def full(torch):
        torch.launch("too_much", too_much, torch.draw(1 << 21, dp=DPPolicy(num_cubes=1, num_pes=1)))

    with pytest.raises(KernelError, match=r"scratch memory is full: 4194304 bytes were asked for"):
        run(full, "tiny", live=True)
    assert drawn == []


def keep_and_write(x, tl) -> None:
    before = tl.load(x, 8, "i32")
    tl.store(x, tl.full(8, 5, "i32"))
    tl.store(x + 32, before)


def test_a_load_holds_what_was_there_though_it_is_used_after_a_store() -> None:
    @bench("overwriting", "A load, a store to the same place, and the use of the load")
    def overwriting(torch):
        x = torch.draw(16, "i32", DPPolicy(num_cubes=1, num_pes=1))
        torch.launch("keep_and_write", keep_and_write, x)
        torch.expect(x, lambda: np.concatenate([np.full(8, 5), x.initial()[:8]]))

    for live in (False, True):
        assert run(overwriting, "tiny", live=live, verify=True).verified


def use(x, tl) -> None:
    assert tl.load(x, 8).data is not None


def test_numbers_that_do_not_fit_this_computer_when_they_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    @bench("growing", "Memory fills after the tensor was made")
    def growing(torch):
        x = torch.draw((1 << 12, 1 << 12), dp=DPPolicy(num_cubes=1, num_pes=1), name="x")
        monkeypatch.setattr(memory_budget, "find_free_bytes", lambda: 1 << 26)
        torch.launch("use", use, x)

    with pytest.raises(LimitError) as error:
        run(growing, "tiny", live=True)
    assert (
        "the numbers of a tensor of shape (4096, 4096) would take 128 MiB of this computer's memory, of which 64 MiB are free; "
        "make the tensors smaller, or run for the times alone, without --verify-data and --live"
    ) in str(error.value)
