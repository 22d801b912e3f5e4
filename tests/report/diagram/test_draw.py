"""Diagrams: complete, to scale, legible, the same each time."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from kernbench.machine import Machine, load_machine
from kernbench.machine.symbols import OTHER
from kernbench.machine.views import find_view, list_views
from kernbench.report.diagram import draw_view
from kernbench.report.diagram.layout import lay_out
from kernbench.report.diagram.rectangles import Rectangle, as_array, crossed
from kernbench.report.diagram.svg import text_width
from kernbench.report.diagram.symbols import STROKES, find_symbol
from kernbench.report.diagram.wires import find_courses

SPACE = "{http://www.w3.org/2000/svg}"
DRAWN = [("sip_2x4x4", "system"), ("sip_2x4x4", "sip"), ("sip_2x4x4", "cube"), ("sip_2x4x4", "pe"), ("tiny", "sip"),
         ("tiny", "cube"), ("mesh_8x8", "system"), ("torus_8x8", "system")]  # fmt: skip


def drawn(topology: str, name: str, bandwidths: bool = False) -> ElementTree.Element:
    machine = load_machine(topology)
    return ElementTree.fromstring(draw_view(machine, find_view(machine, name), bandwidths=bandwidths))


def tray(count: int, wiring: str) -> Machine:
    return load_machine("tiny", {"sips.count": count, "sips.wiring": wiring, "sips.topology": "ring_1d"})


def texts(root: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in root.iter(f"{SPACE}text")]


def numbers(element: ElementTree.Element, *names: str) -> list[float]:
    return [float(element.get(name, "nan")) for name in names]


@pytest.mark.parametrize(("topology", "name"), DRAWN)
@pytest.mark.parametrize("bandwidths", [False, True])
def test_texts_are_inside_and_do_not_overlap(topology: str, name: str, bandwidths: bool) -> None:
    check_texts(drawn(topology, name, bandwidths))


@pytest.mark.parametrize("wiring", ["switch", "direct"])
@pytest.mark.parametrize("count", [1, 3, 4, 7, 16])
def test_a_tray_of_many_sips_is_a_grid(count: int, wiring: str) -> None:
    machine = tray(count, wiring)
    view = find_view(machine, "system")
    root = ElementTree.fromstring(draw_view(machine, view, bandwidths=True))
    check_texts(root)
    width, height = numbers(root, "width", "height")
    assert max(width, height) < 3300
    layout = lay_out(machine, view)
    packages = [where for area, where in zip(view.areas, layout.areas, strict=True) if area.kind == "sip"]
    assert len({(where.left, where.top) for where in packages}) == count
    for wire, course in zip(view.wires, find_courses(layout), strict=True):
        ends = layout.at[wire.src], layout.at[wire.dst]
        others = [where for where in packages if not any(where.grown(1).holds(end) for end in ends)]
        assert (course[0], course[-1]) in (ends, ends[::-1])
        assert not any(crossed(a, b, as_array(others)).any() for a, b in pairwise(course))
        assert all(0 < x < width and 0 < y < height for x, y in course)


def check_texts(root: ElementTree.Element) -> None:
    """No text is outside, none meets another."""
    width, height = numbers(root, "width", "height")
    boxes: list[tuple[str, Rectangle]] = []
    for text in root.iter(f"{SPACE}text"):
        x, y, size = numbers(text, "x", "y", "font-size")
        wide = text_width(text.text or "", size) * 0.9  # the estimate is generous
        left = x - {"start": 0, "middle": wide / 2, "end": wide}[text.get("text-anchor", "")]
        boxes.append((text.text or "", Rectangle(left, y - 0.75 * size, left + wide, y)))
    for i, (told, one) in enumerate(boxes):
        assert one.left >= 0, told
        assert one.top >= 0, told
        assert one.right <= width, told
        assert one.bottom <= height, told
        for other_told, other in boxes[:i]:
            apart = (
                one.left >= other.right or other.left >= one.right or one.top >= other.bottom or other.top >= one.bottom
            )
            assert apart, (told, other_told)


@pytest.mark.parametrize(("topology", "name"), DRAWN)
def test_every_box_and_every_wire_is_drawn(topology: str, name: str) -> None:
    view = find_view(load_machine(topology), name)
    tips = [tip.text or "" for tip in drawn(topology, name).iter(f"{SPACE}title")]
    assert {box.name for box in view.boxes} <= {tip.split(",")[0] for tip in tips}
    assert len([tip for tip in tips if tip.endswith(" GB/s each way")]) == len(view.wires)


def test_to_scale() -> None:
    root = drawn("sip_2x4x4", "cube")
    at = {
        (circle.find(f"{SPACE}title").text or "").split(",")[0]: numbers(circle, "cx", "cy")  # type: ignore[union-attr]
        for circle in root.iter(f"{SPACE}circle")
        if circle.find(f"{SPACE}title") is not None
    }
    (x0, y0), (x1, y1) = at["sip0.cube0.r0c0"], at["sip0.cube0.r5c5"]
    assert (x1 - x0, y1 - y0) == (15 * 72, 12.5 * 72)
    bar = next(text for text in root.iter(f"{SPACE}text") if (text.text or "").endswith(" mm"))
    assert bar.text == "2 mm"


def test_what_a_cube_says() -> None:
    said = texts(drawn("sip_2x4x4", "cube"))
    assert {"sip_2x4x4: cube", "HBM exclusion zone", "PE 7", "HBM 7", "r5c5", "m_cpu", "sram", "UCIe", "N"} <= set(said)
    assert "HBM controller of a PE: 6 GiB, 8 × 32 GB/s" in said
    assert said[-1] == "everything stands where routing measures it"


def test_bandwidths_on_demand() -> None:
    assert "512" not in texts(drawn("sip_2x4x4", "sip"))
    said = texts(drawn("sip_2x4x4", "sip", bandwidths=True))
    assert said.count("512") == 12 + 12 + 4
    assert said.count("4 × 128") == 4
    assert said[-1] == "numbers on links: GB/s each way; everything stands where routing measures it"


def test_captions_follow_the_figures() -> None:
    machine = load_machine("tiny", {"pe_gemm.tflops_f16": 20, "hbm.channel_gbs": 64})
    svg = draw_view(machine, find_view(machine, "pe"))
    assert "20 TFLOPS f16" in svg
    assert "8 × 64 GB/s" in svg


@pytest.mark.parametrize("topology", ["sip_2x4x4", "mesh_8x8", "ascend_910b2", "tensix_tiny"])
def test_every_kind_of_part_has_a_symbol(topology: str) -> None:
    machine = load_machine(topology)
    for name in list_views(machine):
        view = find_view(machine, name)
        assert all(find_symbol(machine, name, box.kind) != OTHER for box in view.boxes)
        assert {wire.kind for wire in view.wires} <= set(STROKES)
    assert find_symbol(machine, "system", "npu") == OTHER


@pytest.mark.slow
def test_the_same_bytes_in_any_process() -> None:
    code = (
        "from kernbench.machine import load_machine\n"
        "from kernbench.machine.views import find_view, list_views\n"
        "from kernbench.report.diagram import draw_view\n"
        "m = load_machine('tiny')\n"
        "print(''.join(draw_view(m, find_view(m, n), bandwidths=True) for n in list_views(m)), end='')"
    )
    machine = load_machine("tiny")
    here = "".join(draw_view(machine, find_view(machine, name), bandwidths=True) for name in list_views(machine))
    for seed in ("1", "2"):
        environment = {
            "PYTHONHASHSEED": seed,
            "PATH": "",
            "PYTHONPATH": ":".join(sys.path),
            "PYTHONIOENCODING": "utf-8",
        }
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=environment)
        assert done.stdout.decode() == here
