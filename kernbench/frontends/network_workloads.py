"""Networks as workloads: a step becomes launches of kernels on SIPs, layers of one kind once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError, shorten
from kernbench.frontends import networks
from kernbench.frontends.bench_workloads import BenchWorkload
from kernbench.frontends.frontend import Name, Values, refuse_family
from kernbench.frontends.network_files import OfFile
from kernbench.frontends.network_tables import network_tables
from kernbench.frontends.prepared import Prepared, Request
from kernbench.frontends.shown import Section, Shown
from kernbench.runs.bench import Bench
from kernbench.text_table import TextTable
from kernbench.workloads.architecture import Architecture
from kernbench.workloads.descriptions import Network, find_network
from kernbench.workloads.names import is_graph
from kernbench.workloads.step import Step, list_unread, make_step, read_types
from kernbench.workloads.totals import count_active, count_cached, count_parameters

if TYPE_CHECKING:
    from kernbench.runs.result import RunResult
    from kernbench.workloads.sip.run import Ran

CHIPS, TASKS = "tensix", "ascend"
MOST_TOKENS = 1 << 30  # of a sequence, where a network has no bound

DOCS = """A step of the network.

Parameters:
    phase: decode takes a token of each sequence, prefill whole prompts, chunked a chunk of a prompt beside decode
    batch: sequences of a step; of chunked, those that take one token each
    context: of decode and chunked, tokens that a single new one attends to, itself among them
    prompt: of prefill and encoders, tokens of each sequence; of chunked, tokens of the prompt up to the end of the chunk
    chunk: of chunked, new tokens of the prompt
    tp: SIPs that share the matrices of a layer (tensor parallelism)
    ep: SIPs that share the experts, each with sequences of its own (expert parallelism)
    pp: stages of SIPs that have some of the layers each (pipeline parallelism)
    micro: micro-batches of such a pipeline; 0: as many as stages, or the next fewer that divide the batch
    dp: replicas of these SIPs, with a batch each (data parallelism)
    routing: rule by which tokens take experts: uniform at random, or balanced
    weights: type of the weights; empty: that of the config, on chips of family tensix bfp8
    activations: type of the activations; empty: that of the config, on chips of family tensix bf16
    cache: type of keys and values; empty: that of the activations, on chips of family tensix bfp8
    mlp_weights: on chips of family tensix, type of the first matrices of an MLP (gate and up); empty: that of the weights
    math_fidelity: on such chips, phases of products; empty: hifi2
    mlp_math_fidelity: on such chips, phases of the products with the first matrices of an MLP; empty: math_fidelity
    layers: kinds simulates one layer of each kind, all every layer
    ranks: equal simulates ranks that do the same between collectives once, all each of them
    choices: tilings and placements that are fixed, such as x=2,down=16x1; the others are chosen
