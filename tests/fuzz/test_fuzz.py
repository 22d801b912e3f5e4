"""A share of fresh inputs in each run of the tests, the cases that were kept, and the fuzzer itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import monotonic

import pytest

from tests.engine.fresh import run_seed, seconds_of
from tests.fuzz import __main__ as fuzz
from tests.fuzz import originals
from tests.fuzz.case import Case
from tests.fuzz.commands import confine
from tests.fuzz.document import Pairs, Raw, copy, list_places, parse_json, parse_yaml, write_json, write_yaml
from tests.fuzz.kinds import KINDS, draw_case, draw_kind, mutate_source
from tests.fuzz.mutation import mutate_bytes, mutate_tree, mutate_words
from tests.fuzz.shrink import shrink
from tests.fuzz.verdict import Finding, place_of
from tests.fuzz.worker import Worker

SHARE = 1 / 3  # of fresh inputs, beside the time that fresh programs are given
HANGS_S = 90.0  # three times as long as on a quiet machine: other tests run beside this one
KEPT = sorted((Path(__file__).parent / "cases").glob("*.json"))
PLANTED = "tests.fuzz.planted:main"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    originals.make_results(folder)
    return folder


@pytest.mark.slow
def test_fresh_inputs_have_no_finding(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hunt = fuzz.Hunt(results, tmp_path, shrink_s=5, hangs_s=HANGS_S)
    hunt.run(fuzz.list_works(list(KINDS), run_seed(), None, monotonic() + seconds_of(SHARE)), 2)
    said = capsys.readouterr().out
    kept = "\n".join(path.read_text() for path in tmp_path.glob("*.json"))
    assert not hunt.found, f"of a run with --seed {run_seed()}:\n{said}\n{kept}"
    assert hunt.inputs.total() > 0


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    made = Worker(tmp_path_factory.mktemp("none"), hangs_s=HANGS_S)
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_case_that_was_kept(path: Path, worker: Worker) -> None:
    assert worker.run(Case.from_json(path.read_text(encoding="utf-8", errors="surrogatepass"))) is None


# What is found


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    made = Worker(tmp_path_factory.mktemp("none"), PLANTED, hangs_s=HANGS_S, most_bytes=1 << 30)
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "what", "where"),
    [
        ("bug", "bug", "tests/fuzz/planted.py:"),
        ("numpy", "bug", "tests/fuzz/planted.py:"),
        ("hang", "hangs", "tests/fuzz/planted.py:"),
        ("crash", "the process died of signal 11", "tests/fuzz/planted.py:"),
        ("exit", "the process ended itself with code 3", ""),
        ("fill", "memory", "tests/fuzz/planted.py:"),
        ("code", "exit code 7", ""),
        ("terminal", "a control character on stdout", "planted"),
        ("half", "bad input changed files", "planted"),
        ("json --json", "--json is no JSON", "planted"),
        ("svg", "a written file is no svg", "a.svg"),
        ("silent", "0 errors with exit code 2", ""),
    ],
)
def test_a_planted_mistake_is_found(
    arguments: str, what: str, where: str, planted: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    if what == "hangs":
        monkeypatch.setattr(planted, "hangs_s", 3)
    found = planted.run(Case(("planted", *arguments.split())))
    assert found is not None
    assert found.what == what
    assert found.place.startswith(where)
    assert planted.run(Case(("planted", "work"))) is None


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ["work", "words", "peak"])
def test_what_is_no_mistake_is_no_finding(arguments: str, planted: Worker) -> None:
    assert planted.run(Case(("planted", arguments))) is None


@pytest.mark.slow
def test_a_hunt_keeps_a_smaller_case_that_can_be_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept"
    hunt = fuzz.Hunt(tmp_path, kept, command="tests.fuzz.planted:fail")
    hunt.run(iter([("setting", 7), ("setting", 8)]), 1)
    assert hunt.inputs == {"setting": 2}
    assert hunt.found == {"exit code 7": 2}
    assert Case.from_json((kept / "exit-code-7.json").read_text()) == Case(())
    said = capsys.readouterr().out
    assert said.count("setting 7: exit code 7\n    kernbench ") == 1
    assert f"python -m tests.fuzz --case {kept / 'exit-code-7.json'}" in said


@pytest.mark.slow
def test_a_case_is_run_again_from_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.json"
    path.write_text(Case(("list", "--json")).to_json())
    assert fuzz.main(["--case", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}: nothing is wrong\n"


def test_the_place_of_an_error_is_the_innermost_frame_of_the_project() -> None:
    root = Path(__file__).parents[2]
    told = f"""Traceback (most recent call last):
  File "{root}/kernbench/cli/commands/run.py", line 7, in command
    x()
  File "{root}/kernbench/runs/run.py", line 9, in x
    y()
  File "/usr/lib/python3/json/decoder.py", line 1, in y
    raise ValueError
