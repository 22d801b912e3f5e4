"""`torch.distributed` with the backend `ahbm`: collectives that run on the modelled fabric.

A collective is a rendezvous of all ranks, then one launch of its algorithm's kernel on each SIP. Like every launch it is
not waited for; each SIP's stream goes on when the kernel has ended there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from kernbench.ccl.plan import OPS
from kernbench.errors import InputError, RunError, suggest
from kernbench.host.torch.accelerators import Namespace
from kernbench.host.torch.collectives import Collectives
from kernbench.host.torch.process_group import ProcessGroup
from kernbench.host.torch.tensor import Tensor

if TYPE_CHECKING:
    from pathlib import Path

    from kernbench.host.torch.runtime import Runtime

BACKEND = "ahbm"
_P2P = "ranks talk through collectives; kernels talk to neighbours with tl.send and tl.recv"
_GROUPS = "there is one process group, of all ranks"
_OBJECTS = "only tensors travel; give Python values to workers as args of torch.multiprocessing.spawn"


class ReduceOp(Namespace):
    """The reductions, by PyTorch's names."""

    title: ClassVar[str] = "torch.distributed.ReduceOp"
    refused: ClassVar = {"AVG": "use SUM and divide the terms before, or the sum afterwards"}
    SUM, PRODUCT, MIN, MAX = "sum", "prod", "min", "max"


