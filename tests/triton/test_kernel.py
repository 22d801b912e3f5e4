"""Kernels of a file by themselves: `kernbench run FILE.py:KERNEL --grid ... --arg ...`, and what is refused."""

import json
import re
from pathlib import Path

import numpy as np
import polars
import pytest

from kernbench import InputError
from kernbench.cli.main import main
from kernbench.frontends.prepared import make_request
from kernbench.frontends.registry import find
from kernbench.frontends.request import plan_repetition
from kernbench.limits.run_options import RunOptions
from kernbench.triton.kernel_arguments import KernelArguments

TEXT = """import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


class Scale(torch.autograd.Function):
    pass


@torch.no_grad()
def wrapper(x: torch.Tensor):
    return x


@triton.jit
def scale(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr, KIND: tl.constexpr = "plain"):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    if KIND == "exp":
        x = tl.exp(x.to(tl.float32))
    tl.store(y_ptr + at, x * factor, mask=at < n)


@triton.autotune([triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})], key=["n"])
@triton.jit
def tuned(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 1.0, mask=at < n)


@triton.jit
def follow(i_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.load(i_ptr + tl.arange(0, BLOCK))
    tl.store(y_ptr + at, 1.0)
"""
USUAL = ["n=100", "x_ptr=f16[n]", "y_ptr=f16[n]:zeros", "factor=2.5", "BLOCK=32"]


@pytest.fixture(autouse=True)
def _desk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.py").write_text(TEXT)


def words(arguments, grid="cdiv(n, BLOCK)", kernel="scale"):
    return [
        "run",
        f"k.py:{kernel}",
        "-t",
        "tiny",
        "--grid",
        grid,
        *(part for one in arguments for part in ("--arg", one)),
    ]


