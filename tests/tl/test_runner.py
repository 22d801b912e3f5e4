import subprocess
import sys
import weakref

import numpy as np
import pytest

from kernbench.errors import InputError, KernelError
from kernbench.program.gc_pause import pause_gc
from kernbench.program.ops import Op
from kernbench.program.program import Program
from kernbench.tl.language.current_context import find_active
from kernbench.tl.pe import PeContext
from kernbench.tl.runner import SteppedKernel, record_kernel
from tests.tl.rig import BASE, Rig

A, B, C = BASE, BASE + 65536, BASE + 131072


def attention(a, b, c, *, tl):
    q, k = tl.load(a, (48, 64)), tl.load(b, (40, 64))
    scores = tl.dot(q, tl.trans(k)) * 0.125
    weights = tl.softmax(scores)
    out = tl.dot(weights, k)
    tl.store(c, out + 1.0)
    tl.cycles(3)
    done = tl.composite("gemm", tl.ref(c, (48, 64)), tl.trans(k), c + 16384, epilogue=[{"op": "relu"}])
    tl.store(c + 32768, tl.arange(0, 100))
    tl.wait(done)
    again = tl.load(c + 16384, (48, 40))
    tl.store(c + 49152, tl.maximum(again, tl.full((48, 40), 0.5)))


def left_over(a, b, c, *, tl):
    tl.composite("gemm", tl.ref(a, (48, 64)), tl.trans(tl.ref(b, (40, 64))), c)
    done = tl.composite("math", tl.ref(a, (48, 64)), out_ptr=c + 16384, math_op="exp")
    tl.wait(done)


def empty(a, b, c, *, tl):
    tl.program_id(0)


def scaled(a, b, c, *, tl):
    x = tl.load(a, (4, 64), "f32")
    done = tl.composite(
        "gemm",
        x,
        tl.ref(b, (64, 8), "f32"),
        epilogue=[
            {"op": "dequant", "scale": 0.5, "scope": "k_tile"},
            {"op": "bias", "bias": tl.full((8,), 3.0, "f32")},
            {"op": "scale", "factor": 2, "scope": "kernel"},
        ],
        tile_shape=(4, 16, 8),
    )
    tl.wait(done)
    tl.store(c, done.out)


KERNELS = [attention, left_over, empty, scaled]


def filled(rig):
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((64, 64)).astype(np.float16) for _ in range(2))
    rig.memory.write(A, a)
    rig.memory.write(B, b)
    return a, b


def rows(rig):
    """(opcode and operands, tag, times) of all rows of the thread but the asks."""
    program, session = rig.program, rig.session
    at = [rig.thread.find_row(i) for i in range(rig.thread.row_count)]
    at = [i for i in at if program.op[i, 0] != Op.ASK]
    times = np.stack([session.op_issue_fs[at], session.op_start_fs[at], session.op_end_fs[at]], axis=1)
    return program.op[at].tolist(), program.op_tag[at].tolist(), times.tolist()


@pytest.mark.parametrize("kernel", KERNELS)
def test_recorded_and_live_are_the_same_to_the_tick(kernel):
    recorded, live = Rig(), Rig()
    filled(live)
    assert recorded.record(kernel, A, B, C) == live.live(kernel, A, B, C)
    assert rows(recorded) == rows(live)
    assert [dict(note) for note in recorded.notes()] == [dict(note) for note in live.notes()]
    assert recorded.program.durations == live.program.durations
    assert recorded.program.token_start.shape == live.program.token_start.shape


def test_a_live_kernel_computes():
    rig = Rig()
    a, b = filled(rig)
    rig.live(attention, A, B, C)
    q, k = a[:48], b[:40]
    f32 = lambda x: x.astype(np.float32)  # noqa: E731
    scores = (f32(q @ k.T) * 0.125).astype(np.float16)
    weights = np.exp(f32(scores) - f32(scores).max(-1, keepdims=True))
    weights = (weights / weights.sum(-1, keepdims=True)).astype(np.float16)
    out = (f32(f32(weights) @ f32(k)).astype(np.float16) + np.float16(1)).astype(np.float16)
    got = rig.memory.read(C, (48, 64), "f16")
    np.testing.assert_allclose(f32(got), f32(out), atol=5e-3)
    product = np.maximum(f32(got) @ f32(k).T, 0).astype(np.float16)
    found = rig.memory.read(C + 16384, (48, 40), "f16")
    np.testing.assert_allclose(
        found, product, rtol=2**-10, atol=2**-24
    )  # tile by tile, so sums may be rounded otherwise
    np.testing.assert_array_equal(rig.memory.read(C + 32768, (100,), "i32"), np.arange(100))
    np.testing.assert_array_equal(rig.memory.read(C + 49152, (48, 40), "f16"), np.maximum(found, np.float16(0.5)))


