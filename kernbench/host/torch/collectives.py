"""Collectives of a process group: the rendezvous of the ranks, and the launches that carry one out.

A collective is one launch of its algorithm's kernel on every rank's SIP. Where a tensor has copies within a SIP, one of them
takes part, and one more launch copies its result to the others.
"""

# pyright: reportUnnecessaryIsInstance=false
# What users write is not checked for types before it runs.

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.ccl.broadcast_in_sip import METHODS, Copies
from kernbench.ccl.module import LISTED
from kernbench.ccl.task_bound import Group
from kernbench.dtypes import itemsize
from kernbench.errors import InputError
from kernbench.host.memory.placement import REPLICATE
from kernbench.host.messages import KernelLaunch, TensorArg
from kernbench.host.torch.participants import Workers, all_spans, check_alike, find_mesh, find_workers

if TYPE_CHECKING:
    from kernbench.ccl.choice import Choice
    from kernbench.ccl.module import Algorithm
    from kernbench.ccl.plan import Plan
    from kernbench.ccl.wiring import World
    from kernbench.host.device.launch import Launch
    from kernbench.host.torch.process_group import ProcessGroup
    from kernbench.host.torch.runtime import Runtime
    from kernbench.host.torch.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Work:
    """One collective as its kernels do it: on parts of at most `elements`, in these PEs of these cubes of every SIP."""

    collective: str
    choice: Choice
    world: World
    plan: Plan
    elements: int
    cubes: Sequence[int]
    pes: Sequence[int]

    @property
    def algorithm(self) -> Algorithm:
        """The algorithm that does it."""
        return self.choice.algorithm

    def groups(self, sips: Sequence[int]) -> tuple[Group, ...]:
        """The PEs that hold the same part, rank by rank, on these SIPs; those of all cubes where cubes take part together."""
        plan, apart = self.plan, self.world.cubes == 1
        found: list[Group] = []
        for cubes in [(cube,) for cube in self.cubes] if apart else [tuple(self.cubes)]:
            for pe in self.pes:
                elements = plan.spans[cubes[0]][pe][1] if plan.spans else self.elements
                members = tuple((sip, cube, pe) for sip in sips for cube in cubes)
                rooted = plan.root if apart and plan.root is not None else 0
                found.append(Group(members, elements * itemsize(plan.dtype), rooted))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Collective:
    """One that was issued, with its launches: one a rank, without those that spread it over copies."""

    group: ProcessGroup
    work: Work
    launches: tuple[Launch, ...]

    @property
    def nbytes(self) -> int:
        """Of the largest part."""
        return self.work.elements * itemsize(self.work.plan.dtype)

    @property
    def task(self) -> tuple[Group, ...]:
        """What it does, whatever the algorithm: the PEs that hold the same part, and the bytes of it."""
        return self.work.groups(self.group.sips)


