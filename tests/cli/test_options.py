"""Options shared by several commands are spelled alike in all of them."""

from __future__ import annotations

import click
import pytest

from kernbench.cli.main import COMMANDS, kernbench

SHARED = {
    "topology": ["--topology", "-t"],
    "mode": ["--mode"],
    "assignments": ["--set"],
    "as_json": ["--json"],
    "out": ["--out", "--output"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_spells_them_alike(name: str) -> None:
    command = kernbench.get_command(click.Context(kernbench), name)
    assert command is not None
    for each in command.commands.values() if isinstance(command, click.Group) else [command]:
        spelled = {option.name: option.opts for option in each.params if option.name in SHARED}
        assert spelled == {option: SHARED[option] for option in spelled}
        assert "as_json" in spelled or name == "web"  # which prints an address and serves until it is stopped
        assert any("--debug" in option.opts for option in each.params)
