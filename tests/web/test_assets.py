from __future__ import annotations

import hashlib
import json

from kernbench import units
from kernbench.report.pages.html_report import ASSETS as REPORT
from kernbench.web.assets import FOLDER, read_assets

PAGE = FOLDER.parent / "page"
BUILT_FROM = ("build.mjs", "package.json", "package-lock.json", "tsconfig.json")


def test_the_built_files_are_of_the_sources_that_stand_beside_them() -> None:
    names = sorted([*BUILT_FROM, *(f"src/{path.name}" for path in (PAGE / "src").iterdir())])
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{name}\n".encode() + (PAGE / name).read_bytes())
    kept = (FOLDER / "sources.sha256").read_text().strip()
    assert kept == digest.hexdigest(), "run `make page`: kernbench/web/assets is not of kernbench/web/page"


def test_the_page_knows_the_units_of_quantities() -> None:
    kept = json.loads((PAGE / "src" / "units.json").read_text(encoding="utf-8"))
    assert kept["dimensions"] == units.DIMENSIONS
    names = ("latency_ns", "bytes_per_pe", "topology.hbm.channel_gbs", "slot_size", "M", "clock_ghz", "host_in_us")
    for name in names:
        unit = kept["endings"].get(name.rpartition("_")[2], "")
        assert units.unit_of(name) in (unit, "B")
    assert {units.unit_of(f"x_{ending}") for ending in kept["endings"]} == set(kept["endings"].values())


def test_the_page_needs_nothing_from_elsewhere_and_names_all_licences() -> None:
    files = read_assets()
    page = files["/"][1].decode()
    assert "http" not in page
    licences = files["/licences.txt"][1].decode()
    carried = (REPORT / "licences.txt").read_text()
    assert "d3-zoom" not in carried  # reports have no drawing
    assert all(f"\n{name} " in carried for name in ("apache-arrow", "echarts", "preact", "zrender"))
    for name in ("apache-arrow", "d3-zoom", "echarts", "flatbuffers", "preact", "zrender"):
        assert f"\n{name} " in licences
