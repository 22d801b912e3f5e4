from kernbench.engine import Session
from kernbench.machine import load_machine
from kernbench.machine.intents import Intent, RouteKind
from tests.engine.random_programs import draw_program
from tests.engine.work import MOST_HOPS_WITH_CREDITS, Work


def test_sizes_are_cut_to_what_is_left_and_keep_their_last_flit():
    machine = load_machine("mesh_8x8", {"k": 3})
    places = machine.places
    route = machine.routing.route(places.endpoint(0, 0), places.endpoint(2, 2), Intent.ALL, RouteKind.MESSAGE)
    hops, flit = len(machine.routing.edges(route)), machine.flit_bytes
    work = Work(machine)
    work.left = 10 * hops
    assert work.cut(route, 30 * flit + 7, times=5) == 2 * flit + 7
    assert work.draw(route, 7 * flit) == 7 * flit
    assert work.draw(route, 7 * flit + 3) == 3 * flit + 3
    assert work.draw(route, 7 * flit + 3) == 3
    assert work.draw(route, 7 * flit) == flit
    assert work.draw(route, 0) == 0


def test_programs_with_credits_are_bounded():
    """Programs that are cut, since they would be more work; what is cut to a flit comes on top."""
    for kind, seed in (("credit_sip_multicasts", 11), ("credit_sip", 31)):
        session = Session(draw_program(kind, seed), "hybrid")
        session.run()
        assert MOST_HOPS_WITH_CREDITS < session.flit_hops < 2 * MOST_HOPS_WITH_CREDITS
