import inspect
import re

import numpy as np
import pytest

from kernbench.errors import KernelError
from kernbench.machine import load_machine
from kernbench.program.op_semantics import Constant, Ref, View, plain
from kernbench.tl.language.context import TLContext
from kernbench.tl.language.current_context import activate, run_kernel
from tests.tl.rig import BASE, commands

HERE = "tests/tl/language/test_context.py"


def refused(call, kind=KernelError, **context):
    """The sentence with which a call is refused, its place cut out after a check."""
    with pytest.raises(kind) as caught:
        commands(lambda *, tl: call(tl), **context)
    place = f", at {HERE}:{call.__code__.co_firstlineno}"
    assert place in str(caught.value)
    return str(caught.value).replace(place, "")


def test_the_surface_is_this_list():
    assert [name for name in dir(TLContext) if not name.startswith("_")] == [
        "abs",
        "add",
        "arange",
        "bit_and",
        "bit_or",
        "cdiv",
        "clamp",
        "composite",
        "constexpr",
        "cos",
        "cycles",
        "div",
        "dot",
        "equal",
        "exp",
        "exp2",
        "floor_div",
        "fma",
        "full",
        "greater",
        "greater_equal",
        "less",
        "less_equal",
        "load",
        "log",
        "max",
        "maximum",
        "min",
        "minimum",
        "mod",
        "mul",
        "multiple_of",
        "not_equal",
        "num_programs",
        "program_id",
        "range",
        "recv",
        "recv_async",
        "recv_no_consume",
        "ref",
        "release",
        "rsqrt",
        "send",
        "sigmoid",
        "sin",
        "softmax",
        "sqrt",
        "static_range",
        "store",
        "sub",
        "sum",
        "tanh",
        "trans",
        "wait",
        "where",
        "zeros",
    ]


SIGNATURES = """
abs(x) log(x) sqrt(x) exp(x) sigmoid(x) cos(x) sin(x) trans(x) release(x) cycles(n) cdiv(a, b)
exp2(x) rsqrt(x) tanh(x) dot(a, b, acc=None, out_dtype=None)
less(a, b) less_equal(a, b) greater(a, b) greater_equal(a, b) equal(a, b) not_equal(a, b)
bit_and(a, b) bit_or(a, b)
range(*bounds) static_range(*bounds) constexpr(value) multiple_of(value, of) floor_div(a, b) mod(a, b)
add(a, b) sub(a, b) mul(a, b) div(a, b) maximum(a, b) minimum(a, b) fma(a, b, c) clamp(x, min, max) where(cond, a, b)
softmax(x, axis=-1) sum(x, axis) max(x, axis) min(x, axis) program_id(axis=0) num_programs(axis=0)
arange(start, end, dtype='i32') zeros(shape, dtype='f16') full(shape, value, dtype='f16')
ref(ptr, shape, dtype='f16') load(ptr, shape, dtype='f16') store(ptr, handle) wait(handle=None)
composite(op, a, b=None, out_ptr=0, math_op=None, epilogue=None, acc_dtype=None, tile_shape=None, out_dtype=None)
send(dir, src=None, *, src_addr=None, nbytes=None, shape=None, dtype='f16', space='tcm')
recv(dir=None, shape=(), dtype='f16', space='tcm', dst_addr=None, dst_space=None)
recv_no_consume(dir=None, shape=(), dtype='f16') recv_async(dir, shape=(), dtype='f16')
"""


def signature(function):
    """The names and defaults of a method's parameters, as they are written."""
    found = inspect.signature(function)
    plain = [p.replace(annotation=p.empty) for p in found.parameters.values() if p.name != "self"]
    return str(found.replace(parameters=plain, return_annotation=found.empty))


def test_every_parameter_has_the_name_and_default_of_the_contract():
    names = [name for name in dir(TLContext) if not name.startswith("_")]
    written = {name: signature(getattr(TLContext, name)) for name in names}
    assert written == dict(re.findall(r"(\w+)(\([^()]*(?:\(\)[^()]*)?\))", SIGNATURES))
    assert signature(TLContext) == (
        "(pe_id, num_programs, dispatch_cycles=1, runner=None, cube_id=0, num_cubes=1, scratch_base=0, scratch_size=1048576)"
    )


