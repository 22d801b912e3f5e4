"""Algorithm modules: files in `benches/ccl/`, each one algorithm of one collective.

The contract: `kernel` is the device kernel; `kernel_args(world_size, n_elem, *, cube_w=4, cube_h=4)` builds its arguments,
which follow the tensors' addresses and are followed by rank, topology kind, sip_w and sip_h, which the backend appends;
`SIP_TOPO_RING`, `SIP_TOPO_TORUS` and `SIP_TOPO_MESH` are the kinds and `TOPO_NAME_TO_KIND` names them. A module may
also have: `COLLECTIVE` (all_reduce by default), a `plan` among the keywords of `kernel_args` (see `Plan`),
`neighbours(rank, cube, world)` for directions of its own, `bound(cost, world, nbytes, plan)` for a lower bound of its time (see
`alpha_beta.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from math import isfinite
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

from kernbench import library
from kernbench.ccl.plan import Plan
from kernbench.ccl.wiring import Neighbours, Peer, grid_neighbours
from kernbench.errors import InputError, KernBenchError, error_text, suggest
from kernbench.user_modules import execute, line_of

FOLDER = "benches/ccl"
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "barrier")
# Which of the tensors that go out and come in are one for each rank.
LISTED = {"all_gather": (True, False), "reduce_scatter": (False, True), "all_to_all": (True, True)}
_KINDS = ("SIP_TOPO_RING", "SIP_TOPO_TORUS", "SIP_TOPO_MESH")
_loaded: dict[tuple[Path, int, int], Algorithm] = {}  # by file, mtime and size


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A loaded module. Its functions, but for the kernel, raise InputError for whatever they raise, and for other results."""

    name: str
    file: Path
    collective: str
    kernel: Callable[..., Any]
    kinds: Mapping[str, int]  # TOPO_NAME_TO_KIND
    neighbours: Neighbours
    own_wiring: bool
    bound: Callable[..., float] | None
    kernel_args: Callable[..., tuple[Any, ...]]
    takes_plan: bool

    def arguments(self, world_size: int, n_elem: int, cube_w: int, cube_h: int, plan: Plan) -> tuple[Any, ...]:
        """The kernel's arguments between the addresses and those that the backend appends. Errors: InputError if it raises."""
        extra = {"plan": plan} if self.takes_plan else {}
        return self.kernel_args(world_size, n_elem, cube_w=cube_w, cube_h=cube_h, **extra)


def load_algorithm(name: str) -> Algorithm:
    """The algorithm of a module by name or path; the file is run once for each version of it.

    Errors: InputError for an unknown module, one that does not load, or one that breaks the contract.
    """
    path = library.find(FOLDER, name)
    stat = path.stat()
    key = (path, stat.st_mtime_ns, stat.st_size)
    if key not in _loaded:
        _loaded[key] = _check(path, execute(path, "ccl", "algorithm module"))
    return _loaded[key]


def _guard(path: Path, function: Callable[..., Any], read: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function of a module, with its result as `read` gives it. Errors: InputError with the line that raised."""

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            return read(function(*arguments, **keywords))
        except KernBenchError:
            raise
        except (Exception, SystemExit) as error:  # a user's function may raise anything
            raise InputError(f"{line_of(error, path)}: {function.__name__} raised {error_text(error)}") from error

    return call


def _read_wiring(found: Mapping[str, Any]) -> dict[str, Peer]:
    return {str(direction): Peer(*peer) for direction, peer in found.items()}


def _read_ns(found: Any) -> float:
    if not isfinite(found):
        raise ValueError(f"{found} is no time in ns")
    return float(found)


def _is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _check(path: Path, module: ModuleType) -> Algorithm:
    shown = library.show_path(path)
    missing = [name for name in (*_KINDS, "TOPO_NAME_TO_KIND", "kernel_args", "kernel") if not hasattr(module, name)]
    if missing:
        raise InputError(
            f"{shown} is no algorithm module: it lacks {', '.join(missing)}; see docs/collectives.md for the contract"
        )
    for name in ("kernel_args", "kernel", "neighbours", "bound"):
        if hasattr(module, name) and not callable(getattr(module, name)):
            raise InputError(f"{shown}: {name} is {getattr(module, name)!r}; make it a function")
    collective = getattr(module, "COLLECTIVE", "all_reduce")
    if collective not in COLLECTIVES:
        raise InputError(f"{shown}: COLLECTIVE is {collective!r}{suggest(str(collective), COLLECTIVES)}")
    if not _is_mapping(module.TOPO_NAME_TO_KIND):
        raise InputError(
            f"{shown}: TOPO_NAME_TO_KIND is {module.TOPO_NAME_TO_KIND!r}; make it a dict of names to kinds"
        )
    keywords = inspect.signature(module.kernel_args).parameters.values()
    given = {name: getattr(module, name) for name in ("neighbours", "bound") if hasattr(module, name)}
    readers = {"neighbours": _read_wiring, "bound": _read_ns}
    guarded = {name: _guard(path, function, readers[name]) for name, function in given.items()}
    return Algorithm(
        name=path.stem,
        file=path,
        collective=collective,
        kernel=module.kernel,
        kinds=dict(module.TOPO_NAME_TO_KIND),
        neighbours=guarded.get("neighbours", grid_neighbours),
        own_wiring="neighbours" in guarded,
        bound=guarded.get("bound"),
        kernel_args=_guard(path, module.kernel_args, tuple),
        takes_plan=any(keyword.name == "plan" or keyword.kind is keyword.VAR_KEYWORD for keyword in keywords),
    )
