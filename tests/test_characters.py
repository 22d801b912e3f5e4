from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

import kernbench
from kernbench.characters import check_characters, visible
from kernbench.errors import InputError
from kernbench.schema.yaml import Mark, mark_tree, parse

BAD = ["\0", "a\0b", "\ud800", "b\udcff.yaml"]


def test_a_text_that_is_fine_is_given_back() -> None:
    assert check_characters("größe \t\n\U0001f600", "the name") == "größe \t\n\U0001f600"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\0b", r"the name 'a\x00b' has a NUL character; leave it out"),
        ("b\udcff", r"the name 'b\udcff' has a character that is no UTF-8 text; leave it out"),
    ],
)
def test_what_no_file_can_hold_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        check_characters(text, "the name")
    assert str(error.value) == said


def test_every_character_can_be_shown_in_xml_and_in_one_line() -> None:
    every = "".join(map(chr, range(0x10000)))
    shown = visible(every)
    assert len(shown.splitlines()) == 3  # two are line separators of Unicode, which no format here ends a line at
    text = shown.replace("&", "&amp;").replace("<", "&lt;")
    assert ElementTree.fromstring(f"<a>{text}</a>").text == shown
    assert visible("a\n\x07\ud800b") == r"a\n\x07\ud800b"


@pytest.mark.parametrize("text", BAD)
def test_names_and_values_of_calls(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    grid = {"bench": "vector-add", "topology": "tiny", "parameters": {"n": [1024]}}
    calls = [
        lambda: kernbench.run("vector-add", text),
        lambda: kernbench.run("vector-add", Path(text)),
        lambda: kernbench.run(text, "tiny"),
        lambda: kernbench.run(f"{text}.py", "tiny"),
        lambda: kernbench.run(Path(f"x/{text}.py"), "tiny"),
        lambda: kernbench.run("vector-add", "tiny", parameters={"dtype": text}),
        lambda: kernbench.run("vector-add", "tiny", parameters={text: 1}),
        lambda: kernbench.run("vector-add", "tiny", overrides={"hbm.channel_gbs": text}),
        lambda: kernbench.run("vector-add", "tiny", overrides={"parts.hbm": text}),
        lambda: kernbench.run("vector-add", "tiny", overrides={text: 1}),
        lambda: kernbench.run("vector-add", "tiny", device=text),
        lambda: kernbench.run("vector-add", "tiny", mode=text),
        lambda: kernbench.load_machine(text),
        lambda: kernbench.sweep(text),
        lambda: kernbench.sweep(f"{text}.yaml"),
        lambda: kernbench.sweep(grid, out=text),
        lambda: kernbench.sweep({**grid, "bench": text}),
        lambda: kernbench.sweep({**grid, "topology": text}),
        lambda: kernbench.sweep({**grid, "name": text}),
        lambda: kernbench.sweep({**grid, "description": text}),
        lambda: kernbench.sweep({**grid, "parameters": {text: [1]}}),
        lambda: kernbench.sweep({**grid, "parameters": {"dtype": [text]}}),
        lambda: kernbench.sweep({**grid, "constraints": text}),
        lambda: kernbench.sweep({**grid, "derived": {"x": text}}),
        lambda: kernbench.sweep(grid, scheduler=text),
    ]
    for i, call in enumerate(calls):
        with pytest.raises(InputError) as error:
            call()
        assert "\0" not in str(error.value), i
        str(error.value).encode()  # it can be printed
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["a: \ud800", "\0", '{"a\\0": 1}', 'a: "x\\0y"', "- '\ud800'"])
def test_yaml(text: str) -> None:
    with pytest.raises(InputError, match=r"^f\.yaml"):
        parse(text, "f.yaml")


def test_values_of_python() -> None:
    with pytest.raises(InputError, match=r"^grid: the value 'x.x00' has a NUL character; leave it out$"):
        mark_tree({"a": ["x\0"]}, Mark("grid"))