def test_an_unknown_primitive_lists_the_known():
    sentence = refused(lambda tl: tl.dott(1, 2))
    assert sentence == (
        "tl has no primitive 'dott'; did you mean 'dot'? Known: abs, add, arange, bit_and, bit_or, cdiv, clamp, composite, "
        "constexpr, cos, cycles, div, dot, equal, exp, exp2, floor_div, fma, full, greater, greater_equal, less, "
        "less_equal, load, log, max, maximum, min, minimum, mod, mul, multiple_of, not_equal, num_programs, program_id, "
        "range, recv, recv_async, recv_no_consume, ref, release, rsqrt, send, sigmoid, sin, softmax, sqrt, static_range, "
        "store, sub, sum, tanh, trans, wait, where, zeros"
    )
    assert not hasattr(TLContext(0, 1), "dott")
    with pytest.raises(AttributeError):
        _ = TLContext(0, 1)._nothing


def test_without_a_runner_commands_are_collected():
    def kernel(*, tl):
        x = tl.load(BASE, (4, 8))
        y = tl.dot(x, tl.trans(x))
        tl.store(BASE, y * 2)
        done = tl.composite("gemm", tl.ref(BASE, (4, 8)), tl.trans(x), BASE)
        tl.wait(done)
        tl.cycles(4)

    made = commands(kernel, dispatch_cycles=1)
    assert [note.op for note in made if note.op != "cycles"] == ["load", "dot", "math", "store", "composite", "wait"]
    assert [note.cycles for note in made if note.op == "cycles"] == [1] * 7 + [4]
    load, dot, math, store, composite, wait = (note for note in made if note.op != "cycles")
    assert dict(load) == {"op": "load", "out": 1, "va": BASE, "shape": (4, 8), "dtype": "f16"}
    assert dict(dot) == {
        "op": "dot", "inputs": (1, View(1)), "out": 2, "shape": (4, 4), "dtype": "f16", "acc_dtype": "f32", "addr": 16
    }  # fmt: skip
    assert math.inputs == (2, Constant((), "f16", 2))
    assert dict(store) == {"op": "store", "inputs": (3,), "va": BASE, "shape": (4, 4), "dtype": "f16"}
    assert composite.inputs == (Ref(BASE, (4, 8), "f16"), View(1))
    assert (composite.out, composite.out_va) == (None, BASE)
    assert wait.composite is composite


def test_messages_without_a_runner_are_collected():
    def kernel(*, tl):
        x = tl.recv("W", (4, 8))
        assert (x.shape, x.data) == ((4, 8), None)
        tl.send("E", x + 1)
        future = tl.recv_async("N", 4)
        assert tl.wait(future) is future.out
        tl.recv(shape=2)
        tl.recv_no_consume("S", 2)
        tl.recv("W", 2, dst_addr=64, dst_space="tcm")

    made = commands(kernel, dispatch_cycles=1)
    assert [note.op for note in made if note.op != "cycles"] == [
        *("recv_async", "recv", "math", "send", "recv_async", "recv", "recv_async", "recv", "recv_async", "recv"),
        *("recv_async", "recv"),
    ]
    assert len([note for note in made if note.op == "cycles"]) == 8
    received = [note for note in made if note.op == "recv"]
    assert [note.direction for note in received] == ["W", "N", None, "S", "W"]
    assert [note.consume for note in received] == [True, True, True, False, True]
    assert received[-1].out_tcm == 64


def test_run_kernel_sets_the_context_for_a_while():
    tl = TLContext(0, 1, scratch_base=16)
    other = TLContext(0, 1, scratch_base=16)

    def inner(x, *, tl, more):
        return x + more

    def outer(*, tl):
        x = tl.zeros(4)
        run_kernel(inner, other, x, more=1.0)
        return x * 2

    run_kernel(outer, tl)
    assert [note.function for note in tl.commands if note.op == "math"] == ["mul"]
    assert [note.function for note in other.commands if note.op == "math"] == ["add"]
    with pytest.raises(RuntimeError, match="outside a kernel"):
        tl.zeros(4) + 1


def test_handles_without_a_runner_have_no_data():
    def kernel(*, tl):
        x = tl.load(BASE, (2,))
        assert x.data is None
        assert (x.space, x.pinned, x.addr, x.nbytes) == ("hbm", True, BASE, 4)
        y = tl.exp(x)
        assert (y.space, y.pinned, y.addr % 16) == ("tcm", False, 0)
        r = tl.ref(BASE, 3, "f32")
        assert (r.space, r.pinned, r.shape, r.nbytes) == ("hbm", False, (3,), 12)

    commands(kernel)


