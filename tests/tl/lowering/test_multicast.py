"""Sends to several neighbours at once: each has the numbers, its own arrival and its own slots, recorded and live alike."""

from functools import partial

import numpy as np
import pytest

from kernbench.errors import DeadlockError, KernelError
from kernbench.program.ops import Op
from tests.tl.mesh import BASE, A, B, C, Mesh, both, line

CREDITS = {"flow_control": "credit"}
SIZES = [(1,), (33, 2048, 5), (2048,) * 7]  # more messages than slots


def sender(ways, sizes, *, tl):
    for number, elements in enumerate(sizes):
        tl.send(ways, tl.full(elements, number + 1))


def receiver(way, sizes, *, tl):
    for number, elements in enumerate(sizes):
        tl.store(BASE + 8192 * number, tl.recv(way, elements))


def cast(ways, sizes, **options):
    """B sends to A at W and to C at E, both in one send or to each alone."""
    kernels = {
        B: partial(sender, ways, sizes),
        A: partial(receiver, "E", sizes),
        C: partial(receiver, "W", sizes),
    }
    return both(
        {where: kernels[where] for where in kernels if where == B or _leads(ways, where)}, line(A, B, C), **options
    )


def _leads(ways, where):
    return {A: "W", C: "E"}[where] in ways


@pytest.mark.parametrize("overrides", [{}, CREDITS])
@pytest.mark.parametrize("sizes", SIZES)
def test_every_neighbour_has_the_numbers_and_modes_agree(sizes, overrides):
    runs = [cast(("W", "E"), sizes, overrides=overrides, mode=mode) for mode in ("hybrid", "flit")]
    assert runs[0].ends == runs[1].ends
    for where in (A, C):
        for number, elements in enumerate(sizes):
            found = runs[0].mesh.memory[where].read(BASE + 8192 * number, (elements,), "f16")
            assert (found == number + 1).all()


@pytest.mark.parametrize(("elements", "overrides"), [(1, {}), (100, {}), (2048, {}), (128, CREDITS)])
def test_a_message_comes_to_each_as_if_it_were_sent_there_alone(elements, overrides):
    """With credits it is so for a flit: behind it the slower of two copies holds up the other."""
    together = cast(("W", "E"), (elements,), overrides=overrides)
    alone = [cast((way,), (elements,), overrides=overrides).ends[1] for way in ("W", "E")]
    assert together.ends[1:] == alone


def test_two_sends_take_longer_than_one_to_both():
    def twice(*, tl):
        for way in ("W", "E"):
            tl.send(way, tl.zeros(2048))

    kernels = {A: partial(receiver, "E", (2048,)), C: partial(receiver, "W", (2048,))}
    apart = both({B: twice, **kernels}, line(A, B, C)).ends
    together = cast(("W", "E"), (2048,)).ends
    assert max(together) < max(apart)


def test_there_is_one_transfer_and_an_arrival_at_each():
    run = cast(["W", "E"], (2048, 2048))
    moves, arrivals, writes = (run.mesh.times(name) for name in ("multicast", "arrival", "slot_write"))
    assert (len(moves), len(arrivals), len(writes)) == (2, 4, 4)
    assert max(end for *_, end in arrivals) == moves[1][2]
    assert {start for _, start, _ in writes} == {end for *_, end in arrivals}
    assert (run.mesh.program.op[:, 0] == Op.PIPE).sum() == 0
    note = next(note for note in run.mesh.pes[B].thread.notes.values() if note.op == "multicast")
    assert note.directions == ("W", "E")
    assert [(one.queue, one.index) for one in note.deliveries] == [("sip0.cube0.pe1:W", 0), ("sip0.cube0.pe1:E", 0)]


def test_one_direction_in_a_list_is_a_send():
    assert cast(["W"], SIZES[1]).ends == cast("W", SIZES[1]).ends
    assert len(cast(["W"], (8,)).mesh.times("message")) == 1