def test_a_kernel_that_has_ended_is_in_no_cycle():
    """A run has thousands, and pauses the garbage collector meanwhile."""
    contexts = []

    def kernel(*, tl):
        tl.store(C, tl.load(A, (4, 64)) + 1.0)
        contexts.append(weakref.ref(tl))

    rig = Rig()
    with pause_gc():
        rig.live(kernel)
        assert [context() for context in contexts] == [None]


def test_a_live_kernel_computes_what_it_did_not_wait_for():
    rig = Rig()
    a, b = filled(rig)
    rig.live(left_over, A, B, C)
    product = (a[:48].astype(np.float32) @ b[:40].astype(np.float32).T).astype(np.float16)
    found = rig.memory.read(C, (48, 40), "f16")
    np.testing.assert_allclose(found, product, rtol=2**-10)  # tile by tile, so sums may be rounded otherwise
    powers = np.exp(a[:48].astype(np.float32)).astype(np.float16)
    np.testing.assert_array_equal(rig.memory.read(C + 16384, (48, 64), "f16"), powers)


def test_an_epilogue_is_computed_in_its_scopes():
    rig = Rig()
    rng = np.random.default_rng(2)
    x, w = rng.standard_normal((4, 64)).astype(np.float32), rng.standard_normal((64, 8)).astype(np.float32)
    rig.memory.write(A, x)
    rig.memory.write(B, w)
    rig.live(scaled, A, B, C)
    np.testing.assert_allclose(rig.memory.read(C, (4, 8), "f32"), (x @ w * 0.5 + 3) * 2, rtol=1e-5)


def test_a_live_kernel_may_decide_by_what_it_reads():
    seen = []

    def kernel(*, tl):
        x = tl.load(A, (4,), "i32")
        seen.append(x.data.tolist())
        seen.append(tl.trans(tl.full((1, 2), 7, "i32")).data.tolist())
        tl.cycles(int((x + 1).data.sum()))

    rig = Rig()
    rig.memory.write(A, np.array([1, 2, 3, 4], np.int32))
    rig.live(kernel)
    assert seen == [[1, 2, 3, 4], [[7], [7]]]
    assert (rig.program.op[:, 0] == Op.DELAY).sum() == 1
    assert rig.program.durations[-1] == (("pe_cpu.cycle", 14),)


def test_a_load_sees_memory_as_it_is_when_it_completes():
    seen = []

    def writer(*, tl):
        tl.cycles(5)
        tl.store(A, tl.full((128,), 1, "i16"))

    def reader(*, tl):
        seen.append(int(tl.load(A, (128,), "i16").data[0]))
        seen.append(int(tl.load(A, (128,), "i16").data[0]))

    rig = Rig()
    other = PeContext(
        **{name: getattr(rig.pe, name) for name in PeContext.__slots__}
        | {"thread": rig.program.thread("pe1"), "place": rig.machine.places.pe(0, 0, 1)}
    )
    running = {0: SteppedKernel(rig.pe, reader), 1: SteppedKernel(other, writer)}
    rig.thread.ask()
    other.thread.ask()
    rig.simulate(lambda thread: running[thread].resume())
    assert seen == [1, 1]  # the store is issued at 6 ns, the first load completes at 11.5 ns


def test_resume_says_whether_there_is_more():
    rig = Rig()
    running = SteppedKernel(rig.pe, lambda *, tl: tl.load(A, (4,)))
    assert running.resume() is True
    assert running.resume() is False


def test_the_active_context_is_put_back():
    rig = Rig()
    running = SteppedKernel(rig.pe, attention, (A, B, C))
    running.resume()
    assert find_active() is None
    record_kernel(Rig().pe, empty, (A, B, C))
    assert find_active() is None


