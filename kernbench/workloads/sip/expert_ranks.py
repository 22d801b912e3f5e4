"""The mixture of experts of one layer whose experts ranks share: tokens go to the ranks of their experts, and come back."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from kernbench.workloads.kernels.exchange import arrange, collect, dispatch
from kernbench.workloads.kernels.layout import OVER_PES
from kernbench.workloads.routing import Routing
from kernbench.workloads.sip.experts import ExpertMlps, Load, Router, count_copies, find_norm, list_on_device
from kernbench.workloads.sip.rank import Rank

if TYPE_CHECKING:
    from kernbench.host.torch.tensor import Tensor

NOBODY = -1


class SentExperts:
    """The router of a rank's tokens, its own experts for the tokens of all ranks, and two all-to-alls between.

    A slot is a place in a block that one rank sends to another; all blocks have as many.
    """

    def __init__(self, rank: Rank, place: str, routing: Routing) -> None:
        """`routing` is that of the tokens of all ranks, rank by rank."""
        experts, torch, t, n = rank.network.experts, rank.torch, rank.tokens, rank.step.expert_ranks
        assert experts is not None
        self.rank, self.copies, own = rank, count_copies(experts), experts.count // n
        sent = list_sent(routing, n, t, own)
        self.slots = slots = max(len(block) for blocks in sent for block in blocks)
        mine, here = sent[rank.expert_index], [blocks[rank.expert_index] for blocks in sent]
        norm = find_norm(rank, place)
        self.router = Router(rank, place, norm, experts, self.copies)
        padded = [block + [(NOBODY, NOBODY)] * (slots - len(block)) for block in mine]
        flat = [slot for block in padded for slot in block]
        part = Routing(routing.chosen[rank.expert_index * t : (rank.expert_index + 1) * t])
        self.choice = self.router.list_places(part, flat)
        self.slot_tokens = list_on_device(rank, "slot_tokens", [[token] for _, token in flat])
        self.slot_shares = torch.empty((1, n * slots), rank.dtype, OVER_PES, "slot_shares")
        loads, columns = self._sort(here, rank.expert_index * own)
        self.places = sum(len(block) for block in here)
        self.columns = max(1, self.places + (t if self.copies else 0))
        self.slot_columns = list_on_device(rank, "slot_columns", np.array(columns)[:, None])
        self.mlps = ExpertMlps(
            rank, place, norm, self.columns, loads, range(rank.expert_index * own, (rank.expert_index + 1) * own)
        )
        d = rank.network.hidden
        self.out, self.back = (
            [torch.empty((d, slots), rank.dtype, OVER_PES, f"{name}{to}") for to in range(n)]
            for name in ("sent", "received")
        )
        self.x, self.y = (torch.empty((d, self.columns), rank.dtype, OVER_PES, name) for name in ("come", "made"))

    def _sort(self, here: list[list[tuple[int, int]]], first: int) -> tuple[list[Load], list[int]]:
        """The loads of this rank's experts, whose columns follow each other, and the column of each slot and own token."""
        order = sorted(
            (expert, source, slot) for source, block in enumerate(here) for slot, (expert, _) in enumerate(block)
        )
        column = {(source, slot): at for at, (_, source, slot) in enumerate(order)}
        counts = np.bincount([expert - first for expert, _, _ in order], minlength=1) if order else np.zeros(1, int)
        ends = [0, *accumulate(int(count) for count in counts)]
        loads = [Load(e, range(ends[e], ends[e + 1])) for e in range(len(counts)) if counts[e]]
        n, t, own = len(here), self.rank.tokens, self.rank.network.experts.count // len(here)  # type: ignore[union-attr]
        places = len(order)
        loads += [Load(own + copy, range(places, places + t)) for copy in range(self.copies)]
        slots = [column.get((source, slot), NOBODY) for source in range(n) for slot in range(self.slots)]
        return loads, [*slots, *range(places, places + t)]

    def launch(self, x: Tensor, y: Tensor, residual: Tensor | int) -> None:
        """y = residual + the experts of x, wherever they are."""
        rank, d, t = self.rank, self.rank.network.hidden, self.rank.tokens
        torch, dtype, slots, columns = rank.torch, rank.dtype, self.slots, self.columns
        out, back, shares = tuple(self.out), tuple(self.back), self.mlps.shares
        self.router.launch(x, self.slot_shares, shares, self.places, self.choice)
        with rank.operator("dispatch"):
            torch.launch("dispatch", dispatch, x, self.slot_tokens, out, (d, t, slots), dtype)
        with rank.operator("dispatch all-to-all"):
            torch.distributed.all_to_all(self.back, self.out)
        with rank.operator("arrange"):
            own = t if self.copies else 0
            torch.launch("arrange", arrange, back, self.slot_columns, (x, self.x), (d, columns, slots, own), dtype)
        self.mlps.launch(self.x, self.y, 0)
        with rank.operator("return"):
            torch.launch("return", dispatch, self.y, self.slot_columns, out, (d, columns, slots), dtype)
        with rank.operator("combine all-to-all"):
            torch.distributed.all_to_all(self.back, self.out)
        with rank.operator("combine"):
            lists = (self.slot_tokens, self.slot_shares)
            mine = (self.y, columns, self.slot_columns, len(out) * slots) if self.copies else (0, 0, 0, 0)
            torch.launch("collect", collect, back, lists, mine, (residual, y), (d, t, slots), dtype)


def list_sent(routing: Routing, ranks: int, tokens: int, own: int) -> list[list[list[tuple[int, int]]]]:
    """[source][destination]: (expert, token of the source) of each place, of `tokens` of a rank and its `own` experts."""
    found: list[list[list[tuple[int, int]]]] = [[[] for _ in range(ranks)] for _ in range(ranks)]
    for number, experts in enumerate(routing.chosen):
        source, token = divmod(number, tokens)
        for expert in sorted(experts):
            found[source][expert // own].append((expert, token))
    return found
