import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernbench.errors import KernelError
from kernbench.program.op_semantics import Constant
from kernbench.replay import numerics
from kernbench.replay.numerics import ALONG_AXIS, ELEMENTWISE
from kernbench.tl.language.math import BINARY, BITWISE, COMPARISONS, UNARY, find_job
from kernbench.tl.language.shapes import find_broadcast
from kernbench.tl.language.tensor_type import promote, scalar_dtype, type_of
from tests.tl.rig import BASE, Rig, commands


def refused(call):
    with pytest.raises(KernelError) as caught:
        commands(lambda *, tl: call(tl))
    sentence = str(caught.value)
    place = f", at tests/tl/language/test_math.py:{call.__code__.co_firstlineno}"
    assert place in sentence
    return sentence.replace(place, "")


def last(call):
    return commands(lambda *, tl: call(tl))[-1]


def test_every_function_has_its_numbers():
    assert {*UNARY, *BINARY, *BITWISE, "fma", "clamp", "where"} == ELEMENTWISE.keys()
    assert set(COMPARISONS) == numerics.COMPARISONS.keys()
    assert {"sum", "max", "min", "softmax"} == ALONG_AXIS.keys()


@pytest.mark.parametrize(
    ("call", "function", "inputs"),
    [
        (lambda x, y: x + y, "add", (1, 2)),
        (lambda x, y: x - y, "sub", (1, 2)),
        (lambda x, y: x * y, "mul", (1, 2)),
        (lambda x, y: x / y, "div", (1, 2)),
        (lambda x, y: x + 2, "add", (1, 2.0)),
        (lambda x, y: 2 + x, "add", (2.0, 1)),
        (lambda x, y: 2 - x, "sub", (2.0, 1)),
        (lambda x, y: 2 * x, "mul", (2.0, 1)),
        (lambda x, y: 2 / x, "div", (2.0, 1)),
        (lambda x, y: x / np.float32(2), "div", (1, 2.0)),
    ],
)
def test_operators_are_jobs(call, function, inputs):
    note = last(lambda tl: call(tl.load(BASE, 4), tl.load(BASE, 4)))
    wanted = tuple(Constant((), "f16", x) if isinstance(x, float) else x for x in inputs)
    assert (note.function, note.inputs, note.shape, note.dtype) == (function, wanted, (4,), "f16")


def test_operators_need_a_running_kernel():
    kept = []
    commands(lambda *, tl: kept.append(tl.load(BASE, 4)))
    with pytest.raises(RuntimeError) as caught:
        kept[0] + 1
    line = test_operators_need_a_running_kernel.__code__.co_firstlineno + 4
    assert str(caught.value) == (
        f"a tensor operator was used outside a kernel, at tests/tl/language/test_math.py:{line}; "
        "use it in a function that launch runs"
    )


@pytest.mark.parametrize("function", [*UNARY, "softmax"])
@pytest.mark.parametrize("dtype", ["f16", "f32", "bf16"])
def test_a_unary_result_is_of_its_argument_s_kind(function, dtype):
    note = last(lambda tl: getattr(tl, function)(tl.load(BASE, (2, 3), dtype)))
    assert (note.op, note.function, note.inputs, note.shape, note.dtype) == ("math", function, (1,), (2, 3), dtype)


@pytest.mark.parametrize("function", BINARY)
def test_functions_of_two_are_called_by_name_too(function):
    note = last(lambda tl: getattr(tl, function)(tl.load(BASE, 4), tl.load(BASE, 4)))
    assert (note.op, note.function, note.inputs, note.shape) == ("math", function, (1, 2), (4,))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda tl: tl.zeros((4, 8)) + tl.zeros((3, 8)), "tl.add got shapes (4, 8) and (3, 8), which do not broadcast; make each dimension equal or 1"),  # noqa: E501
        (lambda tl: tl.fma(tl.zeros(4), 1, tl.zeros(5)), "tl.fma got shapes (4,) and (5,), which do not broadcast; make each dimension equal or 1"),  # noqa: E501
        (lambda tl: tl.sum(tl.zeros((4, 8)), 2), "tl.sum got axis 2 of shape (4, 8); give an int from -2 to 1"),
        (lambda tl: tl.softmax(tl.zeros((4, 8)), None), "tl.softmax got axis None of shape (4, 8); give an int from -2 to 1"),
        (lambda tl: tl.exp(tl.zeros(4, "i32")), "tl.exp got a tensor of i32; it needs floats"),
        (lambda tl: tl.exp(2.0), "tl.exp got 2.0; give a tensor, such as one from tl.load"),
        (lambda tl: tl.maximum(1, 2), "tl.maximum got 1, 2; give at least one tensor"),
        (lambda tl: tl.zeros(4) + "x", "tl.add got 'x'; give a tensor, such as one from tl.load"),
        (lambda tl: tl.dot(tl.zeros((4, 8)), tl.zeros((4, 8))), "tl.dot got shapes (4, 8) and (4, 8), which do not multiply; give (M, K) and (K, N)"),  # noqa: E501
        (lambda tl: tl.dot(tl.zeros((2, 4, 8)), tl.zeros((8, 4))), "tl.dot got shapes (2, 4, 8) and (8, 4), which do not multiply; give (M, K) and (K, N)"),  # noqa: E501
        (
            lambda tl: tl.dot(tl.zeros((4, 8)), tl.ref(BASE, (8, 4))),
            "tl.dot got TensorHandle((8, 4), f16, hbm:0x100000000), which is not in TCM; "
            "load it with tl.load or stream it with tl.composite",
        ),
    ],
)  # fmt: skip
def test_operands_are_refused(call, sentence):
    assert refused(call) == sentence


