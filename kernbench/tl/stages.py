"""Rows of a tile plan, gathered whole arrays at a time and laid out token by token."""

from __future__ import annotations

import numpy as np

from kernbench.program.ops import ROW_WIDTH


class Stages:
    """Stages of many tokens, added one kind at a time; each token walks its own in the order of the adding."""

    def __init__(self, token_count: int) -> None:
        self._token_count = token_count
        self._tokens: list[np.ndarray] = []
        self._rows: list[np.ndarray] = []
        self._tags: list[np.ndarray] = []

    def add(self, tokens: np.ndarray, tag: int, *columns: int | np.ndarray) -> None:
        """One row for each of these tokens: the opcode and operands, each one number or one a token."""
        rows = np.zeros((len(tokens), ROW_WIDTH), np.int64)
        for at, column in enumerate(columns):
            rows[:, at] = column
        self._tokens.append(tokens)
        self._rows.append(rows)
        self._tags.append(np.full(len(tokens), tag, np.int32))

    def lay_out(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """int64[stage, ROW_WIDTH] rows, int64[token + 1] offsets into them, int32[stage] tags."""
        tokens = np.concatenate(self._tokens)
        order = np.argsort(tokens, kind="stable")
        token_start = np.zeros(self._token_count + 1, np.int64)
        np.cumsum(np.bincount(tokens, minlength=self._token_count), out=token_start[1:])
        return np.concatenate(self._rows)[order], token_start, np.concatenate(self._tags)[order]