def test_credits_of_all_neighbours_are_awaited():
    """C frees its only slot after 500 ns; A, which has room again, gets the second message no sooner."""

    def late(*, tl):
        tl.cycles(500)
        for _ in range(2):
            tl.recv("W", 8)

    def soon(*, tl):
        for _ in range(2):
            tl.recv("E", 8)

    run = both({B: partial(sender, ("W", "E"), (8, 8)), A: soon, C: late}, line(A, B, C, n_slots=1))
    first, second = (start for start, *_ in run.mesh.times("multicast"))
    assert first < 500_000_000 < second
    assert run.ends[1] > 500_000_000


def test_a_slot_that_one_neighbour_never_frees_is_a_deadlock_that_names_it():
    kernels = {
        B: partial(sender, ("W", "E"), (8, 8)),
        A: partial(receiver, "E", (8, 8)),
        C: partial(receiver, "W", (8,)),
    }
    with pytest.raises(DeadlockError) as caught:
        Mesh(line(A, B, C, n_slots=1), overrides=None).run({**kernels, C: lambda *, tl: tl.cycles(1)})
    said = str(caught.value)
    assert (
        "sip0.cube0.pe1.pe_cpu/k waits for slots that sip0.cube1.pe0 (its W) gives back to sip0.cube0.pe1 (its E) ≥ 1 (is 0)"
        in said
    )
    assert "multicasts" not in said


def test_multicasts_and_sends_of_one_queue_keep_their_order():
    def mixed(*, tl):
        for number in range(6):
            tl.send(("W", "E") if number % 2 else "E", tl.full(64, number + 1))

    kernels = {B: mixed, A: partial(receiver, "E", (64,) * 3), C: partial(receiver, "W", (64,) * 6)}
    run = both(kernels, line(A, B, C))
    for where, expected in ((A, [2, 4, 6]), (C, [1, 2, 3, 4, 5, 6])):
        found = [run.mesh.memory[where].read(BASE + 8192 * number, (1,), "f16")[0] for number in range(len(expected))]
        assert found == expected


def test_what_is_sent_is_what_was_there_then():
    def scribbler(*, tl):
        x = tl.load(BASE, 8)
        tl.send(("W", "E"), x)
        x.data[:] = 9

    mesh = Mesh(line(A, B, C), live=True)
    mesh.run({B: scribbler, A: partial(receiver, "E", (8,)), C: partial(receiver, "W", (8,))})
    assert (mesh.memory[C].read(BASE, (8,), "f16") == np.zeros(8)).all()


@pytest.mark.parametrize(
    ("ways", "elements", "problem", "remedy"),
    [
        ((), 8, "got no direction", "; give one or several of N, S, E, W, intra_N, "),
        (("E", "E"), 8, "got the direction 'E' twice", "; give each direction once"),
        (("E", "Q"), 8, "got the direction 'Q'", "; known: E, N, S, W"),
        (("E", "S"), 8, "got the direction 'S', where sip0.cube0.pe1 has no neighbour", "; it has one at W, E"),
        (("E", "W"), 4096, "got 8192 bytes for 'E', whose slots have 4096", "; send it in pieces"),
    ],
)
def test_what_is_refused(ways, elements, problem, remedy):
    with pytest.raises(KernelError) as caught:
        Mesh(line(A, B, C)).run({B: partial(sender, ways, (elements,))})
    assert f"tl.send {problem}, at " in str(caught.value)
    assert remedy in str(caught.value)


def test_two_directions_to_one_neighbour_are_refused():
    tables = line(A, B)
    tables[A]["intra_E"], tables[B]["intra_W"] = (
        ring.__class__(*end, back)
        for ring, end, back in ((tables[A]["E"], B, "intra_W"), (tables[B]["W"], A, "intra_E"))
    )
    with pytest.raises(KernelError) as caught:
        Mesh(tables).run({A: partial(sender, ("E", "intra_E"), (8,))})
    said = str(caught.value)
    assert "tl.send got 'E' and 'intra_E', which both lead to sip0.cube0.pe1, at " in said
    assert said.endswith("; give one of them")
