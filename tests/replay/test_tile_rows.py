"""The rows of a composite's tiles, beside its stages as the op log lists them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kernbench.program.op_semantics import Composite
from kernbench.program.ops import Op
from kernbench.replay.tile_rows import ABSENT, find_tile_rows
from tests.tl.rig import BASE, BYTES, Rig

SIDE = st.integers(1, 40)
TILE = st.integers(3, 24)


@settings(max_examples=30, deadline=None)
@given(SIDE, SIDE, SIDE, st.tuples(TILE, TILE, TILE), st.booleans(), st.booleans(), st.sampled_from([BYTES, 1000]))
def test_rows_are_those_of_the_tokens(m, k, n, tile, streams_a, streams_b, cut):
    def kernel(*, tl):
        a = (tl.ref if streams_a else tl.load)(BASE, (m, k))
        b = (tl.ref if streams_b else tl.load)(BASE + 4096, (k, n))
        tl.wait(tl.composite("gemm", a, b, BASE + 16384, tile_shape=tile))

    rig = Rig(cut=cut)
    rig.record(kernel)
    program = rig.program
    row, note = next((row, note) for row, note in rig.thread.notes.items() if isinstance(note, Composite))
    pipe = rig.thread.find_row(row)
    assert program.op[pipe, 0] == Op.PIPE
    rows = find_tile_rows(program, int(program.op[pipe, 1]), note, ((m, k), (k, n)))
    names = [program.tags[tag][0] for tag in program.op_tag]
    made: dict[int, list[int]] = {}
    for token, (first, end) in enumerate(zip(program.token_start, program.token_end, strict=True)):
        reads = [at for at in range(first, end) if names[at] == "dma_read"]
        last = [i for i, streams in enumerate((streams_a, streams_b)) if streams]
        assert [int(rows.read[token, i]) for i in range(2) if i not in last] == [ABSENT] * (2 - len(last))
        for i in last:
            left = rows.tensors[i].elements(rows.tiles[token, i : i + 1])[0] * 2
            while left:
                left -= program.op[reads[0], 2]
                at = reads.pop(0)
            assert rows.read[token, i] == at
        assert not reads
        down, depth = divmod(int(rows.tiles[token, 0]), rows.tensors[0].across)
        output = down * rows.output.across + int(rows.tiles[token, 1]) % rows.output.across
        assert depth == int(rows.tiles[token, 1]) // rows.output.across
        made.setdefault(output, []).append(token)
        writes = [at for at in range(first, end) if names[at] == "dma_write"]
        if writes:
            assert rows.write[output] == writes[0]
    assert [made[output] for output in sorted(made)] == rows.tokens.tolist()