def test_program_ids_are_those_of_the_place():
    tl = TLContext(3, 8, cube_id=5, num_cubes=16)
    assert (tl.program_id(), tl.program_id(1), tl.num_programs(), tl.num_programs(axis=1)) == (3, 5, 8, 16)
    assert refused(lambda tl: tl.program_id(2)) == (
        "tl.program_id got axis 2; axis 0 counts the PEs of a cube, axis 1 the cubes"
    )


def test_cdiv_rounds_up():
    assert [TLContext.cdiv(a, 4) for a in (0, 1, 4, 5)] == [0, 1, 1, 2]


def test_nothing_is_divided_by_nothing():
    def kernel(*, tl):
        tl.cdiv(7, 0)

    with pytest.raises(KernelError) as error:
        commands(kernel)
    line = f"tests/tl/language/test_context.py:{kernel.__code__.co_firstlineno + 1}"
    assert str(error.value) == f"tl.cdiv got 7 and 0, at {line}; give a divisor other than 0"


def test_trans_twice_is_the_tensor_itself():
    def kernel(*, tl):
        x = tl.load(BASE, (2, 3, 4))
        back = tl.trans(tl.trans(x))
        assert (tl.trans(x).shape, back.shape, back.operand) == ((2, 4, 3), (2, 3, 4), x.operand)

    commands(kernel)


def test_types_by_default():
    def kernel(*, tl):
        made = tl.load(BASE, 4), tl.ref(BASE, 4), tl.zeros(4), tl.full(4, 1), tl.recv("W", 4), tl.arange(0, 4)
        assert [x.dtype for x in made] == ["f16"] * 5 + ["i32"]
        assert {x.space for x in made[2:4]} == {"tcm"}
        assert made[5].space == "tcm"

    commands(kernel)


def test_trans_names_the_place_of_its_argument():
    def kernel(*, tl):
        for x in (tl.load(BASE, (2, 3)), tl.ref(BASE, (2, 3)), tl.zeros((2, 3)) + 1):
            y = tl.trans(x)
            assert (y.addr, y.space, y.pinned, y.dtype) == (x.addr, x.space, x.pinned, x.dtype)

    commands(kernel)


