import pytest

from kernbench.errors import InputError, KernelError
from kernbench.program.notes import Constant, Ref, View
from kernbench.tl.context import TLContext
from tests.tl.rig import BASE, commands

HERE = "tests/tl/test_context.py"


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
        "cdiv",
        "clamp",
        "composite",
        "cos",
        "cycles",
        "div",
        "dot",
        "exp",
        "fma",
        "full",
        "load",
        "log",
        "max",
        "maximum",
        "min",
        "minimum",
        "mul",
        "num_programs",
        "program_id",
        "recv",
        "recv_async",
        "recv_no_consume",
        "ref",
        "release",
        "send",
        "sigmoid",
        "sin",
        "softmax",
        "sqrt",
        "store",
        "sub",
        "sum",
        "trans",
        "wait",
        "where",
        "zeros",
    ]


def test_an_unknown_primitive_lists_the_known():
    sentence = refused(lambda tl: tl.dott(1, 2))
    assert sentence == (
        "tl has no primitive 'dott'; did you mean 'dot'? Known: abs, add, arange, cdiv, clamp, composite, cos, cycles, "
        "div, dot, exp, fma, full, load, log, max, maximum, min, minimum, mul, num_programs, program_id, recv, recv_async, "
        "recv_no_consume, ref, release, send, sigmoid, sin, softmax, sqrt, store, sub, sum, trans, wait, where, zeros"
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


def test_trans_twice_is_the_tensor_itself():
    def kernel(*, tl):
        x = tl.load(BASE, (2, 3, 4))
        back = tl.trans(tl.trans(x))
        assert (tl.trans(x).shape, back.shape, back.operand) == ((2, 4, 3), (2, 3, 4), x.operand)

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
        (lambda tl: tl.cycles(-1), "tl.cycles got -1; give a whole number of cycles, 0 or more"),
        (lambda tl: tl.wait(3), "tl.wait got 3; give what tl.composite or tl.recv_async returned, or nothing to wait for all composites"),  # noqa: E501
        (lambda tl: tl.store(BASE, 3), "tl.store got 3; give a tensor, such as one from tl.load"),
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


def test_an_unknown_dtype_is_refused():
    for call in (
        lambda *, tl: tl.ref(BASE, 4, "f61"),
        lambda *, tl: tl.load(BASE, 4, "f61"),
        lambda *, tl: tl.zeros(4, "f61"),
        lambda *, tl: tl.full(4, 0, "f61"),
        lambda *, tl: tl.arange(0, 4, "f61"),
    ):
        with pytest.raises(InputError, match=r"^unknown dtype 'f61'; "):
            commands(call)
