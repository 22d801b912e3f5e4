"""A network of a file, whatever its form: its file, its digests, and the machines that it runs on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError
from kernbench.frontends import networks
from kernbench.frontends.bench_workloads import BenchWorkload, refuse_bounds
from kernbench.frontends.frontend import refuse_family
from kernbench.workloads.names import list_networks

if TYPE_CHECKING:
    from kernbench.frontends.prepared import Request
    from kernbench.machine.machine import Machine


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
