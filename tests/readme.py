"""The README and other pages as scripts: their files, their commands with output, their Python.

A fenced block is one of three things. In a `console` block, lines that begin with "$ " are commands, and what follows a
command is how what it prints on stdout begins. A block whose first line is a comment with a path (`# scale.py`, `// scale.cpp`)
is that file. Any other `python` block is run. `python -m tests.readme` replaces what is shown by as many lines of what is
printed.

A figure in the prose that comes from a run is checked by a comment behind it, which a reader does not see:

    <!-- from runs
    5.1 µs: (told("kernbench run one.json")["span_us"] - 40 * 3) / 39
    a third: 1 - span("fast") / span("slow")
    given: 16 KiB
    -->

Each line has a text of the prose since the last block, and what it is: a Python expression of `told(command)`, which is what a
command prints with `--json`, and of `table(path)`, a table that an earlier step has left. A name may be given to a value first
(`one = told(…)`). A number has to be right in all its digits, a word (`half`, `a third`, `five times`) within a tenth. `given`
has what comes from no run. Tutorials have no number in their prose that is neither checked, nor given, nor in their blocks.

A shell runs what needs one: pipes, redirections, other programs. Commands that are only `kernbench` with its arguments,
and Python, run in this process, which has loaded the compiled loops once.
"""

from __future__ import annotations

import json
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
from typing import Any

import polars

from kernbench.cli.main import main as run_kernbench

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = (
    README,
    *(
        ROOT / "docs" / f"{name}.md"
        for name in ("analytic", "fit", "library", "networks", "output", "probe", "pto", "show", "traces")
    ),
    *sorted((ROOT / "docs" / "tutorials").glob("[a-z]*.md")),
)  # each a script of its own
ALONE = ("tanto-author",)  # pages that begin in an empty folder
COPIED = ("Makefile", "pyproject.toml", "topology", "models", "benches", "sweeps")
STUBS = {
    "kernbench": f'exec "{sys.executable}" -m kernbench "$@"',
    "python": f'exec "{sys.executable}" "$@"',
    "activate": "",
}
# A reader's shell has none of these; that of the tests has some.
DROPPED = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "FORCE_COLOR", "PYTEST_ADDOPTS"}
_BLOCK = re.compile(
    r"^```(?P<language>\w+)\n(?P<body>.*?)^```$|^<!-- from runs\n(?P<figures>.*?)^-->$", re.MULTILINE | re.DOTALL
)
_GIVEN = "given"
_TIMES = ("three", "four", "five", "six", "seven", "eight", "nine", "ten")
WORDS = {
    "half": 1 / 2,
    "a third": 1 / 3,
    "a quarter": 1 / 4,
    "a fifth": 1 / 5,
    "a sixth": 1 / 6,
    "a tenth": 1 / 10,
    "twice": 2.0,
    **{f"{word} times": float(number) for number, word in enumerate(_TIMES, 3)},
}
WORD_TOLERANCE = 0.1  # of the value of a word
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?")
_FOR_THE_SHELL = re.compile(r"[|&;<>$`*?!~(){}\\\n]")
_PATH = re.compile(r"(?:#|//) ([\w./-]+\.(?:csv|py|yaml|cpp))\n")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing a reader does: `kind` is "file" (at `path`), "command" or "python"; `output` is what the README shows.

    Or "figures", which a reader reads: `output` is the prose that has them.
    """

    kind: str
    text: str
    path: str = ""
    output: str = ""


def read_steps(text: str) -> list[Step]:
    """The steps of a page, in order."""
    steps, end = [], 0
    for block in _BLOCK.finditer(text):
        prose, end = text[end : block.start()], block.end()
        if block["figures"] is not None:
            steps.append(Step("figures", block["figures"], output=" ".join(prose.split())))
            continue
        language, body = block["language"], block["body"]
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


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure in the prose: its text, and the value that it has by the runs."""

    text: str
    value: float

    @property
    def is_right(self) -> bool:
        """Whether the text says the value: a number in all its digits, a word within a tenth."""
        if (word := WORDS.get(self.text.lower())) is not None:
            return abs(self.value / word - 1) <= WORD_TOLERANCE
        return self.told == self.text

    @property
    def told(self) -> str:
        """The text with the number that would be right, of as many decimals. Errors: AssertionError for a text without one."""
        number = NUMBER.search(self.text)
        assert number, f"{self.text!r} has no number, and is none of {', '.join(WORDS)}"
        value = 100 * self.value if self.text[number.end() :].lstrip().startswith("%") else self.value
        decimals = len(number[0].partition(".")[2])
        right = f"{value:,.{decimals}f}" if "," in number[0] or value >= 10000 else f"{value:.{decimals}f}"
        return self.text[: number.start()] + right + self.text[number.end() :]


