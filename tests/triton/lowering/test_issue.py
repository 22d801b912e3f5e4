"""The order of rows: loads ahead by stages, waits at first use, room in scratch."""

import numpy as np
import pytest

from kernbench.errors import KernelError
from kernbench.machine import load_machine
from kernbench.program.ops import Op
from kernbench.program.program import Program
from kernbench.triton.lowering.descriptors import find_descriptors
from kernbench.triton.lowering.issue import Facts, Issuer
from kernbench.triton.lowering.script import Access, Script
from kernbench.triton.lowering.work import BlockWork, Works

WORK = BlockWork("add", 64, 16, 128, 128)


class Rig:
    """An issuer, and what it has written, in words."""

    def __init__(self, scratch="1 MiB"):
        self.program = Program(load_machine("tiny", {"pe.scratch_bytes": scratch}))
        self.line = self.program.source("kernel.py", 7)
        self.script = Script(1)
        self.issuer = Issuer(self.script, Facts(self.program, Works(self.program)), self.refuse)

    def refuse(self, line, sentence):
        file, number = self.program.sources[line]
        raise KernelError(f"{file}:{number}: {sentence}")

    def access(self, write=False):
        return Access(0, find_descriptors(np.arange(64) * 2, 2, 256, 2), np.zeros(1, np.int64), write)

    def load(self, nbytes=128, addresses=(), after_stores=False):
        return self.issuer.load(self.access(), addresses, nbytes, self.line, after_stores=after_stores)

    def compute(self, *reads, nbytes=128):
        return self.issuer.compute(WORK, reads, nbytes, self.line)

    def told(self):
        """load, store, work and wait, in the order of the rows, without the scheduler's."""
        rows = np.array(self.script.rows).reshape(-1, 9)
        names, after_schedule = [], False
        for tag, code in rows[:, :2].tolist():
            if after_schedule:
                after_schedule = False
            elif code == Op.EXEC:
                after_schedule = True  # its wait follows
            elif code == Op.MOVE:
                names.append("load" if self.program.tags[tag][0] == "dma_read" else "store")
            elif code == Op.PIPE:
                names.append("work")
            elif code == Op.WAIT:
                names.append("wait")
        return names


def loop(rig, stages, iterations):
    rig.issuer.enter_loop(stages)
    total = None
    for _ in range(iterations):
        block = rig.load()
        total = rig.compute(block) if total is None else rig.compute(block, total)
        rig.issuer.next_iteration()
        del block
    rig.issuer.leave_loop()


def test_a_command_is_waited_for_at_its_first_use():
    rig = Rig()
    first, second = rig.load(), rig.load()
    rig.compute(first)
    rig.compute(second)
    assert rig.told() == ["load", "load", "wait", "work", "wait", "work"]


def test_a_loop_of_one_stage_loads_when_the_work_before_has_ended():
    rig = Rig()
    loop(rig, 1, 3)
    assert rig.told() == ["load", "wait", "work", "wait", "load", "wait", "work", "wait", "load", "wait", "work"]


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_the_loads_of_a_loop_are_ahead_by_its_stages(stages):
    rig = Rig()
    loop(rig, stages, 6)
    told = rig.told()
    assert told[:stages] == ["load"] * stages
    assert told.count("load") == told.count("work") == 6
    ahead = [told[:at].count("load") - told[:at].count("work") for at in range(len(told) + 1)]
    assert max(ahead) == stages


def test_a_load_whose_address_was_loaded_waits_for_it():
    rig = Rig()
    rig.issuer.enter_loop(3)
    for _ in range(2):
        place = rig.load()
        rig.compute(rig.load(addresses=(place,)))
        rig.issuer.next_iteration()
    rig.issuer.leave_loop()
    assert rig.told()[:4] == ["load", "wait", "load", "load"]


def test_a_load_follows_the_stores_of_its_loop_to_the_same_tensor():
    rig = Rig()
    rig.issuer.enter_loop(3)
    for turn in range(2):
        block = rig.load(after_stores=turn > 0)
        rig.issuer.store(rig.access(write=True), (block,), rig.line)
        rig.issuer.next_iteration()
    rig.issuer.leave_loop()
    assert rig.told() == ["load", "wait", "store", "load", "wait", "store"]


def test_room_is_free_when_nobody_holds_a_block():
    rig = Rig(scratch="1 KiB")
    for _ in range(20):
        block = rig.load(512)
        rig.compute(block, nbytes=512)
        del block
    assert rig.issuer.peak_bytes == 1024


def test_the_cpu_waits_for_room():
    rig = Rig(scratch="1 KiB")
    for _ in range(3):
        rig.load(512)  # dropped at once, but under way
    assert rig.told() == ["load", "load", "wait", "load"]


def test_blocks_that_do_not_fit_are_told_by_their_lines():
    rig = Rig(scratch="1 KiB")
    held = rig.load(512)
    with pytest.raises(KernelError) as raised:
        rig.compute(held, nbytes=768)
    assert str(raised.value) == (
        "kernel.py:7: scratch memory is full: a block of 768 bytes does not fit beside 512 of 1,024 (512 of line 7); make "
        "blocks smaller, num_stages less, or raise pe.scratch_bytes"
    )


def test_an_atomic_with_an_order_waits_for_stores_before_it_and_is_waited_for():
    rig = Rig()
    block = rig.load()
    rig.issuer.store(rig.access(write=True), (block,), rig.line)
    rig.issuer.atomic(rig.access(write=True), (block,), 128, rig.line, orders=True)
    assert rig.told() == ["load", "wait", "store", "wait", "store", "wait"]


def test_the_end_of_a_program_waits_for_all():
    rig = Rig()
    kept = [rig.load(), rig.load()]
    rig.issuer.finish()
    assert rig.told() == ["load", "load", "wait", "wait"]
    del kept
