"""Some launches of a layer, run alone: from their times choices follow.

The layer is one of a step, on its first rank. The launches of all candidates follow each other in one program, as those of a
step do, and tensors are there without messages to MMUs. A question makes again what is chosen; the rest of the block stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kernbench.host.device.device import Device
from kernbench.host.torch.context import RuntimeContext
from kernbench.host.torch.equal_ranks import EqualRanks
from kernbench.limits.run_options import RunOptions
from kernbench.workloads.architecture import Architecture, Latent, LayerKind
from kernbench.workloads.kernels.layout import over
from kernbench.workloads.numbers import Numbers
from kernbench.workloads.sip.choices import Choices
from kernbench.workloads.sip.latent import LatentBlock
from kernbench.workloads.sip.layer import AttentionBlock, MlpBlock
from kernbench.workloads.sip.rank import Rank
from kernbench.workloads.step import Step

if TYPE_CHECKING:
    from kernbench.host.messages import MmuMap
    from kernbench.machine.machine import Machine


Block = AttentionBlock | LatentBlock | MlpBlock
SHORT = 256  # tokens of a context


class Question(NamedTuple):
    """A field of `Choices`, and the kernels whose time decides it: those that read what is chosen."""

    field: str
    kernels: frozenset[str]
    of_mlp: bool = False
    of_heads: bool = False  # of attention with heads of keys and values alone
    short: bool = False  # whether a short context will do, as the time to stream it is the same for all candidates


QUESTIONS = (
    Question("x", frozenset(["qkv"])),
    Question("qkv", frozenset(["spread"]), of_heads=True),
    Question("spread", frozenset(["spread", "attend"]), of_heads=True, short=True),
    Question("splits", frozenset(["attend", "merge", "spread_heads", "attend_latent", "merge_latent"])),
    Question("units", frozenset(["spread_heads"]), of_heads=True),
    Question("down", frozenset(["down", "down_sum"]), of_mlp=True),
    Question("inner", frozenset(["down"]), of_mlp=True),
)


class _ToldDevice(Device):
    """A device whose MMUs know of tensors without messages."""

    def _update_mmus(self, message: MmuMap) -> int:
        self._sips[message.sip].addresses.install(message)
        return self._streams[message.sip].thread.mark(self.program.tag("tensor"))


class Trials:
    """A layer of a kind, whose launches run in parts."""

    def __init__(self, machine: Machine, network: Architecture, step: Step, kind: LayerKind) -> None:
        self._machine, self._network, self._step, self._kind = machine, network, step, kind
        self.begin()

    def begin(self) -> None:
        """Begin on an empty device, as after an error."""
        self._device = _ToldDevice(self._machine, RunOptions())
        self._torch = RuntimeContext(self._device, range(1), seed=0)
        self._rank = Rank(self._torch, self._network, self._step, 0, Numbers())
        self._blocks: dict[tuple[bool, bool], Block] = {}

    def time(self, question: Question, choices: Choices) -> int:
        """The time of a question's kernels under some choices, in femtoseconds. Errors: as of kernels and memory."""
        rank, runtime = self._rank, self._torch.runtime
        rank.choices = choices
        x, y = (rank.activation(name, rank.network.hidden, over(choices.x)) for name in ("x", "y"))
        block = self._find_block(question)
        held = runtime.equal = EqualRanks(runtime)
        block.launch(x, y, x if rank.step.tensor == 1 else 0)
        runtime.equal = None
        launches = held.issue_some(runtime.current_sip, question.kernels)
        self._device.run()
        issue_fs, end_fs = self._device.session.op_issue_fs, self._device.session.op_end_fs
        return sum(one.back_fs(end_fs) - one.left_fs(issue_fs) for one in launches)

    def _find_block(self, question: Question) -> Block:
        """The block of a question, with what depends on choices made again."""
        key = question.of_mlp, question.short
        block = self._blocks.pop(key, None)
        if block is None or question.field == "splits":
            del block  # its memory may be needed
            self._rank.align()
            kind = self._kind
            if question.short:
                kind = kind._replace(window=min(SHORT, kind.window or SHORT))
            latent = isinstance(self._network.attention, Latent)
            attention = LatentBlock if latent else AttentionBlock
            block = MlpBlock(self._rank, "0") if question.of_mlp else attention(self._rank, "0", kind)
        else:
            block.make_room()
        self._blocks[key] = block
        return block