class Collectives:
    """The collectives of one group; what they issue is kept in the runtime."""

    def __init__(self, runtime: Runtime, group: ProcessGroup) -> None:
        self._runtime = runtime
        self.group = group

    def all_reduce(self, tensor: Tensor, op: str, over: str) -> None:
        """See `Distributed.all_reduce`."""
        layout = tensor.layout
        if not over:
            apart = layout.policy.cube != REPLICATE and layout.cubes > 1 and layout.pes == 1
            over = "cubes" if apart else "ranks"

        def act(tensors: Mapping[int, list[Tensor]]) -> None:
            mesh = find_mesh(layout, tensor.name, self.group.places.cube_w) if over == "cubes" else (1, 1)
            self._run("all_reduce", tensors, op, mesh=mesh, root=self.group.config.root(*mesh))

        self._rendezvous("all_reduce", [tensor], (op, over), act)

    def rooted(self, collective: str, tensor: Tensor, root: int, op: str) -> None:
        """`broadcast` from a root rank, or `reduce` to it. Errors: InputError for a rank that is not there."""
        if not isinstance(root, (int, np.integer)) or not 0 <= root < self.group.world_size:
            raise InputError(f"{collective} got rank {root!r}; ranks are 0 to {self.group.world_size - 1}")
        self._rendezvous(
            collective, [tensor], (root, op), lambda tensors: self._run(collective, tensors, op, root=int(root))
        )

    def exchange(self, collective: str, outputs: Sequence[Tensor], inputs: Sequence[Tensor], op: str) -> None:
        """Collectives with other tensors for what comes out. Errors: InputError for a list that is not one a rank."""
        for tensors, listed in zip((outputs, inputs), LISTED[collective], strict=True):
            if listed and len(tensors) != self.group.world_size:
                raise InputError(
                    f"{collective} got a list of {len(tensors)} tensors; give {self.group.world_size}, one for each rank"
                )
        self._rendezvous(
            collective,
            [*outputs, *inputs],
            (op,),
            lambda tensors: self._run(collective, tensors, op, outputs=len(outputs)),
        )

    def barrier(self) -> None:
        """See `Distributed.barrier`."""

        def act(_: Mapping[int, list[Tensor]]) -> None:
            self._issue("barrier", Workers((0,), (0,), (((0, 0),),), 0, copies=False), "f16", "sum", {})

        self._rendezvous("barrier", [], (), act)

    def install(self, collective: str, tensor: Tensor) -> None:
        """Give the PEs the queues of a collective over ranks before it is called first, where it has queues of its own."""
        group, workers, world = self.group, find_workers(tensor.layout), self.group.world()
        root = group.config.root(1, 1) if collective == "all_reduce" else None
        choice, _ = group.choose(collective, world, workers, tensor.layout.dtype, "sum", root)
        group.queues(choice.algorithm, world, workers.cubes, workers.pes)

    def _rendezvous(
        self,
        collective: str,
        tensors: list[Tensor],
        settings: tuple[Any, ...],
        act: Callable[[Mapping[int, list[Tensor]]], None],
    ) -> None:
        """Let all ranks come with their tensors, hold that they ask for the same, and act once."""

        def check_and_act(brought: Mapping[int, tuple[list[Tensor], tuple[Any, ...]]]) -> None:
            for rank, (_, asked) in brought.items():
                if asked != brought[0][1]:
                    raise InputError(
                        f"{collective} got {_shown(brought[0][1])} in rank 0 and {_shown(asked)} in rank {rank}; "
                        "give all ranks the same"
                    )
            given = {rank: tensors for rank, (tensors, _) in brought.items()}
            if tensors:
                check_alike(collective, given, self.group.sips)
            with self._runtime.between_ranks():
                act(given)

        self._runtime.launcher.rendezvous(collective, (tensors, settings), check_and_act)

    def _run(
        self,
        collective: str,
        tensors: Mapping[int, list[Tensor]],
        op: str,
        *,
        mesh: tuple[int, int] = (1, 1),
        root: int | None = None,
        outputs: int = 1,
    ) -> None:
        layout = tensors[0][0].layout
        workers = find_workers(layout)
        args = {rank: _as_args(collective, given, outputs) for rank, given in tensors.items()}
        self._issue(collective, workers, layout.dtype, op, args, mesh, root)
        if workers.copies:
            for rank in tensors if collective != "reduce" or root is None else [root]:
                for tensor in tensors[rank][:outputs]:
                    self._spread(rank, tensor)

    def _issue(
        self,
        collective: str,
        workers: Workers,
        dtype: str,
        op: str,
        args: Mapping[int, tuple[Any, ...]],
        mesh: tuple[int, int] = (1, 1),
        root: int | None = None,
    ) -> None:
        """Launch the kernel of the chosen algorithm on every rank's SIP; `args` is what each gets first."""
        group, world = self.group, self.group.world(*mesh)
        choice, plan = group.choose(collective, world, workers, dtype, op, root)
        work = Work(collective, choice, world, plan, workers.elements, workers.cubes, workers.pes)
        algorithm = work.algorithm
        figures = algorithm.arguments(group.world_size, work.elements, world.cube_w, world.cube_h, work.plan)
        queues = group.queues(algorithm, world, work.cubes, work.pes)
        launches: list[Launch] = []
        for rank, sip in enumerate(group.sips):
            sent = (*args.get(rank, ()), *figures, rank, group.kind, group.sip_w, group.sip_h)
            message = KernelLaunch(algorithm.name, sent, sip, tuple(work.cubes), tuple(work.pes))
            launches.append(self._runtime.launch(message, algorithm.kernel, queues))
        self._runtime.collectives.append(Collective(group, work, tuple(launches)))

    def _spread(self, rank: int, tensor: Tensor) -> None:
        """Give the result in a tensor's working copy to its other copies."""
        group, layout = self.group, tensor.layout
        policy, places = layout.policy, group.places
        over = policy.cube == REPLICATE, policy.pe == REPLICATE
        copies = Copies(layout.cubes, layout.pes, places.cube_w, places.pes_per_cube, *over)
        method, plan = group.spread(all_spans(layout), layout.dtype, copies)
        name, kernel, _ = METHODS[method]
        args = (_as_arg(tensor), plan, *copies)
        message = KernelLaunch(name, args, group.sips[rank], tuple(range(layout.cubes)), tuple(range(layout.pes)))
        queues = group.copy_queues(copies) if method == "multicast" else group.device.ipcq
        self._runtime.launch(message, kernel, queues)


def _as_args(collective: str, given: Sequence[Tensor], outputs: int) -> tuple[Any, ...]:
    """The addresses that a kernel gets: what goes out, what comes in, each one or one for each rank."""
    if collective not in LISTED:
        return tuple(map(_as_arg, given))
    both = zip((given[:outputs], given[outputs:]), LISTED[collective], strict=True)
    return tuple(tuple(map(_as_arg, tensors)) if listed else _as_arg(tensors[0]) for tensors, listed in both)


def _as_arg(tensor: Tensor) -> TensorArg:
    return TensorArg(tensor.name, tensor.layout.va, tensor.layout.shards)


def _shown(settings: Iterable[object]) -> str:
    return ", ".join(map(repr, settings))
