"""Machines with drop-ins: their tables, their costs, and the caches after a change of the class."""

from __future__ import annotations

import re

import numpy as np
import pytest

from kernbench import library
from kernbench.errors import InputError
from kernbench.machine import compile_cache, load, load_machine
from kernbench.machine.costs import FLOP
from kernbench.machine.load import field_names
from kernbench.machine.variants import Variants

SHEET = "kind: pe_gemm\ndescription: d\nparameters:\n  cycles: {value: 5, source: s}\n"
CLASS = (
    "from typing import ClassVar\nfrom kernbench.parts.part import Part\n\n"
    'class Fixed(Part):\n    kind: ClassVar[str] = "pe_gemm"\n    cycles: int\n\n'
    '    def product(self, m, k, n, bits):\n        return {"cycles": 10}\n'
)
ALL = {"parts.pe_gemm": "systolic", "parts.hbm": "hbm_refresh", "parts.noc": "pipelined_router"}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(load, "_recent", type(load._recent)())
    return tmp_path / "cache"


@pytest.fixture
def models(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "fixed.yaml").write_text(SHEET)
    (tmp_path / "models" / "fixed.py").write_text(CLASS)
    return tmp_path / "models"


def fixed(name="fixed"):
    return load_machine("tiny", {"parts.pe_gemm": name})


def forget():
    load._recent.clear()


def test_a_standard_machine_has_no_drop_ins():
    machine = load_machine("tiny")
    assert (machine.dropins, machine.sources) == ({}, {})
    assert machine.costs.product(2, 3, 4, 16) == (("pe_gemm.flop_16", 48),)
    assert machine.costs.elements("exp", 5, 8) == (("pe_math.element_8", 5),)
    assert machine.costs.fetch(6) == (("pe_fetch_store.overhead", 1), ("pe_tcm.read_byte", 6))
    assert machine.costs.store(7) == (("pe_fetch_store.overhead", 1), ("pe_tcm.write_byte", 7))


def test_a_drop_in_of_the_working_directory_costs_what_it_says(models):
    machine = fixed()
    assert machine.costs.product(2, 3, 4, 16) == (("pe_gemm.cycles", 10), (FLOP, 48))
    assert machine.figures["pe_gemm.cycles"] == 5
    assert machine.figures[FLOP] == 0
    assert "pe_gemm.flop_16" not in machine.figures


def test_a_machine_out_of_the_cache_is_the_machine_compiled(models, monkeypatch):
    compiled = fixed()
    forget()
    monkeypatch.setattr(load, "compile_machine", None)  # not called
    cached = fixed()
    assert (cached.digest, cached.dropins, cached.figures) == (compiled.digest, compiled.dropins, compiled.figures)
    assert cached.costs.product(2, 3, 4, 16) == compiled.costs.product(2, 3, 4, 16)


def test_another_text_is_another_machine(models):
    before = fixed()
    (models / "fixed.py").write_text(CLASS.replace("10", "11"))
    after = fixed()
    assert after.costs.product(1, 1, 1, 16)[0] == ("pe_gemm.cycles", 11)
    assert after.digest != before.digest
    with pytest.raises(
        InputError, match=r"^models/fixed.py has changed since the machine was compiled; load the machine again$"
    ):
        before.costs.product(1, 1, 1, 16)


@pytest.mark.parametrize("forgetting", [False, True])
def test_a_sheet_named_by_its_path_is_followed_too(models, tmp_path, forgetting):
    (tmp_path / "mine").mkdir()
    for file in ("fixed.yaml", "fixed.py"):
        (models / file).rename(tmp_path / "mine" / file)
    digests = [fixed("mine/fixed.yaml").digest]
    for file, text in (("fixed.py", CLASS.replace("10", "11")), ("fixed.yaml", SHEET.replace("5", "6"))):
        (tmp_path / "mine" / file).write_text(text)
        if forgetting:
            forget()
        digests.append(fixed("mine/fixed.yaml").digest)
    assert len(set(digests)) == 3
    (tmp_path / "mine" / "fixed.py").unlink()
    with pytest.raises(
        InputError, match=r"pe_gemm.cycles: unknown field; known: energy, silicon, tflops_f16, tflops_f32, tflops_f8$"
    ):
        fixed("mine/fixed.yaml")


