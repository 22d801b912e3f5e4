"""Blocks and tiles of least bounds: what they have to fit, and what they avoid."""

from __future__ import annotations

import pytest

from kernbench.machine import load_machine
from kernbench.workloads.kernels.windows import Extent
from kernbench.workloads.sip.engine import find_engine
from kernbench.workloads.sip.product_blocks import STAGES, Work, bound_fs, choose_blocks, find_far_rows
from kernbench.workloads.sip.tile_choice import Sweeps, choose_tile, choose_window, find_far_share


@pytest.fixture(scope="module")
def engine():
    return find_engine(load_machine("sip_2x4x4"), "f16")


def work(n: int, h: int, w: int, cols: int, depth: int, **more: object) -> Work:
    rows = n * h * w
    given = {
        "held_rows": -(-rows // 16),
        "memory_rows": -(-rows // 128),
        "constant": True,
        "run": depth,
        "lines_join": True,
    }
    return Work(Extent(n, h, w, 1, cols, depth), depth, 2, **{**given, **more})  # type: ignore[arg-type]


def test_what_a_pe_can_do_is_that_of_the_sheets(engine):
    assert engine.flops_fs == pytest.approx(8000 / 1e6)  # 8 TFLOPS of f16
    assert engine.hbm_bytes_fs == pytest.approx(256 / 1e6)
    assert engine.tcm_bytes_fs == pytest.approx(512 / 1e6)
    assert engine.link_bytes_fs == pytest.approx(128 / 1e6)
    assert (engine.pes, engine.all_pes, engine.burst_bytes) == (8, 128, 256)
    assert engine.far_read_fs > engine.read_fs > 10e6


@pytest.mark.parametrize(
    "asked",
    [work(16, 56, 56, 64, 576), work(1, 1, 3072, 3072, 768), work(1, 1, 16, 1000, 2048), work(16, 7, 7, 2048, 512)],
)
def test_chosen_blocks_cover_the_product_and_fit_into_scratch(asked, engine):
    one, extent = choose_blocks(asked, engine), asked.extent
    rows = extent.n * -(-extent.h // one.h) * -(-extent.w // one.w)
    assert one.rows >= one.h * one.w
    assert one.row_blocks * (engine.all_pes // one.col_parts) >= rows
    assert one.col_blocks * one.col_parts * one.cols >= extent.cols
    assert STAGES * (one.rows + one.cols) * one.inner * 2 + one.rows * one.cols * 4 <= engine.scratch_bytes


def test_blocks_keep_the_rows_of_an_image_on_the_cube_that_holds_them(engine):
    asked = work(16, 14, 14, 256, 1024)
    one = choose_blocks(asked, engine)
    assert find_far_rows(one, asked, engine) == 0
    shifted = one._replace(row_blocks=one.row_blocks + 1)
    assert find_far_rows(shifted, asked, engine) > 0
    assert bound_fs(shifted, asked, engine) > bound_fs(one, asked, engine)


def test_few_rows_of_which_each_cube_has_a_copy_are_shared_by_all_cubes(engine):
    asked = work(1, 1, 64, 768, 3072, held_rows=64, memory_rows=8)
    one = choose_blocks(asked, engine)
    assert find_far_rows(one, asked, engine) == 0
    assert one.col_parts * -(-64 // (one.w * one.row_blocks)) > engine.pes


def test_a_bound_is_no_less_than_the_work_of_the_engine(engine):
    asked = work(16, 56, 56, 256, 512)
    one = choose_blocks(asked, engine)
    flops = 2 * 16 * 56 * 56 * 256 * 512
    assert bound_fs(one, asked, engine) >= flops / engine.all_pes / engine.flops_fs


def test_tiles_have_whole_rows_where_they_must(engine):
    rows, cols = choose_tile((36864, 384), Sweeps(1, 6, 2), engine, whole_rows=True)
    assert cols == 512
    assert rows & (rows - 1) == 0
    assert find_far_share(36864 // rows, engine) == 0


def test_tiles_of_windows_read_whole_bursts(engine):
    _, _, cols = choose_window((16, 14, 14, 576), Sweeps(9, 9, 2, reads_ahead=True), engine)
    assert cols * 2 >= engine.burst_bytes


def test_programs_that_do_not_divide_need_what_others_hold(engine):
    assert find_far_share(1280, engine) == 0
    assert find_far_share(1281, engine) > 0