json.decoder.JSONDecodeError: no
error: this is a bug in kernbench"""
    assert place_of(told) == "kernbench/runs/run.py:9 JSONDecodeError"


# What draws, changes and shrinks


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_the_same_case_again(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"a.json": b'{"x": 1}', "b.json": b'{"y": [2.5, null]}'}
    monkeypatch.setattr(originals, "results", lambda _: dict.fromkeys([name for name, _ in originals.RESULTS], made))
    for seed in range(5):
        assert draw_case(kind, seed, Path()) == draw_case(kind, seed, Path())


def test_kinds_are_drawn_by_their_shares() -> None:
    drawn = [draw_kind(seed) for seed in range(2000)]
    assert set(drawn) >= {kind for kind, (_, share) in KINDS.items() if share > 5}
    assert drawn == [draw_kind(seed) for seed in range(2000)]


def test_a_case_survives_its_text() -> None:
    case = Case(("run", "\ud800", "\x00"), {"a": b"\xff\x00", "b": "ä".encode()}, {"A": "b"}, apart=True)
    assert Case.from_json(case.to_json()) == case


@pytest.mark.parametrize("kind", ["topology", "models", "sweeps", "benches/ccl"])
def test_a_document_that_is_not_changed_means_the_same(kind: str) -> None:
    for tree in originals.trees(kind).values():
        assert parse_yaml(write_yaml(tree)) == tree
        assert parse_json(write_json(tree)) == tree


def test_a_document_can_have_a_key_twice_and_any_spelling() -> None:
    tree = Pairs([["a", 1], ["a", True], ["b", Raw("&x [*x]")], ["c", [None, float("nan"), "1"]]])
    assert write_yaml(tree) == 'a: 1\na: true\nb: &x [*x]\nc:\n  - null\n  - .nan\n  - "1"\n'


def test_mutation_changes_a_copy() -> None:
    tree = originals.trees("topology")["tiny"]
    before = copy(tree)
    changed = [mutate_tree(Random(seed), tree, [tree]) for seed in range(200)]
    assert tree == before
    assert sum(one != tree for one in changed) > 150
    assert len({write_yaml(one) for one in changed}) > 150


def test_words_bytes_and_source_change() -> None:
    words, source = ["run", "x", "--set", "a=1"], originals.sources("benches")["vector_add"]
    assert sum(mutate_words(Random(seed), words, ["y"]) != words for seed in range(100)) > 80
    assert sum(mutate_bytes(Random(seed), b"abc" * 9) != b"abc" * 9 for seed in range(100)) > 80
    assert len({mutate_source(Random(seed), source) for seed in range(20)}) > 10


def test_arguments_write_nothing_outside() -> None:
    words = ["--out", "/etc", "--out=/etc", "/dev/zero", "-t/x", "a=/b"]
    assert confine(words) == ("--out", "./etc", "--out=./etc", "/dev/zero", "-t./x", "a=/b")


def test_places_of_a_tree() -> None:
    assert [place.value for place in list_places(Pairs([["a", [1, Pairs([["b", 2]])]]]))][1:] == [
        1,
        Pairs([["b", 2]]),
        2,
    ]


def test_the_smallest_case_keeps_what_fails() -> None:
    case = Case(("run", "--set", "a=b", "x" * 50), {"f": b"one\ntwo\nthree\n", "g": b"more"}, {"A": "b"})
    smallest = shrink(case, lambda tried: b"two" in tried.files.get("f", b"") and "run" in tried.arguments)
    assert smallest == Case(("run",), {"f": b"two\n"})


def test_two_findings_of_a_place_are_one() -> None:
    assert (
        Finding("bug", "a.py:1 KeyError", "x").name
        == Finding("bug", "a.py:1 KeyError", "y").name
        == "bug at a.py:1 KeyError"
    )


def test_seeds_go_up_until_the_time_is_over() -> None:
    assert list(fuzz.list_works(["grid"], 5, 3, float("inf"))) == [("grid", 5), ("grid", 6), ("grid", 7)]
    assert list(fuzz.list_works(["grid"], 5, None, 0.0)) == []
