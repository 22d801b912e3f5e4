"""Meanings of parameters in docstrings."""

from __future__ import annotations

from kernbench.runs.bench import list_benches, list_tanto_benches
from kernbench.runs.parameter_docs import split_docstring


def test_a_docstring_is_split_into_text_and_meanings() -> None:
    def function() -> None:
        """Does it.

        More of it.

        Parameters:
            n: how many,
                and why
            to: the receiver: pe or cube

        The end.
        """

    text, meanings = split_docstring(function.__doc__)
    assert text == "Does it.\n\nMore of it.\n\nThe end."
    assert meanings == {"n": "how many, and why", "to": "the receiver: pe or cube"}
    assert split_docstring(None) == ("", {})


def test_every_parameter_of_a_shipped_bench_has_a_meaning() -> None:
    found = [*list_benches(), *list_tanto_benches()]
    assert len(found) > 20
    assert {bench.name: list(bench.parameters) for bench in found} == {b.name: list(b.meanings) for b in found}
