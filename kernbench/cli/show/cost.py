"""`kernbench show MACHINE --cost`: what a machine takes, draws at most and costs, by part, with the sources of its figures."""

from __future__ import annotations

from collections.abc import Mapping

from kernbench.cli.output.energy import REST
from kernbench.energy.bill import Bill, DieBill, PackageBill, PartBill, find_bill
from kernbench.energy.uncertain import TotalRange, find_cost_range
from kernbench.frontends.shown import Row, Section, Shown
from kernbench.library import show_path
from kernbench.machine.load import load_machine
from kernbench.machine.sheets.field_values import ShownTopology, show_topology
from kernbench.text import plural

MOST_NAMED = 3
UNKNOWN = "unknown"
WIRES = "technology"
DIES = {
    "die": "die", "count": "count", "mm2": "mm² each", "parts": "parts mm²",
    "wafer": "a wafer", "good": "yield", "usd": "$ each"
}  # fmt: skip
PACKAGES = {"package": "package", "dies": "dies", "mm2": "mm² of dies", "peak": "peak W"}
MOST_PACKAGES = 8
PARTS = {
    "part": "part", "count": "count", "mm2": "mm²", "static": "static W", "peak": "peak W", "usd": "$", "source": "source"
}  # fmt: skip
FIGURES = ("area_each_mm2", "area_mm2")  # whose source is shown, the first that a sheet has


def show_cost(name: str, overrides: Mapping[str, str]) -> Shown:
    """The bill of a machine. Errors: InputError as `load_machine`."""
    machine, found = load_machine(name, overrides), show_topology(name, overrides)
    bill = find_bill(machine)
    sections = [
        Section("dies", [_die(one) for one in bill.dies], DIES),
        Section(
            "packages, with all parts at full rate", [_package(one) for one in bill.packages[:MOST_PACKAGES]], PACKAGES
        ),
        Section("parts, all of them together; peak: dynamic power at full rate", _parts(bill, found), PARTS),
    ]
    ends = find_cost_range(machine)
    spread = [] if ends is None else [_spread(ends)]
    remarks = [*spread, *bill.missing, *(f"warning: {sentence}" for sentence in bill.warnings)]
    return Shown(
        found.name,
        f"machine of family {found.family}",
        _total(bill),
        show_path(found.file),
        [section for section in sections if section.rows],
        {
            "name": found.name,
            "kind": "cost",
            "file": str(found.file),
            "cost_range": None if ends is None else ends.to_dict(),
            **bill.to_dict(),
        },
        remarks=remarks,
    )


def _spread(ends: TotalRange) -> str:
    """Between what ends the price is, and what decides it most."""
    most = ", ".join(one.figure.field for one in ends.effects[:MOST_NAMED])
    return f"between {ends.low:,.0f} and {ends.high:,.0f} $ for what is uncertain, most of all {most}"


def _total(bill: Bill) -> str:
    area = UNKNOWN if bill.area_mm2 is None else f"{bill.area_mm2:,.1f} mm²"
    cost = "at a price that is not known" if bill.cost_usd is None else f"for {bill.cost_usd:,.0f} $"
    dies = sum(one.count for one in bill.dies)
    memory = "" if bill.memory_usd is None or not bill.memory_gb else f", {bill.memory_usd:,.0f} $ of it memory"
    return (
        f"{area} on {plural(dies, 'die')} in {plural(len(bill.packages), 'package')} {cost}{memory}; "
        f"at most {bill.peak_w:,.0f} W, {bill.package_w:,.0f} W a package"
    )


def _die(one: DieBill) -> Row:
    return {
        "die": one.kind,
        "count": f"{one.count:,}",
        "mm2": UNKNOWN if one.mm2 is None else f"{one.mm2:,.1f}",
        "parts": f"{one.parts_mm2:,.1f}",
        "wafer": UNKNOWN if one.cost is None else f"{one.cost.dies_a_wafer:,.1f}",
        "good": UNKNOWN if one.cost is None else f"{one.cost.yield_share:.1%}",
        "usd": UNKNOWN if one.cost is None else f"{one.cost.usd:,.2f}",
    }


def _package(one: PackageBill) -> Row:
    return {
        "package": one.name,
        "dies": f"{one.dies:,}",
        "mm2": UNKNOWN if one.dies_mm2 is None else f"{one.dies_mm2:,.1f}",
        "peak": f"{one.peak_w:,.1f}",
    }


def _parts(bill: Bill, found: ShownTopology) -> list[Row]:
    """The parts, those that draw most first."""
    ordered = sorted(bill.parts, key=lambda one: (-one.static_w - one.peak_w, one.part))
    sources = {one.path: one.source for one in found.all_fields}
    return [_part(one, sources) for one in ordered]


def _part(one: PartBill, sources: Mapping[str, str]) -> Row:
    fields = [f"{one.part}.silicon.{name}" for name in FIGURES]
    if one.part in ("", WIRES):
        fields = ["technology.wire_pj_mm" if one.part else "technology.static_w_mm2"]
    given = (sources[field] for field in fields if field in sources and sources[field] != "default")
    return {
        "part": {"": REST, WIRES: "wires of dies"}.get(one.part, one.part),
        "count": f"{one.count:,}" if one.count else "",
        "mm2": f"{one.mm2:,.1f}" if one.mm2 is not None else "" if one.part == WIRES else UNKNOWN,
        "static": f"{one.static_w:,.1f}",
        "peak": f"{one.peak_w:,.1f}",
        "usd": "" if one.usd is None else f"{one.usd:,.0f}",
        "source": next(given, ""),
    }