def test_constants_can_be_stored():
    (store,) = commands(lambda *, tl: tl.store(BASE, tl.arange(2, 6, "u8")))
    assert store.inputs == (Constant((4,), "u8", 2, 1),)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda tl: tl.load("a", 4), "tl.load got the pointer 'a'; give an address, such as a tensor argument of the kernel"),
        (lambda tl: tl.load(BASE, (4, 0)), "tl.load got the shape (4, 0); give one dimension or more, each at least 1"),
        (lambda tl: tl.load(BASE, ()), "tl.load got the shape (); give one dimension or more, each at least 1"),
        (lambda tl: tl.full(4, "1"), "tl.full got the value '1'; give a number"),
        (lambda tl: tl.zeros((4, 1.5)), "tl.zeros got the shape (4, 1.5); give an int or a tuple of ints"),
        (lambda tl: tl.full("ab", 1), "tl.full got the shape ('a', 'b'); give an int or a tuple of ints"),
        (lambda tl: tl.arange(4, 4), "tl.arange got 4 and 4; give two ints, the second one greater"),
        (lambda tl: tl.trans(tl.zeros(4)), "tl.trans got TensorHandle((4,), f16, tcm:0x0); give a tensor of two dimensions or more"),  # noqa: E501
        (lambda tl: tl.send("E", 3), "tl.send got 3, a number or a pointer, where a tensor is meant; load what is at a pointer with tl.load"),  # noqa: E501
        (lambda tl: tl.send("e", tl.zeros(4)), "tl.send got the direction 'e'; did you mean 'E'? Known: E, N, S, W, global_E, global_N, global_S, global_W, intra_E, intra_N, intra_S, intra_W"),  # noqa: E501
        (lambda tl: tl.send("E"), "tl.send got neither a tensor nor an address; give src, or src_addr with shape or nbytes"),
        (lambda tl: tl.send("E", src_addr=64), "tl.send got nbytes=None of f16; give a shape, or a multiple of 2"),
        (lambda tl: tl.send("E", tl.zeros(4), shape=4), "tl.send got a tensor and an address; give one of them; a tensor knows its shape"),  # noqa: E501
        (lambda tl: tl.send("E", src_addr=64, nbytes=3), "tl.send got nbytes=3 of f16; give a shape, or a multiple of 2"),
        (lambda tl: tl.send("E", src_addr=64, nbytes=4, shape=4), "tl.send got nbytes=4 and shape (4,) of f16; give one of them"),  # noqa: E501
        (lambda tl: tl.send("E", src_addr=64, shape=4), "tl.send got the TCM address 0x40, where this kernel holds no 8 bytes of one tensor; give the tensor itself, or an address inside of one"),  # noqa: E501
        (lambda tl: tl.send("E", src_addr=64, shape=4, space="dram"), "tl.send got the space 'dram'; did you mean 'sram'? Known: hbm, sram, tcm"),  # noqa: E501
        (lambda tl: tl.recv("E", 4, space="hbn"), "tl.recv got the space 'hbn'; did you mean 'hbm'? Known: hbm, sram, tcm"),
        (lambda tl: tl.recv("E", 4, dst_addr=64, dst_space="hbn"), "tl.recv got the space 'hbn'; did you mean 'hbm'? Known: hbm, sram, tcm"),  # noqa: E501
        (lambda tl: tl.dot(BASE, tl.zeros((2, 2))), "tl.dot got 4294967296, a number or a pointer, where a tensor is meant; load what is at a pointer with tl.load"),  # noqa: E501
        (lambda tl: tl.exp(np.int64(BASE)), "tl.exp got np.int64(4294967296), a number or a pointer, where a tensor is meant; load what is at a pointer with tl.load"),  # noqa: E501
        (lambda tl: tl.sum(BASE, 0), "tl.sum got 4294967296, a number or a pointer, where a tensor is meant; load what is at a pointer with tl.load"),  # noqa: E501
        (lambda tl: tl.composite("gemm", BASE, BASE), "tl.composite got 4294967296, a number or a pointer, where a tensor is meant; name what is at a pointer with tl.ref, or load it with tl.load"),  # noqa: E501
        (lambda tl: tl.load(tl.zeros(4), 4), "tl.load got TensorHandle((4,), f16, tcm:0x0) where a pointer is meant; give an address, such as a tensor argument of the kernel"),  # noqa: E501
        (lambda tl: tl.store(tl.zeros(4), BASE), "tl.store got TensorHandle((4,), f16, tcm:0x0) where a pointer is meant; give an address, such as a tensor argument of the kernel"),  # noqa: E501
        (lambda tl: tl.recv_async(None, 4), "tl.recv_async got no direction; give one of N, S, E, W, intra_N, intra_S, intra_E, intra_W, global_N, global_S, global_E, global_W"),  # noqa: E501
        (lambda tl: tl.cycles(-1), "tl.cycles got -1; give a whole number of cycles, 0 or more"),
        (lambda tl: tl.wait(3), "tl.wait got 3; give what tl.composite or tl.recv_async returned, or nothing to wait for all composites"),  # noqa: E501
        (lambda tl: tl.store(BASE, 3), "tl.store got 3, a number or a pointer, where a tensor is meant; load what is at a pointer with tl.load"),  # noqa: E501
        (
            lambda tl: tl.store(BASE, tl.ref(BASE, 4)),
            "tl.store got TensorHandle((4,), f16, hbm:0x100000000), which is not in TCM; "
            "load it with tl.load or stream it with tl.composite",
        ),
    ],
)  # fmt: skip
def test_arguments_are_refused(call, sentence):
    assert refused(call) == sentence


def test_a_result_without_an_address_cannot_be_stored():
    assert refused(lambda tl: tl.store(BASE, tl.zeros(4) + 1), scratch_base=0) == (
        "tl.store got TensorHandle((4,), f16, tcm:0x0), a result without an address; give the context a scratch_base"
    )


def test_a_result_without_an_address_cannot_be_sent():
    assert refused(lambda tl: tl.send("E", tl.zeros(4) + 1), scratch_base=0) == (
        "tl.send got TensorHandle((4,), f16, tcm:0x0), a result without an address; give the context a scratch_base"
    )
    loaded = commands(lambda *, tl: tl.send("E", tl.load(BASE, 4)), scratch_base=0)
    assert [note.op for note in loaded] == ["load", "send"]