def test_kernels_that_take_turns_compute_each_in_its_own_context():
    def adds(*, tl):
        total = tl.load(A, 64)
        for _ in range(3):
            tl.store(A, total)
            total = total + 1

    def scales(*, tl):
        total = tl.load(B, 64)
        for _ in range(3):
            tl.store(B, total)
            total = total * 2

    rig = Rig()
    other = PeContext(
        **{name: getattr(rig.pe, name) for name in PeContext.__slots__}
        | {"thread": rig.program.thread("pe1"), "place": rig.machine.places.pe(0, 0, 1)}
    )
    running, turns = {0: SteppedKernel(rig.pe, adds), 1: SteppedKernel(other, scales)}, []

    def resume(thread):
        turns.append(thread)
        running[thread].resume()

    rig.thread.ask()
    other.thread.ask()
    rig.simulate(resume)
    assert turns != sorted(turns)
    for thread, function in ((rig.thread, "add"), (other.thread, "mul")):
        assert [note.function for note in thread.notes.values() if note.op == "math"] == [function] * 3


def failing(kernel, *args, live=False):
    rig = Rig()
    with pytest.raises(KernelError) as caught:
        rig.live(kernel, *args) if live else rig.record(kernel, *args)
    return caught.value


@pytest.mark.parametrize("live", [False, True])
def test_a_kernel_cannot_end_the_process(live):
    def kernel(*, tl):
        raise SystemExit(3)

    assert str(failing(kernel, live=live)).startswith("kernel kernel on sip0.cube0.pe0 raised SystemExit: 3, at ")


@pytest.mark.parametrize("live", [False, True])
def test_a_kernel_that_raises_is_named_with_its_line(live):
    def kernel(*, tl):
        tl.load(A, (4,))
        raise ZeroDivisionError("nothing left")

    error = failing(kernel, live=live)
    line = kernel.__code__.co_firstlineno + 2
    assert str(error) == (
        f"kernel kernel on sip0.cube0.pe0 raised ZeroDivisionError: nothing left, at tests/tl/test_runner.py:{line}"
    )
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert find_active() is None


def test_a_kernel_is_a_plain_function():
    def kernel(*, tl):
        yield tl.load(A, 4)

    assert str(failing(kernel)) == (
        "kernel kernel on sip0.cube0.pe0 is a generator or a coroutine; kernels are plain functions, without yield or async"
    )


def test_scratch_must_fit_tcm():
    with pytest.raises(InputError) as caught:
        record_kernel(Rig({"pe.scratch_bytes": "16 MiB"}).pe, empty, (A, B, C))
    assert str(caught.value) == "pe.scratch_bytes is 16777216, but pe_tcm.bytes is only 16777216; make it smaller"


def test_wrong_arguments_name_the_kernel():
    assert str(failing(empty, A)) == (
        "kernel empty on sip0.cube0.pe0 raised TypeError: empty() missing 2 required positional arguments: 'b' and "
        f"'c', at tests/tl/test_runner.py:{empty.__code__.co_firstlineno}"
    )


def test_an_error_of_the_language_keeps_its_own_sentence():
    def kernel(*, tl):
        tl.dot(tl.zeros((2, 3)), tl.zeros((2, 3)))

    error = failing(kernel)
    assert str(error) == (
        "kernel kernel on sip0.cube0.pe0: tl.dot got shapes (2, 3) and (2, 3), which do not multiply, "
        f"at tests/tl/test_runner.py:{kernel.__code__.co_firstlineno + 1}; give (M, K) and (K, N)"
    )


def test_an_unknown_dtype_is_placed():
    def kernel(*, tl):
        tl.load(A, (2, 3), "f15")

    assert str(failing(kernel)).startswith(
        "kernel kernel on sip0.cube0.pe0: tl.load got the dtype 'f15', "
        f"at tests/tl/test_runner.py:{kernel.__code__.co_firstlineno + 1}; did you mean 'f16'? Known: bf16, "
    )


def test_a_recorded_kernel_has_no_data():
    def kernel(*, tl):
        return tl.load(A, (4,)).data

    assert str(failing(kernel)) == (
        "kernel kernel on sip0.cube0.pe0: the kernel reads the data of TensorHandle((4,), f16, hbm:0x100000000), but "
        f"recorded kernels have none, at tests/tl/test_runner.py:{kernel.__code__.co_firstlineno + 1}; "
        "run it live: @bench(..., live=True) or --live"
    )


