"""Kernels with a grid that are written against the recorder itself, and their launch, without the language."""

import numpy as np

from kernbench import DPPolicy, bench
from kernbench.frontends.run import run_bench
from kernbench.host.messages import KernelLaunch, TensorArg
from kernbench.triton.lowering.dealing import Dealing

F16, F32 = np.dtype(np.float16), np.dtype(np.float32)
ROWS = DPPolicy(cube="row_wise", pe="row_wise")


class Kernel:
    """A body `body(recorder, *arguments)` with its grid, and a function that computes all programs."""

    def __init__(self, body, grid, compute=None, dealing=None):
        self.__name__, self.code, self.grid = body.__name__, body, (*grid, 1, 1)[:3]
        self.dealing = dealing or Dealing()
        self.remarks = ()
        self._compute = compute

    def bind(self, args):
        self._args = args

    def run(self, recorder):
        self.code(recorder, *self._args)

    def compute(self, tensors):
        self._compute(*tensors)


def launch(torch, kernel, *args):
    """Launch a kernel on all PEs that hold the first tensor."""
    layout = args[0].layout
    sent = tuple(TensorArg(a.name, a.layout.va, a.layout.shards) if hasattr(a, "layout") else a for a in args)
    message = KernelLaunch(kernel.__name__, sent, 0, tuple(range(layout.cubes)), tuple(range(layout.pes)))
    return torch.runtime.launch(message, kernel)


def vector_add(r, x, y, out, n, block):
    offsets = r.program_id(0) * block + np.arange(block)
    mask = offsets < n
    a = r.load(x.number, offsets, mask, None, F16)
    b = r.load(y.number, offsets, mask, None, F16)
    r.store(out.number, offsets, a + b, mask)


def matmul(r, a, b, c, m, n, k, block_m, block_n, block_k, stages):
    across = -(-n // block_n)
    row, column = r.program_id(0) // across, r.program_id(0) % across
    rows = (row * block_m + np.arange(block_m)) % m
    columns = (column * block_n + np.arange(block_n)) % n
    inner = np.arange(block_k)
    at_a, at_b = rows[:, None] * k + inner[None, :], inner[:, None] * n + columns[None, :]
    total = np.zeros((block_m, block_n), np.float32)
    r.enter_loop(stages)
    for step in range(-(-k // block_k)):
        x = r.load(a.number, at_a, inner[None, :] < k - step * block_k, 0, F16)
        y = r.load(b.number, at_b, inner[:, None] < k - step * block_k, 0, F16)
        total = r.dot(x, y, total, F32, lambda: _product(x, y, total), 16)  # noqa: B023 - called at once
        at_a, at_b = at_a + block_k, at_b + block_k * n
        r.next_iteration()
    r.leave_loop()
    rows, columns = row * block_m + np.arange(block_m), column * block_n + np.arange(block_n)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    r.store(c.number, rows[:, None] * n + columns[None, :], total.astype(F16), inside)


def _product(x, y, total):
    return x.data.astype(np.float32) @ y.data.astype(np.float32) + getattr(total, "data", total)


@bench("grid-add", "adds")
def add(torch, *, n=5000, block=512, rule="cyclic", order="xyz"):
    x, y, out = (torch.randn((n,), dp=ROWS), torch.randn((n,), dp=ROWS), torch.zeros((n,), dp=ROWS))

    def compute(a, b, c):
        c[:] = a + b

    kernel = Kernel(vector_add, (-(-n // block),), compute, Dealing(rule, order))
    launch(torch, kernel, x, y, out, n, block)
    torch.expect(out, lambda: x.initial() + y.initial())


@bench("grid-matmul", "multiplies")
def multiply(torch, *, m=100, n=96, k=72, block=32, block_k=32, stages=2):
    a, b, c = torch.randn((m, k), dp=ROWS), torch.randn((k, n), dp=ROWS), torch.zeros((m, n), dp=ROWS)

    def compute(x, y, z):
        z[:] = (x.reshape(m, k).astype(np.float32) @ y.reshape(k, n).astype(np.float32)).astype(np.float16).reshape(-1)

    kernel = Kernel(matmul, (-(-m // block) * -(-n // block),), compute)
    launch(torch, kernel, a, b, c, m, n, k, block, block, block_k, stages)
    torch.expect(c, lambda: a.initial().astype(np.float32) @ b.initial().astype(np.float32))


def run(which, parameters=None, **options):
    """A run on the tiny machine."""
    return run_bench(which, "tiny", parameters=parameters or {}, **options)
