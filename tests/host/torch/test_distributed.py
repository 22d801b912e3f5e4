"""`torch.distributed`: right numbers on every PE for every layout, lower bounds that hold, sentences for what cannot be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kernbench import DPPolicy, RunResult, bench, run
from kernbench.errors import DeadlockError, InputError, KernBenchError, KernelError, RunError
from tests.pairs import pairwise

HERE = "tests/host/torch/test_distributed.py"
ONE = DPPolicy(num_cubes=1, num_pes=1)
ROWS = DPPolicy(cube="row_wise", num_pes=1)
LAYOUTS = {
    "one": ONE,
    "copies": DPPolicy(),
    "copies in a cube": DPPolicy(cube="row_wise"),
    "copies over cubes": DPPolicy(pe="column_wise"),
    "split": DPPolicy(cube="row_wise", pe="column_wise"),
    "tiles": DPPolicy(cube="tiled_row_major", pe="tiled_column_major"),
}
ALL_REDUCES = ("lrab_hierarchical_allreduce", "ring", "ring_2d", "rhd", "tree", "auto")


def spawn(worker: Callable[..., object], sips: int = 2, *, init: bool = True, ranks: int = 0, **given) -> RunResult:
    """A run whose ranks call `worker(rank, torch)`; `given` are settings of the group or topology fields (with __)."""
    settings = {name: value for name, value in given.items() if "__" not in name and name not in ("verify", "live")}
    overrides = {name.replace("__", "."): value for name, value in given.items() if "__" in name}

    @bench("spawned", "For a test")
    def spawned(torch) -> None:
        if init:
            torch.distributed.init_process_group(backend="ahbm", **settings)
        torch.multiprocessing.spawn(worker, args=(torch,), nprocs=ranks or sips)

    overrides |= {"sips.count": sips}
    return run(spawned, "tiny", overrides=overrides, verify=given.get("verify", False), live=given.get("live", False))


def refusal(worker: Callable[..., object], kind: type[KernBenchError] = InputError, **given) -> str:
    """The sentence of a run that fails."""
    with pytest.raises(kind) as error:
        spawn(worker, **given)
    return str(error.value)


def right(result: RunResult) -> bool:
    return (result.verified, result.mismatches) == (True, ())


# Numbers


@pytest.mark.parametrize(("layout", "algorithm", "sips"), pairwise([*LAYOUTS], ALL_REDUCES, [1, 3]))
def test_all_reduce_is_the_sum_over_ranks_whatever_the_layout(layout: str, algorithm: str, sips: int) -> None:
    tensors = []

    def worker(rank: int, torch) -> None:
        tensor = torch.randn((5, 333), "f32", LAYOUTS[layout], name=f"t{rank}")
        tensors.append(tensor)
        torch.distributed.all_reduce(tensor)
        torch.expect(tensor, lambda: sum(t.initial() for t in tensors), 1e-4, every_copy=True)

    result = spawn(worker, sips, algorithm=algorithm, verify=True)
    assert right(result)
    (found,) = result.collectives
    assert (found["collective"], found["world_size"], found["participants"]) == ("all_reduce", sips, sips)
    assert found["latency_ns"] >= max(found["bound_ns"], found["task_bound_ns"])


@pytest.mark.parametrize("algorithm", ALL_REDUCES)
@pytest.mark.parametrize("layout", ["split", "copies in a cube"])
def test_parts_may_be_empty(algorithm: str, layout: str) -> None:
    def worker(rank: int, torch) -> None:
        tensor = torch.full((1, 3), rank + 1, "i32", LAYOUTS[layout])
        torch.distributed.all_reduce(tensor)
        torch.expect(tensor, np.full((1, 3), 6), every_copy=True)

    assert right(spawn(worker, 3, algorithm=algorithm, verify=True))


GRIDS = {
    "torus of 2 x 3": (6, {"sips__topology": "torus_2d", "sips__w": 2, "sips__h": 3}),
    "torus of 3 x 3, direct": (9, {"sips__topology": "torus_2d", "sips__wiring": "direct"}),
    "mesh of 3 x 2": (6, {"sips__topology": "mesh_2d_no_wrap", "sips__w": 3, "sips__h": 2}),
    "torus of one column": (3, {"sips__topology": "torus_2d", "sips__w": 1, "sips__h": 3}),
    "ring of five, direct": (5, {"sips__wiring": "direct"}),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("grid", "algorithm", "layout", "elements"),
    pairwise([*GRIDS], ["ring", "ring_2d", "auto"], ["split", "tiles", "copies in a cube"], [1, 37]),
)
def test_lanes_of_a_grid_come_right(grid: str, algorithm: str, layout: str, elements: int) -> None:
    """PEs that reduce side by side go on different ways: parts of several sizes, fewer elements than ranks, none at all."""
    sips, fields = GRIDS[grid]

    def worker(rank: int, torch) -> None:
        tensor = torch.full((7, elements), rank + 1, "i32", LAYOUTS[layout])
        torch.distributed.all_reduce(tensor)
        torch.expect(tensor, np.full((7, elements), sips * (sips + 1) // 2), every_copy=True)

    result = spawn(worker, sips, algorithm=algorithm, verify=True, **fields)
    assert right(result)
    (found,) = result.collectives
    assert found["latency_ns"] >= max(found["bound_ns"], found["task_bound_ns"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "elements", "algorithm"),
    pairwise(
        ["f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i32", "i16", "i8", "u32", "u16", "u8"],
        [1, 11, 12, 4099],
        ["ring", "ring_2d", "auto"],
    ),
)
def test_every_type_and_awkward_sizes(dtype: str, elements: int, algorithm: str) -> None:
    """Twelve participants: fewer elements than they are, as many, and a prime number of them."""

    def worker(rank: int, torch) -> None:
        tensor = torch.full((2, elements), 1, dtype, ROWS)
        torch.distributed.all_reduce(tensor)
        torch.expect(tensor, np.full((2, elements), 12))

    assert right(spawn(worker, 6, algorithm=algorithm, verify=True, sips__topology="torus_2d", sips__w=3, sips__h=2))


@pytest.mark.parametrize("op", ["sum", "prod", "min", "max"])
@pytest.mark.parametrize("algorithm", ALL_REDUCES)
def test_parts_of_cubes_are_terms_where_one_pe_a_cube_holds_them(algorithm: str, op: str) -> None:
    tensors = []

    def worker(rank: int, torch) -> None:
        tensor = torch.randn((2, 3000), "f32", ROWS, name=f"t{rank}")
        tensors.append(tensor)
        torch.distributed.all_reduce(tensor, op)
        reduce = {"sum": np.sum, "prod": np.prod, "min": np.min, "max": np.max}[op]
        torch.expect(
            tensor, lambda: np.broadcast_to(reduce([t.initial() for t in tensors], axis=(0, 1)), (2, 3000)), 1e-4
        )

    result = spawn(worker, 3, algorithm=algorithm, verify=True)
    assert right(result)
    assert result.collectives[0]["participants"] == 6
    assert result.collectives[0]["bytes_per_pe"] == 12_000
    assert result.collectives[0]["times_bound"] >= 1


def test_such_a_tensor_may_be_summed_over_ranks_alone() -> None:
    def worker(rank: int, torch) -> None:
        tensor = torch.full((2, 30), rank + 1, dp=ROWS)
        torch.distributed.all_reduce(tensor, over="ranks")
        torch.expect(tensor, np.full((2, 30), 3))

    assert right(spawn(worker, verify=True))


@pytest.mark.parametrize(
    ("topology", "grid"), [("ring_1d", (6, 1)), ("torus_2d", (2, 3)), ("torus_2d", (3, 2)), ("mesh_2d_no_wrap", (2, 3))]
)
@pytest.mark.parametrize("root", ["centre", "corner"])
@pytest.mark.parametrize("kind", ["tcm", "sram", "hbm"])
def test_the_hierarchy_on_every_topology(topology: str, grid: tuple[int, int], root: str, kind: str) -> None:
    def worker(rank: int, torch) -> None:
        tensor = torch.full((2, 5000), rank + 1, dp=ROWS)
        torch.distributed.all_reduce(tensor)
        torch.expect(tensor, np.full((2, 5000), 42))

    fields = {"sips__topology": topology, "sips__w": grid[0], "sips__h": grid[1]}
    named = {"algorithm": "lrab_hierarchical_allreduce", "buffer_kind": kind, "root": root}
    result = spawn(worker, 6, verify=True, **named, **fields)
    assert right(result)
    assert (result.collectives[0]["sip_topology"], result.collectives[0]["buffer_kind"]) == (topology, kind)
    assert result.collectives[0]["times_bound"] >= 1


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sips", [1, 2, 5])
def test_the_other_collectives(layout: str, sips: int) -> None:
    shape, dp = (5, 251), LAYOUTS[layout]
    given: dict[int, dict[str, list]] = {}

    def worker(rank: int, torch) -> None:
        dist = torch.distributed

        def make(name: str, count: int = 1) -> list:
            made = [torch.randn(shape, "f32", dp, name=f"{name}{rank}.{i}") for i in range(count)]
            given.setdefault(rank, {})[name] = made
            return made

        def expect(tensor, reference: Callable[[], np.ndarray]) -> None:
            torch.expect(tensor, reference, 1e-4, every_copy=True)

        (gathered,), out = make("all_gather"), [torch.empty(shape, "f32", dp) for _ in range(sips)]
        dist.all_gather(out, gathered)
        for r in range(sips):
            expect(out[r], lambda r=r: given[r]["all_gather"][0].initial())
        terms, (summed,) = make("reduce_scatter", sips), [torch.empty(shape, "f32", dp)]
        dist.reduce_scatter(summed, terms)
        expect(summed, lambda: sum(given[r]["reduce_scatter"][rank].initial() for r in range(sips)))
        sent, came = make("all_to_all", sips), [torch.empty(shape, "f32", dp) for _ in range(sips)]
        dist.all_to_all(came, sent)
        for r in range(sips):
            expect(came[r], lambda r=r: given[r]["all_to_all"][rank].initial())
        (cast,), root = make("broadcast"), sips - 1
        dist.broadcast(cast, root)
        expect(cast, lambda: given[root]["broadcast"][0].initial())
        (reduced,) = make("reduce")
        dist.reduce(reduced, sips // 2, "max")
        if rank == sips // 2:
            expect(reduced, lambda: np.max([given[r]["reduce"][0].initial() for r in range(sips)], axis=0))
        else:
            expect(reduced, reduced.initial)
        dist.barrier()

    result = spawn(worker, sips, verify=True)
    assert right(result)
    names = ["all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "barrier"]
    assert [one["collective"] for one in result.collectives] == names
    assert all(one["latency_ns"] >= max(one["bound_ns"], one["task_bound_ns"]) for one in result.collectives)


def all_reduce(elements: int, sips: int = 2, **given) -> dict:
    """The metrics of an all-reduce over cubes and ranks, whose numbers are right."""

    def worker(rank: int, torch) -> None:
        tensor = torch.full((2, elements), rank + 1, "i32", ROWS)
        torch.distributed.all_reduce(tensor)
        torch.expect(tensor, np.full((2, elements), torch.cubes_per_sip * sips * (sips + 1) // 2))

    result = spawn(worker, sips, verify=True, **given)
    assert right(result)
    return dict(result.collectives[0])


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALL_REDUCES[:-1])
@pytest.mark.parametrize("n_slots", [1, 2, 4])
@pytest.mark.parametrize("sips", [2, 3])
def test_batches_and_pieces_in_flight_come_right_with_few_slots(algorithm: str, n_slots: int, sips: int) -> None:
    found = all_reduce(150_001, sips, algorithm=algorithm, n_slots=n_slots, slot_size=16384)
    assert found["times_bound"] >= 1
    assert (found["n_slots"], found["slot_bytes"], found["piece_bytes"]) == (n_slots, 16384, 16384)


@pytest.mark.parametrize("algorithm", ["ring", "ring_2d"])
def test_pieces_of_a_share_are_in_flight_together(algorithm: str) -> None:
    """With one slot each piece waits for the one before; with four it is sent while that is added."""
    one, four = (all_reduce(16 * 128, algorithm=algorithm, slot_size=512, n_slots=slots) for slots in (1, 4))
    assert four["latency_ns"] < 0.8 * one["latency_ns"]


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["lrab_hierarchical_allreduce", "tree"])
def test_a_batch_goes_up_while_the_one_before_comes_down(algorithm: str) -> None:
    """A batch is 64 pieces of 4 KiB: three together take less than three of them alone."""
    alone, three = (all_reduce(batches * 65536, algorithm=algorithm, slot_size=4096) for batches in (1, 3))
    assert three["latency_ns"] < 2.9 * alone["latency_ns"]


DIRECT = {"sips__wiring": "direct"}
TORUS, MESH = {"sips__topology": "torus_2d"}, {"sips__topology": "mesh_2d_no_wrap"}
WIRINGS = {
    "one SIP": (1, {}),
    "two": (2, {}),
    "ring of seven, direct": (7, DIRECT),
    "torus of six": (6, {**TORUS, "sips__w": 2, "sips__h": 3}),
    "torus of eight, direct": (8, {**TORUS, **DIRECT, "sips__w": 2, "sips__h": 4}),
    "torus of fifteen, direct": (15, {**TORUS, **DIRECT, "sips__w": 3, "sips__h": 5}),
    "torus of one row": (5, {**TORUS, **DIRECT, "sips__w": 1, "sips__h": 5}),
    "mesh of four": (4, MESH),
    "mesh of six, direct": (6, {**MESH, **DIRECT, "sips__w": 3, "sips__h": 2}),
    "chain of thirteen, direct": (13, {**MESH, **DIRECT, "sips__w": 1, "sips__h": 13}),
    "one PE each": (8, {"sip__cubes__w": 1, "sip__cubes__h": 1}),
    "slow endpoints": (3, {"pcie_ep__gbs": 16}),
    "slow dies": (2, {"ucie__gbs": 8, "ucie__overhead_ns": 100}),
}
REGRET = 0.05  # what the choice may lose, as a share of the best time
ACCURACY = 0.12  # of estimates of what is chosen


@pytest.mark.slow
@pytest.mark.parametrize("wiring", WIRINGS)
@pytest.mark.parametrize("elements", [3, 1024, 8192, 65536])
def test_auto_takes_what_is_about_the_quickest(wiring: str, elements: int) -> None:
    """Within REGRET of the best algorithm, each with its best pieces."""
    sips, fields = WIRINGS[wiring]
    times = {name: all_reduce(elements, sips, algorithm=name, **fields)["latency_ns"] for name in ALL_REDUCES[:-1]}
    chosen = all_reduce(elements, sips, **fields)
    assert chosen["chosen"]
    assert chosen["latency_ns"] <= (1 + REGRET) * min(times.values()), times
    assert chosen["estimate_ns"] == pytest.approx(chosen["latency_ns"], rel=ACCURACY)


def test_auto_depends_on_size_and_wiring() -> None:
    fast = {elements: all_reduce(elements)["algorithm"] for elements in (16, 65536)}
    assert fast[16] == "lrab_hierarchical_allreduce"
    assert fast[65536] == "ring_2d_allreduce"
    named = all_reduce(16, algorithm="ring")
    assert (named["algorithm"], named["chosen"]) == ("ring_allreduce", False)


def test_slots_follow_latency_and_bandwidth_unless_given() -> None:
    many = {"pe__scratch_bytes": "8 MiB", "pe_tcm__bytes": "64 MiB"}
    quick, slow = (
        all_reduce(16, 1, ucie__overhead_ns=overhead, algorithm="ring", **many)["slot_bytes"] for overhead in (8, 80)
    )
    assert (quick, slow) == (65536, 524288)  # 16 * (2 * overhead + wires) * 128 GB/s
    assert all_reduce(16, slot_size=1000)["slot_bytes"] == 1000
    in_sram = all_reduce(16, ucie__overhead_ns=4000, buffer_kind="sram", n_slots=8, sram__bytes="1 MiB")
    assert in_sram["slot_bytes"] * 8 * 12 * 2 <= 2**20 // 4  # of both PEs of a cube


def test_slots_of_an_own_wiring_share_the_memory_among_its_directions() -> None:
    """Latency asks for 1 MiB; a sum takes no more than a quarter of the scratch, and all slots a quarter of the TCM."""
    slow = {"ucie__overhead_ns": 200}
    on_grid, ring = (
        all_reduce(16, 2, algorithm=name, **slow)["slot_bytes"] for name in ("lrab_hierarchical_allreduce", "ring")
    )
    assert ring * 4 * 3 <= (16 << 20) // 4  # to the other cube, and both ways round the SIPs
    assert ring >= 2 * on_grid
    roomy = all_reduce(16, 2, algorithm="ring", pe__scratch_bytes="8 MiB", pe_tcm__bytes="64 MiB", **slow)
    assert roomy["slot_bytes"] == 1 << 20


def test_slots_take_no_more_than_half_of_what_is_left() -> None:
    def worker(rank: int, torch) -> None:
        for elements in (16, 2048, 40_000, 200_000):  # several algorithms, each with slots of its own
            tensor = torch.full((2, elements), rank + 1, "i32", ROWS)
            torch.distributed.all_reduce(tensor)
            torch.expect(tensor, np.full((2, elements), 5 * 6))

    result = spawn(worker, 5, verify=True, ucie__overhead_ns=200, pe_tcm__bytes="2 MiB")
    assert right(result)
    assert len({found["algorithm"] for found in result.collectives}) > 1


@pytest.mark.slow
@pytest.mark.parametrize("n_slots", [1, 2, 4])
@pytest.mark.parametrize("sips", [2, 5])
def test_sums_on_their_way_to_their_ranks_with_few_slots(n_slots: int, sips: int) -> None:
    def worker(rank: int, torch) -> None:
        terms = [torch.full((2, 70_001), rank + 10 * r, "i32", ROWS) for r in range(sips)]
        out = torch.empty((2, 70_001), "i32", ROWS)
        torch.distributed.reduce_scatter(out, terms)
        torch.expect(out, np.full((2, 70_001), sum(range(sips)) + 10 * rank * sips))

    result = spawn(worker, sips, n_slots=n_slots, slot_size=8192, verify=True)
    assert right(result)
    (found,) = result.collectives
    assert found["latency_ns"] >= max(found["bound_ns"], found["task_bound_ns"])


def all_to_all(algorithm: str, sips: int, elements: int, tmp_path: Path, **given) -> dict:
    """The metrics of an all-to-all, whose numbers are right."""
    (tmp_path / "own.yaml").write_text(f"defaults: {{collectives: {{all_to_all: {algorithm}}}}}\n")

    def worker(rank: int, torch) -> None:
        sent = [torch.full((2, elements), 100 * rank + r, "i32", LAYOUTS["split"]) for r in range(sips)]
        came = [torch.empty((2, elements), "i32", LAYOUTS["split"]) for _ in range(sips)]
        torch.distributed.all_to_all(came, sent)
        for r in range(sips):
            torch.expect(came[r], np.full((2, elements), 100 * r + rank))

    result = spawn(worker, sips, verify=True, config=tmp_path / "own.yaml", **given)
    assert right(result)
    return dict(result.collectives[0])


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["direct_all_to_all", "ring_all_to_all"])
@pytest.mark.parametrize("sips", [1, 2, 5, 9])
@pytest.mark.parametrize("n_slots", [1, 3])
def test_all_to_all_with_fewer_slots_than_ranks(algorithm: str, sips: int, n_slots: int, tmp_path: Path) -> None:
    found = all_to_all(algorithm, sips, 500, tmp_path, n_slots=n_slots, slot_size=128)
    assert found["latency_ns"] >= max(found["bound_ns"], found["task_bound_ns"])


def test_an_all_to_all_has_slots_for_its_ranks(tmp_path: Path) -> None:
    """Sent directly, everyone sends P - 1 buffers instead of P (P - 1) / 2."""
    direct, relayed = (all_to_all(f"{how}_all_to_all", 6, 4096, tmp_path)["latency_ns"] for how in ("direct", "ring"))
    assert direct < relayed / 2
    assert all_to_all("auto", 6, 4096, tmp_path)["algorithm"] == "direct_all_to_all"
    few = {"buffer_kind": "sram", "slot_size": 16384, "n_slots": 3, "sram__bytes": "1280 KiB"}
    crowded = all_to_all("auto", 6, 4096, tmp_path, **few)
    assert crowded["algorithm"] == "ring_all_to_all"  # whose slots leave memory for others


def test_bandwidths_follow_the_time(tmp_path: Path) -> None:
    reduced = all_reduce(1024, 3)
    assert reduced["algbw_gbs"] == pytest.approx(4096 / reduced["latency_ns"])
    assert reduced["busbw_gbs"] == pytest.approx(reduced["algbw_gbs"] * 2 * 5 / 6)
    exchanged = all_to_all("auto", 3, 1024, tmp_path)
    assert exchanged["algbw_gbs"] == pytest.approx(3 * 2 * 4096 / exchanged["latency_ns"])
    assert exchanged["busbw_gbs"] == pytest.approx(exchanged["algbw_gbs"] * 2 / 3)


@pytest.mark.slow
def test_sixty_four_ranks() -> None:
    count = 64

    def worker(rank: int, torch) -> None:
        dist = torch.distributed

        def full(value: float):
            return torch.full(40, value, "i32", ONE)

        summed, cast, largest = full(rank), full(rank), full(rank)
        dist.all_reduce(summed)
        torch.expect(summed, np.full(40, count * (count - 1) // 2))
        dist.broadcast(cast, 5)
        torch.expect(cast, np.full(40, 5))
        dist.reduce(largest, 7, "max")
        torch.expect(largest, np.full(40, count - 1 if rank == 7 else rank))
        dist.barrier()

    result = spawn(worker, count, sips__topology="torus_2d", verify=True)
    assert right(result)
    assert all(one["latency_ns"] >= one["bound_ns"] for one in result.collectives)


def test_live_kernels_give_the_same_numbers_and_times() -> None:
    def worker(rank: int, torch) -> None:
        tensor = torch.full((2, 3000), rank + 1, dp=ROWS)
        torch.distributed.all_reduce(tensor)
        torch.expect(tensor, np.full((2, 3000), 6))

    recorded, live = (spawn(worker, live=live, verify=True) for live in (False, True))
    assert right(recorded)
    assert right(live)
    assert recorded.collectives == live.collectives


def test_a_rank_may_read_and_go_on() -> None:
    def worker(rank: int, torch) -> None:
        torch.distributed.init_process_group("ahbm", rank=rank, world_size=2)
        assert (torch.distributed.get_rank(), torch.ahbm.current_device()) == (rank, rank)
        tensor = torch.ones(8)
        for turn in range(1, 3):
            torch.distributed.all_reduce(tensor, op=torch.distributed.ReduceOp.SUM)
            assert (tensor.numpy() == 2**turn).all()
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()

    spawn(worker, init=False)


def test_a_barrier_holds_back_who_is_early() -> None:
    def slow(cycles: int, *, tl) -> None:
        tl.cycles(cycles)

    def worker(rank: int, torch) -> None:
        torch.launch("slow", slow, 5000 if rank else 0)
        torch.distributed.barrier()
        torch.launch("after", slow, 1)

    launches = spawn(worker).op_log().filter(op_name="dispatch")
    after = launches.filter(launches["thread"].str.contains("after"))["start_fs"]
    assert after.min() >= 5000 * 1_000_000


def test_a_kernel_that_is_launched_has_the_neighbours_of_the_group() -> None:
    def swap(ptr: int, *, tl) -> None:
        tl.send("global_E", tl.load(ptr, 8))
        tl.store(ptr, tl.recv("global_W", 8))

    def worker(rank: int, torch) -> None:
        tensor = torch.full(8, rank, dp=ONE)
        torch.launch("swap", swap, tensor)
        torch.expect(tensor, np.full(8, (rank - 1) % 3))

    assert right(spawn(worker, 3, verify=True))


def test_telling_neighbours_takes_time() -> None:
    log = spawn(lambda rank, torch: torch.ones(8)).op_log()
    assert log.filter(op_name="ipcq_install").height


def test_the_contract_alone_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "benches" / "ccl").mkdir(parents=True)
    (tmp_path / "benches" / "ccl" / "mine.py").write_text(
        "SIP_TOPO_RING, SIP_TOPO_TORUS, SIP_TOPO_MESH = 0, 1, 2\n"
        "TOPO_NAME_TO_KIND = {'ring_1d': SIP_TOPO_RING}\n"
        "def kernel_args(world_size, n_elem, *, cube_w=4, cube_h=4):\n"
        "    return n_elem, cube_w, cube_h, world_size\n"
        "def kernel(t_ptr, n_elem, cube_w, cube_h, world_size, rank, kind, sip_w, sip_h, *, tl):\n"
        "    if tl.program_id(0) == 0:\n"
        "        cube = tl.program_id(1)\n"
        "        told = [n_elem, cube_w, cube_h, world_size, rank, kind, sip_w, sip_h]\n"
        "        for i, value in enumerate(told):\n"
        "            tl.store(t_ptr + 2 * (cube * n_elem + i), tl.full(1, value))\n"
    )
    (tmp_path / "ccl.yaml").write_text("defaults: {algorithm: own}\nalgorithms:\n  own: {module: mine}\n")

    def worker(rank: int, torch) -> None:
        tensor = torch.zeros((2, 8), dp=ROWS)
        torch.distributed.all_reduce(tensor)
        torch.expect(tensor, np.tile([8, 2, 1, 2, rank, 0, 2, 1], (2, 1)))

    assert right(spawn(worker, verify=True))


# What cannot be


def nothing(rank: int, torch) -> None:
    pass


def test_other_backends_are_refused_by_name() -> None:
    def worker(rank: int, torch) -> None:
        torch.distributed.init_process_group("nccl")

    assert refusal(worker, init=False) == "rank 0: torch.distributed has no backend 'nccl'; known: ahbm"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda torch: torch.distributed.send(torch.ones(8), 1),
            "torch.distributed has no 'send': ranks talk through collectives; kernels talk to neighbours with tl.send and "
            "tl.recv",
        ),
        (
            lambda torch: torch.distributed.new_group([0]),
            "torch.distributed has no 'new_group': there is one process group, of all ranks",
        ),
        (
            lambda torch: torch.multiprocessing.Queue(),
            "torch.multiprocessing has no 'Queue': ranks are greenlets of one process; use spawn(fn, args, nprocs)",
        ),
        (
            lambda torch: torch.cuda.set_device(0),
            "torch has no 'cuda': the devices are SIPs; use torch.ahbm or torch.accelerator",
        ),
        (
            lambda torch: torch.ahbm.set_devices(0),
            "torch.ahbm has no 'set_devices'; did you mean 'set_device'? Known: current_device, device_count, is_available, "
            "set_device, synchronize",
        ),
        (
            lambda torch: torch.accelerator.set_device_index(2),
            "there is no device 2; this run has devices 0 to 1",
        ),
        (
            lambda torch: torch.distributed.all_reduce(torch.ones(8), async_op=True),
            "all_reduce got async_op=True; a launch is never waited for: leave it out",
        ),
        (
            lambda torch: torch.distributed.all_reduce(torch.ones(8), group=3),
            "all_reduce got group=3; there is one process group, of all ranks: leave it out",
        ),
        (
            lambda torch: torch.distributed.all_reduce(torch.ones(8), "avg"),
            "all_reduce got op='avg'; known: max, min, prod, sum",
        ),
        (
            lambda torch: torch.distributed.all_reduce(np.ones(2)),
            "all_reduce got array([1., 1.]); give tensors of this run",
        ),
        (
            lambda torch: torch.distributed.all_reduce(torch.ones(8), torch.distributed.ReduceOp.AVG),
            "torch.distributed.ReduceOp has no 'AVG': use SUM and divide the terms before, or the sum afterwards",
        ),
        (
            lambda torch: torch.ones(8, torch.float16),
            "torch has no 'float16': element types are names, such as dtype='f16'",
        ),
        (lambda torch: torch.distributed.broadcast(torch.ones(8), 2), "broadcast got rank 2; ranks are 0 to 1"),
        (
            lambda torch: torch.distributed.all_gather([torch.ones(8)], torch.ones(8)),
            "all_gather got a list of 1 tensors; give 2, one for each rank",
        ),
        (
            lambda torch: torch.distributed.init_process_group("ahbm", n_slots=2),
            "init_process_group got other settings than in the rank before; give all ranks the same",
        ),
        (
            lambda torch: torch.distributed.init_process_group("ahbm", rank=1),
            "init_process_group got rank=1 in rank 0; leave it out",
        ),
        (
            lambda torch: torch.distributed.init_process_group("ahbm", init_method="tcp://x"),
            "init_process_group got init_method='tcp://x'; ranks are in one process: leave it out",
        ),
    ],
)
def test_calls_that_are_refused(call: Callable, sentence: str) -> None:
    assert refusal(lambda rank, torch: call(torch)) == f"rank 0: {sentence}"


def test_what_is_missing_answers_hasattr() -> None:
    def worker(rank: int, torch) -> None:
        assert not hasattr(torch, "cuda")
        assert not hasattr(torch.distributed, "isend")
        assert hasattr(torch.distributed, "all_reduce")
        assert torch.distributed.get_backend() == "ahbm"
        torch.ones(8)

    spawn(worker)


def test_no_process_group() -> None:
    def worker(rank: int, torch) -> None:
        assert not torch.distributed.is_initialized()
        torch.distributed.get_world_size()

    assert refusal(worker, RunError, init=False) == (
        "rank 0: get_world_size needs a process group; call torch.distributed.init_process_group(backend='ahbm') before it"
    )


def test_wrong_world_sizes() -> None:
    assert refusal(nothing, ranks=3) == "spawn got nprocs=3, but this run has 2 SIPs; give 1 to 2"
    assert refusal(nothing, ranks=1) == (
        "spawn got nprocs=1, but the process group has a world size of 2; spawn with nprocs=2"
    )

    def late(rank: int, torch) -> None:
        torch.distributed.init_process_group("ahbm")

    assert refusal(late, ranks=1, init=False) == (
        "rank 0: 1 ranks call init_process_group, but benches/ccl/ccl.yaml and the topology make the world size 2; "
        "spawn with nprocs=2"
    )

    def given(rank: int, torch) -> None:
        torch.distributed.init_process_group("ahbm", world_size=4)

    assert refusal(given, init=False) == (
        "rank 0: init_process_group got world_size=4, but benches/ccl/ccl.yaml and the topology make it 2; "
        "leave it out, or change defaults.world_size or sips.count"
    )


def test_fewer_ranks_than_sips(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text("defaults: {world_size: 2}\n")

    def worker(rank: int, torch) -> None:
        tensor = torch.full(8, rank + 1, dp=ONE)
        torch.distributed.all_reduce(tensor)
        torch.expect(tensor, np.full(8, 3))

    assert right(spawn(worker, 4, ranks=2, config=tmp_path / "two.yaml", verify=True))


def test_tensors_that_are_not_alike() -> None:
    def shapes(rank: int, torch) -> None:
        torch.distributed.all_reduce(torch.ones(8 + rank, name=f"t{rank}"))

    assert refusal(shapes) == (
        "rank 1: all_reduce got 't0' with shape (8,) in rank 0 and 't1' with shape (9,) in rank 1; make them alike"
    )

    def ops(rank: int, torch) -> None:
        torch.distributed.all_reduce(torch.ones(8), "max" if rank else "sum")

    assert refusal(ops) == (
        "rank 1: all_reduce got 'sum', 'ranks' in rank 0 and 'max', 'ranks' in rank 1; give all ranks the same"
    )

    def device(rank: int, torch) -> None:
        torch.ahbm.set_device(0)
        torch.distributed.all_reduce(torch.ones(8, name="t"))

    assert refusal(device) == (
        "rank 1: all_reduce got tensor 't' of SIP 0 in rank 1, whose SIP is 1; "
        "call torch.ahbm.set_device(1) before making it"
    )


def test_parts_that_are_no_terms() -> None:
    def uneven(rank: int, torch) -> None:
        torch.distributed.all_reduce(torch.ones((3, 8), dp=ROWS, name="t"))

    assert refusal(uneven) == (
        "rank 1: all_reduce over cubes got tensor 't', whose parts have 8 to 16 elements; "
        "make its size a multiple of the number of parts"
    )

    def copies(rank: int, torch) -> None:
        torch.distributed.all_reduce(torch.ones(8, name="t"), over="cubes")

    assert refusal(copies) == (
        "rank 1: all_reduce over cubes got tensor 't', of which every cube holds a copy; "
        "split it over the cubes with DPPolicy(cube='row_wise'), or reduce over ranks"
    )


def test_a_slot_that_holds_nothing() -> None:
    def worker(rank: int, torch) -> None:
        torch.distributed.all_reduce(torch.ones(8, "f32"))

    assert refusal(worker, slot_size=2) == (
        "rank 1: benches/ccl/ccl.yaml: slots of 2 bytes hold no element of f32; raise slot_size"
    )


def kernel_refusal(kernel: Callable[..., None], kind: type[KernBenchError] = KernelError) -> str:
    def worker(rank: int, torch) -> None:
        torch.launch("k", kernel, torch.ones(65536, dp=ONE))

    return refusal(worker, kind)


def test_kernels_that_send_where_they_cannot() -> None:
    def north(ptr: int, *, tl) -> None:
        tl.send("N", tl.load(ptr, 8))

    def up(ptr: int, *, tl) -> None:
        tl.send("up", tl.load(ptr, 8))

    def large(ptr: int, *, tl) -> None:
        tl.send("global_E", tl.load(ptr, 65536))

    assert kernel_refusal(north) == (
        "rank 0: kernel k on sip0.cube0.pe0: tl.send got the direction 'N', where sip0.cube0.pe0 has no neighbour, "
        f"at {HERE}:{north.__code__.co_firstlineno + 1}; it has one at E, global_E, global_W, intra_S"
    )
    assert kernel_refusal(up).startswith("rank 0: kernel k on sip0.cube0.pe0: tl.send got the direction 'up', at ")
    assert kernel_refusal(large) == (
        "rank 0: kernel k on sip0.cube0.pe0: tl.send got 131072 bytes for 'global_E', whose slots have 65536, "
        f"at {HERE}:{large.__code__.co_firstlineno + 1}; send it in pieces, or give the process group larger slots"
    )


def test_a_receive_that_nobody_sends_to_names_both_ends() -> None:
    def lonely(ptr: int, *, tl) -> None:
        tl.recv("global_E", 8)

    sentence = kernel_refusal(lonely, DeadlockError)
    assert sentence.count("waits for") == 2  # the two kernels, and nobody who waits for them
    assert (
        "sip0.cube0.pe0.pe_cpu/k waits for messages from sip1.cube0.pe0 (its global_W) at sip0.cube0.pe0 (its global_E)"
        in sentence
    )


def test_a_rank_that_raises_releases_the_others() -> None:
    released = []

    def worker(rank: int, torch) -> None:
        try:
            if rank == 1:
                raise ValueError("boom")
            torch.distributed.barrier()
        finally:
            released.append(rank)

    line = worker.__code__.co_firstlineno + 3
    assert refusal(worker, RunError) == f"rank 1 of 'worker' raised ValueError: boom, at {HERE}:{line}"
    assert sorted(released) == [0, 1]
