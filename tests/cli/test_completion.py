"""What Tab offers: through click's own completion, and in a bash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.shell_completion import CompletionItem, ShellComplete

from kernbench.cli.main import COMPLETION, kernbench
from kernbench.cli.names.completion import Zsh

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An empty cache for all tests here: what one machine may be set is found out once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def complete(*words: str) -> list[str]:
    shell = ShellComplete(kernbench, {}, "kernbench", COMPLETION)
    return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "mat"], ["matmul-composite"]),
        (["run", "tanto-m"], ["tanto-matmul"]),
        (["run", "--topology", "sip"], ["sip_2x4x4", "sip_2x4x4_credit"]),
        (["run", "--mode", "f"], ["flit"]),
        (["sweep", "q"], ["qkv-gemm", "quickstart", "qwen3-30b-a3b"]),
        (["run", "paged"], ["paged_attention"]),
        (["list", "--kind", "m"], ["machine", "measured-graph"]),
        (["evaluate", "a"], ["attention", "allreduce"]),
        (["evaluate", "gemm", "--set", "s"], ["shapes=", "sips="]),
        (["show", "hbm"], ["hbm", "hbm_refresh", "hbm-tiles"]),
        (["show", "tiny", "hbm.t"], ["hbm.turn_ns"]),
        (["web", "torus_8x8_"], ["torus_8x8_credit", "torus_8x8_"]),
        (["run", "matmul-composite", "--set", "v"], ["variant="]),
        (["run", "matmul-composite", "--set", "variant=l"], ["variant=load_ref", "variant=load_load"]),
        (["run", "attention-prefill", "--set", "causal="], ["causal=true", "causal=false"]),
        (["run", "vector-add", "--set", ""], ["n=", "dtype=", "topology."]),
        (["run", "vector-add", "--set", "topology.mmu.m"], ["topology.mmu.model="]),
        (["run", "-t", "mesh_8x8", "x", "--set", "topology.hop"], ["topology.hop_mm=", "topology.hop_ns="]),
        (["run", "x", "--set", "topology.flow_control=c"], ["topology.flow_control=credit"]),
        (["run", "x", "--set", "topology.parts.hbm="], ["topology.parts.hbm=hbm", "topology.parts.hbm=hbm_refresh"]),
        (["probe", "-t", "mesh_8x8", "--set", "hop"], ["hop_mm=", "hop_ns="]),
        (["run", "-t", "no-such-machine", "x", "--set", "topology.h"], []),
        (["run", "ccl-allreduce", "--set", "sip_topology=m"], ["sip_topology=mesh_2d", "sip_topology=mesh_2d_no_wrap"]),
        (["run", "tanto-matmul", "--set", "topology.tensix_core.f"], ["topology.tensix_core.fidelity="]),
        (["run", "x", "--mode", "a"], ["analytic"]),
        (["probe", "--mode", "a"], []),
        (["sweep", "x", "--mode", "a"], ["analytic", "auto"]),
        (["sweep", "unif"], ["uniform"]),
        (["sweep", "quickstart", "--set", "v"], ["variant="]),
        (["sweep", "quickstart", "--set", "topology.mmu.m"], ["topology.mmu.model="]),
        (["sweep", "vector-add", "--set", "topology.mmu.m"], ["topology.mmu.model="]),
        (["sweep", "buffers", "--set", "topology.buf"], ["topology.buffer_flits="]),
        (["sweep", "uniform", "--set", "l"], ["load=", "loads="]),
        (["sweep", "paged_attention", "--set", "b"], ["batch=", "block_size="]),
        (
            ["run", "paged_attention", "--set", "topology.pto_runtime.task_w"],
            ["topology.pto_runtime.task_window="],
        ),
        (["run", "paged_attention", "--set", "case=CaseB"], ["case=CaseBatch256"]),
        (["run", "vector_example", "--set", "runtime=a"], ["runtime=aicpu_build_graph"]),
        (["sweep", "w"], ["window"]),
        (["probe", "--pattern", "t"], ["transpose", "tornado"]),
        (["probe", "-t", "mesh_8x8_credit", "--vary", "buf"], ["buffer_flits="]),
        (["show", "--diff", "tiny", "hbm"], ["hbm", "hbm_refresh"]),
    ],
)
def test_names_fields_and_values_are_offered(words: list[str], expected: list[str]) -> None:
    assert sorted(complete(*words)) == sorted(expected)


def test_a_bench_file_is_read_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "benches").mkdir()
    (tmp_path / "benches" / "broken.py").write_text("def (")
    (tmp_path / "benches" / "own.py").write_text(
        "raise SystemExit\n@bench('zz-own', 'Mine')\ndef run(torch, *, n=3): ...\n"
    )
    monkeypatch.chdir(tmp_path)
    assert complete("run", "zz") == ["zz-own"]
    assert complete("run", "zz-own", "--set", "n") == ["n="]


KERNELS = "import triton\n@triton.jit\ndef add(x_ptr, n, BLOCK: triton.constexpr):\n    pass\n"


def test_kernels_of_a_file_complete_and_their_arguments(tmp_path: Path) -> None:
    file = tmp_path / "kernels.py"
    file.write_text(KERNELS)
    assert complete("run", f"{file}:") == [f"{file}:add"]
    assert complete("run", f"{file}:add", "--arg", "") == [
        f"{name}=" for name in ("grid", "num_stages", "config", "order", "dealing", "x_ptr", "n", "BLOCK")
    ]
    assert complete("run", f"{file}:add", "--set", "BL") == ["BLOCK="]


def test_bash_completes_both_sides_of_an_assignment(tmp_path: Path) -> None:
    """A bash that splits words at "=", and one process without numpy for each Tab once the fields are known."""
    program = tmp_path / "kernbench"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kernbench "$@"\n')
    program.chmod(0o755)
    (tmp_path / "kernels.py").write_text(KERNELS)
    script = f"""
    eval "$({COMPLETION}=bash_source kernbench)"
    compopt() {{ :; }}
    try() {{
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
        _kernbench_completion kernbench; echo "${{COMPREPLY[*]}}"
    }}
    try kernbench run vector-add --set topology.flow_c
    try kernbench run vector-add --set topology.flow_control = c
    try kernbench run vector-add --set topology.flow_control =
    try kernbench sh
    try kernbench run {tmp_path}/kernels.py : a
    try kernbench run {tmp_path}/kernels.py : add --arg B
    """
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=120, cwd=ROOT
    )
    offered = ["topology.flow_control=", "credit", "unbounded credit", "show", "add", "BLOCK="]
    assert done.stdout.splitlines() == offered, done.stderr


def test_zsh_gets_no_space_behind_what_goes_on() -> None:
    zsh = Zsh(kernbench, {}, "kernbench", COMPLETION)
    told = [zsh.format_completion(CompletionItem(value)) for value in ("topology.", "variant=", "variant=ref_ref")]
    assert told == ["open\ntopology.\n_", "open\nvariant=\n_", "plain\nvariant=ref_ref\n_"]
    assert (
        """elif [[ "$type" == "open" ]]; then\n            compadd -U -S '' -V unsorted -- "$key"\n""" in zsh.source()
    )
    if shell := shutil.which("zsh"):
        subprocess.run([shell, "-n"], input=zsh.source(), text=True, check=True, timeout=60)


def test_a_tab_imports_neither_numpy_nor_models_once_fields_are_known() -> None:
    complete("run", "vector-add", "--set", "topology.hbm")  # fills the cache
    program = (
        "import sys; from click.shell_completion import ShellComplete; from kernbench.cli.main import kernbench\n"
        "shell = ShellComplete(kernbench, {}, 'kernbench', 'X')\n"
        "print(len(shell.get_completions(['run', 'vector-add', '--set'], 'topology.hbm')),"
        " [name for name in ('numba', 'numpy', 'pydantic', 'polars', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.stdout == "15 []\n", done.stderr