def test_a_damaged_cache_costs_only_time(models, cache):
    before = fixed()
    (kept,) = compile_cache.directory().glob("*.machine")
    kept.write_bytes(kept.read_bytes()[:100])
    forget()
    assert fixed().digest == before.digest


def test_fields_are_those_of_the_parts_that_are_chosen(models):
    assert "pe_gemm.tflops_f16" in field_names("tiny")
    names = field_names("tiny", {"parts.pe_gemm": "fixed"})
    assert "pe_gemm.cycles" in names
    assert "pe_gemm.tflops_f16" not in names
    machine = load_machine("tiny", {"parts.pe_gemm": "fixed", "pe_gemm.cycles": 8})
    assert machine.figures["pe_gemm.cycles"] == 8
    with pytest.raises(InputError, match=r"^unknown topology field 'pe_gemm.tflops_f16'; .*Known: pe_gemm.cycles$"):
        load_machine("tiny", {"parts.pe_gemm": "fixed", "pe_gemm.tflops_f16": 8})


def test_what_the_sheet_lacks_or_has_too_much(models):
    (models / "fixed.yaml").write_text(SHEET.replace("cycles", "cycle"))
    with pytest.raises(InputError) as caught:
        fixed()
    assert str(caught.value).split("\n") == [
        "models/fixed.yaml:1:1: pe_gemm.cycles: missing; add it",
        "models/fixed.yaml:4:3: pe_gemm.cycle: unknown field; did you mean 'cycles'?",
    ]


def test_ports_are_checked_when_the_machine_is_compiled(models):
    (models / "fixed.py").write_text(CLASS + "\n    def slots(self, way=''):\n        return 1 / 0\n")
    with pytest.raises(
        InputError, match=r"^models/fixed.py:12: Fixed.slots raised ZeroDivisionError: division by zero$"
    ):
        fixed()


def test_numbers_of_numpy_are_numbers(models):
    (models / "fixed.py").write_text(
        "import numpy as np\n" + CLASS.replace("10}", "np.int64(10), 'half': np.float32(2)}")
        + "\n    def figures(self):\n        return {**super().figures(), 'half': np.float64(0.5), 'more': np.int32(3)}\n"
        "    def slots(self, way=''):\n        return np.int64(2)\n"
    )  # fmt: skip
    compiled = fixed()
    forget()
    for machine in (compiled, fixed()):
        assert machine.costs.product(1, 1, 1, 16)[:2] == (("pe_gemm.cycles", 10), ("pe_gemm.half", 2.0))
        assert {type(value) for value in machine.figures.values()} == {int, float}
        assert machine.figures["pe_gemm.more"] == 3
        assert machine.server_slots[machine.places.pe(0, 0, 0).gemm_server] == 2


@pytest.mark.parametrize(
    ("slice_bytes", "said"),
    [
        ("return 1 / 0", r"^models/bank.py:11: Bank.slice_bytes raised ZeroDivisionError: division by zero$"),
        ("return -1", r"^models/bank.py:9: Bank.slice_bytes is -1; expected greater than 0$"),
        ("return 1000", r"hbm.slice_bytes 1000 is not a multiple of hbm.burst_bytes 256; change one$"),
    ],
)
def test_ports_that_other_fields_depend_on_are_asked_first(models, slice_bytes, said):
    (models / "bank.yaml").write_text("kind: hbm\ndescription: d\n")
    (models / "bank.py").write_text(
        "from typing import ClassVar\nfrom kernbench.parts.part import Part\n\nclass Bank(Part):\n"
        '    kind: ClassVar[str] = "hbm"\n    overhead_fs: ClassVar[int] = 0\n    turn_fs: ClassVar[int] = 0\n'
        "    channel_gbs: ClassVar[float] = 32.0\n    @property\n    def slice_bytes(self):\n"
        f"        {slice_bytes}\n    channels: ClassVar[int] = 8\n    burst_bytes: ClassVar[int] = 256\n"
    )
    with pytest.raises(InputError, match=said):
        load_machine("tiny", {"parts.hbm": "bank"})


def test_the_topology_may_name_it(models, tmp_path):
    (tmp_path / "topology").mkdir()
    tiny = library.find("topology", "tiny").read_text()
    (tmp_path / "topology" / "own.yaml").write_text(tiny + "\nparts: {pe_gemm: fixed}\npe_gemm: {cycles: 9}\n")
    assert load_machine("own").figures["pe_gemm.cycles"] == 9


