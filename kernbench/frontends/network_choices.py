"""The choices of a step: bounds leave candidates out, the others run alone, the fastest is taken, and what was found is kept.

What holds without a choice always runs, so nothing that is chosen is slower alone; of equals it stays. What cannot run, as if
scratch is full, is left out. The same step on the same machine has the same choices, kept or found again. They are kept under
a digest of the machine, the sizes and our sources.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from kernbench.errors import KernBenchError
from kernbench.library import code_digest
from kernbench.machine.compile_cache import directory, load_kept, save_kept
from kernbench.units import FS_PER_NS
from kernbench.workloads.architecture import Heads
from kernbench.workloads.sip.candidates import Candidate, Candidates
from kernbench.workloads.sip.choices import Choices, tell_choice
from kernbench.workloads.sip.trials import QUESTIONS, Question, Trials

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.workloads.architecture import Architecture, LayerKind
    from kernbench.workloads.step import Step


class Decided(NamedTuple):
    """Choices as `read_choices` reads them, and how each came about, in JSON's types."""

    text: str
    told: Sequence[Mapping[str, Any]]


def decide(machine: Machine, network: Architecture, step: Step, fixed: Choices) -> Decided:
    """The choices of a step, but for those that are fixed. Errors: as of kernels."""
    if step.phase != "decode":
        return Decided(fixed.tell(), ())
    path = directory("choices") / f"{_digest(machine, network, step, fixed)}.choices"
    kept = load_kept(path)
    if kept is not None:
        return Decided(**json.loads(kept))
    found = _find(machine, network, step, fixed)
    save_kept(path, json.dumps(found._asdict()).encode())
    return found


def _digest(machine: Machine, network: Architecture, step: Step, fixed: Choices) -> str:
    asked = (code_digest(), machine.digest, replace(network, name="", not_modelled=()), step, fixed)
    return hashlib.sha256(repr(asked).encode()).hexdigest()


def _find(machine: Machine, network: Architecture, step: Step, fixed: Choices) -> Decided:
    kind = _find_kind(network)
    trials = Trials(machine, network, step, kind)
    candidates = Candidates(machine, network, step, kind)
    chosen, told, has_heads = fixed, list[Mapping[str, Any]](), isinstance(network.attention, Heads)
    for question in QUESTIONS:
        if getattr(fixed, question.field) is not None:
            told.append(
                {"choice": question.field, "chosen": tell_choice(getattr(fixed, question.field)), "fixed": True}
            )
        elif not (question.of_mlp and kind.sparse) and (has_heads or not question.of_heads):
            value, found = settle(trials, question, candidates.list(question.field, chosen), chosen)
            chosen = chosen._replace(**{question.field: value})
            told.append(found)
    return Decided(chosen.tell(), told)


def _find_kind(network: Architecture) -> LayerKind:
    """The kind of layer that decides: of those with the most layers the first."""
    counts = network.count_kinds()
    return max(counts, key=lambda kind: counts[kind])


def settle(
    trials: Trials, question: Question, candidates: Sequence[Candidate], chosen: Choices
) -> tuple[Any, Mapping[str, Any]]:
    """The fastest value of a choice, and what was tried. Errors: that of the first candidate if none runs."""
    times: dict[Any, float] = {}
    failed: dict[Any, KernBenchError] = {}  # such as where scratch is full
    for one in (candidates[0], *sorted(candidates[1:], key=lambda one: one.least_fs)):
        if times and one.least_fs + one.written_fs >= min(times.values()):
            continue
        try:
            times[one.value] = trials.time(question, chosen._replace(**{question.field: one.value})) + one.written_fs
        except KernBenchError as error:
            failed[one.value] = error
            trials.begin()
    if not times:
        raise failed[None]
    best = min(times, key=lambda value: times[value])  # of equals the first
    return best, {
        "choice": question.field,
        "chosen": _tell(best),
        "fixed": False,
        "ns": times[best] / FS_PER_NS,
        "usual_ns": _find_ns(times, None),
        "candidates": [
            {
                "value": _tell(one.value),
                "least_ns": (one.least_fs + one.written_fs) / FS_PER_NS,
                "ns": _find_ns(times, one.value),
                "problem": str(failed[one.value]) if one.value in failed else None,
            }
            for one in candidates
        ],
    }


def _find_ns(times: Mapping[Any, float], value: Any) -> float | None:
    return times[value] / FS_PER_NS if value in times else None


def _tell(value: Any) -> str:
    return "usual" if value is None else tell_choice(value)
