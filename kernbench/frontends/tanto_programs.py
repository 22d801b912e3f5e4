"""Tanto programs: JSON files of kernels, pipes and buffers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from kernbench.errors import InputError, shorten
from kernbench.frontends.benches import TANTO
from kernbench.frontends.frontend import Files, FrontEnd

ROUNDINGS = ("truncate", "nearest")
PARAMETERS = {"program": "", "kernels": "", "kernel_map": "", "inputs": "", "defines": "", "rounding": ROUNDINGS[0]}


def split_texts(text: object) -> list[str]:
    """The texts that commas part; one in double quotes may hold commas. Errors: InputError."""
    try:
        lines = list(csv.reader([str(text)], skipinitialspace=True))
    except csv.Error as error:
        raise InputError(f"{shorten(repr(text))} is no list of texts with commas between them: {error}") from None
    return [part.strip() for part in (lines[0] if lines else []) if part.strip()]


def join_texts(texts: Iterable[str]) -> str:
    """Texts as `split_texts` parts them."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(texts)
    return line.getvalue()


def name_files(name: str, parameters: Mapping[str, object]) -> Files:
    """The files that a program reads: itself, the folder of its kernels, their map, and buffers."""
    texts = {key: str(parameters.get(key) or "") for key in PARAMETERS}
    program = Path(texts["program"] or name)
    files = [("program", program), ("kernels", Path(texts["kernels"] or program.parent))]
    files += [("kernel map", Path(text)) for text in [texts["kernel_map"]] if text]
    return files + [("buffer", Path(text.partition("=")[2])) for text in split_texts(texts["inputs"])]


def make_whole(parameters: Mapping[str, object]) -> dict[str, object]:
    """Parameters that mean the same in any directory: paths are whole. Errors: InputError as `split_texts`."""
    found = dict(parameters)
    for name in ("program", "kernels", "kernel_map"):
        if found.get(name):
            found[name] = str(Path(str(found[name])).absolute())
    if found.get("inputs"):
        pairs = [text.partition("=") for text in split_texts(found["inputs"])]
        found["inputs"] = join_texts(f"{number}={Path(file).absolute()}" for number, _, file in pairs)
    return found


FRONT_END = FrontEnd(
    name="tanto-program",
    kind="tanto-program",
    title="Tanto program",
    machine=TANTO.machine,
    workloads="kernbench.frontends.tanto_program_workloads",
    claims=lambda name: Path(name).suffix == ".json",
    names=dict,
    small=TANTO.small,
    files_of=name_files,
    make_whole=make_whole,
    verifies=True,
    suffixes=(".json",),
)
