"""Parts, pieces and shares."""

from __future__ import annotations

from types import SimpleNamespace

from kernbench.ccl.plan import Part, Plan


def at(cube: int, pe: int) -> SimpleNamespace:
    return SimpleNamespace(program_id=lambda axis: (pe, cube)[axis])


def test_the_contract_lays_n_elem_in_the_first_pe_of_each_cube() -> None:
    assert Plan().part(at(3, 0), 100) == Part(600, 100)
    assert Plan().part(at(3, 1), 100) == Part(0, 0)


def test_spans_say_more() -> None:
    plan = Plan(dtype="f32", spans=(((0, 5), (5, 3)), ((8, 2), (0, 0))))
    assert [plan.part(at(cube, pe), 99) for cube in range(2) for pe in range(2)] == [
        Part(0, 5),
        Part(20, 3),
        Part(32, 2),
        Part(0, 0),
    ]


def test_pieces_fit_a_slot() -> None:
    assert Plan(chunk=4).cut(Part(10, 9)) == [Part(10, 4), Part(18, 4), Part(26, 1)]
    assert Plan(chunk=4).cut(Part(10, 0)) == []


def test_batches_are_whole_pieces() -> None:
    plan = Plan(chunk=2048)
    assert plan.batches(Part(0, 64 * 2048)) == [Part(0, 64 * 2048)]
    assert plan.batches(Part(8, 130 * 2048 + 5)) == [
        Part(8, 64 * 2048),
        Part(8 + 64 * 4096, 64 * 2048),
        Part(8 + 128 * 4096, 2 * 2048 + 5),
    ]
    assert [batch.elements for batch in Plan(chunk=1 << 20).batches(Part(0, 3 << 20))] == [1 << 20] * 3
    assert plan.batches(Part(0, 0)) == []


def test_shares_differ_by_one_at_most() -> None:
    assert Plan().share(Part(0, 7), 3) == [Part(0, 3), Part(6, 2), Part(10, 2)]
    assert [share.elements for share in Plan().share(Part(0, 2), 4)] == [1, 1, 0, 0]