class Distributed(Namespace):
    """`torch.distributed`."""

    title: ClassVar[str] = "torch.distributed"
    refused: ClassVar = {
        **dict.fromkeys(("send", "recv", "isend", "irecv", "batch_isend_irecv", "P2POp", "gather", "scatter"), _P2P),
        **dict.fromkeys(
            ("all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single"),
            "use all_gather, reduce_scatter or all_to_all, with a list of tensors, one for each rank",
        ),
        **dict.fromkeys(("new_group", "split_group", "group", "GroupMember", "new_subgroups"), _GROUPS),
        **dict.fromkeys(
            ("all_gather_object", "broadcast_object_list", "gather_object", "scatter_object_list"), _OBJECTS
        ),
    }
    ReduceOp = ReduceOp()

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def init_process_group(
        self,
        backend: str | None = None,
        init_method: str | None = None,
        timeout: object = None,  # noqa: ARG002 - nothing waits in real time
        world_size: int = -1,
        rank: int = -1,
        *,
        config: str | Path | None = None,
        **settings: Any,
    ) -> None:
        """Make the process group, in the bench's function or in every rank; there it is made once.

        `config` is a `ccl.yaml` other than the one that is found, `settings` go over it: algorithm, topology, buffer_kind,
        backpressure, n_slots, slot_size, intra, copies. Errors: InputError for another backend, a rank that is not the
        caller's, or a world size that is not the group's.
        """
        from kernbench.ccl.config import load_config  # brings pydantic, which runs without ranks do not need

        if backend != BACKEND:
            known = suggest(str(backend), [BACKEND]) if isinstance(backend, str) else f"; known: {BACKEND}"
            raise InputError(f"torch.distributed has no backend {backend!r}{known}")
        if init_method not in (None, "env://"):
            raise InputError(
                f"init_process_group got init_method={init_method!r}; ranks are in one process: leave it out"
            )
        here = self._runtime.launcher.current
        if rank != -1 and rank != (here.index if here else 0):
            raise InputError(f"init_process_group got rank={rank} in rank {here.index if here else 0}; leave it out")
        found = load_config(config, settings)
        if self._runtime.group is None:
            self._runtime.group = ProcessGroup(self._runtime.device, self._runtime.sips, found)
            self._check_world(world_size)
        elif here is None:
            raise InputError("init_process_group was called twice; call destroy_process_group before another")
        elif found != self._runtime.group.config:
            raise InputError("init_process_group got other settings than in the rank before; give all ranks the same")

    def _check_world(self, world_size: int) -> None:
        """Errors: InputError, and there is no group, if it has not as many ranks as were asked for or spawned."""
        group, spawned = self._require("init_process_group"), self._runtime.launcher.spawned
        if world_size not in (-1, group.world_size):
            self._runtime.leave_group()
            raise InputError(
                f"init_process_group got world_size={world_size}, but {group.config.where} and the topology make it "
                f"{group.world_size}; leave it out, or change defaults.world_size or sips.count"
            )
        if spawned not in (0, group.world_size):
            self._runtime.leave_group()
            raise InputError(
                f"{spawned} ranks call init_process_group, but {group.config.where} and the topology make the world size "
                f"{group.world_size}; spawn with nprocs={group.world_size}"
            )

    def destroy_process_group(self) -> None:
        """Forget the process group and free its slots, so that another may be made. In ranks the last to call it does.

        Kernels that are launched afterwards send no messages.
        """
        self._require("destroy_process_group")
        if self._runtime.launcher.current is None:
            self._runtime.leave_group()
        else:
            self._runtime.launcher.rendezvous("destroy_process_group", None, self._forget)

    def _forget(self, _: object) -> None:
        self._runtime.leave_group()

    def is_initialized(self) -> bool:
        """Whether there is a process group."""
        return self._runtime.group is not None

    def is_available(self) -> bool:
        """Always."""
        return True

    def get_backend(self) -> str:
        """ "ahbm". Errors: RunError without a process group."""
        self._require("get_backend")
        return BACKEND

    def get_world_size(self) -> int:
        """How many ranks there are. Errors: RunError without a process group."""
        return self._require("get_world_size").world_size

    def get_rank(self) -> int:
        """The caller's rank; 0 in the bench's own function. Errors: RunError without a process group."""
        self._require("get_rank")
        here = self._runtime.launcher.current
        return here.index if here else 0

    # Collectives

    def all_reduce(
        self, tensor: Tensor, op: str = "sum", group: None = None, async_op: bool = False, *, over: str = ""
    ) -> None:
        """Reduce a tensor over all ranks, in place.

        `over` "ranks" is PyTorch's: element by element over ranks, however the tensor lies. `over` "cubes" takes the part of
        each cube for a term too: every cube of every rank ends with the reduction of all. It is the default for tensors
        split over cubes with one PE a cube, "ranks" for all others.
        """
        self._check("all_reduce", group, async_op, tensor)
        op = _as_op("all_reduce", op)
        if over not in ("", "ranks", "cubes"):
            raise InputError(f"all_reduce got over={over!r}{suggest(over, ('ranks', 'cubes'))}")
        self._collectives("all_reduce").all_reduce(tensor, op, over)

    def broadcast(self, tensor: Tensor, src: int = 0, group: None = None, async_op: bool = False) -> None:
        """Give all ranks the tensor of rank `src`, in place."""
        self._check("broadcast", group, async_op, tensor)
        self._collectives("broadcast").rooted("broadcast", tensor, src, "sum")

    def reduce(self, tensor: Tensor, dst: int = 0, op: str = "sum", group: None = None, async_op: bool = False) -> None:
        """Reduce a tensor over all ranks into that of rank `dst`; those of other ranks stay."""
        self._check("reduce", group, async_op, tensor)
        self._collectives("reduce").rooted("reduce", tensor, dst, _as_op("reduce", op))

    def all_gather(
        self, tensor_list: Sequence[Tensor], tensor: Tensor, group: None = None, async_op: bool = False
    ) -> None:
        """Give all ranks the tensors of all: that of rank r in `tensor_list[r]`. All lie alike."""
        self._check("all_gather", group, async_op, tensor, *tensor_list)
        self._collectives("all_gather").exchange("all_gather", list(tensor_list), [tensor], "sum")

    def reduce_scatter(
        self, output: Tensor, input_list: Sequence[Tensor], op: str = "sum", group: None = None, async_op: bool = False
    ) -> None:
        """Reduce `input_list[r]` over all ranks into the `output` of rank r. All lie alike."""
        self._check("reduce_scatter", group, async_op, output, *input_list)
        self._collectives("reduce_scatter").exchange(
            "reduce_scatter", [output], list(input_list), _as_op("reduce_scatter", op)
        )

    def all_to_all(
        self,
        output_tensor_list: Sequence[Tensor],
        input_tensor_list: Sequence[Tensor],
        group: None = None,
        async_op: bool = False,
    ) -> None:
        """Send `input_tensor_list[r]` to rank r, whose `output_tensor_list` has it at the sender's rank. All lie alike."""
        self._check("all_to_all", group, async_op, *output_tensor_list, *input_tensor_list)
        self._collectives("all_to_all").exchange("all_to_all", list(output_tensor_list), list(input_tensor_list), "sum")

    def barrier(self, group: None = None, async_op: bool = False) -> None:
        """Let no rank's SIP go on before all have come here."""
        self._check("barrier", group, async_op)
        self._collectives("barrier").barrier()

    def install(self, collective: str, tensor: Tensor) -> None:
        """Give the PEs the queues of a collective of such tensors now, so that its first call does not wait for them.

        Collectives of all sizes have the queues along the grid when the group is made; some algorithms have their own.
        """
        self._check(collective, None, async_op=False)
        self._collectives(collective).install(collective, tensor)

    def _check(self, collective: str, group: object, async_op: bool, *tensors: object) -> None:
        if group is not None:
            raise InputError(f"{collective} got group={group!r}; {_GROUPS}: leave it out")
        if async_op:
            raise InputError(f"{collective} got async_op=True; a launch is never waited for: leave it out")
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise InputError(f"{collective} got {tensor!r}; give tensors of this run")

    def _collectives(self, what: str) -> Collectives:
        return Collectives(self._runtime, self._require(what))

    def _require(self, what: str) -> ProcessGroup:
        if self._runtime.group is None:
            raise RunError(
                f"{what} needs a process group; call torch.distributed.init_process_group(backend={BACKEND!r}) before it"
            )
        return self._runtime.group


def _as_op(collective: str, op: object) -> str:
    name = str(op).lower().removeprefix("reduceop.")
    name = {"product": "prod"}.get(name, name)
    if name not in OPS:
        raise InputError(f"{collective} got op={op!r}{suggest(name, OPS)}")
    return name
