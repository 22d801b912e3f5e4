"""Files of Triton with wrappers of their own: their numbers, a line for each launch, and what is refused, with file:line."""

import re

import numpy as np
import pytest

from kernbench import InputError, RunError
from kernbench.cli.main import main
from kernbench.errors import KernBenchError
from kernbench.frontends.triton_files import imports_triton
from kernbench.triton.whole_file import run_file

HEAD = "import numpy as np\nimport triton\nimport triton.language as tl\n\n"
ADD = """@triton.jit
def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)


def go():
    x, y = np.arange(100, dtype=np.int64), np.zeros(100, np.int64)
    add[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, y, 100, BLOCK=32)
    return y
"""


def write(folder, text):
    file = folder / "kernels.py"
    file.write_text(HEAD + text)
    return file


def told(folder, text, call="go"):
    """The sentence of a file that fails."""
    with pytest.raises(KernBenchError) as caught:
        run_file(write(folder, text), call)
    return str(caught.value)


def test_a_function_computes_in_its_own_tensors(tmp_path):
    run = run_file(write(tmp_path, ADD), "go")
    assert run.returned.tolist() == list(range(1, 101))
    assert [(one.kernel, one.grid) for one in run.launches] == [("add", (4, 1, 1))]
    assert run.launches[0].arguments["x_ptr"] == "int64[100]"


def test_a_file_runs_as_a_program_and_each_launch_is_a_line(tmp_path, capsys):
    file = write(tmp_path, ADD + "\n\nif __name__ == '__main__':\n    go()\n    go()\n")
    assert main(["run", str(file), "--topology", "tiny"]) == 0
    lines = re.findall(r"^ +(\d)  add +4 x 1 x 1 +([\d.,]+) ", capsys.readouterr().out, re.M)
    assert [number for number, _ in lines] == ["0", "1"]
    assert all(float(time.replace(",", "")) > 0 for _, time in lines)
    assert main(["run", str(file), "--topology", "tiny", "--call", "go"]) == 0
    assert len(re.findall(r" add +4 x 1 x 1 ", capsys.readouterr().out)) == 1
    assert main(["run", str(file), "--topology", "tiny", "--verify-data"]) == 2
    assert "states nothing that its numbers should equal" in capsys.readouterr().err


def test_an_adapter_with_data_ptr_is_a_tensor(tmp_path):
    class Tensor:
        def __init__(self, array):
            self.array, self.dtype, self.device, self.shape = array, f"torch.{array.dtype}", "cuda:0", array.shape

        def data_ptr(self):
            return self.array.ctypes.data

        def numel(self):
            return self.array.size

        def element_size(self):
            return self.array.itemsize

    text = "@triton.jit\ndef twice(x_ptr):\n    at = tl.arange(0, 8)\n    tl.store(x_ptr + at, tl.load(x_ptr + at) * 2)\n\n"
    array = np.arange(8, dtype=np.float32)
    run_file(write(tmp_path, text + "\ndef go(x):\n    twice[1](x)\n"), "go", [Tensor(array)])
    assert array.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]


def body(lines, arguments="x", programs=2):
    """A file whose kernel has a body, launched on 8 elements."""
    inner = "\n".join(f"    {line}" for line in lines.splitlines())
    return (
        f"@triton.jit\ndef kernel(x_ptr, N: tl.constexpr = 8):\n{inner}\n\n\n"
        f"def go():\n    x = np.zeros(8, np.float32)\n    kernel[({programs},)]({arguments})\n"
    )


