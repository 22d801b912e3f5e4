"""Algorithm modules: how they are found, and their contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.ccl.module import load_algorithm
from kernbench.ccl.plan import Plan
from kernbench.errors import InputError

MINIMAL = """
SIP_TOPO_RING, SIP_TOPO_TORUS, SIP_TOPO_MESH = 0, 1, 2
TOPO_NAME_TO_KIND = {"ring_1d": SIP_TOPO_RING}


def kernel_args(world_size, n_elem, *, cube_w=4, cube_h=4):
    return n_elem, cube_w, cube_h, world_size


def kernel(t_ptr, n_elem, cube_w, cube_h, world_size, rank, kind, sip_w, sip_h, *, tl):
    pass
"""


@pytest.fixture
def drop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "benches" / "ccl"
    folder.mkdir(parents=True)

    def write(text: str, name: str = "mine") -> None:
        (folder / f"{name}.py").write_text(text, encoding="utf-8")

    return write


def test_the_contract_alone_will_do(drop) -> None:
    drop(MINIMAL)
    found = load_algorithm("mine")
    assert (found.name, found.collective, found.takes_plan, found.own_wiring) == ("mine", "all_reduce", False, False)
    assert found.arguments(6, 100, 4, 2, Plan()) == (100, 4, 2, 6)
    assert found.bound is None


def test_ones_own_hides_a_shipped_one(drop) -> None:
    drop(MINIMAL, "ring_allreduce")
    assert not load_algorithm("ring_allreduce").takes_plan


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            MINIMAL.replace("def kernel(", "def kernels("),
            "benches/ccl/mine.py is no algorithm module: it lacks kernel; see docs/collectives.md for the contract",
        ),
        (MINIMAL + "\nkernel = 3\n", "benches/ccl/mine.py: kernel is 3; make it a function"),
        (
            MINIMAL + "\nCOLLECTIVE = 'allreduce'\n",
            "benches/ccl/mine.py: COLLECTIVE is 'allreduce'; did you mean 'all_reduce'? Known: all_gather, all_reduce, "
            "all_to_all, barrier, broadcast, reduce, reduce_scatter",
        ),
        (
            MINIMAL.replace('{"ring_1d": SIP_TOPO_RING}', "3"),
            "benches/ccl/mine.py: TOPO_NAME_TO_KIND is 3; make it a dict of names to kinds",
        ),
        ("1 / 0\n", "benches/ccl/mine.py:1: ZeroDivisionError: division by zero; the algorithm module does not load"),
    ],
)
def test_modules_that_break_it(text: str, sentence: str, drop) -> None:
    drop(text)
    with pytest.raises(InputError) as error:
        load_algorithm("mine")
    assert str(error.value) == sentence


@pytest.mark.parametrize("raised", ["ValueError", "SystemExit"])
def test_arguments_that_cannot_be_built(raised: str, drop) -> None:
    drop(MINIMAL.replace("    return n_elem", f"    raise {raised}('too few')\n    return n_elem"))
    with pytest.raises(InputError) as error:
        load_algorithm("mine").arguments(2, 3, 4, 4, Plan())
    assert str(error.value) == f"benches/ccl/mine.py:7: kernel_args raised {raised}: too few"


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (
            "def bound(cost, world, nbytes, plan):\n    return nothing",
            "14: bound raised NameError: name 'nothing' is not defined",
        ),
        (
            "def bound(cost, world, nbytes, plan):\n    return 'x'",
            " bound raised TypeError: must be real number, not str",
        ),
        (
            "def bound(cost, world, nbytes, plan):\n    return float('nan')",
            " bound raised ValueError: nan is no time in ns",
        ),
        ("def neighbours(rank, cube, world):\n    return {'N': 3}", " neighbours raised TypeError: "),
        ("def neighbours(rank, cube, world):\n    return {'N': (0, 0)}", " neighbours raised TypeError: "),
    ],
)
def test_a_function_of_a_module_that_raises_is_named_with_its_line(drop, function: str, said: str) -> None:
    drop(MINIMAL + "\n" + function)
    found = getattr(load_algorithm("mine"), function.split("(")[0].removeprefix("def "))
    with pytest.raises(InputError) as caught:
        found(*[None] * (3 if "neighbours" in function else 4))
    assert str(caught.value).startswith("benches/ccl/mine.py:")
    assert said in str(caught.value)
