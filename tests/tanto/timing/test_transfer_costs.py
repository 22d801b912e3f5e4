"""What transfers cost processors of the shipped chips."""

from __future__ import annotations

from pathlib import Path

from kernbench.machine import load_machine
from kernbench.tanto.timing.transfer_costs import TransferCosts

PAGE = Path(__file__).parents[3] / "docs" / "tanto.md"


def test_the_page_has_the_costs_of_the_shipped_chips() -> None:
    def cells(chip: str) -> list[str]:
        figures = load_machine(chip).figures
        core = {name.removeprefix("tensix_core."): value for name, value in figures.items()}
        costs = TransferCosts.of(core)
        first = costs.begin + costs.pages + costs.page
        return [
            f"{first + costs.read:g}",
            f"{costs.page + costs.read:g}",
            f"{first + costs.write:g}; {costs.page + costs.write:g}",
            f"{costs.begin + costs.read:g}; {costs.read:g}, or {costs.begin + costs.write:g}; {costs.write:g}",
            f"{costs.begin + costs.move:g}",
        ]

    table = PAGE.read_text(encoding="utf-8").split("| cycles of a processor | Wormhole | Blackhole |\n|---|---|---|\n")[
        1
    ]
    rows = [line.strip("| ").split(" | ")[1:] for line in table.split("\n\n")[0].splitlines()]
    assert rows == [list(pair) for pair in zip(cells("wormhole_n150"), cells("blackhole_p150"), strict=True)]
