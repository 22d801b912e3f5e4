"""Tanto programs: JSON files of kernels, pipes and buffers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from kernbench.frontends.benches import TANTO
from kernbench.frontends.frontend import Files, FrontEnd

ROUNDINGS = ("truncate", "nearest")
PARAMETERS = {"program": "", "kernels": "", "kernel_map": "", "inputs": "", "defines": "", "rounding": ROUNDINGS[0]}


def split_texts(text: object) -> list[str]:
    """The texts that commas part; one in double quotes may hold commas."""
    lines = list(csv.reader([str(text)], skipinitialspace=True))
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
    verifies=True,
    suffixes=(".json",),
)