def test_a_live_kernel_cannot_read_what_is_not_there():
    def reference(*, tl):
        return tl.ref(A, (4,)).data

    def unfinished(*, tl):
        return tl.composite("gemm", tl.zeros((4, 4)), tl.zeros((4, 4))).out.data

    assert str(failing(reference, live=True)) == (
        "kernel reference on sip0.cube0.pe0: the kernel reads the data of TensorHandle((4,), f16, hbm:0x100000000), "
        f"which is not in TCM, at tests/tl/test_runner.py:{reference.__code__.co_firstlineno + 1}; load it with tl.load"
    )
    assert "before its composite has ended" in str(failing(unfinished, live=True))


def test_live_needs_memory():
    rig = Rig()
    blind = PeContext(**{name: getattr(rig.pe, name) for name in PeContext.__slots__} | {"memory": None})
    with pytest.raises(Exception, match=r"^a live kernel on sip0\.cube0\.pe0 was given no memory; run it recorded$"):
        SteppedKernel(blind, empty)


def test_released_scratch_is_handed_out_again():
    def kernel(*, tl):
        x = tl.load(BASE, (128, 1024))
        total = x + 0
        for _ in range(20):  # of 256 KiB each, in 1 MiB
            former, total = total, total + x
            tl.release(former)
        tl.release(x)  # takes no scratch: still there
        tl.store(BASE, total + x)

    Rig().record(kernel)


def test_what_is_released_cannot_be_used():
    def kernel(*, tl):
        total = tl.load(BASE, 8) + 1
        tl.release(total)
        tl.store(BASE, total)

    with pytest.raises(KernelError, match=r"tl.store got TensorHandle\(\(8,\), f16, released:.*, which is not in TCM"):
        Rig().record(kernel)


def test_scratch_is_fresh_for_each_run_and_fills():
    def kernel(times, *, tl):
        x = tl.load(A, (128, 1024))  # 256 KiB
        for _ in range(times):
            x = tl.exp(x)

    rig = Rig()
    record_kernel(rig.pe, kernel, (4,))
    record_kernel(rig.pe, kernel, (4,))
    error = failing(kernel, 5)
    assert str(error) == (
        "kernel kernel on sip0.cube0.pe0: scratch memory is full: 262144 bytes were asked for and 0 of 1048576 are "
        f"free, at tests/tl/test_runner.py:{kernel.__code__.co_firstlineno + 3}; use fewer or smaller results, or "
        "raise pe.scratch_bytes of the topology"
    )
    assert isinstance(error.__cause__, RuntimeError)


@pytest.mark.slow
def test_greenlet_waits_until_a_kernel_is_live():
    code = "import sys, kernbench.tl.runner; print('greenlet' in sys.modules, 'numba' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False False\n"


def test_notes_of_rows_are_where_the_work_ends():
    rig = Rig()
    rig.record(attention, A, B, C)
    program = rig.program
    kinds = {}
    for row, note in rig.thread.notes.items():
        kinds.setdefault(note.op, set()).add(program.tags[program.op_tag[rig.thread.find_row(row)]])
    assert kinds == {
        "load": {("dma_read", "memory")},
        "store": {("dma_write", "memory")},
        "dot": {("gemm", "gemm")},
        "math": {("mul", "math"), ("softmax", "math"), ("add", "math"), ("maximum", "math")},
        "composite": {("composite", "composite")},
    }


def test_programs_of_two_runs_are_equal():
    first, second = Rig(), Rig()
    for rig in (first, second):
        record_kernel(rig.pe, attention, (A, B, C))
        rig.program.flush()
    assert isinstance(first.program, Program)
    assert first.program.op.tolist() == second.program.op.tolist()


def test_what_tl_refuses_keeps_its_class():
    def bad_epilogue(*, tl):
        tl.composite("gemm", tl.zeros((4, 4)), tl.zeros((4, 4)), epilogue=[{"op": "gelu"}])

    def full_scratch(*, tl):
        for _ in range(2):
            tl.zeros((1024, 512)) + 1

    with pytest.raises(ValueError, match="the epilogue op 'gelu'"):
        Rig().record(bad_epilogue)
    with pytest.raises(RuntimeError, match="scratch memory is full"):
        Rig().record(full_scratch)