def told(capsys, *arguments, **options):
    """What a launch says with --json."""
    assert main([*words(arguments, **options), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_kernel_is_launched_without_its_wrappers_and_without_torch(capsys):
    found = told(capsys, *USUAL)
    (line,) = found["kernel_launches"]
    assert (line["kernel"], line["grid"], line["line"]) == ("scale", [4, 1, 1], "k.py:17")
    assert line["ns"] == found["pe_exec_ns"] > 0
    assert line["arguments"] == {
        "n": 100, "x_ptr": "float16[100]", "y_ptr": "float16[100]", "factor": 2.5, "BLOCK": 32, "KIND": "plain",
    }  # fmt: skip
    assert told(capsys, *USUAL, "KIND=exp")["pe_exec_ns"] > found["pe_exec_ns"]


def test_each_run_of_what_was_prepared_has_its_own_launch():
    given = {"grid": "cdiv(n, BLOCK)", **dict(one.split("=", 1) for one in USUAL)}
    prepared = find("k.py:scale").prepare(make_request("tiny", given, None, RunOptions()))
    assert [len(prepared.run().kernel_launches) for _ in range(2)] == [1, 1]


def test_the_table_has_a_line_for_the_launch(capsys):
    assert main(words(USUAL)) == 0
    assert re.search(r"^ +0  scale +4 x 1 x 1 +[\d.,]+  x_ptr=float16\[100\], y_ptr=", capsys.readouterr().out, re.M)


def test_a_configuration_of_an_autotuned_kernel_gives_the_grid(capsys):
    grids = [
        told(capsys, "n=64", "x_ptr=f32[n]", f"config={number}", kernel="tuned")["kernel_launches"][0]["grid"]
        for number in (0, 1)
    ]
    assert grids == [[4, 1, 1], [2, 1, 1]]


def test_a_kernel_that_follows_what_it_loads_runs_live(capsys):
    found = told(capsys, "i_ptr=i32[8]:arange", "y_ptr=f32[8]", "BLOCK=8", grid="1", kernel="follow")
    assert found["kernel_launches"][0]["ns"] > 0


def test_a_run_is_repeated_and_a_sweep_varies_constants(capsys):
    assert main([*words(USUAL), "--out", "kept"]) == 0
    kept = json.loads(Path("kept/result.json").read_text())
    assert main([*plan_repetition(kept).arguments, "--out", "again"]) == 0
    again = json.loads(Path("again/result.json").read_text())
    assert again["kernel_launches"] == kept["kernel_launches"] != []
    settings = [part for one in ["grid=cdiv(n, BLOCK)", *USUAL[:-1], "BLOCK=16,32,64"] for part in ("--set", one)]
    assert main(["sweep", "k.py:scale", "-t", "tiny", *settings, "--workers", "1", "--out", "swept"]) == 0
    table = polars.read_parquet("swept/table.parquet")
    assert table["BLOCK"].to_list() == [16, 32, 64]
    assert table["pe_exec_ns"].n_unique() == 3


REFUSED = {
    "no grid": (["run", "k.py:scale"], r"kernel scale at k\.py:17 got no grid; give --grid with one to three numbers"),
    "missing": (
        words(["x_ptr=f16[4, 8]", "n=4"]),
        r"got no y_ptr, factor, BLOCK; give each as --arg NAME=NUMBER, or as a tensor, such as --arg y_ptr=f16\[512,512\] "
        r"\(x_ptr=float16\[4, 8\] has the strides 8, 1\)",
    ),
    "unknown": (words(["z=1"]), r"kernel scale at k\.py:17 takes no 'z'; known: BLOCK, KIND"),
    "type": (words(["x_ptr=f17[4]"]), r"argument x_ptr has elements of 'f17'; did you mean 'f16'"),
    "contents": (words(["x_ptr=f16[4]:one"]), r"argument x_ptr holds 'one'; did you mean 'ones'\? Known: arange, ones"),
    "sizes": (words(["x_ptr=f16[4, 0]"]), r"argument x_ptr has the sizes \(4, 0\); give numbers above 0"),
    "size": (words(["x_ptr=f16[m]"]), r"f16\[m\] of x_ptr names 'm'; none are known"),
    "text": (words(["n=abc"]), r"argument n is 'abc'; give a number, an expression of other arguments, or a tensor such as"),
    "circle": (words(["n=n + 1"]), r"argument n follows from itself; give a number"),
    "no pair": (words(["n"]), r"--arg takes NAME=VALUE, such as M=256 or a_ptr=f16\[M,512\], and got 'n'"),
    "grid name": (words(USUAL, grid="cdiv(n, Q)"), r"the grid names 'Q'; known: BLOCK, "),
    "grid of four": (words(USUAL, grid="1,2,3,4"), r"k\.py:17 got the grid \(1, 2, 3, 4\); give one to three whole numbers"),
    "grid of none": (words(USUAL, grid="0"), r"k\.py:17 got the grid \(0,\); give one to three whole numbers"),
    "grid of halves": (words(USUAL, grid="n / 3"), r"the grid gives 33\.3+\d*; give whole numbers"),
    "no pointer": (words([*USUAL, "x_ptr=3"]), r"tl\.load got tensor\(\(32,\), int32\), at k\.py:20; give pointers"),
    "outside": (
        words([*USUAL, "y_ptr=f16[64]"]),
        r"k\.py:23: program \(2, 0, 0\) stores to element 95 of tensor 'y_ptr', which has 64: 32 beyond its last",
    ),
    "family": (
        [*words(USUAL), "-t", "tensix_tiny"],
        r"kernels of Triton run on family 'sip', and topology 'tensix_tiny' is of family 'tensix'; give one such as sip_2x4x4",
    ),
    "kernel": (["run", "k.py:scal", "--grid", "1"], r"k\.py has no kernel 'scal'; did you mean 'scale'"),
    "numbers": ([*words(USUAL), "--verify-data"], r"scale states nothing that its numbers should equal"),
    "another program": (["run", "gemm-single-pe", "--grid", "4"], r"bench 'gemm-single-pe' has no parameter 'grid'"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_one_sentence(name, capsys):
    arguments, pattern = REFUSED[name]
    assert main(arguments) in (1, 2)
    sentence = capsys.readouterr().err.splitlines()[-1]
    assert re.search(pattern, sentence), sentence


def test_arguments_are_read_as_they_are_meant():
    given = {
        "M": "2 * K",
        "K": 32,
        "a": "fp16[M, K]:arange",
        "s": "K",
        "t": "tl.float16",
        "u": "silu",
        "f": "1e-5",
        "b": "True",
    }
    found = KernelArguments("kernel k", given, frozenset("tu")).read()
    assert (found["M"], found["s"], found["u"], found["f"], found["b"]) == (64, 32, "silu", 1e-5, True)
    assert found["a"].strides == (32, 1)
    assert found["t"].name == "float16"
    assert np.array_equal(found["a"].make(0).reshape(-1)[:3], [0, 1, 2])
    drawn = KernelArguments("kernel k", {"i": "i32[1000]"}, frozenset()).read()["i"].make(0)
    assert set(drawn.tolist()) == {0, 1}
    with pytest.raises(InputError, match="kernel k: argument s: 'M /' is not an expression"):
        KernelArguments("kernel k", {"s": "M /"}, frozenset()).read()
