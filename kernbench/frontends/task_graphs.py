"""Task graphs: files and folders in the shape of the runtime's `kernel_config.py` and `golden.py`, by name or path."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from kernbench import library
from kernbench.errors import KernBenchError
from kernbench.frontends.benches import CODE
from kernbench.frontends.frontend import Files, FrontEnd, Named
from kernbench.pto import MACHINE
from kernbench.python_text import read_python

FOLDER = "benches/pto"
PARTS = ("kernel_config.py", "golden.py")
RUNTIMES = ("host_build_graph", "aicpu_build_graph", "tensormap_and_ringbuffer")
_NEEDED = ("KERNELS", "ORCHESTRATION", "RUNTIME_CONFIG", "ALL_CASES", "generate_inputs", "compute_golden")


def is_task_graph(name: str) -> bool:
    """Whether a name is one of the task graphs, or a path of such a file or folder."""
    if library.is_path(name) or library.exists(Path(name)):
        return _looks_like_one(Path(name))
    return name.removesuffix(".py") in library.list_names(FOLDER)


def _looks_like_one(path: Path) -> bool:
    """Whether a path is a folder of the two files, or a file that declares what a task graph does."""
    if library.exists(path) and path.is_dir():
        return all((path / part).is_file() for part in PARTS)
    if path.suffix != ".py" or not library.is_file(path):
        return False
    text = path.read_text(encoding="utf-8", errors="replace")
    return all(re.search(rf"^{name}\b|^(from|def) .*\b{name}\b", text, re.MULTILINE) for name in _NEEDED)


def name_files(name: str, parameters: Mapping[str, object]) -> Files:
    """The file or folder of a task graph that is named by a path."""
    del parameters
    path = Path(name)
    return [(CODE, path)] if library.is_path(name) or library.exists(path) else []


def _names() -> Named:
    return {name: _values(name) for name in library.list_names(FOLDER)}


def _values(name: str) -> Mapping[str, tuple[str, ...]]:
    """The parameters of all cases, with the cases and runtimes that there are, if the file has them as constants."""
    cases: Mapping[str, list[str]] = {}
    with suppress(KernBenchError, AttributeError, TypeError):
        found = read_python(library.find(FOLDER, name), "bench").value_of("ALL_CASES")
        cases = {str(case): list(parameters) for case, parameters in found.items()}
    own = {parameter: () for parameters in cases.values() for parameter in parameters}
    return {"case": tuple(cases), "runtime": RUNTIMES, **own}


FRONT_END = FrontEnd(
    name="task-graph",
    kind="pto",
    title="bench of task graphs",
    machine=MACHINE,
    workloads="kernbench.frontends.task_graph_workloads",
    claims=is_task_graph,
    names=_names,
    folder=FOLDER,
    small={"bench": "vector_example", "topology": "ascend_tiny", "parameters": {"case": "Small", "rows": 4}},
    files_of=name_files,
    verifies=True,
    pictures="kernbench.report.diagram.swimlane",
    suffixes=(".py",),
)
