"""The commands of before the one `kernbench run`, taken for one release: they run the new way, with a hint."""

from __future__ import annotations

import shlex
from typing import Any

import click

from kernbench.cli.main import SuggestingGroup
from kernbench.cli.output.screen import complain
from kernbench.frontends.tanto_programs import join_texts
from kernbench.machine.overrides import TOPOLOGY

_REST: dict[str, Any] = {"ignore_unknown_options": True, "help_option_names": []}
_WORDS = click.argument("words", nargs=-1, type=click.UNPROCESSED)
_FIELDS = click.option("--set", "fields", multiple=True)  # that needed no "topology." where nothing else could be set


def _name_fields(fields: tuple[str, ...]) -> list[str]:
    return [part for one in fields for part in ("--set", f"{TOPOLOGY}{one.removeprefix(TOPOLOGY)}")]


def _pass_on(context: click.Context, command: str, words: tuple[str, ...], settings: dict[str, str | None]) -> Any:
    """Run a command of now, with what was given by an option of before as a setting; say how it is said now."""
    given = [part for name, value in settings.items() if value for part in ("--set", f"{name}={value}")]
    arguments = [*words, *given]
    was = context.command_path.removeprefix("kernbench ")
    complain(f"hint: kernbench {was} is kernbench {shlex.join([command, *arguments])} now")
    root = context.find_root()
    assert isinstance(root.command, click.Group)
    found = root.command.get_command(root, command)
    assert found is not None
    with found.make_context(command, arguments, parent=root) as now:
        return found.invoke(now)


@click.group("pto", cls=SuggestingGroup, hidden=True)
def pto() -> None:
    """Earlier words: kernbench run and kernbench sweep take task graphs."""


@pto.command("run", context_settings=_REST)
@click.option("--case")
@click.option("--runtime")
@_WORDS
@click.pass_context
def run_graph(context: click.Context, words: tuple[str, ...], case: str | None, runtime: str | None) -> Any:
    """Earlier words of kernbench run."""
    return _pass_on(context, "run", words, {"case": case, "runtime": runtime})


@pto.command("replay", context_settings=_REST)
@_FIELDS
@_WORDS
@click.pass_context
def replay(context: click.Context, words: tuple[str, ...], fields: tuple[str, ...]) -> Any:
    """Earlier words of kernbench run."""
    return _pass_on(context, "run", (*words, *_name_fields(fields)), {})


@pto.command("sweep", context_settings=_REST)
@_WORDS
@click.pass_context
def sweep(context: click.Context, words: tuple[str, ...]) -> Any:
    """Earlier words of kernbench sweep."""
    return _pass_on(context, "sweep", words, {})


@click.group("tanto", cls=SuggestingGroup, hidden=True)
def tanto() -> None:
    """Earlier words: kernbench run and kernbench check take Tanto programs."""


@tanto.command("run", context_settings=_REST)
@_FIELDS
@click.option("--kernels")
@click.option("--kernel-map")
@click.option("--in", "inputs", multiple=True)
@click.option("--rounding")
@click.option("-D", "--define", "defines", multiple=True)
@_WORDS
@click.pass_context
def run_programs(
    context: click.Context,
    words: tuple[str, ...],
    fields: tuple[str, ...],
    inputs: tuple[str, ...],
    defines: tuple[str, ...],
    **settings: str | None,
) -> Any:
    """Earlier words of kernbench run."""
    listed = {"inputs": join_texts(inputs), "defines": join_texts(defines)}
    return _pass_on(context, "run", (*words, *_name_fields(fields)), {**settings, **listed})


@tanto.command("check", context_settings=_REST)
@_WORDS
@click.pass_context
def check(context: click.Context, words: tuple[str, ...]) -> Any:
    """Earlier words of kernbench check."""
    return _pass_on(context, "check", words, {})


COMMANDS = {"pto": pto, "tanto": tanto}
