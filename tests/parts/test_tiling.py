"""Orders of tiles: their properties, and the error sentences of orders without them."""

from __future__ import annotations

import re
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernbench import library
from kernbench.errors import InputError
from kernbench.machine.costs import Costs
from kernbench.parts import dropin, ports
from kernbench.parts.part import Part
from kernbench.parts.tiling import Tiling

TILES = st.tuples(*[st.integers(1, 5)] * 3)
STATIONARY = dropin.load_class(library.find("models", "weight_stationary").with_suffix(".py"), Tiling)


@given(TILES)
def test_the_standard_order_is_that_of_three_loops(tiles):
    m, k, n = tiles
    order, reads = Costs({}).plan(m, k, n)
    assert order.tolist() == [[i, p, j] for i in range(m) for j in range(n) for p in range(k)]
    assert reads.all()
    assert (Tiling().order(m, k, n) == order).all()


@given(TILES)
def test_weights_are_read_once_each(tiles):
    m, k, n = tiles
    order, reads = ports.find_tile_order(STATIONARY(), tiles)
    assert order.tolist() == [[i, p, j] for j in range(n) for p in range(k) for i in range(m)]
    assert reads.sum(axis=0).tolist() == [m * k * n, k * n]


class Odd(Part):
    kind: ClassVar[str] = "tiling"
    what: str

    def order(self, m, k, n):
        good = np.indices((m, k, n)).reshape(3, -1).T
        return {
            "twice": np.zeros_like(good),
            "beyond": good + 1,
            "short": good[:-1],
            "real": good * 1.0,
            "raise": None if self.what != "raise" else 1 / (m - m),
        }.get(self.what, good)

    def reads(self, order):
        reads = np.ones((len(order), 2), bool)
        return {"never": ~reads, "number": reads * 1, "wide": np.ones((len(order), 3), bool)}.get(self.what, reads)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("twice", "Odd.order(2, 1, 2) must answer every product of two tiles once, got one twice"),
        ("beyond", "Odd.order(2, 1, 2) must answer tiles below (2, 1, 2), got [2, 1, 2]"),
        ("short", "Odd.order(2, 1, 2) must answer an integer array of 4 tokens and 3 columns, got int64[3, 3]"),
        ("real", "Odd.order(2, 1, 2) must answer an integer array of 4 tokens and 3 columns, got float64[4, 3]"),
        ("raise", "Odd.order(2, 1, 2) raised ZeroDivisionError: division by zero"),
        ("never", "Odd.reads(order) must answer that the first token of a tile reads it, got none for operand a"),
        ("number", "Odd.reads(order) must answer a truth for each of 4 tokens and 2 operands, got int64[4, 2]"),
        ("wide", "Odd.reads(order) must answer a truth for each of 4 tokens and 2 operands, got bool[4, 3]"),
    ],
)
def test_orders_that_are_none(what, said):
    with pytest.raises(InputError, match=rf"^{re.escape(library.show_path(__file__))}:\d+: {re.escape(said)}$"):
        ports.find_tile_order(Odd(what=what), (2, 1, 2))