def test_slots_of_a_drop_in_are_slots_of_its_server(models):
    (models / "fixed.py").write_text(CLASS + "\n    def slots(self, way=''):\n        return 2\n")
    machine = fixed()
    assert machine.server_slots[machine.places.pe(0, 0, 0).gemm_server] == 2
    assert machine.server_slots[machine.places.pe(0, 0, 0).math_server] == 1


@pytest.mark.parametrize(
    ("m", "k", "n", "bits", "cycles"),
    [
        (32, 64, 32, 16, 32 + 64 + 32 - 2),  # the array is full: fill and drain besides the rows
        (32, 64, 32, 32, 2 * 32 + 64 + 32 - 2),
        (32, 64, 32, 8, 16 + 64 + 32 - 2),
        (1, 1, 1, 16, 1 + 64 + 32 - 2),  # one cell of 2048 works
        (32, 65, 33, 16, 4 * (32 + 64 + 32 - 2)),  # a part more either way
    ],
)
def test_the_systolic_array(m, k, n, bits, cycles):
    machine = load_machine("tiny", {"parts.pe_gemm": "systolic"})
    assert machine.costs.product(m, k, n, bits) == (("pe_gemm.cycle", cycles), (FLOP, 2 * m * k * n))
    assert machine.figures["pe_gemm.cycle"] == 500_000


@pytest.mark.parametrize(
    ("between", "m", "arrays", "cycles"),
    [
        ("drain", 32, 2, 2 * (32 + 64 + 32 - 2)),  # four parts on two arrays
        ("drain", 32, 3, 2 * (32 + 64 + 32 - 2)),  # one of them is idle the second time
        ("load", 32, 1, 4 * (32 + 64)),
        ("nothing", 32, 1, 4 * 64),  # the next weights take longer than the rows
        ("nothing", 65, 1, 4 * 65),
    ],
)
def test_what_comes_between_parts_of_a_systolic_array(between, m, arrays, cycles):
    fields = {"parts.pe_gemm": "systolic", "pe_gemm.between": between, "pe_gemm.arrays": arrays}
    assert load_machine("tiny", fields).costs.product(m, 128, 64, 16)[0] == ("pe_gemm.cycle", cycles)


def test_hbm_with_refresh():
    machine = load_machine("tiny", {"parts.hbm": "hbm_refresh"})
    terminal = machine.terminals[machine.places.hbm(0, 0, 0)]
    assert (terminal.stripes, terminal.overhead_fs) == (8, 14_000_000)
    served = (256 / 32 + 2 * 256 / 1024) / (1 - 260 / 3900)
    assert machine.stations.fs_per_flit[terminal.first_station] == round(served * 1e6)
    with pytest.raises(InputError, match=r"refresh_ns 5000 is not less than refresh_every_ns 3900$"):
        load_machine("tiny", {"parts.hbm": "hbm_refresh", "hbm.refresh_ns": "5 us"})


def test_pipelined_routers():
    machine = load_machine("tiny", {"parts.noc": "pipelined_router", "noc.stages": 4})
    routers = [node for node, kind in enumerate(machine.node_kind) if kind == "router"]
    assert set(machine.node_overhead_fs[routers]) == {2_000_000}
    assert machine.figures["noc.gbs"] == 256


def test_parameters_of_other_parts_make_variants_and_those_of_drop_ins_do_not():
    variants = Variants("tiny", ALL)
    assert not {name for name in variants.fields if re.match(r"(pe_gemm|hbm|noc)\.", name)}
    made = variants.machine({"ucie.gbs": 64, "pe_cpu.overhead_ns": 5})
    compiled = load_machine("tiny", {**ALL, "ucie.gbs": 64, "pe_cpu.overhead_ns": 5})
    assert made is not None
    assert made.figures == compiled.figures
    assert all(map(np.array_equal, made.stations, compiled.stations))


def test_a_class_that_raises_when_it_is_made(models):
    validator = '\n    def model_post_init(self, _):\n        raise KeyError("nothing")\n'
    (models / "fixed.py").write_text(CLASS + validator)
    with pytest.raises(InputError) as caught:
        load_machine("tiny", {"parts.pe_gemm": "fixed"})
    assert str(caught.value) == "models/fixed.py:12: Fixed raised KeyError: 'nothing'"
