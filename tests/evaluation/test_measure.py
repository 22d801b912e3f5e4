"""A row of an evaluation comes of a run whose numbers are right."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.errors import RunError
from kernbench.evaluation.measure import measure

BENCH = """
from kernbench import DPPolicy, bench


def copy(x_ptr, y_ptr, n, tl):
    tl.store(y_ptr, tl.load(x_ptr, n))


@bench("shifted", "A copy whose reference is off")
def run(torch, *, n=8, off=0.0):
    one = DPPolicy(cube="replicate", pe="replicate", num_cubes=1, num_pes=1)
    x, y = torch.zeros(n, "f16", one, name="x"), torch.empty(n, "f16", one, name="y")
    torch.launch("copy", copy, x, y, n)
    torch.expect(y, lambda: [off] * n)
"""


def test_numbers_that_are_wrong_are_no_measurement(tmp_path: Path) -> None:
    (tmp_path / "shifted.py").write_text(BENCH)
    bench = str(tmp_path / "shifted.py")
    assert measure(bench, "tiny", {}, None, "hybrid", verify=True).verified
    assert measure(bench, "tiny", {"off": 2.0}, None, "hybrid", verify=False).verified is None
    with pytest.raises(RunError) as error:
        measure(bench, "tiny", {"off": 2.0}, None, "hybrid", verify=True)
    wrong = (
        "tensor 'y' at [0]: expected 2, got 0; tolerance 0.002 x max(1, |expected|); 8 of 8 elements differ by at most "
        "1.02e+03 units of f16, more than rounding explains"
    )
    assert str(error.value) == f"{bench} {{'off': 2.0}}: {wrong}"
