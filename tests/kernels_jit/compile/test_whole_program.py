"""Inner functions become part of their entry point: same results, compiled once; with a numba that is built otherwise, too."""

from __future__ import annotations

import os
import sys
from typing import Any

import numba
import pytest

from kernels_jit.compile import whole_program
from kernels_jit.compile.whole_program import compilers, is_sound

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")


def program() -> tuple[Any, Any]:
    """An inner function that refuses odd numbers, and an entry point that calls it on two levels."""
    inner, entry = compilers() or (None, None)

    @numba.njit(pipeline_class=inner)
    def half(number):
        if number % 2 == 1:
            raise ValueError("an odd number")
        return number // 2

    @numba.njit(pipeline_class=inner)
    def quarter(number):
        return half(half(number))

    @numba.njit(pipeline_class=entry)
    def top(number):
        return half(number) + quarter(2 * number)

    return half, top


def library_of(function: Any) -> Any:
    (compiled,) = function.overloads.values()
    return compiled.library


def test_an_entry_point_holds_the_functions_below_it():
    assert is_sound()
    half, top = program()
    assert top(12) == 12
    assert type(library_of(half)).__name__ == "InnerLibrary"
    assert library_of(half).get_pointer_to_function(half.overloads.popitem()[1].fndesc.llvm_func_name) == 0
    assert type(library_of(top)).__name__ == "EntryLibrary"


def test_an_exception_of_an_inner_function_keeps_its_message():
    _, top = program()
    with pytest.raises(ValueError, match=r"^an odd number$"):
        top(3)


def test_a_call_that_is_optimised_away_leaves_the_function_to_its_other_callers():
    _, top = program()
    inner, entry = compilers() or (None, None)

    @numba.njit(pipeline_class=inner)
    def third(number):
        return number // 3

    @numba.njit(pipeline_class=inner)
    def sixth(number):
        return third(number) // 2

    @numba.njit(pipeline_class=entry)
    def other(number):
        return sixth(number) + (third(number) if number * 0 != 0 else 0)

    @numba.njit(pipeline_class=entry)
    def above(number):
        return other(number) + top(number) + third(number)

    assert other(12) == 2
    assert above(12) == 2 + 12 + 4


@pytest.mark.parametrize("name", ["numba.core.typed_passes", "numba.core.compiler_machinery", "numba.core.codegen"])
def test_a_numba_without_these_parts_compiles_in_its_own_way(monkeypatch, name: str):
    monkeypatch.setitem(sys.modules, name, None)
    assert compilers.__wrapped__() is None


def test_a_numba_in_which_it_goes_wrong_compiles_in_its_own_way(monkeypatch):
    def fail(*_arguments: Any) -> int:
        raise AttributeError("another numba")

    inner: Any = (compilers() or (None,))[0]
    monkeypatch.setattr(inner.library, "get_pointer_to_function", fail)
    sound = whole_program._probe.__wrapped__()
    assert not sound
    monkeypatch.setattr(whole_program, "is_sound", lambda: sound)
    half, top = program()
    assert top(12) == 12
    assert type(library_of(half)).__name__ == type(library_of(top)).__name__ == "JITCodeLibrary"