"""


@dataclass(frozen=True, slots=True)
class NetworkWorkload(OfFile):
    """A transformer; `ran` has what its last run launched."""

    network: Network
    ran: list[Ran]

    def refuse(self, topology: str, family: str) -> str | None:
        """As of `Workload`."""
        if family == CHIPS:
            return None
        machines = f"{self.machine}, or a chip such as wormhole_n150"
        if family == TASKS:
            own = f"family {family!r}, which topology {shorten(topology)!r} is of"
            return f"networks have no kernels yet for {own}; give {machines}"
        return refuse_family("networks", "sip", topology, family, machines)

    def describe(self) -> Shown:
        """As of `Workload`."""
        one = self.network.architecture
        sizes = {
            "parameters": f"{count_parameters(one):,}",
            "of a token": f"{count_active(one):,}",
            "layers": f"{one.layers:,}",
            "hidden size": f"{one.hidden:,}",
            "cache of a token": f"{count_cached(one, 1):,} elements",
        }
        told = [{"size": name, "value": value} for name, value in sizes.items()]
        found = BenchWorkload.describe(self)
        data = {**found.data, "kind": self.record.kind, "sizes": sizes, "source": self.network.source}
        return replace(
            found,
            kind=self.record.title,
            sections=[Section("", told, {"size": "size", "value": ""}), *found.sections],
            data={**data, "not_modelled": list(one.not_modelled)},
            text=f"Sizes: {self.network.source}.",
            remarks=[*(f"not modelled: {line}" for line in one.not_modelled), *found.remarks],
        )

    def make_step(self, given: Mapping[str, Any]) -> Step:
        """The step that parameters ask for. Errors: InputError."""
        network = self.network.architecture
        types = read_types(network, *(given[name] for name in ("weights", "activations", "cache", "mlp_weights")))
        return make_step(
            network,
            phase=given["phase"],
            batch=given["batch"],
            prompt=given["prompt"],
            context=given["context"],
            chunk=given["chunk"],
            types=types,
            tensor=given["tp"],
            replicas=given["dp"],
            routing=given["routing"],
            expert_ranks=given["ep"],
            stages=given["pp"],
            micro_batches=given["micro"],
        )

    def prepare(self, request: Request) -> Prepared:
        """As of `Workload`. Errors: also InputError for what does not fit or has no kernels."""
        return self._prepare(request)

    def run_point(self, request: Request) -> RunResult:
        """As of `Workload`; points that differ in times of the machine alone record the step once."""
        return self._prepare(request, again=True).run()

    def _prepare(self, request: Request, *, again: bool = False) -> Prepared:
        if request.options.verify:
            raise InputError(
                f"{self.name} has no weights, so no numbers of a run can be checked; leave --verify-data out"
            )
        if refusal := self.refuse_mode(request.options.mode):
            raise InputError(refusal)
        machine, given = self.load_machine(request)
        if machine.family == CHIPS:
            from kernbench.frontends.network_chips import prepare_chip

            return prepare_chip(self, request, machine, given)
        from kernbench.frontends.network_sips import prepare_sips

        return prepare_sips(self, request, machine, given, again=again)

    def tell_unread(self, request: Request, result: RunResult) -> RunResult:
        """The result, whose answer names the parameters of the request that its step does not read."""
        told = dict(result.network or {})
        asked = {name: result.parameters[name] for name in request.parameters}
        unread = list_unread(self.network.architecture, told["phase"], asked)
        return replace(result, network={**told, "not_modelled": [*told["not_modelled"], *unread]})

    def tables(self, result: RunResult) -> list[TextTable]:
        """As of `Workload`."""
        return network_tables(result)


def find_defaults(network: Architecture) -> dict[str, str | int]:
    """The parameters whose defaults depend on the network: an encoder takes whole sequences, none longer than it can."""
    if network.causal:
        return {}
    return {"phase": "prefill", "prompt": min(int(networks.PARAMETERS["prompt"]), network.context or MOST_TOKENS)}


def find(name: Name, values: Values) -> OfFile:
    """A network by its name or its path. Errors: InputError."""
    del values
    if is_graph(str(name)):
        from kernbench.frontends.network_graphs import find_workload

        return find_workload(str(name))
    found = find_network(str(name))
    ran: list[Ran] = []

    def run(torch: Any, **given: Any) -> None:
        from kernbench.workloads.plan import Plan
        from kernbench.workloads.sip.choices import read_choices
        from kernbench.workloads.sip.run import run_step

        ran.clear()
        plan = Plan(found.architecture, given["layers"] == "all")
        choices = read_choices(given["choices"], found.architecture.name, torch.cubes_per_sip, torch.pes_per_cube)
        ran.append(run_step(torch, plan, workload.make_step(given), choices, every_rank=given["ranks"] == "all"))

    architecture = found.architecture
    bench = Bench(
        architecture.name,
        found.description,
        {**networks.PARAMETERS, **find_defaults(architecture)},
        found.file,
        run,
        choices=networks.CHOICES,
        docs=(None, DOCS),
        line=1,
    )
    workload = NetworkWorkload(bench, str(name), found.file, found, ran)
    return workload
