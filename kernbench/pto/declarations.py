"""Checks of what a bench of task graphs declares: names of its module, inputs, golden outputs. All of them raise InputError.

Each says what was got, where, and what is expected; a name that nobody reads is refused, since it may be a name misspelt.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from kernbench.errors import InputError, shorten, suggest
from kernbench.pto.runtime.orchestrator_thread import Backend
from kernbench.schema.guards import is_mapping, is_number, is_whole

NEEDED = ("KERNELS", "ORCHESTRATION", "RUNTIME_CONFIG", "ALL_CASES", "generate_inputs", "compute_golden")
_FUNCTIONS = ("generate_inputs", "compute_golden", "aicpu_orchestration_config")
_KEYS = {
    "ORCHESTRATION": ("function_name", "source"),
    "RUNTIME_CONFIG": ("runtime", "aicpu_thread_num", "block_dim", "build_mode"),
}
_SETTABLE = (bool, int, float, str)
_NO_NUMBERS = "OSUMmcV"  # kinds of arrays; those of bfloat16 and float8 have fields of none, and kind V


def check_declarations(held: Mapping[str, Any], where: str) -> None:
    """Check the names of a module, but for its kernels."""
    missing = [name for name in NEEDED if name not in held]
    if missing:
        raise InputError(f"{where}: a bench of task graphs lacks {', '.join(missing)}; docs/pto.md shows one")
    for name, known in _KEYS.items():
        if not is_mapping(held[name]):
            raise InputError(f"{where}: {name} is no mapping; docs/pto.md shows one")
        check_keys(held[name], known, f"{where}: {name}")
    _check_runtime(held["RUNTIME_CONFIG"], f"{where}: RUNTIME_CONFIG")
    for name in _FUNCTIONS:
        if held.get(name) is not None and not callable(held[name]):
            raise InputError(f"{where}: {name}: got {shorten(repr(held[name]))}, expected a function")
    name = held["ORCHESTRATION"].get("function_name")
    if not isinstance(name, str) or not callable(held.get(name)):
        raise InputError(f"{where}: ORCHESTRATION names no function of the module; give function_name")
    _check_cases(held, where)
    _check_comparison(held, where)


def check_keys(held: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    """Check that all keys are known."""
    for key in held:
        if key not in known:
            raise InputError(f"{where}: unknown key {shorten(repr(key))}{suggest(str(key), known)}")


def find_backend(name: object, where: str = "") -> Backend:
    """A runtime by name."""
    names = [backend.value for backend in Backend]
    if name not in names:
        raise InputError(f"{where}unknown runtime {shorten(repr(name))}{suggest(str(name), names)}")
    return Backend(name)


def _check_runtime(config: Mapping[str, Any], where: str) -> None:
    if "runtime" in config:
        find_backend(config["runtime"], f"{where}: ")
    for name in ("aicpu_thread_num", "block_dim"):
        check_whole(config.get(name, 1), f"{where}: {name}", 1)
    if config.get("build_mode", 1) not in (0, 1):
        raise InputError(f"{where}: build_mode: got {shorten(repr(config['build_mode']))}, expected 0 or 1")


def check_whole(value: object, where: str, least: int) -> int:
    """Check that a value is a whole number, and not less than `least`."""
    if not is_whole(value) or value < least:
        raise InputError(f"{where}: got {shorten(repr(value))}, expected a whole number of {least} or more")
    return int(value)


def _check_cases(held: Mapping[str, Any], where: str) -> None:
    cases: object = held["ALL_CASES"]
    if not is_mapping(cases) or not cases:
        raise InputError(f"{where}: ALL_CASES is no mapping of cases to parameters; give one case at least")
    for case, parameters in cases.items():
        names: list[Any] = [case, *parameters] if is_mapping(parameters) else [None]
        if not all(isinstance(name, str) for name in names):
            raise InputError(
                f"{where}: ALL_CASES: case {shorten(repr(case))}: got {shorten(repr(parameters))}, expected a name and a "
                "mapping of names of parameters to their values"
            )
    chosen = held.get("DEFAULT_CASE", next(iter(cases)))
    if not isinstance(chosen, str) or chosen not in cases:
        raise InputError(
            f"{where}: DEFAULT_CASE: got {shorten(repr(chosen))}, expected a case{suggest(str(chosen), cases)}"
        )


def _check_comparison(held: Mapping[str, Any], where: str) -> None:
    for name in ("RTOL", "ATOL"):
        value = held.get(name, 0)
        if not is_number(value) or not 0 <= value < math.inf:
            raise InputError(f"{where}: {name}: got {shorten(repr(value))}, expected a finite number of 0 or more")
    outputs: Any = held.get("__outputs__", ("",))
    if not isinstance(outputs, tuple | list) or not outputs or not all(isinstance(name, str) for name in outputs):  # pyright: ignore[reportUnknownVariableType]
        raise InputError(
            f"{where}: __outputs__: got {shorten(repr(outputs))}, expected a tuple of names of arrays, or no __outputs__ to "  # pyright: ignore[reportUnknownArgumentType]
            "compare all of them"
        )


def check_settable(name: str, value: object, bench: str) -> None:
    """Check that a parameter of a case is of a type that a text can be read as."""
    if not isinstance(value, _SETTABLE):
        raise InputError(
            f"parameter {name!r} of bench {bench!r} is {type(value).__name__}, which cannot be set; write a case with it"
        )


def is_array(value: object) -> TypeGuard[np.ndarray]:
    """Whether it is an array, and not a number."""
    return isinstance(value, np.ndarray)


def check_inputs(found: object, outputs: Sequence[str], bench: str) -> list[tuple[str, Any]]:
    """What generate_inputs returned, as pairs of a name and an array or a number; `outputs` are names of arrays among them."""
    where = f"bench {bench!r}: generate_inputs"
    if not isinstance(found, list | tuple):
        raise InputError(
            f"{where} gave {shorten(repr(found))}, expected a list of pairs of a name and an array or a number"
        )
    pairs: list[Any] = list(found)  # pyright: ignore[reportUnknownArgumentType]
    for at, pair in enumerate(pairs):
        if not _is_input(pair):
            raise InputError(
                f"{where} gave {shorten(repr(pair))} in place {at}, expected a name with an array or a number"
            )
        if is_array(pair[1]) and not _has_numbers(pair[1]):
            raise InputError(f"{where} gave {pair[0]!r} as an array of {pair[1].dtype}, expected one of real numbers")
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{where} gave {twice!r} twice; give each input a name of its own")
    arrays = [name for name, value in pairs if is_array(value)]
    for name in outputs:
        if name not in arrays:
            raise InputError(
                f"bench {bench!r}: __outputs__ names {name!r}, which is no array of generate_inputs{suggest(name, arrays)}"
            )
    return pairs


def _is_input(pair: Any) -> bool:
    if not isinstance(pair, tuple) or len(pair) != 2:  # pyright: ignore[reportUnknownArgumentType]
        return False
    return isinstance(pair[0], str) and isinstance(pair[1], np.ndarray | np.number | int | float)


def _has_numbers(array: np.ndarray) -> bool:
    return array.dtype.kind not in _NO_NUMBERS or (array.dtype.kind == "V" and array.dtype.isbuiltin == 2)


def check_computed(computed: Mapping[str, bool], outputs: Sequence[str], bench: str) -> None:
    """Check what is compared, by whether a task or compute_golden writes it: an input equals itself whatever the kernels do.

    Errors: InputError for one of `outputs` that nothing writes, or, without outputs, if nothing writes any array.
    """
    idle = [name for name in computed if not computed[name]]
    if outputs and idle:
        raise InputError(
            f"bench {bench!r}: __outputs__ names {idle[0]!r}, which neither a task nor compute_golden writes; name "
            "arrays that they compute"
        )
    if not outputs and len(idle) == len(computed):
        raise InputError(
            f"bench {bench!r}: neither a task nor compute_golden writes an array of generate_inputs, so no numbers can be "
            "compared; write one, or ask for none with --no-data"
        )


def run_golden(
    compute: Callable[..., object], inputs: Sequence[tuple[str, Any]], params: Mapping[str, Any], bench: str
) -> dict[str, np.ndarray]:
    """The arrays of the inputs after compute_golden, which may write in them or put others of their shape in their place."""
    arrays = {name: value for name, value in inputs if is_array(value)}
    if not arrays:
        raise InputError(
            f"bench {bench!r}: generate_inputs gives no array, so no numbers can be compared; give one, or ask for none with "
            "--no-data"
        )
    tensors: dict[str, Any] = {name: value.copy() for name, value in arrays.items()}
    compute(tensors, params)
    for name in tensors:
        if name not in arrays:
            raise InputError(
                f"bench {bench!r}: compute_golden wrote {shorten(repr(name))}, which is no array of "
                f"generate_inputs{suggest(str(name), arrays)}"
            )
    golden = {name: np.asarray(tensors.get(name)) for name in arrays}
    for name, array in arrays.items():
        if golden[name].shape != array.shape or not _has_numbers(golden[name]):
            raise InputError(
                f"bench {bench!r}: compute_golden gave {name!r} as {golden[name].dtype} of shape {golden[name].shape}, "
                f"expected {array.dtype} of shape {array.shape}"
            )
    return golden