REFUSED = {
    "unknown": (body("tl.exponent(x_ptr)"), r"triton\.language has no function 'exponent'; .*kernels\.py:7"),
    "no power of two": (
        body("tl.arange(0, 6)"),
        r"6 elements, at .*kernels\.py:7; the number of elements is a power of two",
    ),
    "shape": (body("tl.zeros((3, 4), tl.float32)"), r"a block got the shape \(3, 4\), at .*kernels\.py:7"),
    "outside": (
        body("tl.load(x_ptr + tl.program_id(0) * 3 + tl.arange(0, 8))"),
        r"program \(1, 0, 0\): tl\.load reaches 3 past its last element, outside of x_ptr with its 8 elements, at .*\.py:7",
    ),
    "before": (body("tl.store(x_ptr - 2 + tl.arange(0, 2), 1.0)"), r"tl\.store reaches 2 before its first element"),
    "grid": (body("pass", programs=0), r"kernels\.py:5 got the grid \(0,\)"),
    "types": (
        body("x = tl.load(x_ptr + tl.arange(0, 8))\nx.to(tl.float8e5) + tl.arange(0, 8)"),
        r"blocks of float8e5 and int32 meet, which have no common type, at .*kernels\.py:8",
    ),
    "pointers": (body("tl.store(x_ptr, x_ptr + x_ptr)"), r"pointers got the offset pointers, at .*kernels\.py:7; "),
    "an offset of floats": (
        body("tl.load(x_ptr + 0.5)"),
        r"pointers got the offset a block of float32, at .*kernels\.py:7",
    ),
    "shapes": (
        body("tl.arange(0, 4) + tl.arange(0, 8)"),
        r"blocks of the shapes \(4,\) and \(8,\) meet, at .*kernels\.py:7; sizes along a dimension are equal, or one",
    ),
    "shapes of offsets": (body("x_ptr + tl.arange(0, 4) + tl.arange(0, 2)"), r"shapes \(4,\) and \(2,\) meet, at"),
    "products": (
        body("x = tl.zeros((16, 16), tl.float16)\ntl.dot(x, x.to(tl.float32))"),
        r"tl\.dot got blocks of float16 and float32, at .*kernels\.py:8; convert one of them with \.to",
    ),
    "bits": (body("x = tl.load(x_ptr) > 0\nx & tl.load(x_ptr)"), r"the operator and got blocks of float32"),
    "write and write": (
        body("tl.store(x_ptr, 1.0)"),
        r"race: program 1 writes element 0 of x_ptr at .*kernels\.py:7, which program 0 wrote at .*kernels\.py:7",
    ),
    "read and write": (
        body("x = tl.load(x_ptr + 1 - tl.program_id(0))\ntl.store(x_ptr + tl.program_id(0), x)"),
        r"race: program 1 reads element 0 of x_ptr at .*kernels\.py:7, which program 0 wrote at .*kernels\.py:8",
    ),
    "waits for ever": (
        body("while tl.atomic_cas(x_ptr, 1.0, 0.0) != 1.0:\n    pass"),
        r"program \(0, 0, 0\) waits at .*kernels\.py:7 for an element that no program changes any more",
    ),
    "global": (
        "SIZE = 4\n\n" + body("tl.arange(0, SIZE)"),
        r"kernels\.py:9: kernel kernel reads the global SIZE, which is no constexpr; write SIZE = tl\.constexpr\(4\)",
    ),
    "constexpr": (
        "@triton.jit\ndef kernel(x_ptr, N: tl.constexpr):\n    pass\n\n\ndef go():\n    kernel[(1,)](np.zeros(8))\n",
        r"kernel kernel at .*kernels\.py:5: missing a required argument: 'N'",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_one_sentence_with_its_line(name, tmp_path):
    text, pattern = REFUSED[name]
    sentence = told(tmp_path, text)
    assert re.search(pattern, sentence), sentence
    assert "\n" not in sentence


@pytest.mark.parametrize("line", ["import os, triton as t", "import os; import triton", "from triton import jit"])
def test_a_file_imports_triton_beside_other_modules(tmp_path, line):
    file = tmp_path / "kernels.py"
    file.write_text(f"{line}\n")
    assert imports_triton(file)
    file.write_text(f"# {line}\nimport os, triton_tools\nfrom os import path\n")
    assert not imports_triton(file)


def test_a_pointer_outside_is_told_with_its_argument_on_the_machine(tmp_path, capsys):
    file = write(tmp_path, body("tl.load(x_ptr + tl.program_id(0) * 3 + tl.arange(0, 8))"))
    assert main(["run", str(file), "--call", "go", "-t", "tiny"]) == 1
    assert "program (1, 0, 0) loads from element 10 of tensor 'x_ptr', which has 8: 3 beyond" in capsys.readouterr().err


def test_a_constexpr_global_is_read(tmp_path):
    run_file(
        write(tmp_path, "SIZE = tl.constexpr(8)\n\n" + body("tl.store(x_ptr + tl.arange(0, SIZE), 1.0)", programs=1)),
        "go",
    )


def test_atomics_order_what_programs_do(tmp_path):
    lines = (
        "while tl.atomic_cas(x_ptr + 7, tl.program_id(0).to(tl.float32), -1.0) != tl.program_id(0):\n    pass\n"
        "tl.store(x_ptr, tl.load(x_ptr) + 1)\ntl.atomic_xchg(x_ptr + 7, tl.program_id(0) + 1.0)"
    )
    text = body(lines, programs=5).replace("kernel[(5,)](x)", "kernel[(5,)](x)\n    return x")
    assert run_file(write(tmp_path, text), "go").returned.tolist() == [5, 0, 0, 0, 0, 0, 0, 5]


def test_a_later_program_may_be_waited_for(tmp_path):
    lines = (
        "first = tl.program_id(0) == 0\nif first:\n    while tl.atomic_add(x_ptr + 1, 0.0) == 0.0:\n        pass\n"
        "    tl.store(x_ptr, 1.0)\nelse:\n    tl.atomic_add(x_ptr + 1, 1.0)"
    )
    text = body(lines).replace("kernel[(2,)](x)", "kernel[(2,)](x)\n    return x")
    assert run_file(write(tmp_path, text), "go").returned.tolist()[:2] == [1, 1]


def test_a_file_that_fails_is_told_with_its_line(tmp_path):
    with pytest.raises(RunError, match=r"kernels\.py raised ValueError: no, at .*kernels\.py:6"):
        run_file(write(tmp_path, "def go():\n    raise ValueError('no')\n"), "go")
    with pytest.raises(InputError, match=r"has no function 'gone'; did you mean 'go'"):
        run_file(write(tmp_path, "def go(): pass\n"), "gone")


def test_a_file_that_launches_nothing_is_told_what_would(tmp_path, capsys):
    file = write(tmp_path, ADD)
    assert main(["run", str(file), "--topology", "tiny"]) == 1
    told = capsys.readouterr().err
    assert "launched no kernel; call one of its functions with --call, or run a kernel alone, as `kernbench run" in told
    assert "kernels.py:add --grid 4 --arg NAME=VALUE`" in told


def test_a_process_that_may_not_run_a_file_does_not(tmp_path, monkeypatch):
    file = write(tmp_path, "raise SystemExit('it ran')\n")
    monkeypatch.setenv("KERNBENCH_CODE", '{"folders": [], "sha256": []}')
    with pytest.raises(
        InputError, match=r"Triton file .*kernels\.py stands in no folder whose files the viewer may run"
    ):
        run_file(file)
