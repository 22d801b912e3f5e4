"""A step of a decoder that takes many tokens of each sequence, on a rank: prefill."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.workloads.kernels.embedding import arrange, gather, pick
from kernbench.workloads.kernels.layout import OVER_PES
from kernbench.workloads.kernels.panels import Panel
from kernbench.workloads.sip.program import Decoder
from kernbench.workloads.sip.prompt_attention import PromptAttention
from kernbench.workloads.sip.prompt_panels import flat
from kernbench.workloads.sip.prompt_rank import PromptRank
from kernbench.workloads.sip.rank import Rank

if TYPE_CHECKING:
    from kernbench.host.torch.context import RuntimeContext
    from kernbench.host.torch.tensor import Tensor
    from kernbench.workloads.architecture import Architecture
    from kernbench.workloads.numbers import Numbers
    from kernbench.workloads.step import Step


class PromptDecoder(Decoder):
    """As `Decoder`, in panels; the last token of each sequence alone reaches the output."""

    attention = PromptAttention
    rank: PromptRank

    def _make_rank(
        self, torch: RuntimeContext, network: Architecture, step: Step, index: int, numbers: Numbers
    ) -> PromptRank:
        return PromptRank(torch, network, step, index, numbers)

    def _prepare_ends(self) -> None:
        rank, network = self.rank, self.rank.network
        self.table = self._table("embedding", network.vocabulary)
        self.places = self._table("positions", network.positions) if network.positions else 0
        self.token_rows = rank.torch.empty((rank.tokens, network.hidden), rank.dtype, OVER_PES, "token_rows")
        self.token_columns = rank.activation("token_columns", network.hidden)
        widths = dict.fromkeys(panel.width for panel in rank.panels)
        made = {width: rank.constant("identity", np.eye(width, dtype=np.float32)) for width in widths}
        self.identities = tuple(made[panel.width] for panel in rank.panels)
        self._prepare_picks()

    def _prepare_picks(self) -> None:
        """Make what brings the tokens together that the output reads."""
        rank, step = self.rank, self.rank.step
        self.last = Rank(rank.torch, rank.network, step, rank.index, rank.numbers, rank.marks, columns=step.sequences)
        self.read = self.last.activation("last", rank.network.hidden)
        self.picks = [(panel, self._pick(panel, chosen)) for panel, chosen in self._list_picks()]

    def list_read(self) -> np.ndarray:
        """int64[sequence]: the token of each sequence that the output reads, here the last."""
        return np.cumsum([part.tokens for part in self.rank.step.parts for _ in range(part.count)]) - 1

    def _list_picks(self) -> list[tuple[Panel, list[tuple[int, int]]]]:
        """Panels with tokens that the output reads, and (column of the panel, sequence) of each."""
        found: list[tuple[Panel, list[tuple[int, int]]]] = []
        for panel in self.rank.panels:
            end = panel.first + panel.width
            read = enumerate(self.list_read())
            chosen = [(int(token) - panel.first, i) for i, token in read if panel.first <= token < end]
            if chosen:
                found.append((panel, chosen))
        return found

    def _pick(self, panel: Panel, chosen: list[tuple[int, int]]) -> Tensor:
        matrix = np.zeros((panel.width, self.rank.step.sequences), np.float32)
        for column, sequence in chosen:
            matrix[column, sequence] = 1
        return self.rank.constant("picks", matrix)

    def _list_tables(self) -> tuple[list[Tensor], list[list[int]]]:
        """The tables whose rows are added for each token, and those rows."""
        tables, ids = [self.table], [list(self._ids)]
        if not isinstance(self.places, int):
            tables.append(self.places)
            ids.append(list_positions(self.rank.step))
        return tables, ids

    def _embed(self) -> None:
        rank, network = self.rank, self.rank.network
        tables, ids = self._list_tables()
        panels, d = flat(rank.panels), network.hidden
        given = (tuple(map(tuple, ids)), d, network.embedding_scale, rank.dtype)
        rank.torch.launch("gather", gather, tuple(tables), self.token_rows, self.token_columns, panels, *given)
        rank.torch.launch("arrange", arrange, self.token_columns, self.identities, self.x, rank.pieces(d))

    def _output(self) -> None:
        with self.last.operator("lm_head"):
            self._read_last()
            cap = self.rank.network.soft_caps[1]
            self.last.multiply("lm_head", self.read, [self.head], self.logits, soft_cap=cap)

    def _read_last(self) -> None:
        panels, matrices = zip(*self.picks, strict=True)
        given = (self.read, self.rank.network.hidden, self.rank.step.sequences, self.rank.dtype)
        self.rank.torch.launch("pick", pick, self.x, flat(panels), matrices, *given)


def list_positions(step: Step) -> list[int]:
    """The position of each new token."""
    return [part.before + at for part in step.parts for _ in range(part.count) for at in range(part.tokens)]
