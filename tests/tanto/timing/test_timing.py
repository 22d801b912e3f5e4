"""Times follow the mechanism: closed forms of single transfers, and what a faster part changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernbench.frontends.run import run_bench
from kernbench.machine import Intent, load_machine
from kernbench.tanto.device import Device
from tests.tanto.support import buffer, device, kernel, pipe, run


def _alone(tmp_path: Path, code: str, kind: int, core: str = "0,0") -> float:
    """The time (ns) of a kernel on one core of a Wormhole chip."""
    x, y = map(int, core.split(","))
    source = f"void kernel(global<uint32> g, local<uint32> l) {{ {code} }}"
    found = run(
        tmp_path,
        {"k.cpp": source},
        Device(load_machine("wormhole_n150")),
        globals=[buffer(0, 16, "uint32")],
        locals=[{"id": 1, "fmt": "uint32", "size": 4096, "ranges": [[0, 0, 7, 7]]}],
        kernels=[kernel(kind, "k.cpp", {core: [{"g": 0}, {"l": 1}]}, ranges=[[x, y, x, y]])],
    )
    assert found.latency_ns is not None
    return found.latency_ns


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize(
    ("place", "hops"),
    [("1, 1", 0), ("1, 5", 12), ("6, 1", 10), ("7, 8", 22)],
)
def test_a_read_goes_round_the_rings_that_it_enters(tmp_path: Path, kind: int, place: str, hops: int) -> None:
    empty = _alone(tmp_path, "", kind)
    read = _alone(tmp_path, f"l.read(0, l, 0, 8, {place}); read_barrier();", kind) - empty
    wire = 2 * 25 + (4 * 4 if hops else 0) + 8 * hops
    links = hops_served(place, kind) + 2 if hops else 0
    served = 32 / 64 + 32 / 28.1 + links * 32 / 30.3  # of the data; the request has no bytes
    begin, issue, call = 4 + 2, 7 + 1 + 5 + 3, 2  # the barrier and its look come meanwhile
    code = begin + issue + call
    assert read == pytest.approx(wire + code + served)


TANTO = Path(__file__).parents[3] / "docs" / "tanto.md"


@pytest.mark.parametrize(("what", "place"), [("the same column", "1, 5"), ("another row and column", "7, 8")])
def test_the_page_has_the_times_of_reads(tmp_path: Path, what: str, place: str) -> None:
    ends = sorted(
        round(_alone(tmp_path, f"l.read(0, l, 0, 16, {place}); read_barrier();", kind) - _alone(tmp_path, "", kind))
        for kind in (0, 1)
    )
    assert f"from a core of {what} | {ends[0]} to {ends[1]} ns |" in TANTO.read_text(encoding="utf-8")


@pytest.mark.parametrize(("kind", "call"), [(0, "reads from"), (1, "writes to")])
def test_a_core_has_the_rate_of_one_bank_however_many_its_pages_are_on(tmp_path: Path, kind: int, call: str) -> None:
    """Published of a Wormhole chip: 21.9 B a cycle of one core that reads pages of 8 KiB, of 28 that its interface takes."""

    def time(pages: int) -> float:
        way = ("read(0, g, i * 4096, 4096)", "write(0, g, i * 4096, 4096)")[kind]
        found = run(
            tmp_path,
            {"k.cpp": f"void kernel(global<T> g, local<T> l) {{ for (uint32 i = 0; i < {pages}; i++) l.{way}; }}"},
            Device(load_machine("wormhole_n150")),
            False,
            globals=[buffer(0, 96 * 4096, page=4096)],
            locals=[{"id": 1, "fmt": "bfloat16", "size": 4096, "ranges": [[0, 0, 0, 0]]}],
            kernels=[kernel(kind, "k.cpp", [{"g": 0}, {"l": 1}])],
        )
        assert found.latency_ns is not None
        return found.latency_ns

    rate = 48 * 8192 / (time(96) - time(48))
    assert rate == pytest.approx(22.1, rel=0.001)
    assert f"| a core {call} all banks, pages of 8 KiB | {rate:.1f} B/ns |" in TANTO.read_text(encoding="utf-8")


def hops_served(place: str, kind: int) -> int:
    """The links between routers that the data passes from a place to (1, 1)."""
    x, y = (int(part) for part in place.split(","))
    dx, dy = (1 - x) % 10, (1 - y) % 12
    return dx + dy if kind == 1 else (-dx) % 10 + (-dy) % 12


def test_a_multicast_takes_as_long_as_a_write_to_its_farthest_core(tmp_path: Path) -> None:
    """Three cores in a row: each link of the tree is crossed once, so the others cost nothing."""
    many = _alone(tmp_path, "l.write_mcast(0, l, 0, 2048, 2, 1, 4, 1, 3); write_barrier();", 1)
    one = _alone(tmp_path, "l.write(0, l, 0, 2048, 4, 1); write_barrier();", 1)
    each = _alone(tmp_path, "".join(f"l.write(0, l, 0, 2048, {x}, 1); " for x in (2, 3, 4)) + "write_barrier();", 1)
    assert many == pytest.approx(one, abs=10)
    assert each > 2 * one


def test_the_networks_go_in_opposite_directions() -> None:
    machine = load_machine("wormhole_n150")
    places = machine.places

    def way(network: int) -> list[str]:
        path = machine.routing.path(places.interface((0, 0), network), places.l1((1, 1)), Intent.ALL)
        return [machine.node_name[node] for node in path[1:-2]]

    assert way(0) == ["noc0[1][1]", "noc0[1][2]", "noc0[2][2]"]
    assert way(1)[:3] == ["noc1[1][1]", "noc1[0][1]", "noc1[11][1]"]
    assert len(way(1)) == 1 + 11 + 9


@pytest.mark.parametrize(
    ("name", "parameters", "field", "value"),
    [
        ("tanto-matmul", {"grid_x": 1, "grid_y": 1}, "tensix_core.fidelity", "lofi"),
        ("tanto-binary", {}, "tensix_noc.gbs", 60.6),
        ("tanto-unary", {"function": "tanh"}, "tensix_core.lanes", 64),
        ("tanto-transpose", {}, "tensix_noc.hop_ns", 4.5),
        ("tanto-pool", {"cores": 2}, "tensix_core.register_cycles", 1),
        ("tanto-pool", {"cores": 2}, "tensix_core.page_operations", 0),
    ],
)
def test_a_faster_part_makes_a_program_faster(name: str, parameters: dict[str, Any], field: str, value: Any) -> None:
    before = run_bench(name, "wormhole_n150", parameters=parameters).latency_ns
    after = run_bench(name, "wormhole_n150", parameters=parameters, overrides={field: value}).latency_ns
    assert after < 0.97 * before


ENDLESS = """
void kernel(pipe<T> a, pipe<T> b, pipe<T> y, uint32 count) {
    a.wait_front();
    b.wait_front();
    y.reserve_back();
    math<T> acc;
    for (uint32 i = 0; i < count; i++) {
        %s
    }
    acc.pack(0, y);
    y.push_back();
    a.pop_front();
    b.pop_front();
}
"""
FILL = "void kernel(pipe<T> a, pipe<T> b, uint32 frames) { a.reserve_back(); b.reserve_back(); a.push_back(); b.push_back(); }"
DRAIN = "void kernel(pipe<T> y) { y.wait_front(); y.pop_front(); }"


@pytest.mark.parametrize(
    ("call", "fmt", "each"),
    [
        ("acc.matmul(a, b, i, i, 0, false)", "bfloat16", 2 * 2048 / 64),
        ("acc.matmul(a, b, 0, i, 0, false)", "bfloat16", 2048 / 64),
        ("acc.matmul(a, b, i, 0, 0, false)", "bfloat16", 2048 / 64),
        ("acc.matmul(a, b, i, i, 0, false)", "bfloat8_b", 2 * 1088 / 64),
        ("acc.matmul(a, b, i, 0, 0, false)", "bfloat8_b", 1088 / 64),
        ("acc.matmul(a, b, i, 0, 0, false)", "bfloat4_b", 16),  # the matrix unit: 576 bytes take 9 cycles
        ("acc.add(a, b, i, 0, 0)", "bfloat16", 2 * 2048 / 64),
        ("acc.copy(a, i, 0)", "bfloat16", 2048 / 64),
    ],
)
def test_a_tile_that_stays_in_its_register_is_not_unpacked_again(
    tmp_path: Path, call: str, fmt: str, each: float
) -> None:
    """At LoFi the unpackers bind, which bring 64 bytes a cycle together; 16 cycles are those of a product."""

    def cycles(count: int) -> float:
        found = run(
            tmp_path,
            {"in.cpp": FILL, "out.cpp": DRAIN, "math.cpp": ENDLESS % f"{call};"},
            Device(load_machine("tensix_tiny", {"tensix_core.fidelity": "lofi"})),
            numbers=False,
            pipes=[pipe(0, 0, 16, 16, fmt), pipe(1, 0, 16, 16, fmt), pipe(2, 1, fmt=fmt)],
            kernels=[
                kernel(0, "in.cpp", [{"p": 0}, {"p": 1}, 1]),
                kernel(1, "out.cpp", [{"p": 2}]),
                kernel(2, "math.cpp", [{"p": 0}, {"p": 1}, {"p": 2}, count]),
            ],
        )
        assert found.cycles is not None
        return found.cycles

    assert cycles(14) - cycles(4) == pytest.approx(10 * each)


def test_a_band_that_is_kept_is_faster_than_windows_from_dram() -> None:
    sizes = {"height": 16, "width": 32, "channels": 64, "filters": 32}
    kept, read = (
        run_bench("tanto-conv", "wormhole_n150", parameters={**sizes, "band": band}) for band in (True, False)
    )
    assert kept.latency_ns < read.latency_ns


LOOK, COUNT = 7 + 1, 3  # at a register, and a branch; a load, a sum and a store
BEGIN, PAGES, PAGE = 4 + 1 * 2, 6, 24 + 1 * 2 + 2 * 2
READ, WRITE = LOOK + 5 + COUNT, LOOK + 6 + 2 * COUNT
PACKET = 8192  # bytes


@pytest.mark.parametrize(
    ("call", "kind", "cycles"),
    [
        ("l.read(0, g, i * 16, 16)", 0, BEGIN + PAGES + PAGE + READ),
        ("l.read(0, g, 0, 48)", 0, BEGIN + PAGES + 3 * (PAGE + READ)),
        ("l.read(0, g, 4096, 16)", 0, BEGIN + PAGES + PAGE + READ),  # outside
        ("l.write(0, g, i * 16, 16)", 1, BEGIN + PAGES + PAGE + WRITE),
        ("l.read(0, l, 64, 16, 2, 1)", 0, BEGIN + READ),
        ("l.write(0, l, 64, 16, 2, 1)", 1, BEGIN + WRITE),
        ("l.write_mcast(0, l, 64, 16, 2, 1, 2, 2, 2)", 1, BEGIN + WRITE),
        ("l.move(64, l, 128)", 0, BEGIN + LOOK + 3 + COUNT),
        ("s.inc(2, 1, 1)", 0, BEGIN + WRITE),
    ],
)
@pytest.mark.parametrize("numbers", [True, False])
def test_a_transfer_keeps_its_processor_busy_for_what_its_function_executes(
    tmp_path: Path, call: str, kind: int, cycles: int, numbers: bool
) -> None:
    """A call more takes its own operations, those of its arguments, and the cycles of the transfer."""

    def busy(count: int) -> float:
        body = "l.move_init(16); " if "move" in call else ""
        body += f"for (uint32 i = 0; i < {count}; i++) {{ {call}; }}"
        found = run(
            tmp_path,
            {"k.cpp": f"void kernel(global<uint32> g, local<uint32> l, semaphore s) {{ {body} }}"},
            device(),
            numbers,
            globals=[buffer(0, 16 * 64, "uint32", page=16)],
            locals=[{"id": 1, "fmt": "uint32", "size": 4096, "ranges": [[0, 0, 1, 1]]}],
            semaphores=[{"id": 2, "init": 0, "ranges": [[0, 0, 1, 1]]}],
            kernels=[kernel(kind, "k.cpp", [{"g": 0}, {"l": 1}, {"s": 2}])],
        )
        rows = found.op_log().filter(op_name="code")
        return float((rows["end_fs"] - rows["start_fs"]).sum()) / 1e6

    own = 2 + 1 + 1 + 2 + (1 if "i *" in call else 0)  # a turn's branches, comparison and step; the call; a shift
    assert busy(17) - busy(16) == pytest.approx(cycles + own)


@pytest.mark.parametrize(
    ("operation", "cycles"),
    [
        ("n + m", 0),
        ("n * m", 1),
        ("n * 4", 0),
        ("n / m", 17),
        ("n / 8", 0),
        ("n / 12", 2),
        ("n % m", 17),
        ("n % 12u", 5),
    ],
)
def test_products_and_quotients_take_longer_than_sums(tmp_path: Path, operation: str, cycles: int) -> None:
    code = "uint32 n = 100, m = 7; n = {}; l.set(0, n);"
    sums = _alone(tmp_path, code.format("n - m"), 0)
    assert _alone(tmp_path, code.format(operation), 0) == pytest.approx(sums + cycles)


def test_a_kernel_that_looks_data_up_runs_with_numbers(tmp_path: Path) -> None:
    code = "l.set(0, 3); for (uint32 i = 0; i < l.get(0); i++) { l.read(8, g, 0, 8); read_barrier(); }"
    more = code.replace("0, 3", "0, 9")
    assert _alone(tmp_path, more, 0) > 2 * _alone(tmp_path, code, 0)


def test_an_explanation_names_the_lines_of_kernels() -> None:
    """The critical path of a twin in C++ lies in the same statements as that of its Python kernels."""
    sizes = {"cores": 1, "tiles": 4, "frame": 2}
    found = [
        run_bench("tanto-swish", "tensix_tiny", parameters={**sizes, "language": language}).explain().lines
        for language in ("python", "c++")
    ]
    python, cpp = ({line.text.rstrip(";"): line.path_fs for line in lines if line.path_fs > 20e6} for lines in found)
    assert python == {key.replace("from.", "out."): value for key, value in cpp.items()}
    assert found[1][0].place.endswith("benches/tanto/kernels/swish.cpp:20")
    assert found[1][0].text == "acc.sigmoid(k);"
