"""What flits wait for in networks with credits: each cause alone, and all of them against the interpreter."""

from __future__ import annotations

import pytest

from kernbench.engine import Session
from kernbench.engine.network_waits import CAUSES
from kernbench.machine import load_machine
from kernbench.program.program import Program
from kernbench.traffic.flows import parse_flows
from kernbench.traffic.run import run_flows
from tests.engine.difference import describe_difference
from tests.engine.fresh import draw_seeds
from tests.engine.random_programs import draw_program
from tests.naive.engine import NaiveEngine

FLIT = 256
ROW = {"w": 5, "h": 1}
ONWARD = "node[0][1].router -> node[0][2].router"  # of a row, where what comes from nodes 0 and 1 meets


def waits_of(*texts: str, name: str = "mesh_8x8_credit", **fields) -> dict[str, dict[str, float]]:
    """What waited, by link and cause in ns, without what is 0."""
    found = run_flows(load_machine(name, fields), parse_flows(texts), "flit", count_waits=True).network
    assert found is not None
    return {
        link["link"]: {cause: link[f"{cause}_ns"] for cause in CAUSES if link[f"{cause}_ns"]}
        for link in found.list_links()
    }


def find_difference(program: Program, mode: str) -> str | None:
    """What differs between the counts, and all else, of the loop and of the interpreter."""
    program.flush()
    naive = NaiveEngine(program).run()
    session = Session(program, mode, count_waits=True)
    session.run()
    if found := describe_difference(session, naive):
        return found
    assert naive.credits is not None
    waits, theirs = session.network_waits, naive.credits.waits
    assert waits is not None
    for cause in CAUSES:
        for link, fs in enumerate(waits.fs[cause].tolist()):
            if fs != theirs.fs[link, cause]:
                return f"{cause} of link {link} is {fs} in the loop and {theirs.fs[link, cause]} in the interpreter"
    in_routers = sum(int(waits.fs[cause].sum()) for cause in CAUSES if cause not in ("memory", "source"))
    if in_routers != theirs.stayed_fs:
        return f"the causes sum to {in_routers} and flits stayed {theirs.stayed_fs}"
    return None


@pytest.mark.parametrize("kind", ["credit", "credit_sip"])
def test_counts_are_those_of_the_interpreter_and_sum_to_the_time_in_buffers(kind):
    for seed in (*range(12), *draw_seeds(0.02)):
        difference = find_difference(draw_program(kind, seed), ("flit", "hybrid")[seed % 2])
        assert difference is None, f"{kind} {seed}: {difference}"
