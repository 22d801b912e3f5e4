"""Attention of many tokens of each sequence: keys and values are appended to the cache, then read from it block by block.

Tokens lie in panels. A *unit* is one head of queries of one panel: its scores are made a block of keys at a time, and the
output is kept in scratch and rescaled as larger scores come (T. Dao et al., "FlashAttention", arXiv 2205.14135). Blocks that no
token of the panel may see are left out. The matrix engine makes the scores of the next block while those of one become weights.

Where operands lie: queries, keys and values are rows of one activation OVER_PES; the cache has rows of tokens, (heads of keys,
sequences, tokens, size), OVER_PES; positions are turned by a matrix in each cube, with cosines and sines as activations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from kernbench.dtypes import itemsize
from kernbench.workloads.kernels.layout import CUBES, PES, TILE_BYTES
from kernbench.workloads.kernels.panels import Copies, Panel
from kernbench.workloads.kernels.results import narrow, soft_cap_steps

PIECES = 4  # of a block of scores, whose weights are stored while the next are computed
UNSEEN = -1e30  # a score that becomes the weight 0


class Prompt(NamedTuple):
    """The sizes of attention on one SIP."""

    sequences: int
    tokens: int  # new ones of each sequence
    before: int  # of each sequence, in the cache
    keys: int  # heads of keys and values
    group: int  # heads of queries of each
    size: int  # elements of a head
    window: int  # tokens that one sees, itself among them; 0: all
    causal: bool
    block: int  # keys at a time
    dtype: str  # of activations
    cache_dtype: str
    eps: float
    soft_cap: float = 0.0  # of scores; 0: none

    @property
    def rows(self) -> int:
        """Of queries, keys and values."""
        return self.keys * (self.group + 2) * self.size

    @property
    def context(self) -> int:
        """Tokens of a sequence in the cache after the step."""
        return self.before + self.tokens

    def place(self, head: int, sequence: int, token: int) -> int:
        """The element of the cache at which a token begins."""
        return ((head * self.sequences + sequence) * self.context + token) * self.size


class Tables(NamedTuple):
    """Pointers: quarter turns (size, size), cosines and sines (size, tokens) in panels, norms (size, 1); 0: none."""

    turn: int = 0
    cos: int = 0
    sin: int = 0
    q_norm: int = 0
    k_norm: int = 0


class Run(NamedTuple):
    """Columns `begin` to `end` of a panel: tokens of one sequence, the first at a position."""

    sequence: int
    begin: int
    end: int
    position: int


def list_runs(panel: Panel, a: Prompt) -> Iterator[Run]:
    """The sequences of a panel."""
    token, end = panel.first, panel.first + panel.width
    while token < end:
        sequence, index = divmod(token, a.tokens)
        stop = min(end, (sequence + 1) * a.tokens)
        yield Run(sequence, token - panel.first, stop - panel.first, a.before + index)
        token = stop


def find_span(run: Run, a: Prompt) -> tuple[int, int]:
    """(first, end) of the keys that tokens of a run see."""
    first = max(0, run.position - a.window + 1) if a.window else 0
    return first, run.position + run.end - run.begin if a.causal else a.context


def append_keys(
    qkv_ptr: int,
    cache: tuple[int, int],
    panels: tuple[tuple[int, int], ...],
    tables: tuple[int, ...],
    sizes: tuple[Any, ...],
    tl: Any,
) -> None:
    """Write the keys, normalised and turned, and the values of all panels behind those that the cache has."""
    a, t = Prompt(*sizes), Tables(*tables)
    pes, heads = tl.num_programs(PES), a.keys * a.group
    own, count = tl.program_id(CUBES) * pes + tl.program_id(PES), pes * tl.num_programs(CUBES)
    for unit in range(own, 2 * a.keys * len(panels), count):
        number, head = divmod(unit % (a.keys * len(panels)), a.keys)
        is_value = unit >= a.keys * len(panels)
        panel = Panel(*panels[number])
        at = panel.at(a.rows, (heads + (a.keys if is_value else 0) + head) * a.size) * itemsize(a.dtype)
        x = tl.load(qkv_ptr + at, (a.size, panel.width), a.dtype)
        if not is_value:
            x = _turn(tl, x, panel, t, t.k_norm, a)
        _append(tl, tl.trans(narrow(tl, x, a.cache_dtype)), cache[is_value], head, panel, a)
        tl.release(x)


def _append(tl: Any, rows: Any, cache_ptr: int, head: int, panel: Panel, a: Prompt) -> None:
    """Tokens of a panel are one range of the cache, since sequences have either nothing before them or no other beside them."""
    sequence, index = divmod(panel.first, a.tokens)
    at = a.place(head, sequence, a.before + index) * itemsize(a.cache_dtype)
    tl.store(cache_ptr + at, rows)


def attend_panels(
    qkv_ptr: int,
    cache: tuple[int, int],
    out_ptr: int,
    panels: tuple[tuple[int, int], ...],
    work: tuple[tuple[tuple[int, int], ...], ...],
    tables: tuple[int, ...],
    sizes: tuple[Any, ...],
    copies: Copies,
    tl: Any,
) -> None:
    """Each PE its own units, (head, number of the panel) of `work`; all copies of the output have `size` rows of each head."""
    a, t = Prompt(*sizes), Tables(*tables)
    ended: list[Any] = []  # what open writes of the unit before read
    for head, number in work[tl.program_id(CUBES) * tl.num_programs(PES) + tl.program_id(PES)]:
        panel = Panel(*panels[number])
        at = panel.at(a.rows, head * a.size) * itemsize(a.dtype)
        query = _turn(tl, tl.load(qkv_ptr + at, (a.size, panel.width), a.dtype), panel, t, t.q_norm, a)
        unit = _Unit(tl, cache, head // a.group, panel, query * a.size**-0.5, a)
        tl.release(query)
        unit.attend()
        rows = a.keys * a.group * a.size
        places = [copy.at(rows, head * a.size) * itemsize(a.dtype) for copy in copies.list_all(panel)]
        ended = unit.end([out_ptr + place for place in places], ended)


def _turn(tl: Any, x: Any, panel: Panel, t: Tables, norm_ptr: int, a: Prompt) -> Any:
    """Normalise a head (size, tokens) and turn it by the positions of its tokens."""
    if norm_ptr:
        mean = tl.sum(x * x * (1.0 / a.size), axis=0)
        x = narrow(tl, x * tl.rsqrt(mean + a.eps) * tl.load(norm_ptr, (a.size, 1), a.dtype), a.dtype)
    if not t.turn:
        return x
    cos, sin = (tl.load(ptr + panel.at(a.size) * itemsize(a.dtype), x.shape, a.dtype) for ptr in (t.cos, t.sin))
    turned = tl.dot(tl.load(t.turn, (a.size, a.size), a.dtype), x)
    across = turned * sin
    tl.release(turned)
    along = x * cos
    tl.release(x)
    found = along + across
    tl.release(along)
    tl.release(across)
    return found


class _Block(NamedTuple):
    """Keys `first` to `end` of a sequence, for one run of a panel."""

    run: Run
    first: int
    end: int


class _Values(NamedTuple):
    """Open products of values and of ones with weights, and by what the output so far is too large."""

    job: Any
    total: Any
    weights: Any
    over: Any


class _Unit:
    """One head of a panel: its output so far, the largest score and the sum of weights of each token."""

    def __init__(self, tl: Any, cache: tuple[int, int], head: int, panel: Panel, query: Any, a: Prompt) -> None:
        self.tl, self.cache, self.head, self.panel, self.query, self.a = tl, cache, head, panel, query, a
        self.largest: Any = None
        self.total: Any = None
        self.out: Any = None
        self._columns = tl.arange(0, panel.width)

    def attend(self) -> None:
        """Make the output times the sum of weights."""
        blocks = list(self._list_blocks())
        scores: Any = self._score(blocks[0])
        values: _Values | None = None
        for i, block in enumerate(blocks):
            following = self._score(blocks[i + 1]) if i + 1 < len(blocks) else None
            self.tl.wait(scores)
            weights, over = self._weigh(self._mask(scores.out, block))
            self._collect(values)
            values = self._start_value(block, weights, over)
            scores = following
        self._collect(values)

    def end(self, places: list[int], ended: list[Any]) -> list[Any]:
        """Start to write the mean of the values, and let go of what was `ended` before; returns what the writes read."""
        tl, rows = self.tl, self.a.size // PIECES or 1
        tl.wait()
        for each in (*ended, self.query, self.largest):
            tl.release(each)
        share = self._replace(self.total, 1.0 / self.total)
        over = [{"op": "mul", "operand": share}]
        for place in places:
            tile = rows, 1, self.panel.width
            out = {"out_dtype": self.a.dtype, "epilogue": over, "tile_shape": tile}
            tl.composite("math", self.out, self.out, place, math_op="maximum", **out)
        return [self.out, share]

    def _list_blocks(self) -> Iterator[_Block]:
        for run in list_runs(self.panel, self.a):
            first, end = find_span(run, self.a)
            for at in range(first, end, self.a.block):
                yield _Block(run, at, min(end, at + self.a.block))

    def _cached(self, which: int, block: _Block) -> Any:
        a = self.a
        at = a.place(self.head, block.run.sequence, block.first) * itemsize(a.cache_dtype)
        return self.tl.ref(self.cache[which] + at, (block.end - block.first, a.size), a.cache_dtype)

    def _score(self, block: _Block) -> Any:
        """Start the product (keys, tokens) of a block."""
        a, keys = self.a, self._cached(0, block)
        deep = max(1, TILE_BYTES // (a.size * itemsize(a.cache_dtype)))
        steps = soft_cap_steps(a.soft_cap)
        tile = min(keys.shape[0], deep), a.size, self.panel.width
        return self.tl.composite("gemm", keys, self.query, out_dtype="f32", epilogue=steps, tile_shape=tile)

    def _start_value(self, block: _Block, weights: Any, over: Any) -> _Values:
        """Start the products of the values of a block, (size, tokens), and of ones, (1, tokens), with weights."""
        a, values = self.a, self._cached(1, block)
        deep = max(1, TILE_BYTES // (a.size * itemsize(a.cache_dtype)))
        tile = a.size, min(values.shape[0], deep), self.panel.width
        ones = self.tl.full((1, weights.shape[0]), 1.0, a.dtype)
        total = self.tl.composite("gemm", ones, weights, out_dtype="f32", tile_shape=(1, *weights.shape))
        job = self.tl.composite("gemm", self.tl.trans(values), weights, out_dtype="f32", tile_shape=tile)
        return _Values(job, total, weights, over)

    def _collect(self, values: _Values | None) -> None:
        """Add the values of a block to the output so far, and the weights to their sum."""
        if values is None:
            return
        job, total, weights, over = values
        for each in (total, job):
            self.tl.wait(each)
        self.tl.release(weights)
        if over is None:
            self.out, self.total = job.out, total.out
            return
        self.total = self._replace(total.out, self._replace(self.total, self.tl.fma(self.total, over, total.out)))
        self.out = self._replace(self.out, self.tl.fma(self.out, over, job.out))
        for spent in (over, job.out):
            self.tl.release(spent)

    def _replace(self, old: Any, new: Any) -> Any:
        self.tl.release(old)
        return new

    def _mask(self, scores: Any, block: _Block) -> Any:
        """The scores, without those of keys that a token may not see."""
        tl, (run, first, end), a = self.tl, block, self.a
        shift = first - run.position + run.begin  # key r is at the position of column r + shift
        seen: list[Any] = []
        if a.causal and end - 1 > run.position:
            seen.append(self._compare(end - first, shift, tl.less_equal))
        if a.window and first < run.position + run.end - run.begin - a.window:
            seen.append(self._compare(end - first, shift + a.window, tl.greater))
        if run.begin > 0:
            seen.append(self._columns >= run.begin)
        if run.end < self.panel.width:
            seen.append(self._columns < run.end)
        for one in seen:
            scores = self._replace(scores, tl.where(one, scores, UNSEEN))
            tl.release(one)
        return scores

    def _compare(self, keys: int, shift: int, how: Callable[[Any, Any], Any]) -> Any:
        """(keys, tokens): how each key, counted from a shift on, compares with each column."""
        tl = self.tl
        row = tl.arange(shift, shift + keys) + tl.zeros((1, 1), "i32")
        found = how(tl.trans(row), self._columns)
        tl.release(row)
        return found

    def _weigh(self, scores: Any) -> tuple[Any, Any]:
        """The weights of a block relative to the largest score so far, and by what earlier ones are too large, or None.

        The largest score is brought up to date.
        """
        tl, a, before = self.tl, self.a, self.largest
        most = tl.max(scores, axis=0)
        self.largest = most if before is None else self._replace(most, tl.maximum(before, most))
        shifted = self._replace(scores, scores - self.largest)
        rows, columns = shifted.shape
        tile = -(-rows // PIECES), 1, columns
        job = tl.composite("math", shifted, math_op="exp", out_dtype=a.dtype, tile_shape=tile)
        tl.wait(job)
        tl.release(shifted)
        if before is None:
            return job.out, None
        less = self._replace(before, before - self.largest)
        over = self._replace(less, tl.exp(less))
        return job.out, over
