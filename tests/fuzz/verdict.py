"""The verdict on an outcome: what of it no input may bring about."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click

from tests.fuzz.case import Case
from tests.fuzz.execution import WORK, Outcome

CODES = (0, 1, 2)  # and 130 after Ctrl-C, which nobody presses here
BUG = "this is a bug in"
MOST_LINE = 100_000  # characters of an error, which may quote what it is about
MOST_BYTES = 2 << 30
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029\u2066-\u2069]")
_ROOT = f"{Path(__file__).parents[2]}/"
_OWN_FRAMES = ("kernbench/__main__.py", "kernbench/cli/main.py")


@dataclass(frozen=True)
class Finding:
    """What is wrong, where, and the words that say so; two findings of one `name` are the same."""

    what: str
    place: str
    told: str

    @property
    def name(self) -> str:
        """What and where."""
        return f"{self.what} at {self.place}" if self.place else self.what

    @property
    def is_nameless(self) -> bool:
        """Whether the place is to be found out with --debug."""
        return self.what == "bug" and not self.place


def judge(case: Case, outcome: Outcome) -> Finding | None:
    """The first thing that is wrong, the worst first."""
    return next((found for check in _CHECKS if (found := check(case, outcome))), None)


def find_place(finding: Finding, case: Case, run: Callable[[Case], Outcome]) -> Finding:
    """The same finding with its place, which a second run with --debug shows."""
    told = run(replace(case, arguments=("--debug", *case.arguments))).err
    return replace(finding, place=place_of(told) or "a place that a second run did not show", told=told[-3000:])


def place_of(told: str) -> str:
    """`file:line Error` of the innermost frame of ours in the last traceback."""
    last = told.rpartition("Traceback (most recent call last)")[2]
    frames = [(ours, line) for path, line in _FRAME.findall(last) if (ours := _own(path))]
    inner = [frame for frame in frames if frame[0] not in _OWN_FRAMES] or frames
    raised = re.findall(r"^([A-Za-z_][\w.]*)(?::|$)", last, re.MULTILINE)
    raised = [name for name in raised if name not in ("error", "warning")]
    return f"{inner[-1][0]}:{inner[-1][1]} {raised[-1].rpartition('.')[2] if raised else ''}".strip() if inner else ""


def place_of_fault(told: str) -> str:
    """`file:line` of the innermost frame of ours that faulthandler wrote, of the main thread if of several."""
    main = told.rpartition("Current thread")[2] or told
    frames = [(ours, line) for path, line in _FRAME.findall(main) if (ours := _own(path))]
    return f"{frames[0][0]}:{frames[0][1]}" if frames else ""


def _own(path: str) -> str | None:
    """The path of a file of the project, or of a case, from its folder on."""
    if path.startswith(_ROOT) and "site-packages" not in path:
        return path.removeprefix(_ROOT)
    return path.partition(WORK)[2] or None


def _exception(_case: Case, outcome: Outcome) -> Finding | None:
    if BUG in outcome.err:
        return Finding("bug", place_of(outcome.err), outcome.err[-3000:])
    return None


def _traceback(case: Case, outcome: Outcome) -> Finding | None:
    if "--debug" in case.arguments and outcome.code is not None:
        return None
    for sign in (
        "Traceback (most recent call last)",
        "panicked at",
        "Exception ignored",
        "RuntimeWarning",
        "Fatal Python error",
    ):
        if sign in outcome.err or sign in outcome.out:
            return Finding("traceback", place_of(outcome.err) or sign, outcome.err[-3000:])
    return None


def _memory(_case: Case, outcome: Outcome) -> Finding | None:
    return Finding("memory", "", f"{outcome.peak_bytes >> 20} MB") if outcome.peak_bytes > MOST_BYTES else None


def _code(_case: Case, outcome: Outcome) -> Finding | None:
    return None if outcome.code in CODES else Finding(f"exit code {outcome.code}", "", outcome.err[-1000:])


def _sentence(case: Case, outcome: Outcome) -> Finding | None:
    """One error if the input cannot be used, at most one if the run failed, none if it worked; no line out of proportion."""
    if "--debug" in case.arguments or "\nCommands:\n" in outcome.err:  # help, where there is no command
        return None
    errors = [line for line in click.unstyle(outcome.err).splitlines() if line.lower().startswith("error: ")]
    allowed = {0: (0,), 1: (0, 1), 2: (1,)}[outcome.code or 0]
    if len(errors) not in allowed:
        return Finding(
            f"{len(errors)} errors with exit code {outcome.code}", errors[0][:40] if errors else "", outcome.err[-1000:]
        )
    if any(len(line) > MOST_LINE for line in outcome.err.splitlines()):
        return Finding("a sentence out of proportion", _shape(errors), outcome.err[:1000])
    return None


def _shape(errors: list[str]) -> str:
    """The words of a sentence, without what they quote: by them two sentences are the same."""
    words = re.sub(r"'[^']*'?|\"[^\"]*\"?|\S*[^\w\s]\S*|\d+", "", errors[0] if errors else "")
    return " ".join(words.split())[:80]


def _characters(case: Case, outcome: Outcome) -> Finding | None:
    if "FORCE_COLOR" in case.environment:
        return None
    for name, text in (("stderr", outcome.err), ("stdout", outcome.out)):
        if found := _CONTROLS.search(text.replace("\r\n", "\n")):
            at = found.start()
            place = case.arguments[0] if case.arguments else ""
            return Finding(f"a control character on {name}", place, repr(text[max(0, at - 200) : at + 50]))
    return None


def _remains(case: Case, outcome: Outcome) -> Finding | None:
    """Files after bad input: none is new, changed or gone. After anything: none is half-written."""
    after = {name: content for name, content in outcome.after.items() if "__pycache__" not in name}
    if outcome.code == 2 and not case.environment and after != outcome.before:
        changed = sorted(name for name in {*after, *outcome.before} if after.get(name) != outcome.before.get(name))
        return Finding(
            "bad input changed files", case.arguments[0] if case.arguments else "", f"{changed}: {outcome.err[-500:]}"
        )
    odd = [
        name
        for name in after
        if name not in outcome.before and any(part.startswith(".") for part in name.split("/")[1:])
    ]
    return Finding("a file is left", case.arguments[0], str(odd)) if odd else None


def _outputs(case: Case, outcome: Outcome) -> Finding | None:
    """JSON and SVG that others can read."""
    words = case.arguments
    is_answer = outcome.code == 0 and outcome.out.startswith("{") and not {"--help", "-h", "--version"} & {*words}
    if "--json" in words and is_answer and (problem := _is_no_json(outcome.out)):
        return Finding("--json is no JSON", words[0], f"{problem}: {outcome.out[:500]}")
    for name, content in outcome.after.items():
        if content is None or content == outcome.before.get(name):
            continue
        problem = (
            _is_no_json(content) if name.endswith(".json") else _is_no_xml(content) if name.endswith(".svg") else None
        )
        if problem:
            return Finding(f"a written file is no {name.rpartition('.')[2]}", name.rpartition("/")[2], problem)
    return None


def _is_no_json(text: str | bytes) -> str | None:
    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is no JSON")

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError as error:
        return str(error)
    return None


def _is_no_xml(content: bytes) -> str | None:
    try:
        ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        return str(error)
    return None


_CHECKS = (_exception, _memory, _traceback, _code, _sentence, _characters, _remains, _outputs)
