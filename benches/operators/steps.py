"""The steps of networks that are run, and what is kept of each."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kernbench

RECORD = Path("results/reference/operators.json")
DIGITS = 4  # of shares
CLASSES = 2  # of parts on the critical path that are kept
LEAST = 0.02  # of an operator's time, below which a class says nothing
SHOWN = 0.02  # of a step: of graphs, whose operators are many, the longest are kept

Found = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a network on a machine."""

    machine: str
    network: str
    parameters: dict[str, object] = field(default_factory=dict[str, object])

    @property
    def name(self) -> str:
        """What tells it from others."""
        return " ".join([self.machine, self.network, *self.settings])

    @property
    def settings(self) -> list[str]:
        """As they are given to `--set`."""
        return [f"{name}={value}" for name, value in self.parameters.items()]

    @property
    def command(self) -> str:
        """What repeats it, with the reasons."""
        given = "".join(f" --set {one}" for one in self.settings)
        return f"kernbench run {self.network} -t {self.machine}{given} --explain"


DECODE = {"context": 2048}
PREFILL = {"phase": "prefill", "prompt": 2048}
STEPS = (
    *(Step("sip_2x4x4", "llama-3.1-8b", {"batch": batch, **DECODE}) for batch in (1, 32, 128)),
    Step("sip_2x4x4", "llama-3.1-8b", {"batch": 32, "tp": 2, **DECODE}),
    *(Step("sip_2x4x4", name, {"batch": 16}) for name in ("resnet-50", "mobilenet-v2")),
    *(Step("tpu_v6e", "llama-3.1-8b", {"batch": batch, **DECODE}) for batch in (1, 32)),
)


def measure(step: Step) -> Found:
    """Run a step; what is kept of it and of its operators."""
    result = kernbench.run(step.network, step.machine, parameters=step.parameters)
    told = result.network
    assert told is not None
    operators = [
        {
            "part": row["section"],
            "operator": row["operator"],
            "of_step": round(row["times"] * row["ns"] / told["step_ns"], DIGITS),
            "bound": row["bound"],
            "share_of_peak": None if row["bound"] is None else round(row["share_of_peak"], DIGITS),
            "spent": {
                kind: round(ns / spent.path_fs * 1e6, DIGITS)
                for kind, ns in list(spent.to_dict()["spent_ns"].items())[:CLASSES]
            },
        }
        for row, spent in zip(told["operators"], result.explain().operators, strict=True)
        if told["family"] != "graph" or row["times"] * row["ns"] >= SHOWN * told["step_ns"]
    ]
    return {"step_ns": told["step_ns"], "share_of_least": round(told["share_of_least"], DIGITS), "operators": operators}


def read() -> dict[str, Found]:
    """The record that is kept; empty if there is none."""
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {}


def write(record: dict[str, Found]) -> None:
    """Keep a record."""
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
