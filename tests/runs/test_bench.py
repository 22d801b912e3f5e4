"""Finding and auditing benches."""

from __future__ import annotations

import os
import re
from inspect import currentframe
from pathlib import Path

import pytest

from kernbench import library
from kernbench.errors import InputError
from kernbench.library import show_path
from kernbench.runs.bench import bench, find_bench, list_benches, load_file, typed_parameters

FILE = """
from kernbench import bench

@bench("{name}", "What it does")
def run(torch, *, M=64, fast=False, dtype="f16", ratio=0.5):
    pass
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "benches").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "benches"


def put(folder: Path, file: str, name: str) -> Path:
    path = folder / file
    path.write_text(FILE.format(name=name))
    return path


def test_shipped_benches_are_listed_by_name() -> None:
    names = [b.name for b in list_benches()]
    assert names == sorted(names)
    assert {"gemm-single-pe", "matmul-composite", "qkv-gemm", "vector-add"} <= set(names)
    assert find_bench(0).name == find_bench("0").name == names[0]
    assert find_bench("gemm-single-pe").to_dict() == {
        "name": "gemm-single-pe",
        "description": "A GEMM on one PE: load, dot, store",
        "parameters": {"M": 128, "K": 128, "N": 128, "dtype": "f16"},
        "choices": {},
        "file": str(library.shipped() / "benches" / "gemm_single_pe.py"),
        "live": False,
    }


def test_a_local_bench_is_found_and_hides_a_shipped_one(folder: Path) -> None:
    shipped = len(list_benches())
    put(folder, "mine.py", "mine")
    put(folder, "other.py", "vector-add")
    assert find_bench("mine").file == folder / "mine.py"
    assert find_bench("vector-add").file == folder / "other.py"
    assert len(list_benches()) == shipped + 1


def test_by_path_and_by_path_and_name(folder: Path) -> None:
    path = put(folder, "two.py", "one")
    assert find_bench(path).name == "one"
    path.write_text(FILE.format(name="one") + FILE.format(name="two"))
    assert find_bench(f"{path}:two").name == "two"
    with pytest.raises(InputError) as error:
        find_bench(path)
    assert str(error.value) == "benches/two.py has 2 benches; say which: two.py:one, two.py:two"
    with pytest.raises(InputError) as error:
        find_bench(f"{path}:three")
    assert str(error.value) == "benches/two.py has no bench 'three'; known: one, two"


def test_a_file_is_read_again_when_it_changes(folder: Path) -> None:
    path = put(folder, "mine.py", "mine")
    first = load_file(path)
    assert load_file(path) is first
    put(folder, "mine.py", "renamed")
    assert load_file(path)[0].name == "renamed"


def test_a_file_that_registers_nothing(folder: Path) -> None:
    path = folder / "empty.py"
    path.write_text("x = 1\n")
    with pytest.raises(InputError) as error:
        load_file(path)
    assert str(error.value) == (
        "benches/empty.py registers no bench; put @bench(name, description) on its function, or remove the file"
    )


def test_one_name_in_two_files(folder: Path) -> None:
    put(folder, "a.py", "mine")
    put(folder, "b.py", "mine")
    said = "bench 'mine' is registered twice, at benches/a.py:4 and benches/b.py:4; rename one"
    with pytest.raises(InputError, match=f"^{said}$"):
        find_bench("mine")
    with pytest.warns(UserWarning, match=f"^skipped: {said}$"):
        assert find_bench("vector-add").name == "vector-add"
    with pytest.warns(UserWarning, match=f"^skipped: {said}$"):
        assert "mine" not in [b.name for b in list_benches()]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def run(:\n", "benches/my_own.py:1: SyntaxError: invalid syntax; the bench file does not load"),
        (
            "import nowhere_at_all\n",
            "benches/my_own.py:1: ModuleNotFoundError: No module named 'nowhere_at_all'; the bench file does not load",
        ),
        ("\n1 / 0\n", "benches/my_own.py:2: ZeroDivisionError: division by zero; the bench file does not load"),
        ("raise SystemExit(4)\n", "benches/my_own.py:1: SystemExit: 4; the bench file does not load"),
        ("raise BaseException('x')\n", "benches/my_own.py:1: BaseException: x; the bench file does not load"),
        (
            "x = 1\n",
            "benches/my_own.py registers no bench; put @bench(name, description) on its function, or remove the file",
        ),
    ],
)
def test_a_file_that_does_not_load_is_skipped_but_for_its_own_bench(folder: Path, text: str, why: str) -> None:
    shipped = [b.name for b in list_benches()]
    put(folder, "mine.py", "mine")
    (folder / "my_own.py").write_text(text)
    for find in (lambda: find_bench("mine").name, lambda: find_bench(shipped.index("vector-add")).name):
        with pytest.warns(UserWarning, match="^skipped: ") as warned:
            assert find() in ("mine", "vector-add", "va-offset-verify")
        assert [str(one.message) for one in warned] == [f"skipped: {why}"]
    with pytest.warns(UserWarning, match="^skipped: ") as warned:
        assert [b.name for b in list_benches()] == sorted([*shipped, "mine"])
    assert len(warned) == 1
    with pytest.raises(InputError, match=f"^{re.escape(why)}$"):
        find_bench("my-own")
    with pytest.raises(
        InputError, match=rf"^unknown bench 'else'.*; it may be in what was skipped \({re.escape(why)}\)$"
    ):
        find_bench("else")


def test_a_broken_file_is_not_replaced_by_the_shipped_bench_of_its_name(folder: Path) -> None:
    (folder / "vector_add.py").write_text("1 / 0\n")
    with pytest.raises(InputError, match=r"^benches/vector_add.py:1: ZeroDivisionError"):
        find_bench("vector-add")


def test_what_is_no_file_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe.py")
    with pytest.raises(InputError, match=r"^bench file benches/pipe.py is no file; remove it, or give a Python file$"):
        load_file(folder / "pipe.py")


def test_a_file_that_raises_names_its_line(folder: Path) -> None:
    path = folder / "bad.py"
    path.write_text("import math\n\nmath.nothing\n")
    with pytest.raises(InputError) as error:
        load_file(path)
    assert str(error.value) == (
        "benches/bad.py:3: AttributeError: module 'math' has no attribute 'nothing'; the bench file does not load"
    )
    path.write_text("def run(:\n")
    with pytest.raises(
        InputError, match=r"^benches/bad.py:1: SyntaxError: invalid syntax; the bench file does not load$"
    ):
        load_file(path)


def test_a_file_that_would_end_the_process(folder: Path) -> None:
    path = folder / "bad.py"
    path.write_text("raise SystemExit(4)\n")
    with pytest.raises(InputError, match=r"^benches/bad.py:1: SystemExit: 4; the bench file does not load$"):
        load_file(path)


def test_fields_that_raise_name_their_line(folder: Path) -> None:
    path = folder / "bad.py"
    path.write_text(
        "from kernbench import bench\n\ndef fields(n):\n    return {'sips.count': 1 // n}\n\n"
        "@bench('bad', 'of a test', fields=fields)\ndef bad(torch, n=0):\n    pass\n"
    )
    with pytest.raises(InputError) as error:
        find_bench(path).shape({"n": 0}, {})
    assert str(error.value) == (
        "benches/bad.py:4: fields of bench 'bad' raised ZeroDivisionError: integer division or modulo by zero"
    )


def test_fields_without_names_are_refused(folder: Path) -> None:
    path = folder / "bad.py"
    path.write_text(
        "from kernbench import bench\n\n@bench('bad', 'of a test', fields=lambda: {-1: 2})\ndef bad(torch):\n    pass\n"
    )
    told = r"^benches/bad\.py: fields of bench 'bad' gave -1 as the name of a field of the topology; give texts$"
    with pytest.raises(InputError, match=told):
        find_bench(path).shape({}, {})


def test_a_bench_of_tanto_programs_that_does_not_load_is_named(folder: Path) -> None:
    (folder / "tanto").mkdir()
    (folder / "tanto" / "tanto_bad.py").write_text("x = (")
    with pytest.raises(InputError, match=r"tanto_bad\.py:1: SyntaxError: .*; the bench file does not load$"):
        find_bench("tanto-bad")
    with pytest.warns(UserWarning, match=r"^skipped: .*tanto_bad\.py:1: "):
        assert find_bench("tanto-matmul").is_tanto


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        load_file(tmp_path / "no.py")
    assert str(error.value) == f"cannot read bench file {tmp_path / 'no.py'}: No such file or directory"


def test_unknown_names_and_indices() -> None:
    names = [b.name for b in list_benches()]
    with pytest.raises(InputError) as error:
        find_bench("vektor-add")
    assert str(error.value).startswith("unknown bench 'vektor-add'; did you mean 'vector-add'? Known: " + names[0])
    with pytest.raises(InputError) as error:
        find_bench("tanto-matmull")
    assert str(error.value).startswith("unknown bench 'tanto-matmull'; did you mean 'tanto-matmul'? Known: " + names[0])
    with pytest.raises(InputError) as error:
        find_bench(99)
    assert str(error.value) == f"there is no bench 99; `kernbench list` shows 0 to {len(names) - 1}"
    with pytest.raises(InputError) as error:
        find_bench(put)
    assert str(error.value) == "'put' is no bench; decorate it with @bench(name, description)"


def test_a_name_that_is_not_kebab_case_and_a_parameter_without_default() -> None:
    here = f"{show_path(__file__)}:{currentframe().f_lineno + 2}"
    with pytest.raises(InputError) as error:
        bench("Vector_Add", "x")(lambda torch: None)
    assert str(error.value) == f"{here}: bench name 'Vector_Add' is not kebab-case; write it as 'vector-add'"
    here = f"{show_path(__file__)}:{currentframe().f_lineno + 2}"
    with pytest.raises(InputError) as error:
        bench("mine", "x")(lambda torch, M: None)
    assert str(error.value) == (
        f"{here}: parameter 'M' of bench 'mine' has no plain default; give it one, such as M=512"
    )


@pytest.mark.parametrize(
    ("decorator", "signature", "said"),
    [
        ("@bench", "torch", "benches/odd.py:3: @bench has no name; write @bench('a-name', 'what it does')"),
        (
            '@bench("odd")',
            "torch",
            "benches/odd.py:3: bench 'odd' has no description; write @bench('odd', 'what it does')",
        ),
        (
            '@bench("odd", " ")',
            "torch",
            "benches/odd.py:3: bench 'odd' has no description; write @bench('odd', 'what it does')",
        ),
        ('@bench(3, "What")', "torch", "benches/odd.py:3: bench name 3 is not kebab-case; write it as 'vector-add'"),
        (
            '@bench("odd", "What")',
            "",
            "benches/odd.py:3: the function of bench 'odd' does not take the context; write it as run(torch, ...)",
        ),
        (
            '@bench("odd", "What")',
            "*, M=3",
            "benches/odd.py:3: the function of bench 'odd' does not take the context; write it as run(torch, ...)",
        ),
    ],
)
def test_what_is_no_registration(folder: Path, decorator: str, signature: str, said: str) -> None:
    (folder / "odd.py").write_text(f"from kernbench import bench\n\n{decorator}\ndef run({signature}):\n    pass\n")
    with pytest.raises(InputError, match=f"^{re.escape(said)}$"):
        load_file(folder / "odd.py")


def test_one_name_twice_in_one_file(folder: Path) -> None:
    (folder / "twice.py").write_text(FILE.format(name="one") + FILE.format(name="one"))
    said = r"^bench 'one' is registered twice, at benches/twice.py:4 and benches/twice.py:10; rename one$"
    with pytest.raises(InputError, match=said):
        load_file(folder / "twice.py")


def test_parameters_are_read_as_the_type_of_their_default(folder: Path) -> None:
    found = load_file(put(folder, "mine.py", "mine"))[0]
    assert typed_parameters(found, {"M": "0x40", "fast": "true", "ratio": "2", "dtype": "f32"}) == {
        "M": 64,
        "fast": True,
        "dtype": "f32",
        "ratio": 2.0,
    }
    assert typed_parameters(found, {"M": 8.0})["M"] == 8
    for name, value, kind, default in (
        ("M", "x", "int", "64"),
        ("M", 1.5, "int", "64"),
        ("fast", "maybe", "bool", "False"),
    ):
        with pytest.raises(InputError) as error:
            typed_parameters(found, {name: value})
        assert str(error.value) == (
            f"parameter {name!r} of bench 'mine' is {kind}, as its default {default}; got {value!r}"
        )
    with pytest.raises(InputError) as error:
        typed_parameters(found, {"m": 1})
    assert str(error.value) == "bench 'mine' has no parameter 'm'; did you mean 'M'? Known: M, dtype, fast, ratio"
