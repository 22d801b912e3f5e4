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
from kernbench.workloads.kernels.panels import Panel, cut
from kernbench.workloads.kernels.product import Product, multiply_panels


def panelled(x: np.ndarray, panels: Any) -> np.ndarray:
    """A matrix (features, tokens) as it lies in panels, in the shape of the tensor."""
    return np.concatenate([x[:, first : first + width].ravel() for first, width in panels]).reshape(x.shape)


def simulate(
    machine: str,
    sizes: tuple[int, int],
    panels: Any,
    *,
    gated: bool = False,
    activation: str = "",
    kept: int = 1 << 23,
    groups: int = 1,
    check: bool = True,
) -> Any:
    out, features = sizes
    tokens, dtype = sum(width for _, width in panels), "f32" if check else "f16"
    rng = np.random.default_rng(0)
    draw = rng.standard_normal if check else (lambda shape, _: np.zeros(shape, np.float32))
    weights = [draw(sizes, np.float32) * features**-0.5 for _ in range(2 if gated else 1)]
    x, rest = draw((features, tokens), np.float32), draw((out, tokens), np.float32)
    bias = draw((out, 1), np.float32)

    def run(torch: Any) -> None:
        def tensor(array: np.ndarray, policy: Any) -> Any:
            return torch.computed(array.shape, lambda: array, dtype, policy)

        y = torch.empty((out, tokens), dtype, OVER_PES)
        given = tuple(tensor(weight, ROWS_AND_COLUMNS) for weight in weights)
        scratch = int(torch.driven.machine.figures["pe.scratch_bytes"])
        extras = tensor(bias, OVER_PES), activation, tensor(panelled(rest, panels), OVER_PES)
        product = tuple(Product(out, features, groups, scratch, kept))
        places = tensor(panelled(x, panels), OVER_PES)
        torch.launch("product", multiply_panels, places, given, y, tuple(panels), product, (dtype, dtype), extras)
        if check:
            torch.expect(y, lambda: panelled(expect(), panels), 1e-4)

    def expect() -> np.ndarray:
        first = weights[0] @ x + bias
        if activation:
            first = first / (1 + np.exp(-first))
        return (first * (weights[1] @ x) if gated else first) + rest

    bench = Bench("product", "a product", {}, Path(__file__), run)
    return run_kernels(bench, load_machine(machine), range(1), {}, RunOptions(verify=check), 0.0)


@pytest.mark.parametrize("sizes", [(64, 64), (48, 96), (7, 33), (130, 20), (1, 1)])
@pytest.mark.parametrize("panels", [cut(0, 7, 1), cut(0, 33, 4), (*cut(0, 40, 3), Panel(40, 2))])
def test_a_product_with_what_follows_equals_numpy(sizes, panels):
    assert simulate("tiny", sizes, panels)["mismatches"] == ()


@pytest.mark.parametrize("kept", [0, 1 << 23])
def test_a_gated_product_equals_numpy_whether_its_input_is_kept_or_not(kept):
    found = simulate("tiny", (96, 64), cut(0, 33, 2), gated=True, activation="silu", kept=kept)
    assert found["mismatches"] == ()


@pytest.mark.slow
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_product_on_all_cubes_equals_numpy(groups):
    assert simulate("sip_2x4x4", (200, 300), cut(0, 100, 8), groups=groups)["mismatches"] == ()
