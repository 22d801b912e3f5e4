"""A user's program, which the type checker reads in strict mode: every public function has exact types. It does not run."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import polars

import kernbench
from kernbench import Comparison, Diagram, EvaluationResult, Explanation, RunResult, SweepResult
from kernbench.runs.what_if import WhatIf
from kernbench.traffic.curve import Curve
from kernbench.traffic.probe_suite import Survey
from kernbench.traffic.run import FlowResult


def use_runs() -> None:
    """Runs and their explanations."""
    assert_type(kernbench.__version__, str)
    result = kernbench.run("gemm-single-pe", "tiny", parameters={"M": 64}, time_limit="10 min")
    assert_type(result, RunResult)
    assert_type(result.latency_ns, float)
    assert_type(result.op_log(), polars.DataFrame)
    explanation = result.explain()
    assert_type(explanation, Explanation)
    assert_type(explanation.what_if, WhatIf | None)


def use_sweeps() -> None:
    """Sweeps by file, by mapping and by bench."""
    result = kernbench.sweep("quickstart", workers=1, retry=True)
    assert_type(result, SweepResult)
    assert_type(result.table, polars.DataFrame)
    assert_type(result.scan(), polars.LazyFrame)
    assert_type(result.best(3), polars.DataFrame)
    assert_type(result.front, polars.DataFrame)
    assert_type(result.sensitivities, polars.DataFrame)
    assert_type(result.objectives, tuple[str, ...])
    assert_type(result.plot("plots"), dict[str, Path])
    kernbench.sweep({"bench": "vector-add", "parameters": {"n": ["1Ki", "4Ki"]}}, Path("out"))
    kernbench.sweep("vector-add", parameters={"n": "1Ki:4Ki:x2"}, topology="tiny", objectives=["min latency_ns"])
    kernbench.sweep("vector-add", worker=1)  # pyright: ignore[reportCallIssue]


def use_the_rest() -> None:
    """Comparisons, evaluations, traffic and pictures."""
    evaluation = kernbench.evaluate("gemm", "tiny", settings={"shapes": [(64, 64, 64)]})
    assert_type(evaluation, EvaluationResult)
    assert_type(kernbench.compare("before", Path("after"), ["achieved_tflops"]), Comparison)
    assert_type(kernbench.compare(evaluation, evaluation).pairs, polars.DataFrame)
    assert_type(kernbench.probe("tiny"), Survey)
    assert_type(kernbench.probe("mesh_8x8", flows=["node[0][0]:node[3][4]:4KiB"]), FlowResult)
    assert_type(kernbench.probe("mesh_8x8", pattern="uniform", load=0.1), Curve)
    assert_type(kernbench.diagram("tiny", "cube"), Diagram)