def read_figures(step: Step, checkout: Path) -> list[Figure]:
    """The figures of a step, with their values. Errors: AssertionError for a text that its prose lacks."""
    known: dict[str, dict[str, Any]] = {}

    def told(command: str) -> dict[str, Any]:
        if command not in known:
            known[command] = json.loads(run_step(Step("command", f"{command} --json"), checkout))
        return known[command]

    names: dict[str, Any] = {"told": told, "table": lambda path: polars.read_parquet(checkout / path)}
    figures = []
    for line in step.text.splitlines():
        name, assigned, expression = line.partition(" = ")
        if assigned and name.isidentifier():
            names[name] = eval(expression, names)
            continue
        text, colon, expression = line.partition(": ")
        assert colon, f"{line!r}: expected a text of the prose, a colon, and what it is"
        if text == _GIVEN:
            text = expression
        assert text in step.output, f"{text!r} is not in the prose {step.output!r}"
        if text != expression:
            figures.append(Figure(text, float(eval(expression, names))))
    return figures


def find_unchecked(text: str) -> list[str]:
    """Numbers and words for fractions in the prose of a page that no comment has, and no block shows."""
    steps = read_steps(text)
    blocks = " ".join(f"{step.text} {step.output}" for step in steps if step.kind != "figures")
    shown = {number.replace(",", "") for number in NUMBER.findall(blocks)}
    checked = [
        line.removeprefix(f"{_GIVEN}: ").split(": ")[0]
        for step in steps
        if step.kind == "figures"
        for line in step.text.splitlines()
    ]
    prose = _BLOCK.sub(" ", text)
    for pattern in (r"^```.*?^```$", r"`[^`]*`", r"\]\([^)]*\)"):  # blocks that are not run, code, targets of links
        prose = re.sub(pattern, " ", prose, flags=re.MULTILINE | re.DOTALL)
    prose = " ".join(prose.split())
    for each in sorted(checked, key=len, reverse=True):
        prose = prose.replace(each, " ")
    numbers = [number for number in NUMBER.findall(prose) if number.replace(",", "") not in shown]
    words = "|".join(sorted(WORDS, key=len, reverse=True))
    return numbers + re.findall(rf"\b(?:{words})\b(?! as fast)", prose, re.IGNORECASE)


def make_folder(target: Path, page: Path) -> None:
    """Make a directory as the one in which a reader of a page stands: a checkout, or an empty one with KernBench installed."""
    if page.stem in ALONE:
        _make_environment(target)
    else:
        make_checkout(target)


def make_checkout(target: Path) -> None:
    """Make a directory look like a checkout after `make setup`, with this environment and these sources behind it."""
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, target / name)
    _make_environment(target)


def _make_environment(target: Path) -> None:
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
        make_folder(Path(directory), page)
        for step in read_steps(text):
            if step.kind == "figures":
                text = _renew_figures(step, text, Path(directory))
                continue
            printed = run_step(step, Path(directory)).rstrip()
            if step.output and not shows(step, printed):
                begins = "\n".join(printed.splitlines()[: len(step.output.splitlines())])
                text = text.replace(f"$ {step.text}\n{step.output}\n", f"$ {step.text}\n{begins}\n")
    page.write_text(text, encoding="utf-8")


def _renew_figures(step: Step, text: str, checkout: Path) -> str:
    """A page with the right numbers in the prose of a step. Errors: AssertionError for a word that is not right any more."""
    comment = text.index(f"<!-- from runs\n{step.text}-->")
    begin = max((block.end() for block in _BLOCK.finditer(text) if block.end() <= comment), default=0)
    prose, figures = text[begin:comment], step.text
    for figure in read_figures(step, checkout):
        if not figure.is_right:
            prose, figures = prose.replace(figure.text, figure.told), figures.replace(figure.text, figure.told)
    return (
        f"{text[:begin]}{prose}<!-- from runs\n{figures}{text[comment + len('<!-- from runs') + 1 + len(step.text) :]}"
    )


if __name__ == "__main__":
    main()
