"""What memory cannot hold is refused before it is made."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from kernbench import LimitError, bench, load_machine, run
from kernbench.limits import memory_budget

MIB = 1 << 20


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function that leaves 64 MiB free from then on."""
    return lambda: monkeypatch.setattr(memory_budget, "find_free_bytes", lambda: 64 * MIB)


@bench("numbers", "Two tensors of f16, of which nothing is computed")
def numbers(torch, n=4096):
    torch.randn((n,), name="x")
    torch.launch("idle", lambda x, tl: None, torch.zeros((n,), name="y"))
    torch.expect(torch.zeros((8,)), lambda: [0] * 8)


@bench("tiled", "A product in tiles")
def tiled(torch, n=64, times=1):
    a, b, c = (torch.zeros((n, n)) for _ in range(3))

    def kernel(a, b, c, tl):
        for _ in range(times):
            tl.composite("gemm", tl.ref(a, (n, n)), tl.ref(b, (n, n)), out_ptr=c)

    torch.launch("kernel", kernel, a, b, c)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["live", "verify"])
def test_numbers_that_do_not_fit(how: str, little: Callable[[], None]) -> None:
    run(numbers, "tiny", **{how: True})
    little()
    n = 9 * MIB  # 36 MiB are drawn as f32, made f16 of 18 MiB, and copied
    assert run(numbers, "tiny", parameters={"n": n}).latency_ns
    told = r"the numbers of 1 tensor|the numbers of 3 tensors"
    with pytest.raises(
        LimitError, match=rf"({told}) would take 72 MiB of this computer's memory, of which 64 MiB are free; "
    ):
        run(numbers, "tiny", parameters={"n": n}, **{how: True})


@pytest.mark.slow
def test_tiles_that_do_not_fit(little: Callable[[], None]) -> None:
    run(tiled, "tiny")
    little()
    told = "the 262,144 tiles of a gemm composite of (2048, 2048) would take 75 MiB of this computer's memory, of which 64 MiB"
    fields = {"pe.tile_m": 32, "pe.tile_n": 32, "pe.tile_k": 32}
    with pytest.raises(LimitError, match=r"^kernel kernel on sip0\.cube0\.pe0, at .*: " + re.escape(told)):
        run(tiled, "tiny", parameters={"n": 2048}, overrides=fields)


@pytest.mark.slow
def test_rows_of_tile_plans_that_do_not_fit(little: Callable[[], None]) -> None:
    run(tiled, "tiny")
    little()
    fields = {"pe.tile_m": 32, "pe.tile_n": 32, "pe.tile_k": 32}
    told = r"^[0-9,]+ more rows of a run would take .* MiB of this computer's memory, of which 64 MiB are free; make it smaller"
    with pytest.raises(LimitError, match=told):
        run(tiled, "tiny", parameters={"n": 1600, "times": 5}, overrides=fields)


@pytest.mark.slow
def test_a_machine_that_does_not_fit(little: Callable[[], None]) -> None:
    little()
    told = r"^a machine of 131,072 PEs would take 5\.\d+ GiB of this computer's memory, of which 64 MiB are free; give it fewer"
    with pytest.raises(LimitError, match=told):
        load_machine("sip_2x4x4", {"sips.count": 1024})
