"""Addresses that kernels load and follow: of tensors of a class in torch's place, and of the real one where it is installed."""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from kernbench import KernelError
from kernbench.cli.main import main
from kernbench.triton.language.launches import Launcher, launching
from kernbench.triton.language.modules import importable
from kernbench.triton.whole_file import compute, run_file

with importable():
    import triton
    import triton.language as tl


class Tensor:
    """As much of torch's tensor as a launch sees."""

    device = "cpu"

    def __init__(self, array):
        self.array, self.dtype, self.shape = array, f"torch.{array.dtype}", array.shape

    def data_ptr(self):
        return self.array.ctypes.data

    def untyped_storage(self):
        return SimpleNamespace(data_ptr=self.data_ptr, nbytes=lambda: self.array.nbytes)


@triton.jit
def collect(from_ptr, out_ptr, SIZE: tl.constexpr):
    source = tl.load(from_ptr + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    at = tl.arange(0, SIZE)
    tl.store(out_ptr + tl.program_id(0) * SIZE + at, tl.load(source + at) + 1)


def launch(addresses):
    out = Tensor(np.zeros(8 * len(addresses), np.float32))
    with launching(Launcher(compute)):
        collect[(len(addresses),)](Tensor(np.array(addresses, np.int64)), out, SIZE=8)
    return out.array


@pytest.fixture(autouse=True)
def _torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=Tensor))


def test_addresses_of_tensors_are_followed():
    some = [Tensor(np.arange(8, dtype=np.float32) * scale) for scale in (1, 10)]
    assert launch([one.data_ptr() for one in some]).tolist() == [*range(1, 9), *range(1, 72, 10)]


def test_an_address_of_no_tensor_and_one_beyond_a_tensor_are_told():
    with pytest.raises(
        KernelError, match=r"the address 0x7b\w+ became a pointer, and no tensor of torch that lives has it, at"
    ):
        launch([0x7B << 40])
    short = Tensor(np.zeros(4, np.float32))
    with pytest.raises(
        Exception, match=r"tl\.load reaches 4 past its last element, outside of \(addresses\) with its 4 elements"
    ):
        launch([short.data_ptr()])


FILE = """
import torch
import triton
import triton.language as tl
DEVICE = triton.runtime.driver.active.get_active_torch_device()

@triton.jit
def collect(from_ptr, out_ptr, SIZE: tl.constexpr):
    source = tl.load(from_ptr + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    at = tl.arange(0, SIZE)
    tl.store(out_ptr + tl.program_id(0) * SIZE + at, tl.load(source + at) + 1)

class Collect(torch.autograd.Function):
    @staticmethod
    def forward(ctx, *tensors):
        addresses = torch.tensor([one.data_ptr() for one in tensors], dtype=torch.int64, device="cuda")
        out = torch.empty(len(tensors), 8, device=tensors[0].device)
        with torch.cuda.device(out.device.index):
            collect[(len(tensors),)](addresses, out, SIZE=8, num_stages=2)
        return out

    @staticmethod
    def backward(ctx, grad):
        assert grad.is_cuda and grad.device.index == 0
        return tuple(grad)

random = torch.Generator(device="cuda")
random.manual_seed(3)
x = [torch.randn(8, device=DEVICE, generator=random).requires_grad_() for _ in range(3)]
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
start.record()
out = Collect.apply(*x)
end.record()
torch.cuda.synchronize()
assert x[0].is_cuda and torch.allclose(out, torch.stack(x) + 1)
out.sum().backward()
assert x[2].grad.tolist() == [1] * 8
print("elapsed", start.elapsed_time(end), torch.cuda.get_device_properties(0).multi_processor_count)
"""


def test_a_file_with_tensors_of_torch_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.undo()
    pytest.importorskip("torch", reason="torch is not installed")
    file = tmp_path / "collects.py"
    file.write_text(FILE)
    assert main(["run", str(file), "-t", "tiny"]) == 0
    captured = capsys.readouterr()
    elapsed, pes = re.search(r"elapsed ([\d.]+) (\d+)", captured.err).groups()
    (line,) = re.findall(r"^ +0  collect +3 x 1 x 1 +([\d.,]+) ", captured.out, re.M)
    assert float(elapsed) * 1e6 == pytest.approx(float(line.replace(",", "")), abs=1e-3)
    assert int(pes) == 4


def test_optimizers_of_torch_step_in_a_file(tmp_path, monkeypatch):
    monkeypatch.undo()
    torch = pytest.importorskip("torch", reason="torch is not installed")
    file = tmp_path / "steps.py"
    file.write_text(
        "import torch, triton\n"
        "from torch.utils._triton import has_triton_package\n"
        "def go():\n"
        "    layer = torch.nn.Linear(2, 2, device='cuda')\n"
        "    layer(torch.ones(1, 2, device='cuda')).sum().backward()\n"
        "    before = layer.bias.detach().clone()\n"
        "    torch.optim.AdamW(layer.parameters(), lr=0.5, weight_decay=0.0).step()\n"
        "    return before - layer.bias, has_triton_package()\n"
    )
    found, there = run_file(file, "go").returned
    assert torch.allclose(found, torch.full((2,), 0.5))
    assert there
