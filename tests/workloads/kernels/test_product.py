"""A product of many tokens equals numpy's, in whatever panels its tokens lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernbench.limits.run_options import RunOptions
from kernbench.machine import load_machine
from kernbench.runs.bench import Bench
from kernbench.runs.run import run_kernels
from kernbench.workloads.kernels.layout import OVER_PES, ROWS_AND_COLUMNS
from kernbench.workloads.kernels.panels import Copies, Panel, cut
from kernbench.workloads.kernels.product import Product, multiply_panels


def one_copy(panels: Any) -> Copies:
    return Copies((0, sum(width for _, width in panels)), 1)


def lay(x: np.ndarray, panels: Any, copies: Copies) -> np.ndarray:
    """A matrix (features, tokens) as its copies lie, with zeros where there is room."""
    room = np.zeros(copies.columns * len(x), x.dtype)
    for first, width in panels:
        for copy in copies.list_all(Panel(first, width)):
            room[copy.first * len(x) : (copy.first + width) * len(x)] = x[:, first : first + width].ravel()
    return room.reshape(copies.columns, len(x))


def simulate(
    machine: str,
    sizes: tuple[int, int],
    panels: Any,
    *,
    weights: int = 1,
    activation: str = "",
    kept: int = 1 << 23,
    x_copies: Copies | None = None,
    y_copies: Copies | None = None,
    bundle: int = 1,
    rows: int = 1 << 10,
    check: bool = True,
) -> Any:
    out, features = sizes
    tokens, dtype = sum(width for _, width in panels), "f32" if check else "f16"
    x_copies, y_copies = x_copies or one_copy(panels), y_copies or one_copy(panels)
    rng = np.random.default_rng(0)
    draw = rng.standard_normal if check else (lambda shape, _: np.zeros(shape, np.float32))
    matrices = [draw(sizes, np.float32) * features**-0.5 for _ in range(weights)]
    x, rest = draw((features, tokens), np.float32), draw((out, tokens), np.float32)
    bias = draw((out, 1), np.float32)

    def run(torch: Any) -> None:
        def tensor(array: np.ndarray, policy: Any) -> Any:
            return torch.computed(array.shape, lambda: array, dtype, policy)

        y = torch.zeros((y_copies.columns, out), dtype, OVER_PES)
        given = tuple(tensor(matrix, ROWS_AND_COLUMNS) for matrix in matrices)
        scratch = int(torch.driven.machine.figures["pe.scratch_bytes"])
        extras = tensor(bias, OVER_PES), activation, tensor(lay(rest, panels, one_copy(panels)), OVER_PES)
        product = Product(out, features, tuple(panels), bundle, rows, x_copies, y_copies, scratch, kept)
        places = tensor(lay(x, panels, x_copies), OVER_PES)
        torch.launch("product", multiply_panels, places, given, y, product, (dtype, dtype), extras)
        if check:
            torch.expect(y, lambda: lay(expect(), panels, y_copies), 1e-4)

    def expect() -> np.ndarray:
        first = matrices[0] @ x + bias
        if activation:
            first = first / (1 + np.exp(-first))
        return (first * (matrices[1] @ x) if weights > 1 else first) + rest

    bench = Bench("product", "a product", {}, Path(__file__), run)
    return run_kernels(bench, load_machine(machine), range(1), {}, RunOptions(verify=check), 0.0)


@pytest.mark.parametrize("sizes", [(64, 64), (48, 96), (7, 33), (130, 20), (1, 1)])
@pytest.mark.parametrize("panels", [cut(0, 7, 1), cut(0, 33, 4), (*cut(0, 40, 3), Panel(40, 2))])
def test_a_product_with_what_follows_equals_numpy(sizes, panels):
    assert simulate("tiny", sizes, panels)["mismatches"] == ()


def test_a_block_has_no_more_rows_than_it_may():
    assert simulate("tiny", (130, 20), cut(0, 33, 4), rows=5)["mismatches"] == ()


@pytest.mark.parametrize("kept", [0, 1 << 23])
@pytest.mark.parametrize("bundle", [1, 2])
def test_a_gated_product_equals_numpy_whether_its_input_is_kept_or_not(kept, bundle):
    sizes = {"weights": 2, "activation": "silu", "kept": kept, "bundle": bundle}
    assert simulate("tiny", (96, 64), cut(0, 33, 3), **sizes)["mismatches"] == ()


@pytest.mark.slow
@pytest.mark.parametrize("groups", [2, 4])
def test_a_product_between_copies_in_groups_of_cubes_equals_numpy(groups):
    panels = cut(0, 101, 8)
    bounds = tuple(panels[8 // groups * i].first for i in range(groups))
    copies = Copies((*bounds, 101), 16)
    whole = one_copy(panels)
    for x, y in ((copies, whole), (whole, copies), (copies, copies)):
        found = simulate("sip_2x4x4", (200, 300), panels, x_copies=x, y_copies=y, bundle=2)
        assert found["mismatches"] == ()
