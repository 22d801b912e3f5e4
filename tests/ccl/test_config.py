"""`ccl.yaml`: where it is found, the precedence of its settings, and its errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.ccl.choice import SHIPPED
from kernbench.ccl.config import list_files, load_config
from kernbench.ccl.module import COLLECTIVES
from kernbench.errors import InputError


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_the_shipped_file(own: Path) -> None:
    config = load_config()
    queues = config.queues()
    assert (queues.kind, queues.n_slots, queues.slot_bytes, queues.credit_bytes) == ("tcm", 4, None, 16)
    for collective in COLLECTIVES:
        assert {found.collective for found in config.candidates(collective)} == {collective}
    several = {collective for collective in COLLECTIVES if len(config.candidates(collective)) > 1}
    assert several == {"all_reduce", "all_to_all"}


def test_auto_is_a_name_and_the_default(own: Path) -> None:
    assert load_config().algorithm()[0] == "auto"
    assert [found.name for found in load_config().candidates()] == list(SHIPPED["all_reduce"])
    named = load_config(settings={"algorithm": "ring"})
    assert [found.name for found in named.candidates()] == ["ring_allreduce"]
    assert load_config(settings={"algorithm": "auto"}).candidates() == load_config().candidates()


def test_world_size_of_the_entry_goes_before_the_defaults_and_these_before_the_sips(own: Path) -> None:
    text = "defaults: {algorithm: ring, world_size: 3}\nalgorithms:\n  ring: {module: ring_allreduce, world_size: 2}\n"
    write(own / "ccl.yaml", text)
    assert load_config().world_size(8) == 2
    write(own / "ccl.yaml", text.replace(", world_size: 2", ""))
    assert load_config().world_size(8) == 3
    write(own / "ccl.yaml", text.replace(", world_size: 2", "").replace(", world_size: 3", ""))
    assert load_config().world_size(8) == 8


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("defaults: {world_size: 3}\n", "defaults.world_size"),
        (
            "defaults: {algorithm: ring}\nalgorithms:\n  ring: {module: ring_allreduce, world_size: 3}\n",
            "algorithms.ring.world_size",
        ),
    ],
)
def test_more_ranks_than_sips(text: str, where: str, own: Path) -> None:
    write(own / "ccl.yaml", text)
    with pytest.raises(InputError) as error:
        load_config().world_size(2)
    assert str(error.value) == (
        f"ccl.yaml: {where} is 3, but this run has 2 SIPs; lower it or give the topology more with sips.count"
    )


def test_the_working_directory_goes_first_then_its_benches(own: Path) -> None:
    write(own / "benches" / "ccl" / "ccl.yaml", "defaults: {n_slots: 2}\n")
    assert load_config().queues().n_slots == 2
    write(own / "ccl.yaml", "defaults: {n_slots: 3}\n")
    assert load_config().queues().n_slots == 3
    other = write(own / "other.yaml", "defaults: {n_slots: 5}\n")
    assert load_config(other).queues().n_slots == 5


def test_what_a_collective_may_depend_on(own: Path) -> None:
    mine = write(own / "benches" / "ccl" / "mine.py", "")
    settings = write(own / "ccl.yaml", "{}\n")
    found = list_files()
    assert found[:2] == [settings, mine]
    assert "ring_allreduce.py" in {path.name for path in found[2:]}


def test_entries_go_before_defaults_and_settings_before_both(own: Path) -> None:
    write(own / "ccl.yaml", "algorithms:\n  auto: {buffer_kind: hbm, slot_size: 8 KiB}\n")
    assert (load_config().queues().kind, load_config().queues().slot_bytes) == ("hbm", 8192)
    given = load_config(settings={"buffer_kind": "sram", "slot_size": 512, "algorithm": None})
    assert (given.queues().kind, given.queues().slot_bytes) == ("sram", 512)
    assert given.queues("broadcast").kind == "sram"


def test_one_other_collective_may_be_changed_alone(own: Path) -> None:
    write(own / "ccl.yaml", "defaults:\n  collectives: {barrier: mine}\n")
    names = {collective: load_config().algorithm(collective)[0] for collective in ("barrier", "reduce")}
    assert names == {"barrier": "mine", "reduce": "ring_reduce"}


def test_the_root_is_the_centre_or_the_corner(own: Path) -> None:
    assert (load_config().root(4, 4), load_config().root(2, 1), load_config().root(1, 1)) == (10, 1, 0)
    assert load_config(settings={"root": "corner"}).root(4, 4) == 15


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "defaults: {buffer_kind: l2}\n",
            "ccl.yaml:1:25: defaults.buffer_kind: got 'l2', expected 'tcm', 'sram' or 'hbm'",
        ),
        ("defaults: {n_slots: 0}\n", "ccl.yaml:1:21: defaults.n_slots: got 0, expected greater than 0"),
        ("default: {}\n", "ccl.yaml:1:1: default: unknown field; did you mean 'defaults'?"),
    ],
)
def test_files_that_do_not_hold(text: str, sentence: str, own: Path) -> None:
    write(own / "ccl.yaml", text)
    with pytest.raises(InputError) as error:
        load_config()
    assert str(error.value) == sentence


def test_algorithms_that_cannot_be(own: Path) -> None:
    write(own / "ccl.yaml", "defaults: {algorithm: tree_barrier}\n")
    with pytest.raises(InputError) as error:
        load_config().load()
    assert str(error.value) == "ccl.yaml: algorithm 'tree_barrier' does barrier, but is configured for all_reduce"
    with pytest.raises(
        InputError, match=r"^ccl.yaml: unknown algorithm 'ring_reducer' .* did you mean 'ring_reduce'\?"
    ):
        load_config(settings={"algorithm": "ring_reducer"}).load()
    write(own / "ccl.yaml", "algorithms: {mine: {module: ring_allreducer}}\n")
    with pytest.raises(
        InputError,
        match=r"^ccl.yaml: algorithm 'mine' has the unknown module 'ring_allreducer'; did you mean 'ring_all",
    ):
        load_config(settings={"algorithm": "mine"}).load()
    with pytest.raises(InputError, match=r"^no such file: gone.yaml; give the path of a ccl.yaml, or nothing for "):
        load_config("gone.yaml")


def test_settings_that_do_not_hold() -> None:
    with pytest.raises(InputError) as error:
        load_config(settings={"slots": 3})
    assert str(error.value) == "the settings of collectives: slots: unknown field; did you mean 'n_slots'?"
