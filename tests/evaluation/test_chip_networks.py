"""Whole networks on chips against measured tokens a second."""

from __future__ import annotations

import polars
import pytest

from kernbench.errors import InputError
from kernbench.evaluation.chip_networks import COLUMNS, MODES, evaluate_chip_networks, read_measured, summarise
from kernbench.evaluation.measured import find_errors
from kernbench.machine import load_machine
from kernbench.workloads.descriptions import find_network
from kernbench.workloads.totals import count_parameters

BYTES_AN_ELEMENT = 4.5 / 8  # of bfp4, the least


def test_measured_rows_are_what_can_be() -> None:
    """Weights cannot come quicker than DRAM brings them."""
    for row in read_measured():
        figures = load_machine(row["topology"])
        gbs = figures.places.grid.banks * figures.figures["tensix_dram.bank_gbs"]
        network = find_network(row["network"]).architecture
        weights = count_parameters(network) - (0 if network.tied else network.vocabulary * network.hidden)
        assert row["mode"] in MODES
        measured_ns = 1e6 * row["ms"] if row["tokens_s"] is None else 1e9 / row["tokens_s"]
        assert measured_ns > weights * BYTES_AN_ELEMENT / gbs


@pytest.mark.slow
def test_networks_are_in_order_and_nothing_is_much_too_slow() -> None:
    networks = ["llama-3.2-1b", "mistral-7b", "falcon-7b"]
    found = evaluate_chip_networks("wormhole_n150", networks=networks, phases=["decode"])
    assert found.schema == polars.Schema(COLUMNS)
    assert find_errors(found["simulated_ns"].to_list(), found["measured_ns"].to_list()).ordered > 0.9
    assert found["error"].max() < 0.1
    assert (found["simulated_ns"] > found["least_ns"]).all()
    assert summarise(found).startswith("wormhole_n150, decode, 7 points")


def test_a_small_network_takes_less_than_measured_by_what_the_host_takes() -> None:
    found = evaluate_chip_networks(
        "wormhole_n150", networks=["llama-3.2-1b"], phases=["decode"], overrides={"tensix_core.dispatch_ns": 0}
    )
    assert found["mode"].to_list() == ["accuracy", "performance", "performance", "performance"]
    assert (found["simulated_ns"] < found["measured_ns"]).all()
    assert (found["simulated_tokens_s"] * found["simulated_ns"]).to_list() == pytest.approx([1e9] * 4)


@pytest.mark.parametrize(
    ("topology", "networks", "sentence"),
    [
        ("sip_2x4x4", [], "there is no measured topology 'sip_2x4x4'"),
        ("wormhole_n150", ["gpt-3"], "there is no measured network 'gpt-3'"),
        ("blackhole_p150", ["falcon-7b"], "none of these networks was measured on these chips"),
    ],
)
def test_what_was_not_measured_is_refused(topology, networks, sentence) -> None:
    with pytest.raises(InputError, match=sentence):
        evaluate_chip_networks(topology, networks=networks)