def test_a_new_context_has_issued_nothing():
    tl = TLContext(0, 1)
    tl.ref(BASE, 4), tl.arange(0, 4), tl.zeros(4), tl.full(4, 1), tl.trans(tl.zeros((2, 3)))
    assert tl.commands == []


def test_dispatch_cycles_by_default():
    tl = TLContext(0, 1)
    tl.cycles(3)
    assert [note.cycles for note in tl.commands] == [1, 3]
    assert load_machine("sip_2x4x4").figures["pe_cpu.dispatch_cycles"] == 0


def test_results_are_aligned():
    def kernel(*, tl):
        x = [tl.zeros(n, "u8") + tl.zeros(n, "u8") for n in (1, 16, 17, 3)]
        assert [y.addr - x[0].addr for y in x] == [0, 16, 32, 64]
        assert {y.space for y in x} == {"tcm"}
        assert x[0].addr % 16 == 0

    commands(kernel, scratch_base=1 << 20)


def test_scratch_is_a_mebibyte_by_default():
    tl = TLContext(0, 1, scratch_base=16)
    with activate(tl):
        for _ in range(4):
            tl.zeros((512, 256)) + 1  # 256 KiB each
        with pytest.raises(RuntimeError, match="16 bytes were asked for and 0 of 1048576 are free"):
            tl.zeros(8) + 1


def test_an_unknown_dtype_is_refused():
    for primitive, call in {
        "ref": lambda *, tl: tl.ref(BASE, 4, "f61"),
        "load": lambda *, tl: tl.load(BASE, 4, "f61"),
        "zeros": lambda *, tl: tl.zeros(4, "f61"),
        "full": lambda *, tl: tl.full(4, 0, "f61"),
        "arange": lambda *, tl: tl.arange(0, 4, "f61"),
        "recv": lambda *, tl: tl.recv("E", dtype="f61"),
        "recv_async": lambda *, tl: tl.recv_async("E", 4, "f61"),
        "send": lambda *, tl: tl.send("E", src_addr=BASE, nbytes=8, dtype="f61"),
    }.items():
        with pytest.raises(KernelError) as error:
            commands(call)
        line = f"tests/tl/language/test_context.py:{call.__code__.co_firstlineno}"
        assert str(error.value).startswith(f"tl.{primitive} got the dtype 'f61', at {line}; did you mean 'f16'? ")


def test_one_of_two_destinations_leaves_a_message_in_its_slot():
    made = commands(lambda *, tl: (tl.recv("E", 4, dst_addr=64), tl.recv("E", 4, dst_space="hbm")))
    assert [(note.out_tcm, note.out_va) for note in made if note.op == "recv"] == [(None, None)] * 2


def test_integers_of_numpy_are_integers():
    def kernel(whole, *, tl):
        pe, pes = tl.program_id(whole(0)), tl.num_programs(whole(0))
        assert (type(pe), type(pes), type(tl.program_id(whole(1)))) == (int, int, int)
        at = BASE + int(whole(pe)) * 64
        x = tl.load(at, (whole(4), whole(8)), "f32")
        y = tl.sum(x, whole(1)) * whole(3) + whole(1)
        tl.store(
            at + whole(8) if whole is int else np.int64(at + 8), tl.softmax(tl.full(whole(4), whole(2)), axis=whole(0))
        )
        tl.composite("gemm", x, tl.ref(at, [whole(8), whole(8)], "f32"), at, tile_shape=(whole(2), whole(4), whole(2)))
        tl.cycles(whole(tl.cdiv(whole(7), whole(2))))
        tl.send("E", src_addr=y.addr, nbytes=whole(8), dtype="f32")
        tl.send("E", tl.arange(whole(2), whole(5)))
        tl.recv("E", whole(4), dst_addr=whole(64), dst_space="tcm")
        tl.wait(tl.recv_async("E", np.array([2, 3]) if whole is not int else (2, 3)))

    def notes(whole):
        context = {"pe_id": whole(1), "num_programs": whole(4), "cube_id": whole(0), "scratch_base": whole(16)}
        tl = TLContext(**context, dispatch_cycles=whole(1), scratch_size=1024)
        run_kernel(kernel, tl, whole)
        return [plain(note) for note in tl.commands]

    expected = notes(int)
    for whole in (np.int64, np.int32, np.uint16, np.uint8):
        assert repr(notes(whole)) == repr(expected)
