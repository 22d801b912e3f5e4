"""The README and other pages as scripts: their files, their commands with output, their Python.

A fenced block is one of three things. In a `console` block, lines that begin with "$ " are commands, and what follows a
command is how what it prints on stdout begins. A block whose first line is a comment with a path (`# scale.py`) is that
file. Any other `python` block is run. `python -m tests.readme` replaces what is shown by what is printed.

A shell runs what needs one: pipes, redirections, other programs. Commands that are only `kernbench` with its arguments,
and Python, run in this process, which has loaded the compiled loops once.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path

from kernbench.cli.main import main as run_kernbench

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = (
    README,
    *(ROOT / "docs" / f"{name}.md" for name in ("analytic", "networks", "probe", "pto", "traces")),
    *sorted((ROOT / "docs" / "tutorials").glob("[a-z]*.md")),
)  # each a script of its own
COPIED = ("Makefile", "pyproject.toml", "topology", "models", "benches", "sweeps")
STUBS = {
    "kernbench": f'exec "{sys.executable}" -m kernbench "$@"',
    "python": f'exec "{sys.executable}" "$@"',
    "activate": "",
}
# A reader's shell has none of these; that of the tests has some.
DROPPED = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "FORCE_COLOR", "PYTEST_ADDOPTS"}
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FOR_THE_SHELL = re.compile(r"[|&;<>$`*?!~(){}\\\n]")
_PATH = re.compile(r"# ([\w./-]+\.(?:py|yaml))\n")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing a reader does: `kind` is "file" (at `path`), "command" or "python"; `output` is what the README shows."""

    kind: str
    text: str
    path: str = ""
    output: str = ""


def read_steps(text: str) -> list[Step]:
    """The steps of a page, in order."""
    steps = []
    for language, body in _FENCE.findall(text):
        named = _PATH.match(body)
        if named:
            steps.append(Step("file", body, path=named[1]))
        elif language == "console":
            steps += _commands(body)
        elif language == "python":
            steps.append(Step("python", body))
    return steps


def _commands(body: str) -> list[Step]:
    steps = []
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        steps.append(Step("command", command, output=output.rstrip("\n")))
    return steps


def without_wall_time(text: str) -> list[str]:
    """The lines of an output, with what says nothing of the machine (wall time, the simulator's events, spacing) made equal."""
    text = re.sub(r"\d+(\.\d+)? ?(s|ms)\b", "… s", text)
    text = re.sub(r"[\d,]+ events\b", "… events", text)
    return [" ".join(line.split()) for line in text.strip().splitlines()]


def shows(step: Step, printed: str) -> bool:
    """Whether what a command prints begins with what its page shows."""
    shown = without_wall_time(step.output)
    return without_wall_time(printed)[: len(shown)] == shown


def make_checkout(target: Path) -> None:
    """Make a directory look like a checkout after `make setup`, with this environment and these sources behind it."""
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, target / name)
    stubs = target / ".venv" / "bin"
    stubs.mkdir(parents=True)
    for name, body in STUBS.items():
        (stubs / name).write_text(f"#!/bin/sh\n{body}\n")
        (stubs / name).chmod(0o755)
    (stubs.parent / ".installed").touch()


def run_step(step: Step, checkout: Path) -> str:
    """Do what a step says; returns what it prints on stdout. `make test` is only looked at: it is what runs this.

    Errors: AssertionError for a command that fails; whatever Python raises.
    """
    if step.kind == "file":
        (checkout / step.path).parent.mkdir(parents=True, exist_ok=True)
        (checkout / step.path).write_text(step.text, encoding="utf-8")
        return ""
    if step.kind == "python":
        return _run_here(lambda: exec(compile(step.text, "<page>", "exec"), {"__name__": "__main__"}), checkout)
    if step.text.startswith("kernbench ") and not _FOR_THE_SHELL.search(step.text):
        return _run_here(lambda: run_kernbench(shlex.split(step.text)[1:]), checkout)
    return _run_in_shell(step.text.replace("make test", "make --dry-run test"), checkout)


def _run_here(call: Callable[[], int | None], checkout: Path) -> str:
    """What a call prints on stdout in a directory. Errors: AssertionError for an exit code."""
    out, err = (TextIOWrapper(BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with chdir(checkout), redirect_stdout(out), redirect_stderr(err):
        code = call()
    printed, complained = (stream.buffer.getvalue().decode() for stream in (out, err))
    assert not code, f"{printed}{complained}"
    return printed


def _run_in_shell(command: str, checkout: Path) -> str:
    environment = {
        **{name: value for name, value in os.environ.items() if name not in DROPPED},
        "PATH": f"{checkout / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTHONSAFEPATH": "1",  # the working directory holds no sources
    }
    arguments = ["bash", "-c", command]
    done = subprocess.run(arguments, cwd=checkout, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def main() -> None:
    """Run the pages and put into them what their commands print, where they show an output."""
    for page in PAGES:
        _renew(page)


def _renew(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as directory:
        make_checkout(Path(directory))
        for step in read_steps(text):
            printed = run_step(step, Path(directory)).rstrip()
            if step.output and not shows(step, printed):
                text = text.replace(f"$ {step.text}\n{step.output}\n", f"$ {step.text}\n{printed}\n")
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
