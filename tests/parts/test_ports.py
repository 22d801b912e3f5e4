"""Ports of drop-ins: every wrong value is reported with its line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

import pytest

from kernbench import library
from kernbench.errors import InputError
from kernbench.parts import ports
from kernbench.parts.compute import PeGemm
from kernbench.parts.fabric import Noc
from kernbench.parts.memory import Hbm
from kernbench.parts.part import Part
from kernbench.parts.processor import PeIpcq

HERE = library.show_path(__file__)
LINES = Path(__file__).read_text().splitlines()


def at(text):
    """`file:line` of the first line of this file that begins so."""
    return f"{HERE}:{next(i for i, line in enumerate(LINES, 1) if line.strip().startswith(text))}"


class Router(Part):
    kind: ClassVar[str] = "noc"
    ports: ClassVar[tuple[str, ...]] = Noc.ports
    attach_mm: float
    gbs: object = 256.0
    cost: object = 0

    @property
    def overhead_fs(self):
        if self.cost == "exit":
            raise SystemExit(3)
        return 1 / 0 if self.cost == "raise" else self.cost


class Engine(Part):
    kind: ClassVar[str] = "pe_gemm"
    ports: ClassVar[tuple[str, ...]] = PeGemm.ports
    answer: object = None
    cycle: float = 2.0
    lanes: object = 1

    def slots(self, way=""):
        return self.lanes

    def product(self, m, k, n, bits):
        if self.answer == "raise":
            return {}["no"]
        return self.answer


def test_a_part_as_it_should_be():
    ports.check(Router(attach_mm=0.5, cost=3), Noc)
    assert Router(attach_mm=0.5, cost=3).figures() == {
        "attach_mm": 0.5, "gbs": 256.0, "cost": 3, "overhead": 3, "byte": 3906.25
    }  # fmt: skip
    ports.check(Engine(), PeGemm)
    assert ports.find_cost(Engine(answer={"cycle": 3.5}), "product", (1, 2, 3, 16)) == {"cycle": 3.5}


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (
            Router(attach_mm=1, cost="raise"),
            at("return 1 / 0") + ": Router.overhead_fs raised ZeroDivisionError: division by zero",
        ),
        (
            Router(attach_mm=1, cost="exit"),
            at("raise SystemExit(3)") + ": Router.overhead_fs raised SystemExit: 3",
        ),
        (
            Router(attach_mm=1, cost=-1),
            at("@property") + ": Router.overhead_fs is -1; expected a number of at least 0 and at most 1e+18",
        ),
        (
            Router(attach_mm=1, cost=float("nan")),
            at("@property") + ": Router.overhead_fs is nan; expected a number of at least 0 and at most 1e+18",
        ),
        (
            Router(attach_mm=1, cost="3"),
            at("@property") + ": Router.overhead_fs is '3'; expected a number of at least 0 and at most 1e+18",
        ),
        (Router(attach_mm=1, gbs=0), at("class Router") + ": Router.gbs is 0; expected greater than or equal to 0.001"),
        (Router(attach_mm=-1), at("class Router") + ": Router.attach_mm is -1.0; expected greater than or equal to 0"),
    ],
)
def test_ports_that_are_wrong(part, said):
    with pytest.raises(InputError, match=f"^{re.escape(said)}$"):
        ports.check(part, Noc)


def test_slots_that_are_wrong():
    with pytest.raises(InputError, match=rf"^{at('def slots')}: Engine.slots answered 0, expected at least 1$"):
        ports.check(Engine(lanes=0), PeGemm)


def test_a_figure_that_is_wrong():
    with pytest.raises(InputError, match=r"Engine.figures gives 'cycle' as -2.0; expected a number of at least 0$"):
        ports.check(Engine(cycle=-2), PeGemm)


def test_figures_are_named():
    class Bare(Engine):
        def figures(self):
            return 3.0

    said = r":\d+: Bare.figures\(\) answered 3.0, expected numbers by name, such as {'cycle': 500000}$"
    with pytest.raises(InputError, match=said):
        ports.check(Bare(), PeGemm)


def test_a_port_that_must_be_a_method():
    class Flat(Part):
        kind: ClassVar[str] = "pe_gemm"
        product: int

    with pytest.raises(InputError, match=r"Flat.product is 3; it must be a method$"):
        ports.check(Flat(product=3), PeGemm)


LEAST = "an amount is a number of at least 0, and takes 1e+18 fs at most"


@pytest.mark.parametrize(
    ("answer", "line", "said"),
    [
        ("raise", "return {}", "raised KeyError: 'no'"),
        (None, "def product", "answered None, expected amounts of figures, such as {'cycle': 12}"),
        (
            {"cycles": 1},
            "def product",
            "answered the figure 'cycles', which it lacks; did you mean 'cycle'? Known: cycle, lanes",
        ),
        ({"cycle": -1}, "def product", f"answered -1 of 'cycle'; {LEAST}"),
        ({"cycle": float("inf")}, "def product", f"answered inf of 'cycle'; {LEAST}"),
    ],
)
def test_costs_that_are_wrong(answer, line, said):
    with pytest.raises(InputError, match=rf"^{re.escape(at(line))}: Engine.product\(1, 2, 3, 16\) {re.escape(said)}$"):
        ports.find_cost(Engine(answer=answer), "product", (1, 2, 3, 16))


def test_a_method_that_cannot_be_asked():
    class Short(Part):
        kind: ClassVar[str] = "pe_gemm"

        def product(self, m):
            return {}

    with pytest.raises(
        InputError, match=r":\d+: Short.product\(1, 2\) raised TypeError: .* takes 2 positional arguments but 3"
    ):
        ports.find_cost(Short(), "product", (1, 2))


def test_figures_that_programs_pay_by_are_there():
    class Queue(Part):
        kind: ClassVar[str] = "pe_ipcq"
        overhead_fs: ClassVar[int] = 0

        def figures(self):
            return {**super().figures(), **dict.fromkeys(PeIpcq.pays[1:], 1.0)}

    said = r":\d+: Queue.figures lacks sram_byte; derive the class from PeIpcq, or give them in fs$"
    with pytest.raises(InputError, match=said):
        ports.check(Queue(), PeIpcq)


def test_standard_parts_pass():
    hbm = Hbm(channel_gbs=1, channels=1, burst_bytes=1, slice_bytes=1, turn_ns=0.25, overhead_ns=0.5)
    ports.check(hbm, Hbm)
    assert (hbm.figures()["overhead"], hbm.figures()["turn"]) == (500_000, 250_000)