@pytest.mark.parametrize(
    ("a", "b", "both"),
    [
        ("f16", "f16", "f16"),
        ("f16", "f32", "f32"),
        ("f16", "bf16", "f32"),
        ("bf16", "f8e4m3", "bf16"),
        ("f8e4m3", "f8e5m2", "f16"),
        ("f16", "i32", "f16"),
        ("i8", "i32", "i32"),
        ("u8", "i8", "i16"),
        ("u16", "i16", "i32"),
        ("u32", "i32", "i32"),
        ("u8", "u16", "u16"),
    ],
)
def test_types_meet(a, b, both):
    assert promote(a, b) == promote(b, a) == both


def test_a_number_takes_the_type_it_meets():
    assert scalar_dtype(2, "i8") == "i8"
    assert scalar_dtype(2.5, "i8") == "f32"
    assert scalar_dtype(2.5, "f8e4m3") == "f8e4m3"
    note = last(lambda tl: tl.fma(tl.load(BASE, 4), tl.load(BASE, 4, "f32"), 0.1))
    assert note.inputs[2] == Constant((), "f32", 0.1)


def test_where_has_the_type_of_its_choices():
    note = last(lambda tl: tl.where(tl.load(BASE, 4, "u8"), tl.load(BASE, 4), 0.0))
    assert (note.dtype, note.inputs[2]) == ("f16", Constant((), "f16", 0.0))
    note = last(lambda tl: tl.where(tl.load(BASE, 4, "u8"), 1, 0))
    assert note.dtype == "i32"
    note = last(lambda tl: tl.where(tl.load(BASE, 4, "u8"), 300, 0.5))
    assert (note.dtype, note.inputs[1]) == ("f32", Constant((), "i32", 300))


dims = st.lists(st.integers(1, 3), max_size=3).map(tuple)


@given(dims, dims)
def test_shapes_broadcast_as_numpy_s_do(a, b):
    try:
        wanted = np.broadcast_shapes(a, b)
    except ValueError:
        wanted = None
    assert find_broadcast(a, b) == wanted


@given(dims.filter(bool), st.sampled_from(["sum", "max", "min", "softmax"]), st.integers(0, 2))
def test_shapes_of_results_are_those_of_their_numbers(shape, function, axis):
    axis %= len(shape)
    result = ALONG_AXIS[function](np.zeros(shape, np.float32), axis)
    found, work = find_job(function, axis, type_of(shape, "f16"))
    assert (found.shape, found.dtype) == (result.shape, "f16")
    assert (work.asked[1], work.read_bytes) == (np.prod(shape), 2 * np.prod(shape))


def test_scalars_are_computed_as_they_are_written():
    seen = []

    def kernel(*, tl):
        x = tl.arange(1, 4)
        seen.append((x * 0.5).data.tolist())
        seen.append((7 / x).data.tolist())
        seen.append((1 - x).data.tolist())

    Rig().live(kernel)
    assert seen == [[0.5, 1.0, 1.5], [7, 3, 2], [0, -1, -2]]


def test_a_matrix_product_is_told_where_it_is():
    assert refused(lambda tl: tl.load(BASE, (2, 2)) @ tl.load(BASE, (2, 2))) == (
        "a kernel multiplied matrices with @; write tl.dot(a, b), or tl.composite('gemm', a, b) for tiles"
    )


def test_a_tensor_is_neither_true_nor_false():
    sentence = refused(lambda tl: 1 if tl.load(BASE, 4) else 2)
    assert sentence.startswith("a kernel asked whether TensorHandle((4,), f16, ")
    assert sentence.endswith(
        "; choose with tl.where, tl.maximum or tl.minimum, or read its elements with `.data` in a live kernel (--live)"
    )


@pytest.mark.parametrize(
    ("value", "dtype", "element"),
    [
        (-1, "u8", 255),
        (200, "i8", -56),
        (1.9, "i32", 1),
        (-1.9, "i32", -1),
        (np.int64(-1), "u32", 0xFFFFFFFF),
        (0.1, "f16", 0.1),
    ],
)
def test_full_wraps_what_does_not_fit(value, dtype, element):
    notes = commands(lambda *, tl: tl.store(BASE, tl.full(8, value, dtype)))
    assert notes[-1].inputs[0] == Constant((8,), dtype, element)


def test_numbers_that_no_element_can_be():
    assert refused(lambda tl: tl.full(8, float("nan"), "i8")) == (
        "tl.full got nan for i8; give a finite number, or a floating-point type"
    )
    assert refused(lambda tl: tl.full(8, 2**63, "f32")) == f"tl.full got {2**63}; give a number of at most 64 bits"
    assert (
        refused(lambda tl: tl.load(BASE, 4, "i32") + 2**63) == f"tl.add got {2**63}; give a number of at most 64 bits"
    )


def test_an_axis_may_be_a_numpy_integer():
    assert last(lambda tl: tl.sum(tl.load(BASE, (2, 3)), np.int64(1))).axis == 1
