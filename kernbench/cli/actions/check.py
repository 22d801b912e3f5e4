"""What `kernbench check` does: kernel files one by one, and programs as their front-ends read them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from kernbench.cli.output.screen import say
from kernbench.errors import InputError
from kernbench.frontends.frontend import Checked
from kernbench.frontends.registry import find, is_program
from kernbench.tanto.kernel_report import check_file, kernel_files
from kernbench.tanto.program_settings import read_defines
from kernbench.text import plural
from kernbench.user_modules import looking

NONE = "none"


def check(paths: Sequence[Path], defines: Sequence[str], *, as_json: bool) -> None:
    """Check files and folders; say what is known of each. Errors: InputError for those that are wrong, a line each."""
    macros, wrong, reports = read_defines(defines), list[str](), list[dict[str, Any]]()
    programs = [path for path in paths if is_program(path)]
    with looking():  # a check runs no file
        checked = [found for path in programs if (found := _try_check(path, wrong))]
    for path in kernel_files(path for path in paths if path not in programs):
        try:
            reports.append(check_file(path, macros).to_dict())
        except InputError as error:
            wrong.append(str(error))
    if as_json:
        more = {"programs": [one.data for one in checked]} if programs else {}
        click.echo(json.dumps({"kernels": reports, "errors": wrong, **more}))
    else:
        for report in reports:
            _show_report(report)
        for one in checked:
            say(one.title, bold=True)
            for line in one.lines:
                say(f"  {line}")
        say(f"good: {_count(len(checked), len(reports))}; not good: {plural(len(wrong), 'file') if wrong else NONE}")
    if wrong:
        raise InputError("\n".join(wrong))


def _try_check(path: Path, wrong: list[str]) -> Checked | None:
    try:
        return find(path).check()
    except InputError as error:
        wrong.append(str(error))
        return None


def _count(programs: int, kernels: int) -> str:
    """The programs and kernel files that are good, of those kinds that there are."""
    kinds = ((programs, "program"), (kernels, "kernel file"))
    return " and ".join(plural(count, kind) for count, kind in kinds if count) or NONE


def _show_report(report: dict[str, Any]) -> None:
    say(f"{report['file']}: {report['kind']} kernel", bold=True)
    for title, key in (("takes", "parameters"), ("compile time", "compile_time"), ("uses", "uses"), ("L1", "l1")):
        if report[key]:
            say(f"  {title}: {', '.join(report[key])}")
    for sentence in report["may_race"]:
        say(f"  may race: {sentence}")
