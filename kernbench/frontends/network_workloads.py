"""Networks as workloads: a step becomes launches of kernels on SIPs, layers of one kind once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.dtypes import BLOCK_BITS, bits
from kernbench.errors import InputError, shorten
from kernbench.frontends import networks
from kernbench.frontends.bench_workloads import BenchWorkload, refuse_bounds
from kernbench.frontends.frontend import Name, Values, refuse_family
from kernbench.frontends.network_tables import network_tables
from kernbench.frontends.prepared import Prepared, Request
from kernbench.frontends.shown import Section, Shown
from kernbench.runs.bench import Bench
from kernbench.text_table import TextTable
from kernbench.workloads.architecture import Architecture
from kernbench.workloads.descriptions import Network, find_network
from kernbench.workloads.names import is_graph, list_networks
from kernbench.workloads.step import Step, check_sips, list_unread, make_step, read_types
from kernbench.workloads.totals import count_active, count_cached, count_parameters

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
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
class OfFile(BenchWorkload):
    """A network of a file."""

    file: Path

    record = networks.FRONT_END

    @property
    def source(self) -> str:
        """As of `Workload`."""
        return self.given

    @property
    def runs_as(self) -> str:
        """As of `BenchWorkload`: a config by its path."""
        return self.given

    @property
    def noted(self) -> str:
        """As of `Workload`."""
        return self.given if self.given in list_networks() else str(self.file.absolute())

    @property
    def digests(self) -> Mapping[str, str]:
        """As of `Workload`; algorithms and settings of collectives belong to it."""
        from kernbench.ccl.config import list_files

        digest = hashlib.sha256(self.file.read_bytes())
        for path in list_files():
            digest.update(f"{path.name}\n".encode() + path.read_bytes())
        return {f"network {self.given}": digest.hexdigest()}

    @property
    def files(self) -> Sequence[Path]:
        """As of `Workload`: algorithms of collectives."""
        from kernbench.ccl.config import list_files

        return [path for path in list_files() if path.suffix == ".py"]

    def refuse(self, topology: str, family: str) -> str | None:
        """As of `Workload`."""
        return refuse_family("networks as graphs", "sip", topology, family, self.machine)

    def refuse_mode(self, mode: str) -> str | None:
        """As of `Workload`."""
        return refuse_bounds(mode, "networks")

    def check_family(self, topology: str, family: str) -> None:
        """As of `BenchWorkload`."""
        if refusal := self.refuse(topology, family):
            raise InputError(refusal)

    def load_machine(self, request: Request) -> tuple[Machine, Mapping[str, Any]]:
        """The machine, and all parameters. Errors: InputError, also for a machine whose parts of a tensor lie apart."""
        from kernbench.frontends.bench_runs import prepare_machine

        machine, given = prepare_machine(self, request)
        if machine.family == "sip" and machine.places.shape.address_model == "pa":
            raise InputError(
                f"{self.name} needs tensors in one piece of addresses, and {machine.name} has mmu.model 'pa'; "
                "set topology.mmu.model to va or la"
            )
        return machine, given


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
        types = read_types(*(network, given["weights"], given["activations"], given["cache"]), given["mlp_weights"])
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
        from kernbench.frontends.bench_runs import make_result
        from kernbench.frontends.network_choices import decide
        from kernbench.frontends.network_points import find_rerun
        from kernbench.runs.run import run_kernels
        from kernbench.workloads.memory import check_memory
        from kernbench.workloads.plan import Plan
        from kernbench.workloads.sip.answer import find_peak
        from kernbench.workloads.sip.choices import WITHOUT, read_choices
        from kernbench.workloads.sip.program import check_lowered, check_scratch

        options = request.options
        if options.verify:
            raise InputError(
                f"{self.name} has no weights, so no numbers of a run can be checked; leave --verify-data out"
            )
        if refusal := self.refuse_mode(options.mode):
            raise InputError(refusal)
        machine, given = self.load_machine(request)
        if machine.family == CHIPS:
            from kernbench.frontends.network_chips import prepare_chip

            if given["choices"]:
                raise InputError(
                    f"choices are of family 'sip', and {machine.name} is of family {CHIPS!r}; leave them out"
                )
            return prepare_chip(self, request, machine, given)
        if own := [name for name in networks.OF_CHIPS if given[name]]:
            raise InputError(
                f"{own[0]} is of chips of family {CHIPS!r}, and {machine.name} is of family 'sip'; leave it out"
            )
        step, network = self.make_step(given), self.network.architecture
        blocks = [name for name in (step.types.weights, step.types.activations, step.types.cache) if name in BLOCK_BITS]
        if blocks:
            raise InputError(
                f"{blocks[0]} is a format of chips of family {CHIPS!r}, and {machine.name} is of family 'sip'"
            )
        check_sips(network, step, machine.name, machine.places.sip_count)
        check_lowered(network, step)
        peak = find_peak(machine, bits(step.types.activations))
        memory = check_memory(network, step, peak.held)
        check_scratch(network, step, machine.places.pes_per_cube, int(machine.figures["pe.scratch_bytes"]))
        plan, places = Plan(network, given["layers"] == "all"), machine.places
        fixed = read_choices(str(given["choices"]), self.name, places.cubes_per_sip, places.pes_per_cube)
        if fixed != WITHOUT and step.phase != "decode":
            raise InputError(f"{self.name} got choices, and phase={step.phase} has none; leave them out")

        def run() -> RunResult:
            options.stage("choosing tilings")
            decided = decide(machine, network, step, fixed)
            chosen = {**given, "choices": decided.text}
            rerun = find_rerun(self, request, chosen) if again else None
            simulate = rerun or partial(run_kernels, self.of, machine, range(step.ranks), chosen, options)
            found = replace(make_result(self, request, machine, simulate), parameters=given)
            found = self._tell(plan, step, memory, peak, decided, found)
            return self.tell_unread(request, found)

        return Prepared(self, machine, run)

    def _tell(self, plan: Any, step: Step, memory: Any, peak: Any, decided: Any, result: RunResult) -> RunResult:
        """The result with the answer for the network."""
        from kernbench.frontends.network_energy import tell_energy
        from kernbench.frontends.network_sends import time_send
        from kernbench.workloads.answer import tell_step
        from kernbench.workloads.sip.answer import list_inexact, time_marks
        from kernbench.workloads.sip.quiet import is_quiet

        session = result.device.session
        (ran,) = self.ran
        spans = time_marks(ran.marks, ran.launches, session.op_issue_fs, session.op_end_fs)
        quiet = is_quiet(session, [ran.launches[0][at] for at in ran.alone])
        inexact = list_inexact(session.machine, quiet=quiet, replicas=step.replicas)
        send_fs = time_send(session.machine, plan.network, step) if step.stages > 1 else 0
        told = tell_step(plan, step, memory, peak, ran.marks, spans, inexact, send_fs)
        return replace(result, network={**told, **tell_energy(result, told, ran), "choices": list(decided.told)})

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
