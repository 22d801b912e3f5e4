"""Sweeps that are asked for by a bench or a grid and values."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.errors import InputError
from kernbench.sweep.grid.grid import Grid, load_grid
from kernbench.sweep.plan import plan_sweep
from kernbench.sweep.request import Request, read_request, read_values
from kernbench.sweep.saved_grid import check_grid_file, save_grid


def ask(target: object, settings: dict[str, object] | None = None, **named: object) -> Grid:
    return read_request(target, Request(settings or {}, **named)).grid  # type: ignore[arg-type]


def values(grid: Grid) -> dict[str, tuple[object, ...]]:
    return {axis.name: axis.values for axis in plan_sweep(grid, "nowhere").grid.axes}


def refusal(*arguments: object, **named: object) -> str:
    with pytest.raises(InputError) as error:
        plan_sweep(ask(*arguments, **named), "nowhere")  # type: ignore[arg-type]
    return str(error.value)


@pytest.mark.parametrize(
    ("text", "numbers", "found"),
    [
        ("64", True, 64),
        ("64,128", True, [64, 128]),
        ("1, 8:32:x2", True, [1, 8, 16, 32]),
        ("16:128:x2", True, {"range": "16:128:x2"}),
        ("true", True, True),
        ("4KiB,1MiB", True, ["4KiB", "1MiB"]),
        ("ref_ref,load_ref", False, ["ref_ref", "load_ref"]),
        ("0.1:0.3:0.1", False, "0.1:0.3:0.1"),
        ("'0.1,0.2'", False, "0.1,0.2"),
        ("cdiv(M, B) * cdiv(N, B), 4", False, ["cdiv(M, B) * cdiv(N, B)", "4"]),
        ("f16[M, N]", False, "f16[M, N]"),
        ('""', False, ""),
        ("null", True, "null"),
    ],
)
def test_values_of_a_text(text: str, numbers: bool, found: object) -> None:
    assert read_values(text, numbers=numbers) == found


def test_a_bench_with_values() -> None:
    grid = ask(
        "matmul-composite",
        {"M": "1Ki:4Ki:x2", "variant": "ref_ref,load_ref", "topology.hbm.channel_gbs": "16GB/s:0.064TB/s:x2"},
        topology="tiny",
        mode="flit",
        objectives=["max achieved_tflops"],
    )
    assert (grid.name, grid.bench, grid.topology, grid.mode) == ("matmul-composite", "matmul-composite", "tiny", "flit")
    assert [str(objective) for objective in grid.objectives] == ["max achieved_tflops"]
    assert grid.file == "grid"
    assert values(grid) == {
        "M": (1024, 2048, 4096),
        "variant": ("ref_ref", "load_ref"),
        "topology.hbm.channel_gbs": (16, 32, 64),
    }


def test_a_grid_with_other_values_keeps_its_order_and_gets_a_directory_of_its_own() -> None:
    grid = ask("quickstart", {"variant": "load_ref", "M": "64,128"}, topology="tiny")
    own = load_grid("quickstart")
    assert grid.name == "quickstart-set"
    assert grid.file == own.file
    assert Path(own.file).name == "quickstart.yaml"
    assert [axis.name for axis in grid.axes] == [axis.name for axis in own.axes]
    assert values(grid)["M"] == (64, 128)
    assert values(grid)["variant"] == ("load_ref",)
    assert ask("quickstart") == own


def test_a_pattern_and_benches_of_other_front_ends() -> None:
    grid = ask("uniform", {"load": "0.1:0.3:0.1", "loads": "0.05:0.6:0.05"}, topology="mesh_8x8")
    assert values(grid) == {"load": (0.1, 0.2, 0.3), "loads": ("0.05:0.6:0.05",)}
    assert values(ask("vector_example", {"rows": "4,8"}, topology="ascend_tiny")) == {"rows": (4, 8)}
    assert values(ask("tanto-matmul", {"M": [64, 128]}, topology="tensix_tiny")) == {"M": (64, 128)}


@pytest.mark.parametrize("network", ["llama-3.1-8b", "llama-3.2-1b"])
def test_a_network_keeps_the_dots_of_its_name(network: str) -> None:
    assert ask(network, {"batch": "1,2"}).name == network


def test_a_grid_hides_the_bench_of_its_name() -> None:
    found = read_request("attention-decode", Request({"users": "1,4"}))
    assert (found.hides, found.grid.name) == ("attention-decode", "attention-decode-set")
    assert len(found.grid.axes) > 1
    bench = read_request("bench:attention-decode", Request({"users": "1,4"}))
    assert (bench.hides, bench.grid.name, len(bench.grid.axes)) == (None, "attention-decode", 1)


def test_units_in_a_grid_are_numbers_in_its_conditions_and_objectives() -> None:
    grid = load_grid(
        {
            "bench": "ccl-allreduce",
            "topology": "tiny",
            "parameters": {"bytes_per_pe": {"range": ["1KiB", "4KiB", "1KiB"]}, "n_sips": {"min": 1, "max": 2}},
            "constraints": "bytes_per_pe > 2048",
            "objectives": "min bytes_per_pe",
        }
    )
    plan = plan_sweep(grid, "nowhere")
    assert sorted({point.parameters["bytes_per_pe"] for point in plan.points}) == [3072, 4096]


def test_what_is_saved_is_the_same_sweep(tmp_path: Path) -> None:
    settings = {"M": "64,128", "topology.hbm.channel_gbs": "16:64:x2", "dtype": "bf16"}
    asked = read_request("matmul-composite", Request(settings, "tiny", None, ["min latency_ns"]))
    file = tmp_path / "mine.yaml"
    save_grid(asked.renamed("mine"), file)
    save_grid(asked.renamed("mine"), file)  # the same text is no loss
    read = load_grid(file)
    assert read.name == "mine"
    keys = [list(plan_sweep(grid, tmp_path).points.keys) for grid in (asked.grid, read)]
    assert keys[0] == keys[1]
    with pytest.raises(InputError, match=r"mine.yaml, which holds something else; remove it, or name another file$"):
        save_grid(read_request("matmul-composite", Request({"M": "64"}, "tiny")), file)
    with pytest.raises(InputError, match=r"^--save takes a file such as mine.yaml, and got 'mine.json'$"):
        check_grid_file(Path("mine.json"))


@pytest.mark.parametrize(
    ("breaks", "reason"),
    [("write_bytes", "No space left on device"), ("replace", "Permission denied")],
)
def test_a_grid_is_saved_whole_or_not_at_all(
    breaks: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *_: object) -> None:
        path.write_text("bench: matm", encoding="utf-8")  # what there was room for
        raise OSError(0, reason)

    monkeypatch.setattr(Path, breaks, refuse)
    with pytest.raises(InputError, match=rf"^--save cannot write \S+mine.yaml: {reason}; give another file$"):
        save_grid(read_request("matmul-composite", Request({"M": "64"}, "tiny")), tmp_path / "mine.yaml")
    assert list(tmp_path.iterdir()) == []


def test_texts_that_look_like_other_things_are_saved_as_texts(tmp_path: Path) -> None:
    asked = read_request("uniform", Request({"loads": "'0.1,0.2'"}, "mesh_8x8")).renamed("odd")
    save_grid(asked, tmp_path / "odd.yaml")
    assert load_grid(tmp_path / "odd.yaml").axes[0].values == ("0.1,0.2",)
    quoted = read_request({"bench": "vector-add", "description": "1e9"}, Request({})).renamed("q")
    save_grid(quoted, tmp_path / "q.yaml")
    assert load_grid(tmp_path / "q.yaml").description == "1e9"


def test_what_is_refused_has_its_place_and_a_remedy() -> None:
    assert refusal("matmul-composit").startswith(
        "there is no grid and no bench 'matmul-composit'; did you mean 'matmul-composite'? Known: attention-decode, "
    )
    assert refusal("matmul-composite", {"MM": "64"}, topology="tiny").startswith(
        "matmul-composite has no parameter 'MM'; did you mean 'M'? --set takes its parameters (M, K, N, dtype, variant"
    )
    assert refusal("matmul-composite", {"topology.hbm.chanel_gbs": "64"}, topology="tiny").startswith(
        "--set topology.hbm.chanel_gbs: unknown topology field 'hbm.chanel_gbs'; did you mean 'hbm.channel_gbs'?"
    )
    assert refusal("matmul-composite", {"M": "1KiB"}, topology="tiny") == (
        "--set M: parameter 'M' of bench 'matmul-composite' is int, as its default 512; "
        "got '1KiB' with the unknown unit 'KiB', expected a number, alone or in one of: cycle, k, M, G, Ki, Mi, Gi"
    )
    assert refusal("matmul-composite", {"M": "64,,4"}) == (
        "--set M: got '64,,4', expected values with commas between them"
    )
    assert refusal("matmul-composite", {"M": "64"}, topology="tinny").startswith(
        "--topology: unknown topology 'tinny'; did you mean 'tiny'?"
    )
    assert refusal("matmul-composite", {"M": "64"}, objectives=["latency_ns"]) == (
        "--objective: objectives: got 'latency_ns', expected min or max and a column, such as 'min latency_ns'"
    )
    assert refusal("nope.yaml").startswith("unknown sweep 'nope.yaml'")
    assert "the value" in refusal("a\0b") or "NUL" in refusal("a\0b")
