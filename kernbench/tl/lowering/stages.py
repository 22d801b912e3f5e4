"""Rows of a tile plan, collected as whole arrays and ordered token by token."""

from __future__ import annotations

import numpy as np

from kernbench.program.ops import ROW_WIDTH


class Stages:
    """Stages of many tokens, added as arrays; each token passes its own in the order in which they were added."""

    def __init__(self, token_count: int) -> None:
        self._token_count = token_count
        self._count = 0
        self._tokens: list[np.ndarray] = []
        self._rows: list[np.ndarray] = []
        self._tags: list[np.ndarray] = []

    def add(self, tokens: np.ndarray, tag: int, *columns: int | np.ndarray) -> np.ndarray:
        """Add one row for each of these tokens: the opcode and operands, each one number or one for each token.

        Returns int64[token]: the numbers of these rows among all added rows.
        """
        rows = np.zeros((len(tokens), ROW_WIDTH), np.int64)
        for at, column in enumerate(columns):
            rows[:, at] = column
        self._tokens.append(tokens)
        self._rows.append(rows)
        self._tags.append(np.full(len(tokens), tag, np.int32))
        self._count += len(tokens)
        return np.arange(self._count - len(tokens), self._count)

    def lay_out(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """int64[stage, ROW_WIDTH] rows, int64[token + 1] offsets into them, int32[stage] tags; int64[added] the row of each."""
        tokens = np.concatenate(self._tokens)
        order = np.argsort(tokens, kind="stable")
        token_start = np.zeros(self._token_count + 1, np.int64)
        np.cumsum(np.bincount(tokens, minlength=self._token_count), out=token_start[1:])
        row = np.empty(len(order), np.int64)
        row[order] = np.arange(len(order))
        return np.concatenate(self._rows)[order], token_start, np.concatenate(self._tags)[order], row
