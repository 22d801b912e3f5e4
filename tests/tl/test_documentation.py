"""The examples of docs/kernel-language.md do what it shows."""

import re
from pathlib import Path

from kernbench.tl.lowering.ipcq import DIRECTIONS, N_SLOTS, SLOT_BYTES
from tests.tl.lowering.test_exchange import deadlock, recv, send
from tests.tl.mesh import A, B, Mesh, line

PAGE = (Path(__file__).parents[2] / "docs" / "kernel-language.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def block(start):
    (found,) = [block for block in BLOCKS if start in block]
    return found


def test_commands_without_a_machine(capsys):
    shown = block("run_kernel(")
    exec(block("def scale_rows") + shown, {})
    assert capsys.readouterr().out.strip() == shown.rpartition("# ")[2].strip()


def test_a_message_is_passed_east():
    kernel = {}
    exec(block("def pass_east"), kernel)

    def there(*, tl):
        kernel["pass_east"](1 << 32, 8, tl=tl)

    mesh = Mesh(line((0, 0, 0), (0, 1, 0)))
    mesh.run({(0, 0, 0): there, (0, 1, 0): there})
    assert [note.op for pe in mesh.pes.values() for note in pe.thread.notes.values()] == ["load", "send", "recv"]


def test_the_deadlock_is_worded_so():
    shown = re.search(r"(deadlock at .*?)\n```", PAGE, re.DOTALL)
    assert shown is not None
    assert shown[1].replace("\n", " ") == deadlock({A: send(8, 8), B: recv(8, 8, 8)}, line(A, B))


def test_directions_and_slots_are_those():
    assert ("N", "S", "E", "W", *[level + side for level in ("intra_", "global_") for side in "NSEW"]) == DIRECTIONS
    assert f"({N_SLOTS} of {SLOT_BYTES} B" in PAGE
